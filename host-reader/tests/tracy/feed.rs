//! Tests of live feeds: the strict viewer receives data while reads are added to the feed.

use super::{
    items::Version, live::capture_tool, reader, reader::TracyFile, recorded::Recorded, viewer,
};
use ::tracy::{
    Damage, RecordOptions, RecordingEnd, TracyClient,
    protocol::{QUERY_BYTES, Query},
};
use host_reader::{
    export::{
        Trace,
        tracy::{
            FeedPressure, LiveFeed, Program, ServeError, ServedViewer, TracyNotes, TracyOptions,
            TracyServer,
        },
    },
    lane::LaneId,
    mesh::Noc0Coord,
    names::ZoneSource,
};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};
use wire::{PacketKind, Risc, ZoneId};

/// Maximum time of any wait in a test.
const LIMIT: Duration = Duration::from_secs(60);

const LOAD: u16 = 1;
const LOOP: u16 = 2;

fn lane(risc: Risc) -> LaneId {
    LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 2 }, risc }
}

/// Zones of a lane: marker id, start and end in nanoseconds. A zone precedes its nested zones.
type Zones = Vec<(u16, u64, u64)>;

/// Returns the data of one read with these zones.
fn read(lanes: &[(Risc, Zones)]) -> Recorded {
    let mut read = Recorded::empty();
    for (id, name) in [(LOAD, "LOAD"), (LOOP, "LOOP")] {
        let source = ZoneSource { name: name.into(), file: "/k.cpp".into(), line: 1 };
        read.readout.zones.add(ZoneId(id), source);
    }
    for (risc, zones) in lanes {
        let mut records = Vec::new();
        let mut open: Vec<(u16, u64)> = Vec::new();
        for &(id, start, end) in zones {
            while let Some((id, end)) = open.pop_if(|(_, end)| *end <= start) {
                records.push((PacketKind::ZoneEnd, id, end));
            }
            records.push((PacketKind::ZoneStart, id, start));
            open.push((id, end));
        }
        records.extend(open.into_iter().rev().map(|(id, end)| (PacketKind::ZoneEnd, id, end)));
        read.push_lane(lane(*risc), &[records]);
    }
    read
}

/// A feed with its server.
struct Served {
    feed: Arc<LiveFeed>,
    address: SocketAddr,
    ended: Receiver<Result<ServedViewer, ServeError>>,
}

impl Served {
    fn new(feed: LiveFeed, viewers: Program, patience: Duration) -> Self {
        let server = TracyServer::bind("127.0.0.1:0").unwrap().with_patience(patience);
        let address = server.local_address().unwrap();
        let (sender, ended) = channel();
        let feed = Arc::new(feed);
        let on_end = move |served| drop(sender.send(served));
        let options = TracyOptions::default();
        feed.serve(server, options, viewers, on_end).unwrap();
        Self { feed, address, ended }
    }

    fn add(&self, read: &Recorded) {
        read.with_trace(|trace: &Trace<'_>| self.feed.add(trace));
    }

    fn wait_for(&self, is_met: impl Fn(FeedPressure) -> bool) {
        let begun = Instant::now();
        while !is_met(self.feed.pressure()) {
            assert!(begun.elapsed() < LIMIT, "{:?}", self.feed.pressure());
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn finish(&self) {
        Recorded::empty().with_trace(|trace| self.feed.finish(trace, 0));
        assert!(self.feed.wait_for_viewers(LIMIT));
    }

    fn result(&self) -> ServedViewer {
        self.ended.recv_timeout(LIMIT).unwrap().unwrap()
    }
}

/// Returns three reads of two RISCs, with zones that end later than their nested zones were read.
///
/// The second read has a zone that began before all zones of the first read. The third read has a
/// zone that began three seconds before its end.
fn reads() -> [Recorded; 3] {
    let early = vec![(LOAD, 1_000, 1_010), (LOAD, 1_020, 1_035)];
    let mut first = read(&[(Risc::Brisc, early), (Risc::Ncrisc, vec![(LOAD, 1_005, 1_006)])]);
    first.lose();
    let around = vec![(LOOP, 990, 3_000_000_100), (LOAD, 1_040, 1_050)];
    let mut second = read(&[(Risc::Brisc, around)]);
    second.lose();
    let third = read(&[
        (Risc::Brisc, vec![(LOAD, 3_000_000_200, 3_000_000_205)]),
        (Risc::Ncrisc, vec![(LOOP, 1_006, 3_000_000_300)]),
    ]);
    [first, second, third]
}

/// Name, function, start and end of each zone, by lane.
type Shown = BTreeMap<String, Vec<(String, String, i64, i64)>>;

fn shown(file: &TracyFile) -> Shown {
    let lanes = file.contexts.iter().flat_map(|context| &context.lanes);
    let zones = |zones: &Vec<reader::Zone>| {
        let zones = zones.iter().map(|zone| {
            let place = &zone.place;
            (place.name.clone(), place.function.clone(), zone.start_ns, zone.end_ns)
        });
        zones.collect()
    };
    lanes.map(|(id, found)| (file.thread_names[id].clone(), zones(found))).collect()
}

/// Returns the zones that viewers must show for [`reads`]. The first record is at time 0.
fn expected() -> Shown {
    let load = |start, end| ("LOAD".to_owned(), String::new(), start, end);
    let around = |function: &str, start, end| ("LOOP".to_owned(), function.to_owned(), start, end);
    let [brisc, ncrisc] = ["BRISC", "NCRISC"].map(|risc| format!("{risc} (device 0, core 1-2)"));
    let second_row = format!("{brisc}, zones around earlier ones 1");
    let late = load(2_999_999_200, 2_999_999_205);
    Shown::from([
        (brisc, vec![load(0, 10), load(20, 35), load(40, 50), late]),
        (second_row, vec![around("drawn shorter than recorded", 0, 2_999_999_100)]),
        (ncrisc, vec![load(5, 6), around("", 6, 2_999_999_300)]),
    ])
}

#[track_caller]
fn assert_shown(file: &TracyFile) {
    assert_eq!(shown(file), expected());
    let names: Vec<&str> = file.contexts.iter().map(|context| context.name.as_str()).collect();
    assert_eq!(names, ["Device: 0, Core (1,2)"]);
    let texts = file.threads.iter().flat_map(|thread| &thread.messages);
    let losses = texts.filter(|message| message.text == "lost 25 zones: L1 full");
    assert_eq!(losses.map(|message| message.time_ns).collect::<Vec<_>>(), [35, 2_999_999_100]);
    let lost = vec![(35, 25.0), (2_999_999_100, 50.0)];
    assert_eq!(file.plots, [("Device 0: lost records".to_owned(), lost)]);
}

#[test]
fn viewers_of_every_version_see_zones_as_they_are_read() {
    for version in Version::all() {
        let viewers = if version.is_fork { Program::Fork } else { Program::Stock };
        let lanes = [lane(Risc::Brisc), lane(Risc::Ncrisc)];
        let served = Served::new(LiveFeed::new(0, &lanes), viewers, LIMIT);
        let file = thread::scope(|scope| {
            let viewer = scope.spawn(|| viewer::capture(served.address, &version));
            assert!(served.feed.wait_for_viewer(LIMIT));
            for read in reads() {
                served.add(&read);
                // The viewer has received each read before the next read is added.
                served.wait_for(|pressure| pressure.waiting_zones == 0);
            }
            served.finish();
            viewer.join().unwrap()
        });
        assert_shown(&file);
        let result = served.result();
        let notes = TracyNotes { zones: 7, lanes: 3, contexts: 1, messages: 2, ..result.notes };
        assert!(result.is_whole && result.notes == notes, "{result:?}");
        assert_eq!(notes.doubts(), []);
    }
}

/// The recorder of the crate `tracy` asks for the end as soon as it is connected, and for names only
/// when the zones that were sent before arrive.
#[test]
fn a_viewer_that_asks_for_the_end_receives_the_names_of_what_was_sent() {
    let served = Served::new(LiveFeed::new(0, &[]), Program::Stock, LIMIT);
    reads().iter().for_each(|read| served.add(read));
    let client = TracyClient::connect_with(served.address, &[82]).unwrap();
    let recording = client.record(&RecordOptions::default(), &AtomicBool::new(true));
    assert_eq!((recording.end, recording.damage), (RecordingEnd::Stopped, Damage::default()));
    let threads = recording.threads.iter().map(|thread| (thread.id, &thread.name));
    let threads: BTreeMap<_, _> = threads.collect();
    let zones = recording.devices.iter().flat_map(|device| &device.zones);
    let lanes: Vec<&str> = zones.map(|zone| &**threads[&u64::from(zone.lane)]).collect();
    let expected = expected();
    assert!(
        !lanes.is_empty() && lanes.iter().all(|lane| expected.contains_key(*lane)),
        "{lanes:?}"
    );
    assert!(!served.result().is_whole);
}

/// Tests that a program that waits for its viewers and then ends has reported how each connection
/// ended.
#[test]
fn a_viewer_counts_as_connected_until_the_end_of_its_connection_is_reported() {
    let server = TracyServer::bind("127.0.0.1:0").unwrap();
    let address = server.local_address().unwrap();
    let feed = Arc::new(LiveFeed::new(0, &[]));
    let is_reported = Arc::new(AtomicBool::new(false));
    let reported = Arc::clone(&is_reported);
    let slow_report = move |_| {
        thread::sleep(Duration::from_millis(300));
        reported.store(true, Ordering::Relaxed);
    };
    feed.serve(server, TracyOptions::default(), Program::Stock, slow_report).unwrap();
    let mut viewer = TcpStream::connect(address).unwrap();
    viewer.write_all(b"TracyPrf\x52\0\0\0").unwrap();
    assert!(feed.wait_for_viewer(LIMIT));
    drop(viewer);
    Recorded::empty().with_trace(|trace| feed.finish(trace, 0));
    assert!(feed.wait_for_viewers(LIMIT));
    assert!(is_reported.load(Ordering::Relaxed));
}

#[test]
fn a_viewer_that_asks_for_the_end_and_stays_is_dropped() {
    let served = Served::new(LiveFeed::new(0, &[]), Program::Stock, Duration::from_secs(1));
    let mut viewer = TcpStream::connect(served.address).unwrap();
    viewer.write_all(b"TracyPrf\x52\0\0\0").unwrap();
    let mut query = [0; QUERY_BYTES];
    query[0] = Query::Disconnect.byte();
    viewer.write_all(&query).unwrap();
    assert!(served.result().has_stalled);
}

#[test]
fn a_capture_tool_sees_what_the_strict_viewer_sees() {
    let Some(tool) = capture_tool() else { return };
    let served = Served::new(LiveFeed::new(0, &[]), Program::Stock, LIMIT);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.tracy");
    let mut tool = Command::new(tool);
    tool.args(["-f", "-a", "127.0.0.1", "-p", &served.address.port().to_string(), "-o"]);
    let mut tool = tool.arg(&path).stdout(Stdio::null()).spawn().unwrap();
    assert!(served.feed.wait_for_viewer(LIMIT));
    reads().iter().for_each(|read| served.add(read));
    served.finish();
    assert!(tool.wait().unwrap().success());
    let file = reader::read(&std::fs::read(&path).unwrap());
    assert_eq!(shown(&file), expected());
    assert!(served.result().is_whole);
}

/// Returns a read of consecutive zones of one lane.
fn many(first: u64, count: u64) -> Recorded {
    let zones = (first..first + count).map(|number| (LOAD, number * 10, number * 10 + 9));
    read(&[(Risc::Brisc, zones.collect())])
}

#[test]
fn a_late_viewer_gets_what_is_kept_and_is_told_what_it_missed() {
    let served = Served::new(LiveFeed::new(0, &[]).keeping(20), Program::Stock, LIMIT);
    for first in [0, 10, 20] {
        served.add(&many(first, 10));
    }
    let version = &Version::all()[0];
    let file = thread::scope(|scope| {
        let viewer = scope.spawn(|| viewer::capture(served.address, version));
        assert!(served.feed.wait_for_viewer(LIMIT));
        served.finish();
        viewer.join().unwrap()
    });
    let zones = &shown(&file)["BRISC (device 0, core 1-2)"];
    let starts: Vec<i64> = zones.iter().map(|zone| zone.2).collect();
    assert_eq!(starts, (10..30).map(|number| number * 10).collect::<Vec<_>>());
    let [remarks] = &file.threads.iter().filter(|thread| thread.id == 8).collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", file.thread_names)
    };
    let messages: Vec<_> =
        remarks.messages.iter().map(|message| (message.time_ns, message.text.as_str())).collect();
    let expected = "10 zones and 0 messages before this time are only in the recording: they are no \
                    longer kept for viewers";
    assert_eq!(messages, [(100, expected)]);
    let notes = served.result().notes;
    assert_eq!((notes.zones, notes.missed_zones), (20, 10));
    assert_eq!(notes.doubts(), [("zones_no_longer_kept_for_this_viewer", 10)]);
    assert_eq!(served.feed.pressure().missed_zones, 10);
}

#[test]
fn viewers_that_stall_or_leave_hold_up_neither_the_program_nor_others() {
    const READS: u64 = 200;
    const ZONES: u64 = 2_000;
    let feed = LiveFeed::new(0, &[]).keeping(10 * ZONES);
    // The viewer that receives everything must not count as stalled on a busy machine.
    let served = Served::new(feed, Program::Stock, Duration::from_secs(8));
    let greet = || {
        let mut viewer = TcpStream::connect(served.address).unwrap();
        viewer.write_all(b"TracyPrf\x52\0\0\0").unwrap();
        viewer.read_exact(&mut [0]).unwrap();
        viewer
    };
    let stalled = greet();
    let leaving = greet();
    let version = &Version::all()[0];
    let file = thread::scope(|scope| {
        let viewer = scope.spawn(|| viewer::capture(served.address, version));
        served.wait_for(|pressure| pressure.viewer_count == 3);
        drop(leaving);
        for number in 0..READS {
            served.add(&many(number * ZONES, ZONES));
            // The pause lets the viewer that receives everything keep up.
            thread::sleep(Duration::from_millis(10));
        }
        let results = [served.result(), served.result()];
        assert_eq!(results.iter().filter(|result| result.has_stalled).count(), 1, "{results:?}");
        assert!(results.iter().all(|result| !result.is_whole), "{results:?}");
        served.finish();
        viewer.join().unwrap()
    });
    drop(stalled);
    let notes = served.result().notes;
    let zones = &shown(&file)["BRISC (device 0, core 1-2)"];
    assert_eq!(notes.zones, zones.len() as u64);
    assert_eq!(notes.zones + notes.missed_zones, READS * ZONES);
}

#[test]
fn viewers_beyond_the_limit_are_refused_with_a_sentence() {
    let served = Served::new(LiveFeed::new(0, &[]), Program::Stock, LIMIT);
    let viewers: Vec<_> = (0..17).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    let refused = served.ended.recv_timeout(LIMIT).unwrap().unwrap_err().to_string();
    assert!(refused.ends_with("is not served: 16 viewers are connected; close one of them"));
    drop(viewers);
}
