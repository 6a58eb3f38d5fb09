//! Captures as input of every report and export.

use super::resealed;
use host_reader::{
    analysis::Report,
    capture::Capture,
    export::{ExportFormat, Trace},
    log::write_device_log,
    recording::{Recording, TraceFilter},
    report::{OpsOptions, OpsReport},
    tables::{
        LossRow, Losses, Ops, Rows, SumStatisticsTable, Table, WaitStatisticsTable,
        ZoneStatisticsTable, op_rows,
    },
};
use wire::RunHostId;

/// Reads bytes as a capture with corrected checksums, and writes every report and export of its
/// runs.
///
/// # Panics
/// If an output cannot be written.
pub fn exports(data: &[u8]) {
    let Ok(capture) = Capture::from_bytes(resealed(data)) else { return };
    let Ok(runs) = capture.runs() else { return };
    for run in runs {
        let recording = Recording::from_captured_run(run);
        let report = Report::new(&recording.readout);
        let texts = recording.op_texts();
        let ops: Vec<_> = report.ops.ops().collect();
        write_json::<Ops>(op_rows(&ops, |op| {
            texts.get(&(op.chip_id, RunHostId(op.run_host_id))).copied().unwrap_or_default()
        }));
        write_json::<ZoneStatisticsTable>(report.zones.iter().collect());
        write_json::<SumStatisticsTable>(report.sums.iter().collect());
        write_json::<WaitStatisticsTable>(report.waits.iter().collect());
        write_json::<Losses>(LossRow::from_ledger(&recording.readout.losses));
        let trace = Trace::new(&recording, &TraceFilter::default());
        for format in ExportFormat::ALL.iter().copied() {
            let written = format.write(&trace, &mut Vec::new(), &mut |_| {});
            assert!(written.is_ok(), "{format}: {written:?}");
        }
        let written = write_device_log(&recording.readout, &mut Vec::new());
        assert!(written.is_ok(), "{written:?}");
        let _ = OpsReport::from_recording(&recording, &OpsOptions::default());
    }
}

fn write_json<T: Table>(rows: Vec<T::Row<'_>>) {
    assert!(serde_json::to_string(&Rows::<T>(rows)).is_ok(), "{} is no JSON", T::NAME);
}
