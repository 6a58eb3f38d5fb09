//! Live export in every version of the protocol, received by the recorder of the crate `tracy`.

use super::{
    items::Version,
    reader::{Message, Place, Zone},
    recorded::Recorded,
    viewer,
};
use ::tracy::{RecordOptions, TracyClient, TracyRecording};
use host_reader::export::tracy::{Program, TracyOptions, TracyServer};
use std::{collections::BTreeMap, net::SocketAddr, sync::atomic::AtomicBool, thread};

fn served<T: Send>(
    recorded: &Recorded,
    version: &Version,
    take: impl FnOnce(SocketAddr) -> T + Send,
) -> T {
    let server = TracyServer::bind("127.0.0.1:0").unwrap();
    let address = server.local_address().unwrap();
    let viewers = if version.is_fork { Program::Fork } else { Program::Stock };
    thread::scope(|scope| {
        let taken = scope.spawn(|| take(address));
        let options = TracyOptions::default();
        recorded
            .with_trace(|trace| server.accept().unwrap().serve(trace, &options, viewers).unwrap());
        taken.join().unwrap()
    })
}

fn place(recording: &TracyRecording, location: u32) -> Place {
    let found = recording.location(location).unwrap().clone();
    Place {
        name: found.name.into(),
        function: found.function.into(),
        file: found.file.into(),
        line: found.line,
        rgb: found.color,
    }
}

/// Lanes by context name and lane number, with location, start and end of each zone.
type Lanes = BTreeMap<(String, u64), Vec<(Place, i64, i64)>>;

fn lanes(recording: &TracyRecording) -> Lanes {
    let mut lanes = Lanes::new();
    for device in &recording.devices {
        for zone in &device.zones {
            let key = (device.name.to_string(), u64::from(zone.lane));
            let times = (zone.start_ns.unwrap(), zone.end_ns.unwrap());
            let zone = (place(recording, zone.location), times.0, times.1);
            lanes.entry(key).or_default().push(zone);
        }
    }
    lanes
}

#[test]
fn what_a_strict_viewer_sees_is_recorded_in_every_version() {
    let mut recorded = Recorded::cores(3, 2, 3);
    recorded.lose();
    for version in Version::all() {
        let seen = served(&recorded, &version, |address| viewer::capture(address, &version));
        // If Tracy and the fork use the same protocol number, the client finds the right protocol
        // by decoding the received frames. So `expected` does not change the result.
        for expected in [Program::Stock, Program::Fork] {
            let options = RecordOptions { expected, ..RecordOptions::default() };
            let taken = served(&recorded, &version, |address| {
                let client = TracyClient::connect_with(address, &[version.number]).unwrap();
                client.record(&options, &AtomicBool::new(false))
            });
            assert!(taken.is_complete(), "{version:?}: {:?} {:?}", taken.end, taken.damage);
            let of_zone = |zone: &Zone| (zone.place.clone(), zone.start_ns, zone.end_ns);
            let mut seen_lanes = Lanes::new();
            for context in &seen.contexts {
                for (lane, zones) in &context.lanes {
                    let key = (context.name.clone(), *lane);
                    seen_lanes.insert(key, zones.iter().map(of_zone).collect());
                }
            }
            assert_eq!(lanes(&taken), seen_lanes, "{version:?}");
            for seen_thread in &seen.threads {
                let is_it = |index: &usize| taken.threads[*index].id == seen_thread.id;
                let index = (0..taken.threads.len()).find(is_it).unwrap();
                let thread = &taken.threads[index];
                assert_eq!(thread.name, seen.thread_names[&seen_thread.id]);
                let zones = thread.zones.iter().map(|zone| Zone {
                    depth: zone.depth.into(),
                    place: place(&taken, zone.location),
                    start_ns: zone.start_ns,
                    end_ns: zone.end_ns.unwrap(),
                    text: zone.text().unwrap_or_default().to_owned(),
                    name: zone
                        .extra
                        .as_ref()
                        .and_then(|extra| extra.name.as_deref())
                        .unwrap_or_default()
                        .to_owned(),
                });
                assert_eq!(zones.collect::<Vec<_>>(), seen_thread.zones, "{version:?}");
                let messages = taken.messages.iter().filter(|message| message.thread == index);
                let messages = messages.map(|one| Message {
                    time_ns: one.time_ns,
                    text: one.text.to_string(),
                    rgb: one.color.unwrap(),
                });
                assert_eq!(messages.collect::<Vec<_>>(), seen_thread.messages, "{version:?}");
            }
            let plots = taken.plots.iter().map(|plot| {
                let points = plot.points.iter().map(|point| (point.0, point.1)).collect();
                (plot.name.to_string(), points)
            });
            assert_eq!(plots.collect::<Vec<_>>(), seen.plots, "{version:?}");
        }
    }
}
