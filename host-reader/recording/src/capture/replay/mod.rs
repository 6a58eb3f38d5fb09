//! Replaying: reading a capture as if it were the mesh that it was made of.
//!
//! The reader and the decoder are those for chips. So whatever they learn to repair is
//! repaired in old captures too, and there is no second way to decode that could differ.
//!
//! # A read that was cut off
//!
//! If the writer was killed within a read, each core may or may not have been told what was
//! read of it. A core whose words the next read found again was not told: it is left to that
//! read, lest it count twice. Of the others the cut-off read has the only copy, and it is used.

mod chip;
mod reads;
mod recording;
mod runs;

pub use runs::CapturedRun;

use super::{Capture, OpMetadata, section::Content};
use chip::ReplayedMesh;
use reader::{
    anomaly::AnomalyKind,
    decode::{CaptureMode, HostIdForm},
    ledger::LossCause,
    names::ZoneTable,
    read::{GenerationChoice, ReadError, ReadOptions, Reader},
    readout::Readout,
};
use reads::{CapturedReads, ReadRecord};
use wire::marker::HeaderLayout;

/// Options of the captured reads that a replay overrides.
///
/// Everything is as captured by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The format that the device wrote.
    pub generation: Option<GenerationChoice>,
    /// How markers divide id and time.
    pub header_layout: Option<HeaderLayout>,
    /// Form of the program ids in launches: plain or encoded.
    pub host_ids: Option<HostIdForm>,
    /// Capture mode that the device was built with.
    pub mode: Option<CaptureMode>,
    /// Names of zones besides those in the capture.
    pub zones: ZoneTable,
}

/// One read of a capture, decoded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedRead {
    /// Number of the read.
    pub read_number: u32,
    /// True if its reader had read nothing before.
    pub is_fresh: bool,
    /// Readout of the read, or its error.
    pub readout: Result<Readout, ReadError>,
}

impl Capture {
    /// Decodes every read again and puts them together, as one read of everything would have
    /// given it. Where several runs were captured, times start anew with each of them:
    /// [`Capture::runs`] keeps them apart.
    ///
    /// A capture without reads gives a readout without chips; its ledgers and names are there.
    ///
    /// # Errors
    /// If there are reads and none of them gave anything; the error is that of the first. If
    /// some gave something, the others are [anomalies](Readout::anomalies).
    ///
    /// # Cost
    /// As reading the chips, without the chips: one copy of the words, and decoding on all
    /// processors.
    pub fn readout(&self, overrides: &Overrides) -> Result<Readout, ReadError> {
        let mut whole: Option<Readout> = None;
        let mut failures = Vec::new();
        self.replay(overrides, |read| match read.readout {
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
            let detail = || format!("read {read_number}: {error}");
            whole.anomalies.record(AnomalyKind::UnreadableCore, None, 0, detail);
        }
        self.add_what_is_no_read(overrides, &mut whole);
        Ok(whole)
    }

    /// Decodes every read again, one by one, as they were given when they were made.
    #[must_use]
    pub fn replayed_reads(&self, overrides: &Overrides) -> Vec<ReplayedRead> {
        let mut reads = Vec::new();
        self.replay(overrides, |read| reads.push(read));
        reads
    }

    /// Everything that is known of ops, in the order of the file.
    #[must_use]
    pub fn op_metadata(&self) -> Vec<OpMetadata> {
        let ops = self.sections().filter_map(|section| match section.content() {
            Ok(Content::OpMetadata(ops)) => Some(ops),
            _ => None,
        });
        ops.flatten().collect()
    }

    fn replay(&self, overrides: &Overrides, mut take: impl FnMut(ReplayedRead)) {
        let mut reader = Reader::default();
        for read in CapturedReads::of(self).without_repetitions() {
            let options = overrides.apply(&read);
            let (read_number, is_fresh) = (read.begin.read_number, read.begin.is_fresh);
            let repeated = read.repeated.clone();
            if is_fresh {
                reader = Reader::new(options);
            } else {
                *reader.options_mut() = options;
            }
            let mut readout = reader.read(&mut ReplayedMesh::of(read));
            if let Ok(readout) = &mut readout {
                readout.losses.retain(|key, _| {
                    let core = (key.lane.chip_id, key.lane.core);
                    key.cause != LossCause::Unread || !repeated.contains(&core)
                });
            }
            take(ReplayedRead { read_number, is_fresh, readout });
        }
    }

    fn add_what_is_no_read(&self, overrides: &Overrides, whole: &mut Readout) {
        self.uncounted().for_each(|source| whole.losses.note_uncounted(source));
        whole.zones.merge(overrides.zones.clone());
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

impl Overrides {
    fn apply(&self, read: &ReadRecord<'_>) -> ReadOptions {
        let captured = &read.begin.options;
        let mut zones = read.zones.clone();
        zones.merge(self.zones.clone());
        ReadOptions {
            generation: self.generation.unwrap_or(captured.generation),
            header_layout: self.header_layout.or(captured.header_layout),
            host_ids: self.host_ids.unwrap_or(captured.host_ids),
            mode: self.mode.unwrap_or(captured.mode),
            zones,
            ..captured.clone()
        }
    }
}
