//! Ops whose single waits were recorded only inside windows: known and unknown results.

#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "in tests")]

use crate::{
    model::{CoreRun, Form, Numbers, Recorder, Windows, Work, run},
    path_shares::shares,
};
use causes::Explanation;

const WINDOWS: Windows = Windows { length_log2: 14, period_log2: 17, ahead: 0 };

fn explain(cores: &[(&CoreRun, Form)]) -> Explanation {
    let mut recorder = Recorder::new();
    for (x, (core, form)) in (1..).zip(cores) {
        recorder.core((x, 1), 1, core, *form);
    }
    Explanation::from_recording(&recorder.finish())
}

/// Returns the pipeline of a case, with more than a million cycles in total.
fn work(seed: u64) -> Work {
    Work::drawn(&mut Numbers::new(seed), 1200)
}

#[test]
fn shares_of_windows_are_those_of_the_whole_and_sums_are_complete() {
    let mut errors = Vec::new();
    for seed in 0..36 {
        let work = work(seed);
        let core = run(&work, 1000, seed);
        let ahead = seed * 7919;
        let windows = Windows { ahead, ..WINDOWS };
        let [whole, sums, part] = [Form::SingleAndSignals, Form::Sums, Form::Windows(windows)]
            .map(|form| explain(&[(&core, form)]));
        let (found, of_sums) = (&part.ops[0], &sums.ops[0]);
        // Results from sums are the same as without windows.
        assert_eq!((&found.waits, &found.pace), (&of_sums.waits, &of_sums.pace), "seed {seed}");
        assert_eq!((&found.time, found.known_percent), (&of_sums.time, None), "seed {seed}");
        let open = (1000..core.end).filter(|&time| windows.is_open(time)).count();
        let percent = open as f64 / (core.end - 1000) as f64 * 100.0;
        let found = found.windows_percent.unwrap();
        assert!((percent - 0.1..=percent + 0.01).contains(&(found + 0.02)), "{percent} {found}");
        assert_eq!((whole.ops[0].windows_percent, of_sums.windows_percent), (None, None));
        let path = part.ops[0].critical_path.as_ref().unwrap();
        let outside = path.steps.iter().filter(|step| {
            !windows.is_open(step.start_cycle) || !windows.is_open(step.end_cycle - 1)
        });
        assert_eq!(outside.count(), 0, "seed {seed}");
        assert!(path.steps.windows(2).all(|pair| pair[0].end_cycle <= pair[1].start_cycle));
        let needs = [work.reader, work.math, work.writer];
        let most = (0..3).max_by_key(|&stage| needs[stage]).unwrap();
        let mut sorted = needs;
        sorted.sort_unstable();
        let [whole, part] = [&whole, &part].map(shares);
        if sorted[1] * 100 <= sorted[2] * 85 {
            let found = (0..3).max_by(|&one, &other| part[one].total_cmp(&part[other]));
            assert_eq!(found, Some(most), "seed {seed}: {part:?}");
            errors.push((whole[most] - part[most]).abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    let (middle, p95) = (errors[errors.len() / 2], errors[errors.len() * 95 / 100]);
    println!("{} cases, error median {middle:.2}, p95 {p95:.2}", errors.len());
    // Without windows, every share of a path is within 0.55 points in 95 % of cases.
    assert!(errors.len() > 15 && middle < 1.0 && p95 < 4.0, "{middle} {p95}");
}

#[test]
fn an_op_within_one_window_is_like_one_that_was_recorded_all_of_the_time() {
    let core = run(&Work::drawn(&mut Numbers::new(4), 6), 1000, 4);
    assert!(core.end - 1000 < 1 << WINDOWS.length_log2);
    // The first window opens at 0, and another at the end of the period of 131,072 cycles.
    let of = |ahead| {
        let explained = explain(&[(&core, Form::Windows(Windows { ahead, ..WINDOWS }))]);
        let is_told = explained.untold.iter().all(|of| !of.question.contains("outside of the"));
        (explained.ops[0].windows_percent, is_told)
    };
    assert_eq!(of(0), (None, true));
    let (percent, is_told) = of((1 << WINDOWS.length_log2) - 1000 - (core.end - 1000) / 2);
    assert!(
        percent.is_some_and(|percent| (40.0..60.0).contains(&percent)) && !is_told,
        "{percent:?}"
    );
}

#[test]
fn windows_of_tiles_whose_clocks_differ_count_where_all_are_open() {
    let core = run(&work(1), 1000, 1);
    let of = |ahead: [u64; 2]| {
        let forms = ahead.map(|ahead| Form::Windows(Windows { ahead, ..WINDOWS }));
        let explained = explain(&[(&core, forms[0]), (&core, forms[1])]);
        let op = &explained.ops[0];
        (op.windows_percent.unwrap(), op.critical_path.is_some())
    };
    let (whole, has_path) = of([5, 5]);
    assert!(has_path && whole > 10.0, "{whole}");
    for ahead in [[0, 8192], [8192, 0], [131_072 - 4096, 4096]] {
        let (half, has_path) = of(ahead);
        assert!(has_path && (half / whole - 0.5).abs() < 0.1, "{ahead:?}: {half} of {whole}");
    }
    // Windows that are never open at the same time, and windows of different lengths.
    assert_eq!(of([0, 65_536]), (0.0, false));
    let other = Windows { length_log2: 13, ..WINDOWS };
    let explained = explain(&[(&core, Form::Windows(WINDOWS)), (&core, Form::Windows(other))]);
    assert_eq!(explained.ops[0].windows_percent, Some(0.0));
    let untold = explained.untold.iter();
    assert!(untold.clone().any(|of| of.question.contains("outside of the recorded windows")));
}

#[test]
fn a_tile_that_records_all_of_the_time_leaves_the_windows_of_the_others() {
    let core = run(&work(2), 1000, 2);
    let alone = explain(&[(&core, Form::Windows(WINDOWS))]);
    let both = explain(&[(&core, Form::Windows(WINDOWS)), (&core, Form::SingleAndSignals)]);
    assert_eq!(alone.ops[0].windows_percent, both.ops[0].windows_percent);
    // The windows of this tile are unknown, but its sums show that it waited.
    let unknown = explain(&[(&core, Form::Windows(WINDOWS)), (&core, Form::Sums)]);
    assert_eq!(unknown.ops[0].windows_percent, Some(0.0));
    assert!(unknown.ops[0].critical_path.is_none() && unknown.ops[0].pace.is_some());
}

#[test]
fn where_records_are_lost_the_windows_before_count() {
    let core = run(&work(3), 1000, 3);
    let mut recorder = Recorder::new();
    recorder.data_words = 492;
    recorder.core((1, 1), 1, &core, Form::Windows(WINDOWS));
    let lossy = Explanation::from_recording(&recorder.finish());
    let whole = explain(&[(&core, Form::Windows(WINDOWS))]);
    let [lossy, whole] = [&lossy, &whole].map(|explained| explained.ops[0].clone());
    let (some, all) = (lossy.windows_percent.unwrap(), whole.windows_percent.unwrap());
    assert!(some > 1.0 && some < all - 1.0, "{some} of {all}");
    assert!(lossy.known_percent.unwrap() <= some);
    assert!(lossy.critical_path.unwrap().cycles < whole.critical_path.unwrap().cycles);
}
