//! Tests that run tt-metal's own precompiled firmware, from its package `ttnn`, on ttsim.

use crate::{
    package::sets,
    support::{child, config, libraries},
};
use reader::mesh::{Mesh, Noc0Coord};
use sim::{
    arch::TileCoord,
    program::{CoreSelection, Launch, Program},
    random::Stream,
    tt_metal::firmware::FirmwareSet,
};
use std::sync::Arc;
use ttsim::TtsimMesh;

/// Tests every set of the package, on a core with random data in its memory.
#[test]
fn every_precompiled_set_boots_and_takes_two_empty_launches() {
    let libraries = libraries();
    let sets = if libraries.is_empty() { None } else { sets() };
    let core = TileCoord { x: 2, y: 3 };
    let mut booted = [0; 2];
    for folder in sets.unwrap_or_default() {
        let set = Arc::new(FirmwareSet::open(&folder).unwrap());
        let Some(at) = libraries.iter().position(|(arch, _)| *arch == set.arch()) else { continue };
        let (arch, library) = &libraries[at];
        let config = config(*arch, 1).with_firmware(&set).with_cycle_limit(20_000);
        let mut mesh = TtsimMesh::start(&config, child(), library).unwrap();
        let mut random = Stream::new(7, &[]);
        let garbage: Vec<u32> = (0..0x1_0000).map(|_| (random.next_u64() >> 32) as u32).collect();
        let device = mesh.device(0).unwrap();
        device.write_l1(Noc0Coord { x: core.x, y: core.y }, 0, &garbage).unwrap();
        for id in 1..=2 {
            let launch = Launch::new(&Arc::new(Program::new("empty")), id);
            let launched = mesh.run(&launch.on(CoreSelection::At(vec![core])));
            launched.unwrap_or_else(|error| panic!("{}, launch {id}: {error}", folder.display()));
        }
        booted[at] += 1;
    }
    for ((arch, _), count) in libraries.iter().zip(booted) {
        eprintln!("{arch}: {count} sets boot and finish two launches");
    }
}
