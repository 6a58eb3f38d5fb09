//! Reads captures by the tables of `docs/kprof-format.md` alone, as an independent reader would.
//!
//! This reader knows the notation of the page, but no field of any payload. The expected contents
//! of the sample captures were written by hand.

use crate::structure::repository;
use host_reader::capture::SectionKind;
use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

/// Rows of each table of fields, by the heading above the table.
type Tables = BTreeMap<String, Vec<Row>>;

/// A field of a record.
#[derive(Debug)]
struct Row {
    at: Option<usize>,
    form: Form,
    field: String,
}

/// Type of a field, in the page's notation.
#[derive(Clone, Debug)]
enum Form {
    Number { bytes: usize, is_signed: bool },
    Bytes(usize),
    Text { size: String },
    Padding,
    Rest,
    Numbers { bytes: usize, count: String },
    Records { name: String, count: String, size: Option<String> },
}

fn page() -> String {
    std::fs::read_to_string(repository().join("docs/kprof-format.md")).unwrap()
}

fn tables() -> Tables {
    let page = page();
    let mut tables = Tables::new();
    let mut heading = String::new();
    for line in page.lines() {
        if line.starts_with('#') {
            line.trim_start_matches('#').trim().clone_into(&mut heading);
        }
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let &[_, at, form, field, _] = cells.as_slice() else { continue };
        let Some(form) = form.strip_prefix('`').and_then(|form| form.strip_suffix('`')) else {
            continue;
        };
        let at = if at.is_empty() { None } else { Some(at.parse().unwrap()) };
        // Text after a colon, a comma or a semicolon only explains the field.
        let field = field.split([':', ',', ';']).next().unwrap().to_owned();
        tables.entry(heading.clone()).or_default().push(Row {
            at,
            form: Form::from_text(form),
            field,
        });
    }
    tables
}

impl Form {
    fn from_text(text: &str) -> Self {
        let number = |text: &str| match text {
            "u8" => Some((1, false)),
            "u16" => Some((2, false)),
            "u32" => Some((4, false)),
            "u64" => Some((8, false)),
            "i64" => Some((8, true)),
            _ => None,
        };
        if let Some((bytes, is_signed)) = number(text) {
            return Self::Number { bytes, is_signed };
        }
        if let Some(count) = text.strip_prefix("bytes ") {
            return Self::Bytes(count.parse().unwrap());
        }
        match text {
            "padding" => return Self::Padding,
            "rest" => return Self::Rest,
            _ => {}
        }
        let (name, rest) = text.split_once('[').unwrap_or_else(|| panic!("no type: {text}"));
        let (count, behind) = rest.split_once(']').unwrap();
        let (name, count) = (name.to_owned(), count.to_owned());
        match (name.as_str(), number(&name)) {
            ("text", _) => Self::Text { size: count },
            (_, Some((bytes, _))) => Self::Numbers { bytes, count },
            _ => Self::Records {
                name,
                count,
                size: behind.strip_prefix(" of ").map(ToOwned::to_owned),
            },
        }
    }
}

/// Values of a record's number fields, by name. Some of them give the lengths of later fields.
type Numbers = BTreeMap<String, u64>;

/// Parses records of a payload and prints their contents, one field a line.
struct Outsider<'a> {
    tables: &'a Tables,
    bytes: &'a [u8],
    at: usize,
    found: String,
}

impl Outsider<'_> {
    fn take(&mut self, count: usize) -> &[u8] {
        let start = self.at;
        self.at += count;
        &self.bytes[start..self.at]
    }

    fn number(&mut self, bytes: usize) -> u64 {
        let mut whole = [0; 8];
        whole[..bytes].copy_from_slice(self.take(bytes));
        u64::from_le_bytes(whole)
    }

    /// Reads a record of at most `size` bytes. Fields beyond this size are absent.
    fn record(&mut self, name: &str, size: Option<usize>) -> Numbers {
        let tables = self.tables;
        let rows = tables.get(name).unwrap_or_else(|| panic!("the page has no table {name:?}"));
        let start = self.at;
        let mut numbers = Numbers::new();
        for row in rows {
            if size.is_some_and(|size| self.at - start >= size) {
                break;
            }
            if let Some(at) = row.at {
                assert_eq!(self.at - start, at, "{name}: {}", row.field);
            }
            self.field(row, &mut numbers);
        }
        if let Some(size) = size {
            self.at = start + size;
        }
        numbers
    }

    fn field(&mut self, row: &Row, numbers: &mut Numbers) {
        let field = &row.field;
        match &row.form {
            Form::Number { bytes, is_signed } => {
                let number = self.number(*bytes);
                let is_reserved = field == "0";
                assert!(!is_reserved || number == 0, "a reserved field holds {number}");
                if *is_signed {
                    self.note(field, &number.cast_signed());
                } else if !is_reserved && !field.starts_with("checksum") {
                    self.note(field, &number);
                }
                numbers.insert(field.clone(), number);
            }
            Form::Bytes(count) => {
                let bytes = self.take(*count).to_vec();
                if field == "0" {
                    assert!(bytes.iter().all(|&byte| byte == 0), "a reserved field: {bytes:?}");
                } else {
                    self.note(field, &hex(&bytes));
                }
            }
            Form::Text { size } => {
                let size = usize::try_from(numbers[size]).unwrap();
                let text = String::from_utf8(self.take(size).to_vec()).unwrap();
                self.note(field, &format!("{text:?}"));
            }
            Form::Padding => {
                let count = self.at.next_multiple_of(8) - self.at;
                assert!(self.take(count).iter().all(|&byte| byte == 0), "padding");
            }
            Form::Rest => {
                let count = self.bytes.len() - self.at;
                let bytes = self.take(count).to_vec();
                self.note(field, &hex(&bytes));
            }
            Form::Numbers { bytes, count } => {
                let all: Vec<_> =
                    (0..listed(numbers[count])).map(|_| self.number(*bytes)).collect();
                self.note(field, &format!("{all:?}"));
            }
            Form::Records { name, count, size } => {
                let size = size.as_ref().map(|size| usize::try_from(numbers[size]).unwrap());
                // The type of the record may depend on an earlier field.
                let name = numbers
                    .get("what")
                    .map(|what| format!("{name}, what {what}"))
                    .filter(|name| self.tables.contains_key(name))
                    .unwrap_or_else(|| name.clone());
                for _ in 0..listed(numbers[count]) {
                    writeln!(self.found, "- {name}").unwrap();
                    self.record(&name, size);
                }
            }
        }
    }

    fn note(&mut self, field: &str, value: &impl std::fmt::Display) {
        writeln!(self.found, "{field} = {value}").unwrap();
    }
}

/// Returns the number of items that follow a count field. A count of 0xFFFFFFFF means all items,
/// and none follow.
fn listed(count: u64) -> u64 {
    if count == u64::from(u32::MAX) { 0 } else { count }
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(" ")
}

/// Reads a record that has no fields of variable size.
fn fixed(tables: &Tables, name: &str, bytes: &[u8]) -> (Numbers, usize, String) {
    let mut outsider = Outsider { tables, bytes, at: 0, found: String::new() };
    let numbers = outsider.record(name, None);
    (numbers, outsider.at, outsider.found)
}

/// Prints the contents of a capture: the file header, then each section's kind and fields.
fn read(capture: &[u8]) -> String {
    let tables = tables();
    let checksum = |numbers: &Numbers, name: &str, bytes: &[u8]| {
        let stated = numbers.iter().find(|(field, _)| field.starts_with("checksum"));
        assert_eq!(*stated.unwrap().1, u64::from(crc32fast::hash(bytes)), "{name}");
    };
    let (header, size, mut found) = fixed(&tables, "File header", capture);
    checksum(&header, "file header", &capture[..60]);
    assert_eq!(header["header bytes"], size as u64);
    assert!(found.starts_with("magic = 8A 4B 50 52 4F 46 0D 0A\n"), "{found}");
    let kinds: BTreeMap<u64, &String> =
        tables.keys().filter_map(|heading| Some((kind_of(heading)?, heading))).collect();
    let mut at = size;
    for section in 0.. {
        let Some(rest) = capture.get(at..).filter(|rest| !rest.is_empty()) else { break };
        let (head, head_size, text) = fixed(&tables, "Section header", rest);
        assert!(text.starts_with("magic = AB 53 45 43 54 49 4F 4E\n"), "{text}");
        checksum(&head, "section header", &rest[..28]);
        assert_eq!((head["number of the section"], head["version"]), (section, 1 << 8));
        let payload_bytes = usize::try_from(head["payload bytes"]).unwrap();
        let padded = payload_bytes.next_multiple_of(8);
        let payload = &rest[head_size..head_size + padded];
        let trailer_at = head_size + padded;
        let (trailer, trailer_size, _) = fixed(&tables, "Section trailer", &rest[trailer_at..]);
        checksum(&trailer, "payload", payload);
        assert_eq!(trailer["number of the section"], section);
        let heading = kinds[&head["kind"]];
        writeln!(found, "\n{heading}").unwrap();
        let bytes = &payload[..payload_bytes];
        let mut outsider = Outsider { tables: &tables, bytes, at: 0, found: String::new() };
        outsider.record(heading, None);
        assert_eq!(outsider.at, payload_bytes, "{heading}: the tables name every byte");
        found += &outsider.found;
        at += trailer_at + trailer_size;
    }
    found
}

/// Returns the number of the kind in a heading.
fn kind_of(heading: &str) -> Option<u64> {
    heading.strip_prefix("Kind ")?.split_once(':')?.0.parse().ok()
}

fn sample(version: &str) -> PathBuf {
    repository().join(format!("tests/captures/kprof/v{version}.kprof"))
}

#[test]
fn an_outsider_with_the_page_alone_reads_what_the_samples_hold() {
    let first = include_str!("kprof_format/v1.0.txt");
    assert_holds("1.0", first);
    let end_mark = "\nKind 13: end mark\ntime = 1767225602000000000\n";
    let second = first.replacen("minor version = 0", "minor version = 1", 1) + end_mark;
    assert_holds("1.1", &second);
    let mut third = second.replacen("minor version = 1", "minor version = 2", 1);
    // The first of the five events is orange and the second black.
    for color in [0x01FF_8040, 0x0100_0000] {
        third = third.replacen("colour = 0\n", &format!("colour = {color}\n"), 1);
    }
    assert_holds("1.2", &third);
    let fourth = third.replacen("minor version = 2", "minor version = 3", 1);
    let fourth = fourth.replacen(end_mark, &format!("{HOST_CLOCK}{end_mark}"), 1);
    assert_holds("1.3", &fourth);
    let fifth = fourth.replacen("minor version = 3", "minor version = 4", 1);
    let fifth = fifth.replacen(end_mark, &format!("{SIMULATED_TIME}{end_mark}"), 1);
    assert_holds("1.4", &fifth);
    let sixth = fifth.replacen("minor version = 4", "minor version = 5", 1);
    assert_holds("1.5", &sixth.replacen(end_mark, &format!("{OPTIONS}{end_mark}"), 1));
}

const SIMULATED_TIME: &str = r#"
Kind 15: simulated time
limit count = 2
number of lifted limits = 0
- Limit
name bytes = 14
name = "NoC link rates"
- Limit
name bytes = 12
name = "compute time"
"#;

const OPTIONS: &str = r#"
Kind 16: options
option count = 2
- Option
name bytes = 10
value bytes = 3
name = "noc_events"
value = "off"
- Option
name bytes = 5
value bytes = 6
name = "waits"
value = "totals"
"#;

const HOST_CLOCK: &str = "
Kind 14: host clock
boot id = A1 6F C9 05 C2 CA 4A C0 97 01 CA 27 98 CD 0D 5C
time namespace = -7
reading count = 2
reading bytes = 32
- Reading
host before = 5000000000
day = 1767225601000000000
host after = 5000000090
error = 1250000
- Reading
host before = 5000000000
day = 1767225601000000000
host after = 5000000090
error = 18446744073709551615
";

fn assert_holds(version: &str, expected: &str) {
    let found = read(&std::fs::read(sample(version)).unwrap());
    for (index, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", index + 1);
    }
    assert_eq!(found.len(), expected.len(), "{found}");
}

#[test]
fn the_page_has_a_table_of_every_kind_under_its_name() {
    let tables = tables();
    for kind in SectionKind::ALL {
        let heading = format!("Kind {}: {}", kind.0, kind.label().unwrap());
        assert!(tables.contains_key(&heading), "no table of {heading:?}");
    }
}
