//! Traces of real chips: the traces computed from a log equal those that TT-Metal wrote in the same
//! run.

use analysis::noc_events::{
    Noc, NocEventKind, NocTraces, TileMap, TraceOptions, Traffic, read_json,
};
use captures::{capture_path, read_capture};
use reader::mesh::Noc0Coord;
use std::fs;

const RUNS: [&str; 4] =
    ["blackhole-noc-256", "blackhole-noc-4096", "wormhole-noc-256", "wormhole-noc-4096"];

#[test]
fn a_logs_trace_is_byte_for_byte_that_of_tt_metal() {
    for run in RUNS {
        let traces =
            NocTraces::from_readout(&read_capture(run), |_, _| None, &TraceOptions::default());
        let [trace] = traces.programs.as_slice() else { panic!("{run}: one program") };
        assert_eq!(trace.file_name(), "noc_trace_dev0_ID0.json");
        let path = capture_path("mesham-tt-sim").join(run).join(trace.file_name());
        let (ours, theirs) = (trace.to_json(), fs::read_to_string(path).unwrap());
        let differing = ours.lines().zip(theirs.lines()).position(|(our, their)| our != their);
        assert_eq!(differing, None, "{run}: the first line that differs, from 0");
        assert_eq!(ours.len(), theirs.len(), "{run}");
        assert_eq!(read_json(theirs.as_bytes()).objects, trace.objects, "{run}");
        assert_eq!(traces.notes.count(), 0, "{run}: {:?}", traces.notes);
    }
}

#[test]
fn files_of_older_producers_are_read_whole() {
    for (file, object_count) in [
        ("DRAM_TO_1x1_BLOCK.json", 134),
        ("line-4/noc_trace_dev0_AllGatherAsync_ID1.json", 102),
        ("line-4/noc_trace_dev4_AllGatherAsync_ID4.json", 73),
    ] {
        let read = read_json(&fs::read(capture_path("tt-npe").join(file)).unwrap());
        assert_eq!((read.objects.len(), read.problems), (object_count, vec![]), "{file}");
        let is_known = |name: &String| NocEventKind::from_label(name).is_some();
        assert!(read.objects.iter().filter_map(|object| object.event_type.as_ref()).all(is_known));
    }
}

#[test]
fn traffic_of_a_log_is_what_its_kernels_moved() {
    // Eight reads and eight writes of 4,096 bytes; the writes go over NoC 1.
    let readout = read_capture("wormhole-noc-4096");
    let traces = NocTraces::from_readout(&readout, |_, _| None, &TraceOptions::default());
    let map = TileMap::from_device(&readout.devices[0]);
    let traffic = Traffic::from_traces(&traces.programs, |_| map.as_ref().map(TileMap::grid));
    let pairs: Vec<_> = traffic
        .pairs
        .iter()
        .map(|pair| (pair.noc, pair.from, pair.to, pair.transfer_count, pair.byte_count))
        .collect();
    let (dram, core) = (Noc0Coord { x: 0, y: 11 }, Noc0Coord { x: 1, y: 1 });
    assert_eq!(
        pairs,
        [(Noc::Noc0, dram, core, 8, 8 * 4_096), (Noc::Noc1, core, dram, 8, 8 * 4_096)]
    );
    assert_eq!((traffic.unplaced_count, traffic.open_wait_count, traffic.unknown_count), (0, 0, 0));
    let waits = traffic.activities.iter().filter(|one| one.kind.end_of_wait().is_some());
    assert!(waits.clone().count() == 2 && waits.clone().all(|one| one.wait_cycles > 0));
    // Read bytes go east from column 0 to 1, then south around the edge from row 11 to row 1.
    // Written bytes go back over the same tiles.
    assert_eq!(traffic.links.len(), 2 * 3);
}
