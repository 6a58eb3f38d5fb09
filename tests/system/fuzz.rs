//! The fuzzers' checks without a fuzzer: seeded noise, damaged samples and truncations.

#![allow(clippy::unwrap_used, reason = "a panic is how a test reports")]

use std::path::PathBuf;
use tests::{
    fuzz,
    noise::{self, Dice},
    sizes::full_or,
};
use wire::run::IdPacking;

/// A log with NoC events, and a log with hardware counters.
const LOGS: [&str; 2] = ["blackhole-noc-256", "wormhole-counters-elw"];

const ZONE_LOG: &str = "a.cpp:1:1: note: '#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\n\
    \u{2018}#pragma message: copy a, b,/k/k.cpp,11,KERNEL_PROFILER\u{2019}\r\n\
    '#pragma message: A,/k/k.cpp,10,KERN'#pragma message: B,/k.cpp,2,KERNEL_PROFILER'\n\
    '#pragma message: C,/k.cpp,3,KERNEL_PROFILER'x.cpp:1:1: note: \
    '#pragma message: D,/k.cpp,4,KERNEL_PROFILER'\n";

fn sample(path: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("captures").join(path)).unwrap()
}

/// Returns the number of rounds of a loop: a third of `full` in a plain run.
fn round_count(full: u64) -> u64 {
    full_or(full, full.div_ceil(3))
}

/// Runs `body` on noise of every small length, on every sample truncated at each position (at most
/// 200), and on each sample damaged in `rounds` ways. A plain run makes a third of the rounds and of
/// the truncations of longer samples.
fn run(body: fn(&[u8]), samples: &[Vec<u8>], telling: &[u8], rounds: u64) {
    let (mut dice, rounds) = (Dice::new(1), round_count(rounds));
    let truncations = full_or(200, 67);
    for length in 0..200 {
        body(&dice.bytes(length));
    }
    for sample in samples {
        body(sample);
        for end in (0..sample.len()).step_by(1 + sample.len() / truncations) {
            body(&sample[..end]);
        }
        for seed in 0..rounds {
            let mut damaged = sample.clone();
            noise::mutate(&mut damaged, telling, &mut Dice::new(seed));
            body(&damaged);
        }
    }
}

#[test]
fn any_words_decode_to_columns_within_their_bounds() {
    let mut dice = Dice::new(2);
    for seed in 0..round_count(3000) {
        let choice = dice.byte();
        let packing = if choice & 1 == 0 { IdPacking::RISC5 } else { IdPacking::RISC3 };
        let mut words = Vec::new();
        noise::telling_words(&mut words, 400, packing.pack(0, 7, 0), &mut Dice::new(seed));
        let mut data = vec![choice, dice.byte()];
        data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        fuzz::decode(&data);
        if seed % 10 == 0 {
            run(fuzz::decode, &[data], &[0x80, 0, 0xFF], 10);
        }
    }
}

#[test]
fn any_bytes_are_a_capture_or_refused() {
    run(fuzz::capture, &[sample("kprof/v1.1.kprof")], &[0, 1, 2, 3, 0xAB, 0xFF], 2000);
}

#[test]
fn a_sound_capture_is_not_changed_by_sealing_it_again() {
    let sound = sample("kprof/v1.1.kprof");
    assert_eq!(fuzz::resealed(&sound), sound);
}

#[test]
fn damage_of_a_capture_is_named_or_harmless() {
    for seed in 0..round_count(3000) {
        let mut dice = Dice::new(seed);
        let changes = 1 + dice.below(3);
        fuzz::damaged_capture(&dice.bytes(changes * noise::DAMAGE_BYTES));
    }
}

#[test]
fn a_section_may_claim_any_length() {
    let sound = sample("kprof/v1.1.kprof");
    let first = sound.windows(8).position(|window| window == b"\xABSECTION").unwrap();
    for (pad, less) in (0..8).flat_map(|pad| (0..round_count(300)).map(move |less| (pad, less))) {
        let mut bytes = sound.clone();
        bytes[first + 16..first + 24].copy_from_slice(&(u64::MAX - less).to_le_bytes());
        bytes.splice(first..first, std::iter::repeat_n(0, pad));
        fuzz::capture(&bytes);
    }
}

#[test]
fn any_bytes_are_a_device_log_or_refused() {
    let logs = LOGS.map(|log| sample(&format!("mesham-tt-sim/{log}/profile_log_device.csv")));
    run(fuzz::device_log, &logs, b",\n\r\"0-.9{;\xFF\0Z ", 60);
}

#[test]
fn any_bytes_are_a_zone_log() {
    run(fuzz::zone_log, &[ZONE_LOG.into()], b",\n\r'#\xE2\xFF\0 9", 6000);
}

#[test]
fn any_bytes_are_a_kernel_or_refused() {
    let texts = b"A,/k/k.cpp,10,KERNEL_PROFILER\0\0B,/k/k.cpp,11,KERNEL_PROFILER\0junk\0";
    let kernels = [noise::elf(".kprof_zones", texts), noise::elf(".text", texts)];
    run(fuzz::elf_names, &kernels, &[0, 1, 3, 8, 0xFF], 6000);
}

/// Returns the committed seeds of a target.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn any_bytes_are_an_ops_csv_or_refused() {
    run(fuzz::ops_csv, &seeds("ops_csv"), b",\n\r\"0-.9{;\xFF\0Z ", 300);
}

#[test]
fn any_bytes_are_logs_of_ops() {
    run(fuzz::ops_logs, &seeds("ops_logs"), b",\n\r\"0-.9{`;:\xFF\x0C\0", 400);
}

#[test]
fn any_words_of_a_mesh_are_read() {
    run(fuzz::control, &seeds("control"), &[0, 1, 5, 12, 24, 0x80, 0xFF], 1500);
}

#[test]
fn any_capture_goes_to_every_export() {
    let mut dice = Dice::new(3);
    let sound = sample("kprof/v1.1.kprof");
    fuzz::exports(&sound);
    for _ in 0..round_count(150) {
        let mut damaged = sound.clone();
        noise::mutate(&mut damaged, &[0, 1, 2, 3, 0xAB, 0xFF], &mut dice);
        fuzz::exports(&damaged);
    }
}

#[test]
fn any_bytes_of_a_viewer_are_answered_or_refused() {
    let mut dice = Dice::new(4);
    for seed in seeds("tracy_live") {
        fuzz::tracy_live(&seed);
        for _ in 0..30 {
            let mut damaged = seed.clone();
            noise::mutate(&mut damaged, &[0, 1, 2, 9, 66, 0xFF], &mut dice);
            fuzz::tracy_live(&damaged);
        }
    }
}
