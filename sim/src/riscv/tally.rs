//! Where a hart's cycles go: instructions and cycles by reason for each address of code, and the
//! words that the hart polls.
//!
//! A hart with a [`Tally`] counts each instruction where it is executed. The sum of all cycles is
//! exactly the time by which the hart's clock advances, including time that is skipped.
//!
//! # Polling
//! A hart polls a word if the same instruction loads the word again within
//! [`ROUND_INSTRUCTIONS_MAX`] instructions, the hart has stored nothing outside its private RAM in
//! between, and a branch depends on the word but none on what the loop computes: see [`round`]. The
//! instructions of this round are then counted as a wait for the word. The round after the last load
//! finds what the hart waited for, and is not part of the wait.

use std::{mem::take, ops::Range};

use super::bus::{INSTRUCTION_RAM_BASE, LOCAL_RAM_BASE};
use super::decode::Op;
use super::round;
use super::timing::blame::{Cycles, Delayed, Executed, Kind, RING, Reason, Ring, split};
use super::timing::pipeline::{Beat, Pipeline};
use super::timing::rules::Rules;
use crate::arch::WALL_CLOCK_LOW;

/// What one hart has done at one address of code.
///
/// ```
/// use sim::riscv::{AddressCount, Reason};
/// let mut count = AddressCount::default();
/// count.cycles[Reason::Branch as usize] = 4;
/// assert_eq!(count.total_cycles(), 4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AddressCount {
    /// Number of executions of the instruction.
    pub instructions: u64,
    /// Cycles by [`Reason`].
    pub cycles: [u64; Reason::COUNT],
}

impl AddressCount {
    /// Returns the cycles of all reasons.
    #[must_use]
    pub fn total_cycles(&self) -> u64 {
        self.cycles.iter().sum()
    }

    /// Adds another count.
    pub(crate) fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        add(&mut self.cycles, &other.cycles, 1);
    }
}

/// Counts by address of code and polled word, in this order; the word's address is `None` where the
/// hart polled nothing.
pub(crate) type Counts = Vec<((u32, Option<u32>), AddressCount)>;

/// Hooks of the run loop.
pub(super) trait Observer {
    /// True if the hooks do something.
    const IS_ON: bool;
    /// First cycle in which an instruction can start.
    type Start: Copy;
    /// Notes that the next instructions are in the line of code that contains `pc`.
    fn enter(&mut self, pc: u32);
    /// Counts the cycles for which the instruction at `pc` has waited until it was fetched.
    fn fetched(&mut self, pc: u32, cycles: u64);
    /// Looks at the timing before an instruction.
    fn before<R: Rules>(
        &mut self,
        machine: (&Pipeline, &Beat),
        instruction: (&Op, Kind),
    ) -> Self::Start;
    /// Counts an instruction that has been executed.
    fn after<R: Rules>(
        &mut self,
        start: Self::Start,
        machine: (&Pipeline, &Beat),
        target: Target<'_>,
    );
    /// Notes that the instruction at `pc` is next, and that the line of code is left.
    fn leave(&mut self, pc: u32);
}

/// An instruction that has been executed.
pub(super) struct Target<'a> {
    pub(super) kind: Kind,
    pub(super) op: &'a Op,
    pub(super) pc: u32,
    /// Address that a load or store has accessed, or to which a branch or jump leads.
    pub(super) address: u32,
}

/// Counts nothing, and costs nothing.
pub(super) struct Nothing;

impl Observer for Nothing {
    const IS_ON: bool = false;
    type Start = ();

    #[inline(always)]
    fn enter(&mut self, _: u32) {}

    #[inline(always)]
    fn fetched(&mut self, _: u32, _: u64) {}

    #[inline(always)]
    fn before<R: Rules>(&mut self, _: (&Pipeline, &Beat), _: (&Op, Kind)) -> Self::Start {}

    #[inline(always)]
    fn after<R: Rules>(&mut self, (): (), _: (&Pipeline, &Beat), _: Target<'_>) {}

    #[inline(always)]
    fn leave(&mut self, _: u32) {}
}

/// Counts of one hart.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pages: Vec<Page>,
    /// Polled words with the pages of the waits for them; first, with no word, the pages of all
    /// other work.
    books: Vec<Book>,
    /// Index in `books` of the counts that instructions are added to.
    book: usize,
    /// Index in `pages` of the counts of the current line of code.
    page: usize,
    /// Address of the first instruction that is not counted yet: instructions are counted once one
    /// is executed that does not follow them.
    uncounted: u32,
    delayed: Delayed,
    ring: Ring,
    /// Cycles of the latest instructions that took more than one.
    splits: [Cycles; RING],
    loads: [Load; LOADS],
    oldest_load: usize,
    /// Number of the first instruction after the latest store outside the private RAM.
    stored_until: usize,
    /// Number of the load that began the current round of polling.
    round_since: usize,
    /// Number of the first instruction that is not counted as a wait that has ended.
    polled_until: usize,
    /// Number of instructions of the longest round of the current polling.
    round_length: usize,
    /// Addresses of loads and numbers of instructions of rounds that compute and do not wait.
    computing: [(u32, usize); COMPUTING],
    oldest_computing: usize,
    /// Cycle from which on cycles are counted.
    since: u64,
    /// Number of counts that were removed last, which are mostly as many as the next ones.
    count_of_latest: usize,
}

/// Counts of the code of one line.
#[derive(Clone, Debug)]
struct Page {
    /// For each address, the executions beyond those of the address before it, and at the end the
    /// negative executions of the last address; modulo 2^64.
    steps: [u64; PAGE_WORDS + 1],
    /// For each address, 1 + the index in `waits`; 0 if the address has only taken cycles of issue.
    waited: [u16; PAGE_WORDS],
    /// Cycles beyond those of issue.
    waits: Vec<Cycles>,
    /// False if nothing was counted since the counts were removed.
    is_used: bool,
}

impl Page {
    const fn new() -> Self {
        Self {
            steps: [0; PAGE_WORDS + 1],
            waited: [0; PAGE_WORDS],
            waits: Vec::new(),
            is_used: true,
        }
    }

    /// Counts executions of the instructions of a range.
    #[inline(always)]
    fn count(&mut self, range: Range<usize>, executions: u64) {
        let (first, end) = (range.start & (PAGE_WORDS - 1), range.end % (PAGE_WORDS + 1));
        self.steps[first] = self.steps[first].wrapping_add(executions);
        self.steps[end] = self.steps[end].wrapping_sub(executions);
    }

    /// Returns the cycles of an address beyond those of issue, to be changed.
    #[inline]
    fn waits_at(&mut self, place: usize) -> &mut Cycles {
        let mut index = usize::from(self.waited[place]);
        if index == 0 {
            self.waits.push(Cycles::default());
            index = self.waits.len();
            // There are fewer addresses in a page than `u16` has values.
            self.waited[place] = u16::try_from(index).unwrap_or(u16::MAX);
        }
        &mut self.waits[index - 1]
    }

    /// Removes the counts, and passes those of each address, with its offset in bytes, to a function.
    fn take(&mut self, mut found: impl FnMut(u32, AddressCount)) {
        let mut instructions = 0_u64;
        for (offset, place) in (0..).step_by(4).zip(0..PAGE_WORDS) {
            instructions = instructions.wrapping_add(take(&mut self.steps[place]));
            let index = usize::from(take(&mut self.waited[place]));
            if instructions == 0 && index == 0 {
                continue;
            }
            let waits = index.checked_sub(1).map(|index| self.waits[index]);
            let mut cycles = waits.unwrap_or_default();
            // Instructions of more than one cycle have counted their issue themselves.
            cycles[Reason::Issue as usize] = instructions;
            let count = AddressCount { instructions, cycles };
            if count != AddressCount::default() {
                found(offset, count);
            }
        }
        self.steps[PAGE_WORDS] = 0;
        self.waits.clear();
    }
}

/// Where the pages are that belong to one polled word.
#[derive(Clone, Debug, Default)]
struct Book {
    word: Option<u32>,
    /// For each page number (see [`page_number`]), 1 + the index in `pages`; 0 if there is none.
    index: Vec<u16>,
}

/// A load that may be a poll.
#[derive(Clone, Copy, Debug)]
struct Load {
    pc: u32,
    address: u32,
    /// Number of the instruction.
    number: usize,
}

const NO_LOAD: Load = Load { pc: u32::MAX, address: 0, number: 0 };

impl Default for Tally {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            books: vec![Book::default()],
            book: 0,
            page: 0,
            uncounted: 0,
            delayed: Delayed::default(),
            ring: [Executed::default(); RING],
            splits: [[0; Reason::COUNT]; RING],
            loads: [NO_LOAD; LOADS],
            oldest_load: 0,
            stored_until: 0,
            round_since: 0,
            polled_until: 0,
            round_length: 0,
            computing: [(u32::MAX, 0); COMPUTING],
            oldest_computing: 0,
            since: 0,
            count_of_latest: 0,
        }
    }
}

impl Observer for &mut Tally {
    const IS_ON: bool = true;
    type Start = u64;

    #[inline(always)]
    fn enter(&mut self, pc: u32) {
        self.page = self.page_of(self.book, pc);
        self.uncounted = pc;
    }

    fn fetched(&mut self, pc: u32, cycles: u64) {
        let waits = self.pages[self.page].waits_at(place_in_page(pc));
        waits[Reason::Fetch as usize] += cycles;
    }

    #[inline(always)]
    fn before<R: Rules>(
        &mut self,
        machine: (&Pipeline, &Beat),
        instruction: (&Op, Kind),
    ) -> Self::Start {
        self.delayed.look::<R>(machine, instruction)
    }

    #[inline(always)]
    fn after<R: Rules>(
        &mut self,
        start: u64,
        (pipeline, beat): (&Pipeline, &Beat),
        target: Target<'_>,
    ) {
        let Target { kind, op, pc, address } = target;
        let number = beat.count.wrapping_sub(1);
        match kind {
            Kind::LoadL1 | Kind::LoadRegister => self.note_load((pc, number), address),
            Kind::Store if !is_private(address) => self.note_store(pc, number),
            _ => {}
        }
        if self.book != 0 && number.wrapping_sub(self.round_since) > ROUND_INSTRUCTIONS_MAX {
            self.count_until(pc);
            self.stop_polling(pc, number);
        }
        let is_plain = beat.next_entry - start == 1;
        if !is_plain {
            let state = (&self.delayed, start);
            let cycles = split::<R>(&self.ring, state, (pipeline, beat), (op, kind));
            self.add_waits((pc, number), &cycles);
        }
        let executed = Executed::new::<R>((pc, op, kind), address, (pipeline, beat), is_plain);
        self.ring[number % RING] = executed;
        if matches!(kind, Kind::Branch | Kind::Jump) && address != pc.wrapping_add(4) {
            self.count_until(pc.wrapping_add(4));
            self.uncounted = address;
        }
    }

    #[inline(always)]
    fn leave(&mut self, pc: u32) {
        self.count_until(pc);
    }
}

fn add(sums: &mut Cycles, cycles: &Cycles, times: u64) {
    sums.iter_mut().zip(cycles).for_each(|(sum, cycles)| *sum += cycles * times);
}

impl Tally {
    /// Counts the instructions before the one at `pc` that are not counted yet. They follow each
    /// other in one line.
    #[inline(always)]
    fn count_until(&mut self, pc: u32) {
        let length = pc.wrapping_sub(self.uncounted) as usize / 4;
        let first = place_in_page(self.uncounted);
        self.pages[self.page].count(first..first + length, 1);
        self.uncounted = pc;
    }

    /// Returns the index of the page with the counts of an address in a book.
    #[inline(always)]
    fn page_of(&mut self, book: usize, pc: u32) -> usize {
        let number = page_number(pc);
        match self.books[book].index.get(number) {
            Some(&index) if index != 0 => {
                let index = usize::from(index) - 1;
                self.pages[index].is_used = true;
                index
            }
            _ => self.add_page(book, number),
        }
    }

    #[cold]
    fn add_page(&mut self, book: usize, number: usize) -> usize {
        let index = &mut self.books[book].index;
        if number >= index.len() {
            index.resize(number + 1, 0);
        }
        self.pages.push(Page::new());
        // There are fewer pages than `u16` has values.
        self.books[book].index[number] = u16::try_from(self.pages.len()).unwrap_or(u16::MAX);
        self.pages.len() - 1
    }

    /// Adds the cycles of an instruction that took more than one.
    fn add_waits(&mut self, (pc, number): (u32, usize), cycles: &Cycles) {
        self.splits[number % RING] = *cycles;
        add(self.pages[self.page].waits_at(place_in_page(pc)), cycles, 1);
    }

    /// Returns the index of the book of a polled word.
    fn book_of(&mut self, word: u32) -> usize {
        let known = self.books.iter().position(|book| book.word == Some(word));
        known.unwrap_or_else(|| {
            self.books.push(Book { word: Some(word), ..Book::default() });
            self.books.len() - 1
        })
    }

    /// Notes a load from outside the private RAM. If the same instruction has loaded the same word
    /// before, a round of polling is complete, and another one begins.
    #[inline(always)]
    fn note_load(&mut self, (pc, number): (u32, usize), address: u32) {
        let Some(place) = self.loads.iter().position(|load| load.pc == pc) else {
            let oldest = self.oldest_load;
            self.loads[oldest] = Load { pc, address, number };
            self.oldest_load = (oldest + 1) % LOADS;
            return;
        };
        let known = self.loads[place];
        self.loads[place] = Load { pc, address, number };
        let is_round = known.address == address
            && number.wrapping_sub(known.number) <= ROUND_INSTRUCTIONS_MAX
            && number.wrapping_sub(known.number) <= number.wrapping_sub(self.stored_until);
        if !is_round {
            return;
        }
        match self.books[self.book].word {
            Some(word) if word == address => self.poll_again((pc, number), known.number),
            // A loop that polls several words waits for the one that it polled first; a clock that
            // it also reads only limits the wait.
            Some(word) if word != WALL_CLOCK_LOW => {}
            _ => self.poll((pc, number), (known.number, address)),
        }
    }

    /// Goes on with the polling, or ends it if this longer round does not wait.
    #[inline(always)]
    fn poll_again(&mut self, (pc, number): (u32, usize), since: usize) {
        if number.wrapping_sub(since) <= self.round_length || self.is_wait((pc, number), since) {
            self.round_since = number;
        } else {
            self.count_until(pc);
            self.stop_polling(pc, number);
        }
    }

    /// Returns true if the round since instruction number `since` waits, and does not compute.
    #[cold]
    fn is_wait(&mut self, (pc, number): (u32, usize), since: usize) -> bool {
        let length = number.wrapping_sub(since);
        if self.computing.contains(&(pc, length)) {
            return false;
        }
        let is_wait = round::waits(&self.ring, (since, number));
        if is_wait {
            self.round_length = length;
        } else {
            self.computing[self.oldest_computing] = (pc, length);
            self.oldest_computing = (self.oldest_computing + 1) % COMPUTING;
        }
        is_wait
    }

    /// Counts the round since instruction number `since` as a wait for a word, and the instructions
    /// after it until the polling ends.
    #[cold]
    fn poll(&mut self, (pc, number): (u32, usize), (since, word): (usize, u32)) {
        if !self.is_wait((pc, number), since) {
            return;
        }
        if self.book == 0 && word == WALL_CLOCK_LOW && self.polls_another(since, word) {
            return;
        }
        self.count_until(pc);
        self.stop_polling(pc, number);
        let book = self.book_of(word);
        // The beginning of the round may be a wait for another word already.
        let [round, free] = [since, self.polled_until].map(|first| number.wrapping_sub(first));
        self.move_counts((0, book), (number.wrapping_sub(round.min(free)), number));
        (self.book, self.round_since) = (book, number);
        self.page = self.page_of(book, pc);
    }

    /// Returns true if the hart has loaded another word since an instruction.
    fn polls_another(&self, since: usize, address: u32) -> bool {
        let is_later = |load: &Load| load.number.wrapping_sub(since) < RING && load.number != since;
        let mut loads = self.loads.iter().filter(|load| load.pc != u32::MAX);
        loads.any(|load| load.address != address && is_later(load))
    }

    #[inline(always)]
    fn note_store(&mut self, pc: u32, number: usize) {
        self.stored_until = number.wrapping_add(1);
        if self.book != 0 {
            self.count_until(pc);
            self.stop_polling(pc, number);
        }
    }

    /// Ends the polling: the instructions since the last complete round are no wait.
    #[cold]
    fn stop_polling(&mut self, pc: u32, number: usize) {
        if self.book != 0 {
            self.move_counts((self.book, 0), (self.round_since, number));
            self.polled_until = self.round_since;
            self.book = 0;
            self.page = self.page_of(0, pc);
        }
    }

    /// Moves the counts of the instructions from number `since` to `until` to another book.
    fn move_counts(&mut self, (from, to): (usize, usize), (since, until): (usize, usize)) {
        let count = until.wrapping_sub(since).min(RING);
        for number in (1..=count).map(|back| until.wrapping_sub(back)) {
            let Executed { pc, is_plain, .. } = self.ring[number % RING];
            let place = place_in_page(pc);
            let cycles = if is_plain { ISSUE } else { self.splits[number % RING] };
            let page = self.page_of(from, pc);
            self.pages[page].count(place..place + 1, u64::MAX);
            if !is_plain {
                let waits = self.pages[page].waits_at(place).iter_mut();
                waits.zip(&cycles).for_each(|(sum, cycles)| *sum -= cycles);
            }
            self.note((to, pc), (1, is_plain), &cycles, 1);
        }
    }

    /// Adds counts of an address to a book.
    fn note(
        &mut self,
        (book, pc): (usize, u32),
        (instructions, is_plain): (u64, bool),
        cycles: &Cycles,
        times: u64,
    ) {
        let (page, place) = (self.page_of(book, pc), place_in_page(pc));
        self.pages[page].count(place..place + 1, instructions * times);
        if !is_plain {
            add(self.pages[page].waits_at(place), cycles, times);
        }
    }

    /// Counts rounds of a wait for the clock that were skipped, each like the last `instructions`
    /// instructions before number `next`.
    pub(super) fn repeat(&mut self, (next, instructions): (usize, usize), rounds: u64) {
        let book = self.book_of(WALL_CLOCK_LOW);
        for number in (1..=instructions.min(RING)).map(|back| next.wrapping_sub(back)) {
            let Executed { pc, is_plain, .. } = self.ring[number % RING];
            let cycles = self.splits[number % RING];
            self.note((book, pc), (1, is_plain), &cycles, rounds);
        }
    }

    /// Counts the time in which the hart repeated a polling loop that was not simulated: its rounds as
    /// the last `instructions` instructions before number `next`, and the beginning of the round that
    /// did not end as time in which nothing was executed. `pc` is the loop's first instruction.
    pub(super) fn repeat_until(
        &mut self,
        (next, instructions): (usize, usize),
        pc: u32,
        (from, until): (u64, u64),
    ) {
        let from = from.max(self.since);
        let first = next.wrapping_sub(instructions.min(RING));
        let of_round = |offset: usize| first.wrapping_add(offset) % RING;
        let cycles_of = |tally: &Self, place: usize| match tally.ring[place].is_plain {
            true => ISSUE,
            false => tally.splits[place],
        };
        let offsets = 0..instructions.min(RING);
        let period: u64 =
            offsets.clone().flat_map(|offset| cycles_of(self, of_round(offset))).sum();
        let Some(rounds) = until.saturating_sub(from).checked_div(period) else {
            return self.stop(pc, (from, until), None);
        };
        let mut at = from + rounds * period;
        for place in offsets.map(of_round) {
            let Executed { pc, is_plain, .. } = self.ring[place];
            let cycles = cycles_of(self, place);
            self.note((self.book, pc), (1, is_plain), &cycles, rounds);
            let end = until.min(at + cycles.iter().sum::<u64>());
            self.stop(pc, (at, end), None);
            at = end;
        }
    }

    /// Counts time in which the hart executed nothing, while the instruction at `pc` is next.
    pub(super) fn stop(&mut self, pc: u32, (from, until): (u64, u64), word: Option<u32>) {
        let from = from.max(self.since);
        if until <= from {
            return;
        }
        let book = word.map_or(self.book, |word| self.book_of(word));
        let mut cycles = [0; Reason::COUNT];
        cycles[Reason::Stopped as usize] = until - from;
        self.note((book, pc), (0, false), &cycles, 1);
    }

    /// Forgets all counts, and counts from a cycle on; `next` is the number of the next instruction.
    pub(super) fn begin(&mut self, cycle: u64, next: usize) {
        self.take(next);
        self.restart(next);
        self.since = cycle;
    }

    /// Forgets the latest instructions, because the numbers of instructions begin again.
    ///
    /// `next` is the number of the instruction that would have been next.
    pub(super) fn restart(&mut self, next: usize) {
        self.leave_unfinished();
        self.stop_polling(0, next);
        (self.loads, self.stored_until, self.polled_until) = ([NO_LOAD; LOADS], 0, 0);
        // The code may be another one.
        self.computing = [(u32::MAX, 0); COMPUTING];
    }

    /// Forgets what an instruction that has not been executed to its end would wait for: another one is next.
    pub(super) fn leave_unfinished(&mut self) {
        self.delayed = Delayed::default();
    }

    pub(super) const fn since(&self) -> u64 {
        self.since
    }

    /// Removes and returns all counts; `next` is the number of the next instruction.
    pub(super) fn take(&mut self, next: usize) -> Counts {
        self.stop_polling(0, next);
        // A round of polling that has begun before is not counted as a wait later.
        self.loads = [NO_LOAD; LOADS];
        let mut counts = Counts::with_capacity(self.count_of_latest);
        let Self { pages, books, .. } = self;
        for Book { word, index } in &*books {
            for (number, &index) in index.iter().enumerate().filter(|(_, index)| **index != 0) {
                let page = &mut pages[usize::from(index) - 1];
                if !take(&mut page.is_used) {
                    continue;
                }
                let first = page_address(number);
                page.take(|place, count| counts.push(((first + place, *word), count)));
            }
        }
        if books.len() > 1 {
            // Each page is in order already, which this sort makes use of.
            counts.sort_by_key(|(place, _)| *place);
        }
        self.count_of_latest = counts.len();
        counts
    }
}

/// Returns the number of the page that contains an address of L1 or of the instruction RAM.
#[inline(always)]
fn page_number(pc: u32) -> usize {
    let at = if pc < L1_LIMIT { pc } else { L1_LIMIT + (pc & 0xFFFF) };
    at as usize / PAGE_BYTES
}

/// Returns the index of an address in its page.
#[inline(always)]
const fn place_in_page(pc: u32) -> usize {
    (pc / 4) as usize % PAGE_WORDS
}

fn page_address(number: usize) -> u32 {
    let at = u32::try_from(number * PAGE_BYTES).unwrap_or(u32::MAX);
    if at < L1_LIMIT { at } else { INSTRUCTION_RAM_BASE + (at - L1_LIMIT) }
}

/// Returns true if an address is in private RAM.
#[inline(always)]
fn is_private(address: u32) -> bool {
    address.wrapping_sub(LOCAL_RAM_BASE) < 0x2000
}

const ISSUE: Cycles = {
    let mut cycles = [0; Reason::COUNT];
    cycles[Reason::Issue as usize] = 1;
    cycles
};
/// Upper limit of the L1 addresses of code, as in the cache of decoded code.
const L1_LIMIT: u32 = 1 << 21;
const PAGE_WORDS: usize = 256;
const PAGE_BYTES: usize = 4 * PAGE_WORDS;
/// Maximum number of instructions of a round of a polling loop.
const ROUND_INSTRUCTIONS_MAX: usize = 96;
/// Number of rounds that are remembered because they compute.
const COMPUTING: usize = 8;
/// Number of loads that are remembered: a polling loop may load several words.
const LOADS: usize = 4;
