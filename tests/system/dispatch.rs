//! Dispatch cores: every command of the queue is found with its meaning, and the figures of
//! TT-Metal's own tests are reproduced.
//!
//! # Compatibility
//! `test_dispatch_cores`, `test_dispatch_cores_extended_worker` and `test_ethernet_dispatch_cores`
//! of `test_device_profiler.py`, with the analyses of `device_post_proc_config.py`.

use crate::{
    accounting::assert_honest,
    support::{Outcome, mesh_after, outcome},
};
use host_reader::{
    ReadOptions,
    decode::CaptureMode,
    lane::Lane,
    mesh::Noc0Coord,
    names::ZoneSource,
    read::Reader,
    readout::Readout,
    recording::{Recording, name_dispatch_commands},
    report::{OpsOptions, OpsReport},
    timeline::{Timeline, Zone},
};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig},
    dispatch::DispatchCores,
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use wire::{CoreKind, Risc};

/// Returns a chip with tiles that share an epoch, so that times of different cores can be compared.
fn config(arch: Arch, kind: DispatchCores) -> MeshConfig {
    let chip = ChipConfig::new(arch).with_epoch_max_cycles(1);
    MeshConfig::new(5).with_chip(chip).with_dispatch_cores(kind)
}

/// Returns launches of one program with a short kernel on BRISC.
fn launches(ids: impl IntoIterator<Item = u32>, cores: &CoreSelection) -> Vec<Launch> {
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("short").unwrap());
    let program = Arc::new(Program::new("step").with_kernel(Risc::Brisc, kernel));
    ids.into_iter().map(|id| Launch::new(&program, id).on(cores.clone())).collect()
}

/// Runs launches, closes the queue, and reads like a host in this mode.
fn run(config: &MeshConfig, launches: Vec<Launch>) -> (Outcome, SimulatedMesh) {
    let mut mesh = mesh_after(config, launches);
    mesh.close_command_queues();
    let mode = CaptureMode::DispatchCores;
    let options = ReadOptions { mode, last_read: true, ..ReadOptions::default() };
    let readout = Reader::new(options).read(&mut mesh).unwrap();
    let mut outcome = outcome(readout, &mesh);
    name_dispatch_commands(&mut outcome.readout);
    outcome.timeline = Timeline::from_readout(&outcome.readout);
    (outcome, mesh)
}

/// Returns the zones of commands, by core and RISC. The common prefix of the names is removed.
fn commands(outcome: &Outcome) -> BTreeMap<(Noc0Coord, Risc), Vec<(String, Zone)>> {
    let mut commands = BTreeMap::new();
    for lane in outcome.timeline.lanes() {
        for zone in lane.zones.iter() {
            let name = outcome.readout.zones.name(zone.zone);
            if name.starts_with("CQ-") {
                let of_lane: &mut Vec<_> =
                    commands.entry((lane.id.core, lane.id.risc)).or_default();
                of_lane.push((name.to_owned(), zone));
            }
        }
    }
    commands
}

fn repeated<'name>(names: &[&'name str], count: usize) -> Vec<&'name str> {
    names.iter().copied().cycle().take(names.len() * count).collect()
}

const HOST: &str = "CMD_WRITE_LINEAR_H_HOST";
const EVENT: &str = "CMD_WRITE_PACKED:CMD_PACKED_WRITE_FLAG_TYPE_EVENT";
/// Commands of a program, without the command that sets the program's number and the wait for room.
const OF_PROGRAM: [&str; 9] = [
    "CMD_WRITE_PACKED:CMD_PACKED_WRITE_FLAG_TYPE_RTA",
    "CMD_WRITE_PACKED:CMD_PACKED_WRITE_FLAG_TYPE_RTA",
    "CMD_WRITE_PACKED:CMD_PACKED_WRITE_FLAG_TYPE_RTA",
    "CMD_WRITE_PACKED_LARGE:CMD_PACKED_WRITE_LARGE_TYPE_CBS_SEMS_CRTAS",
    "CMD_WRITE_PACKED_LARGE:CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES",
    "CMD_WRITE_PACKED_LARGE:CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES",
    "CMD_WRITE_PACKED_LARGE:CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES",
    "CMD_WRITE_PACKED:MCAST;CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH",
    "NOTIFY_SUBORDINATE_GO_SIGNAL",
];

/// Returns the names of all commands of a dispatcher: `CQ-DISPATCH`, then for each value the
/// program and the value's meaning.
fn dispatcher_names(programs: &[u32], cores: usize, banks: usize) -> Vec<String> {
    let name = |program: u32, command: &str| {
        let parts = command.split(':').map(|part| match part.strip_prefix("MCAST;") {
            Some(part) => format!(":{program}:MCAST;CQ_DISPATCH_{part}"),
            None => format!(":{program}:CQ_DISPATCH_{part}"),
        });
        format!("CQ-DISPATCH{}", parts.collect::<String>())
    };
    let [linear, paged] = ["CMD_WRITE_LINEAR", "CMD_WRITE_PAGED"];
    let opening = repeated(&[linear, paged, paged, linear, "CMD_WAIT"], 13);
    let mut names: Vec<String> = opening.into_iter().map(|command| name(0, command)).collect();
    let mut before = 0;
    for (index, &program) in programs.iter().enumerate() {
        let offset = "CQ_DISPATCH_CMD_SET_WRITE_OFFSET";
        names.push(format!("CQ-DISPATCH:{before}:{offset}:{program}:{offset}"));
        // A core has room for eight launch messages; one of them is reserved for a watcher.
        names.extend((index >= 7).then(|| name(program, "CMD_WAIT")));
        names.extend(OF_PROGRAM.map(|command| name(program, command)));
        before = program;
    }
    let reads = repeated(&["CMD_WAIT", HOST, "CMD_WAIT", EVENT, HOST], cores + banks);
    let writes = repeated(&["CMD_WAIT", linear, "CMD_WAIT", EVENT, HOST], cores);
    let closing = reads.into_iter().chain(writes).chain(["CMD_TERMINATE"]);
    names.extend(closing.map(|command| name(before, command)));
    names
}

fn subordinate_names(program_count: usize) -> Vec<String> {
    let go = std::iter::repeat_n("CMD_SEND_GO_SIGNAL", program_count);
    let commands = std::iter::once("SET_NUM_WORKER_SEMS").chain(go).chain(["CMD_TERMINATE"]);
    commands.map(|command| format!("CQ-DISPATCH-SUBORDINATE:CQ_DISPATCH_{command}")).collect()
}

/// Returns the cores of a kind in the simulator's logical order, except the cores that run
/// programs.
fn reserved(mesh: &SimulatedMesh, arch: Arch, kind: DispatchCores) -> Vec<TileCoord> {
    let plan = mesh.chip(0).unwrap().plan();
    let last = |line: fn(TileCoord) -> u16| {
        let workers = plan.cores().iter().filter(|core| core.kind == CoreKind::Tensix);
        let last = workers.clone().map(|core| line(core.coord)).max().unwrap();
        workers.filter(|core| line(core.coord) == last).map(|core| core.coord).collect()
    };
    match (kind, arch) {
        (DispatchCores::Worker, Arch::WormholeB0) => last(|coord| coord.y),
        (DispatchCores::Worker, Arch::Blackhole) => last(|coord| coord.x),
        (DispatchCores::Ethernet, _) => {
            let cores = plan.cores().iter().filter(|core| core.kind == CoreKind::IdleEth);
            cores.map(|core| core.coord).collect()
        }
    }
}

#[test]
fn every_command_comes_out_with_its_meaning_in_its_order() {
    for (arch, banks) in [(Arch::WormholeB0, 12), (Arch::Blackhole, 8)] {
        let worker = DispatchCores::Worker;
        // The host's accesses to 130 cores exceed lanes for 1000 programs.
        let config = config(arch, worker).with_program_support_count(2000);
        let config = config.with_dispatch_profiling();
        let some = CoreSelection::At(workers_of(&config, 3));
        let programs: Vec<u32> = (7..17).collect();
        let (outcome, mesh) = run(&config, launches(programs.clone(), &some));
        assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
        assert!(outcome.readout.losses.is_empty(), "{:?}", outcome.readout.losses);
        assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
        let cores = mesh.chip(0).unwrap().workers().count();
        assert_eq!(cores, if arch == Arch::WormholeB0 { 56 } else { 130 });
        let expected = dispatcher_names(&programs, cores, banks);
        let found = commands(&outcome);
        let coords: BTreeSet<TileCoord> = reserved(&mesh, arch, worker).into_iter().collect();
        let names = |of: Risc, prefix: &str| {
            let lane = found
                .iter()
                .find(|((_, risc), zones)| *risc == of && zones[0].0.starts_with(prefix));
            let ((core, _), zones) = lane.unwrap();
            assert!(coords.contains(&TileCoord { x: core.x, y: core.y }));
            (*core, zones.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
        };
        let (dispatcher, dispatched) = names(Risc::Brisc, "CQ-DISPATCH:");
        assert_eq!(dispatched, expected);
        let (subordinate, sent) = names(Risc::Ncrisc, "CQ-DISPATCH-SUBORDINATE");
        assert_eq!(sent, subordinate_names(programs.len()));
        let (prefetcher, prefetched) = names(Risc::Brisc, "CQ-PREFETCH");
        assert_eq!(prefetched, vec!["CQ-PREFETCH"; expected.len()]);
        assert!(dispatcher == subordinate && dispatcher != prefetcher);
        assert_eq!(found.len(), 3);
        assert_order_in_time(&outcome, &found);
        assert_source(&outcome);
    }
}

/// Returns the coordinates of the first worker cores of the first chip.
fn workers_of(config: &MeshConfig, count: usize) -> Vec<TileCoord> {
    let mesh = SimulatedMesh::new(config).unwrap();
    mesh.chip(0).unwrap().workers().map(|core| core.coord).take(count).collect()
}

/// Returns the first and last cycle of each program.
fn spans(outcome: &Outcome) -> BTreeMap<u32, (u64, u64)> {
    let mut spans: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (lane, paired) in outcome.readout.lanes().zip(outcome.timeline.lanes()) {
        for zone in paired.zones.iter().filter(|zone| zone.depth == 0) {
            let program = lane.runs[zone.run as usize].program.base();
            let span = spans.entry(program).or_insert((u64::MAX, 0));
            *span = (span.0.min(zone.start_cycle), span.1.max(zone.end_cycle));
        }
    }
    spans.remove(&0).expect("the kernels that dispatch are of no program");
    spans
}

/// Asserts the order in time of each program's commands.
///
/// The commands of a program are complete before its GO message is sent, and the next program's
/// commands begin only after that. The workers start at the message, after the previous program's
/// workers are done.
fn assert_order_in_time(
    outcome: &Outcome,
    found: &BTreeMap<(Noc0Coord, Risc), Vec<(String, Zone)>>,
) {
    let ends_of = |part: &str| -> Vec<(u64, u64)> {
        let zones = found.values().flatten().filter(|(name, _)| name.contains(part));
        zones.map(|(_, zone)| (zone.start_cycle, zone.end_cycle)).collect()
    };
    let begins = ends_of("SET_WRITE_OFFSET");
    let notified = ends_of("NOTIFY_SUBORDINATE");
    let sent = ends_of("SEND_GO_SIGNAL");
    let starts = spans(outcome);
    assert_eq!([begins.len(), notified.len(), sent.len()], [starts.len(); 3]);
    let mut before = 0;
    for (index, (first, last)) in starts.into_values().enumerate() {
        assert!(
            notified[index].1 < sent[index].1 + PUSH_CYCLES,
            "{index} {begins:?} {notified:?} {sent:?}"
        );
        assert!(before < sent[index].1, "{index} {before} {sent:?}");
        // The end of the zone is recorded shortly after the message has left.
        assert!(sent[index].1 < first + 60, "{:?} {first}", sent[index]);
        assert!(index == 0 || begins[index].0 > sent[index - 1].1 - 60, "{index}");
        before = last;
    }
}

/// Cycles by which a dispatcher may be late after it has pushed its records to DRAM. The launches
/// that it announces were simulated before, with the usual time between two of them.
const PUSH_CYCLES: u64 = 200;

/// Asserts that every zone of a command comes from the dispatch kernels.
fn assert_source(outcome: &Outcome) {
    let of_commands = |(_, source): &(_, &ZoneSource)| source.name.starts_with("CQ-");
    let sources: Vec<_> = outcome.readout.zones.places().filter(of_commands).collect();
    let zones = outcome.timeline.lanes().flat_map(|lane| lane.zones.iter()).filter(|zone| {
        let name = outcome.readout.zones.name(zone.zone);
        name.starts_with("CQ-")
    });
    let mut count = 0;
    for zone in zones {
        let id = outcome.readout.zones.id(zone.zone);
        let files: BTreeSet<&str> = sources
            .iter()
            .filter(|(known, _)| u32::from(known.0) == id)
            .map(|(_, source)| source.file.as_str())
            .collect();
        assert_eq!(files, BTreeSet::from(["sim/objects/kernels/src/dispatch.rs"]));
        count += 1;
    }
    assert!(count > 0);
}

/// Returns the zones and values of the dispatch kernels in order, by name of the kernel's zones.
fn duties(outcome: &Outcome) -> BTreeMap<String, (Vec<Zone>, Vec<u64>)> {
    let mut duties = BTreeMap::new();
    for (lane, paired) in outcome.readout.lanes().zip(outcome.timeline.lanes()) {
        let name = |zone: &Zone| outcome.readout.zones.name(zone.zone).to_owned();
        let zones = paired.zones.iter().filter(|zone| name(zone).starts_with("CQ-"));
        let zones: Vec<Zone> = zones.collect();
        let Some(first) = zones.first() else { continue };
        let duty = name(first).split(':').next().unwrap().to_owned();
        let values = lane.records().flat_map(|record| record.data.to_vec()).collect();
        assert!(duties.insert(duty, (zones, values)).is_none());
    }
    duties
}

/// The commands of Ethernet cores have no texts. So their values are compared with the values of
/// worker cores. The test above checks the meaning of these values.
#[test]
fn ethernet_cores_record_the_values_of_worker_cores() {
    for (arch, worker_count, with_dispatch) in
        [(Arch::WormholeB0, 64, 72), (Arch::Blackhole, 130, 140)]
    {
        let outcome_of = |kind, cores| {
            let chip = ChipConfig::new(arch).with_epoch_max_cycles(1).with_worker_core_count(cores);
            let config = MeshConfig::new(5).with_chip(chip).with_dispatch_cores(kind);
            let config = config.with_program_support_count(2000).with_dispatch_profiling();
            let some = CoreSelection::At(workers_of(&config, 3));
            let (outcome, mesh) = run(&config, launches(7..17, &some));
            assert_eq!(mesh.chip(0).unwrap().workers().count(), worker_count as usize);
            assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
            assert!(outcome.readout.losses.is_empty(), "{:?}", outcome.readout.losses);
            assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
            outcome
        };
        let expected = duties(&outcome_of(DispatchCores::Worker, with_dispatch));
        assert_eq!(expected.len(), 3);
        let outcome = outcome_of(DispatchCores::Ethernet, worker_count);
        assert_source(&outcome);
        let found = duties(&outcome);
        assert!(expected.keys().eq(found.keys()), "{:?}", found.keys());
        for (duty, (zones, values)) in &expected {
            assert_eq!(found[duty].0.len(), zones.len(), "{arch} {duty}");
            assert_eq!(&found[duty].1, values, "{arch} {duty}");
        }
        // The first zone of the subordinate dispatcher is its setup, and the last zone is its end.
        let sent = &found["CQ-DISPATCH-SUBORDINATE"].0[1..11];
        let mut before = 0;
        for (zone, (first, last)) in sent.iter().zip(spans(&outcome).into_values()) {
            assert!(before < zone.end_cycle && zone.end_cycle < first + 60, "{zone:?} {first}");
            before = last;
        }
    }
}

/// The dispatch kernels poll the clock continuously; the simulator skips the idle polls.
#[test]
fn a_queue_that_is_open_for_two_hours_is_closed_at_once() {
    let chip = ChipConfig::new(Arch::WormholeB0).with_epoch_max_cycles(1);
    let config = MeshConfig::new(5).with_chip(chip).with_dispatch_cores(DispatchCores::Worker);
    let config = config.with_dispatch_profiling();
    let config = config.with_program_support_count(2000);
    let mut launches = launches(1..=2, &CoreSelection::At(workers_of(&config, 1)));
    launches[1].earliest_ns = 7_200_000_000_000;
    let (outcome, _) = run(&config, launches);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert_source(&outcome);
    let found = commands(&outcome);
    assert_order_in_time(&outcome, &found);
    assert!(spans(&outcome)[&2].0 > 7_000_000_000_000, "{:?}", spans(&outcome));
}

#[test]
fn without_the_switch_these_cores_leave_nothing() {
    for kind in [DispatchCores::Worker, DispatchCores::Ethernet] {
        let config = config(Arch::WormholeB0, kind);
        let (outcome, mesh) = run(&config, launches(1..4, &CoreSelection::All));
        assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
        let coords = reserved(&mesh, Arch::WormholeB0, kind);
        assert_eq!(coords.len(), if kind == DispatchCores::Worker { 8 } else { 16 });
        let of_reserved = |core: Noc0Coord| coords.contains(&TileCoord { x: core.x, y: core.y });
        let with_records = |lane: &&Lane| lane.record_count() > 0;
        let cores: BTreeSet<_> =
            outcome.readout.lanes().filter(with_records).map(|lane| lane.id.core).collect();
        assert!(!cores.iter().copied().any(of_reserved));
        let with_kernel = |key: &&sim::truth::RiscKey| !coords.contains(&key.core);
        assert_eq!(outcome.truth.launches.keys().filter(with_kernel).count(), cores.len());
        assert!(commands(&outcome).is_empty());
    }
}

/// Names of the analyses for `test_dispatch_cores` in `device_post_proc_config.py`; each analysis
/// counts the zones of one name.
const ANALYSES: [&str; 10] = [
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_SET_WRITE_OFFSET:0:CQ_DISPATCH_CMD_SET_WRITE_OFFSET",
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_TERMINATE",
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WAIT",
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_LINEAR",
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_LINEAR_H_HOST",
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_PACKED_LARGE:0:\
     CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES",
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_PACKED:0:CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_EVENT",
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_PACKED:0:\
     MCAST;CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH",
    "CQ-DISPATCH:0:CQ_DISPATCH_CMD_WRITE_PAGED",
    "CQ-DISPATCH:0:CQ_DISPATCH_NOTIFY_SUBORDINATE_GO_SIGNAL",
];

/// Counts the zones with these names on RISCs of one kind.
fn count(outcome: &Outcome, risc: Risc, names: &[&str]) -> u64 {
    let found = commands(outcome);
    let zones = found.iter().filter(|((_, of), _)| *of == risc).flat_map(|(_, zones)| zones);
    zones.filter(|(name, _)| names.contains(&name.as_str())).count() as u64
}

/// `test_dispatch_cores`: one program of tt-metal, without a program number.
#[test]
fn one_program_leaves_as_many_commands_as_upstreams_test_expects() {
    let config = config(Arch::WormholeB0, DispatchCores::Worker).with_dispatch_profiling();
    let (outcome, _) = run(&config, launches([0], &CoreSelection::AllTensix));
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    let dispatched = count(&outcome, Risc::Brisc, &ANALYSES);
    // 65 commands at the start. 10 commands of the program; 4 of them have no analysis: 3 for
    // arguments and 1 for the configuration. 5 commands for each read of 56 cores and 12 banks, and
    // for each write. 1 command at the end.
    assert_eq!(dispatched, 65 + (10 - 4) + 5 * (56 + 12 + 56) + 1);
    let prefetched = count(&outcome, Risc::Brisc, &["CQ-PREFETCH"]);
    assert_eq!(prefetched, 65 + 10 + 5 * (56 + 12 + 56) + 1);
    for count in [dispatched, prefetched] {
        assert!((9_325 - 8_875..=9_325 + 8_875).contains(&count), "{count}");
    }
}

/// Runs 1000 programs on four of the 64 workers of a Wormhole with 72 cores.
fn thousand_programs(kind: DispatchCores, support_count: u32) -> Outcome {
    let chip = ChipConfig::new(Arch::WormholeB0);
    let chip = chip.with_worker_core_count(72).with_epoch_max_cycles(1);
    let config = MeshConfig::new(3)
        .with_chip(chip)
        .with_dispatch_cores(kind)
        .with_dispatch_profiling()
        .with_program_support_count(support_count);
    let some = CoreSelection::At(workers_of(&config, 4));
    let (outcome, mesh) = run(&config, launches(1..=1000, &some));
    let expected = if kind == DispatchCores::Worker { 64 } else { 72 };
    assert_eq!(mesh.chip(0).unwrap().workers().count(), expected);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
    outcome
}

/// Returns the number of programs for which the first command fits into a dispatcher's lane.
///
/// A zone takes 4 words and a value 4. The ring is pushed when 496 of its 512 words are written, if
/// at least twelve words of the lane remain for the end of the launch.
fn programs_that_fit(lane_words: usize) -> usize {
    let opening = std::iter::repeat_n((false, 8), 65);
    let programs = (0..1000).flat_map(|program| {
        let wait = (program >= 7).then_some((false, 8));
        std::iter::once((true, 12)).chain(wait).chain([(false, 12); 8]).chain([(false, 8)])
    });
    let (mut ring, mut lane, mut fit, mut in_ring) = (12, 0, 0, 0);
    for (is_first, words) in opening.chain(programs) {
        ring += words;
        in_ring += usize::from(is_first);
        if ring >= 496 {
            if lane + ring + 12 > lane_words {
                break;
            }
            lane += ring;
            fit += in_ring;
            // The next ring begins with the zone of the push.
            (ring, in_ring) = (12 + 4, 0);
        }
    }
    fit
}

/// `test_dispatch_cores_extended_worker`: 1000 matrix products.
///
/// TT-Metal's figure of 87 is not the number of products. It is the number of products with
/// commands that fit into the dispatcher's lane (103 in an earlier revision with fewer commands per
/// program).
#[test]
fn lanes_for_a_thousand_programs_hold_the_commands_of_87() {
    let outcome = thousand_programs(DispatchCores::Worker, 1000);
    assert_eq!(programs_that_fit(12_000), 87);
    let recording = Recording::from_readout(outcome.readout);
    let report = OpsReport::from_recording(&recording, &OpsOptions::default());
    let mut rows = report.ops_csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = rows.next().unwrap();
    let column = |title: &str| titles.iter().position(|&found| found == title).unwrap();
    let columns =
        ["DISPATCH TOTAL CQ CMD OP TIME [ns]", "DISPATCH GO SEND WAIT TIME [ns]"].map(column);
    let call = column("GLOBAL CALL COUNT");
    assert!(!titles.contains(&"EMPTY FIGURES BECAUSE"), "what dispatchers lost is of no op");
    let mut counts = [0, 0];
    let mut row_count = 0_u32;
    for row in rows {
        row_count += 1;
        let id: u32 = row[call].parse().unwrap();
        assert_eq!(id >> 10, row_count);
        for (count, column) in counts.iter_mut().zip(columns) {
            *count += u32::from(!row[column].is_empty());
            assert_eq!(row[column].is_empty(), id >> 10 > 87, "{id} {}", row[column]);
        }
    }
    assert_eq!((row_count, counts), (1000, [87, 87]));
}

#[test]
fn a_thousand_programs_leave_as_many_commands_as_upstreams_tests_expect() {
    let outcome = thousand_programs(DispatchCores::Worker, 1500);
    // Only commands before the first program belong to no program.
    let dispatched = count(&outcome, Risc::Brisc, &ANALYSES);
    assert_eq!(dispatched, 65);
    let prefetched = count(&outcome, Risc::Brisc, &["CQ-PREFETCH"]);
    for count in [dispatched, prefetched] {
        assert!((9_325 - 9_260..=9_325 + 9_260).contains(&count), "{count}");
    }
    let outcome = thousand_programs(DispatchCores::Ethernet, 1500);
    for name in ["CQ-DISPATCH", "CQ-PREFETCH", "CQ-DISPATCH-SUBORDINATE"] {
        let count = count(&outcome, Risc::Erisc, &[name]);
        assert!((500..=11_000).contains(&count), "{name}: {count}");
    }
    let is_described = |readout: &Readout| readout.lanes().any(|lane| !lane.metadata.is_empty());
    assert!(!is_described(&outcome.readout), "upstream explains commands of Tensix cores alone");
}

#[test]
fn modes_that_end_no_launch_exclude_it_and_links_leave_no_ethernet_core() {
    let refused = |config: &MeshConfig| SimulatedMesh::new(config).unwrap_err().to_string();
    let config = config(Arch::WormholeB0, DispatchCores::Worker).with_dispatch_profiling();
    for config in [config.clone().with_trace_only(), config.clone().with_accumulation()] {
        let sentence = refused(&config);
        assert!(sentence.contains("profiled dispatch cores"), "{sentence}");
    }
    let linked = ChipConfig::new(Arch::WormholeB0).with_active_ethernet(14);
    let config = MeshConfig::new(1).with_chip(linked).with_dispatch_cores(DispatchCores::Ethernet);
    let sentence = refused(&config);
    assert!(sentence.starts_with("chip 0 has fewer than three Ethernet cores"), "{sentence}");
}
