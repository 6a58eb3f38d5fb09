//! What one read of a mesh, or one log, gave: lanes, losses, anomalies and names.

use crate::{anomaly::AnomalyLog, lane::Lane, ledger::LossLedger, names::ZoneTable};

/// What reports say about a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipSummary {
    /// Number of the chip.
    pub chip_id: u32,
    /// Lower-case name of the architecture.
    pub arch: String,
    /// Clock of the tiles in MHz; 0 if unknown.
    pub aiclk_mhz: u32,
    /// Size of the worker grid, if known.
    pub max_compute_cores: Option<u32>,
}

/// Everything of one chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceReadout {
    /// The chip.
    pub chip: ChipSummary,
    /// Records, ordered by core x, core y and RISC. Lanes without records are left out.
    pub lanes: Vec<Lane>,
    /// Runs that a core has finished but not yet pushed; the next launch will push them.
    pub pending_runs: u64,
    /// Launches that ran no kernel on a core and that the firmware therefore discarded.
    pub discarded_launches: u64,
}

/// The result of one read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readout {
    /// Chips, in the order of the mesh.
    pub devices: Vec<DeviceReadout>,
    /// Names of the zones in the lanes.
    pub zones: ZoneTable,
    /// What is missing.
    pub losses: LossLedger,
    /// What was odd, and what was repaired.
    pub anomalies: AnomalyLog,
    /// Words read from the device, control vectors included; 0 for logs.
    pub words_read: u64,
}

impl Readout {
    /// Records of all lanes.
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.lanes().map(Lane::record_count).sum()
    }

    /// All lanes of all chips.
    pub fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.devices.iter().flat_map(|device| &device.lanes)
    }
}
