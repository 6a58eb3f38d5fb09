//! NoC traces of TT-Metal's own tests: a copy, fabric packets, linked multicasts, with the expected
//! number of objects in the files.
//!
//! # Compatibility
//! Programs and figures: `test_device_profiler.py`, `test_noc_event_profiler` and the tests of the
//! fabric that it runs.

use crate::{
    firmware, kernels,
    launches::arch,
    machine::{Machine, Simulator, logical},
    package::{Package, package, sources},
    toolchain::{Chip, Header, Mode, Processor},
};
use host_reader::{
    anomaly::AnomalyKind,
    names::ZoneTable,
    noc_events::{NocTraces, PayloadVersion, SizeField, TraceOptions},
    read_device_profiler,
};
use serde_json::Value;
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire::Risc;

/// Tensix tiles on both chips: senders, the core that forwards packets, a multicast's rectangle.
const SENDERS: [TileCoord; 4] = [
    TileCoord { x: 2, y: 3 },
    TileCoord { x: 6, y: 3 },
    TileCoord { x: 2, y: 4 },
    TileCoord { x: 6, y: 4 },
];
const PASSES_ON: TileCoord = TileCoord { x: 4, y: 5 };
const RECTANGLE: [TileCoord; 2] = [TileCoord { x: 3, y: 2 }, TileCoord { x: 4, y: 3 }];

/// Definitions for a kernel.
type Defines = Vec<String>;

/// A simulated chip with tt-metal's firmware and our header, and the kernels that it has run.
struct Bench<'a> {
    package: &'a Package,
    chip: Chip,
    machine: Machine,
    zone_texts: BTreeSet<String>,
}

impl<'a> Bench<'a> {
    fn new(package: &'a Package, chip: Chip, simulator: &Simulator) -> Self {
        let mut zone_texts = BTreeSet::new();
        zone_texts.extend(firmware::zone_texts(package, chip, (Header::Ours, Mode::Plain)));
        let whole = ChipConfig::new(arch(chip)).with_harvested(&[]);
        let firmware = firmware::set(package, chip, Header::Ours);
        let machine = simulator.start(chip, MeshConfig::new(5).with_firmware(&firmware), whole);
        Self { package, chip, machine, zone_texts }
    }

    /// Returns definitions of a tile's coordinates.
    fn place(&self, name: &str, tile: TileCoord) -> Defines {
        let (x, y) = logical(self.chip, tile);
        vec![format!("{name}_X={x}"), format!("{name}_Y={y}")]
    }

    fn router(&self) -> TileCoord {
        arch(self.chip).facts().ethernet[0]
    }

    /// Launches a kernel on the BRISCs of some cores, as program 1.
    fn run(&mut self, cores: &[TileCoord], case: &str, defines: Defines) {
        let source = sources().join("traces.cpp");
        let job = kernels::Job::new(self.chip, Processor::Brisc, source);
        let common = [format!("CASE={case}"), "PROFILE_NOC_EVENTS=1".to_owned()];
        let job = job.with_defines(common.into_iter().chain(defines).collect());
        self.zone_texts.extend(job.zone_texts(self.package, Header::Ours));
        let linked = kernels::link(self.package, &job, false, Header::Ours);
        let linked = linked.unwrap_or_else(|error| panic!("{} {case}: {error}", self.chip));
        let kernel = KernelFile::new("brisc", linked.file).unwrap();
        let program = Program::new("traced");
        let program = program.with_kernel(Risc::Brisc, Arc::new(kernel) as Arc<dyn Kernel>);
        let launch = Launch::new(&Arc::new(program), 1).on(CoreSelection::At(cores.to_vec()));
        self.machine.launch([launch]);
    }

    /// Returns the chip's only file, read as JSON, and the number of lost NoC events.
    fn trace(mut self) -> (Vec<Value>, u64) {
        let mut readout = read_device_profiler(self.machine.mesh()).unwrap();
        // Each push during a launch repeats the markers in the fixed slots.
        let anomalies = readout.anomalies.kept().iter().map(|anomaly| anomaly.kind);
        let is_expected = |kind| kind == AnomalyKind::DuplicateGuaranteedMarker;
        assert!(anomalies.into_iter().all(is_expected), "{:?}", readout.anomalies);
        readout.zones = ZoneTable::from_texts(&self.zone_texts).unwrap();
        // The header of 0.81.1 writes this version and this size field; a few events, or many of one
        // kind, do not determine them.
        let version = Some(PayloadVersion::Byte0Remote);
        let options = TraceOptions { version, size_field: Some(SizeField::Bits12) };
        let traces = NocTraces::from_readout(&readout, |_, _| None, &options);
        assert_eq!(traces.notes.sentences().collect::<Vec<_>>(), [""; 0]);
        let [trace] = traces.programs.as_slice() else { panic!("one program has run") };
        assert_eq!(trace.file_name(), "noc_trace_dev0_ID1024.json");
        let Value::Array(objects) = serde_json::from_str(&trace.to_json()).unwrap() else {
            panic!("a trace is a list");
        };
        (objects, readout.losses.total().data)
    }
}

/// Counts each combination of values in some fields of a packet's route; each must have a channel.
fn routes(objects: &[Value], fields: &[&str]) -> BTreeMap<Vec<String>, usize> {
    let mut counts = BTreeMap::new();
    for object in objects {
        let Some(kind) = object["type"].as_str().filter(|kind| kind.starts_with("FABRIC_")) else {
            continue;
        };
        assert_eq!(kind, "FABRIC_UNICAST_WRITE");
        let route = &object["fabric_send"];
        assert_eq!(route["eth_chan"], 0, "{object}");
        let key = fields.iter().map(|&field| route[field].to_string()).collect();
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// `test_noc_event_profiler`: exactly eight events. Since 0.81.1 barriers are recorded only in the
/// debug dump. Without the debug dump, four events are left.
#[test]
fn a_copy_is_eight_objects_and_four_without_its_barriers() {
    let Some(package) = package() else { return };
    const EVENTS: [&str; 6] = [
        "READ",
        "READ_BARRIER_START",
        "READ_BARRIER_END",
        "WRITE_",
        "WRITE_BARRIER_START",
        "WRITE_BARRIER_END",
    ];
    let dump = ["DEVICE_DEBUG_DUMP=1", "KERNEL_PROFILER_DEBUG_DUMP"].map(str::to_owned);
    for (chip, simulator) in Simulator::all_chips() {
        for (defines, expected) in
            [(dump.to_vec(), EVENTS.to_vec()), (Vec::new(), vec!["READ", "WRITE_"])]
        {
            let mut bench = Bench::new(package, chip, &simulator);
            bench.run(&SENDERS[..1], "COPY", defines);
            let (objects, lost) = bench.trace();
            let zones = objects.iter().filter_map(|object| object["zone_phase"].as_str());
            assert_eq!(zones.collect::<Vec<_>>(), ["ZONE_START", "ZONE_END"], "of the kernel");
            let events = objects.iter().filter_map(|object| object["type"].as_str());
            assert_eq!(events.collect::<Vec<_>>(), expected);
            let bytes = objects.iter().filter_map(|object| object["num_bytes"].as_u64());
            let bytes = bytes.filter(|bytes| *bytes > 0);
            assert_eq!(bytes.collect::<Vec<_>>(), [10_240; 2], "read and written");
            assert_eq!((objects.len(), lost), (expected.len() + 2, 0), "{chip} on {simulator}");
        }
    }
}

/// `test_fabric_event_profiler_1d`: 10, 100 and 100 events, by distance and range.
#[test]
fn packets_along_a_line_have_their_distance_and_range() {
    let Some(package) = package() else { return };
    for (start, range, packets) in [(1, 1, 10), (1, 3, 100), (2, 2, 100)] {
        let mut bench = Bench::new(package, Chip::Wormhole, &Simulator::Ours);
        let mut defines =
            vec![format!("START={start}"), format!("RANGE={range}"), format!("PACKETS={packets}")];
        defines.extend(bench.place("NEXT", bench.router()));
        defines.extend(bench.place("FAR", PASSES_ON));
        bench.run(&SENDERS[..1], "LINE", defines);
        let (objects, lost) = bench.trace();
        let expected = [(vec![start.to_string(), range.to_string()], packets)];
        assert_eq!(routes(&objects, &["start_distance", "range"]), expected.into());
        assert_eq!(lost, 0);
    }
}

/// `test_fabric_event_profiler_fabric_mux`: 400 events, each with the core that forwarded it.
#[test]
fn four_hundred_packets_name_the_core_that_passed_them_on() {
    let Some(package) = package() else { return };
    let mut bench = Bench::new(package, Chip::Wormhole, &Simulator::Ours);
    let mut defines = vec!["START=1".to_owned(), "RANGE=1".to_owned(), "PACKETS=100".to_owned()];
    defines.extend(bench.place("NEXT", PASSES_ON));
    defines.extend(bench.place("FAR", PASSES_ON));
    bench.run(&SENDERS, "LINE", defines);
    let mut defines = vec!["PACKETS=400".to_owned()];
    defines.extend(bench.place("NEXT", bench.router()));
    bench.run(&[PASSES_ON], "PASS_ON", defines);
    let (objects, lost) = bench.trace();
    let mux = r#"{"noc":"NOC_0","x":4,"y":5}"#;
    let expected = [(["1", "1", mux].map(str::to_owned).to_vec(), 400)];
    assert_eq!(routes(&objects, &["start_distance", "range", "fabric_mux"]), expected.into());
    assert_eq!(lost, 0);
}

/// `test_fabric_event_profiler_2d`, with the tests for every board and the four that need a 6U,
/// with routes on a mesh recorded as by headers before 0.81.1.
#[test]
fn packets_on_a_mesh_have_their_hops() {
    let Some(package) = package() else { return };
    // Hops north or south, east and west; whether all tiles on the way are targets; packets.
    let tests: [&[([u32; 3], bool, usize)]; 7] = [
        &[([0, 3, 0], false, 10)],
        &[([0, 0, 1], false, 100), ([0, 2, 0], true, 100)],
        &[([1, 1, 1], true, 100), ([0, 1, 0], false, 100), ([0, 0, 1], false, 100)],
        &[([3, 0, 0], false, 10)],
        &[([2, 4, 0], false, 10)],
        &[([2, 0, 0], true, 100), ([1, 0, 0], false, 100)],
        &[([7, 3, 0], true, 100), ([0, 3, 0], true, 100)],
    ];
    for test in tests {
        let mut bench = Bench::new(package, Chip::Wormhole, &Simulator::Ours);
        let mut expected = BTreeMap::new();
        for (core, ([ns, east, west], is_multicast, packets)) in SENDERS.iter().zip(test) {
            let mut defines = vec![
                format!("NS_HOPS={ns}u"),
                format!("E_HOPS={east}u"),
                format!("W_HOPS={west}u"),
                format!("IS_MCAST={}", u8::from(*is_multicast)),
                format!("PACKETS={packets}"),
            ];
            defines.extend(bench.place("NEXT", bench.router()));
            bench.run(&[*core], "MESH", defines);
            let key =
                [ns.to_string(), east.to_string(), west.to_string(), is_multicast.to_string()];
            expected.insert(key.to_vec(), *packets);
        }
        let (objects, lost) = bench.trace();
        assert_eq!(routes(&objects, &["ns_hops", "e_hops", "w_hops", "is_mcast"]), expected);
        assert_eq!(lost, 0);
    }
}

/// `test_noc_event_profiler_linked_multicast_hang`: the kernel ends, although no push is possible
/// while transactions are linked, and events without room are counted.
#[test]
fn linked_multicasts_end_and_what_they_lose_is_counted() {
    const TRANSFERS: usize = 1_000;
    let Some(package) = package() else { return };
    for (chip, simulator) in Simulator::all_chips() {
        let mut bench = Bench::new(package, chip, &simulator);
        let mut defines = vec![format!("PACKETS={TRANSFERS}")];
        defines.extend(bench.place("FIRST", RECTANGLE[0]));
        defines.extend(bench.place("LAST", RECTANGLE[1]));
        bench.run(&SENDERS[..1], "LINKED", defines);
        let (objects, lost) = bench.trace();
        let multicasts = objects.iter().filter(|object| object["type"] == "WRITE_MULTICAST");
        let kept = multicasts.count();
        assert_eq!(kept + usize::try_from(lost).unwrap(), TRANSFERS, "{chip} on {simulator}");
        // A ring has 500 words. These events must leave 16 words free, and each event takes four.
        assert_eq!(kept, (500 - 16) / 4, "{chip} on {simulator}");
    }
}
