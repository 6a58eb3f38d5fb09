//! Runs a workload on Tenstorrent's ttsim and reads its records:
//! `cargo run --example launch_on_ttsim LIBTTSIM_WH`.
//!
//! ttsim ends its process when it refuses an operation. The example therefore starts itself a
//! second time, as a child process that loads the library.

use reader::{ProfilerOptions, init_device_profiler, read_device_profiler};
use sim::{
    arch::Arch,
    config::MeshConfig,
    machine::KernelKind,
    mesh::SimulatedMesh,
    workload::{Workload, WorkloadOptions},
};
use std::{env, error::Error, path::Path, process::Command};
use ttsim::{TtsimMesh, child};

const AS_CHILD: &str = "--child";

/// Runs a workload on a Wormhole and returns the number of records that its launches leave.
fn record_count(workload: &str, library: &Path) -> Result<usize, Box<dyn Error>> {
    let chip = TtsimMesh::chip(Arch::WormholeB0);
    let config = MeshConfig::new(1).with_chip(chip).with_kernels(KernelKind::Riscv);
    let options = WorkloadOptions::default();
    let plan = Workload::named(workload)?.plan(&SimulatedMesh::new(&config)?, &options);
    TtsimMesh::check(&plan)?;
    let mut command = Command::new(env::current_exe()?);
    command.arg(AS_CHILD);
    let mut mesh = TtsimMesh::start(&config, command, library)?;
    init_device_profiler(&mut mesh, &ProfilerOptions::default())?;
    for launch in plan.phases.iter().flat_map(|phase| &phase.launches) {
        mesh.run(launch)?;
    }
    mesh.settle()?;
    Ok(read_device_profiler(&mut mesh)?.record_count())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [role, library] if role == AS_CHILD => Ok(child::serve(Path::new(library))?),
        [library] => {
            println!("{} records", record_count("matmul", Path::new(library))?);
            Ok(())
        }
        _ => Err("usage: launch_on_ttsim LIBTTSIM_WH".into()),
    }
}

#[test]
fn a_library_that_is_missing_and_a_workload_that_needs_faults_are_refused() {
    let missing = Path::new("no-libttsim.so");
    let refusal = |workload| record_count(workload, missing).unwrap_err().to_string();
    assert!(refusal("matmul").contains("no-libttsim.so"), "{}", refusal("matmul"));
    assert!(refusal("no such").contains("no such"));
}
