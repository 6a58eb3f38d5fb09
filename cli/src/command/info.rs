//! `kprof info`: the contents of a capture.

use crate::{
    args::InfoArgs,
    failure::Failure,
    layout::table,
    numbers::{counted, grouped},
    recording::open,
};
use host_reader::{
    capture::{CaptureInfo, ReadEnd},
    mesh::DeviceDescription,
};
use serde::Serialize;
use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

/// Reads a capture and prints its summary.
pub(crate) fn run(args: &InfoArgs) -> Result<ExitCode, Failure> {
    let capture = open(&args.file)?;
    let summary = Summary::new(&capture.info(), capture.problems().len());
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        serde_json::to_writer(&mut out, &summary).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        summary.write(&mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct Summary {
    /// `None` if the file header is damaged; the next two fields likewise.
    version: Option<String>,
    id: Option<String>,
    created_unix_ns: Option<u64>,
    file_bytes: u64,
    sections: Vec<Kind>,
    chips: Vec<Chip>,
    core_count: usize,
    lane_count: usize,
    marker_words: u64,
    reads: Vec<Read>,
    open_reads: Vec<u32>,
    /// `None` if the version of the capture has no end marks.
    is_finished: Option<bool>,
    time_span_ns: Option<u64>,
    zone_count: u64,
    op_count: u64,
    host_event_count: u64,
    host_dropped_count: u64,
    problem_count: usize,
}

#[derive(Serialize)]
struct Kind {
    kind: String,
    section_count: u64,
    payload_bytes: u64,
}

#[derive(Serialize)]
struct Chip {
    chip_id: u32,
    arch: String,
    aiclk_mhz: u32,
    core_count: usize,
    marker_words: u64,
}

#[derive(Serialize)]
struct Read {
    read_number: u32,
    is_last: bool,
    host_time_ns: u64,
    unix_time_ns: u64,
    words_read: u64,
}

impl Summary {
    fn new(info: &CaptureInfo, problem_count: usize) -> Self {
        let kinds = info.kinds.iter();
        Self {
            version: info.version.map(|version| version.to_string()),
            id: info.identity.map(|identity| format!("{:032x}", identity.id)),
            created_unix_ns: info.identity.map(|identity| identity.created_unix_ns),
            file_bytes: info.file_bytes,
            sections: kinds
                .map(|(kind, totals)| Kind {
                    kind: kind.to_string(),
                    section_count: totals.section_count,
                    payload_bytes: totals.payload_bytes,
                })
                .collect(),
            chips: info.chips.values().map(|chip| Chip::new(chip, info)).collect(),
            core_count: info.core_count(),
            lane_count: info.lane_words.len(),
            marker_words: info.marker_words(),
            reads: info.reads.iter().map(Read::from_end).collect(),
            open_reads: info.open_reads.iter().copied().collect(),
            is_finished: info.is_finished,
            time_span_ns: info.time_span_ns(),
            zone_count: info.zone_count,
            op_count: info.op_count,
            host_event_count: info.host_event_count,
            host_dropped_count: info.host_dropped_count,
            problem_count,
        }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let version = self.version.as_deref().unwrap_or("unknown, the file header is damaged");
        writeln!(out, "Capture, {} bytes, version {version}\n", grouped(self.file_bytes))?;
        let mut kinds = table(&["sections", "count", "bytes"]);
        for kind in &self.sections {
            let (count, bytes) = (grouped(kind.section_count), grouped(kind.payload_bytes));
            kinds.add_row([kind.kind.clone(), count, bytes]);
        }
        let mut chips = table(&["chip", "architecture", "MHz", "cores", "marker words"]);
        for chip in &self.chips {
            chips.add_row(chip.cells());
        }
        for table in [kinds, chips] {
            for line in table.lines() {
                writeln!(out, "{}", line.trim_end())?;
            }
            writeln!(out)?;
        }
        self.write_totals(out)
    }

    fn write_totals(&self, out: &mut impl Write) -> std::io::Result<()> {
        let words = self.reads.iter().map(|read| read.words_read).sum();
        let reads = counted(self.reads.len() as u64, "read", "reads");
        let span = self.time_span_ns.map_or_else(String::new, |span| {
            format!(", {} ns from the first to the last", grouped(span))
        });
        writeln!(out, "Reads: {reads} of {} words{span}", grouped(words))?;
        if !self.open_reads.is_empty() {
            let count = counted(self.open_reads.len() as u64, "read", "reads");
            writeln!(out, "Cut off: {count} without an end")?;
        }
        match self.is_finished {
            Some(true) => {}
            Some(false) => writeln!(out, "Never finished: more may have been recorded")?,
            None => writeln!(out, "Finished: unknown, its version has no end mark")?,
        }
        let (lanes, cores) = (self.lane_count as u64, self.core_count as u64);
        let lanes = counted(lanes, "RISC", "RISCs");
        writeln!(out, "Markers: {} words of {lanes}", grouped(self.marker_words))?;
        writeln!(out, "Cores: {}", grouped(cores))?;
        let zones = counted(self.zone_count, "zone", "zones");
        writeln!(out, "Names: {zones}, {}", counted(self.op_count, "op", "ops"))?;
        if self.host_event_count > 0 || self.host_dropped_count > 0 {
            let events = counted(self.host_event_count, "event", "events");
            let dropped = grouped(self.host_dropped_count);
            writeln!(out, "Host: {events}, {dropped} dropped")?;
        }
        match self.problem_count as u64 {
            0 => Ok(()),
            count => {
                let problems = counted(count, "problem", "problems");
                writeln!(out, "Damage: {problems}, see `kprof check`")
            }
        }
    }
}

impl Chip {
    fn new(chip: &DeviceDescription, info: &CaptureInfo) -> Self {
        let lanes = info.lane_words.iter().filter(|(lane, _)| lane.chip_id == chip.chip_id);
        Self {
            chip_id: chip.chip_id,
            arch: chip.arch.clone(),
            aiclk_mhz: chip.aiclk_mhz,
            core_count: chip.cores.len(),
            marker_words: lanes.map(|(_, words)| words).sum(),
        }
    }

    fn cells(&self) -> [String; 5] {
        [
            self.chip_id.to_string(),
            self.arch.clone(),
            self.aiclk_mhz.to_string(),
            self.core_count.to_string(),
            grouped(self.marker_words),
        ]
    }
}

impl Read {
    const fn from_end(read: &ReadEnd) -> Self {
        Self {
            read_number: read.read_number,
            is_last: read.is_last,
            host_time_ns: read.host_time_ns,
            unix_time_ns: read.unix_time_ns,
            words_read: read.words_read,
        }
    }
}
