//! Tests of host events next to chip events: in the file, received by viewers of every version, and
//! received by the capture tool.

use super::{
    file::written,
    items::Version,
    live::{capture_tool, captured},
    reader::TracyFile,
    recorded::{Expected, Recorded},
    versions::shown,
};
use host_reader::{
    clock::{PingBurst, Tile, TwoWayPing},
    export::tracy::{TracyOptions, write_tracy_file},
    host::{HostColor, HostEvent, HostEventKind, HostRecording, HostSource, HostThread},
    sync::{MeshClock, MeshSamples},
};

/// Host time at cycle 0 of the chips' counters; one cycle is one nanosecond.
const CHIP_START_NS: u64 = 7_000_000_000;
/// Start of the first iteration; the first record of [`Recorded::cores`] is at cycle 5,900.
const FIRST_NS: u64 = CHIP_START_NS + 5_000;
const ITERATION_COUNT: u64 = 50;
const PROCESS: u32 = 77;

const ITERATION: u32 = 0;
const ENQUEUE: u32 = 1;
const WRITE: u32 = 2;
const NOTE: u32 = 3;
const SIGNPOST: u32 = 4;
const TOKEN: u32 = 5;
const QUEUED: u32 = 6;

fn sources() -> Vec<HostSource> {
    vec![
        HostSource::new("Iteration", "demo::main", "demo/main.rs", 10),
        HostSource::new("Enqueue", "demo::queue", "demo/queue.rs", 20),
        HostSource::new("Write", "demo::queue", "demo/queue.rs", 30),
        HostSource::new("", "demo::main", "demo/main.rs", 40),
        HostSource::from_name("warm-up done"),
        HostSource::new("token", "demo::main", "demo/main.rs", 50),
        HostSource::new("queued bytes", "demo::queue", "demo/queue.rs", 60),
    ]
}

fn event(source: u32, time_ns: u64, kind: HostEventKind, text: Option<&str>) -> HostEvent {
    HostEvent { source, time_ns, kind, text: text.map(Into::into), color: None }
}

fn zone(source: u32, [start_ns, end_ns]: [u64; 2], depth: u16, text: Option<&str>) -> HostEvent {
    event(source, start_ns, HostEventKind::Zone { end_ns, depth }, text)
}

/// Returns iterations of a microsecond, each with a nested zone that contains another zone.
fn iterations(first_ns: u64) -> Vec<HostEvent> {
    let iteration = |number: u64| {
        let start = first_ns + number * 1_200;
        // Zones are recorded when they end.
        [
            zone(WRITE, [start + 150, start + 150 + number % 7], 2, None),
            event(QUEUED, start + 300, HostEventKind::Plot { value: number as f64 / 2.0 }, None),
            zone(ENQUEUE, [start + 100, start + 400], 1, Some("id:1024")),
            zone(ITERATION, [start, start + 1_000], 0, None),
            event(TOKEN, start + 1_000, HostEventKind::FrameMark, None),
        ]
    };
    (0..ITERATION_COUNT).flat_map(iteration).collect()
}

/// Returns the number of zones in [`iterations`] and their total duration.
fn expected_iterations() -> (usize, i64) {
    let writes: i64 = (0..50).map(|number| number % 7).sum();
    (150, 50 * (1_000 + 300) + writes)
}

fn recording() -> HostRecording {
    let mut main = iterations(FIRST_NS);
    main.push(event(NOTE, FIRST_NS + 70_000, HostEventKind::Message, Some("all is done")));
    main.push(HostEvent {
        color: HostColor::from_rgb(0xFF_8001),
        ..event(SIGNPOST, FIRST_NS + 50, HostEventKind::Signpost, None)
    });
    main.push(event(SIGNPOST, FIRST_NS + 60, HostEventKind::Signpost, Some("after 3 runs")));
    // Zones of one source with different colours: one in the first iteration, one in the last.
    for (index, rgb) in [(2, 0x00_0102), (247, 0xFE_DCBA)] {
        main[index].color = HostColor::from_rgb(rgb);
    }
    let thread = |number, name: &str, events| HostThread {
        number,
        name: name.to_owned(),
        events,
        ..HostThread::default()
    };
    let threads = vec![thread(1, "main", main), thread(2, "", iterations(FIRST_NS + 500))];
    HostRecording { process_id: PROCESS, sources: sources(), threads, ..HostRecording::default() }
}

/// Returns a clock that is exact to the nanosecond.
fn clock() -> MeshClock {
    let mut samples = MeshSamples::default();
    let ping = |device_cycles: u64| {
        let host_ns = i64::try_from(CHIP_START_NS + device_cycles).unwrap();
        TwoWayPing { host_send_ns: host_ns, device_cycles, host_receive_ns: host_ns }
    };
    let pings = (0..50).map(|step| ping(step * 1_000_000)).collect();
    samples.add_burst(PingBurst { tile: Tile::new(0, 0, 0), pings });
    samples.fit()
}

/// Returns four cores, and a host with two threads, on one clock.
fn recorded() -> Recorded {
    let mut recorded = Recorded::cores(4, 3, 2);
    recorded.host.push(recording());
    recorded.clock = Some(clock());
    recorded
}

/// Returns the number of zones of each host thread, and their total duration.
fn host_threads(file: &TracyFile) -> Expected {
    let of_host = |thread: &&super::reader::Thread| {
        let name = &file.thread_names[&thread.id];
        !thread.zones.is_empty() && !name.starts_with("Device")
    };
    let sum = |thread: &super::reader::Thread| {
        let duration_ns = thread.zones.iter().map(|zone| zone.end_ns - zone.start_ns).sum();
        (file.thread_names[&thread.id].clone(), (thread.zones.len(), duration_ns))
    };
    file.threads.iter().filter(of_host).map(sum).collect()
}

fn thread<'f>(file: &'f TracyFile, name: &str) -> &'f super::reader::Thread {
    file.threads.iter().find(|thread| file.thread_names[&thread.id] == name).unwrap()
}

fn assert_host_shown_by(file: &TracyFile) {
    let names = ["main 77.1", "thread 77.2"].map(str::to_owned);
    assert_eq!(host_threads(file), names.map(|name| (name, expected_iterations())).into());
    let main = thread(file, "main 77.1");
    let texts: Vec<&str> = main.messages.iter().map(|message| message.text.as_str()).collect();
    let signposts = ["`TT_SIGNPOST: warm-up done`", "`TT_SIGNPOST: warm-up done\nafter 3 runs`"];
    assert_eq!(texts, [&signposts[..], &["all is done"]].concat());
    let times_ns: Vec<i64> = main.messages.iter().map(|message| message.time_ns).collect();
    assert_eq!(times_ns, [50, 60, 70_000]);
    // By default, a message is white and a signpost is green.
    let colors: Vec<u32> = main.messages.iter().map(|message| message.rgb).collect();
    assert_eq!(colors, [0xFF_8001, 0x00_CD66, 0xFF_FFFF]);
    let enqueues = main.zones.iter().filter(|zone| zone.place.name == "Enqueue");
    let colors: Vec<u32> = enqueues.map(|zone| zone.place.rgb).collect();
    assert_eq!((colors[0], colors[49]), (0x00_0102, 0xFE_DCBA));
    assert!(colors[1..49].iter().all(|&rgb| rgb == 0), "{colors:x?}");
    let (_, points) = file.plots.iter().find(|(name, _)| name == "queued bytes").unwrap();
    assert_eq!(points.len(), 100);
    assert_eq!(points[..3], [(300, 0.0), (800, 0.0), (1_500, 0.5)]);
    let [(name, ends_ns)] = &file.frames[..] else { panic!("{:?}", file.frames) };
    assert_eq!((name.as_str(), ends_ns.len()), ("token", 100));
    assert_eq!(ends_ns[..3], [1_000, 1_500, 2_200]);
}

#[test]
fn the_file_has_the_threads_of_the_host_on_the_clock_of_the_chips() {
    let recorded = recorded();
    let (file, notes) = written(&recorded);
    recorded.assert_shown_by(&file);
    assert_host_shown_by(&file);
    assert_eq!(notes.host_zones, 300);
    let main = thread(&file, "main 77.1");
    let shown: Vec<_> = main.zones[..4]
        .iter()
        .map(|zone| (zone.depth, zone.place.name.as_str(), zone.start_ns, zone.end_ns))
        .collect();
    let second = (0, "Iteration", 1_200, 2_200);
    assert_eq!(
        shown,
        [(0, "Iteration", 0, 1_000), (1, "Enqueue", 100, 400), (2, "Write", 150, 150), second]
    );
    let enqueue = &main.zones[1];
    assert_eq!((enqueue.text.as_str(), enqueue.name.as_str()), ("id:1024", ""));
    let place = &enqueue.place;
    assert_eq!((place.function.as_str(), place.file.as_str()), ("demo::queue", "demo/queue.rs"));
    assert_eq!((place.line, place.rgb), (20, 0x00_0102));
    // The host begins at the chip's cycle 5,000; the chip's first record is at cycle 5,900.
    let first = &file.contexts[0].lanes.values().next().unwrap()[0];
    assert_eq!(first.place.name, "BRISC-FW");
    assert!((first.start_ns - 900).abs() <= 1, "{} ns", first.start_ns);
}

#[test]
fn viewers_of_every_version_take_the_threads_of_the_host() {
    let recorded = recorded();
    for version in Version::all() {
        let (file, notes) = shown(&recorded, &version);
        recorded.assert_shown_by(&file);
        assert_host_shown_by(&file);
        assert_eq!(notes.host_zones, 300, "{version:?}");
        let enqueue = &thread(&file, "main 77.1").zones[1];
        assert_eq!((enqueue.depth, enqueue.text.as_str()), (1, "id:1024"));
    }
}

#[test]
fn a_capture_tool_takes_the_threads_of_the_host() {
    let Some(tool) = capture_tool() else { return };
    let recorded = recorded();
    let file = captured(&recorded, &tool);
    recorded.assert_shown_by(&file);
    assert_host_shown_by(&file);
    let write = &thread(&file, "thread 77.2").zones[2];
    assert_eq!((write.depth, write.place.name.as_str(), write.place.line), (2, "Write", 30));
}

#[test]
fn without_a_common_clock_the_host_begins_at_0_and_the_file_says_so() {
    let mut recorded = recorded();
    recorded.clock = None;
    let (file, _) = written(&recorded);
    assert_host_shown_by(&file);
    let remarks = &thread(&file, "Remarks on this trace").messages;
    let said = "host is not on clock of chips: 1";
    assert!(remarks.iter().any(|message| message.text == said), "{remarks:?}");
}

#[test]
fn a_host_that_recorded_nothing_leaves_no_byte() {
    let bytes = |recorded: &Recorded| {
        let mut file = Vec::new();
        recorded.with_trace(|trace| {
            write_tracy_file(trace, &TracyOptions::default(), &mut file).unwrap()
        });
        file
    };
    let alone = Recorded::cores(2, 2, 2);
    let mut with_host = Recorded::cores(2, 2, 2);
    with_host.host.push(HostRecording::default());
    assert_eq!(bytes(&alone), bytes(&with_host));
}

#[test]
fn zones_of_a_thread_that_do_not_nest_are_cut_and_say_so() {
    let mut recorded = Recorded::empty();
    let events = vec![zone(ITERATION, [0, 100], 0, Some("first")), zone(WRITE, [50, 130], 1, None)];
    let threads = vec![HostThread { number: 1, events, ..HostThread::default() }];
    recorded.host.push(HostRecording { sources: sources(), threads, ..HostRecording::default() });
    let (file, _) = written(&recorded);
    let zones = &thread(&file, "thread 0.1").zones;
    let ends: Vec<i64> = zones.iter().map(|zone| zone.end_ns).collect();
    assert_eq!(ends, [100, 100]);
    let texts: Vec<&str> = zones.iter().map(|zone| zone.text.as_str()).collect();
    assert_eq!(texts, ["first", "drawn shorter than recorded: 80 ns"]);
}

#[test]
fn points_of_plots_that_are_no_numbers_are_left_out_and_counted() {
    let mut recorded = recorded();
    let plot = |value| event(QUEUED, FIRST_NS, HostEventKind::Plot { value }, None);
    recorded.host[0].threads[1].events.extend([f64::NAN, f64::INFINITY].map(plot));
    let (file, notes) = written(&recorded);
    assert_host_shown_by(&file);
    assert_eq!(notes.undrawn_plot_points, 2);
    let remarks = &thread(&file, "Remarks on this trace").messages;
    assert!(remarks.iter().any(|message| message.text.starts_with("2 points of plots")));
}

#[test]
fn more_places_in_the_host_than_tracy_knows_share_one_and_every_zone_stays() {
    const PLACE_COUNT: u32 = 33_000;
    let mut recorded = Recorded::empty();
    let events = (0..PLACE_COUNT).map(|place| {
        let start_ns = u64::from(place) * 10;
        zone(place, [start_ns, start_ns + 4], 0, None)
    });
    let threads = vec![HostThread { number: 1, events: events.collect(), ..HostThread::default() }];
    let sources = (0..PLACE_COUNT).map(|place| HostSource::from_name(place.to_string())).collect();
    recorded.host.push(HostRecording { sources, threads, ..HostRecording::default() });
    let (file, notes) = written(&recorded);
    assert_eq!(file.place_count, 32_767);
    // Of 32,767 source locations, one is reserved for ops, and seven for the unnamed zones of the
    // seven kinds of RISC.
    assert_eq!(notes.vague_zones, 33_000 - (32_767 - 8));
    let zones = &thread(&file, "thread 0.1").zones;
    assert_eq!(zones.iter().map(|zone| zone.end_ns - zone.start_ns).sum::<i64>(), 132_000);
    assert_eq!((&*zones[0].place.name, &*zones[32_758].place.name), ("0", "32758"));
    assert_eq!(zones[32_759].place.name, "(one name too many for Tracy)");
}
