//! Simulated chips that run launches: our simulator, and Tenstorrent's if its library is available.

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
    /// Tenstorrent's simulator, with the file of its library.
    Ttsim(OsString),
}

impl Simulator {
    /// Returns ttsim, or prints a line and returns `None` if no variable names its library.
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

    /// Returns the available simulators of a chip.
    pub(crate) fn all(chip: Chip) -> impl Iterator<Item = Self> {
        [Self::Ours].into_iter().chain(Self::ttsim(chip))
    }

    /// Returns the available simulators, with the chips that they run.
    pub(crate) fn all_chips() -> impl Iterator<Item = (Chip, Self)> {
        Chip::ALL.into_iter().flat_map(|chip| Self::all(chip).map(move |one| (chip, one)))
    }

    /// Starts a chip with its profiler prepared. `config` has no chips; our simulator uses the chip
    /// `own`.
    pub(crate) fn start(&self, chip: Chip, config: MeshConfig, own: ChipConfig) -> Machine {
        match self {
            Self::Ours => Machine::simulated(&config.with_chip(own)),
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

/// Returns the coordinates of a tile as kernels on a whole chip use them, valid on both NoCs.
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
    /// Returns a chip of our simulator, with its profiler prepared.
    pub(crate) fn simulated(config: &MeshConfig) -> Self {
        Self::Ours(Box::new(SimulatedMesh::new(config).unwrap())).prepared()
    }

    fn prepared(mut self) -> Self {
        init_device_profiler(self.mesh(), &ProfilerOptions::default()).unwrap();
        self
    }

    /// Executes launches in sequence.
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

    /// Returns the mesh of our simulator; `None` for Tenstorrent's simulator.
    pub(crate) fn ours(&self) -> Option<&SimulatedMesh> {
        match self {
            Self::Ours(mesh) => Some(mesh),
            Self::Ttsim(_) => None,
        }
    }

    /// Returns the chip as a host reads it.
    pub(crate) fn mesh(&mut self) -> &mut dyn Mesh {
        match self {
            Self::Ours(mesh) => &mut **mesh,
            Self::Ttsim(mesh) => &mut **mesh,
        }
    }
}
