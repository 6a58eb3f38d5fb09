//! Buffers that the simulated host allocates during a run. Their allocations are reported in
//! TT-Metal's format.

use crate::host_zones::HostZones;
use host_reader::{
    host::{BufferPool, HostSource},
    mesh::Mesh,
};
use sim::workload::{BufferMemory, Phase, buffer_changes};
use std::{collections::BTreeMap, sync::Arc};
use wire::RunHostId;

/// Zone in which TT-Metal's hosts enqueue an op.
static ENQUEUE: HostSource = HostSource::new("TT_DNN_DEVICE_OP", module_path!(), file!(), line!());
/// Duration of one allocation, release or enqueueing on the simulated host, in nanoseconds.
const STEP_NS: u64 = 500;

/// Bytes that the host has currently allocated, by memory pool.
#[derive(Default)]
pub(super) struct HostBuffers {
    totals: BTreeMap<BufferPool, u64>,
    op_count: u64,
}

impl HostBuffers {
    /// Allocates buffers for the ops of a phase, except for ops that a trace replays.
    pub(super) fn enqueue<M: Mesh + ?Sized>(
        &mut self,
        host: &HostZones,
        mesh: &mut M,
        (phase, seed): (&Phase, u64),
    ) {
        for launch in phase.launches.iter().filter(|launch| launch.trace_id.is_none()) {
            for index in 0..mesh.device_count() {
                let Some(device) = mesh.device(index) else { continue };
                let chip_id = device.description().chip_id;
                let id = RunHostId::encode(launch.program_id, chip_id);
                host.zone_of_op(mesh, &ENQUEUE, Some(id), |mesh| {
                    for change in buffer_changes(seed, self.op_count) {
                        let kind = match change.memory {
                            BufferMemory::Dram => "DRAM",
                            BufferMemory::L1 => "L1",
                        };
                        let pool = BufferPool { device_id: chip_id.into(), kind };
                        let total = self.totals.entry(pool).or_default();
                        *total = if change.is_allocated {
                            total.saturating_add(change.byte_count)
                        } else {
                            total.saturating_sub(change.byte_count)
                        };
                        let name = Arc::new(HostSource::from_name(pool.to_string()));
                        host.plot(mesh, name, *total as f64);
                        wait(mesh, index);
                    }
                });
                wait(mesh, index);
            }
            self.op_count += 1;
        }
    }
}

fn wait<M: Mesh + ?Sized>(mesh: &mut M, index: usize) {
    if let Some(device) = mesh.device(index) {
        device.wait_ns(STEP_NS);
    }
}
