//! TT-Metal's debug dump: each RISC has two buffers in DRAM. If one is full, the RISC waits until
//! the host assigns the other buffer.
//!
//! A buffer is read when it is full; then the host assigns the other buffer to the RISC. Between
//! launches, each buffer is also read up to its fill level. During a launch, a RISC's end word (the
//! number of words in the RISC's buffer) may be larger than the number of words in DRAM, for two
//! reasons. At the end of a launch, TT-Metal's runtime advances the end word before it writes the
//! words. After a change of buffers, the end word still has its value for the previous buffer. The
//! read positions are stored in words that TT-Metal's runtime does not use, so any reader can
//! continue where another reader stopped.
//!
//! # Compatibility
//! The protocol is that of `signal_host_buffer_full` in `kernel_profiler.hpp` and
//! `pollDebugDumpResults` in `profiler.cpp`. TT-Metal's host never handles the last RISC of a
//! Tensix core, because the address word of this RISC is after the control vector. With TT-Metal's
//! host, the runs of that RISC are not stored. When the RISC's end word reaches the size of a
//! buffer, the core waits forever. This module also assigns buffers to the last RISC. The address
//! word of the last RISC is the first word of RISC 0's vector, so RISC 0's runs begin with an
//! address instead of 0.

use super::{
    control::{ControlVector, WORDS},
    plan::{CoreRead, LaneWords},
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

/// State of the buffers of a core's RISCs.
pub(super) struct TwoBuffers {
    addresses: [u32; 2],
    /// For each RISC, the address of the RISC's buffer, or `STALLED` if the buffer is full.
    slots: [u32; RISCS_PER_CORE],
    /// Value of [`debug_dump::GIVEN_BUFFERS`].
    given: u32,
    /// Value of [`debug_dump::READ_TO`] for each RISC.
    read_to: [u32; RISCS_PER_CORE],
    /// True if DRAM contains as many words of each RISC as the RISC's end word states.
    are_at_rest: bool,
}

impl TwoBuffers {
    /// Finds the buffers of a core, if its runtime has two buffers per RISC.
    ///
    /// If a RISC waits for a buffer, reads `control` again, so that `control` contains the RISC's
    /// final end word.
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
        let mut slots = control.risc_words(debug_dump::BUFFER_ADDRESS);
        if first == 0 || !slots.iter().any(|&slot| is_slot(slot)) {
            return None;
        }
        if core.kind.risc_count() == RISCS_PER_CORE {
            let mut behind = [0];
            session.read_control(core, WORDS, &mut behind).ok()?;
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
            // The end words may have been read before these buffers were full.
            control.words = session.read_control_vector(core, WORDS).ok()?;
        }
        let given = control.word(debug_dump::GIVEN_BUFFERS);
        let are_at_rest = !control.is_under_way() || session.options.last_read;
        let read_to = control.risc_words(debug_dump::READ_TO);
        Some(Self { addresses, slots, given, read_to, are_at_rest })
    }

    /// Returns true if a RISC waits for the other buffer.
    fn is_stalled(&self, risc_index: usize) -> bool {
        self.slots.get(risc_index) == Some(&debug_dump::STALLED)
    }

    /// Returns true if a RISC's runs are stored in DRAM.
    ///
    /// If the last RISC reports a full buffer, the buffer may not exist. TT-Metal's host assigns no
    /// address to this RISC, but TT-Metal's runtime counts the RISC's words anyway.
    pub(super) fn are_stored(&self, risc_index: usize) -> bool {
        let is_last = risc_index.saturating_add(1) == RISCS_PER_CORE;
        if is_last && self.is_stalled(risc_index) {
            return self.given & debug_dump::LAST_RISC_HAS_BUFFER != 0;
        }
        self.slots.get(risc_index).is_some_and(|&slot| slot != 0)
    }

    /// Returns the index of the buffer that a RISC fills or has filled.
    fn active(&self, risc_index: usize) -> usize {
        let [_, second] = self.addresses;
        match self.slots.get(risc_index) {
            Some(&debug_dump::STALLED) => usize::from(self.given & bit(risc_index) != 0),
            Some(&slot) => usize::from(slot == second),
            None => 0,
        }
    }

    /// Returns the index of the first unread word in a RISC's buffer, which is filled up to word
    /// `end`. If the words may not be in DRAM yet, returns `end`.
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

/// Sets the address of each lane of a core to the buffer that the RISC fills.
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

/// Replaces the last RISC's address by 0 in the headers of RISC 0's runs.
pub(super) fn clear_addresses(core: &mut CoreRead, generation: &Generation, pieces: &[Vec<u32>]) {
    let Some(buffers) = &core.two_buffers else { return };
    let Some(lane) = core.lanes.first_mut() else { return };
    let own = generation.id_packing.pack(0, core.core.flat_id, 0);
    let is_own = |word: u32| {
        let trace_counter = generation.id_packing.trace_counter(word);
        word == own | generation.id_packing.pack(0, 0, trace_counter)
    };
    let mut words = lane.words(pieces).to_vec();
    // The length of a run is a multiple of four words.
    let (groups, _) = words.as_chunks_mut::<{ run::ID_LL + 1 }>();
    for [first, second, id, _] in groups {
        if buffers.addresses.contains(first) && *second == 0 && is_own(*id) {
            *first = 0;
        }
    }
    if lane.words.is_some() {
        lane.words = Some(LaneWords::Own(words));
    }
}

/// Writes the read position of each buffer to the core. Assigns to each waiting RISC the one of its
/// two buffers that it has not just filled.
///
/// If a RISC's buffer could not be read, the RISC keeps the buffer and continues to wait.
pub(super) fn hand_over(session: &mut Session<'_>, core: &CoreRead) {
    let Some(buffers) = &core.two_buffers else { return };
    let mut marks = [0; RISCS_PER_CORE + 1];
    let [given, read_to @ ..] = &mut marks;
    (*given, *read_to) = (buffers.given, buffers.read_to);
    let before = (*given, *read_to);
    let mut addresses = Vec::new();
    for lane in core.lanes.iter().filter(|lane| lane.is_taken()) {
        let risc_index = lane.risc_index;
        let Some(read_to) = read_to.get_mut(risc_index) else { continue };
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
    // This write comes last, since the RISC continues immediately.
    for (risc_index, address) in addresses {
        let word = debug_dump::BUFFER_ADDRESS.saturating_add(risc_index);
        session.write_control(&core.core, word, &[address]);
    }
}

const fn bit(risc_index: usize) -> u32 {
    1 << (risc_index & 7)
}
