//! Single waits and signals of C++ kernels, recorded only in windows of time.

use crate::{
    core::Core,
    package::{Package, package},
    probes::Probes,
    toolchain::{Chip, Processor, in_parallel},
    waits::{BUFFER, CAPACITY, SITES, build_with, call, provide, set_up, wide_records},
};
use wire::wait::{WaitTotal, WindowedWait};

/// Windows of a build: binary logarithms of their length and period.
const WINDOW_LOG2: (u32, u32) = (8, 12);

/// Returns true if a window is open at some cycle of an interval, tested cycle by cycle.
fn touches_a_window(first: u64, last: u64) -> bool {
    (first..=last).any(|cycle| cycle % (1 << WINDOW_LOG2.1) < 1 << WINDOW_LOG2.0)
}

/// Returns builds that record single waits and signals in windows.
fn windowed(package: &Package) -> Vec<Probes> {
    const DEFINES: [&str; 4] = [
        "NOC_MODE=0",
        "PROFILE_SYNC_EVENTS",
        "KERNEL_PROFILER_SYNC_WINDOW=8",
        "KERNEL_PROFILER_SYNC_PERIOD=12",
    ];
    let jobs = Chip::ALL.map(|chip| ["O2", "Os"].map(|level| (chip, level))).concat();
    in_parallel(&jobs, |&(chip, level)| {
        build_with(package, chip, Processor::Brisc, level, &DEFINES).unwrap()
    })
}

/// A wait is recorded if a part of it is in a window, together with the parameters of the windows.
#[test]
fn waits_outside_of_windows_are_in_the_sums_alone() {
    let Some(package) = package() else { return };
    for probes in windowed(package) {
        let site = SITES[0];
        let (mut inside, mut outside) = (0, 0);
        for (shift, after) in
            (0..8).flat_map(|shift| (1..40).map(move |step| (shift, 150_u64 * step)))
        {
            let mut core = Core::new(probes.chip, &probes);
            set_up(&mut core, site);
            for _ in 0..shift {
                call(&mut core, "set_up", &[CAPACITY, 0]);
            }
            provide(&mut core, site, after);
            let begun = core.cycle();
            call(&mut core, "kernel", &[site.way]);
            let found = wide_records(&core, site.processor);
            let total = found.last().and_then(|&data| WaitTotal::from_data(data)).unwrap();
            assert_eq!((total.kind, total.waits), (site.kind, 1));
            // The wait begins a few cycles after the kernel and ends a few cycles after the awaited
            // event.
            let surely = touches_a_window(begun + 100, begun + after);
            let possibly = touches_a_window(begun, begun + after + 200);
            match found.as_slice() {
                [_] => {
                    assert!(!surely, "{} {shift} {after}: {begun}", probes.chip);
                    outside += 1;
                }
                [single, _] => {
                    assert!(possibly, "{} {shift} {after}: {begun}", probes.chip);
                    let WindowedWait { wait, windows, phase } =
                        WindowedWait::from_data(*single).unwrap();
                    assert_eq!(
                        (wait.kind, wait.key, wait.cycles),
                        (site.kind, BUFFER, total.cycles)
                    );
                    assert_eq!((windows.length(), windows.period()), (1 << 8, 1 << 12));
                    let risc = Processor::TENSIX.iter().position(|&one| one == site.processor);
                    let words = core.ring(risc.unwrap(), 2);
                    assert_eq!(words[1] % (1 << WINDOW_LOG2.1), phase);
                    inside += 1;
                }
                other => panic!("{other:x?}"),
            }
        }
        assert!(inside > 50 && outside > 50, "{inside} {outside}");
    }
}

/// All signals are recorded while a window is open, and none at other times.
#[test]
fn signals_outside_of_windows_are_not_recorded() {
    let Some(package) = package() else { return };
    for probes in windowed(package) {
        let mut core = Core::new(probes.chip, &probes);
        set_up(&mut core, SITES[2]);
        // The signals cover several periods, and the semaphore's last value is known for each call.
        let begun = core.cycle();
        call(&mut core, "signals", &[1800]);
        let ended = core.cycle();
        let words = core.ring(0, 500);
        let records = words.chunks(4).take_while(|record| record[0] >> 28 == 0xB);
        let times: Vec<u64> = records.map(|record| u64::from(record[1])).collect();
        let is_open = |time: u64| time % (1 << WINDOW_LOG2.1) < 1 << WINDOW_LOG2.0;
        assert!(times.iter().all(|&time| is_open(time)), "{times:?}");
        let period = 1 << WINDOW_LOG2.1;
        let (first, last) = (begun.div_ceil(period), ended / period);
        assert!(last > first + 2, "{begun} to {ended}");
        for window in (first..last).map(|number| (number * period) & 0xFFFF_FFFF) {
            let of_window: Vec<_> =
                times.iter().filter(|&&time| time / period == window / period).collect();
            // The gaps are small, so that no signal is missing between a window's ends.
            let gaps = of_window.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(
                of_window.len() > 2 && gaps.max() < Some(128),
                "{}: {of_window:?}",
                probes.chip
            );
            assert!(of_window[0] - window < 128, "{}: {of_window:?}", probes.chip);
            assert!(window + (1 << WINDOW_LOG2.0) - of_window.last().copied().unwrap() < 128);
        }
        const LOST_DATA: usize = 34;
        assert_eq!(core.control(LOST_DATA), 0);
    }
}
