//! Cycles among modules: files that use each other must be in one folder.
//!
//! A file uses another file if one of its paths resolves to the other file. Re-exports are followed
//! to the file that defines the name. A re-export does not count as a use, and tests may use any
//! module.

use crate::structure::{packages, sources, text};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A module's path below its crate; empty for the root.
type ModulePath = Vec<String>;

/// A module's source, without comments and tests.
#[derive(Default)]
struct Module {
    folder: String,
    /// Code without imports.
    code: String,
    /// Imported and re-exported paths, by name.
    names: BTreeMap<String, Vec<String>>,
    /// Paths used in the code.
    paths: Vec<Vec<String>>,
}

type Modules = BTreeMap<ModulePath, Module>;

#[test]
fn modules_that_use_each_other_lie_in_one_folder() {
    let mut wrong = Vec::new();
    let mut module_count = 0;
    for package in packages() {
        let manifest = text(&package["manifest_path"]);
        let root = Path::new(&manifest).with_file_name("src");
        if !root.is_dir() || package["name"] == "tests" {
            continue;
        }
        let files = sources(&root).into_iter().map(|file| {
            let below = file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            (below, fs::read_to_string(&file).unwrap())
        });
        let modules = modules(files);
        module_count += modules.len();
        let circles = circles(&modules);
        wrong.extend(circles.iter().map(|circle| format!("{}: {circle:?}", package["name"])));
    }
    assert!(module_count > 400, "{module_count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_through_a_re_export_and_within_one_folder_allowed() {
    let circles = |files: &[(&str, &str)]| {
        circles(&modules(files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned()))))
    };
    let hub = ("a/mod.rs", "mod b;\npub use b::Thing;\n");
    let uses_c = ("a/b.rs", "use crate::c::Other;\nstruct Thing(Other);\n");
    let uses_thing = ("c.rs", "use crate::{\n    a::Thing,\n};\nstruct Other(Thing);\n");
    assert_eq!(circles(&[hub, uses_c, uses_thing]), [["a::b", "c"]]);
    // Uses in a module's tests, and names that are only re-exported, do not count.
    let in_test =
        ("c.rs", "struct Other;\n#[cfg(test)]\nmod tests {\n    use crate::a::Thing;\n}\n");
    assert!(circles(&[hub, uses_c, in_test]).is_empty());
    let inline = ("c.rs", "fn other() { super::a::Thing::new() }\n");
    assert_eq!(circles(&[hub, uses_c, inline]), [["a::b", "c"]]);
    let in_folder = [("a/b.rs", "use super::c::C;\n"), ("a/c.rs", "use super::b::B;\n")];
    assert!(circles(&in_folder).is_empty());
}

/// Returns the modules of a crate, given its files' names below `src` and their texts.
fn modules(files: impl Iterator<Item = (String, String)>) -> Modules {
    let mut modules = Modules::new();
    let mut only_for_tests = BTreeSet::new();
    for (name, text) in files {
        let path = module_path(&name);
        let product = without_tests(&text, |child| {
            only_for_tests.insert([&path[..], &[child.to_owned()]].concat());
        });
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        modules.insert(path, parsed(folder, &product));
    }
    modules.retain(|path, _| !only_for_tests.iter().any(|tests| path.starts_with(tests)));
    modules
}

fn module_path(file: &str) -> ModulePath {
    let name = file.trim_end_matches(".rs");
    let mut path: Vec<String> = name.split('/').map(ToOwned::to_owned).collect();
    if ["mod", "lib", "main"].contains(&path.last().map_or("", String::as_str)) {
        path.pop();
    }
    path
}

/// Returns code without comments and test modules; passes the names of child modules that are only
/// for tests to `on_test_module`.
fn without_tests(text: &str, mut on_test_module: impl FnMut(&str)) -> String {
    let mut code = String::new();
    let mut is_for_tests = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed == "#[cfg(test)]" {
            is_for_tests = true;
        } else if is_for_tests && line == "mod tests {" {
            break;
        } else if !trimmed.starts_with("#[") {
            let declared = trimmed.split_once("mod ").and_then(|(_, rest)| rest.strip_suffix(';'));
            if let (true, Some(child)) = (is_for_tests, declared) {
                on_test_module(child);
            }
            is_for_tests = false;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

fn parsed(folder: String, text: &str) -> Module {
    let mut module = Module { folder, ..Module::default() };
    let mut passed_on = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((visibility, tree)) = import(line.trim_start()) else {
            module.code.push_str(line);
            module.code.push('\n');
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(next) = lines.next() else { break };
            tree.push_str(next.trim());
        }
        for path in expanded(tree.trim_end_matches(';')) {
            let (path, name) = match path.split_once(" as ") {
                Some((path, name)) => (path.to_owned(), Some(name.trim().to_owned())),
                None => (path, None),
            };
            let mut segments: Vec<String> =
                path.split("::").map(|segment| segment.trim().to_owned()).collect();
            segments.pop_if(|last| last == "self");
            let Some(last) = segments.last() else { continue };
            let name = name.unwrap_or_else(|| last.clone());
            module.names.insert(name.clone(), segments.clone());
            passed_on.push((!visibility.is_empty()).then_some(name));
            module.paths.push(segments);
        }
    }
    let is_used = |name: &Option<String>| {
        let word = |c: char| !(c.is_alphanumeric() || c == '_');
        name.as_ref().is_none_or(|name| module.code.split(word).any(|found| found == name))
    };
    let kept: Vec<bool> = passed_on.iter().map(is_used).collect();
    let mut kept = kept.iter();
    module.paths.retain(|_| kept.next() == Some(&true));
    module.paths.extend(inline_paths(&module.code));
    module
}

/// Returns visibility and tree of an import, if the line begins an import.
fn import(line: &str) -> Option<(&str, &str)> {
    let (before, tree) = line.split_once("use ")?;
    let visibility = before.trim_end();
    let is_import = visibility.is_empty()
        || visibility == "pub"
        || (visibility.starts_with("pub(") && visibility.ends_with(')'));
    is_import.then_some((visibility, tree))
}

/// Returns the paths of a tree such as `a::{b, c::{d, e}}`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut branches = vec![String::new()];
    let mut depth = 0;
    for character in inner.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                branches.push(String::new());
                continue;
            }
            _ => {}
        }
        branches.last_mut().unwrap().push(character);
    }
    let branches = branches.iter().filter(|branch| !branch.trim().is_empty());
    let below = branches.flat_map(|branch| expanded(branch));
    below.map(|path| format!("{}{path}", prefix.trim())).collect()
}

/// Returns paths such as `crate::a::B` in code.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_outside = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
    let words = code.split(is_outside).map(|word| word.trim_matches(':'));
    let paths = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    paths.map(|path| path.split("::").map(ToOwned::to_owned).collect()).collect()
}

/// Returns the module that defines the target of a path in `module`; `None` if the target is in
/// another crate.
fn target(
    modules: &Modules,
    module: &[String],
    path: &[String],
    depth: usize,
) -> Option<ModulePath> {
    let (first, mut rest) = path.split_first()?;
    let mut current = match first.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => {
            let mut current = module.to_vec();
            rest = path;
            while let Some((step, after)) =
                rest.split_first().filter(|(step, _)| ["self", "super"].contains(&step.as_str()))
            {
                if step == "super" {
                    current.pop()?;
                }
                rest = after;
            }
            current
        }
        _ => {
            let child = [module, std::slice::from_ref(first)].concat();
            modules.contains_key(&child).then_some(child)?
        }
    };
    for (index, segment) in rest.iter().enumerate() {
        let child = [&current[..], std::slice::from_ref(segment)].concat();
        if modules.contains_key(&child) {
            current = child;
            continue;
        }
        let known = modules.get(&current).and_then(|module| module.names.get(segment));
        if let (Some(names), true) = (known, depth < 8) {
            let full = [&names[..], &rest[index + 1..]].concat();
            return target(modules, &current, &full, depth + 1).or(Some(current));
        }
        break;
    }
    Some(current)
}

/// Returns the cycles that span more than one folder, each as the names of its modules.
fn circles(modules: &Modules) -> Vec<Vec<String>> {
    let mut edges: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = BTreeMap::new();
    for (path, module) in modules {
        let targets = module.paths.iter().filter_map(|found| target(modules, path, found, 0));
        // The root only re-exports the crate's interface; nothing depends on it.
        edges.insert(path, targets.filter(|target| target != path && !target.is_empty()).collect());
    }
    let reached = |from: &ModulePath| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&ModulePath> = edges.get(from).into_iter().flatten().collect();
        while let Some(path) = open.pop() {
            if seen.insert(path) {
                open.extend(edges.get(path).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        modules.keys().map(|path| (path, reached(path))).collect();
    let mut circles = BTreeSet::new();
    for (path, targets) in &reached {
        let returns =
            |other: &&&ModulePath| reached.get(**other).is_some_and(|of| of.contains(path));
        let circle: BTreeSet<&ModulePath> = targets.iter().filter(returns).copied().collect();
        let folders: BTreeSet<&str> = circle
            .iter()
            .filter_map(|path| modules.get(*path))
            .map(|m| m.folder.as_str())
            .collect();
        if folders.len() > 1 {
            circles.insert(circle.into_iter().map(|path| path.join("::")).collect::<Vec<_>>());
        }
    }
    circles.into_iter().collect()
}
