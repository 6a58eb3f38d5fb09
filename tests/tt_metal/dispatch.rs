//! The kernels of tt-metal's dispatch cores, unchanged, with either header.

mod commands;
mod definitions;
mod run;

use crate::{
    kernels::{self, Job},
    machine::Simulator,
    package::{Package, package},
    program::Program,
    toolchain::{Chip, Header, Mode, first_error, in_parallel},
};
use commands::{Command, PAGED_BYTES};
use definitions::{COMPLETION, Duty, GO, Places, definitions};
use host_reader::{
    anomaly::AnomalyKind,
    mesh::{Mesh, Noc0Coord},
    readout::Readout,
};
use run::{
    ARGUMENTS, CONFIGURATIONS, DISPATCHER, Kernels, LAUNCHES, LINEAR, PAGED, PREFETCHER, Session,
    WORKERS, bytes_of, places,
};
use sim::arch::TileCoord;
use std::fmt::Write as _;
use wire::{PacketKind, Risc};

/// Zone of a push during a launch.
const PUSH: &str = "PROFILER-NOC-QUICK-PUSH";

/// Returns a kernel as tt-metal's host builds it for a worker core: with `-O2`, and its queue in
/// the host's memory.
fn job(package: &Package, chip: Chip, duty: Duty) -> Job {
    let places = Places {
        chip,
        prefetcher: (18, 25),
        dispatcher: (19, 25),
        workers: [(18, 18), (25, 24)],
        worker_count: 56,
    };
    let defines = definitions(duty, &places, false);
    let defines = defines.into_iter().map(|(name, value)| format!("{name}={value}"));
    Job::new(chip, duty.processor(), duty.source(package))
        .with_defines(defines.collect())
        .in_mode(Mode::Dispatch)
        .optimised("O2")
}

/// Every kernel links without warnings and orphan sections, takes at most the text and RAM that it
/// takes with TT-Metal's header, and names the same zones.
#[test]
fn kernels_of_dispatch_cores_link_and_are_no_larger_than_with_upstreams_header() {
    let Some(package) = package() else { return };
    let all = Chip::ALL.into_iter().flat_map(|chip| Duty::ALL.map(|duty| (chip, duty)));
    let all: Vec<(Chip, Duty)> = all.collect();
    let headers = [Header::Upstream, Header::Ours];
    let linked = in_parallel(&all, |&(chip, duty)| {
        let job = job(package, chip, duty);
        let texts = headers.map(|header| job.zone_texts(package, header));
        let programs = headers.map(|header| {
            let program = kernels::link(package, &job, false, header);
            program
                .unwrap_or_else(|error| panic!("{chip} {duty:?} {header}: {}", first_error(&error)))
        });
        (texts, programs)
    });
    let mut table =
        String::from("dispatch kernel          text: upstream  ours  RAM: upstream  ours\n");
    let mut faults = Vec::new();
    for ((chip, duty), ([theirs, ours], programs)) in all.iter().zip(&linked) {
        let name = format!("{chip} {}", duty.file_name());
        let [text, ram] = [Program::text_bytes, Program::ram_bytes]
            .map(|of: fn(&Program) -> u32| [of(&programs[0]), of(&programs[1])]);
        writeln!(table, "{name:<41} {text:?} {ram:?}").unwrap();
        // Zones in TT-Metal's header itself do not belong to the kernel.
        let is_kernels = |text: &&String| !text.contains("/kernel_profiler");
        let [theirs, ours] = [theirs, ours].map(|texts| {
            assert!(texts.iter().any(|text| text.starts_with(PUSH)), "{name}: {texts:?}");
            texts.iter().filter(is_kernels).collect::<Vec<_>>()
        });
        assert_eq!(theirs, ours, "{name}");
        assert!(theirs.iter().any(|text| text.starts_with(duty.zone())), "{name}: {theirs:?}");
        for ([theirs, ours], part) in [text, ram].into_iter().zip(["text", "RAM"]) {
            if ours > theirs {
                faults.push(format!("{name}: {ours} bytes of {part}, {theirs} with upstream's"));
            }
        }
        for program in programs {
            assert_eq!(program.orphans(), [""; 0], "{name}");
        }
    }
    println!("{table}");
    crate::publish("dispatch.txt", &table);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Records of a lane (kind, name, data), except the zones of pushes, of the firmware and of the
/// kernel's wrapper.
type Told = Vec<(PacketKind, String, Vec<u64>)>;

fn told(readout: &Readout, tile: TileCoord, risc: Risc) -> Told {
    let core = Noc0Coord { x: tile.x, y: tile.y };
    let lanes = readout.lanes().filter(|lane| lane.id.core == core && lane.id.risc == risc);
    let lane = lanes.last().unwrap();
    let all = lane.records().map(|record| {
        let name = readout.zones.name(record.zone).to_owned();
        (record.kind, name, record.data.to_vec())
    });
    let is_kernels = |name: &str| {
        name != PUSH && !["-FW", "-KERNEL"].iter().any(|ending| name.ends_with(ending))
    };
    all.filter(|(_, name, _)| is_kernels(name)).collect()
}

/// Returns the records of commands: for each command a zone around its number and further data.
fn records_of(duty: Duty, commands: &[Command]) -> Told {
    let number = match duty {
        Duty::Subordinate => "process_cmd_d_dispatch_subordinate",
        _ => "process_cmd_d_dispatch",
    };
    let mut told = Told::new();
    for command in commands {
        told.push((PacketKind::ZoneStart, duty.zone().to_owned(), vec![]));
        let data = [Some((number, command.id())), command.detail];
        told.extend(
            data.into_iter()
                .flatten()
                .map(|(name, value)| (PacketKind::TimestampedData, name.to_owned(), vec![value])),
        );
        told.push((PacketKind::ZoneEnd, duty.zone().to_owned(), vec![]));
    }
    told
}

fn zones(name: &str, count: usize) -> Told {
    let zone = |kind| (kind, name.to_owned(), vec![]);
    let both = [zone(PacketKind::ZoneStart), zone(PacketKind::ZoneEnd)];
    std::iter::repeat_n(both, count).flatten().collect()
}

/// Asserts that two lists are equal; reports the first record that differs.
fn assert_same(what: &str, found: &Told, expected: &Told) {
    let first = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = first.map(|at| (at, &found[at], &expected[at]));
    assert_eq!((at, found.len()), (None, expected.len()), "{what}");
}

/// tt-metal's own prefetcher, dispatcher and subordinate execute a queue of programs.
///
/// Workers begin at their GO messages, after all writes for these workers, and each command has
/// left its records. With TT-Metal's header the records are the same.
#[test]
fn kernels_of_dispatch_cores_carry_a_queue_out_and_record_each_command() {
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        let programs = (0..24).map(|index| 700 + 3 * index).collect();
        let session = Session::every_sort(&places(chip), programs);
        let headers: &[Header] = match chip {
            Chip::Wormhole => &[Header::Ours, Header::Upstream],
            Chip::Blackhole => &[Header::Ours],
        };
        for &header in headers {
            for simulator in Simulator::all(chip) {
                let what = format!("{chip}, {header} on {simulator}");
                let kernels = Kernels::new(package, chip, header);
                let (mut machine, readout) = kernels.run(package, &simulator, &session);
                assert!(readout.losses.is_empty(), "{what}: {:?}", readout.losses);
                check_records(&what, &readout, &session);
                check_memory(&what, machine.mesh(), &session);
            }
        }
    }
}

/// Asserts that each core has recorded each of its commands.
fn check_records(what: &str, readout: &Readout, session: &Session) {
    // Each push during a launch repeats the markers in fixed slots.
    let is_repeated = |kind| kind == AnomalyKind::DuplicateGuaranteedMarker;
    let mut kinds = readout.anomalies.kept().iter().map(|anomaly| anomaly.kind);
    assert!(kinds.all(is_repeated), "{what}: {:?}", readout.anomalies);
    let dispatched = told(readout, DISPATCHER, Risc::Brisc);
    assert_same(what, &dispatched, &records_of(Duty::Dispatch, &session.dispatched));
    let announced = told(readout, DISPATCHER, Risc::Ncrisc);
    assert_same(what, &announced, &records_of(Duty::Subordinate, &session.announced));
    let fetched = told(readout, PREFETCHER, Risc::Brisc);
    assert_same(what, &fetched, &zones(Duty::Prefetch.zone(), session.fetched_count()));
    for tile in WORKERS {
        let worked = told(readout, tile, Risc::Brisc);
        assert_same(what, &worked, &zones("worked", session.programs.len()));
    }
}

/// `test_dispatch_cores_extended_worker`: commands of 87 programs fit into the dispatcher's lane.
///
/// tt-metal's dispatcher executes the list of commands of the simulator's own dispatcher. All
/// records are kept or lost.
#[test]
fn lanes_for_a_thousand_programs_hold_what_tt_metals_dispatcher_records_of_87() {
    let Some(package) = package() else { return };
    let chip = Chip::Wormhole;
    let session = Session::model(&places(chip), (1..=100).collect());
    let kernels = Kernels::new(package, chip, Header::Ours);
    let (_, readout) = kernels.run(package, &Simulator::Ours, &session);
    let found = told(&readout, DISPATCHER, Risc::Brisc);
    let expected = records_of(Duty::Dispatch, &session.dispatched);
    assert_eq!(found, expected[..found.len()]);
    let is_program = |told: &&(PacketKind, String, Vec<u64>)| told.1 == "runtime_host_id_dispatch";
    assert_eq!(found.iter().filter(is_program).count(), 87);
    let count = |told: &[(PacketKind, String, Vec<u64>)], kind| {
        told.iter().filter(|told| told.0 == kind).count() as u64
    };
    let lost = readout.losses.total();
    let kinds = [PacketKind::ZoneStart, PacketKind::TimestampedData];
    let kept = kinds.map(|kind| count(&found, kind)).into_iter().sum::<u64>();
    let emitted = kinds.map(|kind| count(&expected, kind)).into_iter().sum::<u64>();
    // If DRAM has no room for a ring, the loss is counted in slots of 8 bytes: two slots for each
    // zone and value, and two for the zone of the previous push.
    let in_ring = emitted - kept - lost.zones - lost.data;
    assert_eq!(lost.unknown_markers, 2 * in_ring + 2, "{:?}", readout.losses);
}

/// Asserts that all writes of commands have reached their addresses.
fn check_memory(what: &str, mesh: &mut dyn Mesh, session: &Session) {
    let device = mesh.device(0).unwrap();
    let bytes_at = |words: Vec<u32>| words.into_iter().flat_map(u32::to_le_bytes);
    let mut of_tile = |tile: TileCoord, address: u32, expected: Vec<u8>| {
        let mut words = vec![0; expected.len().div_ceil(4)];
        device.read_l1(Noc0Coord { x: tile.x, y: tile.y }, address.into(), &mut words).unwrap();
        let found: Vec<u8> = bytes_at(words).take(expected.len()).collect();
        assert_eq!(found, expected, "{what}: {tile} at {address:#x}");
    };
    for (at, tile) in (0..).zip(WORKERS) {
        of_tile(tile, LINEAR, bytes_of(1, 6000));
        for (index, &program) in (0..).zip(&session.programs) {
            let seed = 0x1000 * u32::from(program);
            of_tile(tile, ARGUMENTS + 0x20 * index, bytes_of(seed + at, 24));
            let place = CONFIGURATIONS + 0x400 * index;
            of_tile(tile, place, bytes_of(seed + 5, 40));
            of_tile(tile, place + 0x40, bytes_of(seed + 6, 100 + 16 * index as usize));
            of_tile(tile, LAUNCHES + 0x40 * index, bytes_of(seed + 7, 48));
        }
        of_tile(tile, GO, session.program_count().to_le_bytes().into());
    }
    let mut words = vec![0; PAGED_BYTES as usize / 4];
    let banks = device.description().dram.bank_count;
    for (page, expected) in (0..).zip(bytes_of(2, 64 * 100).chunks(PAGED_BYTES as usize)) {
        let at = u64::from(PAGED + PAGED_BYTES * (page / banks));
        device.read_dram(page % banks, at, &mut words).unwrap();
        assert_eq!(bytes_at(words.clone()).collect::<Vec<_>>(), expected, "{what}: page {page}");
    }
    // The data for the host begin with the command.
    let mut words = vec![0; 5016 / 4];
    device.read_dram(0, COMPLETION.into(), &mut words).unwrap();
    let found: Vec<u8> = bytes_at(words).skip(16).collect();
    assert_eq!(found, bytes_of(3, 5000), "{what}: the host's");
}
