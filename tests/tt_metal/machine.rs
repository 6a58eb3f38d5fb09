//! Simulated chips that launch programs: ours, and Tenstorrent's where its library is at hand.

use crate::{launches::arch, toolchain::Chip};
use host_reader::{ProfilerOptions, init_device_profiler, mesh::Mesh};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh,
    program::Launch,
};
use std::{env, ffi::OsString, fmt, process::Command};
use ttsim::TtsimMesh;

/// A simulator that may run launches of a chip.
#[derive(Clone, Debug)]
pub(crate) enum Simulator {
    Ours,
    /// With the file of its library.
    Ttsim(OsString),
}

impl Simulator {
    /// Ttsim, or `None` and one line where no variable names its library.
    pub(crate) fn ttsim(chip: Chip) -> Option<Self> {
        let variable = match chip {
            Chip::Wormhole => "KPROF_TTSIM_WH",
            Chip::Blackhole => "KPROF_TTSIM_BH",
        };
        let library = env::var_os(variable);
        if library.is_none() {
            eprintln!("skipped on ttsim: {variable} names no libttsim");
        }
        library.map(Self::Ttsim)
    }

    /// Both, as far as they are at hand.
    pub(crate) fn all(chip: Chip) -> impl Iterator<Item = Self> {
        [Self::Ours].into_iter().chain(Self::ttsim(chip))
    }

    /// All, with the chips that they run.
    pub(crate) fn of_all_chips() -> impl Iterator<Item = (Chip, Self)> {
        Chip::ALL.into_iter().flat_map(|chip| Self::all(chip).map(move |one| (chip, one)))
    }

    /// A chip with its profiler prepared, for a mesh of no chip yet; on our simulator it is `own`.
    pub(crate) fn start(&self, chip: Chip, config: MeshConfig, own: ChipConfig) -> Machine {
        match self {
            Self::Ours => Machine::of_ours(&config.with_chip(own)),
            Self::Ttsim(library) => {
                let config = config.with_chip(TtsimMesh::chip(arch(chip)));
                let child = Command::new(env!("CARGO_BIN_EXE_tests-ttsim-child"));
                let mesh = TtsimMesh::start(&config, child, library.as_ref()).unwrap();
                Machine::Ttsim(Box::new(mesh)).prepared()
            }
        }
    }
}

impl fmt::Display for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "our simulator",
            Self::Ttsim(_) => "ttsim",
        })
    }
}

/// Coordinates of a tile as kernels on a whole chip name it, valid on both NoCs.
pub(crate) fn logical(chip: Chip, tile: TileCoord) -> (u16, u16) {
    let whole = ChipConfig::new(arch(chip)).with_harvested(&[]);
    let mesh = SimulatedMesh::new(&MeshConfig::new(5).with_chip(whole)).unwrap();
    mesh.chip(0).unwrap().facts().translation.logical(tile).unwrap()
}

/// A chip that has booted.
pub(crate) enum Machine {
    Ours(Box<SimulatedMesh>),
    Ttsim(Box<TtsimMesh>),
}

impl Machine {
    /// One of our simulator, with its profiler prepared.
    pub(crate) fn of_ours(config: &MeshConfig) -> Self {
        Self::Ours(Box::new(SimulatedMesh::new(config).unwrap())).prepared()
    }

    fn prepared(mut self) -> Self {
        init_device_profiler(self.mesh(), &ProfilerOptions::default()).unwrap();
        self
    }

    /// Carries launches out, one after the other.
    pub(crate) fn launch(&mut self, launches: impl IntoIterator<Item = Launch>) {
        match self {
            Self::Ours(mesh) => {
                for launch in launches {
                    mesh.enqueue(0, launch).unwrap();
                }
                mesh.run_to_completion();
                let failures: Vec<_> = mesh.execution_failures().map(ToString::to_string).collect();
                assert!(failures.is_empty(), "{failures:#?}");
            }
            Self::Ttsim(mesh) => launches.into_iter().for_each(|launch| mesh.run(&launch).unwrap()),
        }
    }

    /// Our simulator, if that is it.
    pub(crate) fn ours(&self) -> Option<&SimulatedMesh> {
        match self {
            Self::Ours(mesh) => Some(mesh),
            Self::Ttsim(_) => None,
        }
    }

    /// The chip as a host reads it.
    pub(crate) fn mesh(&mut self) -> &mut dyn Mesh {
        match self {
            Self::Ours(mesh) => &mut **mesh,
            Self::Ttsim(mesh) => &mut **mesh,
        }
    }
}
