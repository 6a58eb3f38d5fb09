//! Tests of the model against figures of tt-npe and against figures computed by hand.

use super::{
    chip::NocChip,
    figures::NocFigures,
    gap::NocGap,
    simulation::{Outcome, simulate},
    workload::Workload,
};
use crate::noc_events::{json::read_json, object::TraceObject, trace::ProgramTrace};
use captures::capture_path;
use reader::mesh::Noc0Coord;
use std::{collections::BTreeMap, fs, path::PathBuf};
use wire::{RunHostId, noc_event::NocEventKind};

/// Figures of tt-npe at commit 10216031, for the traces in tt-npe's folder
/// `tt_npe/workload/noc_trace_json`, with the device `wormhole_b0` and steps of 32 cycles.
///
/// The zones were converted to the format that this version of tt-npe reads (`ZONE_START` instead
/// of `begin`). The profiler's own zones, which name no processor, were removed.
const FIGURES_OF_TT_NPE: &str = include_str!("tt_npe_figures.csv");
/// Environment variable with the path of tt-npe's folder of traces.
const FOLDER: &str = "KPROF_TT_NPE_TRACES";
/// Maximum relative difference of a figure.
const TOLERANCE: f64 = 0.001;

fn wormhole() -> NocChip {
    NocChip::from_arch("wormhole_b0").unwrap()
}

/// Returns the path of a trace. One trace is among the captures. The others are in the folder that
/// the environment variable [`FOLDER`] names.
fn path_of(trace: &str) -> Option<PathBuf> {
    let captured = capture_path("tt-npe").join(format!("{trace}.json"));
    if captured.exists() {
        Some(captured)
    } else {
        Some(PathBuf::from(std::env::var_os(FOLDER)?).join(format!("{trace}.json")))
    }
}

#[test]
fn traces_have_the_figures_of_tt_npe() {
    let mut compared = 0;
    let lines = FIGURES_OF_TT_NPE.lines().skip(1);
    for line in lines.clone() {
        let cells: Vec<_> = line.split(',').collect();
        let Some(path) = path_of(cells[0]) else { continue };
        let objects = read_json(&fs::read(path).unwrap()).objects;
        let traces = ProgramTrace::from_objects(objects, "noc_trace_dev0_ID1024.json");
        let [trace] = traces.as_slice() else { panic!("{}: one program", cells[0]) };
        let figures = NocFigures::from_trace(trace, &wormhole());
        assert_eq!(figures.gaps, [], "{}", cells[0]);
        for (figure, expected) in [
            (figures.link_percent, cells[2]),
            (figures.multicast_link_percent, cells[3]),
            (figures.dram_percent, cells[4]),
            (figures.congestion_percent, cells[7]),
        ] {
            let (figure, expected): (f64, f64) = (figure.unwrap(), expected.parse().unwrap());
            let difference = (figure - expected).abs();
            // The figures have six decimals.
            assert!(difference <= expected.abs() * TOLERANCE + 1e-6, "{line}: found {figure}");
        }
        let controllers = figures.dram_controller_percent.unwrap();
        let controllers = controllers.iter().map(|(number, used)| format!("c{number}:{used:.1}%"));
        let controllers = controllers.collect::<Vec<_>>().join(" ");
        assert_eq!(if controllers.is_empty() { "-" } else { &controllers }, cells[5], "{line}");
        compared += 1;
    }
    assert!(compared > 0, "the capture at least");
    if compared == 1 {
        let folder = "tt-npe's tt_npe/workload/noc_trace_json";
        eprintln!("skipped: {} traces; {FOLDER} does not name {folder}", lines.count() - 1);
    }
}

/// Event of a core, or end of a kernel.
struct Event {
    kind: Option<NocEventKind>,
    core: (u16, u16),
    target: (i32, i32),
    bytes: u64,
    time: u64,
}

impl Event {
    fn write(core: (u16, u16), target: (i32, i32), bytes: u64) -> Self {
        Self { kind: Some(NocEventKind::Write), core, target, bytes, time: 0 }
    }

    fn read(core: (u16, u16), target: (i32, i32), bytes: u64) -> Self {
        Self { kind: Some(NocEventKind::Read), ..Self::write(core, target, bytes) }
    }

    fn end(time: u64) -> Self {
        Self { kind: None, time, ..Self::write((1, 1), (0, 0), 0) }
    }

    fn object(self) -> TraceObject {
        TraceObject {
            event_type: self.kind.map(|kind| kind.label().to_owned()),
            zone: self.kind.is_none().then(|| "BRISC-KERNEL".to_owned()),
            noc: Some("NOC_0".to_owned()),
            proc: "BRISC".to_owned(),
            sx: self.core.0,
            sy: self.core.1,
            timestamp: 5_000 + self.time,
            num_bytes: Some(self.bytes),
            dx: Some(self.target.0),
            dy: Some(self.target.1),
            ..TraceObject::default()
        }
    }
}

fn trace(objects: Vec<TraceObject>) -> ProgramTrace {
    let program = RunHostId(1024);
    ProgramTrace { chip_id: 0, program, trace: None, op_name: String::new(), objects }
}

fn trace_of<const N: usize>(events: [Event; N]) -> ProgramTrace {
    trace(events.map(Event::object).into())
}

fn assert_near(figure: Option<f64>, expected: f64) {
    let figure = figure.unwrap();
    assert!((figure - expected).abs() < 0.000_1, "expected {expected}, found {figure}");
}

#[test]
fn one_transfer_uses_three_links_as_long_as_it_lasts() {
    // The transfer starts after 40 cycles, plus 10 for each of three links, at cycle 70. From then
    // on it moves 28.1 bytes per cycle: 730 bytes until cycle 96, 899 in each of two steps, and the
    // last 282 within 11 cycles from cycle 160 on.
    let trace = trace_of([Event::write((1, 1), (4, 1), 2_810), Event::end(1_020)]);
    let workload = Workload::from_trace(&trace, &wormhole());
    let Outcome { end_cycle, .. } = simulate(&workload, &wormhole(), true).unwrap();
    assert_eq!(end_cycle, Some(171));
    // The mean is over 480 links with 30 bytes per cycle each, and over seven steps: the six until
    // cycle 192, and one more.
    let asked = 3.0 * 28.1 * (26.0 / 32.0 + 3.0);
    let figures = NocFigures::from_trace(&trace, &wormhole());
    assert_near(figures.link_percent, 100.0 * asked / 30.0 / 480.0 / 7.0);
    assert_near(figures.multicast_link_percent, 0.0);
    assert_near(figures.congestion_percent, 0.0);
    assert_eq!(figures.dram_controller_percent, Some(BTreeMap::new()));
}

#[test]
fn two_transfers_share_a_link() {
    // Both transfers start at cycle 60 and move 112 bytes until cycle 64. The link from column 2 to
    // 3 then gives each transfer 15 of its 28.1 bytes per cycle: 470 bytes take 32 cycles instead
    // of 17.
    let writes = [(1, (3, 1)), (2, (4, 1))];
    let [first, second] = writes.map(|(x, to)| Event::write((x, 1), to, 582));
    let trace = trace_of([first, second, Event::end(1_020)]);
    let workload = Workload::from_trace(&trace, &wormhole());
    let ends = [true, false]
        .map(|is_congested| simulate(&workload, &wormhole(), is_congested).unwrap().end_cycle);
    assert_eq!(ends, [Some(96), Some(81)]);
    let figures = NocFigures::from_trace(&trace, &wormhole());
    assert_near(figures.congestion_percent, 100.0 * 15.0 / 96.0);
    // One of the three links can carry only 30 bytes per cycle.
    let [first, second] = [4.0 * 28.1 * 4.0 / 32.0, 2.0 * 28.1 + 30.0];
    assert_near(figures.link_percent, 100.0 * (first + second) / 30.0 / 480.0 / 4.0);
}

#[test]
fn the_third_transfer_by_a_link_waits_for_the_first() {
    let write = || Event::write((1, 1), (2, 1), 281);
    let trace = trace_of([write(), write(), write(), Event::end(1_020)]);
    let workload = Workload::from_trace(&trace, &wormhole());
    let waits: Vec<_> =
        workload.flows.iter().map(|flow| (flow.waits, flow.waited_for_by)).collect();
    assert_eq!(waits, [(false, Some(2)), (false, None), (true, None)]);
    let south = Event { target: (1, 2), ..write() };
    let trace = trace_of([write(), south, write(), Event::end(1_020)]);
    let workload = Workload::from_trace(&trace, &wormhole());
    assert!(workload.flows.iter().all(|flow| !flow.waits), "two by one link");
}

#[test]
fn a_transfer_that_waited_makes_up_for_the_rest_of_the_step() {
    // Two transfers last from cycle 50 to 60, and then the third begins. It could move 1,011 bytes
    // until cycle 96, so it needs no further step.
    let write = |bytes| Event::write((1, 1), (2, 1), bytes);
    let trace = trace_of([write(281), write(281), write(1_000), Event::end(1_020)]);
    let workload = Workload::from_trace(&trace, &wormhole());
    assert_eq!(simulate(&workload, &wormhole(), true).unwrap().end_cycle, Some(100));
    let asked = 2.0 * 28.1 * 14.0 / 32.0 + 28.1;
    let figures = NocFigures::from_trace(&trace, &wormhole());
    assert_near(figures.link_percent, 100.0 * asked / 30.0 / 480.0 / 5.0);
}

#[test]
fn a_controller_moves_bytes_of_all_its_tiles() {
    // A controller can move 23,600 bytes in 1,000 cycles.
    let (read, write) = (Event::read((1, 1), (0, 0), 2_360), Event::write((1, 1), (0, 11), 1_180));
    let ethernet = Event::write((1, 1), (9, 6), 1_250);
    let trace = trace_of([read, write, ethernet, Event::end(1_020)]);
    let figures = NocFigures::from_trace(&trace, &wormhole());
    assert_near(figures.dram_controller_percent.unwrap().get(&0).copied(), 15.0);
    assert_near(figures.dram_percent, 15.0 / 6.0);
    // An Ethernet link can send 12,500 bytes.
    let ethernet = figures.ethernet_percent.unwrap();
    assert_near(ethernet.get(&Noc0Coord { x: 9, y: 6 }).copied(), 10.0);
    assert_eq!(ethernet.len(), 1);
}

#[test]
fn multicasts_are_a_part_of_the_links_use() {
    let multicast = TraceObject {
        event_type: Some("WRITE_MULTICAST".to_owned()),
        dx: None,
        dy: None,
        mcast_start_x: Some(2),
        mcast_start_y: Some(2),
        mcast_end_x: Some(3),
        mcast_end_y: Some(3),
        ..Event::write((1, 1), (0, 0), 281).object()
    };
    let alone = trace(vec![multicast.clone(), Event::end(1_020).object()]);
    let figures = NocFigures::from_trace(&alone, &wormhole());
    // The multicast starts after 40 cycles and 10 for each of the 8 and 10 links to the last tile
    // of the grid, at cycle 220. It moves 112 bytes in 4 cycles, and the other 169 until cycle 231:
    // nine steps.
    let asked = 6.0 * 28.1 * (4.0 / 32.0 + 1.0);
    assert_near(figures.link_percent, 100.0 * asked / 30.0 / 480.0 / 9.0);
    assert_eq!(figures.multicast_link_percent, figures.link_percent);
    let write = Event::write((8, 8), (9, 8), 281).object();
    let both = trace(vec![multicast.clone(), write, Event::end(1_020).object()]);
    let both = NocFigures::from_trace(&both, &wormhole());
    assert_eq!(both.multicast_link_percent, figures.link_percent);
    assert!(both.link_percent > figures.link_percent);
    let wrapped = TraceObject { mcast_start_x: Some(8), ..multicast };
    let wrapped = NocFigures::from_trace(&trace(vec![wrapped]), &wormhole());
    assert_eq!(
        (wrapped.gaps.as_slice(), wrapped.link_percent),
        (&[NocGap::AroundEdge(1)][..], None)
    );
}

#[test]
fn figures_are_empty_where_something_is_unknown() {
    let gaps_of = |objects: Vec<TraceObject>| {
        let figures = NocFigures::from_trace(&trace(objects), &wormhole());
        assert_eq!((figures.link_percent, figures.dram_percent), (None, None));
        figures.gaps
    };
    let known = || Event::write((1, 1), (4, 1), 64).object();
    let unplaced = TraceObject { dx: Some(-1), ..known() };
    let end = || Event::end(1_020).object();
    assert_eq!(gaps_of(vec![known(), unplaced, end()]), [NocGap::UnknownWay(1)]);
    let unsized_write =
        TraceObject { event_type: Some("WRITE_WITH_STATE".to_owned()), num_bytes: None, ..known() };
    assert_eq!(gaps_of(vec![known(), unsized_write, end()]), [NocGap::UnknownSize(1)]);
    let packet = TraceObject { event_type: Some("FABRIC_UNICAST_WRITE".to_owned()), ..known() };
    assert_eq!(gaps_of(vec![packet, end()]), [NocGap::Fabric(1)]);
    assert_eq!(gaps_of(vec![known()]), [NocGap::NoTime]);
}

#[test]
fn a_board_with_an_unknown_number_of_controllers_has_no_sum_of_them() {
    let trace = trace_of([Event::read((1, 2), (0, 0), 4_000), Event::end(1_020)]);
    let chip = NocChip::from_arch("blackhole").unwrap();
    let figures = NocFigures::from_trace(&trace, &chip);
    assert_eq!((figures.dram_percent, figures.gaps), (None, vec![NocGap::UnknownBoard]));
    assert_near(figures.dram_controller_percent.unwrap().get(&0).copied(), 10.0);
    assert!(figures.link_percent.is_some());
    let figures = NocFigures::from_trace(&trace, &chip.with_board("P100"));
    assert_near(figures.dram_percent, 10.0 / 7.0);
}

#[test]
fn a_transfer_without_end_is_given_up() {
    let trace = trace_of([Event::write((1, 1), (4, 1), 1 << 60), Event::end(1_020)]);
    let figures = NocFigures::from_trace(&trace, &wormhole());
    assert_eq!((figures.link_percent, figures.gaps), (None, vec![NocGap::TooLong]));
}
