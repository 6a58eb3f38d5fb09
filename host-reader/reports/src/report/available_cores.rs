//! Worker cores available to an op: the cores of the chip, or of the sub-device that ran the op.

use analysis::Op;
use host_events::OpMetadata;
use reader::readout::ChipSummary;
use recording::SUB_DEVICE_WORKER_CORES;
use std::collections::HashMap;

/// For each chip and program, the number of worker cores in the program's sub-device, as reported
/// by the host.
///
/// # Compatibility
/// `AVAILABLE WORKER CORE COUNT` of tt-metal: the cores in the compute grid of the chip, or of the
/// program's sub-device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AvailableCores(HashMap<(u32, u32), u64>);

impl AvailableCores {
    pub(super) fn from_host(ops: &[OpMetadata]) -> Self {
        let counts = ops.iter().filter_map(|op| {
            let count = op.value(SUB_DEVICE_WORKER_CORES)?.parse().ok()?;
            Some(((op.chip_id, op.run_host_id.0), count))
        });
        Self(counts.collect())
    }

    /// Returns the number of cores available to an op; `None` if unknown, for example if the op's
    /// records name a sub-device that the host's metadata does not describe.
    pub(super) fn op_cores(&self, op: &Op, chip: Option<&ChipSummary>) -> Option<u64> {
        match op.sub_device_id {
            Some(_) => self.0.get(&(op.chip_id, op.run_host_id)).copied(),
            None => chip.and_then(|chip| chip.max_compute_cores).map(u64::from),
        }
    }
}
