//! A simulated chip for a real host: a library that TT-Metal uses instead of the PCI device.
//!
//! # Compatibility
//! tt-metal 0.81 loads the library whose path is in `TT_METAL_SIMULATOR`, and reads
//! `soc_descriptor.yaml` in the same folder. The library has the entry points of libttsim.

use crate::tree::{TreeError, create_folder, digest, failed, put_in_place};
use reader::architecture::{
    Arch, HarvestAxis,
    floorplan::{Floorplan, FloorplanError},
};
use std::{
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
/// use reader::architecture::{Arch, floorplan::Floorplan};
/// use ttnn::simulator::Simulator;
///
/// let plan = Floorplan::of_product(Arch::Blackhole, 140)?;
/// assert_eq!("blackhole".parse(), Ok(Simulator::Own { plan, chip_count: 1 }));
/// let plan = Floorplan::of_product(Arch::WormholeB0, 64)?;
/// assert_eq!("wormhole_b0:64*2".parse(), Ok(Simulator::Own { plan, chip_count: 2 }));
/// let Ok(Simulator::Own { plan, .. }) = "blackhole:120:7".parse() else { panic!() };
/// assert_eq!(plan.bank_count(), 7);
/// assert_eq!(
///     "wormhole_b0=/sim/libttsim.so".parse(),
///     Ok(Simulator::Library {
///         arch: Some(Arch::WormholeB0),
///         path: "/sim/libttsim.so".into(),
///     })
/// );
/// # Ok::<(), reader::architecture::floorplan::FloorplanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Simulator {
    /// The simulator that comes with kprof.
    Own {
        /// Architecture, worker cores and DRAM of each chip.
        plan: Floorplan,
        /// Number of chips, 1 or 2. Two are PCI devices that are linked by Ethernet, so that ttnn
        /// can open them as a mesh; the links carry nothing.
        chip_count: u32,
    },
    /// A library with libttsim's entry points.
    Library {
        /// Architecture of the library's chip; if `None`, the descriptor next to the library
        /// determines it.
        arch: Option<Arch>,
        /// The library.
        path: PathBuf,
    },
}

/// Reason why a text names no chip that the simulator supports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsupportedChip {
    /// The number of chips is not supported.
    #[error("expected one chip or two, as in {arch}*2, found {arch}*{count}")]
    ChipCount {
        /// Name of the architecture.
        arch: &'static str,
        /// The number of chips, as it was given.
        count: String,
    },
    /// The number of worker cores is no number.
    #[error(
        "expected a number of worker cores after {arch}: ({}), found `{count}`; it includes those \
         from which ttnn dispatches",
        .possible.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    )]
    WorkerCoreCount {
        /// Name of the architecture.
        arch: &'static str,
        /// Numbers of worker cores of the architecture's products.
        possible: &'static [u32],
        /// The number of worker cores, as it was given.
        count: String,
    },
    /// The number of DRAM channels is not that of a product.
    #[error(
        "expected a number of DRAM channels after {arch}:{cores}: ({}), found `{count}`",
        .possible.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    )]
    DramCount {
        /// Name of the architecture.
        arch: &'static str,
        /// The number of worker cores.
        cores: u32,
        /// Numbers of DRAM channels that a chip with so many cores may have.
        possible: &'static [u32],
        /// The number of DRAM channels, as it was given.
        count: String,
    },
    /// No product has the number of worker cores.
    #[error(transparent)]
    Floorplan(#[from] FloorplanError),
}

/// Largest number of chips that was tested.
const CHIPS_MAX: u32 = 2;

impl FromStr for Simulator {
    type Err = UnsupportedChip;

    fn from_str(text: &str) -> Result<Self, UnsupportedChip> {
        let (chip, count) = text.split_once('*').unwrap_or((text, "1"));
        let (name, cores) =
            chip.split_once(':').map_or((chip, None), |(name, cores)| (name, Some(cores)));
        if let Some(arch) = Arch::from_name(name) {
            let known = count.parse().ok().filter(|count| (1..=CHIPS_MAX).contains(count));
            let chip_count = known.ok_or_else(|| UnsupportedChip::ChipCount {
                arch: arch.facts().name,
                count: count.to_owned(),
            })?;
            return Ok(Self::Own { plan: floor_plan(arch, cores)?, chip_count });
        }
        let parts = text.split_once('=');
        let named = parts.and_then(|(arch, path)| Some((Arch::from_name(arch)?, path)));
        Ok(match named {
            Some((arch, path)) => Self::Library { arch: Some(arch), path: path.into() },
            None => Self::Library { arch: None, path: text.into() },
        })
    }
}

/// Returns the floor plan of a chip with a number of worker cores, or with all of its architecture.
fn floor_plan(arch: Arch, cores: Option<&str>) -> Result<Floorplan, UnsupportedChip> {
    let Some(cores) = cores else { return Ok(Floorplan::new(arch, &[], 0)?) };
    let (cores, dram) =
        cores.split_once(':').map_or((cores, None), |(cores, dram)| (cores, Some(dram)));
    let count = cores.parse().map_err(|_| UnsupportedChip::WorkerCoreCount {
        arch: arch.facts().name,
        possible: arch.facts().worker_core_counts,
        count: cores.to_owned(),
    })?;
    let plan = Floorplan::of_product(arch, count)?;
    let Some(dram) = dram else { return Ok(plan) };
    let possible = dram_counts(arch, count);
    match dram.parse().ok().filter(|dram| possible.contains(dram)) {
        Some(P100_DRAM) => Ok(plan.with_harvested_dram(P100_HARVESTED_DRAM)?),
        Some(_) => Ok(plan),
        None => Err(UnsupportedChip::DramCount {
            arch: arch.facts().name,
            cores: count,
            possible,
            count: dram.to_owned(),
        }),
    }
}

/// Returns the numbers of DRAM channels that a product with so many worker cores may have.
const fn dram_counts(arch: Arch, cores: u32) -> &'static [u32] {
    match (arch, cores) {
        (Arch::WormholeB0, _) => &[6],
        (Arch::Blackhole, 120) => &[P100_DRAM, 8],
        (Arch::Blackhole, _) => &[8],
    }
}

/// DRAM channels of a p100.
const P100_DRAM: u32 = 7;
/// The DRAM channel that is harvested. It differs between cards; this is the one of the p100 that
/// tt-umd describes in `tests/cluster_descriptor_examples/blackhole_P100.yaml`.
const P100_HARVESTED_DRAM: u32 = 1 << 3;

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
    /// Number of chips, if it is kprof's library: the value for `KPROF_CHIP_COUNT`.
    pub chip_count: u32,
    /// Harvested rows or columns of each chip, if it is kprof's library: the value for
    /// `KPROF_CHIP_HARVESTED`.
    pub harvest_mask: u32,
    /// Harvested DRAM of each chip, if it is kprof's library: the value for
    /// `KPROF_CHIP_HARVESTED_DRAM`.
    pub dram_harvest_mask: u32,
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
        let library = link_pair(cache, &own, &self.library.with_file_name(DESCRIPTOR), None)?;
        let (harvest_mask, dram_harvest_mask) = (0, 0);
        let forwarded = Some(self.library);
        Ok(Self { library, forwarded, chip_count: 1, harvest_mask, dram_harvest_mask })
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
        let (chip_count, harvest_mask, dram_harvest_mask) = match self {
            Self::Own { plan, chip_count } => {
                (*chip_count, plan.harvest_mask(), plan.dram_harvest_mask())
            }
            Self::Library { .. } => (1, 0, 0),
        };
        let installed = |library| InstalledSimulator {
            library,
            forwarded: None,
            chip_count,
            harvest_mask,
            dram_harvest_mask,
        };
        let (library, arch) = match self {
            Self::Own { plan, .. } => {
                (first_file(places.iter().map(|place| place.join(OWN)))?, plan.arch())
            }
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
        let cluster = match self {
            Self::Own { plan, chip_count } if *chip_count > 1 || harvest_mask != 0 => {
                Some(cluster(plan, *chip_count))
            }
            _ => None,
        };
        Ok(installed(link_pair(cache, &library, &descriptor, cluster.as_deref())?))
    }
}

/// Returns the description of a system of equal chips, for the user-mode driver of TT-Metal.
///
/// # Compatibility
/// tt-umd of tt-metal 0.81: a `cluster_descriptor.yaml` beside the library describes the chips of a
/// system; a board's type is in bits 36 and up of its id. All chips are PCI devices of their own
/// boards, and two are linked. Each link joins two Ethernet channels. Bits of a mask of harvested
/// rows or columns are in the order of the coordinates. On an n300, whose chips have two harvested
/// rows, ttnn dispatches from Ethernet cores, and computes on all worker cores. With seven DRAM
/// channels, a Blackhole is a p100, but has a p150's Ethernet cores, which a p100 has not.
fn cluster(plan: &Floorplan, chip_count: u32) -> String {
    let arch = plan.arch();
    let (board, board_type, links) = match arch {
        Arch::WormholeB0 if plan.harvested().len() == 2 => ("n300", 0x14_u64, [(8, 0), (9, 1)]),
        Arch::WormholeB0 => ("n150", 0x18, [(8, 0), (9, 1)]),
        Arch::Blackhole if plan.dram_harvest_mask() != 0 => ("p100", 0x43, [(4, 4), (5, 5)]),
        Arch::Blackhole => ("p150", 0x41, [(4, 4), (5, 5)]),
    };
    let harvested = match arch {
        Arch::WormholeB0 => String::new(),
        // A p150 has one PCIe tile less than the grid, and two Ethernet tiles.
        Arch::Blackhole => format!(
            ", dram_harvesting_mask: {}, eth_harvesting_mask: 0x120, pcie_harvesting_mask: 0x2",
            plan.dram_harvest_mask()
        ),
    };
    let mask = harvest_mask_by_coordinate(plan);
    // Each chip's number, unique id, PCI bus and board.
    let chips = [(0_u64, 1000, 0x01, board_type << 36), (1, 1001, 0x41, board_type << 36 | 1)];
    let chips = || chips.into_iter().take(chip_count as usize);
    let of_chips =
        |entry: &dyn Fn((u64, u64, u64, u64)) -> String| -> String { chips().map(entry).collect() };
    let arch_entries = of_chips(&|(chip, ..)| format!("  {chip}: {arch},\n"));
    let places = of_chips(&|(chip, ..)| format!("  {chip}: [{chip},0,0,0],\n"));
    let ids = of_chips(&|(chip, id, ..)| format!("  {chip}: {id},\n"));
    let devices = of_chips(&|(chip, ..)| format!("  {chip}: {chip},\n"));
    let cores = of_chips(&|(chip, ..)| {
        format!("  {chip}: {{noc_translation: true, harvest_mask: {mask}{harvested}}},\n")
    });
    let buses = of_chips(&|(chip, _, bus, _)| format!("  {chip}: {bus:#06x},\n"));
    let boards = of_chips(&|(chip, .., id)| {
        format!("  -\n    - board_id: {id:#x}\n    - board_type: {board}\n    - chips: [{chip}]\n")
    });
    let links = links
        .map(|(from, to)| format!("  [{{chip: 0, chan: {from}}}, {{chip: 1, chan: {to}}}],\n"));
    let links = if chip_count > 1 { links.concat() } else { String::new() };
    format!(
        "arch: {{\n{arch_entries}}}\nchips: {{\n{places}}}\nchip_unique_ids: {{\n{ids}}}\n\
         ethernet_connections: [\n{links}]\nchips_with_mmio: [\n{devices}]\nharvesting: {{\n{cores}}}\n\
         chip_to_bus_id: {{\n{buses}}}\nboards:\n{boards}"
    )
}

/// Returns the harvested rows or columns as a mask whose lowest bit is the first row or column with
/// Tensix tiles.
fn harvest_mask_by_coordinate(plan: &Floorplan) -> u32 {
    let facts = plan.arch().facts();
    let lines = match facts.harvest_axis {
        HarvestAxis::Rows => facts.tensix_rows,
        HarvestAxis::Columns => facts.tensix_columns,
    };
    let bits = lines.iter().enumerate().filter(|(_, line)| plan.harvested().contains(line));
    bits.fold(0, |mask, (bit, _)| mask | 1 << bit)
}

/// Creates a folder with links to a library and to its chip's description, and with the description
/// of its system if that has several chips. Returns the path of the library in it. An existing
/// folder is reused.
fn link_pair(
    cache: &Path,
    library: &Path,
    descriptor: &Path,
    cluster: Option<&str>,
) -> Result<PathBuf, TreeError> {
    let paths = [library, descriptor].map(|path| path.as_os_str().as_encoded_bytes());
    let key = digest(paths.into_iter().chain(cluster.map(str::as_bytes)));
    let folder = cache.join(format!("simulator-{key}"));
    let name = library.file_name().unwrap_or_default();
    if !folder.is_dir() {
        let part = cache.join(format!("simulator-{key}-{}", std::process::id()));
        create_folder(&part)?;
        for (from, to) in [(library, part.join(name)), (descriptor, part.join(DESCRIPTOR))] {
            symlink(from, &to).map_err(|source| failed(&to, source))?;
        }
        if let Some(cluster) = cluster {
            let path = part.join(CLUSTER);
            fs::write(&path, cluster).map_err(|source| failed(&path, source))?;
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
/// Description of a system of several chips.
const CLUSTER: &str = "cluster_descriptor.yaml";

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
        let own: Simulator = "blackhole".parse().unwrap();
        let cache = folder.path().join("cache");
        let library = own.install(&cache, Some(&base), &places).unwrap().library;
        assert_eq!(fs::read_to_string(&library).unwrap(), "the library");
        assert_eq!(fs::read_to_string(library.with_file_name(DESCRIPTOR)).unwrap(), "the chip");
        // A second program uses the same folder and does not leave another one.
        assert_eq!(own.install(&cache, Some(&base), &places).unwrap().library, library);
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    }

    #[test]
    fn two_chips_are_described_beside_their_library() {
        let folder = installed();
        let base = folder.path().join("ttnn");
        let places = [folder.path().join("bin")];
        let cache = folder.path().join("cache");
        let two: Simulator = "blackhole*2".parse().unwrap();
        let installed = two.install(&cache, Some(&base), &places).unwrap();
        assert_eq!(installed.chip_count, 2);
        let cluster = fs::read_to_string(installed.library.with_file_name(CLUSTER)).unwrap();
        assert!(cluster.contains("  0: blackhole,\n  1: blackhole,\n"), "{cluster}");
        assert!(cluster.contains("board_id: 0x41000000001"), "{cluster}");
        // One chip has a folder of its own.
        let one = "blackhole".parse::<Simulator>().unwrap();
        let library = one.install(&cache, Some(&base), &places).unwrap().library;
        assert!(!library.with_file_name(CLUSTER).exists());
        let refused = "blackhole*9".parse::<Simulator>().unwrap_err().to_string();
        assert_eq!(refused, "expected one chip or two, as in blackhole*2, found blackhole*9");
    }

    /// The cluster descriptor has the bits of harvested rows and columns in the order of their
    /// coordinates, the chip's library in the order in which a chip reports them.
    #[test]
    fn a_card_with_fewer_cores_is_described_to_the_driver_and_to_the_library() {
        let folder = installed();
        let base = folder.path().join("ttnn");
        let wormhole = base.join("tt_metal/soc_descriptors/wormhole_b0_80_arch.yaml");
        fs::write(wormhole, "the other chip").unwrap();
        let places = [folder.path().join("bin")];
        let cache = folder.path().join("cache");
        for (text, chip_count, mask, described, board) in [
            // Rows 11 and 1 of 1 to 11 without 6; columns 1 and 16 of 1 to 16 without 8 and 9.
            ("wormhole_b0:72", 1, 0b1, "harvest_mask: 512}", "board_type: n150"),
            ("wormhole_b0:64*2", 2, 0b11, "harvest_mask: 513}", "board_type: n300"),
            ("blackhole:130", 1, 0b1, "harvest_mask: 1, ", "board_type: p150"),
            ("blackhole:120", 1, 0b11, "harvest_mask: 8193, ", "board_type: p150"),
            ("blackhole:120:8*2", 2, 0b11, "dram_harvesting_mask: 0, ", "board_type: p150"),
            ("blackhole:120:7", 1, 0b11, "dram_harvesting_mask: 8, ", "board_type: p100"),
        ] {
            let chip: Simulator = text.parse().unwrap();
            let installed = chip.install(&cache, Some(&base), &places).unwrap();
            assert_eq!(
                (installed.chip_count, installed.harvest_mask),
                (chip_count, mask),
                "{text}"
            );
            let dram = if text == "blackhole:120:7" { 0b1000 } else { 0 };
            assert_eq!(installed.dram_harvest_mask, dram, "{text}");
            let cluster = fs::read_to_string(installed.library.with_file_name(CLUSTER)).unwrap();
            for part in [described, board] {
                let found = cluster.matches(part).count();
                assert_eq!(found, chip_count as usize, "{text}: {cluster}");
            }
            let links = cluster.matches("chan: ").count();
            assert_eq!(links, if chip_count == 2 { 4 } else { 0 }, "{text}: {cluster}");
        }
        // A chip with all cores needs no description.
        for text in ["wormhole_b0:80", "blackhole:140"] {
            let chip: Simulator = text.parse().unwrap();
            let library = chip.install(&cache, Some(&base), &places).unwrap().library;
            assert!(!library.with_file_name(CLUSTER).exists(), "{text}");
        }
    }

    #[test]
    fn a_chip_that_no_card_has_is_refused() {
        for (text, refusal) in [
            ("wormhole_b0:56", "wormhole_b0 comes with 64, 72 or 80 worker cores, not with 56"),
            ("blackhole:0", "blackhole comes with 120, 130 or 140 worker cores, not with 0"),
            (
                "wormhole_b0:8x7",
                "expected a number of worker cores after wormhole_b0: (64, 72, 80), found `8x7`; it \
                 includes those from which ttnn dispatches",
            ),
            (
                "blackhole:*2",
                "expected a number of worker cores after blackhole: (120, 130, 140), found ``; it \
                 includes those from which ttnn dispatches",
            ),
            (
                "blackhole:120:6",
                "expected a number of DRAM channels after blackhole:120: (7, 8), found `6`",
            ),
            (
                "blackhole:130:7*2",
                "expected a number of DRAM channels after blackhole:130: (8), found `7`",
            ),
            (
                "wormhole_b0:64:",
                "expected a number of DRAM channels after wormhole_b0:64: (6), found ``",
            ),
            (
                "wormhole_b0:64*9",
                "expected one chip or two, as in wormhole_b0*2, found wormhole_b0*9",
            ),
        ] {
            assert_eq!(text.parse::<Simulator>().unwrap_err().to_string(), refusal);
        }
        // A path may have a colon.
        let path: Simulator = "/sim:1/libttsim.so".parse().unwrap();
        assert_eq!(path, Simulator::Library { arch: None, path: "/sim:1/libttsim.so".into() });
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
        let own: Simulator = "blackhole".parse().unwrap();
        let own = own.install(&cache, Some(&base), &places).unwrap();
        assert_eq!(own.clone().shared(&cache, &places).unwrap(), own);
        let missing = alone.shared(&cache, &[]).unwrap_err().to_string();
        assert!(missing.contains("install kprof's wheel"), "{missing}");
    }
}
