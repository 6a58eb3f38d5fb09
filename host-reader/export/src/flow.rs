//! Numbers of the arrows from an op to the kernels that it consists of.

/// A number that only this run of this lane has; never 0.
pub(super) const fn flow_id(device_index: usize, lane_index: usize, run: usize) -> u64 {
    ((device_index as u64 + 1) << 48) | ((lane_index as u64) << 28) | run as u64
}
