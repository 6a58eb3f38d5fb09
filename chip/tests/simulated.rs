//! Compares a chip read through rails with the simulator's own mesh.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod support;

use chip::{
    facts::ChipFacts,
    layout::FirmwareLayout,
    mesh::{ChipDevice, ChipMesh, OpenError, OpenOptions},
    rails::{RangeUse, Writes},
};
use reader::mesh::{Device as _, Mesh};
use sim::{arch::Arch, mesh::SimulatedMesh, random::Stream};
use std::{env, fs, path::Path};
use support::{SimulatedChip, assert_same, is_reached, ran, ran_with_links, read};
use wire::CoreKind;

/// Chips, workloads and seeds, including workloads with losses and with faults.
const RUNS: [(Arch, u32, &str, u64); 6] = [
    (Arch::WormholeB0, 64, "full-buffer", 1),
    (Arch::Blackhole, 140, "full-buffer", 2),
    (Arch::WormholeB0, 72, "timestamped-events", 3),
    (Arch::Blackhole, 120, "matmul", 4),
    (Arch::Blackhole, 130, "random", 5),
    (Arch::WormholeB0, 80, "random", 6),
];

fn open(chip: &SimulatedChip, writes: Writes) -> Result<ChipMesh<&SimulatedChip>, OpenError> {
    let options = OpenOptions { writes, ..OpenOptions::default() };
    let device = ChipDevice::open(chip, &chip.facts(), &chip.layout(), &options)?;
    Ok(ChipMesh { devices: vec![device] })
}

#[test]
fn readouts_are_those_of_the_simulators_own_mesh() {
    for (arch, cores, workload, seed) in RUNS {
        let mut direct = ran(arch, cores, workload, seed);
        let chip = SimulatedChip::new(ran(arch, cores, workload, seed));
        // The first read writes nothing, so the second read finds both chips unchanged.
        for writes in [Writes::Refused, Writes::ControlVectors] {
            let read_only = writes == Writes::Refused;
            let mut mesh = open(&chip, writes).unwrap();
            assert_same_chip(&mut mesh, &mut direct);
            let (expected, found) = (read(&mut direct, read_only), read(&mut mesh, read_only));
            assert!(expected.record_count() > 1000, "{workload} leaves records");
            assert_same(&found, &expected);
        }
    }
}

/// Compares two descriptions of a chip. The DRAM region of the chip read through rails may be
/// smaller, because a host announces only the part that cores need.
fn assert_same_chip(mesh: &mut dyn Mesh, direct: &mut dyn Mesh) {
    let mut expected = direct.device(0).unwrap().description().clone();
    let found = mesh.device(0).unwrap().description();
    assert!(found.dram.region_bytes <= expected.dram.region_bytes);
    expected.dram.region_bytes = found.dram.region_bytes;
    let whole = expected.clone();
    expected.cores.retain(|core| is_reached(&whole, core));
    assert!(*found == expected, "{} {:?}", found.arch, found.dram);
}

#[test]
fn every_access_takes_noc_1_and_stays_within_what_was_named() {
    for (arch, cores, workload, seed) in RUNS {
        let chip = SimulatedChip::new(ran(arch, cores, workload, seed));
        for writes in [Writes::Refused, Writes::ControlVectors] {
            let before = chip.noted().len();
            let mut mesh = open(&chip, writes).unwrap();
            read(&mut mesh, writes == Writes::Refused);
            let named: Vec<_> = mesh.devices[0].rails().named().collect();
            let noted = chip.noted().split_off(before);
            for &(is_write, noc, tile, address, bytes) in &noted {
                assert_eq!(noc, 1);
                let end = address + bytes as u64;
                let holds = |&&(at, range): &&(_, &chip::rails::NamedRange)| {
                    at == tile && address >= range.start && end <= range.start + range.size_bytes
                };
                let range = named.iter().find(holds).unwrap().1;
                assert!(!is_write || range.range_use == RangeUse::Control);
            }
            let write_count = noted.iter().filter(|access| access.0).count();
            assert_eq!(write_count > 0, writes == Writes::ControlVectors, "{workload}");
        }
    }
}

/// After the bus disappears, at most two more words are read: the word that is all ones, and the
/// word that is read to confirm the disappearance. A block read in progress may add one more.
#[test]
fn a_chip_that_vanishes_is_left_alone_and_what_was_read_is_kept() {
    let seed = env::var("KPROF_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let mut random = Stream::new(seed, &[0]);
    let whole = read(&mut ran(Arch::WormholeB0, 64, "matmul", 1), true);
    let chip = SimulatedChip::new(ran(Arch::WormholeB0, 64, "matmul", 1));
    for _ in 0..12 {
        chip.revive();
        let mut mesh = open(&chip, Writes::Refused).unwrap();
        let life = 128 + random.below(150);
        let end = chip.noted().len() as u64 + life;
        chip.die_after(life);
        let found = read(&mut mesh, true);
        let after = chip.noted().len() as u64 - end;
        assert!((1..=3).contains(&after), "{after} accesses after its end");
        assert!(mesh.devices[0].rails().stopped().is_some());
        let lanes = |readout: &reader::readout::Readout| readout.devices[0].lanes.clone();
        let (kept, all) = (lanes(&found), lanes(&whole));
        assert!(kept.iter().all(|lane| all.contains(lane)), "no lane is other than it was");
        assert!(kept.len() < all.len());
        assert!(found.anomalies.anomaly_count() > 0);
    }
}

#[test]
fn a_chip_that_is_gone_from_the_start_is_asked_for_one_word() {
    let chip = SimulatedChip::new(ran(Arch::Blackhole, 140, "matmul", 1));
    chip.die_after(0);
    let error = open(&chip, Writes::ControlVectors).unwrap_err();
    assert!(error.to_string().contains("gave 0xffffffff"), "{error}");
    assert_eq!(chip.noted().len(), 1);
}

#[test]
fn a_chip_without_a_profiler_is_told_from_one_that_does_not_answer() {
    let config = sim::config::MeshConfig::wormhole(1);
    let chip = SimulatedChip::new(SimulatedMesh::new(&config).unwrap());
    let error = open(&chip, Writes::Refused).unwrap_err();
    assert!(error.to_string().contains("TT_METAL_DEVICE_PROFILER=1"), "{error}");
}

/// Opens a chip with a controller that does not report which Ethernet channels have a link.
fn open_untold<'a>(
    chip: &'a SimulatedChip,
    layout: &FirmwareLayout,
    writes: Writes,
) -> ChipDevice<&'a SimulatedChip> {
    let facts = ChipFacts { active_ethernet: None, ..chip.facts() };
    let options = OpenOptions { writes, ..OpenOptions::default() };
    ChipDevice::open(chip, &facts, layout, &options).unwrap()
}

#[test]
fn control_vectors_tell_which_firmware_ethernet_cores_run() {
    for (arch, cores, workload, seed, links) in [
        (Arch::WormholeB0, 64, "full-buffer", 1, 5),
        (Arch::WormholeB0, 72, "full-buffer", 3, 16),
        (Arch::WormholeB0, 80, "full-buffer", 4, 0),
        (Arch::Blackhole, 140, "full-buffer", 2, 6),
    ] {
        let run = || ran_with_links(arch, cores, workload, seed, links);
        let (mut direct, chip) = (run(), SimulatedChip::new(run()));
        for writes in [Writes::Refused, Writes::ControlVectors] {
            let read_only = writes == Writes::Refused;
            let device = open_untold(&chip, &chip.layout(), writes);
            assert_eq!(device.untold_ethernet_cores(), 0);
            let mut mesh = ChipMesh { devices: vec![device] };
            let whole = direct.device(0).unwrap().description().clone();
            let mut expected = whole.cores.clone();
            expected.retain(|core| is_reached(&whole, core));
            let has_both_places = arch == Arch::WormholeB0;
            for core in expected.iter_mut().filter(|core| core.kind == CoreKind::ActiveEth) {
                // On a Blackhole, the two kinds of Ethernet cores cannot be distinguished, and no
                // result depends on the kind.
                core.kind = if has_both_places { core.kind } else { CoreKind::IdleEth };
            }
            assert!(expected.iter().any(|core| core.kind != CoreKind::Tensix));
            assert!(mesh.device(0).unwrap().description().cores == expected, "{arch} {links}");
            let (expected, found) = (read(&mut direct, read_only), read(&mut mesh, read_only));
            let erisc = |readout: &reader::readout::Readout| {
                let lanes = readout.lanes().filter(|lane| lane.id.risc == wire::Risc::Erisc);
                lanes.map(|lane| lane.record_count()).sum::<usize>()
            };
            assert_eq!(
                erisc(&expected) > 0,
                links > 0,
                "{workload} leaves records of Ethernet cores"
            );
            assert_same(&found, &expected);
        }
    }
}

#[test]
fn ethernet_cores_are_left_alone_and_counted_where_nothing_is_announced_to_them() {
    let chip = SimulatedChip::new(ran_with_links(Arch::WormholeB0, 64, "full-buffer", 1, 5));
    let whole = chip.layout();
    let kinds = |device: &ChipDevice<_>, kind| {
        device.description().cores.iter().filter(|core| core.kind == kind).count()
    };
    // Without the files of one firmware, cores that run it cannot be identified.
    let no_active = FirmwareLayout { active_ethernet: None, ..whole };
    let device = open_untold(&chip, &no_active, Writes::Refused);
    assert_eq!((kinds(&device, CoreKind::IdleEth), device.untold_ethernet_cores()), (11, 5));
    let no_idle = FirmwareLayout { idle_ethernet: None, ..whole };
    let device = open_untold(&chip, &no_idle, Writes::Refused);
    assert_eq!((kinds(&device, CoreKind::ActiveEth), device.untold_ethernet_cores()), (5, 11));
    let no_file = FirmwareLayout { active_ethernet: None, ..no_idle };
    let device = open_untold(&chip, &no_file, Writes::Refused);
    let kinds = |kind| kinds(&device, kind);
    assert_eq!((kinds(CoreKind::Tensix), kinds(CoreKind::IdleEth)), (64, 0));
    assert_eq!(device.untold_ethernet_cores(), 16);
    // Flat ids count the Ethernet tiles, too, although these tiles are not read.
    assert_eq!(device.description().cores[0].flat_id, 1);
}

/// The firmware files of the `ttnn` package give the addresses that the simulator, which boots this
/// firmware, uses.
#[test]
fn shipped_firmware_tells_the_places_of_a_chip_that_runs_it() {
    let Some(package) = env::var_os("KPROF_TTNN") else {
        assert!(env::var_os("CI").is_none(), "KPROF_TTNN must name the package in CI");
        return;
    };
    let sets = fs::read_dir(Path::new(&package).join("tt_metal/pre-compiled")).unwrap();
    let mut sets: Vec<_> = sets.map(|set| set.unwrap().path()).collect();
    sets.sort();
    let mut layouts: Vec<(Arch, FirmwareLayout)> = Vec::new();
    for set in &sets {
        let layout = FirmwareLayout::open(set).unwrap();
        assert_eq!(layout, FirmwareLayout::open(&set.join("brisc/brisc.elf")).unwrap());
        layouts.push((layout.arch, layout));
    }
    assert_eq!(layouts.len(), 64);
    for arch in Arch::ALL {
        let mut chip_layouts =
            layouts.iter().filter(|(of, _)| *of == arch).map(|(_, layout)| *layout);
        let first = chip_layouts.next().unwrap();
        assert!(chip_layouts.all(|layout| layout == first), "sets of one release agree");
        let expected = match arch {
            Arch::WormholeB0 => [0xB10, 0x3_E520, 0x27D0],
            Arch::Blackhole => [0xBE0, 0xA10, 0xA10],
        };
        let kinds = [CoreKind::Tensix, CoreKind::ActiveEth, CoreKind::IdleEth];
        assert_eq!(kinds.map(|kind| first.memory(kind).unwrap().control_address), expected);
    }
}
