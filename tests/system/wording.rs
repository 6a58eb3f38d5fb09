//! The way in which documentation begins.

use crate::structure::{repository, sources};

/// Folders with sources of ours.
const FOLDERS: [&str; 11] = [
    "benches",
    "c-reader",
    "cli",
    "examples",
    "host-reader",
    "kernel-profiler",
    "python",
    "sim",
    "tests",
    "ttsim",
    "wire",
];

/// Openings that delay the thing a line is about.
const OPENINGS: [&str; 7] = ["What ", "Whether ", "Of ", "Those ", "Who ", "Enters ", "Tells "];

/// Phrases that leave open which number, or which thing, is meant, and things called persons.
const VAGUE: [&str; 11] = [
    " so many ",
    "that there is.",
    "that there are.",
    "comes to stand",
    " stands as ",
    " who does not ",
    " who is told",
    "left who ",
    "and who had ",
    "call off ",
    "Calls off ",
];

/// Beginnings of function names that say less than `add_`, `record_` or `print_`.
const DIALECT: [&str; 3] = ["fn enter_", "fn tell_", "fn tell("];

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

/// Every doc line, with its place and the line before it.
fn doc_lines() -> Vec<(String, String, Option<String>)> {
    let mut found = Vec::new();
    let files = FOLDERS.iter().flat_map(|folder| sources(&repository().join(folder)));
    for file in files.filter(|file| !file.iter().any(|part| part == "target")) {
        let source = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = source.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(text) = doc_text(line) else { continue };
            let before = index.checked_sub(1).map(|before| lines[before].to_owned());
            found.push((format!("{}:{}", file.display(), index + 1), text.to_owned(), before));
        }
    }
    assert!(found.len() > 10_000, "{}", found.len());
    found
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn documentation_begins_with_the_thing_it_is_about() {
    let is_wrong = |text: &str, before: &Option<String>| {
        OPENINGS.iter().any(|opening| text.starts_with(opening)) && !is_continued(before.as_deref())
    };
    let lines = doc_lines().into_iter().filter(|(_, text, before)| is_wrong(text, before));
    assert_none(&lines.map(|(at, text, _)| format!("{at}: {text}")).collect::<Vec<_>>());
}

#[test]
fn documentation_names_its_numbers() {
    let is_wrong = |text: &str| VAGUE.iter().any(|phrase| format!("{text} ").contains(phrase));
    let lines = doc_lines().into_iter().filter(|(_, text, _)| is_wrong(text));
    assert_none(&lines.map(|(at, text, _)| format!("{at}: {text}")).collect::<Vec<_>>());
}

#[test]
fn functions_are_named_by_the_verbs_of_the_field() {
    let mut wrong = Vec::new();
    for folder in FOLDERS {
        for file in sources(&repository().join(folder)) {
            // This list itself holds the names.
            if file.ends_with("wording.rs") || file.iter().any(|part| part == "target") {
                continue;
            }
            let source = std::fs::read_to_string(&file).unwrap();
            let lines = source
                .lines()
                .zip(1..)
                .filter(|(line, _)| DIALECT.iter().any(|name| line.trim_start().contains(name)));
            wrong
                .extend(lines.map(|(line, number)| format!("{}:{number}: {line}", file.display())));
        }
    }
    assert_none(&wrong);
}

#[test]
fn the_readme_has_no_sentence_over_30_words() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let mut sentences = vec![String::new()];
    let mut is_code = false;
    for line in readme.lines() {
        is_code ^= line.starts_with("```");
        let is_prose = !is_code && !line.starts_with(['`', '|', '#', '!']);
        if !is_prose || line.is_empty() || line.starts_with("- ") {
            sentences.push(String::new());
        }
        for word in line.split_whitespace().filter(|_| is_prose) {
            let sentence = sentences.last_mut().unwrap();
            sentence.push_str(word);
            sentence.push(' ');
            if word.ends_with(['.', ':', '?', '!']) {
                sentences.push(String::new());
            }
        }
    }
    assert!(sentences.iter().filter(|sentence| !sentence.is_empty()).count() > 30);
    let is_long = |sentence: &&String| sentence.split_whitespace().count() > 30;
    assert_none(&sentences.iter().filter(is_long).cloned().collect::<Vec<_>>());
}
