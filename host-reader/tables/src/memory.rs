//! `memory`: what L1 and DRAM hold while an op runs.

use crate::{Column, DATASET_FOLDERS, RecordingKey, Table};
use std::borrow::Cow;

/// Table of ranges of L1 and DRAM, and of what is in them.
pub struct Memory;

/// A range of the memory of some cores, or of all banks of a memory, during an op.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryRow<'a> {
    /// Recording; used only in datasets.
    pub recording: RecordingKey<'a>,
    /// Number of the chip.
    pub chip_id: u32,
    /// Id of the program, with the chip encoded in it.
    pub run_host_id: u32,
    /// Name of the op.
    pub op: Option<String>,
    /// Number of the layout: launches of an op with other ranges on the same cores have another.
    pub layout: Option<u32>,
    /// Number of launches with this range.
    pub launches: Option<u64>,
    /// `L1` or `DRAM`.
    pub memory: String,
    /// NoC-0 coordinates of the cores; `None` for a range of all banks.
    pub cores: Option<String>,
    /// Number of cores, or of banks.
    pub core_count: Option<u32>,
    /// What is in the range.
    pub kind: String,
    /// Number of a circular buffer.
    pub number: Option<u32>,
    /// The RISC of a kernel, or shape, data type and layout of a tensor.
    pub content: Option<String>,
    /// First address in the memory of each core or bank.
    pub start: u64,
    /// Size in bytes in each core or bank.
    pub size_bytes: u64,
    /// Bytes of the range that are in no earlier row of the same op and core.
    pub counted_bytes: u64,
    /// Number of pages of a circular buffer.
    pub page_count: Option<u32>,
    /// Size of its pages in bytes.
    pub page_bytes: Option<u32>,
    /// Call that allocated a buffer.
    pub owner: Option<String>,
    /// Id of the last program that used a buffer, with the chip encoded in it.
    pub last_use_run_host_id: Option<u32>,
    /// Path of the module that allocated a buffer.
    pub owner_module: Option<String>,
    /// File and line of the call that allocated a buffer.
    pub owner_location: Option<String>,
}

impl MemoryRow<'_> {
    /// Kind of a core's circular buffer.
    pub const CIRCULAR_BUFFER: &'static str = "circular buffer";
    /// Kind of a circular buffer that another core fills.
    pub const REMOTE_CIRCULAR_BUFFER: &'static str = "remote circular buffer";
    /// Kind of a kernel's code.
    pub const KERNEL: &'static str = "kernel";
    /// Kind of the arguments, semaphores and configuration in front of kernels.
    pub const CONFIGURATION: &'static str = "configuration";
    /// Kind of the profiler's own memory.
    pub const PROFILER: &'static str = "profiler";
    /// Kind of memory that tt-metal keeps for itself.
    pub const RESERVED: &'static str = "reserved";
    /// Kind of a buffer that is a tensor's.
    pub const TENSOR: &'static str = "tensor";
    /// Kind of any other buffer.
    pub const BUFFER: &'static str = "buffer";

    /// Returns true if the range is a circular buffer.
    ///
    /// ```
    /// use tables::MemoryRow;
    /// let row = MemoryRow { kind: MemoryRow::KERNEL.to_owned(), ..Default::default() };
    /// assert!(!row.is_circular_buffer());
    /// ```
    #[must_use]
    pub fn is_circular_buffer(&self) -> bool {
        [Self::CIRCULAR_BUFFER, Self::REMOTE_CIRCULAR_BUFFER].contains(&self.kind.as_str())
    }

    /// Returns true if the range is a kernel's code or configuration.
    ///
    /// ```
    /// use tables::MemoryRow;
    /// let row = MemoryRow { kind: MemoryRow::CONFIGURATION.to_owned(), ..Default::default() };
    /// assert!(row.is_of_kernel());
    /// ```
    #[must_use]
    pub fn is_of_kernel(&self) -> bool {
        [Self::KERNEL, Self::CONFIGURATION].contains(&self.kind.as_str())
    }

    /// Returns true if the range is a buffer of the allocator, such as a tensor.
    ///
    /// ```
    /// use tables::MemoryRow;
    /// let row = MemoryRow { kind: MemoryRow::TENSOR.to_owned(), ..Default::default() };
    /// assert!(row.is_buffer());
    /// ```
    #[must_use]
    pub fn is_buffer(&self) -> bool {
        [Self::TENSOR, Self::BUFFER].contains(&self.kind.as_str())
    }
}

fn text(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_deref().map(Cow::Borrowed)
}

type MemoryColumn = Column<Memory>;

const NO_CIRCULAR_BUFFER: &str = "not a circular buffer";
const NO_BUFFER: &str = "not a buffer, or unknown";
const NO_CALL: &str = "not a buffer, no such call, or calls were not recorded";

impl Table for Memory {
    type Row<'a> = MemoryRow<'a>;
    const NAME: &'static str = "memory";
    const ROW: &'static str =
        "one range of the memory of some cores, or of all banks of a memory, during one op";
    const PARTITIONS: &'static [&'static str] = DATASET_FOLDERS;
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        MemoryColumn::text("host", super::HOST, |row| row.recording.host.into()).in_dataset(),
        MemoryColumn::text("recording", super::RECORDING, |row| row.recording.recording.into()).in_dataset(),
        MemoryColumn::small("chip_id", super::CHIP_ID, |row| row.chip_id).in_summary(),
        MemoryColumn::small("run_host_id", super::RUN_HOST_ID, |row| row.run_host_id).in_summary(),
        MemoryColumn::optional_text("op_name", "name of the op", "the host gave no name", |row| text(&row.op)).in_summary(),
        MemoryColumn::optional_small("layout", "number of the layout: launches of the op with other ranges have another number", "not from launch messages", |row| row.layout),
        MemoryColumn::optional_number("launches", "number of launches with this range", "not from launch messages", |row| row.launches),
        MemoryColumn::text("memory", "L1 or DRAM", |row| row.memory.as_str().into()).in_summary(),
        MemoryColumn::optional_text("core_ranges", "NoC-0 coordinates of the cores, as X-Y or as the corners of a rectangle, X-Y:X-Y, separated by blanks", "all worker cores of L1, or all banks of DRAM", |row| text(&row.cores)).in_summary(),
        MemoryColumn::optional_number("core_count", "number of cores or banks", super::UNKNOWN, |row| row.core_count.map(u64::from)).in_summary(),
        MemoryColumn::text("kind", "circular buffer, remote circular buffer (filled by another core), kernel, configuration (arguments, semaphores, circular buffers), profiler, reserved (by tt-metal), tensor, or buffer (of the allocator, without a tensor)", |row| row.kind.as_str().into()).in_summary(),
        MemoryColumn::optional_small("number", "number of the circular buffer", NO_CIRCULAR_BUFFER, |row| row.number).in_summary(),
        MemoryColumn::optional_text("content", "RISC of a kernel, or shape, data type and layout of a tensor", "neither a kernel nor a tensor", |row| text(&row.content)).in_summary(),
        MemoryColumn::number("start", "first address in the memory of each core or bank", |row| row.start).in_summary(),
        MemoryColumn::number("size_bytes", "size in each core or bank", |row| row.size_bytes).in_summary(),
        MemoryColumn::number("counted_bytes", "bytes that are in no earlier row of the op and core, so that sums count no byte twice; circular buffers may lie in tensors", |row| row.counted_bytes).in_summary(),
        MemoryColumn::optional_small("page_count", "number of pages of the circular buffer", NO_CIRCULAR_BUFFER, |row| row.page_count),
        MemoryColumn::optional_small("page_bytes", "size of a page of the circular buffer", NO_CIRCULAR_BUFFER, |row| row.page_bytes),
        MemoryColumn::optional_text("owner", "call that allocated the buffer", NO_BUFFER, |row| text(&row.owner)).in_summary(),
        MemoryColumn::optional_small("last_use_run_host_id", "id of the last program that had the buffer as a tensor, with the chip encoded in it", NO_BUFFER, |row| row.last_use_run_host_id).in_summary(),
        MemoryColumn::optional_text("owner_module", "path of the module of the model whose call allocated the buffer", NO_CALL, |row| text(&row.owner_module)).in_summary(),
        MemoryColumn::optional_text("owner_location", "file and line of the call that allocated the buffer", NO_CALL, |row| text(&row.owner_location)).in_summary(),
    ];
}
