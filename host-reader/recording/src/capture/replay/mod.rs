//! Replay: reading a capture as if it were the mesh from which it was made.
//!
//! A replay uses the same reader and decoder as a read of chips. Improvements of the decoder
//! therefore also apply to old captures, and there is no second decoder that could differ.
//!
//! # An unfinished read
//!
//! If the writer was killed during a read, it is unknown whether the writer acknowledged each
//! core's words to the chip. If the next read contains all words of a core, the words were not
//! acknowledged. Only the words of the next read are then used, so they are not counted twice. If
//! the next read does not contain all words of a core, the unfinished read has the only copy of the
//! core's words. This copy is then used.
//!
//! # A run without a last read
//!
//! The writer may have been killed before it read the mesh for the last time. The last successful
//! read of such a run then also returns the streamed records of launches that had not ended.

mod captured_memory;
mod chip;
mod reads;
mod runs;

pub use runs::CapturedRun;

use super::Capture;
use chip::ReplayedMesh;
use reader::{
    ledger::LossCause,
    names::ZoneTable,
    read::{ReadError, ReadOptions, Reader},
    readout::Readout,
};
use reads::CapturedReads;

/// Result of decoding a captured read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReplayedRead {
    pub(super) read_number: u32,
    /// Readout of the read, or its error.
    pub(super) readout: Result<Readout, ReadError>,
}

impl Capture {
    /// Decodes all reads again and calls `take` with each read, as the reader originally returned
    /// it.
    ///
    /// The zone names are those captured before each read, plus `zones`. At the end of a
    /// run, records of launches that are still running are added to the run's last successful read.
    pub(super) fn replay(&self, zones: &ZoneTable, mut take: impl FnMut(ReplayedRead)) {
        let mut reader = Reader::default();
        // The last successful read. When its run ends, the launches still running are added to it.
        let mut newest: Option<ReplayedRead> = None;
        for read in CapturedReads::from_capture(self).without_repetitions() {
            let mut options =
                ReadOptions { zones: read.zones.clone(), ..read.begin.options.clone() };
            options.zones.merge(zones);
            let read_number = read.begin.read_number;
            let repeated = read.repeated.clone();
            if read.begin.is_fresh {
                newest.take().into_iter().for_each(|read| take(end_of_run(read, &mut reader)));
                reader = Reader::new(options);
            } else {
                *reader.options_mut() = options;
            }
            let mut readout = reader.read(&mut ReplayedMesh::from_read(read));
            if let Ok(readout) = &mut readout {
                readout.losses.retain(|key, _| {
                    let core = (key.lane.chip_id, key.lane.core);
                    key.cause != LossCause::Unread || !repeated.contains(&core)
                });
            }
            let is_successful = readout.is_ok();
            let read = ReplayedRead { read_number, readout };
            let earlier = if is_successful { newest.replace(read) } else { Some(read) };
            earlier.into_iter().for_each(&mut take);
        }
        newest.into_iter().for_each(|read| take(end_of_run(read, &mut reader)));
    }
}

/// Adds to `read`, the last successful read of a run, the records of launches that are still
/// running.
fn end_of_run(mut read: ReplayedRead, reader: &mut Reader) -> ReplayedRead {
    if let Ok(readout) = &mut read.readout {
        reader.add_running_launches(readout);
    }
    read
}
