//! Damaged captures: the results must equal the results of the undamaged capture, or report the
//! damage.

use crate::noise;
use host_reader::capture::{Capture, CaptureError, CapturedRun};

/// The sample capture that a fuzzer damages.
const SAMPLE: &[u8] = include_bytes!("../../captures/kprof/v1.5.kprof");

/// An undamaged capture with its results.
#[derive(Debug)]
pub struct WholeCapture {
    bytes: Vec<u8>,
    runs: Vec<CapturedRun>,
}

impl WholeCapture {
    /// Reads an undamaged capture.
    ///
    /// # Errors
    /// If the bytes are not a capture.
    ///
    /// # Panics
    /// If the capture is damaged or has nothing to read.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, CaptureError> {
        let capture = Capture::from_bytes(bytes.clone())?;
        assert!(capture.check().is_clean(), "{:?}", capture.check().problems);
        let runs = capture.runs();
        let runs = runs.expect("a whole capture gives something");
        Ok(Self { bytes, runs })
    }

    /// Returns a copy damaged according to a script; see [`noise::damage`].
    #[must_use]
    pub fn damaged(&self, script: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        noise::damage(&mut bytes, script);
        bytes
    }

    /// Checks that a damaged copy is refused, or gives the results of the undamaged capture, or
    /// reports in every result that the capture is damaged or unfinished.
    ///
    /// # Panics
    /// If none of these holds.
    pub fn judge(&self, damaged: Vec<u8>) {
        let is_same_file = damaged == self.bytes;
        let Ok(capture) = Capture::from_bytes(damaged) else { return };
        let problems = capture.check().problems;
        assert!(is_same_file || !problems.is_empty(), "the damage is not named");
        let Ok(runs) = capture.runs() else { return };
        if runs == self.runs {
            return;
        }
        for run in runs {
            let mut sources = run.readout.losses.uncounted();
            let is_named = sources.any(|source| source.is_failure());
            assert!(is_named, "reads {:?} differ without a word; {problems:?}", run.reads);
        }
    }
}

/// Damages a sample capture in the ways that the bytes encode, and checks the results of reading
/// it.
///
/// # Panics
/// If a wrong result does not report the damage.
pub fn damaged_capture(data: &[u8]) {
    let whole = WholeCapture::from_bytes(SAMPLE.to_vec()).expect("the sample is a capture");
    whole.judge(whole.damaged(data));
}
