//! A simulated chip for a real host: a library that TT-Metal uses instead of the PCI device.
//!
//! # Compatibility
//! tt-metal 0.81 loads the library whose path is in `TT_METAL_SIMULATOR`, and reads
//! `soc_descriptor.yaml` in the same folder. The library has the entry points of libttsim.

use crate::tree::{TreeError, create_folder, digest, failed, put_in_place};
use reader::architecture::Arch;
use std::{
    convert::Infallible,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    str::FromStr,
};

/// Returns the name of the file in TT-Metal's package that describes chips of an architecture.
const fn descriptor(arch: Arch) -> &'static str {
    match arch {
        Arch::WormholeB0 => "wormhole_b0_80_arch.yaml",
        Arch::Blackhole => "blackhole_140_arch.yaml",
    }
}

/// Simulator that replaces the chip.
///
/// ```
/// use reader::architecture::Arch;
/// use ttnn::simulator::Simulator;
///
/// assert_eq!("blackhole".parse(), Ok(Simulator::Own(Arch::Blackhole)));
/// assert_eq!(
///     "wormhole_b0=/sim/libttsim.so".parse(),
///     Ok(Simulator::Library {
///         arch: Some(Arch::WormholeB0),
///         path: "/sim/libttsim.so".into(),
///     })
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Simulator {
    /// The simulator that comes with kprof.
    Own(Arch),
    /// A library with libttsim's entry points.
    Library {
        /// Architecture of the library's chip; if `None`, the descriptor next to the library
        /// determines it.
        arch: Option<Arch>,
        /// The library.
        path: PathBuf,
    },
}

impl FromStr for Simulator {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        if let Some(arch) = Arch::from_name(text) {
            return Ok(Self::Own(arch));
        }
        let parts = text.split_once('=');
        let named = parts.and_then(|(arch, path)| Some((Arch::from_name(arch)?, path)));
        Ok(match named {
            Some((arch, path)) => Self::Library { arch: Some(arch), path: path.into() },
            None => Self::Library { arch: None, path: text.into() },
        })
    }
}

/// Reason why a simulated chip cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulatorError {
    /// The library is missing.
    #[error(
        "expected the simulator's library as {}, found none; install kprof's wheel, or name a \
         library in --simulate",
        .places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" or ")
    )]
    NoLibrary {
        /// Paths that were searched.
        places: Vec<PathBuf>,
    },
    /// It is unknown which chip a library simulates.
    #[error(
        "expected {DESCRIPTOR}, which describes the chip, next to {}, found none; name the chip: \
         --simulate wormhole_b0={}, or blackhole=...",
        library.display(), library.display()
    )]
    NoDescriptor {
        /// The library.
        library: PathBuf,
    },
    /// The package has no description of the chip.
    #[error("expected the chip's description {}, found none; install ttnn from its wheel", .0.display())]
    NotInPackage(PathBuf),
    /// The folder for the simulator could not be created.
    #[error(transparent)]
    Folder(#[from] TreeError),
}

/// Returns true if a program that loads `library` as its simulator uses the one that comes with
/// kprof. `forwarded` is the library to which kprof's library forwards the calls, if any.
///
/// ```
/// use std::path::Path;
/// use ttnn::simulator::is_own;
///
/// assert!(is_own(Path::new("/cache/simulator-1/libkprof_chip.so"), None));
/// assert!(!is_own(Path::new("/sim/libttsim.so"), None));
/// let forwarded = Some(Path::new("/sim/libttsim.so"));
/// assert!(!is_own(Path::new("/cache/simulator-1/libkprof_chip.so"), forwarded));
/// ```
#[must_use]
pub fn is_own(library: &Path, forwarded: Option<&Path>) -> bool {
    forwarded.is_none() && library.file_name().is_some_and(|name| name == OWN)
}

/// A simulator that a program can load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledSimulator {
    /// The library, in a folder with its chip's description: the value for `TT_METAL_SIMULATOR`.
    pub library: PathBuf,
    /// The library that simulates the chip, if `library` only forwards the host's calls: the value
    /// for `KPROF_CHIP_LIBRARY`.
    pub forwarded: Option<PathBuf>,
}

impl InstalledSimulator {
    /// Puts kprof's library between TT-Metal and this simulator's library.
    ///
    /// kprof's library forwards all calls to this simulator's library, and also gives other
    /// processes and threads access to the chip. Nothing changes if this simulator's library is
    /// kprof's own, or if calls are forwarded already.
    ///
    /// The folders in `places` are searched for kprof's library.
    ///
    /// # Errors
    /// If kprof's library is missing, or if the folder below `cache` cannot be created.
    pub fn shared(self, cache: &Path, places: &[PathBuf]) -> Result<Self, SimulatorError> {
        let own = first_file(places.iter().map(|place| place.join(OWN)))?;
        if self.forwarded.is_some() || fs::canonicalize(&self.library).is_ok_and(|is| is == own) {
            return Ok(self);
        }
        let library = link_pair(cache, &own, &self.library.with_file_name(DESCRIPTOR))?;
        Ok(Self { library, forwarded: Some(self.library) })
    }
}

impl Simulator {
    /// Creates a folder below `cache` that contains the library and its chip's description.
    ///
    /// The description comes from `base`, the root of TT-Metal. The folders in `places` are
    /// searched for the library that comes with kprof. If no architecture is given and the library
    /// has a descriptor next to it, no folder is needed and none is created.
    ///
    /// # Errors
    /// If the library or the description is missing, or if the folder cannot be created.
    pub fn install(
        &self,
        cache: &Path,
        base: Option<&Path>,
        places: &[PathBuf],
    ) -> Result<InstalledSimulator, SimulatorError> {
        let installed = |library| InstalledSimulator { library, forwarded: None };
        let (library, arch) = match self {
            Self::Own(arch) => (first_file(places.iter().map(|place| place.join(OWN)))?, *arch),
            Self::Library { arch, path } => {
                let library = first_file([path.clone()].into_iter())?;
                match arch {
                    Some(arch) => (library, *arch),
                    None if library.with_file_name(DESCRIPTOR).is_file() => {
                        return Ok(installed(library));
                    }
                    None => return Err(SimulatorError::NoDescriptor { library }),
                }
            }
        };
        let descriptors = base.unwrap_or(Path::new("")).join("tt_metal/soc_descriptors");
        let descriptor = descriptors.join(descriptor(arch));
        if !descriptor.is_file() {
            return Err(SimulatorError::NotInPackage(descriptor));
        }
        Ok(installed(link_pair(cache, &library, &descriptor)?))
    }
}

/// Creates a folder with links to a library and to its chip's description, and returns the path of
/// the library in it. An existing folder is reused.
fn link_pair(cache: &Path, library: &Path, descriptor: &Path) -> Result<PathBuf, TreeError> {
    let key = digest([library, descriptor].map(|path| path.as_os_str().as_encoded_bytes()));
    let folder = cache.join(format!("simulator-{key}"));
    let name = library.file_name().unwrap_or_default();
    if !folder.is_dir() {
        let part = cache.join(format!("simulator-{key}-{}", std::process::id()));
        create_folder(&part)?;
        for (from, to) in [(library, part.join(name)), (descriptor, part.join(DESCRIPTOR))] {
            symlink(from, &to).map_err(|source| failed(&to, source))?;
        }
        put_in_place(&part, &folder)?;
    }
    Ok(folder.join(name))
}

fn first_file(paths: impl Iterator<Item = PathBuf>) -> Result<PathBuf, SimulatorError> {
    let mut places = Vec::new();
    for path in paths {
        if let Ok(path) = fs::canonicalize(&path)
            && path.is_file()
        {
            return Ok(path);
        }
        places.push(path);
    }
    Err(SimulatorError::NoLibrary { places })
}

/// File name of the library that comes with kprof.
const OWN: &str = "libkprof_chip.so";
const DESCRIPTOR: &str = "soc_descriptor.yaml";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a folder that contains a root of tt-metal, a library, and a cache folder.
    fn installed() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let descriptors = folder.path().join("ttnn/tt_metal/soc_descriptors");
        fs::create_dir_all(&descriptors).unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        fs::write(descriptors.join("blackhole_140_arch.yaml"), "the chip").unwrap();
        fs::write(folder.path().join("bin").join(OWN), "the library").unwrap();
        folder
    }

    #[test]
    fn library_and_description_come_to_lie_side_by_side() {
        let folder = installed();
        let base = folder.path().join("ttnn");
        let places = [folder.path().join("nowhere"), folder.path().join("bin")];
        let own = Simulator::Own(Arch::Blackhole);
        let cache = folder.path().join("cache");
        let library = own.install(&cache, Some(&base), &places).unwrap().library;
        assert_eq!(fs::read_to_string(&library).unwrap(), "the library");
        assert_eq!(fs::read_to_string(library.with_file_name(DESCRIPTOR)).unwrap(), "the chip");
        // A second program uses the same folder and does not leave another one.
        assert_eq!(own.install(&cache, Some(&base), &places).unwrap().library, library);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = installed();
        let base = folder.path().join("ttnn");
        let bin = [folder.path().join("bin")];
        let library = bin[0].join(OWN).display().to_string();
        let told = |text: &str, places: &[PathBuf]| {
            let simulator: Simulator = text.parse().unwrap();
            let installed = simulator.install(&folder.path().join("cache"), Some(&base), places);
            installed.unwrap_err().to_string()
        };
        assert!(told("wormhole_b0", &bin).contains("wormhole_b0_80_arch.yaml, found none"));
        assert!(told("blackhole", &[]).contains("found none"));
        assert!(told("/no/libttsim.so", &bin).contains("/no/libttsim.so"));
        assert!(told(&library, &bin).contains("name the chip: --simulate wormhole_b0="));
    }

    #[test]
    fn a_library_with_a_description_beside_it_is_taken_as_it_is() {
        let folder = installed();
        let library = folder.path().canonicalize().unwrap().join("bin").join(OWN);
        fs::write(library.with_file_name(DESCRIPTOR), "a chip").unwrap();
        let simulator: Simulator = library.to_str().unwrap().parse().unwrap();
        let cache = folder.path().join("cache");
        assert_eq!(simulator.install(&cache, None, &[]).unwrap().library, library);
        assert!(!cache.exists());
    }

    #[test]
    fn a_foreign_library_is_loaded_by_kprofs_own_which_serves_its_chip() {
        let folder = installed();
        let base = folder.path().canonicalize().unwrap().join("ttnn");
        let places = [folder.path().join("bin")];
        let cache = folder.path().join("cache");
        let foreign = folder.path().canonicalize().unwrap().join("libttsim.so");
        fs::write(&foreign, "a foreign library").unwrap();
        let simulator = Simulator::Library { arch: Some(Arch::Blackhole), path: foreign.clone() };
        let alone = simulator.install(&cache, Some(&base), &places).unwrap();
        assert_eq!(alone.forwarded, None);
        let shared = alone.clone().shared(&cache, &places).unwrap();
        assert_eq!(fs::read_to_string(&shared.library).unwrap(), "the library");
        let descriptor = shared.library.with_file_name(DESCRIPTOR);
        assert_eq!(fs::read_to_string(descriptor).unwrap(), "the chip");
        let forwarded = shared.forwarded.clone().unwrap();
        assert_eq!(fs::canonicalize(forwarded).unwrap(), foreign);
        // Sharing again changes nothing, and neither does sharing kprof's own chip.
        assert_eq!(shared.clone().shared(&cache, &places).unwrap(), shared);
        let own = Simulator::Own(Arch::Blackhole);
        let own = own.install(&cache, Some(&base), &places).unwrap();
        assert_eq!(own.clone().shared(&cache, &places).unwrap(), own);
        let missing = alone.shared(&cache, &[]).unwrap_err().to_string();
        assert!(missing.contains("install kprof's wheel"), "{missing}");
    }
}
