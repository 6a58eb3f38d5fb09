//! Tests that all completed sections stay readable if the writer is killed at any point.
//!
//! The test runs its own binary as the writer. The writer prints a byte after each successful
//! append. The test waits for a random number of these bytes and then for a random time, kills the
//! writer, and counts the bytes that are still in the pipe.

use super::*;
use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

const KILLS: u64 = 200;
const KILLS_PER_FILE: u64 = 8;
const PATH_VARIABLE: &str = "KPROF_KILL_TEST_PATH";
const SAID: u8 = b'!';

#[test]
fn a_writer_killed_at_random_points_loses_no_completed_section() {
    let folder = tempfile::tempdir().unwrap();
    let seed = RandomState::new();
    let mut torn_count = 0;
    for file in 0..KILLS / KILLS_PER_FILE {
        let path = folder.path().join(format!("{file}.kprof"));
        drop(CaptureWriter::create(&path).unwrap());
        for kill in 0..KILLS_PER_FILE {
            let random = seed.hash_one((file, kill));
            torn_count += kill_one_writer(&path, random);
        }
        std::fs::remove_file(&path).unwrap();
    }
    println!("{torn_count} of {KILLS} kills tore a section");
}

/// Starts a writer, kills it and checks the capture; returns the number of newly torn sections.
fn kill_one_writer(path: &Path, random: u64) -> usize {
    let before = Capture::open(path).unwrap();
    let mut writer = start_writer(path);
    let mut says = writer.stdout.take().unwrap();
    let mut said = 0;
    let wanted = usize::try_from(random % 12).unwrap();
    while said < wanted {
        said += count_said(&mut says);
    }
    for step in 0..(random >> 32) % 60_000 {
        std::hint::black_box(step);
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let mut rest = Vec::new();
    says.read_to_end(&mut rest).unwrap();
    said += rest.iter().filter(|&&byte| byte == SAID).count();

    let after = Capture::open(path).unwrap();
    let completed = after.sections().count() - before.sections().count();
    // The writer may have been killed after an append and before it printed the byte.
    assert!((said..=said + 1).contains(&completed), "{said} said, {completed} found");
    assert_eq!(payloads(&after)[..before.sections().count()], payloads(&before));
    let torn = after.problems().len() - before.problems().len();
    assert!(torn <= 1, "{:?}", after.problems());
    torn
}

fn start_writer(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "capture::tests::kill::writes_until_killed", "--ignored", "--nocapture"])
        .env(PATH_VARIABLE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn count_said(says: &mut impl Read) -> usize {
    let mut buffer = [0; 64];
    let length = says.read(&mut buffer).unwrap();
    assert_ne!(length, 0, "the writer ended by itself");
    buffer[..length].iter().filter(|&&byte| byte == SAID).count()
}

/// The writer, run only by the test above.
#[test]
#[ignore = "appends until it is killed"]
fn writes_until_killed() {
    let Some(path) = std::env::var_os(PATH_VARIABLE) else { return };
    let mut writer = CaptureWriter::append_to(path).unwrap().with_sync(SyncPolicy::Never);
    let words: Vec<u32> = (0..12_000).collect();
    let mut says = std::io::stdout();
    for size in (1_u64..).map(|step| usize::try_from(step * 5_003 % 12_000).unwrap()) {
        writer.append(&lane_words(0, &words[..size])).unwrap();
        says.write_all(&[SAID]).unwrap();
        says.flush().unwrap();
    }
}
