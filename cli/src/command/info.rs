//! `kprof info`: summarizes the contents of a capture.

use crate::{
    args::InfoArgs,
    failure::Failure,
    input::open_capture,
    layout::write_columns,
    numbers::{counted, grouped},
    output::print,
};
use host_reader::{
    capture::{CaptureInfo, KindTotals, ReadEnd, SectionKind},
    mesh::DeviceDescription,
    tables::Objects,
};
use serde::Serialize;
use std::{collections::BTreeSet, io::Write};

/// Reads a capture and prints its summary.
pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let capture = open_capture(&args.file)?;
    let (info, problem_count) = (capture.info(), capture.problems().len());
    let document = args.json.then(|| Summary::new(&info, problem_count));
    print(document, |out| write(&info, problem_count as u64, out))
}

/// The JSON document that `--json` prints.
#[derive(Serialize)]
struct Summary<'a> {
    /// Version of the capture's format. This field and the next two are `None` if the file header
    /// is damaged.
    version: Option<String>,
    id: Option<String>,
    created_unix_ns: Option<u64>,
    file_bytes: u64,
    sections: Objects<(&'a SectionKind, &'a KindTotals)>,
    chips: Objects<(&'a DeviceDescription, u64)>,
    core_count: usize,
    lane_count: usize,
    marker_words: u64,
    reads: Objects<&'a ReadEnd>,
    open_reads: &'a BTreeSet<u32>,
    /// True if the capture has an end mark; `None` if captures of its format version have no end
    /// marks.
    is_finished: Option<bool>,
    time_span_ns: Option<u64>,
    zone_count: u64,
    op_count: u64,
    host_event_count: u64,
    host_dropped_count: u64,
    problem_count: usize,
}

impl<'a> Summary<'a> {
    fn new(info: &'a CaptureInfo, problem_count: usize) -> Self {
        Self {
            version: info.version.map(|version| version.to_string()),
            id: info.identity.map(|identity| format!("{:032x}", identity.id)),
            created_unix_ns: info.identity.map(|identity| identity.created_unix_ns),
            file_bytes: info.file_bytes,
            sections: Objects::new(
                &info.kinds,
                [
                    ("kind", |(kind, _)| kind.to_string().into()),
                    ("section_count", |(_, totals)| totals.section_count.into()),
                    ("payload_bytes", |(_, totals)| totals.payload_bytes.into()),
                ],
            ),
            chips: Objects::new(
                chips(info),
                [
                    ("chip_id", |(chip, _)| chip.chip_id.into()),
                    ("arch", |(chip, _)| chip.arch.as_str().into()),
                    ("aiclk_mhz", |(chip, _)| chip.aiclk_mhz.into()),
                    ("core_count", |(chip, _)| chip.cores.len().into()),
                    ("marker_words", |(_, words)| (*words).into()),
                ],
            ),
            core_count: info.core_count(),
            lane_count: info.lane_words.len(),
            marker_words: info.marker_words(),
            reads: Objects::new(
                &info.reads,
                [
                    ("read_number", |read| read.read_number.into()),
                    ("is_last", |read| read.is_last.into()),
                    ("host_time_ns", |read| read.host_time_ns.into()),
                    ("unix_time_ns", |read| read.unix_time_ns.into()),
                    ("words_read", |read| read.words_read.into()),
                ],
            ),
            open_reads: &info.open_reads,
            is_finished: info.is_finished,
            time_span_ns: info.time_span_ns(),
            zone_count: info.zone_count,
            op_count: info.op_count,
            host_event_count: info.host_event_count,
            host_dropped_count: info.host_dropped_count,
            problem_count,
        }
    }
}

/// Returns each chip with the number of words read from its lanes.
fn chips(info: &CaptureInfo) -> impl ExactSizeIterator<Item = (&DeviceDescription, u64)> {
    info.chips.values().map(|chip| {
        let lanes = info.lane_words.iter().filter(|(lane, _)| lane.chip_id == chip.chip_id);
        (chip, lanes.map(|(_, words)| words).sum())
    })
}

fn write(info: &CaptureInfo, problem_count: u64, out: &mut impl Write) -> std::io::Result<()> {
    let version = info.version.map(|version| version.to_string());
    let version = version.as_deref().unwrap_or("unknown, the file header is damaged");
    writeln!(out, "Capture, {} bytes, version {version}\n", grouped(info.file_bytes))?;
    write_columns!(&info.kinds, usize::MAX, out, |(kind, totals)| {
        "sections" => kind,
        "count" => grouped(totals.section_count),
        "bytes" => grouped(totals.payload_bytes),
    })?;
    writeln!(out)?;
    write_columns!(chips(info), usize::MAX, out, |(chip, words)| {
        "chip" => chip.chip_id,
        "architecture" => chip.arch,
        "MHz" => chip.aiclk_mhz,
        "cores" => chip.cores.len(),
        "marker words" => grouped(words),
    })?;
    writeln!(out)?;
    write_totals(info, problem_count, out)
}

fn write_totals(
    info: &CaptureInfo,
    problem_count: u64,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let words = info.reads.iter().map(|read| read.words_read).sum();
    let reads = counted(info.reads.len() as u64, "read", "reads");
    let span = info.time_span_ns().map_or_else(String::new, |span| {
        format!(", {} ns from the first to the last", grouped(span))
    });
    writeln!(out, "Reads: {reads} of {} words{span}", grouped(words))?;
    if !info.open_reads.is_empty() {
        let count = counted(info.open_reads.len() as u64, "read", "reads");
        writeln!(out, "Unfinished: {count} without an end")?;
    }
    match info.is_finished {
        Some(true) => {}
        Some(false) => writeln!(out, "Never finished: more may have been recorded")?,
        None => writeln!(out, "Finished: unknown, this format version has no end mark")?,
    }
    let lanes = counted(info.lane_words.len() as u64, "RISC", "RISCs");
    writeln!(out, "Markers: {} words of {lanes}", grouped(info.marker_words()))?;
    writeln!(out, "Cores: {}", grouped(info.core_count() as u64))?;
    let zones = counted(info.zone_count, "zone", "zones");
    writeln!(out, "Names: {zones}, {}", counted(info.op_count, "op", "ops"))?;
    if info.host_event_count > 0 || info.host_dropped_count > 0 {
        let events = counted(info.host_event_count, "event", "events");
        let dropped = grouped(info.host_dropped_count);
        writeln!(out, "Host: {events}, {dropped} dropped")?;
    }
    match problem_count {
        0 => Ok(()),
        count => {
            let problems = counted(count, "problem", "problems");
            writeln!(out, "Damage: {problems}, see `kprof check`")
        }
    }
}
