//! Launches of a recording, with the lanes that recorded them.

use analysis::NumberedLaunches;
use recording::{Lanes, PackedRecording};

/// Launches of a recording, with the lanes that recorded them.
#[derive(Clone, Copy)]
pub(super) struct Launched<'a> {
    pub(super) lanes: Lanes<'a>,
    pub(super) launches: &'a NumberedLaunches,
}

impl<'a> From<&'a PackedRecording> for Launched<'a> {
    fn from(packed: &'a PackedRecording) -> Self {
        let PackedRecording { recording, lanes, launches, .. } = packed;
        Self { lanes: Lanes::packed(&recording.readout, lanes), launches }
    }
}
