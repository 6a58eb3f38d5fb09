//! Ops reports of packed logs, whose rows are made one after the other.

use super::{
    available_cores::AvailableCores,
    device_op::DeviceOp,
    exact::SUMS,
    host::HostLog,
    inputs::{DeviceSide, add_anomalies, messages_name, read_host},
    measured::measured_op,
    ops::{Builder, OPS_OF_RECORDING, OpsOptions, OpsReport, device_row},
    perf_report::LaunchFigures,
    recorded::host_log_of,
    sheet::{Columns, sheet_csv},
};
use crate::problem::ProblemLog;
use analysis::PackedLaunches;
use host_events::OpMetadata;
use reader::{readout::Readout, role::ZoneRole};
use recording::{DEVICE_LOG, PackedRecording};
use std::{collections::BTreeMap, path::Path};

impl OpsReport {
    /// Returns what a log has that an ops report needs all its lanes for; `None` if nothing.
    /// Hardware counters, the other such thing, are an
    /// [obstacle](PackedRecording::obstacle) for every output.
    #[must_use]
    pub fn obstacle(log: &Readout) -> Option<&'static str> {
        if log.devices.iter().any(|device| device.chip.arch.contains("quasar")) {
            return Some("a Quasar's processors");
        }
        let mut names = log.zones.places().map(|(_, zone)| &*zone.name);
        names.find_map(|name| {
            let is_sum = SUMS.iter().any(|&(_, _, zone)| zone == name);
            let is_dispatch = ZoneRole::from_name(name).is_dispatch();
            match (is_sum, is_dispatch) {
                (true, _) => Some("sums of waits for circular buffers"),
                (_, true) => Some("the work of dispatch cores"),
                _ => None,
            }
        })
    }

    /// Reports on a packed log without an [obstacle](Self::obstacle), like
    /// [`Self::from_recording`], but has only the ops CSV.
    #[must_use]
    pub fn from_packed(packed: &PackedRecording) -> Self {
        let mut problems = ProblemLog::default();
        let host = host_log_of(&packed.recording, &mut problems);
        let of_host = (&host, OPS_OF_RECORDING);
        PackedOps::new(packed, &packed.recording.ops).report(of_host, "the readout", problems)
    }

    /// Reports on the packed log of a folder with the host's messages, like [`Self::from_folder`], but
    /// has only the ops CSV.
    #[must_use]
    pub fn from_packed_folder(packed: &PackedRecording, logs: &Path) -> Self {
        let mut problems = ProblemLog::default();
        let host = read_host(logs, false, &mut problems);
        let of_host = (&host, &*messages_name(logs));
        let file = logs.join(DEVICE_LOG).display().to_string();
        PackedOps::new(packed, &[]).report(of_host, &file, problems)
    }
}

/// The ops of a packed log.
struct PackedOps<'log> {
    readout: &'log Readout,
    /// Launches by chip and time.
    launches: &'log PackedLaunches,
    available: AvailableCores,
    /// Figures of a launch without sums and counters.
    figures: LaunchFigures,
}

impl<'log> PackedOps<'log> {
    fn new(packed: &'log PackedRecording, names: &[OpMetadata]) -> Self {
        Self {
            readout: &packed.recording.readout,
            launches: &packed.launches.launches,
            available: AvailableCores::from_host(names),
            figures: LaunchFigures::default(),
        }
    }

    fn ops(&self) -> impl Iterator<Item = DeviceOp> {
        self.launches.iter().map(|launch| {
            let mut chips = self.readout.devices.iter().map(|device| &device.chip);
            let chip = chips.find(|chip| chip.chip_id == launch.op.chip_id);
            measured_op(&launch, &self.figures, chip, &self.available)
        })
    }

    fn report(
        &self,
        (host, host_file): (&HostLog, &str),
        file: &str,
        mut problems: ProblemLog,
    ) -> OpsReport {
        add_anomalies(self.readout, file, &mut problems);
        if host.ops.is_empty() {
            return OpsReport {
                ops_csv: sheet_csv(|| self.ops().map(device_row), Columns::Filled, false, "\n"),
                row_count: self.launches.len() as u64,
                has_device_data: true,
                device_op_count: self.launches.len() as u64,
                losses: self.readout.losses.clone(),
                problems,
                ..OpsReport::default()
            };
        }
        let mut ops: BTreeMap<u64, Vec<DeviceOp>> = BTreeMap::new();
        for op in self.ops() {
            ops.entry(op.device_id).or_default().push(op);
        }
        let chip = self.readout.devices.first().map(|device| &device.chip);
        let device = DeviceSide {
            is_read: true,
            file: file.to_owned(),
            ops,
            aiclk_mhz: chip.map_or(0, |chip| chip.aiclk_mhz),
            losses: self.readout.losses.clone(),
            ..DeviceSide::default()
        };
        let options = &OpsOptions::default();
        Builder { options, host, has_host: true, host_file, clock: None, problems }.build(device)
    }
}
