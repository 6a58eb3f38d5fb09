//! Alignment of two sequences of ops.
//!
//! Ops are paired in the order in which they ran, by a longest common subsequence: first ops that
//! are equal in everything, then, between these, ops that differ in their attributes alone, then ops
//! of the same kind and shapes. Ops that remain and have a partner elsewhere were moved. What then remains between
//! two pairs is paired by kind alone.
//!
//! Ops of different kinds are paired only if all ops of one kind have been replaced: the kind is in
//! one sequence alone, and the other sequence has one new kind whose ops have the same shapes in the
//! same order. The name of one of them also contains the name of the other, or there are
//! [`TELLING_SHAPES`] different shapes. Single ops that a new kind took over, while others kept the old
//! one, are paired last: between two pairs, with the same shapes, if the name of one contains the other's.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of the sequences themselves"
)]

use super::{kind::kind_of, measured::Measured};
use crate::perf::without_numbers;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    hash::Hash,
    ops::Range,
};

/// Number of ops of both sequences together up to which the longest common subsequence is exact.
/// Its cost grows with the square of this number, and for longer parts the search is bounded.
const EXACT_LENGTH: usize = 6000;

/// Number of different shapes from which on two kinds with the same shapes in the same order are the
/// same op under another name.
const TELLING_SHAPES: usize = 5;

/// A pair of ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    /// Index in the first sequence.
    pub(super) a: usize,
    /// Index in the second sequence.
    pub(super) b: usize,
    /// True if the op has another place in the order of ops.
    pub(super) is_moved: bool,
}

/// Pairs of two sequences, sorted by the index in the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Alignment {
    pub(super) pairs: Vec<Pair>,
    /// True if the sequences were too long for an exact search.
    pub(super) is_bounded: bool,
}

/// Numbers that stand for what ops have in common. Ops with equal numbers are equal.
#[derive(Default)]
struct Tokens {
    /// All that is known of an op, its attributes too, but for numbers that may differ between its
    /// launches.
    attributes: Vec<u32>,
    exact: Vec<u32>,
    shape: Vec<u32>,
    kind: Vec<u32>,
    /// Shapes and the kind within the kind's name; `None` if the shapes are unknown.
    family: Vec<Option<u32>>,
}

/// Aligns two sequences of ops.
pub(super) fn align(a: &[&Measured], b: &[&Measured]) -> Alignment {
    let [a_tokens, b_tokens] = tokens_of(a, b);
    let mut found = Alignment::default();
    let tiers = [
        (&*a_tokens.attributes, &*b_tokens.attributes),
        (&*a_tokens.exact, &*b_tokens.exact),
        (&*a_tokens.shape, &*b_tokens.shape),
    ];
    align_part(&tiers, &mut found);
    found.pairs.sort_unstable();
    let in_order = found.pairs.clone();
    for tokens in tiers {
        pair_moved(tokens, &mut found.pairs);
    }
    align_rest((&a_tokens.kind, &b_tokens.kind), &in_order, &mut found);
    found.pairs.sort_unstable();
    let in_order: Vec<Pair> = found.pairs.iter().filter(|pair| !pair.is_moved).copied().collect();
    align_rest((&a_tokens.family(0), &b_tokens.family(1)), &in_order, &mut found);
    found.pairs.sort_unstable();
    found
}

impl Tokens {
    /// Returns the families of a side. Ops without one equal no op of the other side.
    fn family(&self, side: usize) -> Vec<u32> {
        let unknown = u32::MAX - u32::from(side == 1);
        self.family.iter().map(|family| family.unwrap_or(unknown)).collect()
    }
}

type Both<'a> = (&'a [u32], &'a [u32]);

/// Pairs ops that are equal by the first of the `tiers` in order, and between them ops that are equal
/// by the next.
///
/// If fewer than half of the ops are equal by a tier, the few that are do not tell which parts belong
/// together. Then the next tier decides.
fn align_part(tiers: &[Both<'_>], found: &mut Alignment) {
    let Some(((a, b), others)) = tiers.split_first() else { return };
    let (a_part, b_part) = (0..a.len(), 0..b.len());
    let equal = common_runs((*a, *b), a_part.clone(), b_part.clone(), &mut found.is_bounded);
    let equal_count: usize = equal.iter().map(|run| run.length).sum();
    if others.is_empty() || equal_count * 2 >= a.len().min(b.len()) {
        align_between(&equal, others, (a_part, b_part), found);
    } else {
        align_part(others, found);
    }
}

/// Adds the pairs of `runs`, and between them those by the `tiers`.
fn align_between(
    runs: &[Run],
    tiers: &[Both<'_>],
    (a, b): (Range<usize>, Range<usize>),
    found: &mut Alignment,
) {
    found.pairs.extend(runs.iter().flat_map(Run::pairs));
    let Some((tokens, others)) = tiers.split_first() else { return };
    let (mut a_from, mut b_from) = (a.start, b.start);
    let end = Run { a: a.end, b: b.end, length: 0 };
    for run in runs.iter().copied().chain([end]) {
        let (a_part, b_part) = (a_from..run.a, b_from..run.b);
        let between = common_runs(*tokens, a_part.clone(), b_part.clone(), &mut found.is_bounded);
        align_between(&between, others, (a_part, b_part), found);
        (a_from, b_from) = (run.a + run.length, run.b + run.length);
    }
}

/// Pairs ops that are still alone with equal ops anywhere in the other sequence.
fn pair_moved((a, b): Both<'_>, pairs: &mut Vec<Pair>) {
    let [a_alone, b_alone] = alone(a.len(), b.len(), pairs);
    let mut waiting: HashMap<u32, VecDeque<usize>> = HashMap::new();
    for at in b_alone {
        waiting.entry(b[at]).or_default().push_back(at);
    }
    pairs.extend(a_alone.into_iter().filter_map(|at| {
        let partner = waiting.get_mut(&a[at])?.pop_front()?;
        Some(Pair { a: at, b: partner, is_moved: true })
    }));
}

/// Pairs ops that are still alone and equal, between the pairs that are in order.
fn align_rest((a, b): Both<'_>, in_order: &[Pair], found: &mut Alignment) {
    let [a_alone, b_alone] = alone(a.len(), b.len(), &found.pairs);
    let (mut a_alone, mut b_alone) = (&*a_alone, &*b_alone);
    let end = Pair { a: a.len(), b: b.len(), is_moved: false };
    for next in in_order.iter().chain([&end]) {
        let (a_part, a_rest) = a_alone.split_at(a_alone.partition_point(|&at| at < next.a));
        let (b_part, b_rest) = b_alone.split_at(b_alone.partition_point(|&at| at < next.b));
        (a_alone, b_alone) = (a_rest, b_rest);
        if a_part.is_empty() || b_part.is_empty() {
            continue;
        }
        let kinds =
            |part: &[usize], all: &[u32]| part.iter().map(|&at| all[at]).collect::<Vec<_>>();
        let (a_kinds, b_kinds) = (kinds(a_part, a), kinds(b_part, b));
        let (a_all, b_all) = (0..a_kinds.len(), 0..b_kinds.len());
        let runs = common_runs((&a_kinds, &b_kinds), a_all, b_all, &mut found.is_bounded);
        found.pairs.extend(runs.iter().flat_map(Run::pairs).map(|pair| Pair {
            a: a_part[pair.a],
            b: b_part[pair.b],
            is_moved: false,
        }));
    }
}

/// Returns the indices without a partner on each side, in order.
fn alone(a_count: usize, b_count: usize, pairs: &[Pair]) -> [Vec<usize>; 2] {
    let a: HashSet<usize> = pairs.iter().map(|pair| pair.a).collect();
    let b: HashSet<usize> = pairs.iter().map(|pair| pair.b).collect();
    [
        (0..a_count).filter(|at| !a.contains(at)).collect(),
        (0..b_count).filter(|at| !b.contains(at)).collect(),
    ]
}

/// Equal parts of two sequences.
#[derive(Clone, Copy, Debug)]
struct Run {
    a: usize,
    b: usize,
    length: usize,
}

impl Run {
    fn pairs(&self) -> impl Iterator<Item = Pair> + use<> {
        let Self { a, b, length } = *self;
        (0..length).map(move |at| Pair { a: a + at, b: b + at, is_moved: false })
    }
}

/// Returns a longest common subsequence of two parts, as runs in order. Of long parts it may be
/// shorter than the longest.
fn common_runs(
    (a, b): Both<'_>,
    a_part: Range<usize>,
    b_part: Range<usize>,
    is_bounded: &mut bool,
) -> Vec<Run> {
    let (a, b) = (&a[a_part.clone()], &b[b_part.clone()]);
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[head..], &b[head..]);
    let mut runs = vec![Run { a: a_part.start, b: b_part.start, length: head }];
    let algorithm = if a.len() + b.len() <= EXACT_LENGTH {
        Algorithm::RawMyers
    } else {
        *is_bounded |= !a.is_empty() && !b.is_empty();
        Algorithm::Myers
    };
    let (a_start, b_start) = (a_part.start + head, b_part.start + head);
    if !a.is_empty() && !b.is_empty() {
        let found = capture_diff_slices(algorithm, a, b);
        runs.extend(found.into_iter().filter_map(|found| match found {
            DiffOp::Equal { old_index, new_index, len } => {
                Some(Run { a: a_start + old_index, b: b_start + new_index, length: len })
            }
            _ => None,
        }));
    }
    runs.retain(|run| run.length > 0);
    runs
}

/// Returns the numbers of the ops of both sequences.
fn tokens_of(a: &[&Measured], b: &[&Measured]) -> [Tokens; 2] {
    let mut names: HashMap<&str, String> = HashMap::new();
    for op in a.iter().chain(b) {
        names.entry(&op.name).or_insert_with(|| kind_of(&op.name));
    }
    let replaced = replaced_kinds(a, b, &names);
    for name in names.values_mut() {
        if let Some(before) = replaced.get(name) {
            name.clone_from(before);
        }
    }
    // Kinds of which an op does not say its function: a version that does not record it.
    let silent: HashSet<&str> = a
        .iter()
        .chain(b)
        .filter(|op| op.traits.function.is_none())
        .map(|op| &*names[&*op.name])
        .collect();
    let (mut kinds, mut shapes, mut whole) = (Numbers::new(), Numbers::new(), Numbers::new());
    let (mut attributes, mut texts) = (Numbers::new(), Numbers::new());
    let mut families = Numbers::new();
    let inner = inner_kinds(&names);
    let mut without: HashMap<&str, u32> = HashMap::new();
    [a, b].map(|ops| {
        let mut tokens = Tokens::default();
        for op in ops {
            let name = &*names[&*op.name];
            let function = op.traits.function.as_deref().filter(|_| !silent.contains(name));
            let kind = kinds.of((name, function));
            // An op without shapes, such as one that was measured by hand, has its source.
            let shape = op.traits.shapes.as_deref().unwrap_or(&op.source);
            tokens.kind.push(kind);
            tokens.shape.push(shapes.of((kind, shape)));
            let family = (inner.get(name).copied().unwrap_or(name), function, shape);
            let is_shaped = op.traits.shapes.is_some();
            tokens.family.push(is_shaped.then(|| families.of(family)));
            let exact = whole.of((kind, shape, &op.traits.values));
            tokens.exact.push(exact);
            let text = *without
                .entry(&op.attributes)
                .or_insert_with(|| texts.of(without_numbers(&op.attributes)));
            tokens.attributes.push(attributes.of((exact, text)));
        }
        tokens
    })
}

/// Returns for each kind the shortest other kind within its name: `matmul` for `minimalmatmul`.
fn inner_kinds<'a>(names: &'a HashMap<&str, String>) -> HashMap<&'a str, &'a str> {
    let kinds: HashSet<&str> = names.values().map(String::as_str).collect();
    let inner = |kind: &'a str| {
        let within =
            kinds.iter().filter(|of| !of.is_empty() && **of != kind && kind.contains(**of));
        within.min_by_key(|of| (of.len(), **of)).copied()
    };
    kinds.iter().filter_map(|kind| Some((*kind, inner(kind)?))).collect()
}

/// Returns the kinds that B has in place of kinds of A, each with the kind of A.
fn replaced_kinds(
    a: &[&Measured],
    b: &[&Measured],
    names: &HashMap<&str, String>,
) -> HashMap<String, String> {
    let [a_shapes, b_shapes] = [a, b].map(|ops| {
        let mut shapes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for op in ops {
            let kind = &*names[&*op.name];
            shapes.entry(kind).or_default().extend(op.traits.shapes.as_deref());
        }
        shapes
    });
    let new: Vec<_> = b_shapes.iter().filter(|(kind, _)| !a_shapes.contains_key(*kind)).collect();
    let mut taken: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (before, shapes) in a_shapes.iter().filter(|(kind, _)| !b_shapes.contains_key(*kind)) {
        let is_it = |after: &str, others: &[&str]| {
            !shapes.is_empty() && others == &**shapes && is_telling(before, after, shapes)
        };
        let mut found = new.iter().filter(|(after, others)| is_it(after, others));
        if let (Some((after, _)), None) = (found.next(), found.next()) {
            taken.entry(after).or_default().push(before);
        }
    }
    let single = taken.into_iter().filter_map(|(after, before)| match *before {
        [before] => Some((after.to_owned(), before.to_owned())),
        _ => None,
    });
    single.collect()
}

/// Returns true if two kinds with the same shapes are the same op under another name.
fn is_telling(one: &str, other: &str, shapes: &[&str]) -> bool {
    let different: HashSet<&str> = shapes.iter().copied().collect();
    one.contains(other) || other.contains(one) || different.len() >= TELLING_SHAPES
}

/// Numbers for keys; equal keys have equal numbers.
struct Numbers<K>(HashMap<K, u32>);

impl<K: Hash + Eq> Numbers<K> {
    fn new() -> Self {
        Self(HashMap::new())
    }

    fn of(&mut self, key: K) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(key).or_insert(next)
    }
}
