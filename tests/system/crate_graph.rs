//! Test of the crate graph in `docs/architecture.md`, which is drawn from cargo's metadata.

use crate::structure::{own_dependencies, packages, repository, text};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

const BEGIN: &str = "<!-- crate graph: BLESS=1 cargo test -p tests --test system crate_graph -->";
const END: &str = "<!-- end of crate graph -->";

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Set `BLESS=1` to draw the graph again.
#[test]
fn the_picture_of_the_crates_is_current() {
    let page = repository().join("docs/architecture.md");
    let shown = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = shown.split_once(BEGIN).expect("the page has the picture's beginning");
    let (_, after) = rest.split_once(END).expect("the page has the picture's end");
    let current = format!("{before}{BEGIN}\n{}{END}{after}", mermaid(&graph()));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&page, &current).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&page).unwrap(), current, "{}", page.display());
}

#[test]
fn an_arrow_that_others_imply_is_not_drawn() {
    let graph = |edges: &[(&str, &[&str])]| -> Graph {
        let set = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        edges.iter().map(|(name, below)| ((*name).to_owned(), set(below))).collect()
    };
    let all = graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
    assert_eq!(reduced(&all), graph(&[("a", &["b"]), ("b", &["c"]), ("c", &[])]));
}

/// Returns the dependencies of product crates on each other.
fn graph() -> Graph {
    let of_tests = ["tests", "benches", "kprof-captures"];
    let product = packages().into_iter().filter(|package| {
        let name = text(&package["name"]);
        !of_tests.contains(&name.as_str())
    });
    product
        .map(|package| (text(&package["name"]), own_dependencies(&package).into_iter().collect()))
        .collect()
}

/// Returns the graph without edges that longer paths already imply.
fn reduced(graph: &Graph) -> Graph {
    let reaches = |from: &str, to: &str| {
        let mut open = vec![from.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop() {
            if name == to {
                return true;
            }
            if seen.insert(name.clone()) {
                open.extend(graph.get(&name).into_iter().flatten().cloned());
            }
        }
        false
    };
    let is_direct = |below: &BTreeSet<String>, target: &String| {
        !below.iter().any(|other| other != target && reaches(other, target))
    };
    let keep = |below: &BTreeSet<String>| {
        below.iter().filter(|target| is_direct(below, target)).cloned().collect()
    };
    graph.iter().map(|(name, below)| (name.clone(), keep(below))).collect()
}

fn mermaid(graph: &Graph) -> String {
    let mut picture = String::from("```mermaid\ngraph TD\n");
    for (name, below) in reduced(graph) {
        for target in below {
            writeln!(picture, "    {name} --> {target}").unwrap();
        }
    }
    picture.push_str("```\n");
    picture
}
