//! Tables of recordings and of single items: zones, markers, counters, NoC events, waits, host
//! events and buffers.

use crate::{
    CHIP_ID, CORE_X, CORE_Y, Column, DATASET_FOLDERS, FILE, HOST, LINE, NO_HOST_CLOCK, RECORDING,
    RISC, RUN_HOST_ID, RecordingKey, START_HOST_NS, START_NS, Table, UNKNOWN, WAIT_KEY, WAIT_KIND,
};
use reader::lane::LaneId;
use std::borrow::Cow;

/// The recording and the lane to which a row belongs.
#[derive(Clone, Copy, Debug)]
pub struct LanePlace<'a> {
    /// Recording.
    pub recording: RecordingKey<'a>,
    /// Lane.
    pub lane: LaneId,
}

/// Rust type of a row's field, determined by the kind of the column.
macro_rules! field {
    (small $life:lifetime) => { u32 };
    (optional_small $life:lifetime) => { Option<u32> };
    (number $life:lifetime) => { u64 };
    (optional_number $life:lifetime) => { Option<u64> };
    (signed $life:lifetime) => { i64 };
    (optional_signed $life:lifetime) => { Option<i64> };
    (flag $life:lifetime) => { bool };
    (optional_flag $life:lifetime) => { Option<bool> };
    (optional_real $life:lifetime) => { Option<f64> };
    (text $life:lifetime) => { Cow<$life, str> };
    (optional_text $life:lifetime) => { Option<Cow<$life, str>> };
}

/// Expression that converts a row's field to the value that the column's getter returns.
macro_rules! value {
    (text $field:expr) => {
        Cow::Borrowed(&*$field)
    };
    (optional_text $field:expr) => {
        $field.as_deref().map(Cow::Borrowed)
    };
    ($kind:ident $field:expr) => {
        $field
    };
}

/// Defines a table, and its row type with one field per column.
///
/// With `lane`, the table also has the columns of a lane: chip, core and RISC.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $table:ident $row:ident = $name:literal, $row_doc:literal, lane
        $($kind:ident $column:ident: $meaning:expr $(, null $null:expr)?;)*
    ) => {
        table! {
            @define $(#[$doc])* $table $row = $name, $row_doc,
            { place: LanePlace<'a> }
            [
                Column::<Self>::text("host", HOST, |row| row.place.recording.host.into()).in_dataset(),
                Column::<Self>::text("recording", RECORDING, |row| row.place.recording.recording.into()),
                Column::<Self>::small("chip_id", CHIP_ID, |row| row.place.lane.chip_id),
                Column::<Self>::small("core_x", CORE_X, |row| row.place.lane.core.x.into()),
                Column::<Self>::small("core_y", CORE_Y, |row| row.place.lane.core.y.into()),
                Column::<Self>::text("risc", RISC, |row| row.place.lane.risc.label().into()),
            ]
            $($kind $column: $meaning $(, null $null)?;)*
        }
    };
    (
        $(#[$doc:meta])*
        $table:ident $row:ident = $name:literal, $row_doc:literal;
        $($kind:ident $column:ident: $meaning:expr $(, null $null:expr)?;)*
    ) => {
        table! {
            @define $(#[$doc])* $table $row = $name, $row_doc,
            { recording: RecordingKey<'a> }
            [
                Column::<Self>::text("host", HOST, |row| row.recording.host.into()).in_dataset(),
                Column::<Self>::text("recording", RECORDING, |row| row.recording.recording.into()),
            ]
            $($kind $column: $meaning $(, null $null)?;)*
        }
    };
    (
        @define $(#[$doc:meta])* $table:ident $row:ident = $name:literal, $row_doc:literal,
        { $first:ident: $first_type:ty } [$($lead:expr,)*]
        $($kind:ident $column:ident: $meaning:expr $(, null $null:expr)?;)*
    ) => {
        $(#[$doc])*
        pub struct $table;

        #[doc = concat!("Row of [`", stringify!($table), "`]: ", $row_doc, ".")]
        #[derive(Clone, Debug)]
        pub struct $row<'a> {
            #[doc = "Recording of the row and, in tables of lanes, its lane."]
            pub $first: $first_type,
            $(#[doc = concat!("Column `", stringify!($column), "`.")]
            pub $column: field!($kind 'a),)*
        }

        impl Table for $table {
            type Row<'a> = $row<'a>;
            const NAME: &'static str = $name;
            const ROW: &'static str = $row_doc;
            const PARTITIONS: &'static [&'static str] = DATASET_FOLDERS;
            const COLUMNS: &'static [Column<Self>] = &[
                $($lead,)*
                $(Column::<Self>::$kind(
                    stringify!($column), $meaning, $($null,)? |row| value!($kind row.$column)
                ),)*
            ];
        }
    };
}

const OP: &str = "index of the op in `ops`, in the same recording and chip";
const NO_OP: &str = "does not belong to an op";
const NO_PROGRAM: &str = "recorded before the first launch";
const FIRST_CYCLE: &str = "start on the chip's clock";
const CYCLE: &str = "time on the chip's clock";
const TIME_NS: &str = "time, relative to the recording's first record";
const HOST_NS: &str = "time on the host's clock";
const DURATION_NS: &str = "duration, by the chip's measured clock";
const CLIPPED: &str = "whether it extends beyond the enclosing zone";
const COLOR: &str = "color given by the program, as #rrggbb";
const MEMORY: &str = "DRAM, L1, L1_SMALL, TRACE or SYSTEM_MEMORY";
const OBJECT: &str = "circular buffer, semaphore or NoC";
const NONE_GIVEN: &str = "none given";
const NO_END: &str = "the end was not recorded";
const NOT_RECORDED: &str = "not recorded";
const PLOT: &str = "a plot point";

table! {
    /// Table of zones of RISCs.
    Zones ZoneRow = "zones", "one zone of one RISC, from its start to its end", lane
    text name: "name of the zone; its id if unknown";
    optional_text file: FILE, null UNKNOWN;
    optional_small line: LINE, null UNKNOWN;
    optional_small op: OP, null NO_OP;
    optional_small run_host_id: RUN_HOST_ID, null NO_PROGRAM;
    small depth: "number of enclosing zones";
    number start_cycle: FIRST_CYCLE;
    optional_number duration_cycles: "duration as recorded", null NO_END;
    optional_number self_cycles: "duration without nested zones", null NO_END;
    signed start_ns: START_NS;
    optional_signed duration_ns: DURATION_NS, null NO_END;
    optional_signed start_host_ns: START_HOST_NS, null NO_HOST_CLOCK;
    flag has_synthetic_end: "whether the end was not recorded";
    flag is_clipped: CLIPPED;
    optional_text meta_data: "metadata of the start in a device log", null NONE_GIVEN;
    optional_text end_meta_data: "metadata of the end in a device log", null NONE_GIVEN;
}

table! {
    /// Table of events, data markers and sums.
    Markers MarkerRow = "markers", "one event, data marker or sum of one RISC", lane
    text kind: "event, data or sum";
    text name: "name of the marker; its id if unknown";
    optional_text file: FILE, null UNKNOWN;
    optional_small line: LINE, null UNKNOWN;
    optional_small op: OP, null NO_OP;
    optional_small run_host_id: RUN_HOST_ID, null NO_PROGRAM;
    number cycle: "time on the chip's clock; for a sum, the start of the run";
    signed time_ns: TIME_NS;
    optional_signed host_ns: HOST_NS, null NO_HOST_CLOCK;
    optional_number value: "data, or the cycles of a sum", null "events have no value";
    optional_number second_value: "second half of 16 bytes of data", null "not 16 bytes of data";
    optional_text text: "metadata of the marker in a device log", null NONE_GIVEN;
}

table! {
    /// Table of readings of hardware counters.
    Counters CounterRow = "counters", "one reading of one hardware counter on one core", lane
    small neo: "part of the core; a Quasar's core has four";
    optional_small op: OP, null NO_OP;
    optional_small run_host_id: RUN_HOST_ID, null NO_PROGRAM;
    number cycle: "time of the reading on the chip's clock";
    signed time_ns: TIME_NS;
    optional_text counter: "name of the counter", null "see problem";
    optional_text counter_group: "fpu, pack, unpack, instrn or l1_0 to l1_5", null "unknown counter, or see problem";
    optional_number value: "counted events", null "see problem, or the hardware ties the counter to a constant or never started it";
    optional_number cycles: "cycles over which the events were counted", null UNKNOWN;
    optional_text problem: "why the reading is missing", null "the reading is not missing";
}

table! {
    /// Table of NoC events: transfers, barriers, semaphores and fabric packets.
    NocEvents NocEventRow = "noc_events", "one transfer, barrier, semaphore or fabric packet that a core recorded";
    small chip_id: CHIP_ID;
    small core_x: CORE_X;
    small core_y: CORE_Y;
    text risc: RISC;
    optional_small run_host_id: RUN_HOST_ID, null NO_PROGRAM;
    optional_text op_name: "name of the op", null "the host gave no name";
    number cycle: CYCLE;
    signed time_ns: TIME_NS;
    optional_text kind: "kind of the event, by TT-Metal's name, such as READ, WRITE_ or SEMAPHORE_INC", null "a fabric packet";
    optional_text noc: "NOC_0 or NOC_1", null NOT_RECORDED;
    optional_signed to_x: "NoC-0 x of the other tile", null "no other tile, or unknown";
    optional_signed to_y: "NoC-0 y of the other tile", null "no other tile, or unknown";
    optional_number bytes: "size, rounded up to 32; the maximum (8160, or 131040 since tt-metal 0.81.1) also stands for larger sizes", null NOT_RECORDED;
    optional_signed vc: "virtual channel", null NOT_RECORDED;
    optional_small source_address: "address in the source tile", null NOT_RECORDED;
    optional_small target_address: "address in the target tile", null NOT_RECORDED;
    optional_small noc_counter: "low 12 bits of the NoC's transfer counter", null NOT_RECORDED;
}

table! {
    /// Table of individual waits.
    Waits WaitRow = "waits", "one wait of one RISC for a circular buffer, a semaphore or a NoC", lane
    optional_small op: OP, null NO_OP;
    optional_small run_host_id: RUN_HOST_ID, null NO_PROGRAM;
    text kind: WAIT_KIND;
    text object: OBJECT;
    small key: WAIT_KEY;
    number start_cycle: FIRST_CYCLE;
    number duration_cycles: "duration in cycles";
    signed start_ns: START_NS;
    signed duration_ns: DURATION_NS;
    optional_signed start_host_ns: START_HOST_NS, null NO_HOST_CLOCK;
    optional_flag has_blocked: "whether it blocked", null "recorded as a zone of TT-Metal, which does not show it";
    flag is_lower_bound: "whether it was longer than a record can express";
}

table! {
    /// Table of the total waits of each launch for each circular buffer, semaphore or NoC.
    WaitSums WaitSumRow = "wait_sums", "all waits of one launch of one RISC for one object", lane
    optional_small op: OP, null NO_OP;
    optional_small run_host_id: RUN_HOST_ID, null NO_PROGRAM;
    text kind: WAIT_KIND;
    text object: OBJECT;
    small key: WAIT_KEY;
    number waits: "number of waits; from TT-Metal's zones, also waits that did not block";
    number total_cycles: "sum of the waits";
    flag is_lower_bound: "whether the true sum may be higher: recorded only in windows of time, or beyond the maximum of a record";
    flag is_from_kernel: "true if the kernel summed its waits, false if the sum is that of rows of `waits`";
}

table! {
    /// Table of the time that RISCs spent in the profiler's own zones.
    ProfilerTime ProfilerTimeRow = "profiler_time", "time of one RISC in the profiler's own zones", lane
    text kind: "wait for the host (debug dump) or push of several launches (accumulate mode)";
    number count: "complete zones";
    number total_cycles: "sum of the durations";
    number max_cycles: "longest duration";
}

table! {
    /// Table of zones of the host's threads.
    HostZones HostZoneRow = "host_zones", "one zone of one host thread";
    small process_id: "id of the process";
    number thread: "number of the thread in its process, from 1";
    optional_text thread_name: "name of the thread", null NONE_GIVEN;
    text name: "name of the zone";
    optional_text function: "function or module", null UNKNOWN;
    optional_text file: FILE, null UNKNOWN;
    optional_small line: LINE, null UNKNOWN;
    small depth: "number of enclosing zones";
    signed start_ns: START_NS;
    signed duration_ns: "duration";
    signed self_ns: "duration without nested zones";
    signed start_host_ns: START_HOST_NS;
    optional_text text: "text attached by the program", null NONE_GIVEN;
    flag is_clipped: CLIPPED;
    optional_text color: COLOR, null NONE_GIVEN;
}

table! {
    /// Table of the host's messages, signposts, frame ends and plot points.
    HostEvents HostEventRow = "host_events", "one message, signpost, frame end or plot point of the host";
    optional_small process_id: "id of the process", null PLOT;
    optional_number thread: "number of the thread in its process", null PLOT;
    optional_text thread_name: "name of the thread", null NONE_GIVEN;
    text kind: "message, signpost, frame or plot";
    optional_text name: "name", null "messages have no name";
    optional_text function: "function or module", null UNKNOWN;
    optional_text file: FILE, null UNKNOWN;
    optional_small line: LINE, null UNKNOWN;
    signed time_ns: TIME_NS;
    signed host_ns: HOST_NS;
    optional_real value: "value of a plot point", null "not a plot point";
    optional_text text: "message, or text of a signpost", null NONE_GIVEN;
    optional_text color: COLOR, null NONE_GIVEN;
}

table! {
    /// Table of allocations and deallocations of buffers.
    Buffers BufferRow = "buffers", "one allocation or deallocation of a buffer in one kind of a chip's memory";
    optional_small chip_id: CHIP_ID, null "the number exceeds 32 bits";
    text memory: MEMORY;
    signed time_ns: TIME_NS;
    signed host_ns: HOST_NS;
    signed change_bytes: "allocated bytes; negative for a deallocation";
    number held_bytes: "bytes of all buffers after the change";
    optional_number address: "address of the buffer", null UNKNOWN;
}

table! {
    /// Table of the maximum number of bytes allocated in each memory while the host worked on an
    /// op.
    OpBuffers OpBufferRow = "op_buffers", "peak allocation in one kind of memory while the host worked on one op";
    optional_small chip_id: CHIP_ID, null "the number exceeds 32 bits";
    optional_small run_host_id: RUN_HOST_ID, null UNKNOWN;
    optional_text name: "name of the op", null "the host gave no name";
    text memory: MEMORY;
    number peak_bytes: "largest sum of the sizes of all buffers";
}

table! {
    /// Table of the cells of TT-Metal's ops report. With this table, the reports of many hosts can
    /// be combined.
    OpsReportCells OpsReportCell = "ops_report", "one cell of the recording's ops report, as TT-Metal's scripts write it";
    small row: "row of the report, from 1; 0 is the header";
    text title: "title of the column";
    optional_text cell: "content of the cell", null "row 0, where only `title` is set";
}

table! {
    /// Table of recordings, with columns that show how reliable the rows of a recording are.
    Recordings RecordingRow = "recordings", "one recording of one host";
    text kprof_version: "version of kprof that wrote the rows";
    signed end_ns: "end of the last record, relative to the first record";
    optional_signed origin_host_ns: "time of the first record on the host's clock", null NO_HOST_CLOCK;
    optional_text boot_id: "boot id of the host's machine, in hexadecimal digits", null "not recorded";
    optional_signed namespace_ns: "time by which the host's clock is ahead of the machine's clock, because of a Linux time namespace", null "not recorded";
    optional_signed day_offset_ns: "time by which the time of day is ahead of the host's clock", null "see day_problem";
    optional_number day_error_ns: "maximum error of day_offset_ns", null "see day_problem";
    optional_text day_problem: "why the time of day is unknown", null "the time of day is known";
    small chip_count: "chips with records";
    text chips: "JSON array with the number, architecture and clock of each chip";
    text doubts: "JSON object with the numbers of losses, anomalies, repairs and records hidden by a filter";
}
