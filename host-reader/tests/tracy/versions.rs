//! Live export in every version of the protocol, received by the strict viewer.

use super::{
    items::Version,
    reader::TracyFile,
    recorded::{Recorded, Records},
    viewer,
};
use ::tracy::protocol::{Form, ItemKind};
use host_reader::{
    export::tracy::{Program, TracyNotes, TracyOptions, TracyProtocol, TracyServer},
    lane::LaneId,
    mesh::Noc0Coord,
    names::ZoneSource,
};
use std::thread;
use wire::{PacketKind, Risc, ZoneId};

/// Serves a recording to the strict viewer of this version. Returns the trace that the viewer
/// received.
pub(crate) fn shown(recorded: &Recorded, version: &Version) -> (TracyFile, TracyNotes) {
    let server = TracyServer::bind("127.0.0.1:0").unwrap();
    let address = server.local_address().unwrap();
    let viewers = if version.is_fork { Program::Fork } else { Program::Stock };
    thread::scope(|scope| {
        let viewer = scope.spawn(|| viewer::capture(address, version));
        let served = recorded.with_trace(|trace| {
            server.accept().unwrap().serve(trace, &TracyOptions::default(), viewers).unwrap()
        });
        let file = viewer.join().unwrap();
        assert!(served.is_whole);
        assert_eq!((served.protocol.number, is_fork(served.protocol)), key(version));
        (file, served.notes)
    })
}

fn key(version: &Version) -> (u32, bool) {
    (version.number, version.is_fork)
}

fn is_fork(protocol: &TracyProtocol) -> bool {
    protocol.program == Program::Fork
}

#[test]
fn items_are_numbered_and_sized_as_by_the_headers() {
    for version in Version::all() {
        let program = if version.is_fork { Program::Fork } else { Program::Stock };
        let protocol = TracyProtocol::with_number(version.number, program).unwrap();
        assert_eq!(protocol.welcome_bytes(), version.welcome_bytes, "{version:?}");
        for kind in ItemKind::ALL {
            let Some((code, bytes)) = version.entry(&format!("{kind:?}")) else { continue };
            assert_eq!(protocol.code(*kind), Some(code), "{kind:?} of {version:?}");
            let behind_code = match protocol.form(*kind) {
                Form::Fixed(bytes) => bytes,
                Form::Text8 | Form::Text16 => 0,
                Form::KeyedText16 | Form::KeyedText32 => size_of::<u64>(),
            };
            assert_eq!(behind_code + 1, bytes, "{kind:?} of {version:?}");
        }
    }
}

#[test]
fn every_version_that_is_spoken_is_tested() {
    let mut tested: Vec<_> = Version::all().iter().map(key).collect();
    let mut spoken: Vec<_> =
        TracyProtocol::all().iter().map(|known| (known.number, is_fork(known))).collect();
    tested.sort_unstable();
    spoken.sort_unstable();
    assert_eq!(tested, spoken);
}

#[test]
fn viewers_of_every_version_take_every_zone_of_every_lane() {
    for (core_count, stock_count) in [(1, 1), (64, 64), (140, 140), (256, 256), (400, 3)] {
        let mut recorded = Recorded::cores(core_count, 2, 3);
        recorded.lose();
        let is_small = core_count <= 64;
        let versions = if is_small { Version::all() } else { Version::all_or_outermost() };
        for version in versions {
            let (file, notes) = shown(&recorded, &version);
            recorded.assert_shown_by(&file);
            let context_count = if version.is_fork { core_count } else { stock_count };
            assert_eq!(file.contexts.len(), context_count as usize, "{version:?}");
            let messages: usize = file.threads.iter().map(|thread| thread.messages.len()).sum();
            assert_eq!(notes.messages, messages as u64);
            let plots: Vec<&str> = file.plots.iter().map(|(name, _)| name.as_str()).collect();
            assert!(plots.contains(&"Device 0: kernels running"), "{plots:?}");
        }
    }
}

#[test]
fn texts_and_distances_of_any_length_arrive_whole() {
    use PacketKind::{TimestampedEvent, ZoneEnd, ZoneStart};
    let mut recorded = Recorded::empty();
    let lengths = [1, 255, 256, 257, 5_000];
    for (id, length) in (1..).zip(lengths) {
        let source = ZoneSource { name: "n".repeat(length), file: "/k.cpp".into(), line: 1 };
        recorded.readout.zones.add(ZoneId(id), source);
    }
    let durations_ns = [50, 65_535, 65_536, 65_537, 10_000_000_000, 40_000_000_000];
    let mut time = 1_000;
    let run = |duration: u64| -> Records {
        let events = (1..=5).zip(time + 1..).map(|(id, time)| (TimestampedEvent, id, time));
        let start = [(ZoneStart, 1, time)].into_iter();
        let records = start.chain(events).chain([(ZoneEnd, 1, time + duration)]).collect();
        time += duration + 10;
        records
    };
    let runs: Vec<Records> = durations_ns.map(run).into();
    let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
    recorded.push_lane(id, &runs);
    for version in Version::all() {
        let (file, _) = shown(&recorded, &version);
        recorded.assert_shown_by(&file);
        let messages: Vec<usize> = file
            .threads
            .iter()
            .flat_map(|thread| &thread.messages)
            .map(|message| message.text.len())
            .collect();
        assert_eq!(messages, lengths.repeat(durations_ns.len()));
        let ops = file.threads.iter().flat_map(|thread| &thread.zones);
        let shown: Vec<u64> =
            ops.map(|op| u64::try_from(op.end_ns - op.start_ns).unwrap()).collect();
        assert_eq!(shown, durations_ns);
    }
}

#[test]
fn too_many_source_locations_and_a_clock_that_began_anew_break_no_viewer() {
    use PacketKind::{ZoneEnd, ZoneStart};
    let mut recorded = Recorded::names(33_000);
    let id = LaneId { chip_id: 0, core: Noc0Coord { x: 7, y: 7 }, risc: Risc::Ncrisc };
    let run = |start: u64| vec![(ZoneStart, 12, start), (ZoneEnd, 12, start + 50)];
    recorded.push_lane(id, &[run(40_000_000_000), run(100), run(60_000), run(40_000_000_500)]);
    for version in Version::all_or_outermost() {
        let (file, notes) = shown(&recorded, &version);
        recorded.assert_shown_by(&file);
        assert!(notes.vague_zones > 0 && file.place_count <= 32_767, "{}", file.place_count);
    }
}
