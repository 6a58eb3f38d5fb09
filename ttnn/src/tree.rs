//! A private root folder for TT-Metal: links to an installed package, kprof's header, and a
//! compiler script that uses the header. Neither the package's files nor the user's folders are
//! changed.

use crate::package::Package;
use sha2::{Digest, Sha256};
use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};
use wire::dram::{bytes_per_program, effective_support_count};

/// Options for compiling profiled kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Files of kprof's C++ header. Each file has a path below an include folder, and its contents.
    pub header: &'static [(&'static str, &'static str)],
    /// Number of programs that a RISC's lane in DRAM can hold.
    pub program_support_count: u32,
    /// True if sum zones are recorded.
    pub sums: bool,
    /// True if dispatch kernels are profiled, too.
    pub dispatch_cores: bool,
    /// Additional macro definitions, as `NAME=VALUE`.
    pub defines: Vec<String>,
    /// True if a kernel that cannot be compiled with kprof's header is compiled again without the
    /// header.
    pub keeps_going: bool,
}

/// A complete root folder, and the files that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Value for `TT_METAL_RUNTIME_ROOT`.
    pub root: PathBuf,
    /// Value for `TT_METAL_CACHE`. Runs with the same package, header and options share the cache.
    pub cache: PathBuf,
    /// File to which the compiler appends a line for each source that did not compile with kprof's
    /// header.
    pub problems: PathBuf,
    /// File with the names and source locations of all zones, as printed by the compiler. The zones
    /// are those of the kernels in the cache.
    pub zones: PathBuf,
}

/// Reason why a root cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The package's compiler is missing.
    #[error(
        "expected tt-metal's compiler as {}, found none; install it with tt-metal's script (python -m \
         ttnn.download_sfpi), or name one in {COMPILER_VARIABLE}",
        .places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" or ")
    )]
    NoCompiler {
        /// Paths that were searched.
        places: Vec<PathBuf>,
    },
    /// The cache folder is unknown, because neither `XDG_CACHE_HOME` nor `HOME` is set.
    #[error("expected a folder for caches in XDG_CACHE_HOME or HOME, found none")]
    NoCacheFolder,
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// Environment variable with the path of a compiler to use instead of the package's own.
pub const COMPILER_VARIABLE: &str = "KPROF_TTNN_COMPILER";

/// Name of the file beside an object that was compiled without the profiler's header, because it does
/// not compile with it.
///
/// tt-metal keeps objects between programs. The file tells each program that uses the object that a kernel
/// runs without profiling. It holds the source, the folder and the compiler's error.
pub const UNPROFILED_FILE: &str = "kprof-unprofiled";

impl Tree {
    /// Creates a root folder below `folder` that links to `base`, the package's own root folder.
    ///
    /// If a root folder with the same options exists, it is used instead. Programs that start at
    /// the same time share the root folder.
    ///
    /// # Errors
    /// If there is no compiler, or a file cannot be written.
    pub fn make(
        folder: &Path,
        package: &Package,
        base: &Path,
        build: &Build,
    ) -> Result<Self, TreeError> {
        let compiler = find_compiler(base)?;
        let key = digest(
            [package.version.as_bytes(), base.as_os_str().as_encoded_bytes()]
                .into_iter()
                .chain([compiler.as_os_str().as_encoded_bytes()])
                .chain([format!("{:?}", build.flags()).as_bytes(), &[build.keeps_going.into()]])
                // Kernels of an earlier version of such a tree lie there without a mark.
                .chain(build.keeps_going.then_some(UNPROFILED_FILE.as_bytes()))
                .chain(
                    build.header.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]),
                ),
        );
        let home = folder.join(key);
        let root = home.join("root");
        let zones = home.join("zones.log");
        let wrapper = wrapper(&compiler, &root.join(INCLUDE), &zones, build);
        let tree = Self {
            problems: home.join(format!("problems-{}", std::process::id())),
            zones,
            cache: home.join("cache"),
            root,
        };
        create_folder(&tree.cache)?;
        if !tree.root.is_dir() {
            let part = home.join(format!("root-{}", std::process::id()));
            link_tree(base, &part, &wrapper)?;
            write_header(&part.join(INCLUDE), build.header)?;
            put_in_place(&part, &tree.root)?;
        }
        Ok(tree)
    }
}

/// Renames the complete folder `part` to its final path `folder`. If another program has already
/// created `folder`, removes `part` instead.
pub(crate) fn put_in_place(part: &Path, folder: &Path) -> Result<(), TreeError> {
    match fs::rename(part, folder) {
        Err(_) if folder.is_dir() => {
            fs::remove_dir_all(part).map_err(|source| failed(part, source))
        }
        renamed => renamed.map_err(|source| failed(folder, source)),
    }
}

impl Tree {
    /// Returns the environment variables that make TT-Metal use this root and write its log of
    /// launches in a folder below `logs`.
    #[must_use]
    pub fn variables(&self, logs: &Path) -> Vec<(&'static str, OsString)> {
        vec![
            ("TT_METAL_RUNTIME_ROOT", self.root.clone().into()),
            ("TT_METAL_CACHE", self.cache.clone().into()),
            ("TT_METAL_DISABLE_PRECOMPILED_FW", "1".into()),
            ("TT_METAL_LOGS_PATH", logs.into()),
            ("TT_METAL_INSPECTOR_LOG_RUNTIME_ENTRIES", "1".into()),
            ("TT_METAL_INSPECTOR_CAPTURE_TENSOR_SPECS", "1".into()),
            ("KPROF_TTNN_PROBLEMS", self.problems.clone().into()),
            ("KPROF_TTNN_ZONES", self.zones.clone().into()),
        ]
    }
}

/// Returns the compiler that tt-metal would use.
fn find_compiler(base: &Path) -> Result<PathBuf, TreeError> {
    if let Some(named) = std::env::var_os(COMPILER_VARIABLE) {
        let named = PathBuf::from(named);
        return if named.is_file() { Ok(named) } else { Err(no_compiler(vec![named])) };
    }
    let places = vec![base.join(COMPILER), Path::new(SYSTEM_SFPI).join("compiler/bin").join(GXX)];
    match places.iter().find(|place| place.is_file()) {
        Some(place) => Ok(place.clone()),
        None => Err(no_compiler(places)),
    }
}

const fn no_compiler(places: Vec<PathBuf>) -> TreeError {
    TreeError::NoCompiler { places }
}

impl Build {
    /// Returns the compiler flags that enable profiling. The flag for the include folder is not
    /// included.
    fn flags(&self) -> Vec<String> {
        let bits = [(true, PROFILE), (self.sums, SUMS), (self.dispatch_cores, DISPATCH_CORES)];
        let bits = bits.into_iter().filter(|(is_on, _)| *is_on).fold(0, |all, (_, bit)| all | bit);
        let programs = effective_support_count(self.program_support_count, self.sums);
        let lane_bytes = programs.saturating_mul(bytes_per_program(self.sums));
        let mut flags = vec![
            format!("-DPROFILE_KERNEL={bits}"),
            format!("-DPROFILER_FULL_HOST_BUFFER_SIZE_PER_RISC={lane_bytes}"),
        ];
        flags.extend(self.defines.iter().map(|define| format!("-D{define}")));
        flags
    }
}

/// Bit of `PROFILE_KERNEL` that enables the profiler.
///
/// # Compatibility
/// This bit, [`DISPATCH_CORES`] and [`SUMS`] have the values of `PROFILER_OPT_*` in tt-metal's
/// `profiler_common.h`.
const PROFILE: u32 = 1;
/// Bit of `PROFILE_KERNEL` that also profiles dispatch kernels.
const DISPATCH_CORES: u32 = 1 << 1;
/// Bit of `PROFILE_KERNEL` that enables sum zones, which record only total times.
const SUMS: u32 = 1 << 3;

/// Returns the shell script that replaces the compiler.
fn wrapper(compiler: &Path, include: &Path, zones: &Path, build: &Build) -> String {
    let zones = quoted(&zones.display().to_string());
    let include = format!("-I{}", include.display());
    let flags: Vec<_> = [include].iter().chain(&build.flags()).map(|flag| quoted(flag)).collect();
    let compiler = quoted(&compiler.display().to_string());
    let failure = if build.keeps_going { "0" } else { "$status" };
    let (mark, unmark) = match build.keeps_going {
        true => (
            format!("echo \"$argument in $PWD: $error\" >{UNPROFILED_FILE}"),
            format!("rm -f {UNPROFILED_FILE}"),
        ),
        false => (":".to_owned(), ":".to_owned()),
    };
    format!(
        r#"#!/bin/sh
# Compiles kernels with the profiler's header; links are left alone.
case " $* " in
*" -c "*) ;;
*) exec {compiler} "$@" ;;
esac
log=$({compiler} {flags} "$@" 2>&1)
status=$?
if [ $status -eq 0 ]; then
    {unmark}
    # tt-metal would print the names of zones with every compilation.
    printf '%s\n' "$log" | grep -F ",KERNEL_PROFILER'" >>{zones}
    exit 0
fi
printf '%s\n' "$log" >&2
if [ -n "$KPROF_TTNN_PROBLEMS" ]; then
    # Only what compiles without the header is the header's matter.
    if {compiler} "$@" >/dev/null 2>&1; then
        error=$(printf '%s\n' "$log" | grep -m 1 'error')
        for argument; do
            case $argument in
            *.cc|*.cpp)
                echo "$argument in $PWD: $error" >>"$KPROF_TTNN_PROBLEMS"
                {mark}
                ;;
            esac
        done
        exit {failure}
    fi
fi
exit $status
"#,
        flags = flags.join(" "),
    )
}

/// Quotes a string for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Creates links to all entries of TT-Metal's root except the compiler, which the wrapper replaces.
fn link_tree(base: &Path, root: &Path, wrapper: &str) -> Result<(), TreeError> {
    link_entries(base, root, "runtime")?;
    let sfpi = match base.join("runtime/sfpi") {
        own if own.is_dir() => own,
        _ => PathBuf::from(SYSTEM_SFPI),
    };
    link_entries(&base.join("runtime"), &root.join("runtime"), "sfpi")?;
    link_entries(&sfpi, &root.join("runtime/sfpi"), "compiler")?;
    link_entries(&sfpi.join("compiler"), &root.join("runtime/sfpi/compiler"), "bin")?;
    let bin = root.join("runtime/sfpi/compiler/bin");
    link_entries(&sfpi.join("compiler/bin"), &bin, GXX)?;
    let compiler = bin.join(GXX);
    fs::write(&compiler, wrapper).map_err(|source| failed(&compiler, source))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&compiler, executable).map_err(|source| failed(&compiler, source))
}

/// Creates the folder `to` with links to all entries of `from`, except the entry with the name
/// `besides`. If `from` does not exist, `to` is empty.
fn link_entries(from: &Path, to: &Path, besides: &str) -> Result<(), TreeError> {
    create_folder(to)?;
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|source| failed(from, source))?,
    };
    for entry in entries {
        let name = entry.map_err(|source| failed(from, source))?.file_name();
        if name != besides {
            let link = to.join(&name);
            symlink(from.join(&name), &link).map_err(|source| failed(&link, source))?;
        }
    }
    Ok(())
}

pub(crate) fn create_folder(path: &Path) -> Result<(), TreeError> {
    fs::create_dir_all(path).map_err(|source| failed(path, source))
}

pub(crate) fn failed(path: &Path, source: io::Error) -> TreeError {
    TreeError::File { path: path.to_owned(), source }
}

/// Writes the header's files.
fn write_header(include: &Path, files: &[(&str, &str)]) -> Result<(), TreeError> {
    for (name, text) in files {
        let path = include.join(name);
        create_folder(path.parent().unwrap_or(include))?;
        fs::write(&path, text).map_err(|source| failed(&path, source))?;
    }
    Ok(())
}

/// Returns the root folder that TT-Metal would use with a package.
#[must_use]
pub fn base_of(package: &Package) -> PathBuf {
    let named = ["TT_METAL_RUNTIME_ROOT", "TT_METAL_HOME"].into_iter().find_map(std::env::var_os);
    named.map_or_else(|| package.folder.clone(), PathBuf::from)
}

/// Returns the folder in which kprof creates root folders. Users may delete this folder at any
/// time.
///
/// # Errors
/// If neither `XDG_CACHE_HOME` nor `HOME` is set.
pub fn cache_folder() -> Result<PathBuf, TreeError> {
    let folder = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.is_absolute());
    Ok(folder
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .ok_or(TreeError::NoCacheFolder)?
        .join("kprof/ttnn"))
}

/// Returns a hash of the parts as 16 hexadecimal digits.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Folder of kprof's header in the root; TT-Metal's package has no entry with this name.
const INCLUDE: &str = "kprof-include";
const GXX: &str = "riscv-tt-elf-g++";
/// Path of the compiler below TT-Metal's root.
///
/// # Compatibility
/// tt-metal 0.81 searches for its compiler in the root first, then in [`SYSTEM_SFPI`].
const COMPILER: &str = "runtime/sfpi/compiler/bin/riscv-tt-elf-g++";
const SYSTEM_SFPI: &str = "/opt/tenstorrent/sfpi";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::BuiltInProfiler;

    fn package(folder: &Path) -> Package {
        Package {
            python: "python3".into(),
            folder: folder.to_owned(),
            version: "0.81.1".into(),
            kprof: None,
            profiler: BuiltInProfiler::Absent,
        }
    }

    /// Returns a folder with a package. The package's compiler prints its arguments, and fails if
    /// they contain `-DPROFILE_KERNEL=9`.
    fn installed() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("ttnn/runtime/sfpi/compiler/bin");
        fs::create_dir_all(&bin).unwrap();
        let script = "#!/bin/sh\nprintf '[%s]' \"$@\"\ncase \" $* \" in *KERNEL=9*\" k.cc \"*) exit 3;; esac\n";
        fs::write(bin.join(GXX), script).unwrap();
        fs::set_permissions(bin.join(GXX), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(bin.join("objcopy"), "").unwrap();
        fs::create_dir_all(folder.path().join("ttnn/tt_metal/hw")).unwrap();
        fs::create_dir_all(folder.path().join("empty")).unwrap();
        folder
    }

    fn build() -> Build {
        Build {
            header: &[("api/it.hpp", "#pragma once")],
            program_support_count: 1000,
            sums: false,
            dispatch_cores: false,
            defines: vec!["KERNEL_PROFILER_WAITS=1".into()],
            keeps_going: false,
        }
    }

    fn run(tree: &Tree, arguments: &[&str]) -> (String, Option<i32>) {
        let mut command = std::process::Command::new(tree.root.join(COMPILER));
        command.args(arguments).env("KPROF_TTNN_PROBLEMS", &tree.problems);
        let output = command.current_dir(&tree.cache).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    }

    #[test]
    fn compilations_get_the_header_and_links_do_not() {
        let folder = installed();
        let base = folder.path().join("ttnn");
        let of = |dispatch_cores| {
            let build = Build { dispatch_cores, ..build() };
            Tree::make(&folder.path().join("cache"), &package(&base), &base, &build).unwrap()
        };
        let tree = of(false);
        let include = tree.root.join(INCLUDE);
        assert_eq!(fs::read_to_string(include.join("api/it.hpp")).unwrap(), "#pragma once");
        let header = include.display();
        let expected = format!(
            "[-I{header}][-DPROFILE_KERNEL=1][-DPROFILER_FULL_HOST_BUFFER_SIZE_PER_RISC=48000]\
             [-DKERNEL_PROFILER_WAITS=1][-c][a b.cc]"
        );
        let silent = (String::new(), Some(0));
        assert_eq!(run(&tree, &["-c", "a b.cc"]), silent);
        // The compiler prints its arguments. The wrapper keeps only those lines that contain zone
        // texts.
        let zone = "'#pragma message: LOAD,k.cc,7,KERNEL_PROFILER'";
        assert_eq!(run(&tree, &["-c", zone]), silent);
        let kept = fs::read_to_string(&tree.zones).unwrap();
        let before = expected.strip_suffix("[a b.cc]").unwrap();
        assert_eq!(kept, format!("{before}[{zone}]\n"));
        assert_eq!(run(&tree, &["a.o", "-o", "a.elf"]), ("[a.o][-o][a.elf]".into(), Some(0)));
        assert!(tree.root.join("tt_metal/hw").is_dir());
        assert!(tree.root.join("runtime/sfpi/compiler/bin/objcopy").is_file());
        assert_eq!(of(false), tree, "the same root is taken again");
        assert_ne!(of(true).cache, tree.cache, "other options have a cache of their own");
    }

    #[test]
    fn what_the_header_breaks_is_named_and_compiled_without_it() {
        let folder = installed();
        let base = folder.path().join("ttnn");
        let cache = folder.path().join("cache");
        let build = Build { sums: true, keeps_going: true, ..build() };
        let tree = Tree::make(&cache, &package(&base), &base, &build).unwrap();
        assert_eq!(run(&tree, &["-c", "k.cc"]).1, Some(0));
        let problems = fs::read_to_string(&tree.problems).unwrap();
        assert!(problems.starts_with("k.cc in "), "{problems}");
        // The mark stays beside the object, for programs that find the object compiled.
        let mark = tree.cache.join(UNPROFILED_FILE);
        assert_eq!(fs::read_to_string(&mark).unwrap(), problems);
        assert_eq!(run(&tree, &["-c", "whole.cc"]).1, Some(0));
        assert!(!mark.exists(), "it compiles with the header now");
    }

    #[test]
    fn a_package_without_a_compiler_is_refused_in_one_sentence() {
        let folder = installed();
        let base = folder.path().join("empty");
        let error = Tree::make(folder.path(), &package(&base), &base, &build()).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("expected tt-metal's compiler as "), "{text}");
        assert!(text.contains(COMPILER_VARIABLE), "{text}");
    }
}
