//! Branch and jump prediction.
//!
//! No document describes the hardware's predictor. Silicon shows that branches cost nothing extra
//! if they are never taken, always taken or taken alternately (mesham/tt-sim `docs/bh_arch.md`
//! 1.4). The smallest predictor with that property has two two-bit counters per branch; the
//! branch's last outcome selects the counter to use. A register jump is predicted to go to its last
//! target. The model has no return-address stack, since nothing shows that the hardware has one.
//! If a probe is called from several sites, its returns are therefore counted as mispredicted, so
//! that the probe's cost is not underestimated.

/// Number of branches that the predictor distinguishes. Branches share counters if their addresses
/// differ by a multiple of this number of words.
const BRANCH_COUNT: usize = 512;
/// Number of register jumps that the predictor distinguishes.
const JUMP_COUNT: usize = 64;

const LAST_TAKEN: u8 = 1;
const SEEN: u8 = 1 << 7;

/// Tables of branch outcomes and jump targets.
#[derive(Clone, Debug)]
pub(super) struct Predictor {
    /// State of each branch. Bit 0: last outcome. Bits 2:1: counter used if the last outcome was
    /// "not taken". Bits 4:3: counter used if it was "taken". Bit 7: the branch has been executed
    /// before.
    branches: Box<[u8; BRANCH_COUNT]>,
    /// Address and last target of each register jump.
    jumps: Box<[(u32, u32); JUMP_COUNT]>,
    pub(super) mispredict_count: u64,
}

impl Default for Predictor {
    fn default() -> Self {
        Self {
            branches: Box::new([0; BRANCH_COUNT]),
            // No jump has an odd address, so the initial entries never match.
            jumps: Box::new([(1, 0); JUMP_COUNT]),
            mispredict_count: 0,
        }
    }
}

impl Predictor {
    /// Records a branch's outcome; returns true if it was mispredicted.
    ///
    /// A branch that is executed for the first time is predicted as taken if it goes backward.
    #[inline(always)]
    pub(super) fn branch(&mut self, pc: u32, is_backward: bool, is_taken: bool) -> bool {
        let entry = &mut self.branches[(pc >> 2) as usize % BRANCH_COUNT];
        let state = if *entry & SEEN != 0 { *entry } else { first_state(is_backward) };
        let shift = if state & LAST_TAKEN != 0 { 3 } else { 1 };
        let counter = state >> shift & 3;
        let next = if is_taken { (counter + 1).min(3) } else { counter.saturating_sub(1) };
        *entry = state & !(3 << shift) & !LAST_TAKEN | next << shift | u8::from(is_taken);
        let is_wrong = (counter >= 2) != is_taken;
        self.mispredict_count += u64::from(is_wrong);
        is_wrong
    }

    /// Records the target of a register jump; returns true if it was mispredicted.
    #[inline(always)]
    pub(super) fn jump(&mut self, pc: u32, target: u32) -> bool {
        let entry = &mut self.jumps[(pc >> 2) as usize % JUMP_COUNT];
        let is_wrong = *entry != (pc, target);
        *entry = (pc, target);
        self.mispredict_count += u64::from(is_wrong);
        is_wrong
    }
}

/// Returns the initial state of a branch. Both counters weakly predict that a backward branch is
/// taken and that a forward branch is not.
fn first_state(is_backward: bool) -> u8 {
    let counter = if is_backward { 2 } else { 1 };
    SEEN | counter << 1 | counter << 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mispredicts(is_backward: bool, outcomes: impl IntoIterator<Item = bool>) -> u64 {
        let mut predictor = Predictor::default();
        for is_taken in outcomes {
            predictor.branch(0x100, is_backward, is_taken);
        }
        predictor.mispredict_count
    }

    #[test]
    fn regular_branches_are_learnt() {
        assert_eq!(mispredicts(false, [false; 100]), 0);
        assert_eq!(mispredicts(true, [true; 100]), 0);
        assert!(mispredicts(true, (0..100).map(|i| i % 2 == 0)) <= 2);
        assert!(mispredicts(false, (0..100).map(|i| i % 2 == 0)) <= 2);
    }

    #[test]
    fn a_loop_is_mispredicted_once_at_its_end() {
        assert_eq!(mispredicts(true, (1..=100).map(|i| i % 10 != 0)), 10);
    }

    #[test]
    fn a_register_jump_is_expected_to_repeat_its_target() {
        let mut predictor = Predictor::default();
        assert!(predictor.jump(0x100, 0x200));
        assert!(!predictor.jump(0x100, 0x200));
        assert!(predictor.jump(0x100, 0x300));
        assert!(predictor.jump(0, 0), "a first jump is never known");
    }
}
