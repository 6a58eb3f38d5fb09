use super::*;
use proptest::prelude::*;
use reader::lane::ZoneIndex;

/// Returns a 32-bit little-endian RISC-V ELF with one section in addition to the section name
/// table.
fn elf(section_name: &str, section: &[u8], flags: u32) -> Vec<u8> {
    const HEADER: u32 = 52;
    let names = format!("\0{section_name}\0.shstrtab\0");
    let names_at = HEADER + u32::try_from(section.len()).unwrap();
    let sections_at = names_at + u32::try_from(names.len()).unwrap();
    let mut bytes = b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // Executable, RISC-V, version 1, no entry, no program headers.
    bytes.extend([2_u16, 0xF3, 1, 0, 0, 0, 0, 0].map(u16::to_le_bytes).as_flattened());
    bytes.extend(sections_at.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    for value in [52_u16, 0, 0, 40, 3, 2] {
        bytes.extend(value.to_le_bytes());
    }
    assert_eq!(bytes.len(), 52);
    bytes.extend_from_slice(section);
    bytes.extend_from_slice(names.as_bytes());
    let names_name = 2 + u32::try_from(section_name.len()).unwrap();
    let size = u32::try_from(section.len()).unwrap();
    let headers = [
        [0; 10],
        [1, 1, flags, 0, HEADER, size, 0, 0, 1, 0],
        [names_name, 3, 0, 0, names_at, u32::try_from(names.len()).unwrap(), 0, 0, 1, 0],
    ];
    for word in headers.into_iter().flatten() {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

fn log(lines: &[u8]) -> (ZoneTable, AnomalyLog) {
    let mut names = ZoneNames::new();
    names.add_log("zones.log", NameAge::AnyBuild, lines).unwrap();
    names.finish()
}

/// Returns the names of all ids, in the order of the table.
fn names_of(table: &ZoneTable) -> Vec<String> {
    table.places().map(|(_, source)| source.name.clone()).collect()
}

#[test]
fn texts_of_an_unloaded_section_become_names() {
    let section = b"A,/k/k.cpp,10,KERNEL_PROFILER\0\0\0copy a,b,/k/k.cpp,12,KERNEL_PROFILER\0";
    let mut names = ZoneNames::new();
    assert_eq!(names.add_elf("k.elf", &elf(".kprof_zones", section, 0)).unwrap(), 2);
    assert_eq!(names.add_elf("again.elf", &elf(".kprof_zones", section, 0)).unwrap(), 0);
    let (table, anomalies) = names.finish();
    assert_eq!(table.name(ZoneIndex(0xB765)), "A");
    assert!(names_of(&table).contains(&"copy a,b".to_owned()));
    assert_eq!(anomalies, AnomalyLog::default());
}

#[test]
fn an_elf_without_zones_has_none() {
    let mut names = ZoneNames::new();
    assert_eq!(names.add_elf("k.elf", &elf(".text", b"A,/k,1,KERNEL_PROFILER", 0)).unwrap(), 0);
}

#[test]
fn bad_texts_and_a_compressed_section_are_counted_and_the_rest_kept() {
    let section = b"A,/k/k.cpp,10,KERNEL_PROFILER\0junk\0B,/k/k.cpp,x,KERNEL_PROFILER\0";
    let mut names = ZoneNames::new();
    assert_eq!(names.add_elf("k.elf", &elf(".kprof_zones", section, 0)).unwrap(), 1);
    let compressed = elf(".kprof_zones", b"\x01\0\0\0\x40\0\0\0\x01\0\0\0junk", 0x800);
    assert_eq!(names.add_elf("c.elf", &compressed).unwrap(), 0);
    let (_, anomalies) = names.finish();
    assert_eq!(anomalies.count(AnomalyKind::MalformedZoneText), 3);
    assert_eq!(anomalies.kept()[0].position, 30);
    assert!(anomalies.kept()[2].detail.contains("compress"), "{}", anomalies.kept()[2].detail);
}

#[test]
fn bytes_that_are_no_elf_are_refused_by_name() {
    let error = ZoneNames::new().add_elf("notes.txt", b"hello").unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
}

#[test]
fn every_quote_and_line_end_of_a_log_is_understood() {
    let lines = "a.cpp:1:1: note: '#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\n\
        \u{2018}#pragma message: B,/k/k.cpp,11,KERNEL_PROFILER\u{2019}\r\n\
        \n\
        '#pragma message: C, D,/k/k.cpp,12,KERNEL_PROFILER";
    let (table, anomalies) = log(lines.as_bytes());
    let mut names = names_of(&table);
    names.sort();
    assert_eq!(names, ["A", "B", "C, D"]);
    assert_eq!(anomalies.anomaly_count(), 0);
}

#[test]
fn malformed_lines_are_counted_with_their_number() {
    let lines = b"'#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\n\
        KERNEL_PROFILER without a message\n\
        '#pragma message: B,/k/k.cpp,KERNEL_PROFILER'\n\
        '#pragma message: C,/k/k.cpp,1,KERNEL_PROFILER_2'\n";
    let (table, anomalies) = log(lines);
    assert_eq!(names_of(&table), ["A"]);
    let lines: Vec<_> = anomalies.kept().iter().map(|anomaly| anomaly.position).collect();
    assert_eq!(lines, [2, 3, 4]);
    assert_eq!(anomalies.count(AnomalyKind::MalformedLine), 3);
}

#[test]
fn messages_printed_into_each_other_keep_the_whole_one() {
    let lines =
        b"'#pragma message: A,/k/k.cpp,10,KERN'#pragma message: B,/k.cpp,2,KERNEL_PROFILER'\n\
        '#pragma message: C,/k.cpp,3,KERNEL_PROFILER'x.cpp:1:1: note: \
        '#pragma message: D,/k.cpp,4,KERNEL_PROFILER'\n";
    let (table, anomalies) = log(lines);
    let mut names = names_of(&table);
    names.sort();
    assert_eq!(names, ["B", "C", "D"]);
    assert_eq!(anomalies.kept().iter().map(|a| a.position).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_line_without_end_is_cut_and_counted() {
    let mut lines = vec![b'x'; 3 << 16];
    lines.extend_from_slice(b"\n'#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\n");
    let (table, anomalies) = log(&lines);
    assert_eq!(names_of(&table), ["A"]);
    assert_eq!(anomalies.kept()[0].position, 1);
    assert_eq!(anomalies.anomaly_count(), 1);
}

#[test]
fn bytes_above_ascii_hash_as_on_the_device() {
    // The expected id is the 32-bit FNV-1a hash of the unsigned bytes, with the upper half XORed
    // into the lower half. `independent_hash` does not use the library's code.
    for name in [&b"caf\xC3\xA9"[..], b"caf\xE9"] {
        let text = [name, b",/k/k.cpp,10,KERNEL_PROFILER"].concat();
        let (table, _) = log(&[b"'#pragma message: ", &text[..], b"'"].concat());
        assert_eq!(table.name(ZoneIndex(independent_hash(&text))), String::from_utf8_lossy(name));
    }
}

fn independent_hash(text: &[u8]) -> u32 {
    let hash = text
        .iter()
        .fold(2_166_136_261, |hash, &byte| ((hash ^ u64::from(byte)) * 16_777_619) % (1 << 32));
    u32::try_from((hash & 0xFFFF) ^ (hash >> 16)).unwrap()
}

/// Returns the first two texts `name_n,/k/k.cpp,line,KERNEL_PROFILER` that share an id.
fn colliding() -> [String; 2] {
    let mut seen = BTreeMap::new();
    for line in 1.. {
        let text = format!("Z,/k/k.cpp,{line},KERNEL_PROFILER");
        if let Some(earlier) = seen.insert(ZoneId::from_text(&text), text.clone()) {
            return [earlier, text];
        }
    }
    unreachable!("there are fewer ids than lines")
}

#[test]
fn stale_lines_are_ambiguous_only_if_their_ids_collide() {
    let (table, anomalies) = log(b"'#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\n\
        '#pragma message: A,/k/k.cpp,11,KERNEL_PROFILER'\n");
    assert_eq!((table.collisions().count(), anomalies.anomaly_count()), (0, 0));
    let [one, other] = colliding();
    let lines = format!("'#pragma message: {one}'\n'#pragma message: {other}'\n");
    let (table, anomalies) = log(lines.as_bytes());
    assert_eq!(table.collisions().count(), 1);
    assert_eq!(anomalies.count(AnomalyKind::ZoneIdCollision), 1);
    let id = ZoneId::from_text(&one);
    assert_eq!(anomalies.kept()[0].position, u64::from(id.0));
    assert!(table.label(ZoneIndex(u32::from(id.0))).ends_with("(ambiguous id)"));
}

#[test]
fn the_kernels_own_of_colliding_places_comes_first() {
    let [stale, fresh] = colliding();
    let mut names = ZoneNames::new();
    let lines = format!("'#pragma message: {stale}'\n'#pragma message: {fresh}'\n");
    names.add_log("old.log", NameAge::AnyBuild, lines.as_bytes()).unwrap();
    let section = [fresh.as_bytes(), b"\0"].concat();
    names.add_elf("k.elf", &elf(".kprof_zones", &section, 0)).unwrap();
    let (table, _) = names.finish();
    let index = ZoneIndex(u32::from(ZoneId::from_text(&fresh).0));
    assert_eq!(table.sources(index)[0].text(), fresh);
    assert_eq!(table.sources(index)[1].text(), stale);
}

#[test]
fn names_of_ids_with_a_fixed_meaning_are_reported() {
    let text = (1..)
        .map(|line| format!("Z,/k/k.cpp,{line},KERNEL_PROFILER"))
        .find(|text| ZoneId::from_text(text) == ZoneId::NOC_TRACING)
        .unwrap();
    let (_, anomalies) = log(format!("'#pragma message: {text}'\n").as_bytes());
    assert_eq!(anomalies.count(AnomalyKind::ZoneIdCollision), 1);
    assert_eq!(anomalies.kept()[0].position, 12_345);
}

#[test]
fn both_logs_of_a_folder_are_read_as_far_as_they_exist() {
    let folder = tempfile::tempdir().unwrap();
    let mut names = ZoneNames::new();
    assert_eq!(names.add_log_folder(folder.path()).unwrap(), 0);
    let lines = "'#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\n";
    std::fs::write(folder.path().join(NEW_LOG_FILE), lines).unwrap();
    assert_eq!(names.add_log_folder(folder.path()).unwrap(), 1);
    assert!(names.add_log_file(folder.path().join("none"), NameAge::AnyBuild).is_err());
}

#[test]
fn a_written_log_reads_back_as_the_same_table() {
    let mut zones = ZoneTable::new();
    for (name, line) in [("A", 1), ("b, c", 2), ("caf\u{E9}", 3)] {
        let source = ZoneSource { name: name.into(), file: "/k/k.cpp".into(), line };
        zones.add(source.id(), source);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(LOG_FILE);
    let report = write_zone_log_file(&path, &zones).unwrap();
    assert_eq!((report.written_count, report.left_out.len()), (3, 0));
    let mut names = ZoneNames::new();
    names.add_log_file(&path, NameAge::AnyBuild).unwrap();
    assert_eq!(names.finish(), (zones, AnomalyLog::default()));
}

#[test]
fn zones_that_no_line_can_stand_for_are_left_out_by_id() {
    let mut zones = ZoneTable::new();
    zones.add(ZoneId(7), source_on_line_1("an id from a log"));
    zones.add(source_on_line_1("two\nlines").id(), source_on_line_1("two\nlines"));
    let report = write_zone_log(&zones, &mut Vec::new()).unwrap();
    assert_eq!((report.written_count, report.left_out.len()), (0, 2));
}

fn source_on_line_1(name: &str) -> ZoneSource {
    ZoneSource { name: name.into(), file: "/k".into(), line: 1 }
}

proptest! {
    #[test]
    fn any_bytes_are_a_log_and_any_elf_is_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let (_, anomalies) = log(&bytes);
        prop_assert!(anomalies.anomaly_count() <= 401);
        let mut elf = elf(".kprof_zones", b"A,/k/k.cpp,10,KERNEL_PROFILER\0", 0);
        for (index, byte) in changes {
            let at = index.index(elf.len());
            elf[at] = byte;
        }
        let mut names = ZoneNames::new();
        let added = names.add_elf("k.elf", &elf).unwrap_or(0);
        prop_assert!(added <= elf.len());
        let _ = ZoneNames::new().add_elf("k.elf", &bytes);
        let _ = names.finish();
    }

    #[test]
    fn a_good_line_survives_any_line_before_it(noise in "[^\n\r#]{0,80}") {
        let lines = format!("{noise}\n'#pragma message: A,/k/k.cpp,10,KERNEL_PROFILER'\n");
        let (table, _) = log(lines.as_bytes());
        prop_assert_eq!(table.name(ZoneIndex(0xB765)), "A");
    }
}
