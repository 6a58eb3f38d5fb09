//! Launches of a recording, with the lanes that recorded them.

use analysis::NumberedLaunches;
use reader::readout::Readout;
use recording::{Lanes, PackedRecording};

/// Launches of a recording, with the lanes that recorded them.
#[derive(Clone, Copy)]
pub(super) struct Launched<'a> {
    /// Everything that was recorded of the chips; the lanes may be elsewhere.
    pub(super) readout: &'a Readout,
    pub(super) lanes: Lanes<'a>,
    pub(super) launches: &'a NumberedLaunches,
}

impl<'a> From<&'a PackedRecording> for Launched<'a> {
    fn from(packed: &'a PackedRecording) -> Self {
        let PackedRecording { recording, lanes, launches, .. } = packed;
        Self { readout: &recording.readout, lanes: Lanes::Packed(lanes), launches }
    }
}
