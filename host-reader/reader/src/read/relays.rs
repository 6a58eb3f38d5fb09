//! Reading of the frames of relays. If a relay no longer works, the host reads the rings of its
//! producers instead.
//!
//! A relay has one or two gatherers. A gatherer collects the cells of its producers (streaming
//! cores) and pushes them as frames into a ring in DRAM or in the host's memory, from which the
//! host reads the frames. While a gatherer works, only the gatherer acknowledges cells to its
//! producers. After a gatherer has ended, the host reads the remaining frames. Then the host reads
//! the producers' rings. These rings still contain all cells that are in no frame.

use super::{
    control::{CoreWords, WORDS, word_of},
    prepare::CoreId,
    rings::Rings,
    session::Session,
};
use crate::{
    anomaly::AnomalyKind,
    mesh::{CoreDescription, Noc0Coord},
    stream::{FrameFault, FrameHeader},
};
use std::collections::{BTreeMap, BTreeSet};
use wire::{
    frame::ALIGN_BYTES,
    relay::{self, GATHERERS_MAX, State, setup, words},
};

/// State of all relays between two reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Relays {
    gatherers: BTreeMap<CoreId, Vec<Gatherer>>,
}

/// State of one gatherer.
#[derive(Clone, Debug)]
struct Gatherer {
    /// Index of the gatherer in its relay.
    index: usize,
    /// Number of bytes read from the gatherer's ring, modulo 2^32.
    read: u32,
    /// Number of the next frame; `None` before the first frame.
    next: Option<u32>,
    /// True if no cells of a producer can be missing before the first cell that this reader finds.
    ///
    /// False if frames are missing, or if this reader does not know the previous relay.
    has_all: bool,
    heartbeat: u32,
    /// Time on the clock of the relay's core when a read last found a changed heartbeat; `None` if
    /// unknown.
    alive_at: Option<u64>,
    has_ended: bool,
    producers: BTreeSet<Noc0Coord>,
}

/// Reason why a gatherer has ended unexpectedly, without a request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
enum End {
    #[error("no longer shows a sign of life")]
    Silent,
    #[error("has ended because the NoC did not answer")]
    NocSilent,
    #[error("was not set up as it has to be")]
    BadSetup,
}

/// A gatherer's ring during one read.
struct GathererRing<'a> {
    core: &'a CoreDescription,
    bank: u32,
    address: u64,
    byte_count: u32,
    written: u32,
}

impl Relays {
    /// Returns true if this reader has found a gatherer on a chip.
    pub(super) fn has_gatherers(&self, chip_id: u32) -> bool {
        self.gatherers.keys().any(|(chip, _)| *chip == chip_id)
    }

    /// Reads the frames of all relays; returns the cores whose rings a relay still reads.
    pub(super) fn read(
        &mut self,
        session: &mut Session<'_>,
        relays: &[CoreWords],
        rings: &mut Rings,
    ) -> BTreeSet<Noc0Coord> {
        let mut relayed = BTreeSet::new();
        // A relay may repeat cells of the previous relay, so relays are read in the order in which
        // they worked. `TERM` is the number of earlier relays.
        let mut in_terms: Vec<&CoreWords> = relays.iter().collect();
        in_terms.sort_by_key(|relay| relay.word(words::TERM));
        for relay in in_terms {
            let core_id = (session.device.description().chip_id, relay.core.noc0);
            let mut known = self.gatherers.remove(&core_id).unwrap_or_default();
            for index in known.len()..gatherer_count(relay) {
                known.push(self.meet(session, relay, index, rings));
            }
            let control = look(session, relay, &mut known);
            for gatherer in &mut known {
                gatherer.read(session, relay, &control, rings);
                if !gatherer.has_ended {
                    relayed.extend(&gatherer.producers);
                }
            }
            self.gatherers.insert(core_id, known);
        }
        relayed
    }

    /// Creates the state of a gatherer that this reader has not read before.
    fn meet(
        &self,
        session: &mut Session<'_>,
        relay: &CoreWords,
        index: usize,
        rings: &mut Rings,
    ) -> Gatherer {
        let chip_id = session.device.description().chip_id;
        let mut new = Gatherer::new(session, relay, index);
        let chip_gatherers = self.gatherers.iter().filter(|(core, _)| core.0 == chip_id);
        let mut others = chip_gatherers.flat_map(|(_, gatherers)| gatherers);
        let is_first = relay.word(words::TERM) == 0;
        new.has_all = new.read != 0
            || is_first
            || others.any(|other| !other.producers.is_disjoint(&new.producers));
        if new.read == 0 {
            new.next = Some(FIRST_FRAME);
            for core in new.producers.iter().filter_map(|core| known_core(session, *core)) {
                rings.expect_frames(chip_id, &core);
            }
        }
        new
    }
}

/// Returns the number of a relay's gatherers. If the state word of the second gatherer is 0, there
/// is no second gatherer.
fn gatherer_count(relay: &CoreWords) -> usize {
    let has_second = relay.words.get(words::of(1, words::STATE)).is_some_and(|state| *state != 0);
    if has_second { GATHERERS_MAX } else { 1 }
}

/// Checks which gatherers of a relay still work, and reports gatherers that have ended. Returns the
/// relay's newest control vector.
///
/// The last read requests the relay to end, and waits for the end. Other reads do not wait. A
/// gatherer counts as ended if a read finds that its heartbeat has not changed for [`LIFE_US`].
fn look(session: &mut Session<'_>, relay: &CoreWords, gatherers: &mut [Gatherer]) -> [u32; WORDS] {
    let mut control = relay.words;
    if gatherers.iter().all(|gatherer| gatherer.has_ended) {
        return control;
    }
    let ends = session.options.last_read && !session.options.read_only;
    if ends {
        session.write_control(&relay.core, words::STOP, &[1]);
        control = await_end(session, relay, gatherers);
    }
    let clock = session.device.read_wall_clock(relay.core.noc0).ok();
    let life_cycles = LIFE_US.saturating_mul(session.device.description().aiclk_mhz.into());
    let mut ended: BTreeMap<End, Vec<usize>> = BTreeMap::new();
    for gatherer in gatherers.iter_mut().filter(|gatherer| !gatherer.has_ended) {
        if let Some(reason) = gatherer.judge(&control, (clock, life_cycles), ends) {
            ended.entry(reason).or_default().push(gatherer.index);
        }
    }
    for (reason, which) in ended {
        note_end(session, &relay.core, &which, reason);
        if reason == End::Silent && !session.options.read_only {
            // The gatherer may only have been delayed. It must not continue, because the host now
            // reads the rings.
            session.write_control(&relay.core, words::STOP, &[1]);
        }
    }
    control
}

/// Waits until the gatherers of a relay have ended after the request to end, at most [`LIFE_US`].
/// Returns the relay's control vector.
fn await_end(session: &mut Session<'_>, relay: &CoreWords, gatherers: &[Gatherer]) -> [u32; WORDS] {
    let mut control = relay.words;
    for _ in 0..LIFE_US / LOOK_US {
        let Ok(words) = session.read_control_vector(&relay.core, WORDS) else {
            return relay.words;
        };
        control = words;
        if !gatherers.iter().any(|gatherer| gatherer.state(&control) == Some(State::Runs)) {
            break;
        }
        session.device.wait_ns(LOOK_US.saturating_mul(1000));
    }
    control
}

impl Gatherer {
    fn new(session: &mut Session<'_>, relay: &CoreWords, index: usize) -> Self {
        let word = |word: usize| relay.word(words::of(index, word));
        Self {
            index,
            read: word(words::READ),
            next: None,
            has_all: true,
            // This value differs from the gatherer's current heartbeat, so the first read takes the
            // gatherer as alive.
            heartbeat: word(words::HEARTBEAT).wrapping_sub(1),
            alive_at: None,
            has_ended: false,
            producers: producers(session, relay, index),
        }
    }

    /// Returns one of this gatherer's words in the control vector of the relay's core.
    fn word(&self, control: &[u32; WORDS], word: usize) -> u32 {
        word_of(control, words::of(self.index, word))
    }

    fn state(&self, control: &[u32; WORDS]) -> Option<State> {
        State::from_word(self.word(control, words::STATE))
    }

    fn read(
        &mut self,
        session: &mut Session<'_>,
        relay: &CoreWords,
        control: &[u32; WORDS],
        rings: &mut Rings,
    ) {
        let ring = GathererRing {
            core: &relay.core,
            bank: self.word(control, words::BANK),
            address: self.word(control, words::RING_ADDRESS).into(),
            byte_count: self.word(control, words::RING_BYTES),
            written: self.word(control, words::WRITTEN),
        };
        let unread = ring.written.wrapping_sub(self.read);
        let is_possible = ring.byte_count.is_power_of_two()
            && ring.byte_count >= relay::RING_BYTES_MIN
            && unread <= ring.byte_count
            && unread.is_multiple_of(ALIGN_BYTES);
        if !is_possible {
            session.note(AnomalyKind::ImplausibleControlWord, None, words::WRITTEN, || {
                let (core, bytes) = (relay.core.noc0, ring.byte_count);
                format!("relay {core}: {unread} bytes are said to wait in a ring of {bytes}")
            });
            self.read = ring.written;
            return;
        }
        while self.read != ring.written {
            if !self.read_piece(session, &ring, rings) {
                return;
            }
        }
    }

    /// Checks whether the gatherer is alive, and updates `has_ended`. Returns the reason if the
    /// gatherer has ended unexpectedly. `clock` is the current time on the clock of the relay's
    /// core.
    fn judge(
        &mut self,
        control: &[u32; WORDS],
        (clock, life_cycles): (Option<u64>, u64),
        ends: bool,
    ) -> Option<End> {
        let before = self.heartbeat;
        self.heartbeat = self.word(control, words::HEARTBEAT);
        let reason = match self.state(control) {
            Some(State::Runs) if ends => Some(End::Silent),
            Some(State::Runs) if self.heartbeat != before => {
                self.alive_at = clock;
                return None;
            }
            Some(State::Runs) => {
                let since = self.alive_at.or(clock);
                self.alive_at = since;
                let passed = since.zip(clock).map(|(since, clock)| clock.saturating_sub(since));
                if passed.is_none_or(|passed| passed < life_cycles) {
                    return None;
                }
                Some(End::Silent)
            }
            Some(State::Stopped) => None,
            Some(State::NocSilent) => Some(End::NocSilent),
            Some(State::BadSetup) | None => Some(End::BadSetup),
        };
        self.has_ended = true;
        reason
    }

    /// Reads a piece of the ring and acknowledges its frames to the gatherer. Returns false if the
    /// ring could not be read.
    fn read_piece(
        &mut self,
        session: &mut Session<'_>,
        ring: &GathererRing<'_>,
        rings: &mut Rings,
    ) -> bool {
        let place = self.read & ring.byte_count.wrapping_sub(1);
        let to_end = ring.byte_count.wrapping_sub(place);
        let unread = ring.written.wrapping_sub(self.read);
        let byte_count = unread.min(to_end).min(PIECE_BYTES);
        let mut piece = vec![0; (byte_count / 4) as usize];
        let address = ring.address.saturating_add(place.into());
        let read = if ring.bank == words::HOST_MEMORY {
            session.read_host_memory(address, &mut piece)
        } else {
            session.read_dram(ring.bank, address, &mut piece)
        };
        if let Err(error) = read {
            let core = ring.core.noc0;
            session.note(AnomalyKind::UnreadableCore, None, 0, || {
                format!("the frames of relay {core} cannot be read: {error}")
            });
            return false;
        }
        let is_whole = byte_count < PIECE_BYTES;
        let done = self.add_frames(session, ring, rings, (&piece, is_whole));
        self.read = self.read.wrapping_add(done);
        if !session.options.read_only {
            session.write_control(ring.core, words::of(self.index, words::READ), &[self.read]);
        }
        true
    }

    /// Adds the frames of a piece to the rings and returns their size in bytes.
    ///
    /// If `is_whole` is true, the piece ends at the end of a frame. Otherwise the last frame of the
    /// piece may be cut off. A frame that is cut off is left for the next piece.
    fn add_frames(
        &mut self,
        session: &mut Session<'_>,
        ring: &GathererRing<'_>,
        rings: &mut Rings,
        (piece, is_whole): (&[u32], bool),
    ) -> u32 {
        let mut clocks = BTreeMap::new();
        let mut rest = piece;
        while !rest.is_empty() {
            let header = FrameHeader::parse(rest).filter(|header| self.is_next(header));
            let length = header.map_or(0, |header| (header.byte_count / 4) as usize);
            let Some(words) = rest.get(..length).filter(|_| length > 0) else {
                if header.is_some() && !is_whole {
                    break;
                }
                rest = self.skip_damage(session, ring, rest, FrameFault::Header);
                continue;
            };
            let Some(header) = header else { break };
            self.has_all &= self.next.is_none_or(|next| next == header.sequence);
            self.next = Some(header.sequence.wrapping_add(1));
            match header.frame(words) {
                Ok(None) => {}
                Ok(Some(frame)) => {
                    let core = known_core(session, frame.producer);
                    if let Some(core) = core.filter(|_| self.producers.contains(&frame.producer)) {
                        let device = &mut *session.device;
                        let clock = clocks
                            .entry(core.noc0)
                            .or_insert_with(|| device.read_wall_clock(core.noc0).ok());
                        let streaming = CoreWords { core, words: frame.control };
                        rings.add_frame(session, &streaming, &frame, (*clock, self.has_all));
                    } else {
                        note_damage(
                            session,
                            ring,
                            "a frame names a core that the relay does not read",
                        );
                    }
                }
                Err(fault) => {
                    self.has_all = false;
                    note_damage(session, ring, fault);
                }
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        let done = piece.len().saturating_sub(rest.len()).saturating_mul(4);
        u32::try_from(done).unwrap_or(0)
    }

    /// Returns true if the frame with this header is new, and not left over from before the ring
    /// wrapped.
    fn is_next(&self, header: &FrameHeader) -> bool {
        let next = self.next.unwrap_or(header.sequence);
        header.sequence.wrapping_sub(next) < FRAMES_MISSING_MAX
    }

    /// Reports damage and skips the words up to the next valid header; returns the remaining words.
    fn skip_damage<'a>(
        &mut self,
        session: &mut Session<'_>,
        ring: &GathererRing<'_>,
        words: &'a [u32],
        fault: FrameFault,
    ) -> &'a [u32] {
        self.has_all = false;
        note_damage(session, ring, fault);
        let step = (ALIGN_BYTES / 4) as usize;
        let mut rest = words.get(step..).unwrap_or_default();
        while !rest.is_empty()
            && !FrameHeader::parse(rest).is_some_and(|header| self.is_next(&header))
        {
            rest = rest.get(step..).unwrap_or_default();
        }
        rest
    }
}

/// Reads the list of the cores from which a gatherer reads.
fn producers(session: &mut Session<'_>, relay: &CoreWords, index: usize) -> BTreeSet<Noc0Coord> {
    let word = |word: usize| relay.word(words::of(index, word));
    let count = word(words::PRODUCERS).min(relay::PRODUCERS_MAX) as usize;
    let mut list = vec![0; count.saturating_mul(setup::PRODUCER_WORDS)];
    let address = word(words::PRODUCER_LIST).into();
    if let Err(error) = session.device.read_l1(relay.core.noc0, address, &mut list) {
        let core = relay.core.noc0;
        session.note(AnomalyKind::UnreadableCore, None, words::PRODUCER_LIST, || {
            format!("the cores that relay {core} reads are unknown: {error}")
        });
        return BTreeSet::new();
    }
    let (producers, _) = list.as_chunks::<{ setup::PRODUCER_WORDS }>();
    producers.iter().map(|words| Noc0Coord::from_word(words[setup::LABEL])).collect()
}

/// Returns the description of the core at a coordinate, if the chip has such a core and it is
/// selected.
fn known_core(session: &Session<'_>, core: Noc0Coord) -> Option<CoreDescription> {
    let chip = session.device.description();
    let found = chip.cores.iter().find(|known| known.noc0 == core)?;
    session.options.cores.contains(chip.chip_id, found).then(|| found.clone())
}

/// Reports that gatherers of a relay have ended.
fn note_end(session: &mut Session<'_>, core: &CoreDescription, which: &[usize], reason: End) {
    let core = core.noc0;
    let first = which.first().copied().unwrap_or(0);
    session.note(
        AnomalyKind::UnreadableCore,
        None,
        words::of(first, words::STATE),
        || match which {
            [gatherer] => format!(
                "gatherer {gatherer} of relay {core} {reason}; the host reads its cores instead"
            ),
            _ => format!("relay {core} {reason}; the host reads its cores instead"),
        },
    );
}

fn note_damage(session: &mut Session<'_>, ring: &GathererRing<'_>, reason: impl std::fmt::Display) {
    let core = ring.core.noc0;
    session.note(AnomalyKind::TruncatedRecord, None, 0, || format!("relay {core}: {reason}"));
}

/// Maximum size of a piece of the ring that is read at once, in bytes.
const PIECE_BYTES: u32 = 1 << 19;
/// Number of a gatherer's first frame.
const FIRST_FRAME: u32 = 1;
/// Limit for the difference between a frame's number and the expected number.
///
/// A smaller difference is the number of missing frames before the frame. A frame whose difference
/// reaches the limit is left over from before the ring wrapped.
const FRAMES_MISSING_MAX: u32 = 1 << 30;
/// Maximum time in microseconds during which a gatherer's heartbeat may stay unchanged. Visiting
/// one producer takes some microseconds.
const LIFE_US: u64 = 2_000;
/// Time between two polls while the host waits for the end of a relay, in microseconds.
const LOOK_US: u64 = 20;
