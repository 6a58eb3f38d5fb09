//! Tests of the page's content, with logs of known cycles and with arbitrary logs.

use super::packed::reading::Reading;
use crate::{
    ExportFormat, Trace, TraceZone,
    tests::{any_lane, exported, exported_with_host, host_recording, readout, readout_of},
};
use captures::read_capture;
use host_events::{BufferPool, OpMetadata};
use proptest::prelude::*;
use recording::{Recording, TraceFilter, device_log::read_device_log};
use reports::report::{BufferPeaks, OpPeaks, PoolPeak};
use serde_json::{Value, json};
use wire::{Risc, RunHostId};

/// Returns the text of the element that begins with `tag`.
fn element<'p>(page: &'p str, tag: &str) -> &'p str {
    let start = page.find(tag).unwrap_or_else(|| panic!("no {tag}")) + tag.len();
    page[start..].split("</script>").next().unwrap()
}

fn facts(page: &str) -> Value {
    serde_json::from_str(element(page, "<script type=\"application/json\" id=\"facts\">")).unwrap()
}

fn block(page: &str, id: &str) -> Reading {
    Reading::of_base64(element(page, &format!("<script type=\"text/plain\" id=\"{id}\">")))
}

/// One lane, read like the page's script reads it.
struct ReadLane {
    names: Vec<u64>,
    starts: Vec<u64>,
    durations: Vec<u64>,
    depths: Vec<u64>,
    runs: Vec<i64>,
    synthetic: Vec<u64>,
    clipped: Vec<(u64, u64)>,
    run_ops: Vec<u64>,
    point_kinds: Vec<u64>,
    point_times: Vec<u64>,
    point_values: Vec<Vec<u64>>,
    texts: Vec<(u64, String)>,
}

fn read_lane(reading: &mut Reading) -> ReadLane {
    let [zones, points, runs] = [(); 3].map(|()| usize::try_from(reading.number()).unwrap());
    let names = reading.numbers(zones);
    let starts = reading.rising(0, zones);
    let durations = reading.numbers(zones);
    let depths = reading.numbers(zones);
    let mut run = 0;
    let run_numbers = (0..zones)
        .map(|_| {
            run += reading.signed();
            run - 1
        })
        .collect();
    let synthetic = listed_indices(reading);
    let clipped = listed_indices(reading);
    let recorded = reading.numbers(clipped.len());
    let run_ops = reading.numbers(runs);
    let point_kinds = reading.numbers(points);
    let _point_names = reading.numbers(points);
    let point_times = reading.rising(0, points);
    let point_values =
        (0..points).map(|_| (0..reading.number()).map(|_| reading.exact()).collect()).collect();
    let text_points = listed_indices(reading);
    ReadLane {
        names,
        starts,
        durations,
        depths,
        runs: run_numbers,
        synthetic,
        clipped: clipped.into_iter().zip(recorded).collect(),
        run_ops,
        point_kinds,
        point_times,
        point_values,
        texts: text_points.into_iter().map(|point| (point, reading.text())).collect(),
    }
}

fn listed_indices(reading: &mut Reading) -> Vec<u64> {
    let count = usize::try_from(reading.number()).unwrap();
    reading.rising(0, count)
}

#[test]
fn a_page_carries_every_zone_and_value_of_a_log() {
    let page = exported(&readout(), ExportFormat::HTML);
    let mut reading = block(&page, "core-0-0");
    let lane = read_lane(&mut reading);
    assert!(reading.is_at_end());
    let names = &facts(&page)["names"];
    let labels: Vec<_> =
        lane.names.iter().map(|&name| &names["label"][usize::try_from(name).unwrap()]).collect();
    assert_eq!(labels, ["BRISC-KERNEL", "Load;x", "Load;x"]);
    assert_eq!((lane.starts, lane.durations), (vec![0, 9, 49], vec![100, 30, 51]));
    assert_eq!((lane.depths, lane.runs), (vec![0, 1, 1], vec![0, 0, 0]));
    assert_eq!((lane.synthetic, lane.clipped), (vec![2], vec![]));
    assert_eq!(lane.run_ops, [1]);
    assert_eq!((lane.point_kinds, lane.point_times), (vec![1], vec![44]));
    assert_eq!((lane.point_values, lane.texts), (vec![vec![77]], vec![]));
}

#[test]
fn a_page_carries_the_threads_and_plots_of_the_host() {
    let page = exported_with_host(&readout(), &[host_recording()], ExportFormat::HTML);
    let facts = facts(&page);
    // The labels follow the three names of the log, in order.
    let labels = facts["names"]["label"].as_array().unwrap();
    assert_eq!(labels[3..], ["message", "Enqueue", "Run;all", "token"]);
    assert_eq!(facts["names"]["marker_id"][3], Value::Null);
    let host = &facts["host"];
    assert_eq!(
        host["threads"],
        json!({ "label": ["main 7.1"], "zones": [2], "points": [2], "levels": [2] })
    );
    assert_eq!(
        host["zones"],
        json!({ "name": [4, 5], "count": [1, 1], "total_ns": [300, 1000], "self_ns": [300, 700] })
    );
    let plot = json!({ "name": "queued", "points": 2, "least": -2.5, "most": 1.5 });
    assert_eq!((&host["plots"], &host["origin_ns"]), (&json!([plot]), &json!("1000")));
    assert_eq!(host["is_on_clock_of_chips"], json!(false));

    let mut reading = block(&page, "host-0");
    let thread = read_lane(&mut reading);
    assert_eq!((reading.number(), reading.number(), reading.text()), (1, 1, "id:1024".to_owned()));
    // Number of colours, index, and colour: first of the points, then of the zones. Zones are
    // ordered by start.
    assert_eq!([(); 3].map(|()| reading.number()), [1, 0, 0xFF_8000]);
    assert_eq!([(); 3].map(|()| reading.number()), [1, 1, 0x00_00AB]);
    assert!(reading.is_at_end());
    assert_eq!((thread.names, thread.starts), (vec![5, 4], vec![0, 200]));
    assert_eq!((thread.durations, thread.depths), (vec![1000, 300], vec![0, 1]));
    assert_eq!((thread.point_kinds, thread.point_times), (vec![3, 5], vec![300, 1000]));
    assert_eq!(thread.texts, [(0, "hello".to_owned())]);

    let mut plot = block(&page, "plot-0");
    assert_eq!(plot.rising(0, 2), [0, 500]);
    assert_eq!([plot.exact(), plot.exact()].map(f64::from_bits), [1.5, -2.5]);
    assert!(plot.is_at_end());
}

#[test]
fn a_page_without_a_host_has_none() {
    let page = exported(&readout(), ExportFormat::HTML);
    assert_eq!(facts(&page)["host"], Value::Null);
    assert!(!page.contains("id=\"host-0\""));
}

#[test]
fn the_facts_say_what_the_log_says() {
    let facts = facts(&exported(&readout(), ExportFormat::HTML));
    assert_eq!(
        (&facts["span_ns"], &facts["zone_count"], &facts["point_count"]),
        (&json!(200), &json!(3), &json!(1))
    );
    let device = &facts["devices"][0];
    assert_eq!(device["cores"], json!([[1, 2]]));
    assert_eq!(
        (&device["first_cycle"], &device["knots"]),
        (&json!("1001"), &json!([[0, 0], [100, 200]]))
    );
    let lanes = json!({ "core": [0], "risc": [0], "zones": [3], "points": [1], "levels": [2] });
    assert_eq!(device["lanes"], lanes);
    let ops = &facts["ops"];
    assert_eq!(
        (&ops["program"], &ops["kernel_cycles"], &ops["lost_records"]),
        (&json!([1]), &json!([100]), &json!([25]))
    );
    assert_eq!((&ops["start_ns"], &ops["end_ns"]), (&json!([0]), &json!([200])));
    let zones = &facts["zones"];
    // Names are numbered in the order of the marker ids.
    assert_eq!((&zones["count"], &zones["open_count"]), (&json!([1, 1]), &json!([0, 1])));
    assert_eq!(
        (&zones["total_cycles"], &zones["self_cycles"], &zones["longest"]),
        (&json!([100, 30]), &json!([19, 30]), &json!([[0, 0, 0], [0, 0, 1]]))
    );
    assert_eq!(facts["cores"][0]["kernel_cycles"], json!([100]));
    assert_eq!(facts["cores"][0]["lost_records"], json!([25]));
    let losses = &facts["losses"];
    assert_eq!(
        (&losses["cause"], &losses["zones"], &losses["lane"]),
        (&json!(["L1 full"]), &json!([25]), &json!([[0, 0]]))
    );
    assert_eq!(facts["anomalies"]["kinds"], json!([["start without end", 1, false]]));
}

#[test]
fn an_ops_cells_hold_each_cores_kernels_and_what_the_host_knew() {
    let readout = readout();
    let ops = vec![OpMetadata {
        chip_id: 0,
        run_host_id: RunHostId(1024),
        fields: [(OpMetadata::NAME.to_owned(), "Mat\"mul".to_owned())].into(),
    }];
    let recording = Recording { ops, ..Recording::from_readout(readout) };
    let trace = Trace::new(&recording, &TraceFilter::default());
    let mut page = Vec::new();
    ExportFormat::HTML.write(&trace, &mut page, &mut |_| {}).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert_eq!(facts(&page)["ops"]["name"], json!(["Mat\"mul"]));
    let mut cells = block(&page, "ops-0-0");
    // One core, with index 0. Only its BRISC ran a kernel, which starts at the op's start.
    assert_eq!(cells.numbers(3), [1, 0, 0b1]);
    assert_eq!(cells.signed(), 0);
    assert_eq!(cells.numbers(2), [0, 100]);
    assert_eq!(cells.number(), 1);
    assert_eq!((cells.text(), cells.text()), (OpMetadata::NAME.to_owned(), "Mat\"mul".to_owned()));
    let labels = facts(&page)["names"]["label"].as_array().unwrap().clone();
    let name = |label: &str| labels.iter().position(|other| other == label).unwrap() as u64;
    // RISC, count, open zones, total cycles, self cycles, cycles of the longest zone, 51 unknown
    // cycles of the open zone, plus one, and the indices of the longest zone.
    let kernel = [name("BRISC-KERNEL"), 0, 1, 0, 100, 100 - 30 - 51, 100, 1, 0, 0];
    let load = [name("Load;x"), 0, 1, 1, 30, 30, 30, 52, 0, 1];
    assert_eq!(cells.number(), 2);
    let mut rows = [cells.numbers(10), cells.numbers(10)];
    rows.sort_by_key(|row| row[0] == name("Load;x"));
    assert_eq!(rows, [kernel.to_vec(), load.to_vec()]);
    assert!(cells.is_at_end());
}

#[test]
fn a_page_has_the_peaks_of_buffers_by_memory_and_by_op() {
    let recording =
        Recording { host: vec![host_recording()], ..Recording::from_readout(readout()) };
    let mut trace = Trace::new(&recording, &TraceFilter::default());
    assert_eq!(trace.buffers, BufferPeaks::default());
    let [l1, dram] = ["L1", "DRAM"].map(|kind| BufferPool { device_id: 0, kind });
    let pool = |pool, peak_bytes, peak_host_ns| PoolPeak {
        pool,
        peak_bytes,
        peak_host_ns,
        last_bytes: 5,
        change_count: 3,
    };
    let op = |run_host_id, name: Option<&str>, peaks| OpPeaks {
        device_id: 0,
        run_host_id,
        name: name.map(Into::into),
        peaks,
    };
    trace.buffers = BufferPeaks {
        pools: vec![pool(dram, 700, 1_250), pool(l1, 90, 999)],
        // Program 1 is in the log. Program 2 is not in the log, so no chip recorded this program.
        ops: vec![
            op(1024, None, vec![(l1, 80), (dram, 600)]),
            op(2048, Some("</script>"), vec![(dram, 700)]),
        ],
    };
    let mut page = Vec::new();
    ExportFormat::HTML.write(&trace, &mut page, &mut |_| {}).unwrap();
    let buffers = facts(&String::from_utf8(page).unwrap())["buffers"].clone();
    // The origin is at 1000 ns.
    let memories = json!({
        "chip_id": [0, 0], "kind": ["DRAM", "L1"], "peak": [700, 90], "peak_ns": [250, null],
        "last": [5, 5], "changes": [3, 3], "plot": [null, null],
    });
    let ops = json!({
        "kinds": ["DRAM", "L1"], "chip_id": [0, 0], "op": [0, null],
        "name": [null, "</script>"], "program": [1, 2], "peaks": [[600, 80], [700, null]],
    });
    assert_eq!(buffers, json!({ "memories": memories, "ops": ops }));
}

#[test]
fn a_page_names_the_sub_device_of_an_op() {
    let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
0,1,2,BRISC,7,100,0,1024,,,BRISC-KERNEL,ZONE_START,1,/k.cpp,{\"sub_device_id\":3;\"sub_device_manager_id\":1}
0,1,2,BRISC,7,160,0,1024,,,BRISC-KERNEL,ZONE_END,1,/k.cpp,{\"sub_device_id\":3;\"sub_device_manager_id\":1}
0,1,2,BRISC,7,200,0,2048,,,BRISC-KERNEL,ZONE_START,1,/k.cpp,
0,1,2,BRISC,7,260,0,2048,,,BRISC-KERNEL,ZONE_END,1,/k.cpp,
";
    let page = exported(&read_device_log(log.as_bytes(), "test").unwrap(), ExportFormat::HTML);
    assert_eq!(facts(&page)["ops"]["sub_device_id"], json!([3, null]));
}

#[test]
fn names_of_a_log_cannot_leave_their_block() {
    let hostile = "</script><img src=x onerror=alert(1)><!--";
    let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
0,1,2,BRISC,8,110,0,1024,HOSTILE,ZONE_START
0,1,2,BRISC,8,150,0,1024,HOSTILE,ZONE_END
0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
";
    let readout = read_device_log(log.replace("HOSTILE", hostile).as_bytes(), "test").unwrap();
    let recording = Recording::from_readout(readout);
    let mut trace = Trace::new(&recording, &TraceFilter::default());
    trace.title = hostile.to_owned();
    let mut page = Vec::new();
    ExportFormat::HTML.write(&trace, &mut page, &mut |_| {}).unwrap();
    let page = String::from_utf8(page).unwrap();
    let plain = exported(&read_device_log(log.as_bytes(), "test").unwrap(), ExportFormat::HTML);
    for mark in ["<img", "<!--", "<script", "</script"] {
        assert_eq!(page.matches(mark).count(), plain.matches(mark).count(), "{mark}");
    }
    let facts = facts(&page);
    assert_eq!((&facts["names"]["label"][1], &facts["title"]), (&json!(hostile), &json!(hostile)));
}

#[test]
fn real_captures_keep_every_zone_and_value() {
    let page = exported(&read_capture("wormhole-counters-elw"), ExportFormat::HTML);
    let facts = facts(&page);
    // 79 lines: 59 counters, and a start and an end for each of 10 zones.
    assert_eq!((&facts["zone_count"], &facts["point_count"]), (&json!(10), &json!(59)));
    let (mut zones, mut points, mut texts) = (0, 0, 0);
    for (core, _) in facts["devices"][0]["cores"].as_array().unwrap().iter().enumerate() {
        let mut reading = block(&page, &format!("core-0-{core}"));
        while !reading.is_at_end() {
            let lane = read_lane(&mut reading);
            zones += lane.names.len();
            points += lane.point_kinds.len();
            texts += lane
                .texts
                .iter()
                .filter(|(_, text)| text.contains("CFG_INSTRN_AVAILABLE_0"))
                .count();
        }
    }
    assert_eq!((zones, points), (10, 59));
    assert!(texts > 0);
    let metrics = &facts["counters"]["metrics"];
    let labels = metrics["label"].as_array().unwrap();
    let at = labels.iter().position(|label| label == "Any-Thread Stall Rate").unwrap();
    assert_eq!(metrics["values"][at][3], json!(667.0 / 4317.0 * 100.0));
    assert_eq!(metrics["limits"][at], json!([0, 1]));
    assert_eq!(facts["counters"]["counters"]["name"].as_array().unwrap().len(), 59);
    assert_eq!(facts["counters"]["problems"], json!([]));
}

#[test]
fn a_page_shows_the_traffic_of_a_real_log() {
    let page = exported(&read_capture("wormhole-noc-256"), ExportFormat::HTML);
    let noc = &facts(&page)["noc"];
    let rows = |key: &str| noc[key].as_array().unwrap();
    // 50 events of one core: 24 reads and 24 writes of 256 bytes.
    let sum =
        |key: &str| -> u64 { rows("activities").iter().filter_map(|row| row[key].as_u64()).sum() };
    assert_eq!(sum("events"), 50);
    let pair_sum =
        |key: &str| -> u64 { rows("pairs").iter().filter_map(|row| row[key].as_u64()).sum() };
    assert_eq!((pair_sum("bytes"), sum("bytes")), (pair_sum("transfers") * 256, pair_sum("bytes")));
    assert_eq!(noc["grids"], json!([[0, 10, 12]]));
    assert!(!rows("links").is_empty());
    assert!(rows("links").iter().all(|row| row["tile"][0].as_u64().unwrap() < 10));
    assert_eq!(facts(&exported(&readout(), ExportFormat::HTML))["noc"]["activities"], json!([]));
}

proptest! {
    #[test]
    fn any_lanes_are_read_back_as_they_are_in_the_trace(
        lanes in (any_lane(Risc::Brisc), any_lane(Risc::Ncrisc)),
    ) {
        let readout = readout_of(vec![lanes.0, lanes.1]);
        let recording = Recording::from_readout(readout.clone());
        let trace = Trace::new(&recording, &TraceFilter::default());
        let page = exported(&readout, ExportFormat::HTML);
        let device = &trace.devices[0];
        let mut reading = block(&page, "core-0-0");
        for lane in &device.lanes {
            let read = read_lane(&mut reading);
            prop_assert_eq!(read.names.len(), lane.zones.len());
            for (index, zone) in lane.zones.iter().enumerate() {
                let TraceZone { name, start_cycle, end_cycle, depth, run, .. } = *zone;
                prop_assert_eq!(read.names[index], u64::from(name.0));
                prop_assert_eq!(read.starts[index] + device.clock.first_cycle(), start_cycle);
                prop_assert_eq!(read.durations[index], end_cycle - start_cycle);
                prop_assert_eq!(read.depths[index], u64::from(depth));
                prop_assert_eq!(read.runs[index], run.map_or(-1, i64::from));
                prop_assert_eq!(read.synthetic.contains(&(index as u64)), zone.has_synthetic_end);
                let recorded = read.clipped.iter().find(|(clipped, _)| *clipped == index as u64);
                let expected = zone.is_clipped.then_some(&zone.duration_cycles);
                prop_assert_eq!(recorded.map(|(_, cycles)| cycles), expected);
            }
            let values: Vec<_> = lane.points.iter().map(|point| point.values.to_vec()).collect();
            prop_assert_eq!(read.point_values, values);
        }
        prop_assert!(reading.is_at_end());
        let zones = &facts(&page)["zones"];
        let sum = |key: &str| zones[key].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
        prop_assert_eq!(sum("count") + sum("open_count"), trace.zone_count() as u64);
        for bars in zones["bars"].as_array().unwrap().iter().zip(zones["count"].as_array().unwrap()) {
            let shown: u64 = bars.0.as_array().unwrap().iter().map(|bar| bar.as_u64().unwrap()).sum();
            prop_assert_eq!(shown, bars.1.as_u64().unwrap());
        }
    }
}
