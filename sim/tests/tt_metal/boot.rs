//! Tests that every firmware set boots and runs launches, on a core with random data in its memory.

use crate::package::sets;
use reader::mesh::{Mesh, Noc0Coord};
use sim::{
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh,
    program::{CoreSelection, Launch, Program},
    random::Stream,
    tt_metal::firmware::FirmwareSet,
};
use std::{path::Path, sync::Arc};
use wire::CoreKind;

/// Runs two launches without kernels on a firmware set; returns the first failure.
fn failure(folder: &Path) -> Option<String> {
    let set = Arc::new(FirmwareSet::open(folder).unwrap());
    let config = MeshConfig::new(1)
        .with_chip(ChipConfig::new(set.arch()))
        .with_firmware(&set)
        .with_cycle_limit(100_000);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    let mut cores = mesh.chip(0).unwrap().plan().cores().iter();
    let core = cores.find(|core| core.kind == CoreKind::Tensix).unwrap().coord;
    fill_with_garbage(&mut mesh, Noc0Coord { x: core.x, y: core.y });
    let launch = |id| Launch::new(&Arc::new(Program::new("empty")), id);
    for id in 1..=2 {
        mesh.enqueue(0, launch(id).on(CoreSelection::At(vec![core]))).unwrap();
        mesh.run_to_completion();
        if let Some(failure) = mesh.execution_failures().next() {
            return Some(format!("launch {id}: {failure}"));
        }
    }
    let mut signal = [0xFF];
    let (address, _) = set.done_signal();
    let coord = Noc0Coord { x: core.x, y: core.y };
    mesh.device(0).unwrap().read_l1(coord, u64::from(address & !3), &mut signal).unwrap();
    assert_eq!(signal[0] >> (8 * (address & 3)) & 0xFF, 0, "the signal of a launch that is over");
    None
}

fn fill_with_garbage(mesh: &mut SimulatedMesh, core: Noc0Coord) {
    let mut random = Stream::new(7, &[]);
    let words: Vec<u32> = (0..0x10_000).map(|_| (random.next_u64() >> 32) as u32).collect();
    mesh.device(0).unwrap().write_l1(core, 0, &words).unwrap();
}

#[test]
fn every_set_boots_and_takes_two_empty_launches() {
    let Some(sets) = sets() else { return };
    let count = sets.len();
    let failures: Vec<String> = sets
        .iter()
        .filter_map(|set| {
            let name = set.file_name().unwrap().to_string_lossy();
            failure(set).map(|failure| format!("{name}: {failure}"))
        })
        .collect();
    println!("{} of {count} sets boot and finish two launches", count - failures.len());
    assert_eq!(failures, [""; 0]);
}
