//! A run with streamed records that the host or relays drain while kernels run.

use crate::{
    streamed::{Found, Streamed},
    support::{Outcome, first_workers, outcome},
};
use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler,
    ledger::LossLedger,
    mesh::{AccessError, AccessResult, Device, DeviceDescription, Mesh, Noc0Coord, no_host_memory},
    read::Reader,
    readout::Readout,
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig, RelaySink},
    fault::{RelayDeath, Rule, rules::KillRelay},
    mesh::SimulatedMesh,
    random::Stream,
    workload::{Workload, WorkloadOptions},
};
use std::sync::Arc;
use wire::stream::Policy;

/// Configuration of one run on one chip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) arch: Arch,
    pub(crate) seed: u64,
    pub(crate) workload: &'static str,
    pub(crate) ops: u32,
    /// Number of cores on which launches run; `None` for the cores that the workload chooses.
    pub(crate) cores: Option<usize>,
    pub(crate) policy: Policy,
    /// Simulated time between two reads; `None` for a host that reads after the run.
    pub(crate) pause_ns: Option<u64>,
    /// Share of the host's accesses that fail while kernels run, in parts per million.
    pub(crate) failures_ppm: u32,
    pub(crate) relays: Relays,
}

/// The relays of a run, and the times at which a relay dies and is replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relays {
    pub(crate) count: u32,
    pub(crate) sink: RelaySink,
    /// True if the host cannot access the part of its memory that the chip writes to.
    pub(crate) is_sink_hidden: bool,
    pub(crate) ring_bytes: u32,
    /// Time from the first launch to the death of the first relay, in ns; `None` if it does not
    /// die.
    pub(crate) death_ns: Option<u64>,
    /// True if the relay dies after it has counted a frame and before it has told the producer.
    pub(crate) is_before_telling: bool,
    /// Time from the first launch to the start of the relay's successor, in ns. Only a single relay
    /// can have a successor.
    pub(crate) succession_ns: Option<u64>,
}

impl Relays {
    /// No relays: the host drains the rings itself.
    pub(crate) const NONE: Self = Self::living(0, 1 << 16);

    /// Returns relays that do not die.
    pub(crate) const fn living(count: u32, ring_bytes: u32) -> Self {
        Self {
            count,
            sink: RelaySink::Dram,
            is_sink_hidden: false,
            ring_bytes,
            death_ns: None,
            is_before_telling: false,
            succession_ns: None,
        }
    }
}

/// A chip as seen by a host. Some accesses of the host fail.
pub(crate) struct HostMesh<'a> {
    pub(crate) simulated: &'a mut SimulatedMesh,
    description: DeviceDescription,
    random: &'a mut Stream,
    failures_ppm: u32,
    is_sink_hidden: bool,
}

impl HostMesh<'_> {
    fn access<T>(
        &mut self,
        access: impl FnOnce(&mut dyn Device) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        if self.failures_ppm > 0 && self.random.chance(self.failures_ppm) {
            let chip_id = self.description.chip_id;
            return Err(AccessError::Unreachable { chip_id, reason: "asleep".into() });
        }
        access(self.simulated.device(0).unwrap())
    }
}

impl Mesh for HostMesh<'_> {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, _: usize) -> Option<&mut dyn Device> {
        Some(self)
    }
}

impl Device for HostMesh<'_> {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.access(|device| device.read_l1(core, address, words))
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        self.access(|device| device.write_l1(core, address, words))
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        self.access(|device| device.read_dram(bank, address, words))
    }

    fn read_host_memory(&mut self, address: u64, words: &mut [u32]) -> AccessResult {
        if self.is_sink_hidden {
            return Err(no_host_memory(self.description.chip_id));
        }
        self.access(|device| device.read_host_memory(address, words))
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.access(|device| device.read_wall_clock(core))
    }

    fn host_time_ns(&mut self) -> u64 {
        self.simulated.device(0).unwrap().host_time_ns()
    }

    fn wait_ns(&mut self, duration_ns: u64) {
        self.simulated.device(0).unwrap().wait_ns(duration_ns);
    }
}

impl Case {
    /// Returns the case with launches on one to eight cores, which makes a run many times faster.
    pub(crate) fn on_few_cores(self) -> Self {
        let cores = Stream::new(self.seed, &[0x57_0003]).between(1, 8);
        Self { cores: usize::try_from(cores).ok(), ..self }
    }

    /// Returns a mesh with enqueued launches, and the time at which they were enqueued, in ns.
    fn mesh(self, rule: Option<&Arc<dyn Rule>>) -> (SimulatedMesh, u64) {
        let config = MeshConfig::new(self.seed)
            .with_chip(ChipConfig::new(self.arch))
            .with_streaming()
            .with_relays(self.relays.count)
            .with_relay_sink(self.relays.sink)
            .with_relay_ring_bytes(self.relays.ring_bytes)
            .with_cell_truth();
        let has_successor = self.relays.succession_ns.is_some();
        let config = if has_successor { config.with_relay_successors() } else { config };
        let mut mesh = SimulatedMesh::new(&config).unwrap();
        if let Some(rule) = rule {
            mesh.add_shared_rule(rule);
        }
        let options = ProfilerOptions { stream_policy: self.policy, ..ProfilerOptions::default() };
        init_device_profiler(&mut mesh, &options).unwrap();
        let begin_ns = mesh.now_ps() / 1000;
        if let Some(death_ns) = self.relays.death_ns {
            let is_before_telling = self.relays.is_before_telling;
            let death = RelayDeath { at_ns: begin_ns + death_ns, is_before_telling };
            mesh.add_rule(KillRelay { chip_id: 0, relay: 0, death });
        }
        let options =
            WorkloadOptions { ops: Some(self.ops), seed: self.seed, ..WorkloadOptions::default() };
        let plan = Workload::named(self.workload).unwrap().plan(&mesh, &options);
        for launch in plan.phases.iter().flat_map(|phase| &phase.launches) {
            match self.cores {
                Some(cores) => {
                    mesh.enqueue_everywhere(&launch.clone().on(first_workers(&mesh, cores)))
                }
                None => mesh.enqueue_everywhere(launch),
            }
        }
        (mesh, begin_ns)
    }

    /// Runs the launches and reads them as a recording.
    pub(crate) fn run(self, rule: Option<&Arc<dyn Rule>>) -> (Outcome, SimulatedMesh) {
        let mut readout = Readout::default();
        let mesh = self.read(rule, |reader, mesh| {
            // If no core can be read, the whole read fails and changes nothing.
            if let Ok(read) = reader.read(mesh) {
                readout.append(read);
            }
        });
        let outcome = outcome(readout, &mesh);
        (outcome, mesh)
    }

    /// Runs the launches with a call of `read` after each pause and at the end.
    pub(crate) fn read(
        self,
        rule: Option<&Arc<dyn Rule>>,
        mut read: impl FnMut(&mut Reader, &mut HostMesh<'_>),
    ) -> SimulatedMesh {
        let (mut mesh, begin_ns) = self.mesh(rule);
        let description = mesh.device(0).unwrap().description().clone();
        let mut random = Stream::new(self.seed, &[0x57_0002]);
        let mut reader = Reader::new(ReadOptions::default());
        let mut succession_ns = self.relays.succession_ns.map(|at_ns| begin_ns + at_ns);
        let mut read = |mesh: &mut SimulatedMesh, reader: &mut Reader, failures_ppm| {
            let (simulated, description) = (mesh, description.clone());
            let random = &mut random;
            let is_sink_hidden = self.relays.is_sink_hidden;
            let mut mesh =
                HostMesh { simulated, description, random, failures_ppm, is_sink_hidden };
            read(reader, &mut mesh);
        };
        while let Some(mut pause_ns) = self.pause_ns.filter(|_| mesh.has_launches_to_run()) {
            let now_ns = mesh.now_ps() / 1000;
            if let Some(at_ns) = succession_ns.take_if(|at_ns| *at_ns <= now_ns + pause_ns) {
                let until_then_ns = at_ns.saturating_sub(now_ns);
                mesh.wait_ns(until_then_ns);
                mesh.begin_relay_successors(0).unwrap();
                pause_ns -= until_then_ns;
            }
            mesh.wait_ns(pause_ns);
            read(&mut mesh, &mut reader, self.failures_ppm);
        }
        mesh.run_to_completion();
        reader.options_mut().last_read = true;
        read(&mut mesh, &mut reader, 0);
        mesh
    }

    /// Runs the launches with live reads. Returns the records read in each lane, the streamed
    /// records in the truth, and the losses.
    pub(crate) fn run_live(self, rule: Option<&Arc<dyn Rule>>) -> (Found, Found, LossLedger) {
        let (mut found, mut losses) = (Found::new(), LossLedger::default());
        let mut mesh = self.read(rule, |reader, mesh| {
            read_into(&mut found, &mut losses, reader, mesh);
        });
        (found, self.streamed(&mut mesh), losses)
    }

    /// Returns the records that each lane has streamed, from the simulator's truth.
    pub(crate) fn streamed(self, mesh: &mut SimulatedMesh) -> Found {
        assert_eq!(mesh.execution_failures().count(), 0, "{self:?}");
        let mut streamed = Streamed::default();
        streamed.add(mesh.take_cells());
        streamed.into_records()
    }
}

/// Reads once and adds the records and losses of the read. If no core can be read, the whole read
/// fails and changes nothing.
pub(crate) fn read_into(
    found: &mut Found,
    losses: &mut LossLedger,
    reader: &mut Reader,
    mesh: &mut HostMesh<'_>,
) {
    let Ok(read) = reader.read_live(mesh) else { return };
    losses.append_read(&read.readout.losses);
    for batch in read.batches.iter().filter(|batch| batch.record_count() > 0) {
        found.entry(batch.lane).or_default().add(batch);
    }
}

/// Asserts that every streamed record was read exactly once, regardless of records that were
/// dropped before streaming.
#[track_caller]
pub(crate) fn assert_each_once(case: &Case, (found, truth): (&Found, &Found)) {
    assert_eq!(found.keys().collect::<Vec<_>>(), truth.keys().collect::<Vec<_>>(), "{case:?}");
    for (lane, expected) in truth {
        let (records, counts) = (&found[lane], [found[lane].len(), expected.len()]);
        assert!(records == expected, "{case:?}: {lane} has {counts:?} records, or others");
    }
}
