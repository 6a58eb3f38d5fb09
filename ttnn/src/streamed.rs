//! Chips whose cores stream their records: the host reads the cores' rings while kernels run.

use crate::session::SessionError;
use chip::{
    mesh::{ChipDevice, ChipMesh},
    shared::SharedChip,
};
use host_events::monotonic_ns;
use reader::{
    ProfilerOptions,
    clock::{PingBurst, Tile, TwoWayPing},
    init_device_profiler,
    mesh::{AccessError, Device as _, DeviceDescription, Mesh as _},
};
use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};
use wire::{
    control::ControlLayout,
    risc::RISCS_PER_CORE,
    stream::{Policy, ToldLaunch, words},
};

/// Access to the simulated chip of this program, and the policy of the chip's rings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamLink {
    /// The socket at which the program's own process serves the simulated chip.
    pub socket: PathBuf,
    /// Address of the control vector in the L1 of each core. The rings follow the control vector.
    pub control_address: u64,
    /// What a RISC does when its ring is full.
    pub policy: Policy,
}

/// The streaming chips of a session.
#[derive(Debug)]
pub(crate) struct StreamedChips {
    pub(crate) mesh: ChipMesh<SharedChip>,
    options: ProfilerOptions,
    /// Clock of the first core of the first chip, in cycles, as read when [`Self::has_progress`]
    /// last returned true.
    last_cycle: u64,
}

impl StreamedChips {
    pub(crate) const fn new(options: ProfilerOptions) -> Self {
        Self { mesh: ChipMesh { devices: Vec::new() }, options, last_cycle: 0 }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.mesh.devices.is_empty()
    }

    /// Returns true if the first chip has advanced by [`PERIOD_CYCLES`] since this method last
    /// returned true, or if the chip's clock cannot be read or has restarted.
    pub(crate) fn has_progress(&mut self) -> bool {
        let Some(device) = self.mesh.devices.first_mut() else { return false };
        let Some(core) = device.description().cores.first().map(|core| core.noc0) else {
            return false;
        };
        let Ok(cycle) = device.read_wall_clock(core) else { return true };
        if (self.last_cycle..self.last_cycle.saturating_add(PERIOD_CYCLES)).contains(&cycle) {
            return false;
        }
        self.last_cycle = cycle;
        true
    }

    /// Reads the clock of the first core of the first chip.
    pub(crate) fn ping(&mut self) -> Option<PingBurst> {
        let device = self.mesh.devices.first_mut()?;
        let (chip_id, core) =
            (device.description().chip_id, device.description().cores.first()?.noc0);
        let (x, y) = (u8::try_from(core.x).ok()?, u8::try_from(core.y).ok()?);
        let ns = || i64::try_from(monotonic_ns()).unwrap_or(i64::MAX);
        let host_send_ns = ns();
        let device_cycles = device.read_wall_clock(core).ok()?;
        let ping = TwoWayPing { host_send_ns, device_cycles, host_receive_ns: ns() };
        Some(PingBurst { tile: Tile::new(chip_id, x, y), pings: vec![ping] })
    }

    /// Connects to a chip and empties its rings. No program may run on the chip. If the chip was
    /// connected before, the new connection replaces the old one.
    pub(crate) fn connect(
        &mut self,
        mut description: DeviceDescription,
        link: &StreamLink,
    ) -> Result<(), SessionError> {
        let chip_id = description.chip_id;
        let vectors = link.control_address.saturating_add(CONTROL_BYTES);
        for core in &mut description.cores {
            (core.control_address, core.vector_address) = (link.control_address, vectors);
        }
        let (access, facts) = SharedChip::connect(&link.socket)?;
        if facts.chip_id != chip_id {
            let (socket, found) = (link.socket.clone(), facts.chip_id);
            return Err(SessionError::OtherChip { socket, chip_id, found });
        }
        let device = ChipDevice::open_known(access, &facts, description)?;
        let mut mesh = ChipMesh { devices: vec![device] };
        // Some cores may still be running the launch by which the host found the cores.
        let begun = Instant::now();
        while !are_at_rest(&mut mesh)? && !is_rest_overdue(begun) {
            thread::sleep(REST_INTERVAL);
        }
        let options = ProfilerOptions { stream_policy: link.policy, ..self.options.clone() };
        init_device_profiler(&mut mesh, &options)?;
        self.mesh.devices.retain(|device| device.description().chip_id != chip_id);
        self.mesh.devices.append(&mut mesh.devices);
        Ok(())
    }

    /// Disconnects all chips. Kernels that run later discard their records and do not wait for a
    /// reader.
    pub(crate) fn disconnect(&mut self) -> Result<(), SessionError> {
        let mut mesh = ChipMesh { devices: std::mem::take(&mut self.mesh.devices) };
        if !mesh.devices.is_empty() {
            init_device_profiler(&mut mesh, &self.options)?;
        }
        Ok(())
    }
}

/// Returns true if the last launch that each RISC announced has ended, and its records are
/// published.
pub(crate) fn are_at_rest(mesh: &mut ChipMesh<SharedChip>) -> Result<bool, AccessError> {
    for index in 0..mesh.device_count() {
        let Some(device) = mesh.device(index) else { continue };
        for core in device.description().cores.clone() {
            let mut told = [0; RISCS_PER_CORE];
            let address = core.control_address.saturating_add(TOLD_BYTES);
            device.read_l1(core.noc0, address, &mut told)?;
            let mut launches = told.into_iter().filter_map(ToldLaunch::from_word);
            if launches.any(|launch| !launch.has_ended) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns true if [`REST_MAX`] has passed since `begun`. [`REST_MAX`] is the maximum time to wait
/// for RISCs to end a launch.
pub(crate) fn is_rest_overdue(begun: Instant) -> bool {
    begun.elapsed() >= REST_MAX
}

const CONTROL_BYTES: u64 = ControlLayout::WORDS64.size_bytes() as u64;
/// Byte offset in the control vector of the words in which RISCs announce launches.
const TOLD_BYTES: u64 = 4 * words::TOLD as u64;
/// Minimum number of a chip's cycles between two reads of its rings.
const PERIOD_CYCLES: u64 = 100_000;
const REST_MAX: Duration = Duration::from_secs(5);
/// Time between two checks of whether the RISCs have ended a launch.
pub(crate) const REST_INTERVAL: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests;
