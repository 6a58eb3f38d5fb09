//! Tests with figures computed by hand.

use super::*;
use crate::{Report, ZoneStatistics};
use recording::device_log::read_device_log;

/// Builds a log of one BRISC. Each line consists of a time, a zone or `-`, and a type.
fn readout(lines: &[(u64, &str, &str)]) -> Readout {
    let mut log = String::from(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
         run host ID,zone name,type\n",
    );
    for (time, zone, kind) in lines {
        let id = NAMES.iter().position(|name| name == zone).unwrap_or_else(|| zone.len() + 100);
        log += &format!("0,1,2,BRISC,{id},{time},0,1024,{zone},{kind}\n");
    }
    read_device_log(log.as_bytes(), "a test").unwrap()
}

const START: &str = "ZONE_START";
const END: &str = "ZONE_END";

fn calibration() -> Readout {
    readout(&[
        (100, EMPTY, START),
        (114, EMPTY, END),
        (200, EMPTY, START),
        (215, EMPTY, END),
        (300, EMPTY, START),
        (370, EMPTY, END),
        (400, NESTED, START),
        (408, "INNER", START),
        (423, "INNER", END),
        (444, NESTED, END),
        (500, DATA, START),
        (535, DATA, END),
        (600, WIDE_DATA, START),
        (640, WIDE_DATA, END),
        (700, EVENT, START),
        (723, EVENT, END),
    ])
}

/// An empty zone lasts 15 cycles and adds 29 to the zone around it. Data adds 20, wide data 25, an
/// event 8.
const COST: ProbeCost = ProbeCost {
    empty_zone_cycles: 15,
    nested_zone_cycles: 29,
    data_cycles: 20,
    wide_data_cycles: 25,
    event_cycles: 8,
};

fn costs() -> ProbeCosts {
    let mut costs = ProbeCosts::default();
    costs.insert(0, Risc::Brisc, COST);
    costs
}

#[test]
fn figures_are_medians_over_an_empty_zone() {
    let readout = calibration();
    let measured = measure_probe_costs(&readout, &Timeline::from_readout(&readout));
    assert_eq!(measured, Ok(costs()));
}

#[test]
fn without_a_calibration_kernel_there_are_no_figures() {
    let readout = readout(&[(100, EMPTY, START), (114, EMPTY, END)]);
    let error = measure_probe_costs(&readout, &Timeline::from_readout(&readout)).unwrap_err();
    assert_eq!(error, NotCalibrated { lane_count: 1 });
}

/// Builds an outer zone of 1000 cycles. It contains a middle zone of 300 cycles, data, and an inner
/// zone of 10 cycles, which is less than the cost of a zone.
///
/// The middle zone contains an inner zone of 100 cycles with an event.
fn nested() -> Readout {
    readout(&[
        (1000, "OUTER", START),
        (1100, "MIDDLE", START),
        (1150, "INNER", START),
        (1160, "", "TS_EVENT"),
        (1250, "INNER", END),
        (1400, "MIDDLE", END),
        (1500, "", "TS_DATA"),
        (1600, "INNER", START),
        (1610, "INNER", END),
        (2000, "OUTER", END),
    ])
}

#[test]
fn a_zone_loses_its_own_cost_and_that_of_everything_within() {
    let readout = nested();
    let (shortened, result) =
        subtract_probe_costs(&costs(), &readout, &Timeline::from_readout(&readout));
    let zones = &shortened.devices[0].lanes[0].zones;
    let durations: Vec<u64> = zones.iter().map(|zone| zone.duration_cycles()).collect();
    let expected = [
        1000 - 15 - 3 * 29 - 8 - 20, // outer: three zones, an event and data within
        300 - 15 - 29 - 8,           // middle: one zone and an event
        100 - 15 - 8,                // inner: an event
        0,                           // 10 are less than 15
    ];
    assert_eq!(durations, expected);
    assert_eq!((result.shorter_than_cost_count, result.uncalibrated_zone_count), (1, 0));
    assert_eq!(result.costs, [ProbeCostRow { chip_id: 0, risc: Risc::Brisc, cost: COST }]);
    assert_eq!(zones.starts, [1000, 1100, 1150, 1600]);
}

#[test]
fn reports_use_shortened_zones_and_say_by_what() {
    let readout = nested();
    let plain = Report::new(&readout);
    let report = Report::without_probe_cost(&readout, &costs());
    assert_eq!(total_and_self_cycles(&plain, "OUTER"), (1000, 1000 - 300 - 10));
    assert_eq!(total_and_self_cycles(&report, "OUTER"), (870, 870 - 248));
    assert_eq!(total_and_self_cycles(&report, "MIDDLE"), (248, 248 - 77));
    let stated = report.probe_cost.unwrap();
    assert_eq!(stated.costs[0].cost, COST);
    assert_eq!(stated.shorter_than_cost_count, 1);
    assert_eq!((plain.probe_cost, plain.ops), (None, report.ops));
}

fn total_and_self_cycles(report: &Report, name: &str) -> (u64, u64) {
    let zone: &ZoneStatistics = report.zones.iter().find(|zone| zone.name == name).unwrap();
    (zone.cycles.total_cycles, zone.self_total_cycles)
}

#[test]
fn riscs_without_figures_are_left_as_they_are_and_counted() {
    let readout = nested();
    let timeline = Timeline::from_readout(&readout);
    let mut others = ProbeCosts::default();
    others.insert(0, Risc::Ncrisc, COST);
    others.insert(1, Risc::Brisc, COST);
    let (shortened, result) = subtract_probe_costs(&others, &readout, &timeline);
    assert_eq!(shortened, timeline);
    assert_eq!(result.uncalibrated_zone_count, 4);
}

#[test]
fn a_zone_without_end_keeps_the_end_that_was_made_up() {
    let readout = readout(&[(100, "OUTER", START), (110, "OPEN", START), (500, "OUTER", END)]);
    let (shortened, _) =
        subtract_probe_costs(&costs(), &readout, &Timeline::from_readout(&readout));
    let zones = &shortened.devices[0].lanes[0].zones;
    assert_eq!(zones.ends, [500 - 15 - 29, 500]);
}

#[test]
fn the_zones_of_a_calibration_kernel_come_out_empty() {
    let readout = calibration();
    let timeline = Timeline::from_readout(&readout);
    let costs = measure_probe_costs(&readout, &timeline).unwrap();
    let report = Report::without_probe_cost(&readout, &costs);
    let medians: Vec<u64> = report.zones.iter().map(|zone| zone.cycles.median_cycles).collect();
    assert!(medians.len() == 6, "{medians:?}");
    // In the log, the zones for data and events have no record of the data and events inside them.
    // So the cost of these records is not subtracted.
    let left: u64 = medians.iter().sum();
    assert_eq!(left, 20 + 25 + 8);
}
