//! The structure of the workspace: allowed dependencies, and the attributes of every crate.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

/// The workspace crates on which each crate may depend outside of its tests, by their short names.
///
/// The order of the list excludes cycles: a crate comes before the crates that may depend on it.
const ALLOWED: [(&str, &str); 24] = [
    ("kprof-wire", ""),
    ("kernel-profiler", "wire"),
    ("kprof-host-events", "wire"),
    ("kprof-tracy", "host-events"),
    ("kprof-reader", "wire"),
    ("kprof-analysis", "wire reader"),
    ("kprof-tables", "wire reader analysis host-events"),
    ("kprof-lines", "tables"),
    ("kprof-recording", "wire reader analysis host-events"),
    ("kprof-memory", "wire tables"),
    ("kprof-reports", "wire reader analysis host-events recording"),
    ("kprof-causes", "wire reader analysis host-events tables memory recording reports"),
    (
        "kprof-export",
        "wire reader analysis host-events tables memory recording reports causes tracy",
    ),
    (
        "host-reader",
        "wire reader analysis host-events tables lines memory recording reports causes export tracy",
    ),
    ("kprof-sim", "wire kernel-profiler reader"),
    ("kprof-ttsim", "wire reader sim"),
    ("kprof-chip", "wire reader host-events"),
    ("kprof-pci-chip", "reader tables lines memory sim chip ttsim"),
    ("kprof-ttnn", "wire reader host-events recording chip"),
    ("kprof-c", "wire host-reader"),
    ("kprof", "wire kernel-profiler host-reader sim ttsim chip ttnn"),
    ("kprof-captures", "reader recording"),
    ("tests", "wire kernel-profiler host-reader sim ttsim"),
    ("benches", "wire kernel-profiler host-reader sim tests"),
];

/// Returns the short name of a package, which is the name of its folder.
fn short(package: &str) -> &str {
    package.strip_prefix("kprof-").unwrap_or(package)
}

#[test]
fn dependencies_point_only_where_the_design_lets_them() {
    let allowed: BTreeMap<_, _> = ALLOWED.into_iter().collect();
    for package in packages() {
        let name = text(&package["name"]);
        let allowed = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no row"));
        for target in own_dependencies(&package) {
            let is_allowed = allowed.split(' ').any(|below| below == short(&target));
            assert!(is_allowed, "{name} must not depend on {target}");
        }
    }
}

/// Returns the workspace crates on which a package depends outside of its tests.
pub(crate) fn own_dependencies(package: &Value) -> Vec<String> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let product = dependencies.filter(|dependency| dependency["kind"] != "dev");
    let names = product.map(|dependency| text(&dependency["name"]));
    names.filter(|name| ALLOWED.iter().any(|(ours, _)| ours == name)).collect()
}

#[test]
fn what_the_design_allows_has_no_circle() {
    let mut above: Vec<&str> = Vec::new();
    for (name, below) in ALLOWED {
        for target in below.split_whitespace() {
            assert!(
                above.contains(&target),
                "{name} may depend on {target}, which is not below it"
            );
        }
        above.push(short(name));
    }
}

/// Cargo arguments that select the crates of a host that only reads.
const READING_ONLY: [&[&str]; 2] =
    [&["-p", "kprof-reader"], &["-p", "host-reader", "--no-default-features"]];

#[test]
fn a_host_that_only_reads_links_at_most_25_crates() {
    for options in READING_ONLY {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}"])
            .args(options)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout).unwrap();
        let crates: BTreeSet<_> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
        assert!(crates.len() > 5, "{crates:?}");
        assert!(crates.len() <= 25, "{options:?}: {} crates: {crates:#?}", crates.len());
    }
}

/// Back ends that need foreign libraries.
const OPTIONAL: [&str; 1] = ["kprof-ttsim"];
/// The library that programs load in place of a chip. It loads another library only if the user names
/// one, and no other crate depends on it.
const LOADS_NAMED_LIBRARY: &str = "kprof-pci-chip";

#[test]
fn back_ends_with_foreign_libraries_are_in_no_default_build() {
    // The test crate belongs to no product.
    for package in packages().into_iter().filter(|package| package["name"] != "tests") {
        let defaults = package["features"]["default"].as_array().cloned().unwrap_or_default();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = text(&dependency["name"]);
            if OPTIONAL.contains(&&*target) && package["name"] != LOADS_NAMED_LIBRARY {
                assert_eq!(dependency["optional"], true, "{} of {}", target, package["name"]);
                assert!(defaults.is_empty(), "{}: {defaults:?}", package["name"]);
            }
        }
    }
}

#[test]
fn every_crate_takes_the_shared_lints() {
    for package in packages() {
        let manifest = std::fs::read_to_string(text(&package["manifest_path"])).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{}", package["name"]);
    }
}

#[test]
fn cargo_run_alone_runs_kprof() {
    // `cargo run` needs a default program, since the workspace has several programs.
    let chosen = packages()
        .into_iter()
        .filter_map(|package| package["default_run"].as_str().map(ToOwned::to_owned));
    assert_eq!(chosen.collect::<Vec<_>>(), ["kprof"]);
}

/// Packages that are not named `kprof` plus the folder's name; their names are free on the
/// registry.
const NAMED_OTHERWISE: [&str; 2] = ["kernel-profiler", "host-reader"];

#[test]
fn every_package_that_may_be_published_says_what_it_is_under_a_name_of_ours() {
    let packages = packages();
    let published: Vec<_> =
        packages.iter().filter(|package| package["publish"].is_null()).collect();
    assert!(published.len() >= 15, "{}", published.len());
    for package in published {
        let name = text(&package["name"]);
        let is_ours = name == "kprof" || name.starts_with("kprof-");
        assert!(is_ours || NAMED_OTHERWISE.contains(&name.as_str()), "{name}");
        assert!(package["description"].is_string(), "{name} has no description");
        assert_eq!(package["license"], "Apache-2.0", "{name}");
        assert!(package["rust_version"].is_string(), "{name} does not say what compiler it needs");
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let is_tests = dependency["kind"] == "dev" && !dependency["path"].is_null();
            assert!(is_tests || dependency["req"] != "*", "{name}: {}", dependency["name"]);
        }
    }
}

/// Crates for memory-mapped registers and for C callers, which contain unsafe code throughout.
const WHOLLY_UNSAFE: [&str; 2] = ["kernel-profiler", "kprof-pci-chip"];

/// Files that may contain unsafe code, besides the files of the device runtime. Each file must
/// allow unsafe code for single items, in a crate that denies it everywhere else.
const UNSAFE_FILES: [(&str, &[&str]); 3] = [
    (
        "kprof-c",
        &[
            "arguments.rs",
            "explanation.rs",
            "handle.rs",
            "mesh.rs",
            "outputs.rs",
            "periodic.rs",
            "programs.rs",
            "recording.rs",
            "session.rs",
            "status.rs",
        ],
    ),
    ("kprof-recording", &["capture/kernel_time.rs", "capture/mapping.rs"]),
    ("kprof-ttsim", &["library.rs"]),
];

#[test]
fn only_the_device_runtime_may_hold_unsafe_code() {
    for package in packages() {
        let name = text(&package["name"]);
        let manifest = text(&package["manifest_path"]);
        let root = Path::new(&manifest).with_file_name("src");
        if WHOLLY_UNSAFE.contains(&name.as_str()) || !root.is_dir() {
            continue;
        }
        let allowed = UNSAFE_FILES.iter().find(|(crate_name, _)| *crate_name == name);
        unsafe_only_in(&root, allowed.map_or(&[][..], |(_, files)| files));
    }
    // A workspace of its own.
    unsafe_only_in(&repository().join("python/src"), &["frames.rs"]);
}

/// Checks that a crate forbids unsafe code, or denies it and allows it in some files only.
fn unsafe_only_in(root: &Path, allowed: &[&str]) {
    let promise = if allowed.is_empty() { "forbid" } else { "deny" };
    for file in ["lib.rs", "main.rs"].map(|file| root.join(file)) {
        let Ok(source) = std::fs::read_to_string(&file) else { continue };
        assert!(source.contains(&format!("#![{promise}(unsafe_code)]")), "{}", file.display());
    }
    let excepted: Vec<_> = sources(root)
        .into_iter()
        .filter(|file| {
            let source = std::fs::read_to_string(file).unwrap();
            ["allow(unsafe_code", "expect(unsafe_code"].iter().any(|lint| source.contains(lint))
        })
        .map(|file| file.strip_prefix(root).unwrap().display().to_string())
        .collect();
    assert_eq!(excepted, allowed, "exceptions of {}", root.display());
}

/// Returns every Rust file below a folder.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Returns the repository's folder.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the packages of the workspace, from cargo's metadata.
pub(crate) fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Returns the content of a JSON string.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
