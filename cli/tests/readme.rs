//! The README shows what the program prints.

use std::{path::Path, process::Command};

/// Set `BLESS=1` to write the output into the README, then read the difference.
#[test]
fn the_output_in_the_readme_is_real() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (_, after) = readme.split_once("$ cargo run --release -- ").unwrap();
    let (block, _) = after.split_once("\n```").unwrap();
    let (args, shown) = block.split_once('\n').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_kprof"))
        .args(args.split(' '))
        .current_dir(folder.path())
        .env_remove("TT_METAL_PROFILER_DIR")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, readme.replace(shown, printed.trim_end())).unwrap();
    } else {
        assert_eq!(printed.trim_end(), shown);
    }
}
