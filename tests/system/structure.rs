//! The shape of the workspace: who may know whom, and what every crate promises.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

/// Crates of the workspace that each crate may depend on, beyond its tests.
const ALLOWED: [(&str, &[&str]); 7] = [
    ("wire", &[]),
    ("kernel-profiler", &["wire"]),
    ("host-reader", &["wire"]),
    ("sim", &["wire", "kernel-profiler", "host-reader"]),
    ("cli", &["wire", "host-reader", "sim"]),
    ("tests", &["wire", "kernel-profiler", "host-reader", "sim"]),
    ("benches", &["wire", "kernel-profiler", "host-reader", "sim", "tests"]),
];

#[test]
fn dependencies_point_only_where_the_design_lets_them() {
    let allowed: BTreeMap<_, _> = ALLOWED.into_iter().collect();
    for package in packages() {
        let name = text(&package["name"]);
        let allowed = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no row"));
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = text(&dependency["name"]);
            let is_ours = ALLOWED.iter().any(|(ours, _)| *ours == target);
            let is_for_tests = dependency["kind"] == "dev";
            assert!(
                !is_ours || is_for_tests || allowed.contains(&target.as_str()),
                "{name} must not depend on {target}"
            );
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

/// Files that may hold unsafe code, besides the device runtime's: each must allow it for
/// single items, in a crate that denies it everywhere else.
const UNSAFE_FILES: [(&str, &[&str]); 1] = [("host-reader", &["capture/mapping.rs"])];

#[test]
fn only_the_device_runtime_may_hold_unsafe_code() {
    for package in packages() {
        let name = text(&package["name"]);
        let manifest = text(&package["manifest_path"]);
        let root = Path::new(&manifest).with_file_name("src");
        if name == "kernel-profiler" || !root.is_dir() {
            continue;
        }
        let allowed = UNSAFE_FILES.iter().find(|(crate_name, _)| *crate_name == name);
        let allowed = allowed.map_or(&[][..], |(_, files)| files);
        let promise = if allowed.is_empty() { "forbid" } else { "deny" };
        for file in ["lib.rs", "main.rs"].map(|file| root.join(file)) {
            let Ok(source) = std::fs::read_to_string(&file) else { continue };
            assert!(source.contains(&format!("#![{promise}(unsafe_code)]")), "{}", file.display());
        }
        let excepted: Vec<_> = sources(&root)
            .into_iter()
            .filter(|file| {
                let source = std::fs::read_to_string(file).unwrap();
                ["allow(unsafe_code", "expect(unsafe_code"].iter().any(|lint| source.contains(lint))
            })
            .map(|file| file.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        assert_eq!(excepted, allowed, "exceptions of {name}");
    }
}

/// Every Rust file below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
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

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
