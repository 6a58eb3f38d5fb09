//! Tests of workloads and single kernels: records and losses are the same as on our simulator.

use crate::support::{assert_same, config, libraries, plan, run_on_ours, run_on_ttsim, start};
use sim::{
    arch::TileCoord,
    kernel::ObjectKernel,
    program::{CoreSelection, Kernel, Launch, Program},
};
use std::sync::Arc;
use wire::Risc;

/// Tests every kernel on all five RISCs of two cores, with sums.
#[test]
fn every_kernel_leaves_what_it_leaves_on_ours() {
    for (arch, library) in libraries() {
        let config = config(arch, 5).with_sums(true);
        let cores = CoreSelection::At(vec![TileCoord { x: 1, y: 2 }, TileCoord { x: 4, y: 5 }]);
        let launches = ObjectKernel::all().iter().zip(1..).map(|(kernel, id)| {
            let shared: Arc<dyn Kernel> = Arc::new(kernel.clone());
            let mut program = Program::new("every").with_kernel_on_all(&shared);
            if kernel.name() == "instructions" {
                // Data movement RISCs do not run this kernel, which issues instructions to the
                // coprocessor: NCRISC has no access to the coprocessor.
                let idle: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("empty").unwrap());
                program = program.with_kernel(Risc::Brisc, Arc::clone(&idle));
                program = program.with_kernel(Risc::Ncrisc, idle);
            }
            let program = Arc::new(program);
            Launch::new(&program, id).on(cores.clone()).with_args(&[6, 4, 4])
        });
        let plan = plan(launches.collect());
        let mut mesh = start(&config, &library);
        let found = run_on_ttsim(&mut mesh, &plan);
        assert_eq!(assert_same(&found, &run_on_ours(&config, &plan)), 10, "{arch}");
    }
}
