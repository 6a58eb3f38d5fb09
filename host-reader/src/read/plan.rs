//! One core during one read: its control vector, and which words of its lanes are unread.

use super::{
    control::{self, ControlVector, WORDS},
    session::Session,
};
use crate::{
    anomaly::AnomalyKind,
    decode::CaptureMode,
    lane::LaneId,
    ledger::LossCause,
    mesh::{AccessError, CoreDescription, DeviceDescription},
};
use wire::{
    CoreKind, Generation, Risc,
    control::ext,
    dram::{DramGeometry, bytes_per_program},
};

/// A core whose control vector has been read.
pub(super) struct CoreRead {
    pub(super) core: CoreDescription,
    pub(super) control: ControlVector,
    pub(super) lanes: Vec<LaneRead>,
    /// The tile's clock after the words were read.
    pub(super) read_at: Option<u64>,
}

/// A RISC's lane, as far as it has been read.
pub(super) struct LaneRead {
    pub(super) id: LaneId,
    pub(super) risc_index: usize,
    pub(super) bank: u32,
    /// Byte address of the lane's first word.
    pub(super) address: u64,
    /// Words of the whole lane.
    pub(super) lane_words: u32,
    /// First unread word.
    pub(super) begin: u32,
    /// End of the unread words.
    pub(super) end: u32,
    /// The words from `begin` on; `None` until they were read.
    pub(super) words: Option<LaneWords>,
    /// A run that waits in L1, as it would have been pushed.
    pub(super) pending: Option<Vec<u32>>,
    /// Lost launches whose counts were read, if there were new ones.
    pub(super) lost_read: Option<u32>,
}

/// Where the words of a lane are.
pub(super) enum LaneWords {
    /// In one of the larger pieces in which DRAM was read.
    InPiece {
        /// Which piece.
        piece: usize,
        /// First word in it.
        first: usize,
    },
    /// By themselves.
    Own(Vec<u32>),
}

impl LaneRead {
    /// How many unread words the lane holds.
    pub(super) const fn unread(&self) -> u32 {
        self.end - self.begin
    }

    /// The lane's words; empty if they could not be read.
    pub(super) fn words<'a>(&'a self, pieces: &'a [Vec<u32>]) -> &'a [u32] {
        match &self.words {
            None => &[],
            Some(LaneWords::Own(words)) => words,
            Some(LaneWords::InPiece { piece, first }) => pieces
                .get(*piece)
                .and_then(|words| words.get(*first..*first + self.unread() as usize))
                .unwrap_or(&[]),
        }
    }
}

/// Reads the control vector of a core as far as any generation has it.
pub(super) fn read_words(
    session: &mut Session<'_>,
    core: &CoreDescription,
    word_count: usize,
) -> Result<[u32; WORDS], AccessError> {
    let mut words = [0; WORDS];
    session.read_control(core, &mut words[..word_count])?;
    Ok(words)
}

/// Makes sure that the words of a vector belong together, since the device may have rewound
/// a lane between two of them: then an end from before stands beside a mark from after.
pub(super) fn settle(
    session: &mut Session<'_>,
    core: &CoreDescription,
    mut control: ControlVector,
) -> Result<ControlVector, AccessError> {
    const ATTEMPTS: usize = 4;
    if !control.is_ours() {
        return Ok(control);
    }
    for _ in 0..ATTEMPTS {
        let riscs = 0..core.kind.risc_count();
        let is_unread = |risc| {
            let (lost, seen) = control.lost_launches(risc);
            control.host_end(risc) != control.seen_end(risc) || lost != seen
        };
        if !riscs.clone().any(is_unread) {
            return Ok(control);
        }
        let words = read_words(session, core, control.layout.word_count)?;
        let again = ControlVector { words, ..control.clone() };
        let is_settled = riscs.clone().all(|risc| {
            let (lost, seen_lost) = control.lost_launches(risc);
            let (lost_again, seen_again) = again.lost_launches(risc);
            again.host_end(risc) >= control.host_end(risc)
                && again.seen_end(risc) == control.seen_end(risc)
                && (lost_again >= lost && seen_again == seen_lost)
        });
        control = again;
        if is_settled {
            break;
        }
    }
    Ok(control)
}

impl CoreRead {
    /// Works out which words of a core are unread, trusting no control word.
    pub(super) fn plan(
        session: &mut Session<'_>,
        chip: &DeviceDescription,
        core: &CoreDescription,
        control: ControlVector,
        fallback: &DramGeometry,
    ) -> Self {
        check_host_words(session, chip, core, &control, fallback);
        let geometry = announced_geometry(session, chip, core, &control).unwrap_or(*fallback);
        let riscs = lane_riscs(core.kind, session.options.mode);
        let mut lanes = Vec::new();
        for (risc_index, risc) in riscs.into_iter().enumerate() {
            let id = LaneId { chip_id: chip.chip_id, core: core.noc0, risc };
            let place = geometry.lane(core.flat_id, u32::try_from(risc_index).unwrap_or(0));
            let lane_words = geometry.lane_words();
            let (begin, end) = unread_range(session, id, risc_index, &control, lane_words);
            lanes.push(LaneRead {
                id,
                risc_index,
                bank: place.bank,
                address: chip.dram.region_address + u64::from(place.offset_bytes),
                lane_words,
                begin,
                end,
                words: None,
                pending: None,
                lost_read: None,
            });
        }
        let mut planned = Self { core: core.clone(), control, lanes, read_at: None };
        planned.drop_what_was_never_pushed(session);
        planned
    }

    /// Takes the words that lanes have by themselves, once they are decoded.
    pub(super) fn take_own_words(&mut self) -> impl Iterator<Item = Vec<u32>> {
        let own = |lane: &mut LaneRead| match lane.words.take() {
            Some(LaneWords::Own(words)) => Some(words),
            _ => None,
        };
        self.lanes.iter_mut().filter_map(own)
    }

    /// A core without a DRAM address advances its ends all the same.
    fn drop_what_was_never_pushed(&mut self, session: &mut Session<'_>) {
        if self.control.word(self.control.layout.dram_address) != 0 {
            return;
        }
        for lane in self.lanes.iter_mut().filter(|lane| lane.unread() > 0) {
            session.note(AnomalyKind::MissingRun, Some(lane.id), lane.begin as usize, || {
                "the core has no DRAM address to push to".to_owned()
            });
            session.lose_words(lane.id, LossCause::NeverArrived, lane.unread());
            lane.begin = lane.end;
        }
    }

    /// Whether an upstream host would have something to reset.
    pub(super) fn has_activity(&self) -> bool {
        (0..self.core.kind.risc_count()).any(|risc| {
            let control = &self.control;
            control.host_end(risc) | control.device_end(risc) != 0 || control.has_dropped(risc)
        })
    }
}

/// The processors whose lanes are read.
fn lane_riscs(kind: CoreKind, mode: CaptureMode) -> Vec<Risc> {
    match (kind, mode) {
        (CoreKind::Tensix, CaptureMode::TraceOnly) => vec![Risc::TensixAggregate],
        _ => (0..kind.risc_count()).filter_map(|index| kind.risc(index)).collect(),
    }
}

/// Reports host-written words that are not as the description has them; that is used.
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

/// The layout that a core of our runtime has been given, if it can be one.
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
        let geometry = chip.geometry(words / program_words, sums_enabled).ok()?;
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

/// Begin and end of a lane's unread words.
fn unread_range(
    session: &mut Session<'_>,
    id: LaneId,
    risc_index: usize,
    control: &ControlVector,
    lane_words: u32,
) -> (u32, u32) {
    let (host_end, seen) = (control.host_end(risc_index), control.seen_end(risc_index));
    let position = control.layout.host_end + risc_index;
    if host_end > lane_words {
        session.note(AnomalyKind::ImplausibleControlWord, Some(id), position, || {
            format!("{host_end} words are said to fill a lane of {lane_words}")
        });
    }
    // A device that is about to rewind the lane zeroes its own word first.
    if seen > host_end && host_end != 0 {
        let position = ext::SEEN_END + risc_index;
        session.note(AnomalyKind::ImplausibleControlWord, Some(id), position, || {
            format!("{seen} words are said to be read of {host_end}")
        });
    }
    let end = host_end.min(lane_words);
    if seen > host_end { (0, end) } else { (seen.min(end), end) }
}

/// The format of a core, with the header layout that the options ask for.
pub(super) fn with_layout(generation: Generation, session: &Session<'_>) -> Generation {
    let header = session.options.header_layout.unwrap_or(generation.header);
    Generation { header, ..generation }
}
