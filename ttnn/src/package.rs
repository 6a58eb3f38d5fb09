//! The ttnn package that a program's Python interpreter would import, and whether that package has
//! a built-in device profiler.

use serde::Deserialize;
use std::{
    ffi::OsStr,
    fs,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::Command,
};

/// A Python interpreter in which ttnn is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The interpreter.
    pub python: PathBuf,
    /// Folder of the package `ttnn`. If ttnn was installed from a wheel, the folder contains
    /// `tt_metal`.
    pub folder: PathBuf,
    /// The package's version; empty if unknown.
    pub version: String,
    /// Folder of the Python package `kprof`, if installed in the same Python.
    pub kprof: Option<PathBuf>,
    /// Presence of TT-Metal's own profiler in this build of ttnn.
    pub profiler: BuiltInProfiler,
}

/// Presence of TT-Metal's device profiler in a build of ttnn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInProfiler {
    /// Included: the build uses Tracy.
    Present,
    /// Not included: the build does not use Tracy. A program that enables the profiler of such a
    /// build is ended.
    Absent,
    /// Unknown, because TT-Metal's library was not found or could not be read.
    Unknown,
}

/// The interpreter's answer to [`QUESTION`].
#[derive(Deserialize)]
struct Answer {
    ttnn: Option<PathBuf>,
    version: Option<String>,
    kprof: Option<PathBuf>,
}

/// Returns the Python interpreter that runs a program: the program itself, or the interpreter in
/// the first line of a script. Returns `None` for other programs.
///
/// ```
/// use ttnn::package::python_of;
/// assert_eq!(python_of("python3.12"), Some("python3.12".into()));
/// assert_eq!(python_of("./build/test_matmul"), None);
/// ```
#[must_use]
pub fn python_of(program: &str) -> Option<PathBuf> {
    let name = Path::new(program).file_name().and_then(OsStr::to_str)?;
    if name
        .strip_prefix("python")
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    {
        return Some(program.into());
    }
    let first_line = first_line(&on_path(program)?).ok()?;
    let mut words = first_line.strip_prefix("#!")?.split_whitespace();
    let interpreter = words.next()?;
    let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
    let interpreter = if is_env { words.find(|word| !word.starts_with('-'))? } else { interpreter };
    Path::new(interpreter).file_name()?.to_str()?.starts_with("python").then(|| interpreter.into())
}

/// Returns the file that a shell would execute for a program name.
fn on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(program.into());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn first_line(path: &Path) -> io::Result<String> {
    let mut line = String::new();
    let file = fs::File::open(path)?;
    BufReader::new(file.take(FIRST_LINE_BYTES)).read_line(&mut line)?;
    Ok(line)
}

impl Package {
    /// Asks an interpreter where its ttnn is installed, without importing ttnn. Returns `None` if
    /// ttnn is not installed.
    ///
    /// # Errors
    /// If the interpreter cannot be run, or does not answer.
    pub fn find(python: &Path) -> io::Result<Option<Self>> {
        let output = Command::new(python).args(["-c", QUESTION]).output()?;
        let answer = output.stdout.split(|&byte| byte == b'\n').rfind(|line| !line.is_empty());
        let answer: Answer = serde_json::from_slice(answer.unwrap_or_default())?;
        let Some(folder) = answer.ttnn else { return Ok(None) };
        Ok(Some(Self {
            python: python.to_owned(),
            profiler: built_in_profiler(&folder),
            folder,
            version: answer.version.unwrap_or_default(),
            kprof: answer.kprof,
        }))
    }
}

/// Searches TT-Metal's library for a message that only builds without a profiler contain.
///
/// The library is in the package's folder (wheel) or in the root of a source build.
fn built_in_profiler(folder: &Path) -> BuiltInProfiler {
    let root = folder.parent().and_then(Path::parent);
    let libraries = [Some(folder), root].map(|root| root.map(|root| root.join(LIBRARY)));
    let Some(library) = libraries.into_iter().flatten().find(|path| path.is_file()) else {
        return BuiltInProfiler::Unknown;
    };
    match contains(&library, REFUSAL) {
        Ok(true) => BuiltInProfiler::Absent,
        Ok(false) => BuiltInProfiler::Present,
        Err(_) => BuiltInProfiler::Unknown,
    }
}

/// Returns true if a file contains the bytes `wanted`.
fn contains(path: &Path, wanted: &[u8]) -> io::Result<bool> {
    let mut file = fs::File::open(path)?;
    let mut window = Vec::new();
    loop {
        let overlap = window.len().saturating_sub(wanted.len());
        window.drain(..overlap);
        if file.by_ref().take(PIECE_BYTES).read_to_end(&mut window)? == 0 {
            return Ok(false);
        }
        if memchr::memmem::find(&window, wanted).is_some() {
            return Ok(true);
        }
    }
}

/// Python code that prints the packages' folders as one line of JSON.
const QUESTION: &str = "
import importlib.metadata, importlib.util, json
def folder(name):
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or []) if spec else []
    return places[0] if places else None
try:
    version = importlib.metadata.version('ttnn')
except importlib.metadata.PackageNotFoundError:
    version = None
print(json.dumps({'ttnn': folder('ttnn'), 'version': version, 'kprof': folder('kprof')}))
";
/// Path of TT-Metal's library below the package's folder or the root of a source build.
///
/// # Compatibility
/// Wheels of ttnn 0.81, and source builds.
const LIBRARY: &str = "build/lib/libtt_metal.so";
/// Part of the error message with which a build without Tracy refuses `TT_METAL_DEVICE_PROFILER`.
///
/// # Compatibility
/// `rtoptions.cpp` of tt-metal 0.81.
const REFUSAL: &[u8] = b"requires a Tracy-enabled build";
const FIRST_LINE_BYTES: u64 = 256;
const PIECE_BYTES: u64 = 1 << 22;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_names_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("pytest");
        let named = |line: &str| {
            fs::write(&script, format!("{line}\nimport sys\n")).unwrap();
            python_of(script.to_str().unwrap())
        };
        assert_eq!(named("#!/venv/bin/python3"), Some("/venv/bin/python3".into()));
        assert_eq!(named("#!/usr/bin/env -S python3.10 -E"), Some("python3.10".into()));
        assert_eq!(named("#!/bin/sh"), None);
        assert_eq!(named("\u{7f}ELF"), None);
    }

    #[test]
    fn a_text_across_two_pieces_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library");
        let before = usize::try_from(PIECE_BYTES).unwrap() - 5;
        let mut bytes = vec![b'x'; before];
        bytes.extend_from_slice(REFUSAL);
        fs::write(&path, &bytes).unwrap();
        assert!(contains(&path, REFUSAL).unwrap());
        bytes.truncate(before + REFUSAL.len() - 1);
        fs::write(&path, &bytes).unwrap();
        assert!(!contains(&path, REFUSAL).unwrap());
    }
}
