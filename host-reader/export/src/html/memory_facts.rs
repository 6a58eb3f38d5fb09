//! Memory during ops for the page: how full L1 and DRAM are, their peaks, what makes them, and what is at
//! which address during each op.
//!
//! The ranges of ops are packed, in blocks of [`OPS_PER_BLOCK`] ops. A block begins with its texts; then, for
//! each op, come the number of its ranges and these numbers of each range:
//!
//! | number | content |
//! |---|---|
//! | memory | 0 for L1, 1 for DRAM |
//! | kind, cores, content, owner, module, location | index of the text plus one; 0 for none |
//! | circular buffer, layout, number of cores or banks | the number plus one; 0 for none |
//! | start | difference from the start of the range before, signed |
//! | size, counted bytes | |
//! | pages, bytes of a page, program of the last use | the number plus one; 0 for none |

use super::packed::PackedColumns;
use crate::{Trace, TraceMemory};
use memory::{L1Usage, Lifetime, Maker, OpUsage, Peak, Usage};
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;
use tables::{Arrays, MemoryRow};
use wire::RunHostId;

/// Number of ops in one block of the page.
const OPS_PER_BLOCK: usize = 256;

/// Memory during the ops of a recording.
#[derive(Serialize)]
pub(super) struct MemoryFacts<'a> {
    /// Labels of the parts of what is in L1, as the terminal shows them.
    parts: [&'static str; L1Usage::PARTS.len()],
    ops: Arrays<(&'a OpUsage, &'a Usage, usize)>,
    peaks: Vec<PeakFacts<'a>>,
    /// Number of ops in the recording.
    op_count: u64,
    ops_without_buffers: u64,
    ops_without_launch_messages: u64,
    ops_with_unreadable_buffers: u64,
    buffers_never_seen: u64,
}

/// The op during which a chip's memory is fullest, and what makes it so.
#[derive(Serialize)]
struct PeakFacts<'a> {
    #[serde(flatten)]
    peak: Peak,
    program: u32,
    makers: Vec<Maker>,
    outlived: Arrays<(&'a Lifetime, &'a Usage)>,
}

impl<'a> MemoryFacts<'a> {
    pub(super) fn new(trace: &'a Trace<'_>) -> Option<Self> {
        let TraceMemory { usage, shown } = trace.memory.as_ref()?;
        let peaks = usage.peaks_and_makers(shown).into_iter().map(|(peak, makers)| {
            let is_it = |index: &&usize| {
                usage.ops.get(**index).is_some_and(|op| {
                    (op.chip_id, op.run_host_id) == (peak.chip_id, peak.run_host_id)
                })
            };
            let index = shown.iter().find(is_it);
            let outlived = index.map(|&index| usage.outlived(index, peak.memory));
            PeakFacts {
                program: RunHostId(peak.run_host_id).base(),
                makers,
                outlived: outlived_columns(outlived.unwrap_or_default(), usage),
                peak,
            }
        });
        Some(Self {
            parts: L1Usage::PARTS,
            ops: op_columns(usage, shown),
            peaks: peaks.collect(),
            op_count: usage.op_count,
            ops_without_buffers: usage.op_without_buffers_count,
            ops_without_launch_messages: usage.op_without_launch_count,
            ops_with_unreadable_buffers: usage.unreadable_count,
            buffers_never_seen: usage.unknown_buffer_count,
        })
    }
}

/// Returns the ops that are shown, column by column; bytes are those of the fullest core, and of each DRAM
/// bank.
fn op_columns<'a>(usage: &'a Usage, shown: &[usize]) -> Arrays<(&'a OpUsage, &'a Usage, usize)> {
    let ops = shown.iter().filter_map(|&index| Some((usage.ops.get(index)?, usage, index)));
    Arrays::new(
        ops.collect::<Vec<_>>(),
        [
            ("chip_id", |(op, ..)| op.chip_id.into()),
            ("program", |(op, ..)| RunHostId(op.run_host_id).base().into()),
            ("name", |(op, ..)| op.name.as_deref().into()),
            ("module", |(op, ..)| op.place.module.as_deref().into()),
            ("location", |(op, ..)| op.place.location.as_deref().into()),
            ("cores", |(op, ..)| (!op.l1.cores.is_empty()).then(|| op.l1.cores.to_string()).into()),
            ("core_count", |(op, ..)| op.l1.cores.len().into()),
            // Bytes of the parts of L1, in the order of `parts`.
            ("parts", |(op, ..)| json!(op.l1.parts())),
            ("used", |(op, ..)| op.l1.known_bytes().into()),
            ("is_lower_bound", |(op, ..)| op.l1.is_lower_bound().into()),
            ("capacity", |(op, ..)| op.l1.l1_bytes.into()),
            ("free", |(op, ..)| op.l1.free_bytes().into()),
            ("largest_free", |(op, ..)| op.l1.largest_free_bytes.into()),
            ("outlived", |(_, usage, index)| usage.outlived_bytes(*index, "L1").into()),
            ("dram", |(op, ..)| op.dram_bytes.into()),
            ("dram_capacity", |(op, ..)| op.dram_bank_bytes.into()),
            ("dram_outlived", |(_, usage, index)| usage.outlived_bytes(*index, "DRAM").into()),
        ],
    )
}

/// Returns tensors that no later op has, column by column, with the last op that had each.
fn outlived_columns<'a>(
    outlived: Vec<&'a Lifetime>,
    usage: &'a Usage,
) -> Arrays<(&'a Lifetime, &'a Usage)> {
    fn last<'a>((one, usage): &(&'a Lifetime, &'a Usage)) -> Option<&'a OpUsage> {
        usage.ops.get(one.last_use?)
    }
    Arrays::new(
        outlived.into_iter().map(|one| (one, usage)).collect::<Vec<_>>(),
        [
            ("content", |(one, _)| one.content.as_deref().into()),
            ("size", |(one, _)| one.size_bytes.into()),
            ("owner", |(one, _)| one.owner.as_deref().into()),
            ("module", |(one, _)| one.place.module.as_deref().into()),
            ("location", |(one, _)| one.place.location.as_deref().into()),
            ("last_name", |of| last(of).and_then(|op| op.name.as_deref()).into()),
            ("last_program", |of| last(of).map(|op| RunHostId(op.run_host_id).base()).into()),
        ],
    )
}

/// Returns the ops of each block, by their indices.
pub(super) fn blocks<'a>(trace: &'a Trace<'_>) -> Vec<(&'a Usage, &'a [usize])> {
    let memory = trace.memory.iter();
    memory
        .flat_map(|TraceMemory { usage, shown }| {
            shown.chunks(OPS_PER_BLOCK).map(move |ops| (usage, ops))
        })
        .collect()
}

/// Packs the ranges of the ops of a block.
pub(super) fn pack_block(&(usage, ops): &(&Usage, &[usize])) -> PackedColumns {
    let mut texts = Texts::default();
    let mut ranges = PackedColumns::default();
    for &index in ops {
        let rows = usage.rows(index, None);
        ranges.count(rows.len());
        let mut before = 0_i64;
        for row in &rows {
            add_range(&mut ranges, &mut texts, row, &mut before);
        }
    }
    let mut columns = PackedColumns::default();
    columns.count(texts.all.len());
    texts.all.iter().for_each(|text| columns.text(text));
    columns.append(ranges);
    columns
}

fn add_range(
    columns: &mut PackedColumns,
    texts: &mut Texts,
    row: &MemoryRow<'_>,
    before: &mut i64,
) {
    columns.number(u64::from(row.memory != "L1"));
    let named = [
        Some(row.kind.as_str()),
        row.cores.as_deref(),
        row.content.as_deref(),
        row.owner.as_deref(),
        row.owner_module.as_deref(),
        row.owner_location.as_deref(),
    ];
    for text in named {
        columns.number(text.map_or(0, |text| texts.number(text)));
    }
    let optional = |columns: &mut PackedColumns, number: Option<u32>| {
        columns.number(number.map_or(0, |number| u64::from(number).saturating_add(1)));
    };
    for number in [row.number, row.layout, row.core_count] {
        optional(columns, number);
    }
    let start = row.start.cast_signed();
    columns.signed(start.wrapping_sub(*before));
    *before = start;
    columns.number(row.size_bytes);
    columns.number(row.counted_bytes);
    let last = row.last_use_run_host_id.map(|id| RunHostId(id).base());
    for number in [row.page_count, row.page_bytes, last] {
        optional(columns, number);
    }
}

/// Texts of a block, each once.
#[derive(Default)]
struct Texts {
    all: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Texts {
    /// Returns the index of a text, plus one.
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.all.push(text.to_owned());
        let number = self.all.len() as u64;
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
