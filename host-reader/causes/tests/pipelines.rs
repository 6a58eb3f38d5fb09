//! Recordings of an event model with known causes, such as slow stages of pipelines and late cores.

use crate::{
    honest::assert_honest,
    model::{CoreRun, Form, Numbers, READER, Recorder, WRITER, Work, run},
    path_shares::shares,
};
use causes::{Cause, Explanation, StepKind, TimeClass, Window};
use reader::ledger::{LossCause, LossKey, LossTotals, LossWindow, ProgramSpan};
use std::collections::HashMap;
use wire::{PacketKind, Risc, RunHostId};

const FORMS: [Form; 4] = [Form::Sums, Form::Single, Form::SingleAndSignals, Form::Upstream];

fn recording_of(runs: &[CoreRun], form: Form) -> recording::Recording {
    let mut recorder = Recorder::new();
    for (x, run) in (1..).zip(runs) {
        recorder.core((x, 1), 1, run, form);
    }
    recorder.finish()
}

fn explain(work: &Work, form: Form) -> (Explanation, Vec<CoreRun>) {
    let runs: Vec<_> = (0..4).map(|core| run(work, 1000, core)).collect();
    (Explanation::from_recording(&recording_of(&runs, form)), runs)
}

/// Returns the percentage of the time that would be saved if a stage had hardly any work.
fn most_to_gain(work: &Work, less: impl Fn(&mut Work)) -> f64 {
    let mut faster = *work;
    less(&mut faster);
    let length = |work: &Work| (run(work, 1000, 0).end - 1000) as f64;
    (1.0 - length(&faster) / length(work)) * 100.0
}

fn assert_first(work: &Work, cause: Cause, gain: f64) {
    for form in FORMS {
        let (explanation, _) = explain(work, form);
        let first = &explanation.findings[0];
        let pace = explanation.ops[0].pace.as_ref();
        assert_eq!(first.cause, cause, "{form:?} {work:?}: {} {pace:#?}", first.sentence);
        let found = first.gain_at_most_percent.unwrap();
        assert!((found - gain).abs() <= 2.0, "{form:?} {work:?}: {found} of {gain}: {pace:#?}");
    }
}

#[test]
fn a_slow_reader_is_told_with_what_it_could_gain() {
    let work = Work { reader: 1620, writer: 700, ..Work::EVEN };
    let gain = most_to_gain(&work, |work| work.reader = 1);
    assert!((36.0..40.0).contains(&gain), "{gain}");
    assert_first(&work, Cause::Reader, gain);
}

#[test]
fn a_reader_as_fast_as_the_math_looks_the_same_and_is_balanced() {
    let slower = Work { reader: 1100, writer: 700, ..Work::EVEN };
    let as_fast = Work { reader: 1000, writer: 700, ..Work::EVEN };
    let wait = |work: &Work| {
        let core = run(work, 1000, 0);
        let blocked = core.waits.iter().filter(|wait| wait.risc == Risc::Trisc0);
        let kernel = core.ends[&Risc::Trisc0] - core.starts[&Risc::Trisc0];
        let blocked: u64 = blocked.map(|wait| wait.end - wait.start).sum();
        (blocked as f64 / kernel as f64 * 100.0, core.starved as f64 / kernel as f64 * 100.0)
    };
    let ((slower_wait, slower_starved), (wait, starved)) = (wait(&slower), wait(&as_fast));
    assert!((slower_wait - wait).abs() < 4.0, "{slower_wait} {wait}: they look alike");
    assert!((8.0..11.0).contains(&slower_starved) && starved < 2.0, "{slower_starved} {starved}");
    let gain = most_to_gain(&slower, |work| work.reader = 1);
    assert_first(&slower, Cause::Reader, gain);
    assert_first(&as_fast, Cause::Balanced, 0.0);
}

#[test]
fn slow_math_and_a_slow_writer_are_told() {
    let math = Work { math: 1500, writer: 700, ..Work::EVEN };
    let gain = most_to_gain(&math, |work| (work.math, work.unpack, work.pack) = (1, 1, 1));
    assert_first(&math, Cause::Compute, gain);
    let writer = Work { writer: 1500, reader: 1100, math: 800, ..Work::EVEN };
    let gain = most_to_gain(&writer, |work| work.writer = 1);
    assert_first(&writer, Cause::Writer, gain);
    // Blocks queue up before the math. The math's work is measured at the packer, which is held up.
    let bound = Work { reader: 700, ..writer };
    let gain = most_to_gain(&bound, |work| work.writer = 1);
    let (explanation, _) = explain(&bound, Form::Sums);
    assert_eq!(explanation.findings[0].cause, Cause::Writer);
    let found = explanation.findings[0].gain_at_most_percent.unwrap();
    assert!((found - gain).abs() <= 2.0, "{found} of {gain}: {:#?}", explanation.ops[0].pace);
}

#[test]
fn the_slowest_of_the_engines_is_told_from_the_others() {
    let work =
        |unpack, math, pack| Work { reader: 700, writer: 700, unpack, math, pack, ..Work::EVEN };
    for (work, cause) in [
        (work(1400, 700, 200), Cause::Unpack),
        (work(1400, 1200, 200), Cause::Unpack),
        (work(290, 800, 1500), Cause::Pack),
        (work(290, 1300, 1500), Cause::Pack),
        (work(290, 1500, 200), Cause::Compute),
        (work(1200, 1500, 1200), Cause::Compute),
    ] {
        let gain = most_to_gain(&work, |work| match cause {
            Cause::Unpack => work.unpack = 1,
            Cause::Pack => work.pack = 1,
            _ => (work.unpack, work.math, work.pack) = (1, 1, 1),
        });
        for form in [Form::Sums, Form::Single] {
            let (explanation, _) = explain(&work, form);
            let first = &explanation.findings[0];
            let pace = explanation.ops[0].pace.as_ref();
            assert_eq!(first.cause, cause, "{form:?} {work:?}: {} {pace:#?}", first.sentence);
            let found = first.gain_at_most_percent.unwrap();
            assert!(found >= gain - 2.0, "{form:?} {work:?}: {found} of {gain}: {pace:#?}");
            // If two engines are almost equally slow, the figure may belong to either of them.
            assert!(found <= gain + 12.0, "{form:?} {work:?}: {found} of {gain}: {pace:#?}");
        }
    }
    // Equally slow engines cannot be distinguished. The finding names all three engines, and a
    // recording that would distinguish them.
    let even = work(1400, 1400, 200);
    let (explanation, _) = explain(&even, Form::Sums);
    let first = &explanation.findings[0];
    assert!(first.sentence.contains("unpacker, math or packer"), "{}", first.sentence);
    assert!(first.advice.contains("record hardware counters"), "{}", first.advice);
    assert_eq!((first.cause, first.place.risc), (Cause::Compute, None));
}

#[test]
fn a_reader_at_barriers_is_bound_by_latency() {
    let work = Work { reader: 1620, writer: 700, barrier_percent: 61, ..Work::EVEN };
    for form in [Form::Sums, Form::Single, Form::SingleAndSignals] {
        let (explanation, _) = explain(&work, form);
        let first = &explanation.findings[0];
        assert_eq!(first.cause, Cause::Latency, "{form:?}");
        assert!(
            first.sentence.contains("spends 61 % of its time at barriers"),
            "{}",
            first.sentence
        );
    }
}

#[test]
fn time_of_a_core_with_waits_adds_up() {
    for form in FORMS {
        let (explanation, runs) = explain(&Work { reader: 1620, writer: 700, ..Work::EVEN }, form);
        let time = &explanation.devices[0].time;
        let sum: f64 = time.shares.iter().map(|share| (share.percent * 10.0).round()).sum();
        assert_eq!(sum, 1000.0);
        // The reader works all the time, the math for 1000 of 1620 cycles.
        let compute = time.percent(TimeClass::Compute);
        assert!((compute - 61.7).abs() < 2.0, "{form:?}: {compute}");
        let movement = time.percent(TimeClass::DataMovement);
        assert!((movement - 37.0).abs() < 3.0, "{form:?}: {movement}");
        assert!(runs[0].starved > 0);
    }
}

/// Checks, for each wait on the path whose ending RISC was found, that this RISC also ended the
/// wait in the model.
fn assert_joins(explanation: &Explanation, run: &CoreRun, form: Form) -> u64 {
    let path = explanation.ops[0].critical_path.as_ref().unwrap();
    let truth: HashMap<_, _> =
        run.waits.iter().map(|wait| ((wait.risc, wait.end), wait.by)).collect();
    let mut joined = 0;
    // Unpacker, math and packer pass blocks to each other without a record.
    let stage = |risc| [READER, WRITER].into_iter().position(|mover| mover == risc);
    for pair in path.steps.windows(2) {
        assert_eq!(pair[0].end_cycle, pair[1].start_cycle, "steps touch");
        let (found, waiter) = (pair[0].risc, pair[1].risc);
        let is_handoff = pair[1].kind == StepKind::Handoff;
        if !is_handoff && (stage(found) == stage(waiter) || pair[0].kind == StepKind::Handoff) {
            continue;
        }
        // A signal that an engine sends has no recorded time: the path continues at the wait's end.
        let end = if is_handoff { pair[1].end_cycle } else { pair[1].start_cycle };
        let own = [waiter];
        let riscs = if is_handoff || stage(waiter).is_some() {
            &own[..]
        } else {
            &[Risc::Trisc0, Risc::Trisc2][..]
        };
        let by: Vec<_> =
            riscs.iter().filter_map(|risc| truth.get(&(*risc, end)).copied().flatten()).collect();
        let is_right = by.iter().any(|(risc, at)| {
            stage(*risc) == stage(found) && (!is_handoff || *at == pair[1].start_cycle)
        });
        assert!(is_right, "{form:?}: {pair:?}, in truth {by:?}");
        joined += 1;
    }
    joined
}

/// Changes that make each stage faster by a tenth.
const FASTER: [fn(&mut Work); 3] = [
    |work| work.reader = work.reader * 9 / 10,
    |work| {
        for part in [&mut work.unpack, &mut work.math, &mut work.pack] {
            *part = *part * 9 / 10;
        }
    },
    |work| work.writer = work.writer * 9 / 10,
];

#[test]
fn paths_bound_what_can_be_saved_and_find_the_bottleneck() {
    let (mut perturbations, mut held) = (0, 0);
    let (mut clear, mut clear_right) = (0, 0);
    let (mut cases, mut right) = (0, 0);
    let mut joined = 0;
    for number in 0..300_usize {
        let seed = number as u64;
        let mut numbers = Numbers::new(seed);
        let work = Work {
            input_blocks: 2 + (number % 3),
            output_blocks: 2 + (number / 3 % 3),
            ..Work::drawn(&mut numbers, 150)
        };
        let form = if number.is_multiple_of(2) { Form::SingleAndSignals } else { Form::Single };
        let core = run(&work, 1000, seed);
        let explanation =
            Explanation::from_recording(&recording_of(std::slice::from_ref(&core), form));
        let shares = shares(&explanation);
        if form == Form::SingleAndSignals {
            joined += assert_joins(&explanation, &core, form);
        }
        let length = (core.end - 1000) as f64;
        for (stage, share) in FASTER.iter().zip(shares) {
            let mut faster = work;
            stage(&mut faster);
            let saved = (1.0 - (run(&faster, 1000, seed).end - 1000) as f64 / length) * 100.0;
            perturbations += 1;
            held += u32::from(saved <= share / 10.0 + 0.4);
        }
        let needs = [work.reader, work.math.max(work.unpack).max(work.pack), work.writer];
        let most = (0..3).max_by_key(|&stage| needs[stage]).unwrap();
        let found = (0..3).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap();
        let mut sorted = needs;
        sorted.sort_unstable();
        let margin = (1.0 - sorted[1] as f64 / sorted[2] as f64) * 100.0;
        cases += 1;
        right += u32::from(found == most);
        if margin >= 15.0 {
            clear += 1;
            clear_right += u32::from(found == most);
        }
    }
    println!(
        "bound {held}/{perturbations}, right {right}/{cases}, clear {clear_right}/{clear}, joined {joined}"
    );
    assert_eq!((perturbations, cases), (900, 300));
    assert!(held * 100 >= perturbations * 98, "{held} of {perturbations}");
    assert!(clear > 150 && clear_right == clear, "{clear_right} of {clear}");
    assert!(right * 100 >= cases * 95, "{right} of {cases}");
    for seed in 0..100 {
        let work = Work { jitter_percent: 60, ..Work::EVEN };
        let core = run(&work, 1000, seed);
        let form = Form::SingleAndSignals;
        let explanation =
            Explanation::from_recording(&recording_of(std::slice::from_ref(&core), form));
        joined += assert_joins(&explanation, &core, form);
    }
    assert!(joined > 1_000, "{joined}");
}

/// Adds a launch of BRISC-only kernels with steps on several cores.
fn steps(recorder: &mut Recorder, program: u32, start: u64, cores: &[(u32, u64)]) {
    for (x, &(count, cycles)) in (1..).zip(cores) {
        let mut records = vec![(start, PacketKind::ZoneStart, "BRISC-KERNEL", vec![])];
        let mut time = start;
        for _ in 0..count {
            records.push((time, PacketKind::ZoneStart, "step", vec![]));
            time += cycles;
            records.push((time, PacketKind::ZoneEnd, "step", vec![]));
        }
        records.push((time, PacketKind::ZoneEnd, "BRISC-KERNEL", vec![]));
        recorder.lane((x, 1), Risc::Brisc, program, records);
    }
}

#[test]
fn uneven_steps_are_told_with_their_numbers() {
    // 165 steps on one of ten cores, and 1371 on the nine others together: 153.6 on average.
    let mut recorder = Recorder::new();
    let mut cores = vec![(152, 1000); 9];
    cores[0].0 = 155;
    cores.insert(4, (165, 1000));
    let mean = cores.iter().map(|(count, _)| f64::from(*count)).sum::<f64>() / 10.0;
    assert!((mean - 153.6).abs() < 0.15, "{mean}");
    steps(&mut recorder, 1, 5_000, &cores);
    let explanation = Explanation::from_recording(&recorder.finish());
    let first = &explanation.findings[0];
    assert_eq!((first.cause, first.place.core), (Cause::UnevenWork, Some((5, 1))));
    assert!(first.sentence.contains("165 steps"), "{}", first.sentence);
    let gain = first.gain_at_most_percent.unwrap();
    assert!((gain - (1.0 - mean / 165.0) * 100.0).abs() < 0.5, "{gain}");
}

#[test]
fn a_core_that_is_late_again_and_again_is_told() {
    let cores = |late: u64| (0..10).map(|x| (20, if x == 6 { late } else { 1000 })).collect();
    let explain = |lates: &[u64]| {
        let mut recorder = Recorder::new();
        for (launch, &late) in (0_u64..).zip(lates) {
            let cores: Vec<_> = cores(late);
            steps(&mut recorder, 1, 5_000 + launch * 60_000, &cores);
        }
        Explanation::from_recording(&recorder.finish())
    };
    let often = explain(&[1450, 1400, 1500, 1450, 1450, 1000]);
    let found: Vec<_> = often.findings.iter().map(|finding| finding.cause).collect();
    assert_eq!(found, [Cause::Host, Cause::Straggler]);
    assert_eq!(often.findings[1].place.core, Some((7, 1)));
    assert!(often.findings[1].sentence.contains("5 of 6 launches"));
    let once = explain(&[1450, 1000, 1000, 1000, 1000, 1000]);
    assert!(once.findings.iter().all(|finding| finding.cause != Cause::Straggler));
}

#[test]
fn an_idle_chip_is_told_in_the_first_sentence() {
    let mut recorder = Recorder::new();
    // 10 us of kernel in each 250 us: 96 % idle.
    for launch in 0..12 {
        steps(&mut recorder, 1, 5_000 + launch * 250_000, &[(10, 1000); 4]);
    }
    let recording = recorder.finish();
    // 11 gaps of 240 us between the twelve ops, each before one of the ops without the first. The launch takes
    // 6 us of each gap.
    for (window, words, gaps, whole_us) in [
        (Window::All, "93.3 % of 2.8 ms", 11.0, 2760.0),
        (Window::Steady, "93.6 % of 2.8 ms", 11.0, 2750.0),
    ] {
        let explanation = Explanation::from_recording_window(&recording, window);
        let first = &explanation.findings[0];
        assert_eq!(first.cause, Cause::Host);
        assert!(first.sentence.contains(words), "{}", first.sentence);
        let gain = first.gain_at_most_percent.unwrap();
        assert!((gain - gaps * 234.0 / whole_us * 100.0).abs() < 0.1, "{gain}");
        assert!(explanation.devices[0].time.percent(TimeClass::HostLate) > 90.0);
    }
}

#[test]
fn reconfigurations_are_told_with_their_share() {
    let explain = |each: u64| {
        let mut recorder = Recorder::new();
        let mut records = vec![(1_000, PacketKind::ZoneStart, "TRISC-KERNEL", vec![])];
        for n in 0..12 {
            let at = 2_000 + n * 8_000;
            records.push((at, PacketKind::ZoneStart, "RECONFIG", vec![]));
            records.push((at + each, PacketKind::ZoneEnd, "RECONFIG", vec![]));
        }
        records.push((101_000, PacketKind::ZoneEnd, "TRISC-KERNEL", vec![]));
        recorder.lane((1, 1), Risc::Trisc1, 1, records);
        Explanation::from_recording(&recorder.finish())
    };
    let explanation = explain(450);
    let first = &explanation.findings[0];
    assert_eq!((first.cause, first.place.risc), (Cause::Setup, Some("TRISC_1")));
    assert_eq!(first.sentence, "12 zones RECONFIG take 5.4 % of program 1 on TRISC_1");
    assert!((first.gain_at_most_percent.unwrap() - 5.4).abs() < 0.01);
    assert_eq!(explain(200).findings, []);
}

#[test]
fn ops_on_sub_devices_count_once() {
    // Two programs run at the same time on different cores for 10 us each, and nothing else runs.
    let mut recorder = Recorder::new();
    steps(&mut recorder, 1, 5_000, &[(10, 1000)]);
    let records = vec![
        (5_000, PacketKind::ZoneStart, "TRISC-KERNEL", vec![]),
        (15_000, PacketKind::ZoneEnd, "TRISC-KERNEL", vec![]),
    ];
    recorder.lane((9, 9), Risc::Trisc1, 2, records);
    let explanation = Explanation::from_recording(&recorder.finish());
    let device = &explanation.devices[0];
    assert_eq!((device.busy_ns, device.kernel_sum_ns), (Some(10_000), Some(20_000)));
    assert_eq!(device.time.percent(TimeClass::Compute), 50.0);
    assert_eq!(device.time.percent(TimeClass::DataMovement), 50.0);
}

#[test]
fn lost_waits_leave_the_answer_and_its_gain() {
    // The lane keeps the waits and signals that fit into 250 markers of 2 words together with the
    // kernel's own markers.
    for (work, cause) in [
        (Work { reader: 1620, writer: 700, ..Work::EVEN }, Cause::Reader),
        (Work { reader: 1620, writer: 700, barrier_percent: 61, ..Work::EVEN }, Cause::Latency),
        (Work { writer: 1500, reader: 1100, math: 800, ..Work::EVEN }, Cause::Writer),
        (Work { reader: 1000, writer: 700, ..Work::EVEN }, Cause::Balanced),
    ] {
        let whole = explain(&work, Form::SingleAndSignals).0.findings[0].clone();
        let mut recorder = Recorder::new();
        recorder.data_words = 492;
        for x in 1..5 {
            recorder.core((x, 1), 1, &run(&work, 1000, x.into()), Form::SingleAndSignals);
        }
        let explanation = Explanation::from_recording(&recorder.finish());
        let (first, op) = (&explanation.findings[0], &explanation.ops[0]);
        assert_eq!((whole.cause, first.cause), (cause, cause), "{:#?}", op.pace);
        let gains = [&whole, first].map(|finding| finding.gain_at_most_percent.unwrap());
        // The figures come from about twelve blocks. The tolerance allows one block more or less at
        // either end.
        assert!((gains[0] - gains[1]).abs() <= 4.0, "{work:?}: {gains:?}");
        let known = op.known_percent.unwrap();
        // Each of the 200 blocks takes 16 to 20 words in the fullest lane.
        assert!((10.0..30.0).contains(&known), "{work:?}: {known}");
        assert!(explanation.untold.iter().any(|of| of.question.contains("rest of each op")));
        let sum: f64 = op.time.shares.iter().map(|of| (of.percent * 10.0).round()).sum();
        assert_eq!(sum, 1000.0);
        assert!(op.time.percent(TimeClass::Unknown) >= 99.0 - known, "{known}");
    }
}

/// If a loss may affect several launches, the waits, paths and findings of all other launches are
/// kept.
#[test]
fn launches_before_and_after_a_loss_keep_their_waits() {
    let work = Work { reader: 1620, writer: 700, blocks: 20, ..Work::EVEN };
    let start = |launch: u64| 1_000 + launch * 100_000;
    let recording = || {
        let mut recorder = Recorder::new();
        for launch in 0..6 {
            let program = u32::try_from(launch).unwrap() + 1;
            for x in 1..5 {
                let core = run(&work, start(launch), x.into());
                recorder.core((x, 1), program, &core, Form::SingleAndSignals);
            }
        }
        recorder.finish()
    };
    let whole = Explanation::from_recording(&recording());
    let span = |first, last| {
        let [first, last] = [first, last].map(|program| RunHostId::encode(program, 0));
        LossTotals {
            data: 40,
            unknown_markers: 4,
            programs: Some(ProgramSpan { first, last }),
            ..LossTotals::default()
        }
    };
    let window = |after, before| LossWindow { after, before, may_cut_launches: false };
    let of_window =
        |after, before| (LossCause::DramFull, span(22, 60), Some(window(after, before)));
    for ((cause, totals, window), lossy) in [
        ((LossCause::L1Full, span(2, 3), None), 1..3),
        ((LossCause::L1Full, span(5, 60), None), 4..6),
        (of_window(Some(start(4) - 1), None), 4..6),
        (of_window(Some(start(1) - 1), Some(start(2))), 1..2),
        (of_window(None, None), 0..6),
    ] {
        let mut recording = recording();
        let lane = recording.readout.lanes().map(|lane| lane.id).next().unwrap();
        let losses = &mut recording.readout.losses;
        losses.add_in_windows(LossKey { lane, cause, program: None }, totals);
        window.into_iter().for_each(|window| losses.note_window(lane, window));
        let explanation = Explanation::from_recording(&recording);
        for (number, (op, before)) in explanation.ops.iter().zip(&whole.ops).enumerate() {
            let is_lossy = lossy.contains(&number);
            assert_eq!(op.known_percent.is_some(), is_lossy, "{cause:?} {lossy:?} {number}");
            if !is_lossy {
                assert_eq!((&op.waits, &op.pace), (&before.waits, &before.pace), "{number}");
                assert_eq!(op.critical_path, before.critical_path, "{number}");
            }
        }
        if lossy.len() < 6 {
            assert_eq!(explanation.findings[0].cause, whole.findings[0].cause, "{lossy:?}");
            let rest = explanation.untold.iter().find(|of| of.question.contains("rest of each"));
            let expected = format!("of {} of 6 launches", lossy.len());
            assert!(rest.unwrap().reason.contains(&expected), "{rest:?}");
        }
    }
}

/// A launch without the runs of a RISC that others waited for has no pace.
#[test]
fn a_launch_without_all_of_its_runs_has_no_pace() {
    let work = Work { reader: 1620, writer: 700, ..Work::EVEN };
    let mut recorder = Recorder::new();
    recorder.core((1, 1), 1, &run(&work, 1000, 0), Form::Single);
    let mut recording = recorder.finish();
    let lanes = &mut recording.readout.devices[0].lanes;
    let lane = lanes.iter().position(|lane| lane.id.risc == Risc::Trisc0).unwrap();
    let lane = lanes.remove(lane).id;
    let key = LossKey { lane, cause: LossCause::DramFull, program: None };
    recording.readout.losses.record(key, LossTotals::at_least_markers(9));
    let explanation = Explanation::from_recording(&recording);
    let op = &explanation.ops[0];
    assert_eq!((&op.pace, &op.critical_path), (&None, &None));
    assert_eq!(explanation.findings, []);
}

/// Returns the coordinates that kernels use for a worker of a Wormhole without harvested rows.
fn named((x, y): (u64, u64)) -> (u64, u64) {
    let column = [1, 2, 3, 4, 6, 7, 8, 9].iter().position(|&of| of == x).unwrap() as u64;
    let row = [1, 2, 3, 4, 5, 7, 8, 9, 10, 11].iter().position(|&of| of == y).unwrap() as u64;
    (18 + column, 18 + row)
}

const SEMAPHORE: u64 = 0x9_0020;

/// Returns the address of a semaphore on NoC 0, marked as remote.
fn unicast(at: (u64, u64)) -> u64 {
    let (x, y) = named(at);
    1 << 63 | y << 42 | x << 36 | SEMAPHORE
}

fn multicast(start: (u64, u64), end: (u64, u64)) -> u64 {
    let ((x, y), end) = (named(start), unicast(end));
    end | y << 54 | x << 48
}

/// Explains a core's waits for a semaphore that ended at 10,000 and 20,000.
///
/// `signals` are signals from other cores, each as core, time and NoC address. Returns the
/// signaling core of each group of waits, with the number of waits.
fn waited_for(signals: &[((u16, u16), u64, u64)]) -> Vec<(Option<(u16, u16)>, u64)> {
    let mut recorder = Recorder::new();
    let kernel = |more: Vec<(u64, PacketKind, &'static str, Vec<u64>)>| {
        let start = (1_000, PacketKind::ZoneStart, "BRISC-KERNEL", vec![]);
        let end = (30_000, PacketKind::ZoneEnd, "BRISC-KERNEL", vec![]);
        [vec![start], more, vec![end]].concat()
    };
    let wait = |end| {
        (end, PacketKind::TimestampedData16B, "SYNC-SEM-WAIT", vec![SEMAPHORE | 3 << 32, 3_000])
    };
    let waits = vec![wait(10_000), wait(20_000)];
    recorder.lane((2, 2), Risc::Brisc, 1, kernel(waits));
    let cores: std::collections::BTreeSet<_> = signals.iter().map(|signal| signal.0).collect();
    for core in cores {
        let own = signals.iter().filter(|signal| signal.0 == core);
        let given = own.map(|&(_, time, address)| {
            let name = if address >> 63 == 1 { "SYNC-SEM-SET-REMOTE" } else { "SYNC-SEM-SET" };
            (time, PacketKind::TimestampedData, name, vec![address])
        });
        recorder.lane(core, Risc::Brisc, 1, kernel(given.collect()));
    }
    let explanation = Explanation::from_recording(&recorder.finish());
    let waits = explanation.ops[0].semaphores.iter();
    waits.map(|wait| (wait.by.map(|by| by.core), wait.waits)).collect()
}

#[test]
fn a_semaphores_wait_is_joined_to_the_core_that_signalled_it() {
    let to = unicast((2, 2));
    // On NoC 0, the way from (4,2) to (2,2) wraps around the torus: 8 columns of 9 cycles, plus 10.
    assert_eq!(waited_for(&[((4, 2), 9_900, to), ((4, 2), 19_900, to)]), [(Some((4, 2)), 2)]);
    let both = [((4, 2), 9_900, to), ((1, 1), 19_950, to)];
    assert_eq!(waited_for(&both), [(Some((1, 1)), 1), (Some((4, 2)), 1)]);
    // A signal from another core that arrives too late or much too early is not a candidate.
    let far = [((4, 2), 9_900, to), ((1, 1), 9_000, to), ((1, 1), 10_050, to)];
    assert_eq!(waited_for(&far), [(None, 1), (Some((4, 2)), 1)]);
    // A multicast to a rectangle with the waiting core, and one to a rectangle without it.
    let around = multicast((1, 1), (4, 4));
    assert_eq!(waited_for(&[((7, 7), 9_830, around), ((7, 7), 19_830, around)])[0].1, 2);
    assert_eq!(waited_for(&[((7, 7), 9_830, around)])[0].0, None, "one of two is joined");
    let beside = multicast((3, 3), (4, 4));
    assert_eq!(waited_for(&[((7, 7), 9_830, beside), ((7, 7), 19_830, beside)]), [(None, 2)]);
}

#[test]
fn what_cannot_be_decided_about_a_semaphore_is_unknown() {
    let to = unicast((2, 2));
    let nobody: &[((u16, u16), u64, u64)] = &[];
    assert_eq!(waited_for(nobody), [(None, 2)]);
    // Two cores whose signals arrive at about the same time.
    let two = [((4, 2), 9_900, to), ((3, 2), 9_890, to)];
    assert_eq!(waited_for(&two), [(None, 2)]);
    // A signal to a tile that has no known coordinates may be for any semaphore.
    let odd = [((4, 2), 9_900, to), ((1, 1), 500_000, 1 << 63 | 63 << 36 | SEMAPHORE)];
    assert_eq!(waited_for(&odd), [(None, 2)]);
    // A multicast of the waiting core to a rectangle that contains it.
    let own = [((4, 2), 9_900, to), ((2, 2), 2_000, multicast((1, 1), (4, 4)))];
    assert!(waited_for(&own).iter().all(|(by, _)| by.is_none()));
}

/// Adds launches of one program on several chips. Each element of `cycles` has the cycles that one
/// launch takes on each chip.
fn on_chips(recorder: &mut Recorder, cycles: &[[u64; 4]]) {
    for (launch, chips) in (0_u64..).zip(cycles) {
        for (chip_id, &cycles) in (0..).zip(chips) {
            recorder.chip_id = chip_id;
            // The chips do not share a clock: only lengths can be compared.
            let start = 5_000 + launch * 60_000 + 1_000_000 * u64::from(chip_id);
            steps(recorder, 1, start, &[(20, cycles / 20), (20, cycles / 20)]);
        }
    }
}

#[test]
fn a_chip_that_is_slower_again_and_again_is_told() {
    let explain = |cycles: &[[u64; 4]]| {
        let mut recorder = Recorder::new();
        on_chips(&mut recorder, cycles);
        Explanation::from_recording(&recorder.finish())
    };
    let slow = [40_000, 41_000, 50_000, 39_000];
    let found = explain(&[slow, slow, slow, [40_000; 4]]);
    let finding = found.findings.iter().find(|of| of.cause == Cause::SlowChip).unwrap();
    assert!(
        finding.sentence.starts_with("Chip 2 takes 25 % longer than the others in 3 of 4 launches"),
        "{}",
        finding.sentence
    );
    assert_eq!(finding.place.chip_id, Some(2));
    // Three times 10,000 cycles of 50,000.
    let gain = finding.gain_at_most_percent.unwrap();
    assert!((gain - 20.0).abs() < 0.1, "{gain}");
    for healthy in [
        vec![[40_000, 41_000, 42_000, 39_000]; 5],
        vec![slow, [50_000, 40_000, 40_000, 40_000], [40_000; 4], [40_000; 4], slow],
    ] {
        let causes = explain(&healthy).findings;
        assert!(causes.iter().all(|of| of.cause != Cause::SlowChip), "{causes:#?}");
    }
}

/// Half of the pipelines are new in each run. To repeat a failing pipeline alone, run
///
/// ```text
/// KPROF_PIPELINE_SEED=7 cargo test -p kprof-causes --test integration three_hundred
/// ```
#[test]
fn three_hundred_random_pipelines_are_explained_in_order_and_within_their_classes() {
    let check = |seed: u64| {
        let mut numbers = Numbers::new(seed);
        let mut cycles = || 300 + numbers.below(2200);
        let work =
            Work { reader: cycles(), math: cycles(), writer: cycles(), blocks: 60, ..Work::EVEN };
        let form = FORMS[usize::try_from(seed).unwrap() % FORMS.len()];
        let runs: Vec<_> = (0..2).map(|core| run(&work, 1000, core)).collect();
        let explanation = Explanation::from_recording(&recording_of(&runs, form));
        assert_honest(&explanation, &format!("KPROF_PIPELINE_SEED={seed}: {form:?} {work:?}"));
    };
    if let Some(seed) = std::env::var_os("KPROF_PIPELINE_SEED") {
        return check(seed.to_str().unwrap().parse().unwrap());
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let fresh = u64::from(now.subsec_nanos());
    (0..150).chain(fresh..fresh + 150).for_each(check);
}
