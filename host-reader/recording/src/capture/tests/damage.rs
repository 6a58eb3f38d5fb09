//! Tests that damage is reported and does not affect other sections.

use super::*;
use crate::capture::frame::{FRAME_HEADER_BYTES, FrameHead, begin_frame, finish_frame};
use proptest::{collection::vec, prelude::*};

#[test]
fn a_cut_at_any_byte_loses_only_the_section_that_it_cuts() {
    let draft = small_draft();
    let whole = draft.open();
    for cut in 0..draft.bytes.len() {
        let opened = Capture::from_bytes(draft.bytes[..cut].to_vec());
        if cut < FILE_HEADER_BYTES {
            let Err(CaptureError::TooShort { found_bytes, .. }) = opened else { panic!("{cut}") };
            assert_eq!(found_bytes, cut as u64);
            continue;
        }
        let capture = opened.unwrap();
        let complete = draft.sections.iter().filter(|section| section.end <= cut).count();
        assert_eq!(payloads(&capture), payloads(&whole)[..complete], "cut at {cut}");
        let torn = &draft.sections[complete];
        if cut == torn.start {
            assert_eq!(capture.problems(), [], "cut at {cut}");
            continue;
        }
        let [problem] = capture.problems() else { panic!("cut at {cut}") };
        assert_eq!(problem.offset, torn.start as u64);
        assert_eq!(problem.size_bytes, (cut - torn.start) as u64);
        if cut < torn.start + FRAME_HEADER_BYTES {
            assert_eq!(problem.kind, ProblemKind::NoSection);
            continue;
        }
        let section = whole.sections().nth(complete).unwrap();
        let (kind, number) = (section.kind, section.number);
        assert_eq!(problem.section, Some(ProblemSection { kind, number }));
        let expected_bytes = section.payload.len() as u64;
        let found_bytes = (cut - torn.start - FRAME_HEADER_BYTES) as u64;
        assert_eq!(problem.kind, ProblemKind::TornSection { expected_bytes, found_bytes });
    }
}

#[test]
fn a_flipped_bit_anywhere_loses_only_its_section() {
    let draft = small_draft();
    let whole = draft.open();
    for bit in 0..draft.bytes.len() * 8 {
        let mut bytes = draft.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let capture = Capture::from_bytes(bytes).unwrap();
        let mut expected = payloads(&whole);
        let hit = draft.sections.iter().position(|section| section.contains(&(bit / 8)));
        let offset = match hit {
            Some(index) => {
                expected.remove(index);
                draft.sections[index].start
            }
            None => 0,
        };
        assert_eq!(payloads(&capture), expected, "bit {bit}");
        let [problem] = capture.problems() else {
            panic!("bit {bit}: {:?}", capture.problems());
        };
        assert_eq!(problem.offset, offset as u64, "bit {bit}");
        assert_eq!(hit.is_none(), problem.kind == ProblemKind::DamagedFileHeader);
        assert_eq!(hit.is_none(), capture.identity().is_none());
    }
}

#[test]
fn a_torn_section_right_behind_a_damaged_one_is_named_once() {
    let draft = small_draft();
    let [.., damaged, torn] = draft.sections.as_slice() else { panic!("two sections") };
    let mut bytes = draft.bytes[..torn.start + FRAME_HEADER_BYTES].to_vec();
    bytes[damaged.start + FRAME_HEADER_BYTES] ^= 1;
    let capture = Capture::from_bytes(bytes).unwrap();
    let offsets: Vec<_> = capture.problems().iter().map(|problem| problem.offset).collect();
    assert_eq!(offsets, [damaged.start as u64, torn.start as u64]);
}

#[test]
fn sections_behind_lost_bytes_are_found_again() {
    let draft = small_draft();
    let whole = draft.open();
    for lost in 1..60 {
        let mut bytes = draft.bytes.clone();
        let start = draft.sections[1].start + 8;
        bytes.drain(start..start + lost);
        let capture = Capture::from_bytes(bytes).unwrap();
        let mut expected = payloads(&whole);
        expected.remove(1);
        assert_eq!(payloads(&capture), expected, "{lost} bytes lost");
        assert_eq!(capture.problems().len(), 1);
    }
}

#[test]
fn a_section_that_is_missing_altogether_is_counted() {
    let mut draft = small_draft();
    let removed = draft.sections[2].start..draft.sections[3].end;
    let offset = removed.start as u64;
    draft.bytes.drain(removed);
    let kind = ProblemKind::MissingSections { count: 2 };
    let problem = Problem { offset, size_bytes: 0, kind, section: None };
    assert_eq!(draft.open().problems(), [problem]);
}

#[test]
fn a_copy_of_a_section_is_not_used_and_named() {
    let draft = small_draft();
    let whole = draft.open();
    for copied in &draft.sections {
        for place in &draft.sections {
            let mut bytes = draft.bytes.clone();
            bytes.splice(place.end..place.end, draft.bytes[copied.clone()].iter().copied());
            let capture = Capture::from_bytes(bytes).unwrap();
            assert_eq!(payloads(&capture), payloads(&whole), "{copied:?} at {}", place.end);
            // If a copy precedes the original, the copy is used and reported as moved.
            let repeated = capture.problems().iter().filter(|problem| {
                problem.kind == ProblemKind::RepeatedSection
                    && problem.size_bytes == copied.len() as u64
            });
            assert_eq!(repeated.count(), 1, "{:?}", capture.problems());
        }
    }
}

#[test]
fn a_moved_section_is_used_where_its_number_puts_it_and_named() {
    let draft = small_draft();
    let whole = draft.open();
    let [.., moved] = draft.sections.as_slice() else { panic!("a section") };
    for place in &draft.sections[..draft.sections.len() - 1] {
        let mut bytes = draft.bytes.clone();
        let section: Vec<u8> = bytes.drain(moved.clone()).collect();
        bytes.splice(place.start..place.start, section);
        let capture = Capture::from_bytes(bytes).unwrap();
        assert_eq!(payloads(&capture), payloads(&whole), "to {}", place.start);
        let [problem] = capture.problems() else { panic!("{:?}", capture.problems()) };
        let behind = (place.start + moved.len()) as u64;
        assert_eq!((&problem.kind, problem.offset), (&ProblemKind::MovedSection, behind));
        assert_eq!(problem.size_bytes, 0);
    }
}

#[test]
fn another_capture_behind_is_not_used_and_named() {
    let draft = small_draft();
    let whole = draft.open();
    let longer = small_draft().with(&lane_words(2, &[1])).with(&lane_words(3, &[2]));
    for torn_bytes in [0, 3, 50] {
        let mut bytes = [draft.bytes.clone(), vec![0xFF; torn_bytes]].concat();
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(&longer.bytes);
        let capture = Capture::from_bytes(bytes).unwrap();
        assert_eq!(payloads(&capture), payloads(&whole), "{torn_bytes} bytes between");
        let problem = capture.problems().last().unwrap();
        let expected = (&ProblemKind::OtherCapture, offset, longer.bytes.len() as u64);
        assert_eq!((&problem.kind, problem.offset, problem.size_bytes), expected);
        assert_eq!(capture.problems().len(), 1 + usize::from(torn_bytes > 0));
    }
}

#[test]
fn sections_within_the_claimed_extent_of_a_torn_one_are_used() {
    // According to its header, the torn section ends exactly at the beginning of a later section. A
    // reader that trusts this length would skip the section in between.
    let mut draft = Draft::new();
    let words = vec![7; 100];
    draft.push(&lane_words(0, &words));
    let torn = draft.sections[0].clone();
    let written = 200;
    draft.bytes.truncate(torn.start + written);
    let rest = torn.len() - written;
    let head_bytes = FRAME_HEADER_BYTES + 48 + 8;
    let filler = vec![8; (rest - head_bytes) / 4];
    draft.push(&lane_words(1, &filler));
    assert_eq!(draft.bytes.len(), torn.end);
    draft.push(&lane_words(2, &[1]));
    let capture = draft.open();
    assert_eq!(capture.sections().map(|s| s.number).collect::<Vec<_>>(), [1, 2]);
    let [problem] = capture.problems() else { panic!("{:?}", capture.problems()) };
    assert_eq!((problem.offset, problem.size_bytes), (torn.start as u64, written as u64));
    assert!(matches!(problem.kind, ProblemKind::DamagedPayload { .. }));
}

#[test]
fn torn_sections_within_torn_sections_end_in_bounded_time() {
    // Each header states a different length within the file, and no section is sound.
    let count = 2000;
    let mut bytes = Draft::new().bytes;
    for index in 0..count {
        let mut frame = Vec::new();
        begin_frame(&mut frame);
        frame.resize(FRAME_HEADER_BYTES + (count - index) * 8, 0);
        let number = u32::try_from(index).unwrap();
        let version = SectionVersion { major: 1, minor: 0 };
        finish_frame(&mut frame, FrameHead { kind: SectionKind(5), version, flags: 0, number });
        bytes.extend_from_slice(&frame[..FRAME_HEADER_BYTES]);
    }
    bytes.extend_from_slice(&[1; 100]);
    let capture = Capture::from_bytes(bytes).unwrap();
    assert_eq!(capture.sections().count(), 0);
    assert!(capture.problems().len() <= count + 1);
}

#[test]
fn sections_of_unknown_kinds_versions_and_flags_are_counted_and_cost_nothing_else() {
    let mut draft = small_draft();
    let mut add = |number, kind, major, flags| {
        let mut frame = Vec::new();
        begin_frame(&mut frame);
        frame.extend_from_slice(&[1; 48]);
        let version = SectionVersion { major, minor: 0 };
        let kind = SectionKind(kind);
        finish_frame(&mut frame, FrameHead { kind, version, flags, number });
        draft.bytes.extend_from_slice(&frame);
    };
    add(5, 900, 1, 0);
    add(6, 5, 2, 0);
    add(7, 5, 1, 0x8000_0000);
    add(8, 5, 1, 0x0000_8000);
    let check = draft.open().check();
    assert_eq!((check.usable_count, check.unknown_count), (6, 1));
    let kinds: Vec<_> = check.problems.into_iter().map(|problem| problem.kind).collect();
    let [found, known] = [2, 1].map(|major| SectionVersion { major, minor: 0 });
    assert_eq!(
        kinds,
        [
            ProblemKind::OpenRead { read_number: 1 },
            ProblemKind::UnknownSectionVersion { found, known },
            ProblemKind::UnknownFlags { flags: 0x8000_0000 },
            ProblemKind::Unfinished,
        ]
    );
}

#[test]
fn large_captures_are_checked_like_small_ones() {
    let words: Vec<u32> = (0..400_000).collect();
    let draft = Draft::new().with(&lane_words(0, &words)).with(&lane_words(1, &[1]));
    assert_eq!(draft.open().problems(), []);
    let mut bytes = draft.bytes.clone();
    bytes[1_000_000] ^= 1;
    let capture = Capture::from_bytes(bytes).unwrap();
    assert_eq!(capture.sections().map(|section| section.number).collect::<Vec<_>>(), [1]);
    assert_eq!(capture.problems().len(), 1);
}

#[test]
fn files_of_other_kinds_are_refused_with_advice() {
    let error = |bytes: &[u8]| Capture::from_bytes(bytes.to_vec()).unwrap_err().to_string();
    let log = b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64, and so on";
    let refused = error(log);
    assert!(refused.ends_with("; this is a device log, `kprof report` shows it"), "{refused}");
    assert!(error(b"short").starts_with("not a capture"));
    let as_text = small_draft().bytes.iter().filter(|&&byte| byte != b'\r').copied().collect();
    let error = Capture::from_bytes(as_text).unwrap_err().to_string();
    assert!(error.ends_with("use binary mode"), "{error}");
}

#[test]
fn a_newer_container_is_refused_with_both_versions() {
    let mut bytes = small_draft().bytes;
    let version = FormatVersion { major: 7, minor: 1 };
    let identity = CaptureIdentity { id: 1, created_unix_ns: 2 };
    bytes[..FILE_HEADER_BYTES].copy_from_slice(&FileHeader { version, identity }.to_bytes());
    let error = Capture::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(error, "the capture has format version 7.1, this library reads 1.x; update it");
}

proptest! {
    #[test]
    fn random_bytes_behind_a_header_never_panic(noise in vec(any::<u8>(), 0..2000)) {
        let mut bytes = Draft::new().bytes;
        bytes.extend_from_slice(&noise);
        let capture = Capture::from_bytes(bytes).unwrap();
        prop_assert_eq!(capture.sections().count(), 0);
        let named: u64 = capture.problems().iter().map(|problem| problem.size_bytes).sum();
        prop_assert_eq!(named, noise.len() as u64);
    }

    #[test]
    fn every_byte_belongs_to_a_section_or_to_a_problem(
        hits in vec((any::<proptest::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<proptest::sample::Index>(),
        repeat in any::<bool>(),
    ) {
        let mut bytes = small_draft().bytes;
        if repeat {
            bytes.extend_from_slice(&small_draft().bytes);
        }
        bytes.truncate(FILE_HEADER_BYTES + cut.index(bytes.len() - FILE_HEADER_BYTES));
        let count = bytes.len() - FILE_HEADER_BYTES;
        for (place, byte) in hits.into_iter().filter(|_| count > 0) {
            bytes[FILE_HEADER_BYTES + place.index(count)] = byte;
        }
        let capture = Capture::from_bytes(bytes).unwrap();
        let used: u64 = capture.sections().map(|s| s.end_offset() - s.offset).sum();
        let lost: u64 = capture.problems().iter().map(|problem| problem.size_bytes).sum();
        prop_assert_eq!(used + lost, count as u64);
        let _ = (capture.check(), capture.info());
    }
}
