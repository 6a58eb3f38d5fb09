//! Results of compilers, kept from test to test and from run to run.
//!
//! Most tests here compile tt-metal's sources, and many of them the same ones, which nothing of ours
//! changes. A result is taken again when the compiler, its options and every byte that it has read
//! are the same, and no file has come that it would find first. Nothing is kept of a compilation
//! that fails. With `KPROF_COMPILE_AGAIN=1` everything is compiled.

use crate::{
    package::{our_include, sources},
    toolchain::Turn,
};
use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output},
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

/// Where results are kept.
pub(crate) struct Store {
    pub(crate) folder: PathBuf,
    /// Files below it are known by their contents and not by their names: most lie in a folder whose
    /// number another run gives to something else.
    pub(crate) scratch: PathBuf,
    /// False where everything is compiled.
    pub(crate) is_asked: bool,
}

impl Store {
    /// Returns what a command has given before, or runs it.
    pub(crate) fn run(&self, command: &mut Command) -> io::Result<Output> {
        let Some(question) = Question::new(self, command) else {
            let _turn = Turn::take();
            return command.output();
        };
        let entry = self.folder.join(format!("{:016x}", question.key));
        if let Some(output) = self.is_asked.then(|| question.answer(&entry)).flatten() {
            return Ok(output);
        }
        let _turn = Turn::take();
        let dependencies = self.new_path();
        if !question.is_link {
            command.args(["-MMD", "-MF"]).arg(&dependencies);
        }
        let output = command.output()?;
        if output.status.success() {
            // A result that cannot be kept is made again next time.
            let _ = self.keep(&question, &output, &dependencies, &entry);
        }
        let _ = fs::remove_file(&dependencies);
        Ok(output)
    }

    /// A path of this call's own.
    fn new_path(&self) -> PathBuf {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let _ = fs::create_dir_all(&self.folder);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("new-{}-{number}", std::process::id()))
    }

    fn keep(
        &self,
        question: &Question,
        output: &Output,
        dependencies: &Path,
        entry: &Path,
    ) -> io::Result<()> {
        let mut read = String::new();
        if !question.is_link {
            for path in files_of_rule(&fs::read_to_string(dependencies)?) {
                if !question.named.iter().any(|named| Path::new(path).starts_with(named)) {
                    read += &format!("{:016x} {path}\n", contents(Path::new(path))?);
                }
            }
        }
        let new = self.new_path();
        fs::create_dir_all(&new)?;
        fs::write(new.join("read"), read)?;
        fs::write(new.join("stdout"), &output.stdout)?;
        fs::write(new.join("stderr"), &output.stderr)?;
        if let Some(file) = &question.file {
            fs::copy(file, new.join("file"))?;
        }
        // One result for each command, so that the folder does not grow with every change.
        let _ = fs::remove_dir_all(entry);
        fs::rename(&new, entry).or_else(|_| fs::remove_dir_all(&new))
    }
}

/// The files that a rule of a Makefile, as compilers write it, names behind its target.
fn files_of_rule(rule: &str) -> impl Iterator<Item = &str> {
    let files = rule.split_once(": ").map_or("", |(_, files)| files);
    files.split_whitespace().filter(|&file| file != "\\")
}

/// A command, as far as its result depends on it.
struct Question {
    key: u64,
    is_link: bool,
    /// What the command writes.
    file: Option<PathBuf>,
    /// What it names below [`Store::scratch`]; the key has its contents.
    named: Vec<PathBuf>,
}

impl Question {
    /// `None` if something that the command names cannot be read; the command will say what.
    fn new(store: &Store, command: &Command) -> Option<Self> {
        let arguments: Vec<&OsStr> = command.get_args().collect();
        let is_compilation =
            |one: &&OsStr| ["-c", "-S", "-E", "-fsyntax-only"].iter().any(|flag| one == flag);
        let is_link = !arguments.iter().any(is_compilation);
        let mut key = DefaultHasher::new();
        compiler(command.get_program())?.hash(&mut key);
        let (mut file, mut named, mut before) = (None, Vec::new(), "");
        for argument in arguments {
            let text = argument.to_str()?;
            if before == "-o" {
                file = (text != "/dev/null").then(|| PathBuf::from(text));
            } else {
                let path = path_in(text);
                store.hash_path(path, before, &mut key).ok()?;
                // The option in front of it.
                text.strip_suffix(path).hash(&mut key);
                named.extend(store.has(path).then(|| PathBuf::from(path)));
            }
            before = text;
        }
        Some(Self { key: key.finish(), is_link, file, named })
    }

    /// What is kept, if all that the command has read is as it was.
    fn answer(&self, entry: &Path) -> Option<Output> {
        for line in fs::read_to_string(entry.join("read")).ok()?.lines() {
            let (hash, path) = line.split_once(' ')?;
            if format!("{:016x}", contents(Path::new(path)).ok()?) != hash {
                return None;
            }
        }
        let stdout = fs::read(entry.join("stdout")).ok()?;
        let stderr = fs::read(entry.join("stderr")).ok()?;
        if let Some(file) = &self.file {
            // Not over what is there, which may be a link.
            let _ = fs::remove_file(file);
            fs::copy(entry.join("file"), file).ok()?;
        }
        Some(Output { status: ExitStatus::default(), stdout, stderr })
    }
}

impl Store {
    fn has(&self, path: &str) -> bool {
        Path::new(path).starts_with(&self.scratch)
    }

    /// Folders that are searched, by their names and by what would be found in them; files by their
    /// contents; other arguments as they are.
    fn hash_path(&self, text: &str, before: &str, key: &mut DefaultHasher) -> io::Result<()> {
        let path = Path::new(text);
        if !self.has(text) {
            text.hash(key);
        }
        if path.is_file() {
            contents(path)?.hash(key);
        } else if path.is_dir() && (self.has(text) || is_ours(path)) {
            // Compilers do not say which headers of a system they have read.
            hash_folder(path, self.has(text) || before == "-isystem", key)?;
        } else if path.is_dir() && before == "-L" {
            hash_folder(path, true, key)?;
        }
        Ok(())
    }
}

/// The path behind an option, or the whole argument.
fn path_in(argument: &str) -> &str {
    let options = ["-I", "-L", "-Wl,--just-symbols="];
    let mut paths = options.iter().filter_map(|option| argument.strip_prefix(option));
    paths.find(|path| !path.is_empty()).unwrap_or(argument)
}

/// Returns true for a folder of this project.
fn is_ours(path: &Path) -> bool {
    path.starts_with(our_include()) || path.starts_with(sources())
}

/// Names of the files that a source can include or a script can name, and their contents where the
/// compiler does not say what it has read.
fn hash_folder(folder: &Path, with_contents: bool, key: &mut DefaultHasher) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            hash_folder(&path, with_contents, key)?;
            continue;
        }
        // The others are what compilers have written there.
        let is_source = path.extension().and_then(OsStr::to_str).is_some_and(|extension| {
            ["h", "hpp", "c", "cc", "cpp", "inc", "ld"].contains(&extension)
        });
        if is_source {
            entry.file_name().hash(key);
            if with_contents {
                contents(&path)?.hash(key);
            }
        }
    }
    Ok(())
}

/// A hash of a file's bytes, computed once for each of its versions.
fn contents(path: &Path) -> io::Result<u64> {
    type Version = (SystemTime, u64);
    static KNOWN: LazyLock<Mutex<HashMap<PathBuf, (Version, u64)>>> = LazyLock::new(Mutex::default);
    let metadata = fs::metadata(path)?;
    let version = (metadata.modified()?, metadata.len());
    let known = KNOWN.lock().unwrap().get(path).copied();
    if let Some((_, hash)) = known.filter(|(of, _)| *of == version) {
        return Ok(hash);
    }
    let mut hasher = DefaultHasher::new();
    fs::read(path)?.hash(&mut hasher);
    let hash = hasher.finish();
    KNOWN.lock().unwrap().insert(path.to_owned(), (version, hash));
    Ok(hash)
}

/// What a compiler says of itself, and the sizes and times of its parts.
fn compiler(program: &OsStr) -> Option<String> {
    static KNOWN: LazyLock<Mutex<HashMap<PathBuf, String>>> = LazyLock::new(Mutex::default);
    let name = PathBuf::from(program);
    if let Some(known) = KNOWN.lock().unwrap().get(&name) {
        return Some(known.clone());
    }
    let ask = |question: &str| {
        let output = Command::new(program).arg(question).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let mut text = ask("--version")?;
    for part in ["cc1plus", "lto1", "lto-wrapper", "collect2", "as", "ld"] {
        let path = ask(&format!("-print-prog-name={part}"))?;
        let metadata = fs::metadata(&path).ok();
        let version = metadata.and_then(|of| Some((of.len(), of.modified().ok()?)));
        text += &format!("\n{path} {version:?}");
    }
    KNOWN.lock().unwrap().insert(name, text.clone());
    Some(text)
}

/// Asserts what a compiler gives for a source that includes `value.hpp`.
#[cfg(test)]
#[track_caller]
fn expect(store: &Store, folders: [&Path; 2], define: &str, expected: &str) {
    let [first, second] = folders;
    let text = store.scratch.join("text.ii");
    let mut command = Command::new("c++");
    command.arg("-I").arg(first).arg("-I").arg(second).arg(define).args(["-E", "-P", "-x", "c++"]);
    let output = store.run(command.arg(second.join("main.cc")).arg("-o").arg(&text)).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(&text).unwrap().trim(), expected);
}

/// A result is taken again, but not when an option, a file that was read, or the file that is found
/// first has changed.
#[test]
fn results_are_those_of_the_bytes_that_are_there() {
    let scratch = super::toolchain::folder("compiled_again");
    fs::remove_dir_all(&scratch).unwrap();
    let folder = scratch.join("store");
    let store = Store { folder, scratch: scratch.clone(), is_asked: true };
    let (first, second) = (scratch.join("first"), scratch.join("second"));
    for folder in [&first, &second] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(second.join("main.cc"), "#include <value.hpp>\nWHERE VALUE\n").unwrap();
    fs::write(second.join("value.hpp"), "#define VALUE 1\n").unwrap();
    let folders = [first.as_path(), second.as_path()];
    expect(&store, folders, "-DWHERE=here", "here 1");
    // Whoever compiles does not see this one.
    let entry = fs::read_dir(&store.folder).unwrap().next().unwrap().unwrap().path();
    fs::write(entry.join("file"), "taken again").unwrap();
    expect(&store, folders, "-DWHERE=here", "taken again");
    expect(&store, folders, "-DWHERE=there", "there 1");
    fs::write(second.join("value.hpp"), "#define VALUE 2\n").unwrap();
    expect(&store, folders, "-DWHERE=here", "here 2");
    fs::write(first.join("value.hpp"), "#define VALUE 3\n").unwrap();
    expect(&store, folders, "-DWHERE=here", "here 3");
    fs::remove_file(first.join("value.hpp")).unwrap();
    expect(&store, folders, "-DWHERE=here", "here 2");
    // The same folders, of which this store knows names and what the compiler says that it read.
    let mut known = Store { scratch: scratch.join("elsewhere"), ..store };
    fs::create_dir_all(&known.scratch).unwrap();
    expect(&known, folders, "-DWHERE=here", "here 2");
    fs::write(second.join("value.hpp"), "#define VALUE 4\n").unwrap();
    expect(&known, folders, "-DWHERE=here", "here 4");
    for result in fs::read_dir(&known.folder).unwrap() {
        fs::write(result.unwrap().path().join("file"), "taken again").unwrap();
    }
    expect(&known, folders, "-DWHERE=here", "taken again");
    known.is_asked = false;
    expect(&known, folders, "-DWHERE=here", "here 4");
}
