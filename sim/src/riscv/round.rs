//! Whether a round of a loop waits for the word that it loads, or computes.
//!
//! The round is the instructions from one load of the word to the next. It waits if a branch in it
//! depends on the word, and no branch on a value that each round computes from that of the round
//! before, such as the number of a turn.

use super::{
    decode::SINK,
    timing::blame::{Executed, Kind, RING, Ring},
};

/// What a value depends on: the sum of [`WORD`] and [`TURN`].
type Sources = u8;

/// The loaded word.
const WORD: Sources = 1;
/// A value that changes from round to round by what the round computes.
const TURN: Sources = 2;

/// A register, or a word of the private RAM.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Register(u8),
    Memory(u32),
}

/// Values that a round writes.
#[derive(Clone, Default, PartialEq, Eq)]
struct Values(Vec<(Place, Sources)>);

impl Values {
    fn get(&self, place: Place) -> Option<Sources> {
        self.0.iter().find(|(known, _)| *known == place).map(|(_, sources)| *sources)
    }

    fn set(&mut self, place: Place, sources: Sources) {
        match self.0.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) => *known = sources,
            None => self.0.push((place, sources)),
        }
    }
}

/// Returns true if the round waits that began with the load with number `since`, and ended with the
/// same load, which has the number `until`.
pub(super) fn waits(ring: &Ring, (since, until): (usize, usize)) -> bool {
    let length = until.wrapping_sub(since).min(RING);
    let numbers = || (0..length).map(|offset| since.wrapping_add(offset));
    let round: Vec<Executed> = numbers().map(|number| ring[number % RING]).collect();
    // Values that a round takes from the one before. At first, each of them may change.
    let mut begin = Values::default();
    for one in &round {
        if let Some(place) = one.result() {
            begin.set(place, TURN);
        }
    }
    // A value that a round computes anew, from what never changes, does not change either.
    loop {
        let (end, branches) = run(&round, &begin);
        if end == begin {
            return branches.contains(&WORD) && branches.iter().all(|sources| sources & TURN == 0);
        }
        begin = end;
    }
}

/// Runs a round whose written values are `begin` before it; returns them after it, and what its branches
/// depend on.
fn run(round: &[Executed], begin: &Values) -> (Values, Vec<Sources>) {
    let mut values = begin.clone();
    let mut branches = Vec::new();
    for (number, one) in round.iter().enumerate() {
        let of = |place: Place| values.get(place).unwrap_or(0);
        let registers = one.operands.map(|register| of(Place::Register(register)));
        let mut sources = registers[0] | registers[1];
        match one.kind {
            // Another word may be awaited, too; at an address that changes, it is data.
            Kind::LoadL1 | Kind::LoadRegister => sources &= TURN,
            Kind::LoadPrivate => sources = of(one.memory()),
            Kind::Branch => branches.push(sources),
            Kind::Store => sources = registers[1],
            Kind::Arithmetic | Kind::Jump | Kind::Multiply | Kind::Divide => {}
        }
        if number == 0 {
            sources = WORD;
        }
        if let Some(place) = one.result() {
            values.set(place, sources);
        }
    }
    (values, branches)
}

impl Executed {
    /// Returns where the instruction has stored its result, if it has one.
    fn result(&self) -> Option<Place> {
        match self.kind {
            Kind::Store => Some(self.memory()),
            _ => (self.register != SINK).then_some(Place::Register(self.register)),
        }
    }

    const fn memory(&self) -> Place {
        Place::Memory(self.address & !3)
    }
}
