//! Runs a native kernel on a simulated chip.

use kernel_profiler::device_zone_scoped;
use reader::{ProfilerOptions, init_device_profiler};
use sim::{
    config::MeshConfig,
    mesh::SimulatedMesh,
    program::{Emission, Launch, NativeKernel, Program},
};
use std::{error::Error, sync::Arc};
use wire::Risc;

/// Everything that one launch on 64 cores emits.
fn emitted() -> Result<Emission, Box<dyn Error>> {
    let work = |_: &_| {
        device_zone_scoped!("LoadData");
        sim::native::spin(500);
    };
    let kernel = Arc::new(NativeKernel::new(|_| Emission::zones(1), work));
    let program = Arc::new(Program::new("load").with_kernel(Risc::Ncrisc, kernel));
    let mut mesh = SimulatedMesh::new(&MeshConfig::wormhole(1))?;
    init_device_profiler(&mut mesh, &ProfilerOptions::default())?;
    mesh.enqueue(0, Launch::new(&program, 1))?;
    mesh.run_to_completion();
    Ok(mesh.truth().total_emitted())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", emitted()?);
    Ok(())
}

#[test]
fn each_core_emits_four_zones() {
    // The firmware's on BRISC; on NCRISC the firmware's, the kernel's and its own.
    assert_eq!(emitted().unwrap(), Emission::zones(64 * 4));
}
