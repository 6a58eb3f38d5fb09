//! Test of the length of sentences in the README.

use crate::structure::repository;
use sim::limits::LiftedLimits;

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
    let long: Vec<&String> = sentences.iter().filter(is_long).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn pages_with_simulated_times_say_what_the_times_leave_out() {
    let sentence = sim::limits::simulated_time(LiftedLimits::NONE).to_string();
    for page in ["README.md", "docs/ttnn.md", "docs/kernels.md", "docs/costs.md"] {
        let text = std::fs::read_to_string(repository().join(page)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&sentence), "{page} lacks the sentence: {sentence}");
        // What a run was asked to leave out may follow.
        for (place, _) in text.match_indices("Simulated times leave out ") {
            let found = text[place..].starts_with(sentence.trim_end_matches('.'));
            assert!(found, "{page}: {}", &text[place..].split_inclusive('.').next().unwrap());
        }
    }
}
