//! Scripts of a kernel with streamed records, and the expected records. A script is encoded as
//! words that `streams.cpp` interprets.

use crate::script::Seed;

/// A step of a script; a zone contains its inner steps.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Zone(Name, Vec<Self>),
    /// The zone that is only recorded if its condition holds.
    ZoneIf(bool, Vec<Self>),
    Data(u64),
    Data16([u64; 2]),
    Event(u16),
    /// One of the two sums.
    Sum(usize, Vec<Self>),
    /// An empty loop with this many passes of at least two cycles each.
    Wait(u32),
    Repeat(u32, Vec<Self>),
    /// Marks the launch as idle.
    Invalid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Name {
    A,
    B,
    If,
    /// A zone with an id that is also a code with another meaning.
    Escape,
    Kernel,
    Firmware,
    /// The zone of a wait for room.
    Stall,
}

impl Name {
    /// Returns the name in the text of the zone, if it has one.
    pub(crate) const fn text(self) -> Option<&'static str> {
        match self {
            Self::A => Some("zone A"),
            Self::B => Some("zone B"),
            Self::If => Some("zone if"),
            Self::Escape => None,
            Self::Kernel => Some("KERNEL"),
            Self::Firmware => Some("FW"),
            Self::Stall => Some("PROFILER-DRAM-STALL"),
        }
    }
}

/// Content of a record without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Zone(Name),
    Data(Vec<u64>),
    Event(u16),
    Total(usize),
}

/// A record that a script makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) said: Said,
    /// Minimum cycles of a zone or a total.
    pub(crate) least_cycles: u64,
}

/// Encodes a script as words, with the numbers of `streams.cpp`.
pub(crate) fn words(steps: &[Step]) -> Vec<u32> {
    let mut words = Vec::new();
    for step in steps {
        let (number, inner): (u32, &[Step]) = match step {
            Step::Zone(Name::A, inner) => (1, inner),
            Step::Zone(Name::B, inner) => (2, inner),
            Step::ZoneIf(_, inner) => (3, inner),
            Step::Data(_) => (4, &[]),
            Step::Data16(_) => (5, &[]),
            Step::Event(_) => (6, &[]),
            Step::Sum(0, inner) => (7, inner),
            Step::Sum(_, inner) => (8, inner),
            Step::Zone(_, inner) => (9, inner),
            Step::Wait(_) => (10, &[]),
            Step::Repeat(_, inner) => (11, inner),
            Step::Invalid => (12, &[]),
        };
        words.push(number);
        let halves = |value: u64| [(value >> 32) as u32, (value & 0xFFFF_FFFF) as u32];
        match step {
            Step::ZoneIf(is_active, _) => words.push(u32::from(*is_active)),
            Step::Data(value) => words.extend(halves(*value)),
            Step::Data16(values) => words.extend(values.iter().copied().flat_map(halves)),
            Step::Event(number) => words.push(u32::from(*number)),
            Step::Wait(passes) | Step::Repeat(passes, _) => words.push(*passes),
            Step::Zone(..) | Step::Sum(..) | Step::Invalid => {}
        }
        if matches!(step, Step::Zone(..) | Step::ZoneIf(..) | Step::Sum(..) | Step::Repeat(..)) {
            words.extend(self::words(inner));
        }
    }
    words.push(0);
    words
}

/// Returns the records of a launch that runs a script, in the order of their ends.
pub(crate) fn expected(steps: &[Step]) -> Vec<Expected> {
    let mut list = Vec::new();
    let mut sums = [None; 2];
    let least_cycles = collect(steps, &mut list, &mut sums);
    for name in [Name::Kernel, Name::Firmware] {
        list.push(Expected { said: Said::Zone(name), least_cycles });
    }
    let totals = sums.iter().enumerate();
    list.extend(totals.filter_map(|(index, cycles)| {
        Some(Expected { said: Said::Total(index), least_cycles: (*cycles)? })
    }));
    list
}

/// Adds the records of steps; returns the minimum cycles of the steps.
fn collect(steps: &[Step], list: &mut Vec<Expected>, sums: &mut [Option<u64>; 2]) -> u64 {
    let mut cycles = 0;
    for step in steps {
        let mut record = |said, least_cycles| list.push(Expected { said, least_cycles });
        match step {
            Step::Zone(name, inner) => {
                let least_cycles = collect(inner, list, sums);
                list.push(Expected { said: Said::Zone(*name), least_cycles });
                cycles += least_cycles;
            }
            Step::ZoneIf(is_active, inner) => {
                let least_cycles = collect(inner, list, sums);
                if *is_active {
                    list.push(Expected { said: Said::Zone(Name::If), least_cycles });
                }
                cycles += least_cycles;
            }
            Step::Sum(index, inner) => {
                let inner = collect(inner, list, sums);
                *sums[*index].get_or_insert(0) += inner;
                cycles += inner;
            }
            Step::Repeat(passes, inner) => {
                for _ in 0..*passes {
                    cycles += collect(inner, list, sums);
                }
            }
            Step::Wait(passes) => cycles += 2 * u64::from(*passes),
            Step::Data(value) => record(Said::Data(vec![*value]), 0),
            Step::Data16(values) => record(Said::Data(values.to_vec()), 0),
            Step::Event(number) => record(Said::Event(*number), 0),
            Step::Invalid => {}
        }
    }
    cycles
}

/// Returns a random script. Only a patient script may wait so long that a zone takes two cells.
pub(crate) fn random(seed: &mut Seed, steps: u64, depth: u32, is_patient: bool) -> Vec<Step> {
    let inner = |seed: &mut Seed| {
        let steps = if depth == 0 { 0 } else { seed.below(4) };
        random(seed, steps, depth.saturating_sub(1), is_patient)
    };
    let step = |seed: &mut Seed| match seed.below(12) {
        0..=2 => Step::Zone(Name::A, inner(seed)),
        3 => Step::Zone(Name::B, inner(seed)),
        4 => Step::ZoneIf(seed.below(2) == 1, inner(seed)),
        5 => Step::Data(seed.next()),
        6 => Step::Data16([seed.next(), seed.next()]),
        7 => Step::Event(u16::try_from(seed.below(1 << 16)).unwrap()),
        8 => Step::Zone(Name::Escape, inner(seed)),
        9 if is_patient && seed.below(40) == 0 => Step::Zone(Name::B, vec![Step::Wait(33_000)]),
        9 => Step::Wait(u32::try_from(seed.below(60)).unwrap()),
        sum => Step::Sum(usize::from(sum == 11), inner(seed)),
    };
    (0..steps).map(|_| step(seed)).collect()
}
