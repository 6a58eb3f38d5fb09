//! Compares the NoC events that the host reads with the requests to the simulated NoC.

use crate::support::Session;
use host_reader::{
    lane::LaneId,
    noc_events::{Noc, NocEventKind, Payload, PayloadVersion, SizeEvidence, SizeField},
    readout::Readout,
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    random::Stream,
    truth::{NocOperation, NocRequest, RiscKey, Truth},
    workload::WorkloadOptions,
};
use std::collections::BTreeMap;
use tests::sizes::full_or;
use wire::ZoneId;

/// The properties that an event and its request share: operation, network, bytes in units of 32,
/// and whether the transfer is posted.
type Transfer = (NocOperation, u8, u32, bool);

fn operation(kind: NocEventKind) -> Option<NocOperation> {
    match kind {
        NocEventKind::Read => Some(NocOperation::Read),
        NocEventKind::Write => Some(NocOperation::Write),
        NocEventKind::WriteMulticast => Some(NocOperation::Multicast),
        NocEventKind::WriteInline => Some(NocOperation::InlineWrite),
        NocEventKind::SemaphoreInc => Some(NocOperation::Increment),
        _ => None,
    }
}

/// Returns the words of the NoC events of each lane, in order.
fn words(readout: &Readout) -> BTreeMap<LaneId, Vec<u64>> {
    let is_noc = |zone| readout.zones.id(zone) == u32::from(ZoneId::NOC_TRACING.0);
    let lanes = readout.devices.iter().flat_map(|device| &device.lanes);
    let words = lanes.map(|lane| {
        let events = lane.records().filter(|record| !record.data.is_empty() && is_noc(record.zone));
        (lane.id, events.map(|record| record.data[0]).collect())
    });
    words.collect()
}

fn event(word: u64, field: SizeField) -> Option<Transfer> {
    let Payload::Local(event) = Payload::decode(word, PayloadVersion::Byte0Remote, field).unwrap()
    else {
        panic!("{word:#x} is of the fabric");
    };
    let noc = match event.noc {
        Noc::Noc0 => 0,
        Noc::Noc1 => 1,
        Noc::Undefined => return None,
    };
    Some((operation(event.kind)?, noc, event.byte_count / 32, event.is_posted))
}

fn request(request: &NocRequest) -> Transfer {
    // A read is answered by its data, so a read is never posted.
    let is_posted = request.is_posted && request.operation != NocOperation::Read;
    (request.operation, request.noc, request.byte_count.div_ceil(32), is_posted)
}

fn requests(truth: &Truth, lane: LaneId) -> &[NocRequest] {
    let is_its = |key: &&RiscKey| {
        let core = (u32::from(key.core.x), u32::from(key.core.y));
        let own = (u32::from(lane.core.x), u32::from(lane.core.y));
        (key.chip_id, core, key.risc) == (lane.chip_id, own, lane.risc)
    };
    let key = truth.noc_requests.keys().find(is_its);
    key.map_or(&[][..], |key| &truth.noc_requests[key])
}

/// Seeds of every run. In the last one, only writes of exactly 8 KiB determine the width of the
/// size field.
const FIXED_SEEDS: [u64; 7] = [0, 1, 2, 3, 4, 5, 44_968_320_508];

/// Returns the number of compared transfers, and the number of posted transfers among them.
fn compare(seed: u64) -> (usize, usize) {
    let arch = Arch::ALL[usize::from(seed % 2 == 1)];
    let config = MeshConfig::new(seed).with_chip(ChipConfig::new(arch)).with_noc_truth();
    let options = WorkloadOptions { ops: Some(4), seed, ..WorkloadOptions::default() };
    let outcome = Session::new(&config, "quick-push", &options, Vec::new()).run();
    let words = words(&outcome.readout);
    let mut evidence = SizeEvidence::default();
    words.values().flatten().for_each(|&bits| evidence.add(bits, PayloadVersion::Byte0Remote));
    let (field, undecided_count) = evidence.found();
    // If all sizes are 8 to 16 KiB, the width is ambiguous, which the reader must report.
    let is_decided = undecided_count == 0;
    assert_eq!(field == SizeField::Bits12, is_decided, "seed {seed}");
    assert!(is_decided || !FIXED_SEEDS.contains(&seed), "seed {seed}");
    let (mut compared, mut posted) = (0, 0);
    for (lane, words) in words {
        let events: Vec<Transfer> =
            words.iter().filter_map(|&word| event(word, SizeField::Bits12)).collect();
        let requests: Vec<Transfer> = requests(&outcome.truth, lane).iter().map(request).collect();
        // A full buffer drops events, which the truth test counts.
        if events.len() == requests.len() {
            assert_eq!(events, requests, "seed {seed}, {lane}");
            compared += events.len();
            posted += events.iter().filter(|event| event.3).count();
        }
    }
    (compared, posted)
}

#[test]
fn events_that_are_read_say_what_the_noc_did() {
    let fresh = Stream::new(u64::from(std::process::id()), &[0x6E6F_6331]).below(1 << 40);
    println!("fresh seeds from {fresh}");
    let fresh_count = full_or(6, 2);
    let (mut compared, mut posted) = (0, 0);
    for seed in FIXED_SEEDS.into_iter().chain(fresh..fresh + fresh_count) {
        let counts = compare(seed);
        compared += counts.0;
        posted += counts.1;
    }
    println!("{compared} transfers, {posted} posted");
    assert!(compared > 300 && posted > 30, "{compared} transfers, {posted} posted");
}
