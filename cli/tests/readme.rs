//! The README shows what the program prints.

use std::{path::Path, process::Command};

#[test]
fn the_output_in_the_readme_is_real() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
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
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), shown);
}
