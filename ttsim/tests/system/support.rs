//! Libraries, meshes and readouts shared by the tests.

use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler,
    lane::{Lane, LaneId, ZoneIndex},
    mesh::Mesh,
    names::ZoneTable,
    noc_events::{NocEventKind, PayloadVersion},
    read::Reader,
    readout::Readout,
};
use sim::{
    arch::Arch,
    config::MeshConfig,
    machine::KernelKind,
    mesh::SimulatedMesh,
    program::Launch,
    workload::{Phase, Plan},
};
use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::Command,
};
use ttsim::TtsimMesh;
use wire::{PacketKind, RunHostId, ZoneId};

/// Returns the available libraries; prints in one line which tests are skipped.
pub(crate) fn libraries() -> Vec<(Arch, PathBuf)> {
    let named = [(Arch::WormholeB0, "KPROF_TTSIM_WH"), (Arch::Blackhole, "KPROF_TTSIM_BH")];
    let found = named.into_iter().filter_map(|(arch, variable)| match env::var_os(variable) {
        Some(path) => Some((arch, PathBuf::from(path))),
        None => {
            eprintln!("skipped on ttsim's {arch}: {variable} names no libttsim");
            None
        }
    });
    found.collect()
}

/// Returns the command that starts the child process.
pub(crate) fn child() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ttsim-child"))
}

/// Returns a mesh of an architecture's whole chip, with kernels as object code.
pub(crate) fn config(arch: Arch, seed: u64) -> MeshConfig {
    MeshConfig::new(seed).with_chip(TtsimMesh::chip(arch)).with_kernels(KernelKind::Riscv)
}

/// Starts ttsim and initialises its profiler.
pub(crate) fn start(config: &MeshConfig, library: &Path) -> TtsimMesh {
    let mut mesh = TtsimMesh::start(config, child(), library).unwrap();
    initialise(config, &mut mesh);
    mesh
}

pub(crate) fn initialise(config: &MeshConfig, mesh: &mut dyn Mesh) {
    let options = ProfilerOptions {
        program_support_count: config.program_support_count,
        sums_enabled: config.modes.sums_enabled,
        ..ProfilerOptions::default()
    };
    init_device_profiler(mesh, &options).unwrap();
}

/// Runs a plan on ttsim and reads after each phase.
pub(crate) fn run_on_ttsim(mesh: &mut TtsimMesh, plan: &Plan) -> Readout {
    TtsimMesh::check(plan).unwrap();
    let mut reader = Reader::new(ReadOptions::default());
    let mut readout = Readout::default();
    for (index, phase) in plan.phases.iter().enumerate() {
        for launch in &phase.launches {
            mesh.run(launch).unwrap();
        }
        reader.options_mut().last_read = index + 1 == plan.phases.len();
        readout.append(reader.read(mesh).unwrap());
    }
    readout
}

/// Runs a plan on our simulator and reads after each phase.
pub(crate) fn run_on_ours(config: &MeshConfig, plan: &Plan) -> Readout {
    let mut mesh = SimulatedMesh::new(config).unwrap();
    initialise(config, &mut mesh);
    let mut reader = Reader::new(ReadOptions::default());
    let mut readout = Readout::default();
    for (index, phase) in plan.phases.iter().enumerate() {
        mesh.enqueue_phase(phase);
        mesh.run_to_completion();
        reader.options_mut().last_read = index + 1 == plan.phases.len();
        readout.append(reader.read(&mut mesh).unwrap());
    }
    assert_eq!(mesh.execution_failures().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    readout
}

/// Returns a plan that launches these programs in one phase.
pub(crate) fn plan(launches: Vec<Launch>) -> Plan {
    Plan { phases: vec![Phase { launches }], rules: Vec::new() }
}

/// Returns a plan that launches these programs with a read after each.
pub(crate) fn phases(launches: Vec<Launch>) -> Plan {
    let phases = launches.into_iter().map(|launch| Phase { launches: vec![launch] });
    Plan { phases: phases.collect(), rules: Vec::new() }
}

/// A record without its time, for the comparison of ttsim with our simulator.
pub(crate) type Shape = (RunHostId, u32, PacketKind, u32, Vec<u64>);

/// Returns the records of each RISC of the Tensix cores, in order; totals are without their cycles.
pub(crate) fn shapes(readout: &Readout) -> BTreeMap<LaneId, Vec<Shape>> {
    let lanes = readout.devices.iter().flat_map(|device| &device.lanes);
    let lanes = lanes.filter(|lane| lane.id.risc != wire::Risc::Erisc && lane.record_count() > 0);
    lanes.map(|lane| (lane.id, lane_shapes(lane))).collect()
}

fn lane_shapes(lane: &Lane) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut records = lane.records();
    for (index, run) in lane.runs.iter().enumerate() {
        for _ in lane.run_records(index) {
            let record = records.next().unwrap();
            let data = match record.kind {
                PacketKind::ZoneTotal => Vec::new(),
                _ => without_answers(record.zone.0, record.data),
            };
            shapes.push((run.program, run.trace_counter, record.kind, record.zone.0, data));
        }
    }
    shapes
}

/// Id of NoC events, which has no text.
const NOC_TRACING: u32 = ZoneId::NOC_TRACING.0 as u32;

/// Mask of the bits that contain the two addresses. The bits above them contain the number of
/// answered reads.
const ADDRESSES: u64 = (1 << 52) - 1;

/// Returns the data of a record without the number of answered reads. That number depends on the
/// latency of each simulator's memory.
pub(crate) fn without_answers(id: u32, data: &[u64]) -> Vec<u64> {
    let mut data = data.to_vec();
    if let (true, [event, addresses]) = (id == NOC_TRACING, &mut data[..]) {
        let kind = PayloadVersion::Byte0Remote.kind(PayloadVersion::Byte0Remote.number(*event));
        if kind.is_some_and(NocEventKind::is_read) {
            *addresses &= ADDRESSES;
        }
    }
    data
}

/// Asserts that each RISC has the same records and losses on both simulators; returns the number of
/// RISCs.
#[track_caller]
pub(crate) fn assert_same(ttsim: &Readout, ours: &Readout) -> usize {
    assert_same_beside(&[], ttsim, ours)
}

/// Asserts the same as [`assert_same`], but ignores zones with these names, because their number
/// depends on times.
#[track_caller]
pub(crate) fn assert_same_beside(zones: &[&str], ttsim: &Readout, ours: &Readout) -> usize {
    let lane_count = assert_same_records(zones, ttsim, ours);
    let losses = |readout: &Readout| {
        let entries = readout.losses.entries();
        let tensix = entries.filter(|(key, _)| key.lane.risc != wire::Risc::Erisc);
        tensix.map(|(key, totals)| format!("{key:?} {totals:?}")).collect::<Vec<_>>()
    };
    assert_eq!(losses(ttsim), losses(ours));
    let anomalies = |readout: &Readout| {
        let anomalies = readout.anomalies.counts().filter(|(kind, _)| !kind.is_repair());
        anomalies.collect::<Vec<_>>()
    };
    assert_eq!(anomalies(ttsim), anomalies(ours));
    lane_count
}

/// Asserts that each RISC has the same records on both simulators, except zones with these names;
/// returns the number of RISCs.
#[track_caller]
pub(crate) fn assert_same_records(zones: &[&str], ttsim: &Readout, ours: &Readout) -> usize {
    let names = ZoneTable::from_texts(ttsim::runner::zone_texts()).unwrap();
    let shapes = |readout: &Readout| {
        let mut shapes = shapes(readout);
        for lane in shapes.values_mut() {
            lane.retain(|(_, _, _, zone, _)| !zones.contains(&names.name(ZoneIndex(*zone))));
        }
        shapes
    };
    let (found, expected) = (shapes(ttsim), shapes(ours));
    for (lane, expected) in &expected {
        let found = found.get(lane).map_or(&[][..], Vec::as_slice);
        let first = found.iter().zip(expected).position(|(found, expected)| found != expected);
        assert!(
            first.is_none() && found.len() == expected.len(),
            "{lane}: {} records on ttsim, {} on ours, first other one {first:?}: {:?}, {:?}",
            found.len(),
            expected.len(),
            first.map(|index| &found[index]),
            first.map(|index| &expected[index]),
        );
    }
    assert_eq!(found.len(), expected.len(), "lanes with records");
    expected.len()
}
