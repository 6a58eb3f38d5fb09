//! Branch and jump prediction.
//!
//! No document describes the predictor, except that it predicts all branches and jumps, and that
//! 28 conditional branches in consecutive lines of code replace all that it has learnt
//! (tt-isa-documentation, `WormholeB0/TensixTile/BabyRISCV/InstructionRAM.md`). The model therefore
//! remembers the branches and jumps that were executed first since then, with a limit by chip; see
//! `Rules::PREDICTED_COUNT`. Code after an unknown branch or jump is predicted to follow in memory,
//! so a taken one costs a bubble.
//!
//! Blackhole silicon shows that known branches cost nothing extra if they are never taken, always
//! taken or taken alternately (mesham/tt-sim `docs/bh_arch.md` 1.4). The smallest predictor with
//! that property has two two-bit counters per branch; the branch's last outcome selects the counter
//! to use. A register jump is predicted to go to its last target. The model has no return-address
//! stack, since nothing shows that the hardware has one. If a probe is called from several sites,
//! its returns are therefore counted as mispredicted, so that the probe's cost is not
//! underestimated.

/// Number of places for branches and jumps. Two share a place if their addresses differ by a
/// multiple of this number of words.
const PLACE_COUNT: usize = 512;

const LAST_TAKEN: u8 = 1;

/// The branches and jumps that are known.
#[derive(Clone, Debug)]
pub(super) struct Predictor {
    places: Box<[Known; PLACE_COUNT]>,
    /// Number of branches and jumps that became known so far.
    learnt: u32,
    /// True if unknown branches and jumps cost nothing, as if they had been executed before.
    has_seen_all: bool,
    pub(super) mispredict_count: u64,
}

/// A branch or jump that was executed.
#[derive(Clone, Copy, Debug)]
struct Known {
    pc: u32,
    /// Last target of a jump.
    target: u32,
    /// Number of branches and jumps that were known when this one became known, itself included.
    number: u32,
    /// State of a branch. Bit 0: last outcome. Bits 2:1: counter used if the last outcome was
    /// "not taken". Bits 4:3: counter used if it was "taken".
    state: u8,
}

impl Predictor {
    /// Returns a predictor without any branches. If `has_seen_all` is true, it knows what an unknown
    /// branch or jump does.
    pub(super) fn new(has_seen_all: bool) -> Self {
        // No branch has an odd address, so the initial entries never match.
        let none = Known { pc: 1, target: 0, number: 0, state: 0 };
        let places = Box::new([none; PLACE_COUNT]);
        Self { places, learnt: 0, has_seen_all, mispredict_count: 0 }
    }

    /// Returns the place of a branch or jump, and whether it is one of the `count_max` that became
    /// known last.
    #[inline(always)]
    fn find(&mut self, pc: u32, count_max: u32) -> (&mut Known, bool) {
        let known = &mut self.places[(pc >> 2) as usize % PLACE_COUNT];
        let is_known = known.pc == pc && self.learnt.wrapping_sub(known.number) < count_max;
        if !is_known {
            self.learnt = self.learnt.wrapping_add(1);
            *known = Known { pc, target: 0, number: self.learnt, state: 0 };
        }
        (known, is_known)
    }

    /// Records a branch's outcome; returns true if it was mispredicted.
    #[inline(always)]
    pub(super) fn branch(&mut self, pc: u32, is_taken: bool, count_max: u32) -> bool {
        let is_unseen = !self.has_seen_all;
        let (known, is_known) = self.find(pc, count_max);
        let state = if is_known { known.state } else { first_state(is_taken) };
        let shift = if state & LAST_TAKEN != 0 { 3 } else { 1 };
        let counter = state >> shift & 3;
        let is_wrong = match is_known {
            true => is_taken != (counter >= 2),
            false => is_taken && is_unseen,
        };
        let next = if is_taken { (counter + 1).min(3) } else { counter.saturating_sub(1) };
        let next = if is_known { next } else { counter };
        known.state = state & !(3 << shift) & !LAST_TAKEN | next << shift | u8::from(is_taken);
        self.mispredict_count += u64::from(is_wrong);
        is_wrong
    }

    /// Records the target of a jump; returns true if it was mispredicted.
    #[inline(always)]
    pub(super) fn jump(&mut self, pc: u32, target: u32, count_max: u32) -> bool {
        let is_unseen = !self.has_seen_all;
        let (known, is_known) = self.find(pc, count_max);
        let is_wrong = if is_known { known.target != target } else { is_unseen };
        known.target = target;
        self.mispredict_count += u64::from(is_wrong);
        is_wrong
    }
}

/// Returns the initial state of a branch. Both counters weakly predict its first outcome again.
fn first_state(is_taken: bool) -> u8 {
    let counter = if is_taken { 2 } else { 1 };
    u8::from(is_taken) | counter << 1 | counter << 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mispredicts(outcomes: impl IntoIterator<Item = bool>) -> u64 {
        let mut predictor = Predictor::new(false);
        for is_taken in outcomes {
            predictor.branch(0x100, is_taken, 28);
        }
        predictor.mispredict_count
    }

    #[test]
    fn regular_branches_are_learnt() {
        assert_eq!(mispredicts([false; 100]), 0);
        assert_eq!(mispredicts([true; 100]), 1, "an unknown branch is taken");
        assert!(mispredicts((0..100).map(|i| i % 2 == 0)) <= 2);
        assert!(mispredicts((0..100).map(|i| i % 2 != 0)) <= 2);
    }

    #[test]
    fn a_loop_is_mispredicted_in_its_first_round_and_at_each_end() {
        assert_eq!(mispredicts((1..=100).map(|i| i % 10 != 0)), 11);
    }

    #[test]
    fn a_loop_of_three_rounds_is_mispredicted_once_or_twice_by_what_came_before() {
        let short = [true, false];
        let costs = [0, 1, 2, 3].map(|shorts| {
            let before = [true, true, false].into_iter().chain(short.repeat(shorts));
            let loops = [true, true, false].repeat(100);
            mispredicts(before.clone().chain(loops)) - mispredicts(before)
        });
        assert_eq!(costs, [100, 200, 100, 100]);
    }

    #[test]
    fn a_jump_is_expected_to_repeat_its_target() {
        let mut predictor = Predictor::new(false);
        assert!(predictor.jump(0x100, 0x200, 28));
        assert!(!predictor.jump(0x100, 0x200, 28));
        assert!(predictor.jump(0x100, 0x300, 28));
        assert!(predictor.jump(0, 0, 28), "a first jump is never known");
    }

    #[test]
    fn branches_that_are_never_taken_replace_others() {
        for (others, is_wrong) in [(27, false), (28, true)] {
            let mut predictor = Predictor::new(false);
            predictor.branch(0x100, true, 28);
            for other in 0..others {
                assert!(!predictor.branch(0x200 + 4 * other, false, 28));
            }
            assert_eq!(predictor.branch(0x100, true, 28), is_wrong);
        }
    }
}
