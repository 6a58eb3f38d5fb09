//! Semaphores between cores: cores whose native kernels wait for each other run in turns.
//!
//! Each has a thread of its own, since its firmware and kernels are functions that are under way,
//! and a seat. Only one goes on at a time: until all of its kernels wait for another core. Then it
//! is the next one's turn that has not begun or that was signalled meanwhile. So a run does not
//! depend on threads.

use crate::arch::TileCoord;
use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};
use wire::{Cycles, Risc};

/// An increment of a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Increment {
    /// Cycle of the chip at which it is there.
    pub(crate) arrived: u64,
    /// When it was sent, on the clock of the sender's tile.
    pub(crate) sent: Cycles,
    pub(crate) core: TileCoord,
    pub(crate) risc: Risc,
}

/// Cores of one launch.
#[derive(Debug)]
struct Exchange {
    cores: Vec<TileCoord>,
    state: Mutex<State>,
    /// One for each core, so that a turn wakes nobody else.
    changed: Vec<Condvar>,
}

#[derive(Debug)]
struct State {
    /// The core that goes on; `None` if all have ended.
    turn: Option<usize>,
    seats: Vec<SeatState>,
    /// True if all that have not ended wait.
    is_stuck: bool,
}

#[derive(Clone, Debug, Default)]
struct SeatState {
    is_waiting: bool,
    has_ended: bool,
    /// Increments of its semaphores that it has not taken.
    arrivals: BTreeMap<u32, Vec<Increment>>,
}

impl SeatState {
    fn can_go_on(&self) -> bool {
        !self.has_ended && (!self.is_waiting || !self.arrivals.is_empty())
    }
}

impl State {
    /// Gives the turn to the next core that can go on.
    fn pass_on(&mut self, from: usize) {
        let count = self.seats.len();
        let mut next = (1..=count).map(|step| (from + step) % count);
        self.turn = next.find(|&index| self.seats[index].can_go_on());
        self.is_stuck = self.turn.is_none() && self.seats.iter().any(|seat| !seat.has_ended);
    }
}

/// Seat of one core; its end is that of the core's launch.
#[derive(Debug)]
pub(crate) struct Seat {
    exchange: Arc<Exchange>,
    index: usize,
}

/// The seats of cores that run one launch together, in their order.
pub(crate) fn seats(cores: Vec<TileCoord>) -> Vec<Seat> {
    let count = cores.len();
    let seats = vec![SeatState::default(); count];
    let state = Mutex::new(State { turn: Some(0), seats, is_stuck: false });
    let changed = (0..count).map(|_| Condvar::new()).collect();
    let exchange = Arc::new(Exchange { cores, state, changed });
    (0..count).map(|index| Seat { exchange: Arc::clone(&exchange), index }).collect()
}

impl Seat {
    fn state(&self) -> MutexGuard<'_, State> {
        self.exchange.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_turn(&self, mut state: MutexGuard<'_, State>) -> bool {
        while state.turn != Some(self.index) && !state.is_stuck {
            let changed = &self.exchange.changed[self.index];
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.seats[self.index].is_waiting = false;
        !state.is_stuck
    }

    /// Gives the turn to the next core that can go on, or tells all that none can.
    fn pass_on(&self, state: &mut State) {
        state.pass_on(self.index);
        match state.turn {
            Some(next) => self.exchange.changed[next].notify_one(),
            None => self.exchange.changed.iter().for_each(Condvar::notify_one),
        }
    }

    /// Waits for the first turn.
    pub(crate) fn begin(&self) {
        self.wait_for_turn(self.state());
    }

    /// Lets others go on until one of them has signalled this core; false if none will.
    pub(crate) fn wait_for_signal(&self) -> bool {
        let mut state = self.state();
        state.seats[self.index].is_waiting = true;
        self.pass_on(&mut state);
        self.wait_for_turn(state)
    }

    /// Signals another core. One that takes no part never sees it.
    pub(crate) fn send(&self, to: TileCoord, semaphore: u32, increment: Increment) {
        let Some(index) = self.exchange.cores.iter().position(|&core| core == to) else { return };
        let mut state = self.state();
        state.seats[index].arrivals.entry(semaphore).or_default().push(increment);
    }

    /// Takes what has been signalled to this core.
    pub(crate) fn receive(&self) -> BTreeMap<u32, Vec<Increment>> {
        std::mem::take(&mut self.state().seats[self.index].arrivals)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.state();
        state.seats[self.index].has_ended = true;
        if state.turn == Some(self.index) {
            self.pass_on(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn increment(arrived: u64) -> Increment {
        let core = TileCoord { x: 1, y: 1 };
        Increment { arrived, sent: Cycles(arrived), core, risc: Risc::Brisc }
    }

    /// Rounds of three cores, of which the first waits for both others and they for it.
    fn rounds() -> Vec<(usize, u64)> {
        let cores: Vec<_> = (1..4).map(|x| TileCoord { x, y: 1 }).collect();
        let log = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for (number, seat) in seats(cores.clone()).into_iter().enumerate() {
                let (log, cores) = (&log, &cores);
                scope.spawn(move || {
                    seat.begin();
                    let needed = if number == 0 { 2 } else { 1 };
                    let mut heard = 0;
                    for round in 0..3 {
                        log.lock().unwrap().push((number, round));
                        let others = if number == 0 { &cores[1..] } else { &cores[..1] };
                        others.iter().for_each(|&to| seat.send(to, 8, increment(round)));
                        heard += seat.receive().values().map(Vec::len).sum::<usize>();
                        while heard < needed {
                            assert!(seat.wait_for_signal());
                            heard += seat.receive().values().map(Vec::len).sum::<usize>();
                        }
                        heard -= needed;
                    }
                });
            }
        });
        log.into_inner().unwrap()
    }

    #[test]
    fn cores_go_on_in_turns_and_see_what_was_sent_to_them() {
        let mut log = rounds();
        assert!((0..10).all(|_| rounds() == log), "threads decide nothing");
        log.sort_unstable();
        let all: Vec<_> = (0..3).flat_map(|of| (0..3).map(move |round| (of, round))).collect();
        assert_eq!(log, all);
    }

    #[test]
    fn a_core_that_nobody_signals_learns_that() {
        let cores: Vec<_> = (1..3).map(|x| TileCoord { x, y: 1 }).collect();
        std::thread::scope(|scope| {
            for seat in seats(cores) {
                scope.spawn(move || {
                    seat.begin();
                    assert!(!seat.wait_for_signal());
                });
            }
        });
    }
}
