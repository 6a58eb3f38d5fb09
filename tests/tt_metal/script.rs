//! Scripts of a kernel's profiler calls, encoded as words that `probes.cpp` interprets.

/// A step of a script; a zone contains its inner steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Zone(Name, Vec<Self>),
    /// The zone that is only recorded if its condition holds.
    ZoneIf(bool, Vec<Self>),
    Data(u64),
    Data16([u64; 2]),
    Event(u16),
    /// One of the two sums.
    Sum(usize, Vec<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    A,
    B,
}

/// Content of a record without its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Start,
    End,
    Data(Vec<u64>),
    Event(u16),
    Total,
}

/// Encodes a script as words, with the numbers of `probes.cpp`.
pub(crate) fn words(steps: &[Step]) -> Vec<u32> {
    let mut words = Vec::new();
    for step in steps {
        let (number, inner) = match step {
            Step::Zone(Name::A, inner) => (1, Some(inner)),
            Step::Zone(Name::B, inner) => (2, Some(inner)),
            Step::ZoneIf(_, inner) => (3, Some(inner)),
            Step::Data(_) => (4, None),
            Step::Data16(_) => (5, None),
            Step::Event(_) => (6, None),
            Step::Sum(0, inner) => (7, Some(inner)),
            Step::Sum(_, inner) => (8, Some(inner)),
        };
        words.push(number);
        match step {
            Step::ZoneIf(is_active, _) => words.push(u32::from(*is_active)),
            Step::Data(value) => words.extend(halves(*value)),
            Step::Data16(values) => words.extend(values.iter().flat_map(|value| halves(*value))),
            Step::Event(number) => words.push(u32::from(*number)),
            Step::Zone(..) | Step::Sum(..) => {}
        }
        if let Some(inner) = inner {
            words.extend(self::words(inner));
        }
    }
    words.push(0);
    words
}

const fn halves(value: u64) -> [u32; 2] {
    [(value >> 32) as u32, (value & 0xFFFF_FFFF) as u32]
}

/// Returns the script with every condition true. TT-Metal's classic back end ignores conditions;
/// our header and TT-Metal's streaming back end honour them.
pub(crate) fn unconditional(steps: &[Step]) -> Vec<Step> {
    let step = |step: &Step| match step {
        Step::Zone(name, inner) => Step::Zone(*name, unconditional(inner)),
        Step::ZoneIf(_, inner) => Step::ZoneIf(true, unconditional(inner)),
        Step::Sum(index, inner) => Step::Sum(*index, unconditional(inner)),
        other => other.clone(),
    };
    steps.iter().map(step).collect()
}

/// Returns the contents of a script's records in order; totals of sums come at the end.
pub(crate) fn said(steps: &[Step], has_sums: bool) -> Vec<Said> {
    let mut list = Vec::new();
    let mut is_summed = [false; 2];
    collect(steps, &mut list, &mut is_summed);
    let totals = is_summed.iter().filter(|is_summed| has_sums && **is_summed);
    list.extend(totals.map(|_| Said::Total));
    list
}

fn collect(steps: &[Step], list: &mut Vec<Said>, is_summed: &mut [bool; 2]) {
    for step in steps {
        match step {
            Step::Zone(_, inner) | Step::ZoneIf(_, inner) => {
                let is_recorded = !matches!(step, Step::ZoneIf(false, _));
                list.extend(is_recorded.then_some(Said::Start));
                collect(inner, list, is_summed);
                list.extend(is_recorded.then_some(Said::End));
            }
            Step::Data(value) => list.push(Said::Data(vec![*value])),
            Step::Data16(values) => list.push(Said::Data(values.to_vec())),
            Step::Event(number) => list.push(Said::Event(*number)),
            Step::Sum(index, inner) => {
                collect(inner, list, is_summed);
                is_summed[*index] = true;
            }
        }
    }
}

/// Generator of pseudo-random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Returns a number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Returns a fresh seed.
    pub(crate) fn fresh() -> Self {
        Self(tests::seed::fresh())
    }
}

/// Returns a random script of about `steps` steps.
pub(crate) fn random(seed: &mut Seed, steps: u64, depth: u32) -> Vec<Step> {
    (0..steps)
        .map(|_| {
            let inner = |seed: &mut Seed| {
                let steps = if depth == 0 { 0 } else { seed.below(4) };
                random(seed, steps, depth.saturating_sub(1))
            };
            match seed.below(9) {
                0 | 1 => Step::Zone(Name::A, inner(seed)),
                2 => Step::Zone(Name::B, inner(seed)),
                3 => Step::ZoneIf(seed.below(2) == 1, inner(seed)),
                4 => Step::Data(seed.next()),
                5 => Step::Data16([seed.next(), seed.next()]),
                6 => Step::Event(u16::try_from(seed.below(1 << 16)).unwrap()),
                sum => Step::Sum(usize::from(sum == 8), inner(seed)),
            }
        })
        .collect()
}
