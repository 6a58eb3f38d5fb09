//! Access to one chip during one read. It also collects the anomalies and losses of the read.

use super::{
    control::WORDS,
    plan::{self, CoreRead, LaneWords},
};
use crate::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::LaneId,
    ledger::{LossCause, LossKey, LossLedger, LossTotals, LossWindow},
    mesh::{AccessError, CoreDescription, Device, L1Read},
    read::{ReadOptions, Watermarks},
};
use std::collections::BTreeMap;
use wire::{RunHostId, vector};

/// Chip that is being read, with the results of the read so far.
pub(super) struct Session<'a> {
    pub(super) device: &'a mut dyn Device,
    pub(super) options: &'a ReadOptions,
    pub(super) anomalies: AnomalyLog,
    pub(super) losses: LossLedger,
    /// Lanes that this read or an earlier read could not read, with their minimum losses.
    pub(super) unread: BTreeMap<LaneId, LossTotals>,
    pub(super) watermarks: Watermarks,
    pub(super) words_read: u64,
}

impl<'a> Session<'a> {
    pub(super) fn new(device: &'a mut dyn Device, options: &'a ReadOptions) -> Self {
        let (anomalies, losses) = (AnomalyLog::default(), LossLedger::default());
        let watermarks = Watermarks::default();
        let unread = BTreeMap::new();
        Self { device, options, anomalies, losses, unread, watermarks, words_read: 0 }
    }

    /// Reads the first `word_count` words of a core's control vector; the other words of the result
    /// are 0.
    pub(super) fn read_control_vector(
        &mut self,
        core: &CoreDescription,
        word_count: usize,
    ) -> Result<[u32; WORDS], AccessError> {
        let mut words = [0; WORDS];
        self.read_control(core, 0, words.get_mut(..word_count).unwrap_or_default())?;
        Ok(words)
    }

    /// Reads words of a core's control vector, from word `first` on. L1 words after the vector can
    /// also be read.
    pub(super) fn read_control(
        &mut self,
        core: &CoreDescription,
        first: usize,
        words: &mut [u32],
    ) -> Result<(), AccessError> {
        self.words_read = self.words_read.saturating_add(words.len() as u64);
        self.device.read_l1(core.noc0, word_address(core.control_address, first as u64), words)
    }

    /// Reads words of a RISC's L1 vector.
    pub(super) fn read_vector(
        &mut self,
        core: &CoreDescription,
        risc_index: usize,
        first: usize,
        words: &mut [u32],
    ) -> Result<(), AccessError> {
        self.words_read = self.words_read.saturating_add(words.len() as u64);
        let word = risc_index.saturating_mul(vector::VECTOR_WORDS).saturating_add(first);
        self.device.read_l1(core.noc0, word_address(core.vector_address, word as u64), words)
    }

    /// Reads the rings of a core and the control vector of another core, at the same time if the
    /// back end can do so. Returns true for each of the two reads that succeeded.
    pub(super) fn read_rings_and_control(
        &mut self,
        (core, rings): (&CoreDescription, &mut [u32]),
        (other, words): (&CoreDescription, &mut [u32]),
    ) -> [bool; 2] {
        let word_count = (rings.len() as u64).saturating_add(words.len() as u64);
        self.words_read = self.words_read.saturating_add(word_count);
        let rings = L1Read { core: core.noc0, address: core.vector_address, words: rings };
        let control = L1Read { core: other.noc0, address: other.control_address, words };
        self.device.read_l1_pair([rings, control]).map(|result| result.is_ok())
    }

    /// Reads words of a DRAM bank.
    pub(super) fn read_dram(
        &mut self,
        bank: u32,
        address: u64,
        words: &mut [u32],
    ) -> Result<(), AccessError> {
        self.words_read = self.words_read.saturating_add(words.len() as u64);
        self.device.read_dram(bank, address, words)
    }

    /// Reads words from the host's memory to which the chip writes.
    pub(super) fn read_host_memory(
        &mut self,
        address: u64,
        words: &mut [u32],
    ) -> Result<(), AccessError> {
        self.words_read = self.words_read.saturating_add(words.len() as u64);
        self.device.read_host_memory(address, words)
    }

    /// Writes words of a core's control vector, from `first` on; returns false on failure.
    pub(super) fn write_control(
        &mut self,
        core: &CoreDescription,
        first: usize,
        words: &[u32],
    ) -> bool {
        let address = word_address(core.control_address, first as u64);
        let result = self.device.write_l1(core.noc0, address, words);
        if let Err(error) = &result {
            let core = core.noc0;
            self.note(AnomalyKind::UnreadableCore, None, first, || {
                format!("core {core} cannot be told what was read: {error}")
            });
        }
        result.is_ok()
    }

    pub(super) fn note(
        &mut self,
        kind: AnomalyKind,
        lane: Option<LaneId>,
        position: usize,
        detail: impl FnOnce() -> String,
    ) {
        self.anomalies.record(kind, lane, position as u64, detail);
    }

    pub(super) fn lose(
        &mut self,
        lane: LaneId,
        cause: LossCause,
        program: Option<RunHostId>,
        totals: LossTotals,
    ) {
        self.losses.record(LossKey { lane, cause, program }, totals);
    }

    /// Adds missing runs to the ledger, without the period in which they were lost. The period is
    /// computed later from [`LaneRead::loss`].
    pub(super) fn lose_in_windows(
        &mut self,
        lane: LaneId,
        cause: LossCause,
        program: Option<RunHostId>,
        totals: LossTotals,
    ) {
        self.losses.add_in_windows(LossKey { lane, cause, program }, totals);
    }

    /// Adds the records in a core's unreadable lanes to the ledger, as lost or unread.
    ///
    /// `last_time_of` returns the time of the last record that was read from a lane.
    pub(super) fn lose_unreadable(
        &mut self,
        core: &CoreRead,
        last_time_of: impl Fn(LaneId) -> Option<u64>,
    ) {
        for lane in &core.lanes {
            self.unread.remove(&lane.id);
            let waits = lane.pending_error.as_ref();
            let is_gone = matches!(lane.words, Some(LaneWords::Gone));
            let is_unread = lane.unread() > 0 && lane.words.is_none();
            // The lower bound assumes runs of the minimum size with one zone each: no other runs
            // have fewer records per word.
            let runs = u64::from(lane.unread() / FIRST_OPTIONAL_WORDS);
            // If another reader has read the core in the meantime, that reader may have read these
            // words.
            let gone_runs = if core.is_known() { runs } else { 0 };
            let waiting = |is_final| waits.is_some_and(|error| error.is_final() == is_final);
            for (is_final, is_lost, runs) in [(true, is_gone, gone_runs), (false, is_unread, runs)]
            {
                if is_lost || waiting(is_final) {
                    let runs = if is_lost { runs } else { 0 };
                    let markers = runs.saturating_add(waiting(is_final).into());
                    let after = last_time_of(lane.id);
                    let window =
                        LossWindow { after, before: core.read_at, ..LossWindow::default() };
                    self.lose_words_of_memory(lane.id, is_final, markers, window);
                }
            }
        }
    }

    /// Reports that a core does not answer, and that its lanes could not be read.
    pub(super) fn note_unreadable(&mut self, core: &CoreDescription, error: &AccessError) {
        let (place, chip_id) = (core.noc0, self.device.description().chip_id);
        self.note(AnomalyKind::UnreadableCore, None, 0, || format!("core {place}: {error}"));
        for risc in plan::lane_riscs(core.kind, self.options.mode) {
            let lane = LaneId { chip_id, core: place, risc };
            self.lose_words_of_memory(lane, error.is_final(), 0, LossWindow::default());
        }
    }

    /// Adds missing markers to the ledger: as unread if a later read may find them, otherwise as
    /// lost in the given window.
    fn lose_words_of_memory(
        &mut self,
        lane: LaneId,
        is_final: bool,
        at_least: u64,
        window: LossWindow,
    ) {
        if is_final {
            self.losses.note_window(lane, window);
            let totals = LossTotals::at_least_markers(at_least);
            self.lose_in_windows(lane, LossCause::Unreadable, None, totals);
        } else {
            self.note_unread(lane, at_least);
        }
    }

    /// Notes that a lane contains at least `at_least` unread markers, which a later read may find.
    pub(super) fn note_unread(&mut self, lane: LaneId, at_least: u64) {
        let known = self.unread.entry(lane).or_insert(LossTotals::at_least_markers(0));
        known.unknown_markers = known.unknown_markers.max(at_least);
    }

    /// Adds a loss of `word_count` words to the ledger: markers of unknown kind and time, of two
    /// words each.
    pub(super) fn lose_words(&mut self, lane: LaneId, cause: LossCause, word_count: u32) {
        let unknown_markers = u64::from(word_count / 2);
        self.lose(lane, cause, None, LossTotals { unknown_markers, ..LossTotals::default() });
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a vector has 512 words")]
const FIRST_OPTIONAL_WORDS: u32 = vector::FIRST_OPTIONAL as u32;

/// Returns the byte address of word number `word` in the memory that begins at `start`.
///
/// The address saturates, since captures may contain any address.
pub(super) const fn word_address(start: u64, word: u64) -> u64 {
    start.saturating_add(word.saturating_mul(4))
}
