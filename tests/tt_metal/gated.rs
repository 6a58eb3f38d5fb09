//! A kernel that writes markers of its own through the inner names of TT-Metal's header: equal with
//! both headers, and complete in a ring that fills.

use crate::{
    firmware, kernels,
    launches::{Told, arch, inner, told},
    machine::Machine,
    package::{Package, package, sources},
    toolchain::{Chip, Header, Mode, Processor, in_parallel},
};
use host_reader::{read_device_profiler, readout::Readout};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::sync::Arc;
use wire::{CoreKind, PacketKind};

const CORE: TileCoord = TileCoord { x: 2, y: 3 };

/// Passes whose records fit in a ring.
const PASSES: usize = 16;
/// Passes whose records are more than a ring holds.
const TOO_MANY_PASSES: usize = 80;
/// Slots of a ring behind the fixed ones.
const SLOTS: usize = 250;

fn job(chip: Chip, processor: Processor, passes: usize) -> kernels::Job {
    let job = kernels::Job::new(chip, processor, sources().join("gated.cpp"));
    job.with_defines(vec![format!("PASSES={passes}")])
}

/// Launches the kernel on all RISCs of a core.
fn run(package: &Package, chip: Chip, header: Header, passes: usize) -> Readout {
    let mut program = Program::new("gated");
    for (index, processor) in Processor::TENSIX.into_iter().enumerate() {
        let linked = kernels::link(package, &job(chip, processor, passes), false, header);
        let linked = linked.unwrap_or_else(|error| panic!("{chip} {processor} {header}: {error}"));
        let kernel = KernelFile::new(processor.name(), linked.file).unwrap();
        let risc = CoreKind::Tensix.risc(index).unwrap();
        program = program.with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    }
    let config = MeshConfig::new(5).with_chip(ChipConfig::new(arch(chip)).with_harvested(&[]));
    let firmware = firmware::set(package, chip, header);
    let mut machine = Machine::simulated(&config.with_firmware(&firmware));
    machine.launch([Launch::new(&Arc::new(program), 1).on(CoreSelection::At(vec![CORE]))]);
    let readout = read_device_profiler(machine.mesh()).unwrap();
    assert!(readout.anomalies.is_empty(), "{chip} {header}: {:?}", readout.anomalies);
    readout
}

const fn is_chosen(pass: usize) -> bool {
    matches!(pass % 8, 2..=5)
}

/// The records of a kernel, and the zones of the macros and the data that find no room in a ring.
#[derive(Default)]
struct Expected {
    records: Vec<(PacketKind, Option<u64>)>,
    lost_zones: u64,
    lost_data: u64,
}

/// Returns what the passes of `gated.cpp` leave in a ring: a zone takes two slots, a data record
/// two, and an event one. The kernel asks for room without a number, for its events, too; the room
/// then has to suffice for a zone.
fn expected(passes: usize) -> Expected {
    let mut expected = Expected::default();
    let mut free = SLOTS;
    for pass in 0..passes {
        let has_zone = free >= 2;
        if has_zone {
            free -= 2;
            expected.records.push((PacketKind::ZoneStart, None));
        } else {
            expected.lost_zones += 1;
        }
        let is_open = is_chosen(pass) && free >= 2;
        if is_open {
            free -= 2;
            expected.records.push((PacketKind::ZoneStart, None));
        }
        if free >= 2 {
            free -= 2;
            expected.records.push((PacketKind::TimestampedData, Some(pass as u64)));
        } else {
            expected.lost_data += 1;
        }
        if is_open {
            expected.records.push((PacketKind::ZoneEnd, None));
        }
        if free >= 2 {
            free -= 1;
            expected.records.push((PacketKind::TimestampedEvent, None));
        }
        if has_zone {
            expected.records.push((PacketKind::ZoneEnd, None));
        }
    }
    expected
}

/// Asserts that every RISC kept the expected records, and that each zone ends with its own id.
fn check(what: &str, readout: &Readout, expected: &Expected) {
    let lanes = told(readout);
    assert_eq!(lanes.len(), Processor::TENSIX.len(), "{what}: a run per RISC");
    for ((risc, _), records) in &lanes {
        let records = inner(records);
        let kinds: Vec<_> =
            records.iter().map(|(kind, _, data)| (*kind, data.first().copied())).collect();
        assert_eq!(kinds, expected.records, "{what}, {risc}");
        let mut open = Vec::new();
        for (kind, id, _) in records {
            match kind {
                PacketKind::ZoneStart => open.push(id),
                PacketKind::ZoneEnd => assert_eq!(open.pop(), Some(id), "{what}, {risc}"),
                _ => {}
            }
        }
        assert!(open.is_empty(), "{what}, {risc}");
    }
    let riscs = lanes.len() as u64;
    let lost = readout.losses.total();
    assert_eq!(
        (lost.zones, lost.data, lost.events),
        (riscs * expected.lost_zones, riscs * expected.lost_data, 0),
        "{what}"
    );
}

/// Markers that a kernel writes through the inner names are the same records with both headers.
#[test]
fn zones_gated_through_inner_names_are_the_same_records_with_both_headers() {
    let Some(package) = package() else { return };
    let expected = expected(PASSES);
    assert_eq!((expected.lost_zones, expected.lost_data), (0, 0), "all fit");
    let jobs: Vec<(Chip, Header)> = Chip::ALL
        .into_iter()
        .flat_map(|chip| [(chip, Header::Upstream), (chip, Header::Ours)])
        .collect();
    let readouts = in_parallel(&jobs, |&(chip, header)| run(package, chip, header, PASSES));
    for (&(chip, header), readout) in jobs.iter().zip(&readouts) {
        check(&format!("{chip}, {header}"), readout, &expected);
    }
    for (pair, chip) in readouts.chunks(2).zip(Chip::ALL) {
        let [upstream, ours] = pair else { panic!("two headers") };
        let [upstream, ours] = [upstream, ours].map(|readout| {
            let lanes = told(readout);
            let of_kernel = |records: &Vec<Told>| inner(records).to_vec();
            lanes.iter().map(|(lane, records)| (*lane, of_kernel(records))).collect::<Vec<_>>()
        });
        assert_eq!(upstream, ours, "{chip}");
    }
}

/// In a ring that fills, zones of a kernel's own markers leave room for every end, and losses of
/// the macros are counted.
#[test]
fn zones_gated_through_inner_names_end_in_a_ring_that_fills() {
    let Some(package) = package() else { return };
    let expected = expected(TOO_MANY_PASSES);
    assert!(expected.lost_zones > 0 && expected.lost_data > 0, "a ring fills");
    let readouts =
        in_parallel(&Chip::ALL, |&chip| run(package, chip, Header::Ours, TOO_MANY_PASSES));
    for (chip, readout) in Chip::ALL.into_iter().zip(&readouts) {
        check(&format!("{chip}, a full ring"), readout, &expected);
    }
}

/// With records streamed there is no vector to write to, and the compiler says what to use.
#[test]
fn streams_refuse_the_inner_names_with_a_sentence() {
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        let job = job(chip, Processor::Brisc, PASSES).in_mode(Mode::Stream);
        let Err(error) = kernels::link(package, &job, false, Header::Ours) else {
            panic!("{chip}: a kernel with an index of words compiles");
        };
        assert!(error.contains("expected DeviceZoneScopedN"), "{chip}: {error}");
    }
}
