//! Failing kernels: each failure is reported with its location, and everything else is read.

use crate::{
    accounting::{Account, emitted, kept, lost, sum},
    support::{Session, outcome},
};
use host_reader::{mesh::Noc0Coord, read_device_profiler};
use sim::{config::MeshConfig, kernel::ObjectKernel, program::Kernel, workload::WorkloadOptions};
use std::collections::BTreeSet;
use wire::Risc;

/// Program of the last launch, which runs on all cores. Before it, six broken launches run, and
/// then one launch on the cores that are not broken.
const LAST_PROGRAM: u32 = 8;

#[test]
fn kernels_that_go_wrong_are_named_and_the_rest_of_the_mesh_is_read() {
    let config = MeshConfig::wormhole(1).with_cycle_limit(2_000_000);
    let options = WorkloadOptions::default();
    let Session { mut mesh, plan } = Session::new(&config, "broken-kernels", &options, Vec::new());
    plan.phases.iter().for_each(|phase| mesh.enqueue_phase(phase));
    mesh.run_to_completion();
    let outcome = outcome(read_device_profiler(&mut mesh).unwrap(), &mesh);

    let mut broken_cores = BTreeSet::new();
    assert_eq!(outcome.failures.len(), ObjectKernel::BROKEN.len());
    for (launch_index, (failure, kernel)) in
        (0..).zip(outcome.failures.iter().zip(ObjectKernel::BROKEN))
    {
        let name = kernel.object_name().unwrap();
        assert_eq!((failure.risc, failure.launch_index), (Risc::Trisc1, launch_index), "{name}");
        // The kernels of TRISC 1 are in this address range.
        assert!((0x2_8000..0x3_0000).contains(&failure.pc), "{name}: {failure}");
        let symbol = failure.symbol.as_deref().unwrap();
        assert!(symbol.starts_with(&format!("{name}+0x")), "{symbol}");
        broken_cores.insert(Noc0Coord { x: failure.core.x, y: failure.core.y });
    }
    assert_eq!(broken_cores.len(), ObjectKernel::BROKEN.len(), "each on a core of its own");

    let (known, unknown) = lost(&outcome.readout);
    assert!(unknown.keys().all(|lane| broken_cores.contains(&lane.core)), "{unknown:?}");
    let found = sum(&kept(&outcome.readout, &outcome.timeline), &known);
    let truth = emitted(&outcome.truth);
    let of_sound = |account: &Account| -> Account {
        let sound = account.iter().filter(|(key, _)| !broken_cores.contains(&key.0.core));
        sound.map(|(&key, &emission)| (key, emission)).collect()
    };
    assert_eq!(of_sound(&found), of_sound(&truth));
    assert_eq!(of_sound(&found).len(), 58 * 5 * 2);
    let of_last = |account: &Account| -> Account {
        let last = account.iter().filter(|(key, _)| key.1.base() == LAST_PROGRAM);
        last.map(|(&key, &emission)| (key, emission)).collect()
    };
    assert_eq!(of_last(&found), of_last(&truth), "the broken cores were booted again");
    assert_eq!(of_last(&found).len(), 64 * 5);
}
