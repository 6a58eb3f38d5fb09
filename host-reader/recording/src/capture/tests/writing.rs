//! Tests that writers only append.

use super::*;
use std::fs;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_capture_that_exists_is_never_overwritten() {
    let folder = folder();
    let path = folder.path().join("a.kprof");
    drop(CaptureWriter::create(&path).unwrap());
    assert!(matches!(CaptureWriter::create(&path), Err(CaptureError::Io { .. })));
}

#[test]
fn a_second_writer_is_refused_and_a_reader_is_not() {
    let folder = folder();
    let path = folder.path().join("a.kprof");
    let mut writer = CaptureWriter::create(&path).unwrap();
    assert!(matches!(CaptureWriter::append_to(&path), Err(CaptureError::InUse { .. })));
    writer.append(&lane_words(0, &[1])).unwrap();
    let before = Capture::open(&path).unwrap();
    writer.append(&lane_words(0, &[2])).unwrap();
    let counts = [before.sections().count(), Capture::open(&path).unwrap().sections().count()];
    assert_eq!(counts, [1, 2]);
    drop(writer);
    CaptureWriter::append_to(&path).unwrap();
}

#[test]
fn appending_goes_on_with_section_and_read_numbers() {
    let folder = folder();
    let path = folder.path().join("a.kprof");
    let mut writer = CaptureWriter::create(&path).unwrap();
    writer.append(&lane_words(4, &[1])).unwrap();
    let end = ReadEnd { read_number: 4, ..ReadEnd::default() };
    writer.finish_read(&end).unwrap();
    assert_eq!(writer.next_read_number(), 5);
    drop(writer);
    let mut writer = CaptureWriter::append_to(&path).unwrap().with_sync(SyncPolicy::EachSection);
    assert_eq!(writer.next_read_number(), 5);
    writer.append(&lane_words(5, &[1])).unwrap();
    let capture = Capture::from_bytes(fs::read(&path).unwrap()).unwrap();
    assert_eq!(capture.sections().map(|s| s.number).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(capture.problems(), []);
    let info = capture.info();
    assert_eq!((info.reads, info.open_reads.into_iter().collect::<Vec<_>>()), (vec![end], vec![5]));
}

#[test]
fn appending_behind_a_tail_torn_at_any_byte_keeps_every_byte_and_every_section() {
    let folder = folder();
    let draft = small_draft();
    let torn = draft.sections[3].clone();
    for cut in torn.start..torn.end {
        let path = folder.path().join(format!("{cut}.kprof"));
        fs::write(&path, &draft.bytes[..cut]).unwrap();
        let mut writer = CaptureWriter::append_to(&path).unwrap().with_sync(SyncPolicy::Never);
        writer.append(&lane_words(9, &[1, 2, 3])).unwrap();
        writer.append(&lane_words(9, &[4])).unwrap();
        drop(writer);
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes[..cut], draft.bytes[..cut]);
        assert_eq!(bytes.len() % 8, 0);
        let capture = Capture::open(&path).unwrap();
        assert_eq!(capture.sections().count(), 5, "cut at {cut}");
        assert_eq!(capture.problems().len(), usize::from(cut > torn.start), "cut at {cut}");
        let last = capture.sections().next_back().unwrap().content();
        assert_eq!(last, Ok(Content::Memory(lane_words(9, &[4]))));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn bytes_that_are_mapped_stay_as_they_are_while_captures_grow() {
    let folder = folder();
    let path = folder.path().join("a.kprof");
    let draft = small_draft();
    // The second capture ends in a torn section; a writer must continue after the section.
    for length in [draft.bytes.len(), draft.bytes.len() - 5] {
        fs::write(&path, &draft.bytes[..length]).unwrap();
        let mapped = Capture::open(&path).unwrap();
        for words in 1..200_usize {
            let mut writer = CaptureWriter::append_to(&path).unwrap().with_sync(SyncPolicy::Never);
            writer.append(&lane_words(9, &vec![7; words * 10])).unwrap();
            assert_eq!(mapped.bytes[..], draft.bytes[..length]);
        }
        assert!(fs::metadata(&path).unwrap().len() > 100 * 4096, "past the pages that are mapped");
    }
}

#[test]
fn nothing_in_the_writer_can_change_or_cut_off_what_is_written() {
    let writer = include_str!("../writer.rs");
    assert!(writer.contains(".append(true)"), "the file is opened elsewhere now");
    for call in ["set_len", "truncate(", ".write(true)", "seek", "write_at", "MmapMut"] {
        assert!(!writer.contains(call), "{call} breaks what `map_read_only` relies on");
    }
}

#[test]
fn a_writer_that_was_stopped_before_its_first_byte_leaves_nothing_in_the_way() {
    let folder = folder();
    let path = folder.path().join("a.kprof");
    fs::write(&path, []).unwrap();
    assert!(matches!(Capture::open(&path), Err(CaptureError::TooShort { found_bytes: 0, .. })));
    let mut writer = CaptureWriter::append_to(&path).unwrap();
    writer.append(&lane_words(0, &[1])).unwrap();
    assert_eq!(Capture::open(&path).unwrap().check().usable_count, 1);
}

#[test]
fn files_of_other_kinds_are_never_appended_to() {
    let folder = folder();
    let path = folder.path().join("notes.txt");
    fs::write(&path, "do not touch, these are notes of somebody else, and no capture at all")
        .unwrap();
    assert!(matches!(CaptureWriter::append_to(&path), Err(CaptureError::NotACapture { .. })));
    assert!(fs::read_to_string(&path).unwrap().ends_with("at all"));
}

#[test]
fn info_counts_what_is_there() {
    let info = small_draft().open().info();
    let totals = info.kinds[&SectionKind::MEMORY];
    assert_eq!((totals.section_count, totals.payload_bytes), (4, 4 * 48 + 20 + 12 + 32));
    assert_eq!(info.lane_words[&lane_id(Risc::Trisc1)], 3);
    assert_eq!((info.marker_words(), info.core_count(), info.time_span_ns()), (3, 0, None));
    assert_eq!(info.reads.len(), 1);
}
