//! `kprof memory`: what L1 and DRAM hold while ops run, and when they are fullest.

use crate::{
    command::table_file::read_table,
    failure::{Failure, failure, note},
    file_kind::{FileKind, MEMORY},
    input::{open_packed, unpacked},
    layout::{row_limit, write_columns},
    numbers::{counted, grouped, optional},
    output::print,
    tables::program_label,
    terminal::{LONGEST_NAME, printable},
};
use clap::Args;
use host_reader::{
    memory::{CallPlace, L1Usage, Lifetime, Maker, OpUsage, Peak, Usage, read_csv},
    op_memory::usage_of,
    packed_bytes::PackedMemory,
    recording::device_captures,
    tables::{Memory, MemoryRow, Rows},
};
use serde::Serialize;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Show what L1 and DRAM hold while ops run, and in which op they are fullest.
///
/// The input comes from `kprof record --device-memory-profiler`. Circular buffers and kernels are
/// known with kprof's simulated chip, `--simulate`. See docs/memory.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof memory generated/profiler
  kprof memory generated/profiler --op Matmul --core 1-2
  kprof memory device-4711.kprof --json")]
pub(crate) struct MemoryArgs {
    /// Folder of a recording, or capture.
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// Only the peak among ops with this text in their name, or the op with this number.
    #[arg(long, value_name = "NAME")]
    pub(crate) op: Option<String>,
    /// Show the map of the core with these NoC-0 coordinates, not of the fullest one.
    #[arg(long, value_name = "X-Y", value_parser = core)]
    pub(crate) core: Option<(u32, u32)>,
    /// Number of rows in each table; 0 shows all.
    #[arg(long, value_name = "N", default_value = "20", value_parser = row_limit)]
    pub(crate) rows: usize,
    /// Print the rows of the table `memory` as JSON instead of tables, for all ops or those of
    /// --op.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses `X-Y`.
pub(super) fn core(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('-');
    let core = parts.and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
    core.ok_or_else(|| {
        format!("expected X-Y, such as 1-2, found `{}`", printable(text, LONGEST_NAME))
    })
}

/// Memory of a recording as JSON.
#[derive(Serialize)]
struct Document<'a> {
    /// Of each chip: the op with the peak.
    peaks: Vec<Peak>,
    /// What keeps the memories in use during the ops with the peaks, in the order of the peaks.
    makers: Vec<Made>,
    counts: Counts,
    memory: Rows<'a, Memory>,
}

/// What one call or op keeps in use at a peak.
#[derive(Serialize)]
pub(super) struct Made {
    pub(super) chip_id: u32,
    pub(super) run_host_id: u32,
    #[serde(flatten)]
    pub(super) maker: Maker,
}

/// What is known of the recording's ops.
#[derive(Serialize)]
struct Counts {
    ops: u64,
    ops_without_buffers: u64,
    ops_without_launch_messages: u64,
    ops_with_unreadable_buffers: u64,
    buffers_never_seen: u64,
}

/// Reads a recording and prints the peak of its memory.
pub(crate) fn run(args: &MemoryArgs) -> Result<(), Failure> {
    let capture = capture_of(&args.input)?;
    let recordings = unpacked(open_packed(&capture, &PackedMemory::unlimited())?)?.recordings;
    let path = beside_capture(&capture);
    let mut launches = if path.is_file() { read_table(&path, read_csv)? } else { Vec::new() };
    let count = recordings.len();
    for recording in &recordings {
        // Numbers of programs restart with each recording, and launch messages are of the whole
        // process: they belong to the only recording with a program of the number.
        let launches = if count == 1 { std::mem::take(&mut launches) } else { Vec::new() };
        let usage = usage_of(recording, launches);
        show(args, &usage)?;
    }
    if count > 1 && path.is_file() {
        note!(
            "kprof: circular buffers are left out: {} has {count} recordings, whose launches are not \
             told apart",
            capture.display()
        );
    }
    Ok(())
}

/// Returns the capture of an input.
///
/// # Errors
/// If a file is no capture, or a folder has several captures, or none.
pub(super) fn capture_of(input: &Path) -> Result<PathBuf, Failure> {
    if !input.is_dir() {
        return match FileKind::from_path(input) {
            FileKind::Capture | FileKind::Absent | FileKind::Stream => Ok(input.to_owned()),
            _ => Err(MEMORY.instead(input, failure!("expected a capture"))),
        };
    }
    let in_logs = device_captures(&input.join(".logs"));
    let captures = if in_logs.is_empty() { device_captures(input) } else { in_logs };
    match &captures[..] {
        [capture] => Ok(capture.clone()),
        [] => Err(failure!(
            "expected a capture in {}, found none; record one with \
             `kprof record --device-memory-profiler`",
            input.display()
        )),
        [first, ..] => Err(failure!(
            "expected one capture in {}, found {}; name one, such as {}",
            input.display(),
            captures.len(),
            first.display()
        )),
    }
}

/// Returns the path of the launch messages' memory that belongs to a capture.
pub(crate) fn beside_capture(capture: &Path) -> PathBuf {
    capture.with_extension("memory.csv")
}

/// Returns the launch messages' memory that belongs to an input, which is a capture, or a folder with
/// one; empty if there is none.
pub(super) fn launches_of(input: &Path) -> Result<Vec<MemoryRow<'static>>, Failure> {
    let path = capture_of(input).map(|capture| beside_capture(&capture));
    match path {
        Ok(path) if path.is_file() => read_table(&path, read_csv),
        _ => Ok(Vec::new()),
    }
}

fn show(args: &MemoryArgs, usage: &Usage) -> Result<(), Failure> {
    if usage.ops.is_empty() {
        return Err(failure!(
            "expected what buffers and circular buffers hold during each op, as `kprof record \
             --device-memory-profiler` records it, found {} without; what the host allocated, if that was \
             recorded, is in `kprof report`",
            counted(usage.op_count, "op", "ops")
        ));
    }
    let chosen: Vec<usize> = (0..usage.ops.len())
        .filter(|&index| args.op.as_ref().is_none_or(|op| is_op(&usage.ops[index], op)))
        .collect();
    if chosen.is_empty() {
        return Err(failure!(
            "expected an op with `{}` in its name, found none among {}; `kprof report` lists them",
            args.op.as_deref().unwrap_or_default(),
            counted(usage.ops.len() as u64, "op", "ops")
        ));
    }
    if args.json {
        let rows = chosen.iter().flat_map(|&index| usage.rows(index, args.core)).collect();
        let document = Document {
            peaks: usage.peaks(&chosen),
            makers: makers(usage, &chosen),
            counts: counts(usage),
            memory: Rows(rows),
        };
        return print(Some(&document), |_| Ok(()));
    }
    print(None::<()>, |out| write(args, usage, &chosen, out))
}

/// Returns true if an op has this text in its name, or this number.
pub(super) fn is_op(op: &OpUsage, wanted: &str) -> bool {
    let is_name = op.name.as_ref().is_some_and(|name| name.contains(wanted));
    is_name || program_label(op.run_host_id, None) == wanted
}

const fn counts(usage: &Usage) -> Counts {
    Counts {
        ops: usage.op_count,
        ops_without_buffers: usage.op_without_buffers_count,
        ops_without_launch_messages: usage.op_without_launch_count,
        ops_with_unreadable_buffers: usage.unreadable_count,
        buffers_never_seen: usage.unknown_buffer_count,
    }
}

/// Returns what keeps each chip's memories in use during the ops with the peaks among some ops.
pub(super) fn makers(usage: &Usage, chosen: &[usize]) -> Vec<Made> {
    let of_peaks = usage.peaks_and_makers(chosen).into_iter();
    let makers = of_peaks.flat_map(|(Peak { chip_id, run_host_id, .. }, makers)| {
        makers.into_iter().map(move |maker| Made { chip_id, run_host_id, maker })
    });
    makers.collect()
}

fn op_label(op: &OpUsage) -> String {
    let name = printable(op.name.as_deref().unwrap_or("an op without a name"), LONGEST_NAME);
    format!("{name} ({})", program_label(op.run_host_id, None))
}

/// Returns the place of a call as text, after a word in front of it; empty if it is unknown.
fn called(before: &str, place: &CallPlace) -> String {
    if place.is_unknown() {
        return String::new();
    }
    format!("{before}{}", printable(&place.to_string(), LONGEST_PLACE))
}

/// Maximum number of characters of a file, its line and a module.
const LONGEST_PLACE: usize = 120;

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        "0 %".to_owned()
    } else {
        format!("{:.1} %", part as f64 * 100.0 / whole as f64)
    }
}

fn write(
    args: &MemoryArgs,
    usage: &Usage,
    chosen: &[usize],
    out: &mut impl Write,
) -> io::Result<()> {
    for chip in usage.chips() {
        let ops: Vec<usize> =
            chosen.iter().copied().filter(|&index| usage.ops[index].chip_id == chip).collect();
        if let Some(peak) = usage.l1_peak(&ops) {
            write_l1(args, usage, peak, out)?;
            write_ops(args, usage, &ops, out)?;
        }
        if let Some(peak) = usage.dram_peak(&ops) {
            write_dram(args, usage, peak, out)?;
        }
    }
    write_unknown(usage, out)
}

fn write_l1(
    args: &MemoryArgs,
    usage: &Usage,
    index: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let op = &usage.ops[index];
    let l1 = &op.l1;
    let most = if l1.is_lower_bound() { "at least " } else { "" };
    let of = l1.l1_bytes.map_or_else(String::new, |bytes| {
        format!(" of {} bytes ({})", grouped(bytes), percent(l1.known_bytes(), bytes))
    });
    let cores = match (l1.cores.first(), l1.cores.len()) {
        (None, _) => "every worker core".to_owned(),
        (Some((x, y)), 1) => format!("core {x}-{y}"),
        (Some((x, y)), count) => format!("core {x}-{y} and {} like it", count - 1),
    };
    writeln!(
        out,
        "L1 of chip {}: {most}{}{of} on {cores}, during {}{}",
        op.chip_id,
        grouped(l1.known_bytes()),
        op_label(op),
        called(", called at ", &op.place)
    )?;
    for (bytes, what) in l1.parts().into_iter().zip(L1Usage::PARTS) {
        let share = bytes.map_or_else(String::new, |bytes| percent(bytes, l1.known_bytes()));
        writeln!(out, "{:>14} {share:>7}  {what}", bytes.map_or("unknown".to_owned(), grouped))?;
    }
    match (l1.free_bytes(), l1.largest_free_bytes) {
        (Some(free), Some(largest)) => {
            let largest = grouped(largest);
            writeln!(out, "{:>14}          free, {largest} of it in one piece", grouped(free))?;
        }
        _ => writeln!(out, "{:>14}          free", "unknown")?,
    }
    write_outlived(usage, &usage.outlived(index, "L1"), out)?;
    write_makers(usage, (index, "L1"), args.rows, out)?;
    let core = args.core.or_else(|| l1.cores.first());
    let rows = usage.rows(index, core);
    let mut rows: Vec<&MemoryRow<'_>> = rows.iter().filter(|row| row.memory == "L1").collect();
    rows.sort_by_key(|row| (row.start, row.number, row.content.clone()));
    let of_core = core.map_or_else(String::new, |(x, y)| format!(" of core {x}-{y}"));
    writeln!(out, "\nL1{of_core} during {}\n", op_label(op))?;
    write_rows(&rows, args.rows, out)?;
    writeln!(out)
}

fn write_outlived(usage: &Usage, outlived: &[&Lifetime], out: &mut impl Write) -> io::Result<()> {
    if outlived.is_empty() {
        return Ok(());
    }
    let bytes: u64 = outlived.iter().map(|one| one.size_bytes).sum();
    let tensors = counted(outlived.len() as u64, "tensor", "tensors");
    writeln!(
        out,
        "{:>14}          in {tensors} that no later op has as a tensor:",
        grouped(bytes)
    )?;
    for one in outlived.iter().take(MOST_OUTLIVED) {
        let last = one.last_use.map_or_else(String::new, |last| op_label(&usage.ops[last]));
        let content = printable(one.content.as_deref().unwrap_or_default(), LONGEST_NAME);
        let bytes = grouped(one.size_bytes);
        let made = called(", made at ", &one.place);
        writeln!(out, "{bytes:>14}          {content}{made}, last of {last}")?;
    }
    if outlived.len() > MOST_OUTLIVED {
        writeln!(out, "{:>14}          and {} more", "", outlived.len() - MOST_OUTLIVED)?;
    }
    Ok(())
}

/// Writes what keeps a memory in use during an op, by the call or op that it belongs to.
fn write_makers(
    usage: &Usage,
    (index, memory): (usize, &str),
    limit: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut makers = usage.makers(index);
    makers.retain(|maker| maker.memory == memory && maker.bytes > 0);
    if makers.is_empty() {
        return Ok(());
    }
    let whole: u64 = makers.iter().map(|maker| maker.bytes).sum();
    writeln!(out, "\nWhat fills {memory} during {}\n", op_label(&usage.ops[index]))?;
    write_columns!(&makers, limit, out, |maker| {
        "bytes" => grouped(maker.bytes),
        "share" => percent(maker.bytes, whole),
        "what" => maker.kind,
        "ranges" => grouped(maker.range_count),
        "of" => printable(maker.owner.as_deref().unwrap_or_default(), LONGEST_NAME),
        "called at" => called("", &maker.place),
        "of no later use" => grouped(maker.outlived_bytes),
    })
}

/// Number of tensors in a list of those that no later op has.
const MOST_OUTLIVED: usize = 5;

fn write_rows(rows: &[&MemoryRow<'_>], limit: usize, out: &mut impl Write) -> io::Result<()> {
    write_columns!(rows, limit, out, |row| {
        "start" => row.start,
        "bytes" => grouped(row.size_bytes),
        "not yet counted" => grouped(row.counted_bytes),
        "what" => what(row),
        "content" => printable(row.content.as_deref().unwrap_or_default(), LONGEST_NAME),
        "allocated by" => printable(row.owner.as_deref().unwrap_or_default(), LONGEST_NAME),
        "last use" => row.last_use_run_host_id.map_or_else(String::new, |id| program_label(id, None)),
    })
}

fn what(row: &MemoryRow<'_>) -> String {
    let Some(number) = row.number else { return row.kind.clone() };
    match (row.page_count, row.page_bytes) {
        (Some(count), Some(bytes)) => format!("{} {number}: {count} x {bytes}", row.kind),
        _ => format!("{} {number}", row.kind),
    }
}

fn write_ops(
    args: &MemoryArgs,
    usage: &Usage,
    ops: &[usize],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut ops: Vec<&OpUsage> = ops.iter().map(|&index| &usage.ops[index]).collect();
    ops.sort_by_key(|op| std::cmp::Reverse(op.l1.known_bytes()));
    writeln!(out, "L1 of the fullest core during each op, bytes\n")?;
    let of = |get: fn(&L1Usage) -> Option<u64>, op: &OpUsage| optional(get(&op.l1));
    write_columns!(&ops, args.rows, out, |op| {
        "program" => program_label(op.run_host_id, None),
        "name" => printable(op.name.as_deref().unwrap_or_default(), LONGEST_NAME),
        "core" => op.l1.cores.first().map_or_else(String::new, |(x, y)| format!("{x}-{y}")),
        "in use" => grouped(op.l1.known_bytes()),
        "circular buffers" => of(|l1| l1.circular_buffer_bytes, op),
        "buffers" => of(|l1| l1.buffer_bytes, op),
        "free" => of(L1Usage::free_bytes, op),
        "in one piece" => of(|l1| l1.largest_free_bytes, op),
    })?;
    writeln!(out)
}

fn write_dram(
    args: &MemoryArgs,
    usage: &Usage,
    index: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let op = &usage.ops[index];
    let used = op.dram_bytes.unwrap_or_default();
    let of = op.dram_bank_bytes.map_or_else(String::new, |bytes| {
        format!(" of {} bytes ({})", grouped(bytes), percent(used, bytes))
    });
    writeln!(
        out,
        "DRAM of chip {}: {}{of} in each bank, during {}",
        op.chip_id,
        grouped(used),
        op_label(op)
    )?;
    write_outlived(usage, &usage.outlived(index, "DRAM"), out)?;
    write_makers(usage, (index, "DRAM"), args.rows, out)?;
    let rows = usage.rows(index, None);
    let mut rows: Vec<&MemoryRow<'_>> = rows.iter().filter(|row| row.memory == "DRAM").collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.size_bytes));
    writeln!(out)?;
    write_rows(&rows, args.rows, out)?;
    writeln!(out)
}

/// Writes what is not known.
fn write_unknown(usage: &Usage, out: &mut impl Write) -> io::Result<()> {
    let ops = counted(usage.op_count, "op", "ops");
    for (count, what) in [
        (
            usage.op_without_launch_count,
            "have no launch messages: their circular buffers are unknown",
        ),
        (
            usage.op_without_buffers_count,
            "have no list of buffers: a call that kprof did not see, or a graph of the program's own",
        ),
        (usage.unreadable_count, "have a list of buffers that cannot be read"),
    ] {
        if count > 0 {
            writeln!(out, "{} of {ops} {what}", grouped(count))?;
        }
    }
    if usage.unknown_buffer_count > 0 {
        let count = counted(usage.unknown_buffer_count, "buffer", "buffers");
        writeln!(out, "{count} freed or used that kprof never saw")?;
    }
    Ok(())
}
