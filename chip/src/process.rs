//! Finds the firmware and the Inspector's folder of a running program through `/proc`.

use crate::{
    layout::{FirmwareLayout, LayoutError},
    shared::{SOCKET_VARIABLE, socket_path},
};
use reader::architecture::Arch;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// A running program.
#[derive(Clone, Debug)]
pub struct Process {
    /// The process's folder below `/proc`.
    folder: PathBuf,
}

/// One execution of a program. A later process that reuses the process number is another execution.
#[derive(Clone, Debug)]
pub struct Execution {
    process: Process,
    start_ticks: u64,
}

impl Execution {
    /// Returns true if the program has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.process.start_ticks() != Some(self.start_ticks)
    }
}

/// Firmware of a program: one layout for each architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firmware {
    /// Layout of each architecture, with one of the firmware folders from which it was read.
    pub layouts: BTreeMap<Arch, (PathBuf, FirmwareLayout)>,
    /// Description of the source in which the firmware was found.
    pub found_in: String,
}

/// Reason why a program's firmware was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The process does not exist, or belongs to another user.
    #[error("cannot look into {}: {reason}; name the firmware with --elf FILE", .folder.display())]
    NoProcess {
        /// The process's folder below `/proc`.
        folder: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// No source contained firmware.
    #[error(
        "found no firmware of the program:{looked}; name its brisc.elf, or the folder with \
         brisc/brisc.elf in it, with --elf"
    )]
    NoFirmware {
        /// The searched sources, with the result for each.
        looked: String,
    },
}

impl Process {
    /// Creates a `Process` from its number.
    #[must_use]
    pub fn new(pid: u32) -> Self {
        Self { folder: PathBuf::from(format!("/proc/{pid}")) }
    }

    /// Creates a `Process` from its folder below `/proc`.
    #[must_use]
    pub const fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Finds the firmware that the program has loaded.
    ///
    /// The sources are searched in this order: files that the program has open or mapped; the
    /// firmware of the build to which the last kernel in the log of the program's Inspector
    /// belongs; the program's build cache; the firmware shipped with the program's copy of
    /// TT-Metal. A source is used if all firmware that it contains for one architecture has the
    /// same layout.
    ///
    /// # Errors
    /// [`ProcessError`], which lists the sources that were searched.
    pub fn firmware(&self) -> Result<Firmware, ProcessError> {
        if let Err(error) = fs::read_dir(self.folder.join("fd")) {
            let (folder, reason) = (self.folder.clone(), error.to_string());
            return Err(ProcessError::NoProcess { folder, reason });
        }
        let mut looked = String::new();
        let places: [(&str, Search); 4] = [
            ("files it has open", Self::open_sets),
            ("the build that its Inspector names", Self::inspected_sets),
            ("its cache of builds", Self::cached_sets),
            ("what its copy of tt-metal came with", Self::shipped_sets),
        ];
        for (place, find) in places {
            let outcome = agreed(&find(self));
            match outcome {
                Ok(layouts) => return Ok(Firmware { layouts, found_in: place.to_owned() }),
                Err(reason) => _ = write!(looked, " {place} ({reason}),"),
            }
        }
        let looked = looked.trim_end_matches(',').to_owned();
        Err(ProcessError::NoFirmware { looked })
    }

    /// Returns the folder that the program's Inspector writes to, if any.
    #[must_use]
    pub fn inspector(&self) -> Option<PathBuf> {
        let open = self.files().into_iter();
        let beside = open
            .filter(|path| INSPECTOR_FILES.iter().any(|name| path.ends_with(name)))
            .filter_map(|path| Some(path.parent()?.to_owned()));
        let named = self.variable("TT_METAL_INSPECTOR_LOG_PATH");
        let homes = self.variable("TT_METAL_HOME").into_iter().chain(self.working_folder());
        let mut folders =
            beside.chain(named).chain(homes.map(|root| root.join("generated/inspector")));
        folders.find(|folder| INSPECTOR_FILES.iter().any(|name| folder.join(name).is_file()))
    }

    /// Returns the socket at which the program serves a simulated chip, if its environment names one.
    #[must_use]
    pub fn chip_socket(&self) -> Option<PathBuf> {
        let pid = self.folder.file_name()?.to_str()?.parse().ok()?;
        let socket = socket_path(self.variable(SOCKET_VARIABLE)?.as_os_str(), pid);
        Some(self.rooted(&socket))
    }

    /// Returns a value with which a caller can later check whether the program has ended; `None` if
    /// the program has ended already.
    #[must_use]
    pub fn execution(&self) -> Option<Execution> {
        let start_ticks = self.start_ticks()?;
        Some(Execution { process: self.clone(), start_ticks })
    }

    /// Returns the time at which the process started, in clock ticks since boot; `None` if the
    /// process has ended.
    ///
    /// # Compatibility
    /// In `/proc/PID/stat`, field 3 is the state of the process, and field 22 is its start time.
    /// The fields are counted from the end of the program's name, because the name may contain
    /// spaces and parentheses.
    fn start_ticks(&self) -> Option<u64> {
        let stat = fs::read(self.folder.join("stat")).ok()?;
        let name_end = stat.iter().rposition(|&byte| byte == b')')?;
        let fields = std::str::from_utf8(stat.get(name_end.checked_add(1)?..)?).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        let start_ticks = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X" | "x")).then_some(start_ticks)
    }

    fn open_sets(&self) -> Vec<PathBuf> {
        let files = self.files().into_iter().filter(|path| path.ends_with("brisc/brisc.elf"));
        files.filter_map(|file| Some(file.parent()?.parent()?.to_owned())).collect()
    }

    /// Returns the firmware folder used by the last kernel in the Inspector's log, if found. A
    /// kernel's path contains either the folder of the firmware that the kernel was linked against,
    /// or the name of a folder with shipped firmware.
    fn inspected_sets(&self) -> Vec<PathBuf> {
        let Some(folder) = self.inspector() else { return Vec::new() };
        let Ok(kernels) = fs::read(folder.join("kernels.yaml")) else { return Vec::new() };
        let lines = kernels.split(|&byte| byte == b'\n');
        let mut paths = lines.filter_map(|line| line.strip_prefix(b"    path: "));
        let Some(last) = paths.next_back() else { return Vec::new() };
        let kernel = self.rooted(Path::new(OsStr::from_bytes(last.trim_ascii())));
        let builds = kernel.ancestors().map(|build| build.join("firmware"));
        let shipped = self.shipped_roots();
        let keys = kernel.ancestors().filter_map(Path::file_name);
        let shipped = keys.flat_map(|key| shipped.iter().map(move |root| root.join(key)));
        builds.chain(shipped).filter(|set| is_set(set)).take(1).collect()
    }

    /// Returns the folder of the program's build cache.
    fn cache(&self) -> Option<PathBuf> {
        let named = self.variable("TT_METAL_CACHE");
        named.or_else(|| self.variable("HOME").map(|home| home.join(".cache/tt-metal-cache")))
    }

    /// Returns the folders whose subfolders may have the builds of the program's kernels.
    #[must_use]
    pub fn kernel_caches(&self) -> Vec<PathBuf> {
        let Some(cache) = self.cache() else { return Vec::new() };
        let inner = folders(&cache);
        std::iter::once(cache).chain(inner).collect()
    }

    fn cached_sets(&self) -> Vec<PathBuf> {
        let Some(cache) = self.cache() else { return Vec::new() };
        let builds = folders(&cache).into_iter();
        let builds = builds.flat_map(|build| [folders(&build), vec![build]].concat());
        let builds = builds.flat_map(|build| [folders(&build), vec![build]].concat());
        let sets = builds.map(|build| build.join("firmware")).filter(|set| is_set(set));
        sets.take(SETS_MAX).collect()
    }

    fn shipped_sets(&self) -> Vec<PathBuf> {
        let sets = self.shipped_roots().into_iter().flat_map(|root| folders(&root));
        sets.filter(|set| is_set(set)).take(SETS_MAX).collect()
    }

    /// Returns the `pre-compiled` folders of the program's copies of TT-Metal. Each contains
    /// folders with shipped firmware.
    fn shipped_roots(&self) -> Vec<PathBuf> {
        let libraries = self
            .files()
            .into_iter()
            .filter(|path| path.file_name() == Some(OsStr::new("libtt_metal.so")));
        let above = libraries
            .flat_map(|library| library.ancestors().map(Path::to_owned).collect::<Vec<_>>());
        let named = ["TT_METAL_HOME", "TT_METAL_RUNTIME_ROOT"].map(|name| self.variable(name));
        let roots = above.chain(named.into_iter().flatten());
        let mut found: Vec<PathBuf> = Vec::new();
        for root in roots.map(|root| root.join("tt_metal/pre-compiled")) {
            if root.is_dir() && !found.contains(&root) {
                found.push(root);
            }
        }
        found
    }

    /// Returns the files that the program has open or mapped.
    fn files(&self) -> Vec<PathBuf> {
        let links = fs::read_dir(self.folder.join("fd")).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> =
            links.filter_map(|link| fs::read_link(link.path()).ok()).collect();
        let maps = fs::read(self.folder.join("maps")).unwrap_or_default();
        for line in maps.split(|&byte| byte == b'\n') {
            if let Some(start) = line.iter().position(|&byte| byte == b'/') {
                let path = line.get(start..).unwrap_or_default();
                files.push(PathBuf::from(OsStr::from_bytes(path)));
            }
        }
        files.sort();
        files.dedup();
        files.into_iter().filter(|file| file.is_absolute()).map(|file| self.rooted(&file)).collect()
    }

    /// Returns the path in an environment variable of the program.
    #[must_use]
    pub fn path_variable(&self, name: &str) -> Option<PathBuf> {
        self.variable(name)
    }

    fn variable(&self, name: &str) -> Option<PathBuf> {
        let environment = fs::read(self.folder.join("environ")).ok()?;
        let mut variables = environment.split(|&byte| byte == 0);
        let value = variables.find_map(|variable| {
            variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_owned)
        })?;
        let path = PathBuf::from(OsStr::from_bytes(&value));
        if path.is_absolute() {
            return Some(self.rooted(&path));
        }
        Some(self.working_folder()?.join(path))
    }

    fn working_folder(&self) -> Option<PathBuf> {
        Some(self.rooted(&fs::read_link(self.folder.join("cwd")).ok()?))
    }

    /// Converts a path as seen by the program to a path that this process can open. The paths
    /// differ if the program runs in a container.
    fn rooted(&self, path: &Path) -> PathBuf {
        let root = self.folder.join("root");
        let inside = root.join(path.strip_prefix("/").unwrap_or(path));
        if inside.exists() { inside } else { path.to_owned() }
    }
}

/// Function that finds folders with firmware.
type Search = fn(&Process) -> Vec<PathBuf>;

/// Reads the firmware in each of the folders and returns one layout for each architecture. Returns
/// an error if two folders have different layouts for the same architecture.
fn agreed(sets: &[PathBuf]) -> Result<BTreeMap<Arch, (PathBuf, FirmwareLayout)>, String> {
    let mut layouts: BTreeMap<Arch, (PathBuf, FirmwareLayout)> = BTreeMap::new();
    let mut failure: Option<LayoutError> = None;
    for set in sets {
        match FirmwareLayout::open(set) {
            Ok(layout) => {
                let (known_set, known) =
                    layouts.entry(layout.arch).or_insert_with(|| (set.clone(), layout));
                if *known != layout {
                    let (one, other) = (known_set.display(), set.display());
                    return Err(format!("{one} and {other} disagree"));
                }
            }
            Err(error) => _ = failure.get_or_insert(error),
        }
    }
    match failure {
        Some(failure) if layouts.is_empty() => Err(failure.to_string()),
        _ if layouts.is_empty() => Err("none".to_owned()),
        _ => Ok(layouts),
    }
}

fn is_set(folder: &Path) -> bool {
    folder.join("brisc/brisc.elf").is_file()
}

/// Returns the subfolders of a folder, sorted.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).take(ENTRIES_MAX).collect();
    folders.sort();
    folders
}

/// Names of files that TT-Metal's Inspector keeps open.
const INSPECTOR_FILES: [&str; 2] = [crate::inspector::LOG_NAME, "kernels.yaml"];
/// Maximum number of firmware folders read from one source.
const SETS_MAX: usize = 256;
/// Maximum number of subfolders searched in one folder.
const ENTRIES_MAX: usize = 4096;
