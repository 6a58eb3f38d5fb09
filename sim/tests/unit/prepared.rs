//! A prepared mesh for tests that have no reader: performs the steps of a host before and after a
//! run.

use crate::{
    arch::floorplan::CorePlace,
    config::MeshConfig,
    mesh::SimulatedMesh,
    program::CoreSelection,
    workload::{Plan, Workload, WorkloadOptions},
};
use reader::{
    ProfilerOptions, init_device_profiler,
    mesh::{Device, Mesh, Noc0Coord},
};
use wire::{
    CoreKind,
    control::{ControlLayout, ext},
    dram::DramGeometry,
};

/// Layout of the words that a core shares with its host.
pub(crate) const CONTROL: ControlLayout = ControlLayout::WORDS64;

/// Returns true where tests have their full sizes, as in `.ci/full`: `KPROF_FULL_SIZES` requests
/// them.
pub(crate) fn is_full() -> bool {
    std::env::var_os("KPROF_FULL_SIZES").is_some()
}

/// A mesh of one chip, prepared as by a host.
pub(crate) struct Bench {
    pub(crate) mesh: SimulatedMesh,
    geometry: DramGeometry,
}

impl Bench {
    pub(crate) fn new(config: &MeshConfig) -> Self {
        let mut mesh = SimulatedMesh::new(config).unwrap();
        let options = ProfilerOptions {
            program_support_count: config.program_support_count,
            sums_enabled: config.modes.sums_enabled,
            ..ProfilerOptions::default()
        };
        init_device_profiler(&mut mesh, &options).unwrap();
        let chip = mesh.chip(0).unwrap();
        let cores = u32::try_from(chip.plan().cores().len()).unwrap();
        let banks = chip.facts().arch.facts().bank_count;
        let (count, sums) = (config.program_support_count, config.modes.sums_enabled);
        let geometry = DramGeometry::new(count, sums, cores, banks).unwrap();
        Self { mesh, geometry }
    }

    pub(crate) fn plan(&mut self, name: &str, options: WorkloadOptions) -> Plan {
        let plan = Workload::named(name).unwrap().plan(&self.mesh, &options);
        plan.rules.iter().for_each(|rule| self.mesh.add_shared_rule(rule));
        plan
    }

    /// Runs every phase of a workload without a read in between.
    pub(crate) fn run(&mut self, name: &str) {
        let plan = self.plan(name, WorkloadOptions::default());
        for phase in &plan.phases {
            self.mesh.enqueue_phase(phase);
        }
        self.mesh.run_to_completion();
    }

    /// Runs every phase of a workload on some worker cores only. The rest of the chip is idle.
    pub(crate) fn run_on(&mut self, name: &str, workers: &[usize]) {
        let plan = self.plan(name, WorkloadOptions::default());
        let cores: Vec<_> = workers.iter().map(|&index| self.worker(index).coord).collect();
        for launch in plan.phases.iter().flat_map(|phase| &phase.launches) {
            let launch = launch.clone().on(CoreSelection::At(cores.clone()));
            self.mesh.enqueue_everywhere(&launch);
        }
        self.mesh.run_to_completion();
    }

    pub(crate) fn worker(&self, index: usize) -> CorePlace {
        let chip = self.mesh.chip(0).unwrap();
        let mut workers = chip.plan().cores().iter().filter(|core| core.kind == CoreKind::Tensix);
        *workers.nth(index).unwrap()
    }

    pub(crate) fn workers(&self) -> Vec<CorePlace> {
        let cores = self.mesh.chip(0).unwrap().plan().cores().iter();
        cores.filter(|core| core.kind == CoreKind::Tensix).copied().collect()
    }

    /// Returns words of a RISC's record buffer in DRAM, without a host access.
    pub(crate) fn lane(&self, core: &CorePlace, risc: u32, from: u32, count: usize) -> Vec<u32> {
        let chip = self.mesh.chip(0).unwrap();
        let place = self.geometry.lane(core.flat_id, risc);
        let region = chip.facts().arch.facts().dram_align_bytes;
        let address = region + u64::from(place.offset_bytes) + 4 * u64::from(from);
        let mut words = vec![0; count];
        assert!(chip.dram().read(place.bank, address, &mut words));
        words
    }

    /// Returns words of a RISC's record buffer in DRAM as the host reads them.
    pub(crate) fn read_lane(&mut self, core: &CorePlace, risc: u32, count: usize) -> Vec<u32> {
        let place = self.geometry.lane(core.flat_id, risc);
        let region = self.mesh.chip(0).unwrap().facts().arch.facts().dram_align_bytes;
        let address = region + u64::from(place.offset_bytes);
        let mut words = vec![0; count];
        let device = self.mesh.device(0).unwrap();
        device.read_dram(place.bank, address, &mut words).unwrap();
        words
    }

    pub(crate) fn control(&mut self, core: &CorePlace) -> Vec<u32> {
        let (coord, address) = self.control_place(core);
        let mut words = vec![0; CONTROL.word_count];
        self.mesh.device(0).unwrap().read_l1(coord, address, &mut words).unwrap();
        words
    }

    pub(crate) fn set_control(&mut self, core: &CorePlace, index: usize, words: &[u32]) {
        let (coord, address) = self.control_place(core);
        let device: &mut dyn Device = self.mesh.device(0).unwrap();
        device.write_l1(coord, address + 4 * index as u64, words).unwrap();
    }

    fn control_place(&self, core: &CorePlace) -> (Noc0Coord, u64) {
        let facts = self.mesh.chip(0).unwrap().facts().arch.facts();
        let coord = Noc0Coord { x: core.coord.x, y: core.coord.y };
        (coord, facts.control_address(core.kind))
    }

    /// Marks all records as read, as a host does after a read.
    pub(crate) fn acknowledge(&mut self) {
        for core in self.workers() {
            let control = self.control(&core);
            self.set_control(&core, ext::SEEN_RUNS, &[control[CONTROL.run_counter]]);
        }
    }
}

/// Returns the word of a run header that identifies core and RISC, in the first generation of the
/// record format. The word's trace counter is 0.
pub(crate) fn id_word(core: &CorePlace, risc: u32) -> u32 {
    1 << 29 | core.flat_id << 5 | risc
}
