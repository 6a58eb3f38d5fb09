//! Captures, to every report and export.

use super::resealed;
use host_reader::{
    analysis::Report,
    capture::{Capture, Overrides},
    export::{ExportFormat, Trace},
    log::write_device_log,
    recording::{Recording, TraceFilter},
    report::{OpsOptions, OpsReport},
};

/// Reads bytes as a capture with right checksums, and writes everything that is written of its runs.
///
/// # Panics
/// If an output cannot be written.
pub fn exports(data: &[u8]) {
    let Ok(capture) = Capture::from_bytes(resealed(data)) else { return };
    let Ok(runs) = capture.runs(&Overrides::default()) else { return };
    for run in runs {
        let recording = Recording::of_captured_run(run);
        let report = Report::new(&recording.readout);
        assert!(serde_json::to_string(&report).is_ok(), "a report that is no JSON");
        let trace = Trace::new(&recording, &TraceFilter::default());
        for format in ExportFormat::ALL {
            let written = format.write(&trace, &mut Vec::new(), &mut |_| {});
            assert!(written.is_ok(), "{format}: {written:?}");
        }
        let written = write_device_log(&recording.readout, &mut Vec::new());
        assert!(written.is_ok(), "{written:?}");
        let _ = OpsReport::of_recording(&recording, &OpsOptions::default());
    }
}
