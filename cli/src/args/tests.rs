//! Tests that the command lines on the documentation pages are valid.

use super::Cli;
use clap::Parser;
use std::{
    fs,
    path::{Path, PathBuf},
};

fn pages() -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut pages = vec![repository.join("README.md")];
    let entries = fs::read_dir(repository.join("docs")).unwrap();
    pages.extend(entries.map(|entry| entry.unwrap().path()));
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages
}

/// Returns the commands in a page's `sh` and `console` blocks, without comments; a backslash at the
/// end of a line joins lines.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for block in page.split("\n```").skip(1).step_by(2) {
        let Some((language, text)) = block.split_once('\n') else { continue };
        let text = text.replace("\\\n", " ");
        let lines = text.lines().map(|line| line.split("  #").next().unwrap_or_default().trim());
        match language {
            "sh" => commands.extend(lines.map(str::to_owned)),
            "console" => {
                commands
                    .extend(lines.filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned));
            }
            _ => {}
        }
    }
    commands
}

#[test]
fn every_command_of_the_pages_is_understood() {
    let mut count = 0;
    for page in pages() {
        for command in commands(&fs::read_to_string(&page).unwrap()) {
            let words: Vec<_> = command.split_whitespace().collect();
            if words.first() != Some(&"kprof") {
                continue;
            }
            count += 1;
            let parsed = Cli::try_parse_from(words);
            assert!(parsed.is_ok(), "{}: {command}: {}", page.display(), parsed.unwrap_err());
        }
    }
    // The pages had 35 commands when this test was written. A smaller count means that the search
    // misses commands.
    assert!(count >= 35, "{count}");
}
