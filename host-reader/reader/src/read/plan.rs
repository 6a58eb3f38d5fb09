//! One core during one read: its control vector, and the unread words of its lanes.

use super::{
    control::{self, ControlVector},
    memory::CoreMemory,
    session::Session,
    two_buffers::{self, TwoBuffers},
    unpushed::UnpushedWords,
};
use crate::{
    anomaly::AnomalyKind,
    decode::{CaptureMode, LaneLoss, MissingRuns},
    lane::LaneId,
    ledger::LossCause,
    mesh::{AccessError, CoreDescription, DeviceDescription},
};
use std::ops::Range;
use wire::{
    CoreKind, Generation, LaneEnd, Risc,
    control::ext,
    dram::{DramGeometry, bytes_per_program},
    risc::RISCS_PER_CORE,
    vector,
};

/// A core whose control vector has been read.
pub(super) struct CoreRead {
    pub(super) core: CoreDescription,
    pub(super) control: ControlVector,
    /// State of the core before this read.
    pub(super) memory: CoreMemory,
    pub(super) lanes: Vec<LaneRead>,
    /// Buffers of TT-Metal's debug dump, if the core uses the debug dump.
    pub(super) two_buffers: Option<TwoBuffers>,
    /// Number of launches that ran no kernel on this core since the last read.
    pub(super) idle_launches: u32,
    /// The tile's clock after the words were read.
    pub(super) read_at: Option<u64>,
}

/// A RISC's lane during a read.
pub(super) struct LaneRead {
    pub(super) id: LaneId,
    pub(super) risc_index: usize,
    pub(super) bank: u32,
    /// Byte address of the lane's first word.
    pub(super) address: u64,
    /// Size of the whole lane, in words.
    pub(super) lane_words: u32,
    /// Index of the first unread word.
    pub(super) begin: u32,
    /// End of the unread words. If the lane has wrapped after `begin`, there are two unread parts.
    pub(super) end: LaneEnd,
    /// Location of the words from `begin` on; `None` until they are read.
    pub(super) words: Option<LaneWords>,
    /// A run that waits in L1, in the layout of a pushed run.
    pub(super) pending: Option<Vec<u32>>,
    /// Error of reading a run that waits in L1; `None` if there was no error.
    pub(super) pending_error: Option<AccessError>,
    /// The words in L1 of a launch that has not ended; `None` if they were not read.
    pub(super) unpushed: Option<UnpushedWords>,
    /// Losses counted by the device. They are added to the ledger after the lane's runs are
    /// decoded.
    pub(super) loss: LaneLoss,
}

/// Location of a lane's words.
pub(super) enum LaneWords {
    /// In a piece of DRAM that was read for several lanes.
    InPiece {
        /// Index of the piece.
        piece: usize,
        /// Index of the lane's first unread word in the piece.
        first: usize,
    },
    /// In a vector that was read for this lane alone.
    Own(Vec<u32>),
    /// The words are lost; a later read cannot find them either.
    Gone,
}

impl LaneRead {
    /// Returns the number of unread words in the lane.
    pub(super) fn unread(&self) -> u32 {
        let [older, newer] = self.unread_ranges();
        let count = |range: Range<u32>| range.end.saturating_sub(range.start);
        count(older).saturating_add(count(newer))
    }

    /// Returns true if no later read needs the lane's unread words: there are no such words, or
    /// they were read, or they are lost.
    pub(super) fn is_taken(&self) -> bool {
        self.unread() == 0 || self.words.is_some()
    }

    /// Returns the two ranges of unread words. If the lane has wrapped, the first range is the part
    /// before the wrap; otherwise one range is empty.
    pub(super) const fn unread_ranges(&self) -> [Range<u32>; 2] {
        self.end.unread(self.begin)
    }

    /// Returns true if the unread words are in two parts.
    pub(super) fn is_in_two_parts(&self) -> bool {
        self.unread_ranges().iter().all(|range| !range.is_empty())
    }

    /// Returns true if words of the lane, or a waiting run, could not be read.
    pub(super) fn is_unreadable(&self) -> bool {
        let has_words = matches!(self.words, Some(LaneWords::InPiece { .. } | LaneWords::Own(_)));
        self.unread() > 0 && !has_words || self.pending_error.is_some()
    }

    /// Returns the position of the runs that a full lane refused. They come after all runs that
    /// begin at a position from which `run_words` words still fit into the lane.
    ///
    /// A run has at most the size of a vector, even if `run_words` is larger. `room_end` is the
    /// first word of a wrapped lane that the device must not write; `None` if unknown.
    pub(super) fn full_for(&self, run_words: u64, room_end: Option<u32>) -> MissingRuns {
        let fits = |room_end: u32| {
            let run_words = run_words.min(vector::VECTOR_WORDS as u64);
            u64::from(room_end).saturating_sub(run_words)
        };
        match (self.end.turned_at, room_end) {
            (None, _) => MissingRuns::BehindWord(fits(self.lane_words)),
            (Some(_), None) => MissingRuns::Anywhere,
            // Positions continue to rise after the wrap. The refused runs may have been refused
            // before the wrap, so only runs before the wrap certainly precede them.
            (Some(mark), Some(room_end)) if self.is_in_two_parts() => {
                MissingRuns::BehindWord(fits(room_end).min(u64::from(mark).saturating_sub(1)))
            }
            (Some(_), Some(room_end)) => MissingRuns::BehindWord(fits(room_end)),
        }
    }

    /// Returns the lane's unread words; empty if they could not be read.
    pub(super) fn words<'a>(&'a self, pieces: &'a [Vec<u32>]) -> &'a [u32] {
        match &self.words {
            None | Some(LaneWords::Gone) => &[],
            Some(LaneWords::Own(words)) => words,
            Some(LaneWords::InPiece { piece, first }) => pieces
                .get(*piece)
                .and_then(|words| words.get(*first..first.saturating_add(self.unread() as usize)))
                .unwrap_or(&[]),
        }
    }
}

/// Reads a control vector again until its words are consistent, at most `ATTEMPTS` times.
///
/// While the words are read, the device may push markers, or reset its lanes to empty. If two
/// consecutive readings are identical, they are consistent.
pub(super) fn settle(
    session: &mut Session<'_>,
    core: &CoreDescription,
    mut control: ControlVector,
) -> Result<ControlVector, AccessError> {
    const ATTEMPTS: usize = 8;
    if !control.is_ours() || is_at_rest(&control) {
        return Ok(control);
    }
    for _ in 0..ATTEMPTS {
        let words = session.read_control_vector(core, control.layout.word_count)?;
        let is_settled = words == control.words;
        control = ControlVector { words, ..control };
        if is_settled {
            break;
        }
    }
    Ok(control)
}

/// Returns true if every finished launch of a core was read and no launch is in progress.
///
/// Several words of the vector are tested, and each of them must show that the core is idle. A
/// launch that began while the vector was read may already have cleared some of the words.
fn is_at_rest(control: &ControlVector) -> bool {
    let is_read = |risc_index: usize| {
        let end = control.host_end(risc_index);
        [end, LaneEnd::from_word(end, 0).end].contains(&control.consumed(risc_index))
    };
    control.run_counter() == control.word(ext::SEEN_RUNS)
        && !control.is_under_way()
        && (!control.has_turning_lanes() || (0..RISCS_PER_CORE).all(is_read))
}

impl CoreRead {
    /// Finds the unread words of a core. No control word is trusted.
    pub(super) fn plan(
        session: &mut Session<'_>,
        chip: &DeviceDescription,
        core: &CoreDescription,
        mut control: ControlVector,
        (fallback, remembered): (&DramGeometry, Option<CoreMemory>),
    ) -> Self {
        let two_buffers = TwoBuffers::find(session, chip, core, (&mut control, fallback));
        let memory = CoreMemory::from_core(remembered, &control);
        check_host_words(session, chip, core, &control, fallback);
        let geometry = announced_geometry(session, chip, core, &control).unwrap_or(*fallback);
        let riscs = lane_riscs(core.kind, session.options.mode);
        let mut lanes = Vec::new();
        for (risc_index, risc) in riscs.into_iter().enumerate() {
            let id = LaneId { chip_id: chip.chip_id, core: core.noc0, risc };
            let place = geometry.lane(core.flat_id, u32::try_from(risc_index).unwrap_or(0));
            let lane_words = geometry.lane_words();
            let (begin, end) =
                unread_range(session, id, (risc_index, &control, &memory), lane_words);
            lanes.push(LaneRead {
                id,
                risc_index,
                bank: place.bank,
                address: chip.dram.region_address.saturating_add(place.offset_bytes.into()),
                lane_words,
                begin,
                end,
                words: None,
                pending: None,
                pending_error: None,
                unpushed: None,
                loss: LaneLoss::default(),
            });
        }
        let core = core.clone();
        let mut planned =
            Self { core, control, memory, lanes, two_buffers, idle_launches: 0, read_at: None };
        two_buffers::place_lanes(&mut planned, &geometry);
        planned.drop_what_was_never_pushed(session);
        planned
    }

    /// Removes the words that are in separate vectors and returns the vectors. Call this method
    /// after the words have been decoded.
    pub(super) fn take_own_words(&mut self) -> impl Iterator<Item = Vec<u32>> {
        let own = |lane: &mut LaneRead| match lane.words.take() {
            Some(LaneWords::Own(words)) => Some(words),
            _ => None,
        };
        self.lanes.iter_mut().filter_map(own)
    }

    /// Marks the unread words of a lane as read if they were never pushed. A core without a DRAM
    /// address pushes nothing, but still advances the end of each lane.
    fn drop_what_was_never_pushed(&mut self, session: &mut Session<'_>) {
        let has_address = self.control.word(self.control.layout.dram_address) != 0;
        let are_stored = |lane: &LaneRead| {
            let buffers = self.two_buffers.as_ref();
            buffers.map_or(has_address, |buffers| buffers.are_stored(lane.risc_index))
        };
        // If a core has no DRAM address, this project's runtime itself counts the core's runs as
        // losses.
        let is_counted = self.control.is_ours();
        for lane in self.lanes.iter_mut().filter(|lane| lane.unread() > 0 && !are_stored(lane)) {
            let unread = lane.unread();
            let begin = std::mem::replace(&mut lane.begin, lane.end.end);
            if is_counted {
                continue;
            }
            session.note(AnomalyKind::MissingRun, Some(lane.id), begin as usize, || {
                "there is no DRAM address to push to".to_owned()
            });
            session.lose_words(lane.id, LossCause::NeverArrived, unread);
        }
    }

    /// Returns false if the core runs this project's runtime and another reader has read the core
    /// since this reader's last read.
    ///
    /// It is then unknown which losses and words are new.
    pub(super) fn is_known(&self) -> bool {
        !self.control.is_ours() || self.memory.words.is_some()
    }

    /// Returns true if the core has recorded or dropped anything. Cores that run TT-Metal's runtime
    /// are reset only in this case, as by TT-Metal's host.
    pub(super) fn has_activity(&self) -> bool {
        (0..self.core.kind.risc_count()).any(|risc| {
            let control = &self.control;
            control.host_end(risc) | control.device_end(risc) != 0 || control.has_dropped(risc)
        })
    }
}

/// Returns the RISCs of a core whose lanes are read.
pub(super) fn lane_riscs(kind: CoreKind, mode: CaptureMode) -> Vec<Risc> {
    match (kind, mode) {
        (CoreKind::Tensix, CaptureMode::TraceOnly) => vec![Risc::TensixAggregate],
        _ => (0..kind.risc_count()).filter_map(|index| kind.risc(index)).collect(),
    }
}

/// Reports the control words written by the host that differ from the chip's description. The
/// reader then uses the description.
fn check_host_words(
    session: &mut Session<'_>,
    chip: &DeviceDescription,
    core: &CoreDescription,
    control: &ControlVector,
    geometry: &DramGeometry,
) {
    let expected = control::expected_words(chip, geometry, core);
    let found = control.host_words();
    let is_uninitialised = found == [0; 3] && !control.is_ours();
    let layout = control.layout;
    let indices = [layout.flat_id, layout.cores_per_bank, layout.dram_address];
    for ((index, expected), found) in indices.into_iter().zip(expected).zip(found) {
        let is_silenced = index == layout.dram_address && found == 0;
        if found != expected && !is_uninitialised && !is_silenced {
            let place = core.noc0;
            session.note(AnomalyKind::ImplausibleControlWord, None, index, || {
                format!("core {place}: expected {expected:#x}, found {found:#x}")
            });
        }
    }
}

/// Returns the lane layout with which a core of this project's runtime was initialized; `None` if
/// the layout is unknown or invalid.
fn announced_geometry(
    session: &mut Session<'_>,
    chip: &DeviceDescription,
    core: &CoreDescription,
    control: &ControlVector,
) -> Option<DramGeometry> {
    let words = control.word(ext::DRAM_LANE_WORDS);
    if !control.is_ours() || words == 0 {
        return None;
    }
    let geometry = [false, true].into_iter().find_map(|sums_enabled| {
        let program_words = bytes_per_program(sums_enabled) / 4;
        let geometry = chip.geometry(words.checked_div(program_words)?, sums_enabled).ok()?;
        let fits = u64::from(geometry.bank_bytes()) <= chip.dram.region_bytes;
        (geometry.lane_words() == words && fits).then_some(geometry)
    });
    if geometry.is_none() {
        let place = core.noc0;
        session.note(AnomalyKind::ImplausibleControlWord, None, ext::DRAM_LANE_WORDS, || {
            format!("core {place}: {words} words per lane is no possible size")
        });
    }
    geometry
}

/// Returns the index of a lane's first unread word, and the end of the unread words.
fn unread_range(
    session: &mut Session<'_>,
    id: LaneId,
    (risc_index, control, memory): (usize, &ControlVector, &CoreMemory),
    lane_words: u32,
) -> (u32, LaneEnd) {
    let said = control.lane_end(risc_index, lane_words);
    let position = control.layout.host_end.saturating_add(risc_index);
    let farthest = said.turned_at.unwrap_or(0).max(said.end);
    if farthest > lane_words {
        session.note(AnomalyKind::ImplausibleControlWord, Some(id), position, || {
            format!("{farthest} words are said to fill a lane of {lane_words}")
        });
    }
    let turned_at = said.turned_at.map(|word| word.min(lane_words));
    let end = LaneEnd { end: said.end.min(lane_words), turned_at };
    let read = if control.is_ours() {
        memory.read_words(control, risc_index)
    } else {
        control.seen_end_of_version_2(risc_index)
    };
    if read <= end.turned_at.unwrap_or(0).max(end.end) {
        return (read, end);
    }
    // When a device resets a lane to empty, it first clears the lane's end and then reports the
    // reset. An end of 0 is therefore valid here, although words were read.
    if said != LaneEnd::default() {
        session.note(AnomalyKind::ImplausibleControlWord, Some(id), position, || {
            format!("{farthest} words are said to fill a lane of which {read} were read")
        });
    }
    (0, LaneEnd { turned_at: None, ..end })
}

/// Returns the format generation with the header layout from the options, if they contain one.
pub(super) fn with_layout(generation: Generation, session: &Session<'_>) -> Generation {
    let header = session.options.header_layout.unwrap_or(generation.header);
    Generation { header, ..generation }
}
