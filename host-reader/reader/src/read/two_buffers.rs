//! Upstream's debug dump: a RISC whose buffer is full waits until the host has given it the other.
//!
//! A buffer is read when it is full, and then the RISC gets the other one; between launches, each as
//! far as it is filled. Within a launch, an end may say more than has left the core: at the end of
//! a launch upstream's runtime moves it before it writes, and behind a hand-over it is the end of
//! the buffer before. Words that upstream's runtime leaves alone say how far buffers were read, so
//! that any reader goes on where another one has stopped.
//!
//! # Compatibility
//! `signal_host_buffer_full` of `kernel_profiler.hpp` and `pollDebugDumpResults` of `profiler.cpp`.
//! Upstream's host never sees the last RISC of a Tensix core, whose word lies behind the vector: its
//! runs are not stored, and once they would have filled a buffer, the core waits forever. Here it
//! gets buffers, too. The word is the first one of RISC 0's vector, so that its runs begin with an
//! address in place of 0.

use super::{
    control::{ControlVector, WORDS},
    plan::{self, CoreRead, LaneWords},
    session::Session,
};
use crate::{
    anomaly::AnomalyKind,
    mesh::{CoreDescription, DeviceDescription},
};
use wire::{
    Generation,
    control::{ControlLayout, debug_dump},
    dram::DramGeometry,
    risc::RISCS_PER_CORE,
    run,
};

/// State of a core's buffers.
pub(super) struct TwoBuffers {
    addresses: [u32; 2],
    /// Word of each RISC that holds the address of its buffer, or that it is full.
    slots: [u32; RISCS_PER_CORE],
    /// [`debug_dump::GIVEN_BUFFERS`].
    given: u32,
    /// [`debug_dump::READ_TO`] of each RISC.
    read_to: [u32; RISCS_PER_CORE],
    /// True if what the ends say has left the core.
    are_at_rest: bool,
}

impl TwoBuffers {
    /// Finds the buffers of a core, if its runtime has two for each RISC.
    ///
    /// The end of a RISC that waits becomes, in `control`, the one that it had when it began to.
    pub(super) fn find(
        session: &mut Session<'_>,
        chip: &DeviceDescription,
        core: &CoreDescription,
        (control, geometry): (&mut ControlVector, &DramGeometry),
    ) -> Option<Self> {
        if control.is_ours() || control.layout != ControlLayout::WORDS64 {
            return None;
        }
        let first = u32::try_from(chip.dram.region_address).ok()?;
        let addresses = [first, first.checked_add(geometry.bank_bytes())?];
        let is_slot = |word: u32| addresses.contains(&word) || word == debug_dump::STALLED;
        let mut slots: [u32; RISCS_PER_CORE] = std::array::from_fn(|risc_index| {
            control.word(debug_dump::BUFFER_ADDRESS.saturating_add(risc_index))
        });
        if first == 0 || !slots.iter().any(|&slot| is_slot(slot)) {
            return None;
        }
        if core.kind.risc_count() == RISCS_PER_CORE {
            let mut behind = [0];
            session.read_control_from(core, WORDS, &mut behind).ok()?;
            let [.., last] = &mut slots;
            [*last] = behind;
        }
        for (risc_index, slot) in slots.iter_mut().enumerate() {
            if *slot != 0 && !is_slot(*slot) {
                let word = debug_dump::BUFFER_ADDRESS.saturating_add(risc_index);
                session.note(AnomalyKind::ImplausibleControlWord, None, word, || {
                    let (place, [first, second]) = (core.noc0, addresses);
                    format!(
                        "core {place}: {slot:#x} is no buffer, those are {first:#x} and {second:#x}"
                    )
                });
                *slot = 0;
            }
        }
        if slots.contains(&debug_dump::STALLED) {
            // Their ends may have been read before they were full.
            control.words = plan::read_words(session, core, WORDS).ok()?;
        }
        let given = control.word(debug_dump::GIVEN_BUFFERS);
        let are_at_rest = !control.is_under_way() || session.options.last_read;
        let read_to = std::array::from_fn(|risc_index| {
            control.word(debug_dump::READ_TO.saturating_add(risc_index))
        });
        Some(Self { addresses, slots, given, read_to, are_at_rest })
    }

    /// True if a RISC waits for the other buffer.
    fn is_stalled(&self, risc_index: usize) -> bool {
        self.slots.get(risc_index) == Some(&debug_dump::STALLED)
    }

    /// True if a RISC's runs are stored. A full buffer of the last RISC may be none: upstream's
    /// host gives it no address, and its runtime counts all the same.
    pub(super) fn are_stored(&self, risc_index: usize) -> bool {
        let is_last = risc_index.saturating_add(1) == RISCS_PER_CORE;
        if is_last && self.is_stalled(risc_index) {
            return self.given & debug_dump::LAST_RISC_HAS_BUFFER != 0;
        }
        self.slots.get(risc_index).is_some_and(|&slot| slot != 0)
    }

    /// Index of the buffer that a RISC fills or has filled.
    fn active(&self, risc_index: usize) -> usize {
        let [_, second] = self.addresses;
        match self.slots.get(risc_index) {
            Some(&debug_dump::STALLED) => usize::from(self.given & bit(risc_index) != 0),
            Some(&slot) => usize::from(slot == second),
            None => 0,
        }
    }

    /// The first unread word of a RISC's buffer that is filled up to a word.
    fn first_unread(&self, risc_index: usize, end: u32) -> u32 {
        let read_to = self.read_to.get(risc_index).copied().unwrap_or(0);
        if !self.are_at_rest && !self.is_stalled(risc_index) {
            end
        } else if read_to <= end {
            read_to
        } else {
            0
        }
    }
}

/// Lets the lanes of a core be read from the buffers that its RISCs fill.
pub(super) fn place_lanes(core: &mut CoreRead, geometry: &DramGeometry) {
    let Some(buffers) = &core.two_buffers else { return };
    for lane in &mut core.lanes {
        let before = [0, geometry.bank_bytes()];
        let before = before.get(buffers.active(lane.risc_index)).copied().unwrap_or(0);
        lane.address = lane.address.saturating_add(before.into());
        let end = lane.end.end;
        lane.begin = buffers.first_unread(lane.risc_index, end);
    }
}

/// Puts a 0 in place of the last RISC's address in the headers of RISC 0's runs.
pub(super) fn clear_addresses(core: &mut CoreRead, generation: &Generation, pieces: &[Vec<u32>]) {
    let Some(buffers) = &core.two_buffers else { return };
    let Some(lane) = core.lanes.first_mut() else { return };
    let own = generation.id_packing.pack(0, core.core.flat_id, 0);
    let of_core = |word: u32| {
        let trace_counter = generation.id_packing.trace_counter(word);
        word == own | generation.id_packing.pack(0, 0, trace_counter)
    };
    let mut words = lane.words(pieces).to_vec();
    // Runs are whole multiples of four words.
    let (groups, _) = words.as_chunks_mut::<{ run::ID_LL + 1 }>();
    for [first, second, id, _] in groups {
        if buffers.addresses.contains(first) && *second == 0 && of_core(*id) {
            *first = 0;
        }
    }
    if lane.words.is_some() {
        lane.words = Some(LaneWords::Own(words));
    }
}

/// Writes how far each buffer was read, and gives RISCs that wait the other one.
///
/// A lane that could not be read keeps its buffer, and its RISC waits on.
pub(super) fn hand_over(session: &mut Session<'_>, core: &CoreRead) {
    let Some(buffers) = &core.two_buffers else { return };
    let mut marks = [0; RISCS_PER_CORE + 1];
    let [given, read_to @ ..] = &mut marks;
    (*given, *read_to) = (buffers.given, buffers.read_to);
    let before = (*given, *read_to);
    let mut addresses = Vec::new();
    for lane in &core.lanes {
        let risc_index = lane.risc_index;
        let is_taken = lane.unread() == 0 || lane.words.is_some();
        let Some(read_to) = read_to.get_mut(risc_index).filter(|_| is_taken) else { continue };
        if buffers.is_stalled(risc_index) {
            let is_new = !buffers.are_stored(risc_index);
            if is_new {
                *given |= debug_dump::LAST_RISC_HAS_BUFFER;
            }
            *given ^= bit(risc_index);
            *read_to = 0;
            let other = usize::from(*given & bit(risc_index) != 0);
            addresses.extend(buffers.addresses.get(other).map(|&address| (risc_index, address)));
        } else if buffers.are_at_rest {
            *read_to = lane.end.end;
        }
    }
    if (*given, *read_to) != before {
        session.write_control(&core.core, debug_dump::GIVEN_BUFFERS, &marks);
    }
    // Last: the RISC goes on at once.
    for (risc_index, address) in addresses {
        let word = debug_dump::BUFFER_ADDRESS.saturating_add(risc_index);
        session.write_control(&core.core, word, &[address]);
    }
}

const fn bit(risc_index: usize) -> u32 {
    1 << (risc_index & 7)
}
