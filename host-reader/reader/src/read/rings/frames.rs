//! Decoding of cells in the frames of a relay, and handover of rings from a relay to the host.

use super::{CellWords, Ring, RingRead, Rings, count, lanes_of};
use crate::{
    anomaly::AnomalyKind,
    lane::LaneId,
    ledger::LossCause,
    mesh::CoreDescription,
    read::{
        control::{CoreWords, WORDS},
        session::Session,
    },
    stream::Frame,
};
use wire::stream::{RING_CELLS, words};

#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "256")]
const RING_CELLS_SIGNED: i32 = RING_CELLS as i32;

impl Rings {
    /// Prepares the rings of `core` for the first frames of a relay. No host has read any frame of
    /// the relay, so all cells of `core`, from cell 0 on, must be in the frames.
    pub(in crate::read) fn expect_frames(&mut self, chip_id: u32, core: &CoreDescription) {
        for (_, id) in lanes_of(chip_id, core) {
            let first = || Ring { is_relayed: true, ..Ring::first(id) };
            self.lanes.entry(id).or_insert_with(first);
        }
    }

    /// Decodes the cells of a frame; `read_at` is the producer's clock, read after the frame.
    ///
    /// `has_all` is true if this reader has found all of the relay's frames that no other host has
    /// read. In that case, no cells are missing before the first cell of a RISC that this reader
    /// finds: another host has read the earlier cells. Otherwise, earlier cells may be missing.
    pub(in crate::read) fn add_frame(
        &mut self,
        session: &mut Session<'_>,
        core: &CoreWords,
        frame: &Frame<'_>,
        (read_at, has_all): (Option<u64>, bool),
    ) {
        let chip_id = session.device.description().chip_id;
        for (risc_index, id) in lanes_of(chip_id, &core.core) {
            let (first, cells) = frame.cells(risc_index);
            // The control words of a frame without cells may be older than the known state.
            if cells.is_empty() {
                continue;
            }
            let cells = (first, cells, has_all);
            if let Some(reading) = self.framed(session, core, (id, risc_index), cells) {
                self.decode(session, reading, read_at);
            }
        }
    }

    /// Returns the cells of a frame that are new to this reader, with the number of missing cells
    /// before them.
    ///
    /// If this reader has not read the lane before, it begins with the lane's first cell in the
    /// frame. In this case, if `has_all` is false, all cells before that cell, from cell 0 on, are
    /// counted as missing.
    fn framed(
        &mut self,
        session: &Session<'_>,
        core: &CoreWords,
        (id, risc_index): (LaneId, usize),
        (first, mut cells, has_all): (u32, Vec<CellWords>, bool),
    ) -> Option<RingRead> {
        let new = || Ring::new(core, id, risc_index, first);
        let unread = || if has_all { new() } else { Ring::first(id) };
        let ring = self.lanes.entry(id).or_insert_with(unread);
        if has_all && ring.read_count == 0 && ring.next == 0 && first != 0 {
            *ring = new();
        }
        let begun = core.word(words::LAUNCHES).wrapping_sub(ring.open.begun());
        let mut ahead = first.wrapping_sub(ring.next).cast_signed();
        if begun.cast_signed() < 0 || ahead < -RING_CELLS_SIGNED {
            let (lane, losses) = (ring.lane.abandon(), ring.losses);
            *ring = Ring { lane, losses, ..new() };
            ahead = 0;
        }
        // A new relay repeats cells that the previous relay did not acknowledge to the producer.
        let repeated = ahead.min(0).unsigned_abs().min(count(&cells));
        cells.drain(..repeated as usize);
        if cells.is_empty() {
            return None;
        }
        let first = first.wrapping_add(repeated);
        ring.next = first.wrapping_add(count(&cells));
        ring.is_relayed = true;
        let (missing, cause) = (ahead.max(0).unsigned_abs(), LossCause::Damaged);
        let without_cells = RingRead::without_cells(session, core, (id, risc_index), first);
        Some(RingRead { cells, missing, cause, ..without_cells })
    }

    /// Reads the control vector of a core again if a relay reads or has read the core's rings. The
    /// vector in `core` was read before the frames, so it is older than the frames.
    pub(super) fn newest(
        &self,
        session: &mut Session<'_>,
        core: &CoreWords,
        is_relayed: bool,
    ) -> Option<CoreWords> {
        let chip_id = session.device.description().chip_id;
        let was_relayed = lanes_of(chip_id, &core.core)
            .any(|(_, id)| self.lanes.get(&id).is_some_and(|ring| ring.is_relayed));
        if !is_relayed && !was_relayed {
            return None;
        }
        let words = session.read_control_vector(&core.core, WORDS).unwrap_or_else(|error| {
            session.note(AnomalyKind::UnreadableCore, None, 0, || error.to_string());
            core.words
        });
        Some(CoreWords { core: core.core.clone(), words })
    }

    /// Returns a reading without cells for each RISC whose cells were all in frames.
    ///
    /// For such a RISC, losses and ends of launches after the last cell are only in the control
    /// vector.
    pub(super) fn counts_behind_frames(
        &mut self,
        session: &Session<'_>,
        core: &CoreWords,
    ) -> Vec<RingRead> {
        let chip_id = session.device.description().chip_id;
        let mut readings = Vec::new();
        for (risc_index, id) in lanes_of(chip_id, &core.core) {
            // Cells of an unknown lane may be in frames that have not been read yet.
            let Some(ring) = self.lanes.get_mut(&id) else { continue };
            ring.is_relayed = true;
            let next = ring.next;
            if next == core.risc_word(words::WRITTEN, risc_index) {
                readings.push(RingRead::without_cells(session, core, (id, risc_index), next));
            }
        }
        readings
    }
}

impl Ring {
    /// Hands a ring over from a relay to the host, which reads the ring from now on. Returns the
    /// number of acknowledged cells that are missing.
    ///
    /// The relay has acknowledged the cells before number `told` to the producer. An acknowledged
    /// cell is missing if it was in no frame that the host has read.
    pub(super) fn take_over(&mut self, told: u32) -> u32 {
        if !std::mem::take(&mut self.is_relayed) {
            return 0;
        }
        self.told = told;
        let missing = told.wrapping_sub(self.next);
        if missing.cast_signed() <= 0 {
            return 0;
        }
        self.next = told;
        missing
    }
}
