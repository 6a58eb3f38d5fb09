//! The way in which documentation begins.

use crate::structure::{repository, sources};

/// Folders with sources of ours.
const FOLDERS: [&str; 9] = [
    "benches",
    "cli",
    "examples",
    "host-reader",
    "kernel-profiler",
    "sim",
    "tests",
    "ttsim",
    "wire",
];

/// Openings that delay the thing a line is about.
const OPENINGS: [&str; 4] = ["What ", "Whether ", "Of ", "Those "];

/// Doc lines that begin so are no sentence openings: the line before them goes on.
fn is_continued(before: Option<&str>) -> bool {
    before
        .and_then(doc_text)
        .is_some_and(|text| !text.is_empty() && !text.ends_with(['.', ':', '?']))
}

fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.trim())
}

#[test]
fn documentation_begins_with_the_thing_it_is_about() {
    let mut wrong = Vec::new();
    let files = FOLDERS.iter().flat_map(|folder| sources(&repository().join(folder)));
    for file in files.filter(|file| !file.iter().any(|part| part == "target")) {
        let source = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = source.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(text) = doc_text(line) else { continue };
            let before = index.checked_sub(1).map(|before| lines[before]);
            if OPENINGS.iter().any(|opening| text.starts_with(opening)) && !is_continued(before) {
                wrong.push(format!("{}:{}: {text}", file.display(), index + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} doc lines:\n{}", wrong.len(), wrong.join("\n"));
}
