//! Properties of the comparison of generated pairs of ops CSVs: what users change between two
//! recordings, and what must hold whatever they change.

use super::{
    Agreement, Aspect, Change, Diff, DiffOptions, Finding, Gate, IterationDoubt, Measurements, Side,
};
use crate::perf::{PerfOptions, PerfReport, read_ops_csv};
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest,
};
use std::collections::BTreeMap;

/// Kinds of ops, each with its name in an old and in a new version.
const NAMES: [[&str; 2]; 5] = [
    ["Matmul", "MatmulDeviceOperation"],
    ["tt::operations::primary::Softmax", "SoftmaxDeviceOperation"],
    ["LayerNorm", "LayerNormDeviceOperation"],
    ["EltwiseBinary", "BinaryNgDeviceOperation"],
    ["Transpose", "TransposeDeviceOperation"],
];

/// A launch. Its duration depends on the program alone, so that the truth does not depend on which
/// launches of a program are paired.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Launch {
    kind: usize,
    width: u64,
    is_new_name: bool,
    is_in_l1: bool,
    device: u64,
    duration_ns: Option<f64>,
}

impl Launch {
    fn new(kind: usize, width: u64) -> Self {
        let duration_ns = Some(1000.0 * (kind as f64 + 1.0) + 37.0 * width as f64);
        Self { kind, width, is_new_name: false, is_in_l1: false, device: 0, duration_ns }
    }
}

/// What a user changes.
#[derive(Clone, Debug)]
enum Edit {
    Insert(usize, Launch),
    Delete(usize),
    Swap(usize, usize),
    DropDuration(usize),
    MoveToL1,
    Rename,
}

fn launch() -> impl Strategy<Value = Launch> {
    (0..NAMES.len(), 1..5_u64).prop_map(|(kind, width)| Launch::new(kind, width))
}

fn launches() -> impl Strategy<Value = Vec<Launch>> {
    (prop::collection::vec(launch(), 1..12), 1..4_usize)
        .prop_map(|(layer, count)| layer.repeat(count))
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = || any::<prop::sample::Index>().prop_map(|index| index.index(40));
    let edit = proptest::prop_oneof![
        (at(), launch()).prop_map(|(at, launch)| Edit::Insert(at, launch)),
        at().prop_map(Edit::Delete),
        (at(), at()).prop_map(|(one, other)| Edit::Swap(one, other)),
        at().prop_map(Edit::DropDuration),
        Just(Edit::MoveToL1),
        Just(Edit::Rename),
    ];
    prop::collection::vec(edit, 0..6)
}

fn edited(mut launches: Vec<Launch>, edits: &[Edit]) -> Vec<Launch> {
    for edit in edits {
        let count = launches.len();
        let within = |at: usize| at % count.max(1);
        match edit {
            Edit::Insert(at, launch) => launches.insert(at % (count + 1), *launch),
            Edit::Delete(at) if count > 1 => drop(launches.remove(within(*at))),
            Edit::Delete(_) => {}
            Edit::Swap(one, other) => launches.swap(within(*one), within(*other)),
            Edit::DropDuration(at) => launches[within(*at)].duration_ns = None,
            Edit::MoveToL1 => launches.iter_mut().for_each(|launch| launch.is_in_l1 = true),
            Edit::Rename => launches.iter_mut().for_each(|launch| launch.is_new_name = true),
        }
    }
    launches
}

/// Measures launches that an ops CSV describes.
fn measured(launches: &[Launch]) -> Measurements {
    let mut text = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,MATH FIDELITY,CORE COUNT,\
                    DEVICE KERNEL DURATION [ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,\
                    INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY\n"
        .to_owned();
    for (call, launch) in launches.iter().enumerate() {
        let name = NAMES[launch.kind][usize::from(launch.is_new_name)];
        let memory = if launch.is_in_l1 { "L1" } else { "DRAM" };
        let duration = launch.duration_ns.map(|ns| ns.to_string()).unwrap_or_default();
        let (device, width) = (launch.device, launch.width * 32);
        text += &format!(
            "{name},tt_dnn_device,{call},{device},HiFi2,64,{duration},1,1,32,{width},TILE,BFLOAT16,\
             DEV_{device}_{memory}_INTERLEAVED\n"
        );
    }
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    let options = PerfOptions { is_by_device: true, ..PerfOptions::default() };
    Measurements::from_report(&PerfReport::new(vec![csv], &options).unwrap())
}

/// Measures permutations of one shape by the order of their dimensions, and their durations. Each has
/// another seed among its attributes.
fn permuted(launches: &[(usize, f64)]) -> Measurements {
    let mut text = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,\
                    DEVICE KERNEL DURATION [ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,\
                    INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY\n"
        .to_owned();
    for (call, (order, duration_ns)) in launches.iter().enumerate() {
        let attributes = format!("{{'dims': 'V([0; {order}])'; 'seed': '{}'}}", call * 7919 + 13);
        text += &format!(
            "Permute,tt_dnn_device,{call},0,{attributes},{duration_ns},1,1,32,64,TILE,BFLOAT16,\
             DEV_0_DRAM_INTERLEAVED\n"
        );
    }
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    let options = PerfOptions { is_by_device: true, ..PerfOptions::default() };
    Measurements::from_report(&PerfReport::new(vec![csv], &options).unwrap())
}

/// An op of a loop: number of its kind and shape, length of its kernel, and gap before it, in ns.
type Step = (usize, u64, u64);

/// Measures ops with gaps; each number is another kind and shape.
fn looped(steps: &[Step]) -> Measurements {
    replayed(steps, &vec![None; steps.len()])
}

/// Measures ops with gaps, and the replay of a trace that each is of.
fn replayed(steps: &[Step], replays: &[Option<u64>]) -> Measurements {
    let mut text = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,METAL TRACE ID,\
                    METAL TRACE REPLAY SESSION ID,DEVICE KERNEL DURATION [ns],\
                    OP TO OP LATENCY [ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,INPUT_0_LAYOUT,\
                    INPUT_0_DATATYPE,INPUT_0_MEMORY\n"
        .to_owned();
    for (call, ((number, ns, gap_ns), replay)) in steps.iter().zip(replays).enumerate() {
        let width = (number + 1) * 32;
        let trace = replay.map_or_else(|| ",".to_owned(), |session| format!("7,{session}"));
        text += &format!(
            "Kind{}Op,tt_dnn_device,{call},0,{trace},{ns},{gap_ns},1,1,32,{width},TILE,BFLOAT16,\
             DEV_0_DRAM_INTERLEAVED\n",
            ["A", "B", "C", "D", "E"][number % 5]
        );
    }
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    let options = PerfOptions { is_by_device: true, ..PerfOptions::default() };
    Measurements::from_report(&PerfReport::new(vec![csv], &options).unwrap())
}

/// Returns passes after other ops, and the time of a pass: the first one takes longer, as it compiles.
fn passes(before: usize, pass: &[Step], count: usize, cut: usize) -> (Vec<Step>, u64) {
    let mut steps: Vec<Step> = (0..before).map(|number| (100 + number, 50, 700)).collect();
    let begin = steps.len();
    steps.extend(pass.repeat(count));
    steps[begin].2 = 900_000_000;
    steps.extend(&pass[..cut % pass.len()]);
    (steps, pass.iter().map(|(_, ns, gap_ns)| ns + gap_ns).sum())
}

fn diff(a: &[Launch], b: &[Launch]) -> Diff {
    Diff::new(&measured(a), &measured(b), DiffOptions::default())
}

fn known_ns(launches: &[Launch]) -> f64 {
    launches.iter().filter_map(|launch| launch.duration_ns).sum()
}

fn untimed(launches: &[Launch]) -> usize {
    launches.iter().filter(|launch| launch.duration_ns.is_none()).count()
}

/// Number of launches of each program whose duration is known.
fn programs(launches: &[Launch]) -> BTreeMap<(usize, u64), usize> {
    let mut programs = BTreeMap::new();
    for launch in launches.iter().filter(|launch| launch.duration_ns.is_some()) {
        *programs.entry((launch.kind, launch.width)).or_default() += 1;
    }
    programs
}

fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-6 * expected.abs().max(1.0)
}

fn kind_named(name: &str) -> Option<usize> {
    NAMES.iter().position(|names| names.contains(&name))
}

fn name_in_b(change: &Change) -> &str {
    let renamed = change.differences.iter().find(|difference| difference.aspect == Aspect::Name);
    renamed.map_or(&change.name, |difference| &difference.b)
}

fn is_of(change: &Change, launch: Launch) -> bool {
    kind_named(&change.name) == Some(launch.kind)
        && change.source.contains(&format!("x{}:", launch.width * 32))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn compared_and_other_time_is_all_time(a in launches(), edits in edits()) {
        let b = edited(a.clone(), &edits);
        let diff = diff(&a, &b);
        for (side, launches) in [(&diff.a, &a), (&diff.b, &b)] {
            let Side { total_ns, compared_ns, alone_ns, iteration_count, .. } = *side;
            prop_assert!(is_close(compared_ns + alone_ns, total_ns), "{side:?}");
            // A sum of nothing would be shown as -0.0.
            let sums = [compared_ns, alone_ns, total_ns, side.zones_ns, side.compared_zones_ns];
            prop_assert!(sums.iter().all(|sum| sum.is_sign_positive()), "{side:?}");
            let listed: f64 = side.only_here.iter().map(|item| item.time_ns).sum();
            prop_assert!(is_close(listed, alone_ns), "{side:?}");
            if iteration_count == 1 {
                prop_assert!(is_close(total_ns, known_ns(launches)), "{side:?}");
            }
        }
        let change: f64 = diff.groups.iter().map(|group| group.change_ns).sum();
        prop_assert!(is_close(change, diff.b.compared_ns - diff.a.compared_ns));
    }

    #[test]
    fn an_op_with_other_attributes_is_another_op(
        orders in prop::collection::vec(1..4_usize, 1..24),
        factors in prop::collection::vec(0.4..3.0_f64, 4),
        is_gone in prop::collection::vec(any::<bool>(), 24),
    ) {
        let a: Vec<_> = orders.iter().map(|order| (*order, 1000.0 * *order as f64)).collect();
        let mut b: Vec<_> = a.iter().map(|(order, ns)| (*order, ns * factors[*order])).collect();
        let mut gone = is_gone.into_iter();
        b.retain(|_| !gone.next().unwrap());
        let diff = Diff::new(&permuted(&a), &permuted(&b), DiffOptions::default());
        let mut compared = 0;
        for change in &diff.changes {
            let is_own = |order: &usize| is_close(change.a_ns.mean, 1000.0 * *order as f64);
            let order = orders.iter().copied().find(is_own).unwrap();
            let is_told = change.differences.iter().any(|of| of.a.starts_with("dims "));
            if is_told {
                // Another op may stand in for one that B lacks, and is told.
                let count = |of: &[(usize, f64)]| of.iter().filter(|own| own.0 == order).count();
                prop_assert!(count(&b) < count(&a), "{:?}", change);
            } else {
                let ratio = change.b_ns.mean / change.a_ns.mean;
                prop_assert!(is_close(ratio, factors[order]), "{:?}", change);
            }
            compared += change.a_ns.count;
        }
        // All launches of B, or those of the iterations that were found.
        prop_assert!(compared <= a.len() && 2 * compared >= b.len(), "{} of {}", compared, b.len());
    }

    #[test]
    fn ops_of_different_kinds_are_never_compared(a in launches(), b in launches()) {
        for change in diff(&a, &b).changes {
            prop_assert_eq!(kind_named(&change.name), kind_named(name_in_b(&change)), "{:?}", change);
        }
    }

    #[test]
    fn other_names_and_memory_leave_everything_comparable(
        a in launches(),
        is_renamed in any::<bool>(),
        is_moved in any::<bool>(),
    ) {
        let mut b = a.clone();
        for launch in &mut b {
            (launch.is_new_name, launch.is_in_l1) = (is_renamed, is_moved);
        }
        let diff = diff(&a, &b);
        prop_assert!(is_close(diff.a.compared_ns, known_ns(&a)), "{:?}", diff.a);
        prop_assert!(is_close(diff.b.compared_ns, known_ns(&b)), "{:?}", diff.b);
        for change in &diff.changes {
            prop_assert!(is_close(change.ratio, 1.0), "{change:?}");
            let found: Vec<Aspect> =
                change.differences.iter().map(|difference| difference.aspect).collect();
            prop_assert_eq!(found.contains(&Aspect::Name), is_renamed);
            prop_assert_eq!(found.contains(&Aspect::Memory), is_moved);
            prop_assert_eq!(found.len(), usize::from(is_renamed) + usize::from(is_moved));
        }
    }

    #[test]
    fn every_program_of_both_is_compared_as_often_as_it_can_be(a in launches(), edits in edits()) {
        let edits: Vec<_> =
            edits.into_iter().filter(|edit| !matches!(edit, Edit::DropDuration(_))).collect();
        let b = edited(a.clone(), &edits);
        let (in_a, in_b) = (programs(&a), programs(&b));
        let least: f64 = in_a
            .iter()
            .map(|(program, &count)| {
                let common = count.min(in_b.get(program).copied().unwrap_or(0));
                common as f64 * Launch::new(program.0, program.1).duration_ns.unwrap()
            })
            .sum();
        let side = diff(&a, &b).a;
        if side.iteration_count == 1 {
            prop_assert!(side.compared_ns >= least - 1e-6, "{} of {least}", side.compared_ns);
        }
    }

    #[test]
    fn a_slower_program_is_found_with_its_size(
        a in launches(),
        edits in edits(),
        chosen in any::<prop::sample::Index>(),
        factor in 1.2..5.0_f64,
    ) {
        let planted = a[chosen.index(a.len())];
        let is_planted = |launch: &Launch| (launch.kind, launch.width) == (planted.kind, planted.width);
        let mut b = edited(a.clone(), &edits);
        let durations: Vec<Option<f64>> =
            b.iter().filter(|launch| is_planted(launch)).map(|launch| launch.duration_ns).collect();
        proptest::prop_assume!(!durations.is_empty() && durations.iter().all(Option::is_some));
        for launch in b.iter_mut().filter(|launch| is_planted(launch)) {
            launch.duration_ns = launch.duration_ns.map(|ns| ns * factor);
        }
        let diff = diff(&a, &b);
        let same = diff.changes.iter().filter(|change| change.agreement != Agreement::Kind);
        let (slower, others): (Vec<_>, Vec<_>) = same.partition(|change| is_of(change, planted));
        prop_assert!(!slower.is_empty(), "{:?}", diff);
        let gate = Gate { above_percent: Some((factor - 1.0) * 99.0), ..Gate::default() };
        for change in slower {
            prop_assert!(is_close(change.ratio, factor), "{change:?}");
            prop_assert!(gate.finding(change).is_some(), "{change:?}");
        }
        for change in others {
            prop_assert!(is_close(change.ratio, 1.0), "{change:?}");
        }
    }

    #[test]
    fn one_slow_launch_among_many_is_found(
        layer in prop::collection::vec(launch(), 1..8),
        count in 2..6_usize,
        chosen in any::<prop::sample::Index>(),
    ) {
        // A last op of its own, so that nothing repeats.
        let mut a = layer.repeat(count);
        a.push(Launch::new(0, 9));
        let mut b = a.clone();
        let at = chosen.index(a.len());
        b[at].duration_ns = a[at].duration_ns.map(|ns| ns * 2.0);
        let diff = diff(&a, &b);
        let slow: Vec<_> = diff.changes.iter().filter(|change| is_close(change.ratio, 2.0)).collect();
        prop_assert_eq!(slow.len(), 1, "{:?}", &diff.changes);
        prop_assert!(is_of(slow[0], a[at]));
    }

    #[test]
    fn a_gate_never_passes_on_less_than_half(a in launches(), b in launches(), edits in edits()) {
        let b = edited(b, &edits);
        let diff = diff(&a, &b);
        let share = |side: &Side, launches: &[Launch]| {
            let all = known_ns(launches);
            if all > 0.0 { side.compared_ns * side.iteration_count as f64 / all } else { 0.0 }
        };
        let least = share(&diff.a, &a).min(share(&diff.b, &b));
        // These files have no gaps, so that no iteration is compared as a whole.
        let gate = Gate { above_percent: Some(5.0), ..Gate::default() };
        prop_assert_eq!(gate.shortfall(&diff), diff.shortfall());
        let is_untimed = 2 * untimed(&a) > a.len() || 2 * untimed(&b) > b.len();
        if diff.a.iteration_count == 1 && diff.b.iteration_count == 1 {
            prop_assert_eq!(diff.shortfall().is_some(), least < 0.5 || is_untimed, "{}", least);
        }
    }

    #[test]
    fn missing_durations_fail_a_gate_and_never_look_like_a_change(
        a in launches(),
        dropped in prop::collection::vec(any::<(bool, bool)>(), 36),
    ) {
        let (mut a, mut b) = (a.clone(), a);
        for (launches, is_of_b) in [(&mut a, false), (&mut b, true)] {
            for (launch, (in_a, in_b)) in launches.iter_mut().zip(&dropped) {
                if if is_of_b { *in_b } else { *in_a } {
                    launch.duration_ns = None;
                }
            }
        }
        let diff = diff(&a, &b);
        for (side, launches) in [(&diff.a, &a), (&diff.b, &b)] {
            prop_assert_eq!(side.launches.launch_count, launches.len());
            prop_assert_eq!(side.launches.untimed_count, untimed(launches));
            if side.iteration_count == 1 {
                prop_assert_eq!(side.timed_op_count, launches.len() - untimed(launches));
            }
            prop_assert!(2 * untimed(launches) <= launches.len() || diff.shortfall().is_some());
        }
        if untimed(&a) + untimed(&b) > 0 {
            prop_assert_eq!(diff.change_ns(), None);
        }
        if let Some(change_ns) = diff.compared_change_ns() {
            prop_assert!(is_close(change_ns, 0.0), "{change_ns}");
        }
    }

    #[test]
    fn an_iteration_is_compared_whatever_ops_it_gained_or_lost(
        pass in prop::collection::vec((500..4000_u64, 500..900_u64), 3..9),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        added in prop::collection::vec((any::<prop::sample::Index>(), 500..4000_u64), 0..4),
        waits in (0..60_000_u64, 0..60_000_u64),
        counts in (3..7_usize, 3..7_usize),
        before in (0..3_usize, 0..3_usize),
        cuts in (0..9_usize, 0..9_usize),
    ) {
        let steps = pass.iter().enumerate().map(|(number, (ns, gap_ns))| (number, *ns, *gap_ns));
        let mut a: Vec<Step> = steps.collect();
        let mut b = a.clone();
        for at in gone.iter().take(pass.len() / 2) {
            b.remove(at.index(b.len()));
        }
        for (number, (at, ns)) in added.iter().enumerate() {
            b.insert(at.index(b.len() + 1), (20 + number, *ns, 600));
        }
        (a[0].2, b[0].2) = (a[0].2 + waits.0, b[0].2 + waits.1);
        let (all_a, a_ns) = passes(before.0, &a, counts.0, cuts.0);
        let (all_b, b_ns) = passes(before.1, &b, counts.1, cuts.1);
        let diff = Diff::new(&looped(&all_a), &looped(&all_b), DiffOptions::default());
        prop_assert!(diff.uncompared_iterations.is_empty(), "{:?}", diff.uncompared_iterations);
        let [elapsed] = &diff.elapsed[..] else { panic!("{:?}", diff.elapsed) };
        prop_assert_eq!((elapsed.a_op_count, elapsed.b_op_count), (a.len(), b.len()));
        prop_assert!(is_close(elapsed.ratio, b_ns as f64 / a_ns as f64), "{:?} {} {}", elapsed, a_ns, b_ns);
        let begun = [all_a.len().div_ceil(a.len()), all_b.len().div_ceil(b.len())];
        if counts.0 != counts.1 && begun[0] != begun[1] {
            // All iterations are alike, so that the mean of all is the time of one.
            let kernels_ns = [&a, &b].map(|of| of.iter().map(|(_, ns, _)| ns).sum::<u64>() as f64);
            let totals_ns = [&diff.a, &diff.b].map(|side| side.total_ns);
            prop_assert!(is_close(totals_ns[0], kernels_ns[0]), "{:?} {:?}", totals_ns, kernels_ns);
            prop_assert!(is_close(totals_ns[1], kernels_ns[1]), "{:?} {:?}", totals_ns, kernels_ns);
        }
        let percent = elapsed.percent();
        let gate = Gate { above_percent: Some(5.0), below_percent: Some(5.0), ..Gate::default() };
        let expected = match percent {
            _ if percent > 5.0 => Some(Finding::Slower),
            _ if percent < -5.0 => Some(Finding::Faster),
            _ => None,
        };
        prop_assert_eq!(gate.finding_of_elapsed(elapsed), expected);
        // The cuts and what comes before may be most of it, but not if they are shorter than two passes.
        prop_assert!(counts.0 == 3 || counts.1 == 3 || gate.shortfall(&diff).is_none(), "{:?}", diff.iterations_share);
        let without_gaps = Gate { ignores_gaps: true, ..gate };
        prop_assert_eq!(without_gaps.shortfall(&diff), diff.shortfall());
    }

    #[test]
    fn a_gate_rests_on_iterations_when_their_longest_ops_are_replaced(
        pass in prop::collection::vec((500..4000_u64, 500..900_u64), 4..9),
        long_ns in 20_000..90_000_u64,
        new_ns in 20_000..90_000_u64,
        counts in (2..7_usize, 2..7_usize),
        before_ns in 0..2_000_000_u64,
    ) {
        let mut a: Vec<Step> =
            pass.iter().enumerate().map(|(number, (ns, gap_ns))| (number, *ns, *gap_ns)).collect();
        let mut b = a.clone();
        // Kinds and shapes of their own.
        a.push((70, long_ns, 600));
        b.push((91, new_ns, 600));
        let (all_a, _) = passes(0, &a, counts.0, 0);
        let (all_b, _) = passes(0, &b, counts.1, 0);
        let gate = Gate { above_percent: Some(5.0), ..Gate::default() };
        let found = Diff::new(&looped(&all_a), &looped(&all_b), DiffOptions::default());
        prop_assert_eq!(gate.shortfall(&found), None);
        let short_ns = pass.iter().map(|(ns, _)| ns).sum::<u64>();
        let is_short = short_ns < long_ns || short_ns < new_ns;
        prop_assert_eq!(gate.held_by_iterations(&found).is_some(), is_short);
        // Ops before the iterations that take longer than these are compared with nothing.
        let mut late = vec![(53, before_ns, 600)];
        late.extend(&all_b);
        let found = Diff::new(&looped(&all_a), &looped(&late), DiffOptions::default());
        let in_iterations_ns = (short_ns + new_ns) * counts.1 as u64;
        prop_assert!(before_ns <= in_iterations_ns || gate.shortfall(&found).is_some(), "{:?}", found);
    }

    #[test]
    fn iterations_of_other_work_or_of_several_parts_are_not_compared(
        pass in prop::collection::vec((500..4000_u64, 500..900_u64), 2..9),
        others in prop::collection::vec((500..4000_u64, 500..900_u64), 1..4),
        part_count in 2..5_usize,
        counts in (3..7_usize, 3..7_usize),
    ) {
        let steps = |of: &[(u64, u64)], first: usize| -> Vec<Step> {
            let numbered = of.iter().enumerate();
            numbered.map(|(number, (ns, gap_ns))| (first + number, *ns, *gap_ns)).collect()
        };
        let part = steps(&pass, 0);
        let (part_loop, _) = passes(0, &part, counts.0, 0);
        // A model of equal parts, and others before and after them.
        let mut whole = part.repeat(part_count);
        whole.extend(steps(&others, 40));
        let (whole_loop, _) = passes(0, &whole, counts.1, 0);
        // Another model: its kinds have letters that `part` has not.
        let other: Vec<Step> = part.iter().map(|(number, ns, gap_ns)| (number * 5 + 1, *ns, *gap_ns)).collect();
        let (other_loop, _) = passes(0, &other, counts.1, 0);
        let only_a: Vec<Step> = part.iter().map(|(number, ns, gap_ns)| (number * 5, *ns, *gap_ns)).collect();
        let (only_a_loop, _) = passes(0, &only_a, counts.0, 0);
        for (a, b, is_several) in [
            (&part_loop, &whole_loop, true),
            (&whole_loop, &part_loop, true),
            (&only_a_loop, &other_loop, false),
        ] {
            let diff = Diff::new(&looped(a), &looped(b), DiffOptions::default());
            prop_assert!(diff.elapsed.is_empty(), "{:?}", diff.elapsed);
            let [found] = &diff.uncompared_iterations[..] else { panic!("{diff:?}") };
            prop_assert_eq!(matches!(found.doubt, IterationDoubt::Several { .. }), is_several, "{:?}", found);
            prop_assert!(found.doubt.is_of_work());
        }
    }

    #[test]
    fn equal_parts_are_compared_with_replays_whose_parts_gained_an_op(
        pass in prop::collection::vec((500..4000_u64, 500..900_u64), 2..9),
        at in any::<prop::sample::Index>(),
        part_count in 2..5_usize,
        added_ns in 500..4000_u64,
    ) {
        let part: Vec<Step> =
            pass.iter().enumerate().map(|(number, (ns, gap_ns))| (number, *ns, *gap_ns)).collect();
        let mut more = part.clone();
        more.insert(at.index(part.len() + 1), (20, added_ns, 600));
        let (all_a, a_ns) = passes(0, &part, 8, 0);
        let b_ns: u64 = more.iter().map(|(_, ns, gap_ns)| ns + gap_ns).sum();
        let replay = more.repeat(part_count);
        let sessions: Vec<Step> = replay.repeat(4);
        let replays = (0..4_u64).flat_map(|session| vec![Some(session); replay.len()]).collect::<Vec<_>>();
        let (a, b) = (looped(&all_a), replayed(&sessions, &replays));
        for (a, b, ratio) in [(&a, &b, b_ns as f64 / a_ns as f64), (&b, &a, a_ns as f64 / b_ns as f64)] {
            let diff = Diff::new(a, b, DiffOptions::default());
            let [elapsed] = &diff.elapsed[..] else { panic!("{:?}", diff.uncompared_iterations) };
            prop_assert!(is_close(elapsed.ratio, ratio), "{:?}", elapsed);
        }
    }

    #[test]
    fn no_two_changes_have_the_same_key(a in launches(), edits in edits()) {
        let b = edited(a.clone(), &edits);
        let changes = diff(&a, &b).changes;
        let keys: std::collections::BTreeSet<_> = changes
            .iter()
            .map(|of| (of.place.clone(), of.name.clone(), of.source.clone(), of.distinction.clone()))
            .collect();
        prop_assert_eq!(keys.len(), changes.len(), "{:?}", changes);
    }

    #[test]
    fn a_slow_chip_among_several_is_found(
        layer in prop::collection::vec(launch(), 1..6),
        chip_count in 2..9_usize,
        chosen in any::<prop::sample::Index>(),
    ) {
        // Chips differ, so that the slowest of A need not be the slowest of B.
        let chip = |device: u64| layer.iter().map(move |launch| Launch {
            device,
            duration_ns: launch.duration_ns.map(|ns| ns * (1.0 + 0.1 * device as f64)),
            ..*launch
        });
        let a: Vec<Launch> = (0..chip_count as u64).flat_map(chip).collect();
        let slow = chosen.index(chip_count) as u64;
        let mut b = a.clone();
        let planted = layer[0];
        for launch in b.iter_mut().filter(|launch| {
            launch.device == slow && (launch.kind, launch.width) == (planted.kind, planted.width)
        }) {
            launch.duration_ns = launch.duration_ns.map(|ns| ns * 5.0);
        }
        let diff = diff(&a, &b);
        let place = format!("device {slow}");
        for change in &diff.changes {
            let is_slow = *change.place == *place && is_of(change, planted);
            prop_assert!(is_close(change.ratio, if is_slow { 5.0 } else { 1.0 }), "{change:?}");
        }
        let gate = Gate { above_percent: Some(5.0), ..Gate::default() };
        prop_assert!(diff.changes.iter().any(|change| gate.finding(change).is_some()));
    }
}

#[test]
fn an_iteration_is_compared_with_replays_of_it() {
    let layer = [Launch::new(0, 1), Launch::new(1, 2), Launch::new(0, 3)];
    let before = Launch { duration_ns: Some(40.0), ..Launch::new(4, 4) };
    let once = [before].into_iter().chain(layer).collect::<Vec<_>>();
    for (a, b) in [(once.clone(), layer.repeat(5)), (layer.to_vec(), layer.repeat(3))] {
        let diff = diff(&a, &b);
        assert!(is_close(diff.b.total_ns, known_ns(&layer)), "{:?}", diff.b);
        assert!(is_close(diff.b.compared_ns, known_ns(&layer)), "{:?}", diff.b);
        assert!(diff.changes.iter().all(|change| is_close(change.ratio, 1.0)), "{diff:?}");
        assert_eq!(diff.shortfall(), None);
    }
}

/// A model of equal layers alone: its passes repeat a layer, and the replays of its trace are three layers each.
/// Figures of tt-metal issue 53108: a tensor is split into four in place of two, padded, and searched ten times
/// as fast. Few of its ops keep their shapes, and pairs by kind have most of both times.
#[test]
fn an_iteration_of_smaller_parts_is_compared() {
    let a = [
        vec![(0, 1_150_000, 600)],
        [(1, 4_000, 600), (2, 10_192_500, 600)].repeat(2),
        vec![(3, 3_100, 600)],
    ];
    let parts = [(6, 4_000, 600), (4, 6_000, 600), (7, 185_500, 600)];
    let b = [vec![(0, 1_150_000, 600)], parts.repeat(4), vec![(3, 3_100, 600)]];
    let [(a, a_ns), (b, b_ns)] = [a.concat(), b.concat()].map(|pass| passes(0, &pass, 5, 0));
    let diff = Diff::new(&looped(&a), &looped(&b), DiffOptions::default());
    assert_eq!(diff.uncompared_iterations, []);
    let [elapsed] = &diff.elapsed[..] else { panic!("{:?}", diff.elapsed) };
    assert!(is_close(elapsed.ratio, b_ns as f64 / a_ns as f64), "{elapsed:?}");
}

/// Ops of the longer iteration have counterparts in the whole of the shorter one, but little of its own time.
#[test]
fn a_small_part_of_a_longer_iteration_is_not_its_work() {
    let a = vec![(0, 20_000, 600), (1, 30_000, 600)];
    let others = [2, 3, 4, 7, 8, 9, 12, 13].map(|number| (number, 40_000, 600));
    let b = [vec![(5, 20_000, 600), (6, 30_000, 600)], others.to_vec()].concat();
    let [(a, _), (b, _)] = [a, b].map(|pass| passes(0, &pass, 5, 0));
    let diff = Diff::new(&looped(&a), &looped(&b), DiffOptions::default());
    let [found] = &diff.uncompared_iterations[..] else { panic!("{:?}", diff.elapsed) };
    assert!(matches!(found.doubt, IterationDoubt::OtherWork { a_op_count: 2, b_op_count: 10, .. }));
}

#[test]
fn passes_of_equal_layers_are_compared_with_replays_of_several() {
    let side = |replays: &[Option<u64>], matmul_ns: f64| {
        let titles = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,METAL TRACE ID,\
                      METAL TRACE REPLAY SESSION ID,DEVICE KERNEL DURATION [ns]\n";
        let mut text = titles.to_owned();
        for replay in replays {
            let (trace, session) =
                replay.map_or_else(Default::default, |of| ("0".into(), of.to_string()));
            let trace: String = trace;
            for (call, (name, ns)) in
                [("Matmul", matmul_ns), ("Softmax", 500.0)].repeat(3).iter().enumerate()
            {
                text += &format!("{name},tt_dnn_device,{call},0,{trace},{session},{ns}\n");
            }
        }
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        Measurements::from_report(&PerfReport::new(vec![csv], &PerfOptions::default()).unwrap())
    };
    let eager = side(&[None, None], 1000.0);
    for (matmul_ns, ratio) in [(1000.0, 1.0), (1600.0, 1.6)] {
        let traced = side(&[Some(1), Some(2), Some(3)], matmul_ns);
        for (a, b, ratio) in [(&eager, &traced, ratio), (&traced, &eager, 1.0 / ratio)] {
            let diff = Diff::new(a, b, DiffOptions::default());
            let [a_ns, b_ns] = [&diff.a, &diff.b].map(|side| side.total_ns);
            let layers = [500.0 + 1000.0, 500.0 + matmul_ns];
            assert!(
                is_close(a_ns.min(b_ns), layers[0]) && is_close(a_ns.max(b_ns), layers[1]),
                "{diff:?}"
            );
            let matmul = diff.changes.iter().find(|change| &*change.name == "Matmul").unwrap();
            assert!(is_close(matmul.ratio, ratio), "{matmul:?}");
            assert_eq!(diff.shortfall(), None);
        }
    }
}

#[test]
fn another_number_of_iterations_is_no_change() {
    let layer = [Launch::new(0, 1), Launch::new(1, 2)];
    let diff = diff(&layer.repeat(10), &layer.repeat(4));
    assert_eq!(diff.change_ns(), Some(0.0));
    assert_eq!((diff.a.iteration_count, diff.b.iteration_count), (10, 4));
}

/// Returns the rows of an op with this name and these widths, at these nanoseconds for a width of 1.
fn named(name: &str, widths: &[u64], duration_ns: f64) -> Measurements {
    let titles = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE KERNEL DURATION [ns],INPUT_0_W,\
                  INPUT_0_Z,INPUT_0_Y,INPUT_0_X,INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY\n";
    let rows = widths.iter().enumerate().map(|(call, &width)| {
        let ns = duration_ns * width as f64;
        format!(
            "{name},tt_dnn_device,{call},0,{ns},1,1,32,{},TILE,BFLOAT16,DEV_0_DRAM_INTERLEAVED\n",
            32 * width
        )
    });
    let text = titles.to_owned() + &rows.collect::<String>();
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    Measurements::from_report(&PerfReport::new(vec![csv], &PerfOptions::default()).unwrap())
}

#[test]
fn a_kind_that_replaced_another_with_the_same_shapes_is_compared_and_named() {
    let shapes = [1, 2, 3, 2, 1];
    let many = [1, 2, 3, 4, 5];
    for (a, b, widths, others, share) in [
        ("UntilizeDeviceOperation", "UntilizeCodegenDeviceOperation", &shapes, &shapes, 1.0),
        ("Untilize", "Generated", &many, &many, 1.0),
        ("Untilize", "Generated", &shapes, &shapes, 0.0),
        ("Untilize", "Generated", &shapes, &[1, 2, 3, 1, 2], 0.0),
    ] {
        let diff =
            Diff::new(&named(a, widths, 1000.0), &named(b, others, 300.0), DiffOptions::default());
        let compared = [&diff.a, &diff.b].map(|side| side.compared_ns / side.total_ns);
        assert_eq!(compared, [share; 2], "{a} {b} {widths:?}");
        for change in &diff.changes {
            assert!(is_close(change.ratio, 0.3), "{a} {b}: {change:?}");
            let name = change.differences.iter().find(|of| of.aspect == Aspect::Name).unwrap();
            assert_eq!((&*name.a, &*name.b), (a, b));
        }
    }
}

/// One of four matmuls keeps its kind, as in pull request 37739, where only short ones did.
#[test]
fn ops_that_a_new_kind_took_over_are_compared_and_named() {
    let side = |names: [&str; 4], durations_ns: [f64; 4]| {
        let titles = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE KERNEL DURATION [ns],INPUT_0_W,\
                      INPUT_0_Z,INPUT_0_Y,INPUT_0_X,INPUT_0_LAYOUT,INPUT_0_DATATYPE,INPUT_0_MEMORY\n";
        let rows = names.iter().zip(durations_ns).enumerate().map(|(call, (name, ns))| {
            let width = 32 * (call + 1);
            format!(
                "{name},tt_dnn_device,{call},0,{ns},1,1,32,{width},TILE,BFLOAT16,DEV_0_DRAM_INTERLEAVED\n"
            )
        });
        let text = titles.to_owned() + &rows.collect::<String>();
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        Measurements::from_report(&PerfReport::new(vec![csv], &PerfOptions::default()).unwrap())
    };
    let (old, new) = ("MatmulDeviceOperation", "MinimalMatmulDeviceOperation");
    let a = side([old; 4], [1000.0, 2000.0, 3000.0, 4000.0]);
    for (names, compared_ns) in [
        ([old, new, new, new], 10_000.0),
        ([new, old, new, old], 10_000.0),
        // Another op of the same shapes is no other name of it.
        ([old, "Softmax", new, old], 8000.0),
    ] {
        let b = side(names, [1100.0, 1000.0, 1500.0, 2000.0]);
        for (a, b, ratio) in [(&a, &b, 0.5), (&b, &a, 2.0)] {
            let diff = Diff::new(a, b, DiffOptions::default());
            let longer = if ratio < 1.0 { &diff.a } else { &diff.b };
            assert!(is_close(longer.compared_ns, compared_ns), "{names:?}: {longer:?}");
            for change in diff.changes.iter().filter(|change| change.source.contains("64")) {
                assert!(is_close(change.ratio, ratio), "{names:?}: {change:?}");
            }
        }
    }
}

#[test]
fn a_device_with_another_number_is_compared_and_named() {
    let a: Vec<Launch> = (1..4).map(|width| Launch::new(0, width)).collect();
    let b: Vec<Launch> = a.iter().map(|&launch| Launch { device: 3, ..launch }).collect();
    let diff = diff(&a, &b);
    assert_eq!(diff.other_devices, [("device 0".into(), "device 3".into())]);
    assert!(is_close(diff.a.compared_ns, known_ns(&a)));
}

#[test]
fn long_sequences_without_much_in_common_are_aligned_in_bounded_time() {
    let mut state = 1_u64;
    let mut next = |limit: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(state >> 33).unwrap() % limit
    };
    let mut random = || -> Vec<Launch> {
        (0..5_000)
            .map(|_| Launch::new(usize::try_from(next(5)).unwrap(), u64::from(next(300)) + 1))
            .collect()
    };
    let (a, b) = (random(), random());
    let diff = diff(&a, &b);
    assert!(diff.is_alignment_bounded);
    assert!(is_close(diff.a.compared_ns + diff.a.alone_ns, known_ns(&a)));
}
