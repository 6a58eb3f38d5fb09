//! The columns of every table: names, kinds, and what they mean.

/// Which table of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Zones.
    Zones,
    /// Events, data markers and sums.
    Markers,
    /// Launches of programs.
    Ops,
    /// Losses of records.
    Losses,
    /// Zones of the host's threads.
    HostZones,
    /// Messages, signposts, frames and plots of the host.
    HostEvents,
    /// Readings of hardware counters.
    Counters,
    /// Events of the NoCs.
    NocEvents,
    /// Waits, one by one.
    Waits,
    /// Waits of a run for one object, added up.
    WaitSums,
    /// Time of RISCs in the profiler's own zones.
    ProfilerTime,
    /// Allocations of buffers, and their ends.
    Buffers,
    /// Peaks of buffers by op.
    OpBuffers,
}

/// The schema of a table.
pub(super) const fn schema_of(kind: TableKind) -> &'static TableSchema {
    match kind {
        TableKind::Zones => &ZONES,
        TableKind::Markers => &MARKERS,
        TableKind::Ops => &OPS,
        TableKind::Losses => &LOSSES,
        TableKind::HostZones => &HOST_ZONES,
        TableKind::HostEvents => &HOST_EVENTS,
        TableKind::Counters => &COUNTERS,
        TableKind::NocEvents => &NOC_EVENTS,
        TableKind::Waits => &WAITS,
        TableKind::WaitSums => &WAIT_SUMS,
        TableKind::ProfilerTime => &PROFILER_TIME,
        TableKind::Buffers => &BUFFERS,
        TableKind::OpBuffers => &OP_BUFFERS,
    }
}

/// One table of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Which table it is.
    pub kind: TableKind,
    /// Its name, which is that of its folder.
    pub name: &'static str,
    /// Description of a row.
    pub row: &'static str,
    /// The folders that its files lie in, `host` and perhaps `device`. They are no columns
    /// of the files: their values are read from the names of folders.
    pub partitions: &'static [&'static str],
    /// Its columns in order.
    pub columns: &'static [ColumnSchema],
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    /// Its name, with its unit if it has one.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
    /// True if a value may be missing.
    pub is_optional: bool,
    /// Description of the column.
    pub meaning: &'static str,
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Small numbers from 0.
    Unsigned32,
    /// Numbers from 0, such as cycles.
    Unsigned64,
    /// Nanoseconds; what does not fit is the largest number.
    Signed64,
    /// Yes or no.
    Flag,
    /// Numbers with fractions.
    Real,
    /// Low-cardinality text, dictionary-encoded.
    Text,
}

impl ColumnKind {
    /// The name that SQL engines show.
    #[must_use]
    pub const fn sql_label(self) -> &'static str {
        match self {
            Self::Unsigned32 => "UINTEGER",
            Self::Unsigned64 => "UBIGINT",
            Self::Signed64 => "BIGINT",
            Self::Flag => "BOOLEAN",
            Self::Real => "DOUBLE",
            Self::Text => "VARCHAR",
        }
    }

    const fn parquet_words(self) -> (&'static str, &'static str) {
        match self {
            Self::Unsigned32 => ("INT32", " (INTEGER(32,false))"),
            Self::Unsigned64 => ("INT64", " (INTEGER(64,false))"),
            Self::Signed64 => ("INT64", ""),
            Self::Flag => ("BOOLEAN", ""),
            Self::Real => ("DOUBLE", ""),
            Self::Text => ("BYTE_ARRAY", " (STRING)"),
        }
    }
}

impl TableSchema {
    /// A table of each device.
    const fn of_device(
        kind: TableKind,
        name: &'static str,
        row: &'static str,
        columns: &'static [ColumnSchema],
    ) -> Self {
        Self { kind, name, row, partitions: &["host", "device"], columns }
    }

    /// A table of each host.
    const fn of_host(
        kind: TableKind,
        name: &'static str,
        row: &'static str,
        columns: &'static [ColumnSchema],
    ) -> Self {
        Self { kind, name, row, partitions: &["host"], columns }
    }

    /// Returns true if its rows describe the host, not one device.
    pub(super) fn is_of_host(&self) -> bool {
        !self.partitions.contains(&"device")
    }

    /// The schema in Parquet's own words.
    pub(super) fn parquet_message(&self) -> String {
        let column = |column: &ColumnSchema| {
            let repetition = if column.is_optional { "OPTIONAL" } else { "REQUIRED" };
            let (physical, logical) = column.kind.parquet_words();
            format!("{repetition} {physical} {}{logical};", column.name)
        };
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        format!("message {} {{ {} }}", self.name, columns.join(" "))
    }
}

const fn column(
    name: &'static str,
    kind: ColumnKind,
    is_optional: bool,
    meaning: &'static str,
) -> ColumnSchema {
    ColumnSchema { name, kind, is_optional, meaning }
}

use ColumnKind::{Flag, Real, Signed64, Text, Unsigned32, Unsigned64};

const RECORDING: ColumnSchema =
    column("recording", Text, false, "the capture or log that the row is from");
const CORE_X: ColumnSchema = column("core_x", Unsigned32, false, "NoC-0 x of the core");
const CORE_Y: ColumnSchema = column("core_y", Unsigned32, false, "NoC-0 y of the core");
const RISC: ColumnSchema = column("risc", Text, false, "BRISC, NCRISC, TRISC_0 to TRISC_2, ERISC");
const FILE: ColumnSchema = column("file", Text, true, "source file, if known");
const LINE: ColumnSchema = column("line", Unsigned32, true, "source line, if known");
const OP: ColumnSchema =
    column("op", Unsigned32, true, "number of its op in `ops`, of the same recording and device");
const RUN_HOST_ID: ColumnSchema =
    column("run_host_id", Unsigned32, true, "the program, encoded with its chip");

const START_NS: ColumnSchema =
    column("start_ns", Signed64, false, "start since the recording's first record");
const DURATION_NS: ColumnSchema = column("duration_ns", Signed64, false, "how long it took");
const START_HOST_NS: ColumnSchema = column(
    "start_host_ns",
    Signed64,
    true,
    "start on the host's clock, if chips were synchronised",
);

const THREAD_NAME: ColumnSchema =
    column("thread_name", Text, true, "name of its thread, if it has one");
const FUNCTION: ColumnSchema = column("function", Text, true, "function or module, if known");
const COLOR: ColumnSchema =
    column("color", Text, true, "colour that the program gave it, as #rrggbb");

/// `zones`, `markers`, `ops`, `losses`, `counters`, `noc_events`, `waits`, `wait_sums` and
/// `profiler_time` of devices, `host_zones`, `host_events`, `buffers` and `op_buffers`.
pub const DATASET_TABLES: [TableSchema; 13] = [
    ZONES,
    MARKERS,
    OPS,
    LOSSES,
    COUNTERS,
    NOC_EVENTS,
    WAITS,
    WAIT_SUMS,
    PROFILER_TIME,
    HOST_ZONES,
    HOST_EVENTS,
    BUFFERS,
    OP_BUFFERS,
];

const WAIT_KIND: ColumnSchema = column(
    "kind",
    Text,
    false,
    "CB_WAIT, CB_RESERVE, SEM_WAIT, NOC_READ_BARRIER, NOC_WRITE_BARRIER, NOC_ATOMIC_BARRIER, \
     NOC_FULL_BARRIER or NOC_WRITE_FLUSH",
);
const WAIT_OBJECT: ColumnSchema =
    column("object", Text, false, "circular buffer, semaphore or NoC");
const WAIT_KEY: ColumnSchema =
    column("key", Unsigned32, false, "number of the buffer or NoC, L1 address of the semaphore");

/// A wait's RISC and object.
const WAITED: [ColumnSchema; 9] =
    [RECORDING, CORE_X, CORE_Y, RISC, OP, RUN_HOST_ID, WAIT_KIND, WAIT_OBJECT, WAIT_KEY];

/// Puts columns behind others; the compiler checks that there are as many.
const fn joined<const COUNT: usize>(
    first: &[ColumnSchema],
    rest: &[ColumnSchema],
) -> [ColumnSchema; COUNT] {
    assert!(first.len() + rest.len() == COUNT);
    let mut all = [RECORDING; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = if at < first.len() { first[at] } else { rest[at - first.len()] };
        at += 1;
    }
    all
}

const WAITS: TableSchema = TableSchema::of_device(
    TableKind::Waits,
    "waits",
    "one wait of one RISC for a circular buffer, a semaphore or a NoC",
    &joined::<16>(
        &WAITED,
        &[
            column("start_cycle", Unsigned64, false, "first cycle on the clock of the chip"),
            column("duration_cycles", Unsigned64, false, "how long it took, in cycles"),
            START_NS,
            DURATION_NS,
            START_HOST_NS,
            column(
                "has_blocked",
                Flag,
                true,
                "whether it blocked; none of TT-Metal's zones, which do not tell",
            ),
            column(
                "is_lower_bound",
                Flag,
                false,
                "whether it took longer than its record can tell",
            ),
        ],
    ),
);

const WAIT_SUMS: TableSchema = TableSchema::of_device(
    TableKind::WaitSums,
    "wait_sums",
    "all waits of one launch of one RISC for one object",
    &joined::<13>(
        &WAITED,
        &[
            column(
                "waits",
                Unsigned64,
                false,
                "how many there were; of TT-Metal's zones also those that did not block",
            ),
            column("total_cycles", Unsigned64, false, "cycles of all of them"),
            column(
                "is_lower_bound",
                Flag,
                false,
                "whether there may be more: recorded in windows of time alone, or more than the record \
             can tell",
            ),
            column(
                "is_from_kernel",
                Flag,
                false,
                "whether the kernel added them up, else they are the rows of `waits`",
            ),
        ],
    ),
);

const PROFILER_TIME: TableSchema = TableSchema::of_device(
    TableKind::ProfilerTime,
    "profiler_time",
    "time of one RISC in zones of the profiler's own",
    &[
        RECORDING,
        CORE_X,
        CORE_Y,
        RISC,
        column(
            "kind",
            Text,
            false,
            "wait for the host (debug dump) or push of several launches (accumulate mode)",
        ),
        column("count", Unsigned64, false, "zones with an end of their own"),
        column("total_cycles", Unsigned64, false, "cycles of all of them"),
        column("max_cycles", Unsigned64, false, "cycles of the longest"),
    ],
);

const ZONES: TableSchema = TableSchema::of_device(
    TableKind::Zones,
    "zones",
    "one zone of one RISC, from its start to its end",
    &[
        RECORDING,
        CORE_X,
        CORE_Y,
        RISC,
        column("name", Text, false, "name of the zone; its id if unknown"),
        FILE,
        LINE,
        OP,
        RUN_HOST_ID,
        column("depth", Unsigned32, false, "zones around it; 0 is outermost"),
        column("start_cycle", Unsigned64, false, "first cycle on the clock of the chip"),
        column("duration_cycles", Unsigned64, false, "cycles as recorded"),
        column("self_cycles", Unsigned64, false, "cycles that no zone inside of it covers"),
        START_NS,
        DURATION_NS,
        START_HOST_NS,
        column("has_synthetic_end", Flag, false, "whether the record of its end is missing"),
        column("is_clipped", Flag, false, "whether it reaches out of the zone around it"),
    ],
);

const MARKERS: TableSchema = TableSchema::of_device(
    TableKind::Markers,
    "markers",
    "one event, data marker or sum of one RISC",
    &[
        RECORDING,
        CORE_X,
        CORE_Y,
        RISC,
        column("kind", Text, false, "event, data or sum"),
        column("name", Text, false, "name of the marker; its id if unknown"),
        FILE,
        LINE,
        OP,
        RUN_HOST_ID,
        column(
            "cycle",
            Unsigned64,
            false,
            "when, on the clock of the chip; of sums the start of the run",
        ),
        column("time_ns", Signed64, false, "when, since the recording's first record"),
        column("host_ns", Signed64, true, "when, on the host's clock, if chips were synchronised"),
        column("value", Unsigned64, true, "the data; the cycles of a sum"),
        column("second_value", Unsigned64, true, "the second word of 16 bytes of data"),
        column("text", Text, true, "what a log attached to it"),
    ],
);

const OPS: TableSchema = TableSchema::of_device(
    TableKind::Ops,
    "ops",
    "one launch of one program on one device",
    &[
        RECORDING,
        column("op", Unsigned32, false, "its number, in the order of starts"),
        column("name", Text, true, "name, if the host gave one"),
        column("program", Unsigned32, false, "the program's number without its chip"),
        column("run_host_id", Unsigned32, false, "the program, encoded with its chip"),
        column("launch", Unsigned64, false, "which launch of the program, from 1"),
        column("trace_id", Unsigned64, true, "the trace that was replayed, if any"),
        column("trace_replay", Unsigned64, true, "which replay of it, from 1"),
        column("sub_device_id", Unsigned32, true, "the sub-device that it ran on, if any"),
        column("cores", Unsigned64, false, "cores that ran it"),
        column("start_cycle", Unsigned64, false, "first cycle on the clock of the chip"),
        column(
            "duration_cycles",
            Unsigned64,
            true,
            "firmware start to end; of the kernel or the records without firmware zones",
        ),
        column("kernel_cycles", Unsigned64, true, "first kernel start to last kernel end"),
        column(
            "op_to_op_latency_cycles",
            Unsigned64,
            true,
            "from the end of the previous op's kernel",
        ),
        START_NS,
        column("duration_ns", Signed64, true, "how long it took"),
        START_HOST_NS,
        column(
            "clocks_of_cores_disagree",
            Flag,
            false,
            "whether it has no figures over several cores, since their clocks disagree",
        ),
        column("no_duration_because", Text, true, "why its durations are empty, if they are"),
        column(
            "no_op_to_op_latency_because",
            Text,
            true,
            "why the latency is empty, if ops do not overlap",
        ),
        column("metadata", Text, true, "everything that the host said of it, as a JSON object"),
        column(
            "stall_cycles",
            Unsigned64,
            true,
            "cycles that its RISCs waited for the host, added up; none if none did or records are missing",
        ),
    ],
);

pub(super) const LOSSES: TableSchema = TableSchema::of_device(
    TableKind::Losses,
    "losses",
    "records of one RISC, program and cause that are missing",
    &[
        RECORDING,
        CORE_X,
        CORE_Y,
        RISC,
        column(
            "cause",
            Text,
            false,
            "L1 full, DRAM full, never arrived, damaged, host overwrote, validate off, \
             push timed out, not published in time or unreadable",
        ),
        RUN_HOST_ID,
        column("zones", Unsigned64, false, "zones that are missing"),
        column("data", Unsigned64, false, "data markers that are missing"),
        column("events", Unsigned64, false, "events that are missing"),
        column("sums", Unsigned64, false, "sums that are missing"),
        column("unknown_markers", Unsigned64, false, "missing markers whose kind cannot be known"),
        column("is_lower_bound", Flag, false, "whether more may be missing"),
        column("runs", Unsigned64, false, "runs that lost records, 0 where they are not counted"),
        column(
            "first_run_host_id",
            Unsigned32,
            true,
            "first launch among which those are that lost records, if that is not one program",
        ),
        column("last_run_host_id", Unsigned32, true, "last launch of these"),
        column("time_ns", Signed64, true, "where it is shown, if the chip has records"),
    ],
);

const COUNTERS: TableSchema = TableSchema::of_device(
    TableKind::Counters,
    "counters",
    "one reading of one hardware counter on one core",
    &[
        RECORDING,
        CORE_X,
        CORE_Y,
        RISC,
        column("neo", Unsigned32, false, "part of the core, of which a Quasar has four"),
        OP,
        RUN_HOST_ID,
        column("cycle", Unsigned64, false, "when it was read, on the clock of the chip"),
        column("time_ns", Signed64, false, "when, since the recording's first record"),
        column("counter", Text, true, "name of the counter; none if nothing tells it"),
        column("counter_group", Text, true, "fpu, pack, unpack, instrn or l1_0 to l1_5"),
        column(
            "value",
            Unsigned64,
            true,
            "events; none if the hardware ties the counter to a constant, or if it was never started",
        ),
        column("cycles", Unsigned64, true, "cycles that they were counted over, if known"),
        column("problem", Text, true, "why there is no reading, if there is none"),
    ],
);

const NOC_EVENTS: TableSchema = TableSchema::of_device(
    TableKind::NocEvents,
    "noc_events",
    "one transfer, barrier, semaphore or fabric packet that a core recorded",
    &[
        RECORDING,
        CORE_X,
        CORE_Y,
        RISC,
        RUN_HOST_ID,
        column("op_name", Text, true, "name of the op, if the host gave one"),
        column("cycle", Unsigned64, false, "when, on the clock of the chip"),
        column("time_ns", Signed64, false, "when, since the recording's first record"),
        column(
            "kind",
            Text,
            true,
            "READ, WRITE_, SEMAPHORE_INC and others, as TT-Metal names them",
        ),
        column("noc", Text, true, "NOC_0 or NOC_1"),
        column(
            "to_x",
            Signed64,
            true,
            "NoC-0 x of the other tile, if there is one and it is known",
        ),
        column("to_y", Signed64, true, "NoC-0 y of it"),
        column(
            "bytes",
            Unsigned64,
            true,
            "bytes, rounded up to 32; 8160, or 131040 since tt-metal 0.81.1, stands for more, too",
        ),
        column("vc", Signed64, true, "virtual channel"),
        column("source_address", Unsigned32, true, "address in the source's tile, if recorded"),
        column("target_address", Unsigned32, true, "address in the target's tile, if recorded"),
        column("noc_counter", Unsigned32, true, "the NoC's counter of transfers, its low 12 bits"),
    ],
);

pub(super) const HOST_ZONES: TableSchema = TableSchema::of_host(
    TableKind::HostZones,
    "host_zones",
    "one zone of one thread of the host",
    &[
        RECORDING,
        column("process_id", Unsigned32, false, "number of its process"),
        column("thread", Unsigned64, false, "number of its thread in the process, from 1"),
        THREAD_NAME,
        column("name", Text, false, "name of the zone"),
        FUNCTION,
        FILE,
        LINE,
        column("depth", Unsigned32, false, "zones around it; 0 is outermost"),
        START_NS,
        DURATION_NS,
        column("self_ns", Signed64, false, "how long no zone inside of it ran"),
        column("start_host_ns", Signed64, false, "start on the host's clock"),
        column("text", Text, true, "what was said of it"),
        column("is_clipped", Flag, false, "whether it reaches out of the zone around it"),
        COLOR,
    ],
);

pub(super) const BUFFERS: TableSchema = TableSchema::of_host(
    TableKind::Buffers,
    "buffers",
    "one change of the bytes that buffers of a chip hold in one kind of its memory",
    &[
        RECORDING,
        column("chip", Unsigned64, false, "number of the chip"),
        column("memory", Text, false, "DRAM, L1, L1_SMALL, TRACE or SYSTEM_MEMORY"),
        column("time_ns", Signed64, false, "when, since the recording's first record"),
        column("host_ns", Signed64, false, "when, on the host's clock"),
        column(
            "change_bytes",
            Signed64,
            false,
            "bytes that were allocated; below 0 if they were given back",
        ),
        column("held_bytes", Unsigned64, false, "bytes of all buffers from then on"),
        column("address", Unsigned64, true, "address of the buffer, if the host told it"),
    ],
);

pub(super) const OP_BUFFERS: TableSchema = TableSchema::of_host(
    TableKind::OpBuffers,
    "op_buffers",
    "most bytes that buffers held in one kind of memory while the host worked on one op",
    &[
        RECORDING,
        column("chip", Unsigned64, false, "number of the chip"),
        RUN_HOST_ID,
        column("name", Text, true, "name of the op, if the host gave one"),
        column("memory", Text, false, "DRAM, L1, L1_SMALL, TRACE or SYSTEM_MEMORY"),
        column("peak_bytes", Unsigned64, false, "most bytes of all buffers at a time"),
    ],
);

pub(super) const HOST_EVENTS: TableSchema = TableSchema::of_host(
    TableKind::HostEvents,
    "host_events",
    "one message, signpost, end of a frame or point of a plot of the host",
    &[
        RECORDING,
        column("process_id", Unsigned32, true, "number of its process; of plots none"),
        column("thread", Unsigned64, true, "number of its thread in the process; of plots none"),
        THREAD_NAME,
        column("kind", Text, false, "message, signpost, frame or plot"),
        column("name", Text, true, "name; of messages none"),
        FUNCTION,
        FILE,
        LINE,
        column("time_ns", Signed64, false, "when, since the recording's first record"),
        column("host_ns", Signed64, false, "when, on the host's clock"),
        column("value", Real, true, "the value, of points of plots"),
        column("text", Text, true, "the message; what was said of a signpost"),
        COLOR,
    ],
);
