//! Reads the cores whose rings the host has read before. The cores are read one after the other.
//!
//! If a ring fills before the next read, its RISC drops records or waits. Known streaming cores are
//! therefore read before all others, with as few transactions as possible. The transactions for one
//! core are:
//!
//! - a read of the control vector, at the same time as the rings of the previous core if the back
//!   end can do so;
//! - a read of all rings together, if they hold many cells, or one or two reads of each ring;
//! - a write of the core's new read positions, which acknowledges the cells.
//!
//! The clocks of a chip's tiles run at the same rate. So the difference between two clocks is
//! constant. After each clock has been read once, reading one reference clock before and after all
//! cells is enough: upper bounds for all other clocks are computed from these two readings.

use super::{CellsAt, Rings, SweptCores, read_whole_rings, whole_rings};
use crate::{
    mesh::{CoreDescription, Noc0Coord},
    read::{
        control::{self, CoreWords, WORDS},
        prepare::CoreId,
        session::Session,
    },
};
use std::collections::BTreeMap;

/// Cores whose rings the host reads itself, without a relay.
#[derive(Clone, Debug, Default)]
pub(super) struct DrainedCores {
    /// For each core, an upper bound of the difference between the core's clock and the reference
    /// core's clock, modulo 2^64; `None` if unknown.
    cores: BTreeMap<CoreId, Option<u64>>,
    /// The reference core of each chip, and the time on its clock at the last sweep. Bounds for the
    /// clocks of the chip's other cores are computed from this clock.
    references: BTreeMap<u32, (Noc0Coord, u64)>,
}

impl DrainedCores {
    /// Adds a core after a read if the host has read the core's rings; otherwise removes the core.
    pub(super) fn note(&mut self, core: CoreId, is_drained_by_host: bool) {
        if is_drained_by_host {
            self.cores.entry(core).or_default();
        } else {
            self.cores.remove(&core);
        }
    }

    /// Returns the cores of the session's chip that are in this set and are selected in the
    /// options.
    fn selected(&self, session: &Session<'_>) -> Vec<CoreDescription> {
        let chip = session.device.description();
        let is_selected = |core: &&CoreDescription| {
            self.cores.contains_key(&(chip.chip_id, core.noc0))
                && session.options.cores.contains(chip.chip_id, core)
        };
        chip.cores.iter().filter(is_selected).cloned().collect()
    }

    /// Makes a core the reference of its chip; `clock` is the time on the core's clock. Clears all
    /// known clock differences of the chip if another core was the reference, or if the clock has
    /// restarted.
    fn refer_to(&mut self, chip_id: u32, reference: Noc0Coord, clock: u64) {
        let before = self.references.insert(chip_id, (reference, clock));
        if before.is_none_or(|(core, earlier)| core != reference || clock < earlier) {
            let chip_cores = self.cores.iter_mut().filter(|((chip, _), _)| *chip == chip_id);
            chip_cores.for_each(|(_, ahead)| *ahead = None);
        }
    }
}

impl Rings {
    /// Reads the known streaming cores of a chip that has no relays.
    pub(in crate::read) fn sweep(&mut self, session: &mut Session<'_>) -> SweptCores {
        let cores = self.drained.selected(session);
        let mut swept = SweptCores::default();
        let Some(reference) = cores.first().map(|core| core.noc0) else { return swept };
        let chip_id = session.device.description().chip_id;
        let began_at = session.device.read_wall_clock(reference).ok();
        if let Some(clock) = began_at {
            self.drained.refer_to(chip_id, reference, clock);
        }
        let mut taken = Vec::with_capacity(cores.len());
        let mut words =
            cores.first().and_then(|core| session.read_control_vector(core, WORDS).ok());
        for (index, core) in cores.iter().enumerate() {
            let next = cores.get(index.saturating_add(1));
            let streaming = words.filter(control::streams);
            let streaming = streaming.map(|words| CoreWords { core: core.clone(), words });
            let (rings, next_words) = read_with_next(session, streaming.as_ref(), next);
            if let Some(words) = words {
                swept.vectors.insert(core.noc0, words);
            }
            if let Some(core) = &streaming {
                taken.push(self.take(session, core, CellsAt::Rings(rings.as_deref())));
            }
            words = next_words;
        }
        let ended_at = session.device.read_wall_clock(reference).ok();
        let span = began_at.zip(ended_at).filter(|(began, ended)| began < ended);
        for taken in taken {
            let noc0 = taken.core.noc0;
            let read_at = self.clock_bound(session, noc0, span);
            swept.streamed.insert(noc0, self.finish(session, taken, read_at));
        }
        swept
    }

    /// Returns an upper bound of a core's clock at the time when its cells were read.
    ///
    /// `span` contains the times on the reference clock before and after the sweep. If `span` is
    /// `None`, the core's own clock is read.
    fn clock_bound(
        &mut self,
        session: &mut Session<'_>,
        core: Noc0Coord,
        span: Option<(u64, u64)>,
    ) -> Option<u64> {
        let core_id = (session.device.description().chip_id, core);
        let known = self.drained.cores.get(&core_id).copied().flatten();
        if let Some((ahead, (_, ended_at))) = known.zip(span) {
            return Some(ended_at.wrapping_add(ahead));
        }
        let clock = session.device.read_wall_clock(core).ok()?;
        if let (Some((began_at, _)), Some(known)) = (span, self.drained.cores.get_mut(&core_id)) {
            *known = Some(clock.wrapping_sub(began_at));
        }
        Some(clock)
    }
}

/// Reads the control vector of `next`. If the rings of `core` hold many cells, also reads all these
/// rings in one transaction.
fn read_with_next(
    session: &mut Session<'_>,
    core: Option<&CoreWords>,
    next: Option<&CoreDescription>,
) -> (Option<Vec<u32>>, Option<[u32; WORDS]>) {
    let rings = core.and_then(whole_rings);
    let (Some(core), Some(mut rings), Some(next)) = (core, rings, next) else {
        let rings = core.and_then(|core| read_whole_rings(session, core));
        let words = next.and_then(|next| session.read_control_vector(next, WORDS).ok());
        return (rings, words);
    };
    let mut words = [0; WORDS];
    let [has_rings, has_words] =
        session.read_rings_and_control((&core.core, &mut rings), (next, &mut words));
    (has_rings.then_some(rings), has_words.then_some(words))
}
