//! More launches than DRAM has room for, with TT-Metal's header and with ours.
//!
//! # Compatibility
//! `test_device_profiler.py`, `test_multi_op_buffer_overflow`.

use crate::{
    firmware, kernels,
    launches::arch,
    machine::Machine,
    package::{Package, package, sources},
    toolchain::{Chip, Header, Mode, Processor},
};
use host_reader::{names::ZoneTable, read_device_profiler, timeline::Timeline};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire::{CoreKind, Risc};

/// A Tensix tile that exists on both chips.
const CORE: TileCoord = TileCoord { x: 2, y: 3 };
const LAUNCHES: u32 = 1400;
/// One launch in this number runs compute kernels.
const COMPUTES_EVERY: u32 = 5;

/// Returns the number of kept kernel zones of each RISC.
fn kept(package: &Package, chip: Chip, header: Header) -> BTreeMap<Risc, usize> {
    let mut texts = BTreeSet::new();
    texts.extend(firmware::zone_texts(package, chip, (header, Mode::Plain)));
    let kernels: Vec<_> = Processor::TENSIX
        .into_iter()
        .map(|processor| {
            let job = kernels::Job::new(chip, processor, sources().join("empty.cpp"));
            texts.extend(job.zone_texts(package, header));
            let linked = kernels::link(package, &job, false, header).unwrap();
            let file = KernelFile::new(processor.name(), linked.file).unwrap();
            Arc::new(file) as Arc<dyn Kernel>
        })
        .collect();
    let program_of = |riscs: usize| {
        let kernels = kernels.iter().enumerate().take(riscs);
        let program = kernels.fold(Program::new("empty"), |program, (index, kernel)| {
            program.with_kernel(CoreKind::Tensix.risc(index).unwrap(), Arc::clone(kernel))
        });
        Arc::new(program)
    };
    let (moving, computing) = (program_of(2), program_of(kernels.len()));
    let chip_config = ChipConfig::new(arch(chip)).with_harvested(&[]);
    let config = MeshConfig::new(5).with_chip(chip_config);
    let mut machine =
        Machine::simulated(&config.with_firmware(&firmware::set(package, chip, header)));
    machine.launch((0..LAUNCHES).map(|op| {
        let program = if op.is_multiple_of(COMPUTES_EVERY) { &computing } else { &moving };
        Launch::new(program, op + 1).on(CoreSelection::At(vec![CORE]))
    }));
    let mut readout = read_device_profiler(machine.mesh()).unwrap();
    readout.zones = ZoneTable::from_texts(&texts).unwrap();
    let mut counts = BTreeMap::new();
    for lane in Timeline::from_readout(&readout).lanes() {
        let is_kernel =
            |zone: &host_reader::timeline::Zone| readout.zones.name(zone.zone).ends_with("-KERNEL");
        *counts.entry(lane.id.risc).or_default() += lane.zones.iter().filter(is_kernel).count();
    }
    counts
}

/// 1,000 launches of the data movers, and 200 of the TRISCs. TT-Metal's header fills the TRISCs'
/// lanes at every launch. Our header writes only the runs of a launch, so that all 280 fit.
#[test]
fn upstreams_lanes_hold_a_thousand_launches_and_ours_those_that_ran() {
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        for (header, of_compute) in [(Header::Upstream, 200), (Header::Ours, 280)] {
            let trisc = [Risc::Trisc0, Risc::Trisc1, Risc::Trisc2].map(|risc| (risc, of_compute));
            let movers = [Risc::Brisc, Risc::Ncrisc].map(|risc| (risc, 1000));
            let expected: BTreeMap<_, _> = movers.into_iter().chain(trisc).collect();
            assert_eq!(kept(package, chip, header), expected, "{chip}, {header}");
        }
    }
}
