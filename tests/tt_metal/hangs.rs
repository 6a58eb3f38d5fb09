//! A kernel that hangs under tt-metal's firmware: where the RISCs stand.

use crate::{
    firmware, kernels,
    launches::arch,
    package::{Package, package, sources},
    toolchain::{Chip, Header, Processor},
};
use sim::{
    arch::TileCoord,
    config::{ChipConfig, MeshConfig},
    kernel::file::KernelFile,
    machine::FailureReason,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    unfinished::{Standing, StandingCode, UnfinishedLaunch},
};
use std::sync::Arc;
use wire::{CoreKind, Risc};

const CORE: TileCoord = TileCoord { x: 2, y: 3 };
const LIMIT_CYCLES: u64 = 50_000;

/// Runs the kernel on one RISC of a core.
fn run(package: &Package, chip: Chip, index: usize) -> Vec<UnfinishedLaunch> {
    let processor = Processor::TENSIX[index];
    let job = kernels::Job::new(chip, processor, sources().join("hang.cpp"));
    let linked = kernels::link(package, &job, false, Header::Ours);
    let linked = linked.unwrap_or_else(|error| panic!("{chip} {processor}: {error}"));
    let kernel = KernelFile::new(processor.name(), linked.file).unwrap();
    let risc = CoreKind::Tensix.risc(index).unwrap();
    let program = Program::new("hang").with_kernel(risc, Arc::new(kernel) as Arc<dyn Kernel>);
    let config = MeshConfig::new(5).with_chip(ChipConfig::new(arch(chip)).with_harvested(&[]));
    let firmware = firmware::set(package, chip, Header::Ours);
    let config = config.with_firmware(&firmware).with_cycle_limit(LIMIT_CYCLES);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    let launch = Launch::new(&Arc::new(program), 1).on(CoreSelection::At(vec![CORE]));
    mesh.enqueue(0, launch).unwrap();
    mesh.run_to_completion();
    mesh.unfinished_launches().cloned().collect()
}

#[test]
fn a_kernel_that_hangs_stands_in_its_own_code_and_brisc_in_its_firmware() {
    let Some(package) = package() else { return };
    for chip in Chip::ALL {
        for (index, own) in [(0, Risc::Brisc), (1, Risc::Ncrisc)] {
            let launches = run(package, chip, index);
            let [launch] = launches.as_slice() else { panic!("{chip} {own}: {launches:?}") };
            assert_eq!((launch.core, launch.launch_index), (CORE, 0), "{chip} {own}");
            let hung = launch.riscs.iter().find(|risc| risc.risc == own).unwrap();
            let limit = FailureReason::CycleLimit { limit_cycles: LIMIT_CYCLES };
            let unended = Standing::Unended { failure: Some(limit.to_string()) };
            assert_eq!(hung.state, unended, "{chip} {own}");
            // On a Wormhole, NCRISC's code is in its instruction RAM.
            let Some(StandingCode::Loaded(code)) = &hung.code else {
                panic!("{chip} {own}: {hung:?}")
            };
            assert!(!code.is_firmware && code.loaded.contains(&hung.pc), "{chip} {own}: {hung:?}");
            assert_eq!(code.name(), Processor::TENSIX[index].name(), "{chip} {own}");
            let words: Vec<_> = hung.polls.iter().map(|word| (&*word.object, word.value)).collect();
            assert_eq!(words, [("CB_WAIT 3", Some(0))], "{chip} {own}: {hung:?}");
            // The firmware sets counters back, so that its stores are no signals.
            assert_eq!(hung.polls[0].stored_by, Some(Vec::new()), "{chip} {own}");
            if own == Risc::Ncrisc {
                let brisc = launch.riscs.iter().find(|risc| risc.risc == Risc::Brisc).unwrap();
                assert_eq!(brisc.state, Standing::Polls, "{chip}");
                assert!(brisc.code.as_ref().unwrap().is_firmware(), "{chip}: {brisc:?}");
                let mut awaited = brisc.polls.iter().map(|word| &*word.object);
                assert!(
                    awaited.any(|object| object.starts_with("mailbox 0x")),
                    "{chip}: {brisc:?}"
                );
            }
        }
    }
}
