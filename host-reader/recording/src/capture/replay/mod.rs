//! Replay: reading a capture as if it were the mesh from which it was made.
//!
//! A replay uses the same reader and decoder as a read of chips. Improvements of the decoder
//! therefore also apply to old captures, and there is no second decoder that could differ.
//!
//! # An unfinished read
//!
//! If the writer was killed during a read, it is unknown whether the read of a core was
//! acknowledged to the chip. If the next read contains all words of a core, the read was not
//! acknowledged. Only the words of the next read are then used, so they are not counted twice. For
//! the other cores, the unfinished read has the only copy of the words, and that copy is used.
//!
//! # A run without a last read
//!
//! The writer may have been killed before it read the mesh for the last time. The last successful
//! read of such a run then also returns the streamed records of launches that had not ended.

mod chip;
mod reads;
mod recording;
mod runs;

pub use runs::CapturedRun;

use super::{Capture, OpMetadata, section::Content};
use chip::ReplayedMesh;
use reader::{
    anomaly::AnomalyKind,
    ledger::LossCause,
    names::ZoneTable,
    read::{ReadError, ReadOptions, Reader},
    readout::Readout,
};
use reads::CapturedReads;

/// Result of decoding a captured read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedRead {
    /// Number of the read.
    pub read_number: u32,
    /// True if this was the first read of its reader.
    pub is_fresh: bool,
    /// Readout of the read, or its error.
    pub readout: Result<Readout, ReadError>,
}

impl Capture {
    /// Decodes all reads again and combines them into one readout, as if everything had been read
    /// at once.
    ///
    /// If several runs were captured, times restart with each run; [`Capture::runs`] returns the
    /// runs separately. If the capture contains no read, the readout has losses and names, but no
    /// chips.
    ///
    /// # Errors
    /// Returns the error of the first read if there are reads and all of them failed. If some reads
    /// succeeded, the failed reads are [anomalies](Readout::anomalies).
    ///
    /// # Cost
    /// The cost of reading the chips, without the accesses to the chips: the words are copied once,
    /// and decoded on all processors.
    pub fn readout(&self) -> Result<Readout, ReadError> {
        let mut whole: Option<Readout> = None;
        let mut failures = Vec::new();
        self.replay(&ZoneTable::new(), |read| match read.readout {
            Ok(readout) => match &mut whole {
                Some(whole) => {
                    if read.is_fresh {
                        whole.losses.hand_over();
                    }
                    whole.append(readout);
                }
                None => whole = Some(readout),
            },
            Err(error) => failures.push((read.read_number, error)),
        });
        let mut whole = match (whole, failures.first()) {
            (None, Some((_, error))) => return Err(error.clone()),
            (whole, _) => whole.unwrap_or_default(),
        };
        for (read_number, error) in failures {
            whole.anomalies.record(AnomalyKind::UnreadableCore, None, 0, || {
                format!("read {read_number}: {error}")
            });
        }
        self.add_what_is_no_read(&mut whole);
        Ok(whole)
    }

    /// Decodes all reads again, and returns each one as the reader originally returned it. The last
    /// read of a run that was cut off also has the records of launches that had not ended.
    #[must_use]
    pub fn replayed_reads(&self) -> Vec<ReplayedRead> {
        let mut reads = Vec::new();
        self.replay(&ZoneTable::new(), |read| reads.push(read));
        reads
    }

    /// Returns the metadata of all ops, in file order.
    #[must_use]
    pub fn op_metadata(&self) -> Vec<OpMetadata> {
        let ops = self.sections().filter_map(|section| match section.content() {
            Ok(Content::OpMetadata(ops)) => Some(ops),
            _ => None,
        });
        ops.flatten().collect()
    }

    /// Decodes all reads again, with `zones` in addition to the zone names captured before each read.
    fn replay(&self, zones: &ZoneTable, mut take: impl FnMut(ReplayedRead)) {
        let mut reader = Reader::default();
        // The last successful read. If its run ends, the running launches are added to it.
        let mut newest: Option<ReplayedRead> = None;
        for read in CapturedReads::from_capture(self).without_repetitions() {
            let mut options =
                ReadOptions { zones: read.zones.clone(), ..read.begin.options.clone() };
            options.zones.merge(zones.clone());
            let (read_number, is_fresh) = (read.begin.read_number, read.begin.is_fresh);
            let repeated = read.repeated.clone();
            if is_fresh {
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
            let read = ReplayedRead { read_number, is_fresh, readout };
            let earlier = if is_successful { newest.replace(read) } else { Some(read) };
            earlier.into_iter().for_each(&mut take);
        }
        newest.into_iter().for_each(|read| take(end_of_run(read, &mut reader)));
    }

    fn add_what_is_no_read(&self, whole: &mut Readout) {
        self.uncounted().for_each(|source| whole.losses.note_uncounted(source));
        for section in self.sections() {
            match section.content() {
                Ok(Content::Ledger(ledger)) => whole.losses.merge(&ledger),
                Ok(Content::ZoneNames(zones)) => whole.zones.merge(zones),
                Ok(Content::ProbeCosts(costs)) => whole.probe_costs.merge(costs),
                _ => {}
            }
        }
    }
}

/// Adds the records of launches that had not ended to the last successful read of a run.
fn end_of_run(mut read: ReplayedRead, reader: &mut Reader) -> ReplayedRead {
    if let Ok(readout) = &mut read.readout {
        reader.add_running_launches(readout);
    }
    read
}
