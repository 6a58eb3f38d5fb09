//! The README and the page of tables show what the program prints.

#![allow(clippy::unwrap_used, reason = "tests")]

mod object_code;
mod program;

use std::path::{Path, PathBuf};

/// Set `BLESS=1` to write the output into the pages, then read the difference.
#[test]
fn the_output_in_the_pages_is_real() {
    if !object_code::is_there() {
        return;
    }
    for page in ["README.md", "docs/tables.md"] {
        let path = repository().join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let printed = run_again(&text);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, printed).unwrap();
        } else {
            assert_eq!(printed, text, "{page}");
        }
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The page with the output of its commands as it is now; they run in order, in one folder.
fn run_again(page: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command_count = 0;
    let mut blocks = page.split("```console\n");
    let mut again = blocks.next().unwrap().to_owned();
    for block in blocks {
        let (shown, after) = block.split_once("\n```").unwrap();
        again.push_str("```console\n");
        again.push_str(&output_of_block(shown, folder.path(), &mut command_count));
        again.push_str("\n```");
        again.push_str(after);
    }
    assert!(command_count > 0, "the page shows no command of the program");
    again
}

/// A command, and below it what it prints; other programs' commands stay as they are.
fn output_of_block(shown: &str, folder: &Path, command_count: &mut usize) -> String {
    let first = shown.lines().next().unwrap();
    let command = first.strip_prefix("$ ").unwrap();
    let starts = ["cargo run --release -- ", "kprof "];
    let Some(args) = starts.iter().find_map(|start| command.strip_prefix(start)) else {
        return shown.to_owned();
    };
    *command_count += 1;
    let printed = kprof(args, folder);
    if printed.is_empty() { first.to_owned() } else { format!("{first}\n{printed}") }
}

fn kprof(args: &str, folder: &Path) -> String {
    // Pages name the repository's captures as one sees them from its top.
    let captures = repository().join("tests/captures");
    let args = args.replace("tests/captures", captures.to_str().unwrap());
    let output = program::kprof(folder, &args.split(' ').collect::<Vec<_>>());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args}: {errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.trim_end().lines().map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}
