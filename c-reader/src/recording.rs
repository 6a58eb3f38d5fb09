//! Recordings: counts, lanes as columns, losses, ops, clocks.

#![allow(unsafe_code, reason = "functions that C calls take pointers")]

mod columns;
mod rows;

pub use columns::{
    KPROF_COLUMN_DOUBLE, KPROF_COLUMN_FLAG, KPROF_COLUMN_INT64, KPROF_COLUMN_TEXT,
    KPROF_COLUMN_UINT32, KPROF_COLUMN_UINT64, KprofColumn,
};
pub use rows::{KprofAnomaly, KprofOpenZones, KprofRun, KprofText};

use crate::{
    arguments::{HasSize, Out, array, array_mut, owned, path, shared, text},
    status::{Fault, KprofStatus, guard},
};
use columns::Columns;
use host_reader::{
    analysis::Report,
    causes::Explanation,
    lane::ZoneIndex,
    ledger::LossCause,
    recording::{Recording, clocks_of, load},
};
use rows::Rows;
use std::{ffi::c_char, sync::OnceLock};

/// Kind of a record: a zone opens.
pub const KPROF_RECORD_ZONE_START: u32 = 0;
/// Kind of a record: a zone closes.
pub const KPROF_RECORD_ZONE_END: u32 = 1;
/// Kind of a record: the total cycles of a sum zone in one launch. The record has one value.
pub const KPROF_RECORD_ZONE_TOTAL: u32 = 2;
/// Kind of a record: 64 bits of data. The record has one value.
pub const KPROF_RECORD_DATA: u32 = 3;
/// Kind of a record: an event.
pub const KPROF_RECORD_EVENT: u32 = 4;
/// Kind of a record: 128 bits of data. The record has two values.
pub const KPROF_RECORD_DATA_16B: u32 = 5;
/// Number of low bits that contain the zone's number in the head of a record. The higher bits of
/// the head contain the record's kind.
pub const KPROF_HEAD_ZONE_BITS: u32 = 24;

/// All recorded data of one run; created by reads and loads, freed by `kprof_recording_free`.
#[derive(Debug)]
pub struct KprofRecording {
    /// The recording. It is boxed and never changed, because the rows in `figures` point into it.
    recording: Box<Recording>,
    figures: OnceLock<Figures>,
    /// Causes of slowness as JSON.
    explanation: OnceLock<String>,
}

/// Figures and rows of a recording, computed on first use.
#[derive(Debug)]
struct Figures {
    report: Box<Report>,
    rows: Rows,
    columns: Columns,
}

impl KprofRecording {
    pub(crate) fn new(recording: Recording) -> Self {
        let (figures, explanation) = (OnceLock::new(), OnceLock::new());
        Self { recording: Box::new(recording), figures, explanation }
    }

    /// Returns the causes of slowness as JSON, computed on first use.
    pub(crate) fn explanation_json(&self) -> Result<&str, Fault> {
        if let Some(text) = self.explanation.get() {
            return Ok(text);
        }
        let text = serde_json::to_string(&Explanation::from_recording(&self.recording))
            .map_err(|error| Fault::from_error(KprofStatus::NotAvailable, &error))?;
        Ok(self.explanation.get_or_init(|| text))
    }

    pub(crate) fn inner(&self) -> &Recording {
        &self.recording
    }

    fn figures(&self) -> &Figures {
        self.figures.get_or_init(|| {
            let report = Box::new(Report::new(&self.recording.readout));
            let rows = Rows::new(&self.recording, &report);
            let columns = Columns::new(&self.recording, &report);
            Figures { report, rows, columns }
        })
    }

    fn counts(&self) -> KprofCounts {
        let readout = &self.recording.readout;
        let summary = &self.figures().report.summary;
        let total = readout.losses.total();
        let [l1, dram, validate_off] =
            [LossCause::L1Full, LossCause::DramFull, LossCause::ValidateOff]
                .map(|cause| readout.losses.by_cause(cause).record_count());
        let named = l1.saturating_add(dram).saturating_add(validate_off);
        KprofCounts {
            struct_size: size_of::<KprofCounts>(),
            chips: readout.devices.len() as u64,
            lanes: readout.lanes().count() as u64,
            runs: summary.run_count,
            records: summary.record_count,
            zones: summary.kept.zones + summary.kept.open_zones,
            open_zones: summary.kept.open_zones,
            orphan_ends: summary.kept.orphan_ends,
            data: summary.kept.data,
            events: summary.kept.events,
            sums: summary.kept.sums,
            ops: self.figures().report.ops.len() as u64,
            lost: total.record_count(),
            lost_l1_full: l1,
            lost_dram_full: dram,
            lost_validate_off: validate_off,
            lost_other: total.record_count().saturating_sub(named),
            lost_is_lower_bound: total.is_lower_bound.into(),
            uncounted_sources: readout.losses.uncounted().count() as u64,
            anomalies: summary.anomaly_count,
            repairs: summary.repair_count,
            pending_runs: summary.pending_run_count,
            discarded_launches: summary.discarded_launch_count,
            words_read: summary.words_read,
            unfinished_runs: self.figures().rows.unfinished.run_count,
        }
    }
}

/// Counts of a recording, as in `kprof report --json`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofCounts {
    /// `sizeof(KprofCounts)`. Must be set before the struct is passed to the library.
    pub struct_size: usize,
    /// Chips that were read.
    pub chips: u64,
    /// Lanes with records.
    pub lanes: u64,
    /// Launches, counted on each lane and added up over all lanes.
    pub runs: u64,
    /// Records of every kind.
    pub records: u64,
    /// Zones, including open zones.
    pub zones: u64,
    /// Open zones: zones whose end is not recorded.
    pub open_zones: u64,
    /// Timestamped data records, of 8 or 16 bytes.
    pub data: u64,
    /// Events.
    pub events: u64,
    /// Totals of sum zones.
    pub sums: u64,
    /// Zone ends without a start.
    pub orphan_ends: u64,
    /// Launches of programs on chips.
    pub ops: u64,
    /// Lost records. A lost zone counts as one record.
    pub lost: u64,
    /// Records lost because L1 was full.
    pub lost_l1_full: u64,
    /// Records lost because DRAM was full.
    pub lost_dram_full: u64,
    /// Records of launches that ran no kernel. The firmware is configured not to write these
    /// records.
    pub lost_validate_off: u64,
    /// Records lost for another cause.
    pub lost_other: u64,
    /// 1 if `lost` is a lower bound, else 0.
    pub lost_is_lower_bound: u64,
    /// Record sources that do not count their losses; 0 means that all losses are counted.
    pub uncounted_sources: u64,
    /// Anomalies that make data lost or doubtful.
    pub anomalies: u64,
    /// Anomalies that were repaired.
    pub repairs: u64,
    /// Launches that have ended, but whose records the cores have not pushed yet.
    pub pending_runs: u64,
    /// Launches whose records the firmware discarded, because no kernel ran.
    pub discarded_launches: u64,
    /// Words read from the chips; 0 for logs.
    pub words_read: u64,
    /// Launches that had not ended when they were read, counted on each lane.
    pub unfinished_runs: u64,
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofCounts {
    const NAME: &'static str = "KprofCounts";
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofColumn {
    const NAME: &'static str = "KprofColumn";
}

/// The records of one RISC, as columns. All arrays and texts belong to the recording.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofLane {
    /// `sizeof(KprofLane)`. Must be set before the call.
    pub struct_size: usize,
    /// Number of the chip.
    pub chip_id: u32,
    /// Column of the core on the NoC-0 grid.
    pub core_x: u16,
    /// Row of the core on the NoC-0 grid.
    pub core_y: u16,
    /// Name of the RISC, such as `BRISC`.
    pub risc: KprofText,
    /// Number of records.
    pub record_count: usize,
    /// Kind and zone of each record: `kind << KPROF_HEAD_ZONE_BITS | zone`.
    pub heads: *const u32,
    /// Cycles of each record, on the clock of the chip's reference tile.
    pub times: *const u64,
    /// Values of all records, in record order. The kind of a record determines how many values it
    /// has.
    pub data: *const u64,
    /// Number of values.
    pub data_count: usize,
    /// Launches. A launch has the index of its first record, and ends before the first record of
    /// the next launch.
    pub runs: *const KprofRun,
    /// Number of launches.
    pub run_count: usize,
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofLane {
    const NAME: &'static str = "KprofLane";
}

/// Name and source of a zone.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofZone {
    /// `sizeof(KprofZone)`. Must be set before the call.
    pub struct_size: usize,
    /// Marker id of the zone.
    pub id: u32,
    /// Source line; 0 if unknown.
    pub line: u32,
    /// Name; empty if unknown.
    pub name: KprofText,
    /// Source file; empty if unknown.
    pub file: KprofText,
    /// Number of zone names that share this zone's id. `name` is the first of these names.
    pub candidate_count: usize,
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofZone {
    const NAME: &'static str = "KprofZone";
}

/// The clock of a chip.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofClock {
    /// `sizeof(KprofClock)`. Must be set before the call.
    pub struct_size: usize,
    /// 1 if times can be converted to the host's clock, else 0.
    pub is_host_time: u32,
    /// Nominal frequency in MHz; 0 if unknown.
    pub nominal_mhz: u32,
    /// Frequency in GHz: the measured frequency or, without a measurement, the nominal frequency; 1
    /// if both are unknown.
    pub frequency_ghz: f64,
    /// Guaranteed maximum error of times converted to the host's clock, in ns; NaN if
    /// `is_host_time` is 0.
    pub bound_ns: f64,
    /// Cycle of the chip's first record.
    pub first_cycle: u64,
    /// Cycle of the chip's last record.
    pub last_cycle: u64,
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofClock {
    const NAME: &'static str = "KprofClock";
}

/// Loads a capture, a device log or a folder of logs. `run` is the index of a run in a capture,
/// from 0.
///
/// # Safety
/// `file` must be null or a text, and `recording` must point to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_load(
    file: *const c_char,
    run: usize,
    recording: *mut *mut KprofRecording,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes a pointer to memory for a pointer.
        let out = unsafe { Out::new(recording, "recording") }?;
        // SAFETY: the caller passes null or a text.
        let file = unsafe { path(file, "file") }?;
        let loaded =
            load(file).map_err(|error| Fault::from_error(KprofStatus::LoadFailed, &error))?;
        let count = loaded.recordings.len();
        let chosen = loaded.recordings.into_iter().nth(run).ok_or_else(|| {
            let file = file.display();
            let text = format!("expected a run below {count} in {file}, found {run}");
            Fault::new(KprofStatus::NotAvailable, text)
        })?;
        out.set(Box::into_raw(Box::new(KprofRecording::new(chosen))));
        Ok(())
    })
}

/// Frees a recording with all its texts and columns; null is allowed.
///
/// # Safety
/// `recording` must be null or come from this library. Neither the recording nor anything that
/// belongs to it may be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_free(recording: *mut KprofRecording) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller promises that the pointer is null or came from this library, and that
        // nobody uses the recording.
        drop(unsafe { owned(recording) });
        Ok(())
    })
}

/// Writes the counts of a recording to `counts`.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `counts` must point to a struct
/// whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_counts(
    recording: *const KprofRecording,
    counts: *mut KprofCounts,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?;
        // SAFETY: the caller passes a pointer to a struct with its size set.
        unsafe { Out::sized(counts, "counts") }?.set(recording.counts());
        Ok(())
    })
}

/// Writes the lane with this index to `lane`. Lanes are sorted by chip, core and RISC. `index` must
/// be less than `KprofCounts.lanes`.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `lane` must point to a struct
/// whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_lane(
    recording: *const KprofRecording,
    index: usize,
    lane: *mut KprofLane,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?;
        // SAFETY: the caller passes a pointer to a struct with its size set.
        let out = unsafe { Out::sized(lane, "lane") }?;
        let rows = &recording.figures().rows;
        let (Some(found), Some(runs)) =
            (recording.recording.readout.lanes().nth(index), rows.runs.get(index))
        else {
            let text = format!("expected a lane below {}, found {index}", rows.runs.len());
            return Err(Fault::new(KprofStatus::NotAvailable, text));
        };
        out.set(KprofLane {
            struct_size: size_of::<KprofLane>(),
            chip_id: found.id.chip_id,
            core_x: found.id.core.x,
            core_y: found.id.core.y,
            risc: KprofText::from_text(found.id.risc.label()),
            record_count: found.record_count(),
            // A head is a `u32`: `RecordHead` is transparent.
            heads: found.heads.as_ptr().cast(),
            times: found.times.as_ptr(),
            data: found.data.as_ptr(),
            data_count: found.data.len(),
            runs: runs.as_ptr(),
            run_count: runs.len(),
        });
        Ok(())
    })
}

/// Writes the name and source location of a zone to `zone`. The zone is identified by its number in
/// the heads of records.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `zone` must point to a struct
/// whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_zone(
    recording: *const KprofRecording,
    number: u32,
    zone: *mut KprofZone,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?;
        // SAFETY: the caller passes a pointer to a struct with its size set.
        let out = unsafe { Out::sized(zone, "zone") }?;
        if number > ZoneIndex::MAX {
            let text = format!("expected a zone up to {}, found {number}", ZoneIndex::MAX);
            return Err(Fault::invalid(text));
        }
        let zones = &recording.recording.readout.zones;
        let sources = zones.sources(ZoneIndex(number));
        let first = sources.first();
        out.set(KprofZone {
            struct_size: size_of::<KprofZone>(),
            id: zones.id(ZoneIndex(number)),
            line: first.map_or(0, |source| source.line),
            name: first.map_or(KprofText::EMPTY, |source| KprofText::from_text(&source.name)),
            file: first.map_or(KprofText::EMPTY, |source| KprofText::from_text(&source.file)),
            candidate_count: sources.len(),
        });
        Ok(())
    })
}

/// Writes a column of a table to `column`. `index` is the index of the column, from 0. Tables:
/// `ops`, `zone_statistics`, `sum_statistics`, `wait_statistics`, `losses`.
///
/// Returns `KPROF_STATUS_NOT_AVAILABLE` after the last column.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, `table` must be null or a text, and
/// `column` must point to a struct whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_column_at(
    recording: *const KprofRecording,
    table: *const c_char,
    index: usize,
    column: *mut KprofColumn,
) -> KprofStatus {
    // SAFETY: the called function has the safety requirements of this function.
    unsafe { give_column(recording, table, |at, _| at == index, &format!("{index}"), column) }
}

/// Writes the column with the given name to `column`, for example the column `kernel_ns` of the
/// table `ops`.
///
/// # Safety
/// As for `kprof_recording_column_at`. In addition, `name` must be null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_column(
    recording: *const KprofRecording,
    table: *const c_char,
    name: *const c_char,
    column: *mut KprofColumn,
) -> KprofStatus {
    // SAFETY: the caller passes null or a text.
    let name = match unsafe { text(name, "name") } {
        Ok(name) => name,
        Err(fault) => return guard(|| Err(fault)),
    };
    // SAFETY: the called function has the safety requirements of this function.
    unsafe { give_column(recording, table, |_, found| found == name, name, column) }
}

/// Writes the first column that `is_wanted` selects by index and name.
///
/// # Safety
/// The same as for [`kprof_recording_column_at`].
unsafe fn give_column(
    recording: *const KprofRecording,
    table: *const c_char,
    is_wanted: impl Fn(usize, &str) -> bool,
    wanted: &str,
    column: *mut KprofColumn,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?;
        // SAFETY: the caller passes null or a text.
        let table = unsafe { text(table, "table") }?;
        // SAFETY: the caller passes a pointer to a struct with its size set.
        let out = unsafe { Out::sized(column, "column") }?;
        let columns = &recording.figures().columns;
        let found = columns.find(table, is_wanted).ok_or_else(|| {
            let tables = columns.table_names().join(", ");
            let text = format!(
                "expected a column of one of {tables}, found `{wanted}` of `{table}`; `kprof schema` \
                 shows them"
            );
            Fault::new(KprofStatus::NotAvailable, text)
        })?;
        out.set(found);
        Ok(())
    })
}

/// Sets `rows` to an array of messages, one for each record source that does not count its losses.
/// Sets `count` to the number of messages.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, `rows` must point to memory for a
/// pointer, and `count` must point to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_uncounted(
    recording: *const KprofRecording,
    rows: *mut *const KprofText,
    count: *mut usize,
) -> KprofStatus {
    // SAFETY: the called function has the safety requirements of this function.
    unsafe { give(recording, rows, count, |rows| &rows.uncounted) }
}

/// Sets `rows` to an array of the open zones of launches that had not ended when they were read, and
/// `count` to its length.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, `rows` must point to memory for a
/// pointer, and `count` must point to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_open_zones(
    recording: *const KprofRecording,
    rows: *mut *const KprofOpenZones,
    count: *mut usize,
) -> KprofStatus {
    // SAFETY: the called function has the safety requirements of this function.
    unsafe { give(recording, rows, count, |rows| &rows.open_zones) }
}

/// Sets `rows` to an array of those anomalies and repairs whose position is known, and `count` to
/// its length. For each lane, at most 8 anomalies of each kind are kept.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, `rows` must point to memory for a
/// pointer, and `count` must point to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_anomalies(
    recording: *const KprofRecording,
    rows: *mut *const KprofAnomaly,
    count: *mut usize,
) -> KprofStatus {
    // SAFETY: the called function has the safety requirements of this function.
    unsafe { give(recording, rows, count, |rows| &rows.anomalies) }
}

/// Sets `rows` to the array that `select` returns for the recording, and `count` to the length of
/// the array.
///
/// # Safety
/// The same as for [`kprof_recording_anomalies`].
unsafe fn give<T>(
    recording: *const KprofRecording,
    rows: *mut *const T,
    count: *mut usize,
    select: impl Fn(&Rows) -> &[T],
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?;
        // SAFETY: the caller passes a pointer to memory for a pointer.
        let out_rows = unsafe { Out::new(rows, "rows") }?;
        // SAFETY: the caller passes a pointer to memory for a number.
        let out_count = unsafe { Out::new(count, "count") }?;
        let found = select(&recording.figures().rows);
        out_rows.set(found.as_ptr());
        out_count.set(found.len());
        Ok(())
    })
}

/// Writes the clock of a chip to `clock`. The chip must be part of the recording.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `clock` must point to a struct
/// whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_clock(
    recording: *const KprofRecording,
    chip_id: u32,
    clock: *mut KprofClock,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?.inner();
        // SAFETY: the caller passes a pointer to a struct with its size set.
        let out = unsafe { Out::sized(clock, "clock") }?;
        let (clocks, _) = clocks_of(recording);
        let chips = recording.readout.devices.iter().map(|device| device.chip.chip_id);
        let found = chips.zip(&clocks).find(|(id, _)| *id == chip_id);
        let (_, found) = found.ok_or_else(|| no_chip(chip_id))?;
        out.set(KprofClock {
            struct_size: size_of::<KprofClock>(),
            is_host_time: found.is_host_time().into(),
            nominal_mhz: found.nominal_mhz().unwrap_or(0),
            frequency_ghz: found.frequency_ghz(),
            bound_ns: found.bound_ns().unwrap_or(f64::NAN),
            first_cycle: found.first_cycle(),
            last_cycle: found.last_cycle(),
        });
        Ok(())
    })
}

/// Converts cycles of a chip to nanoseconds of the host's clock. Unless `bound_ns` is null, it
/// receives the maximum error of these times.
///
/// # Safety
/// `recording` must be null or a recording that is not freed; `cycles` and `host_ns` must point to
/// `count` numbers each that do not overlap, and `bound_ns` must be null or point to memory for a
/// number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_host_ns(
    recording: *const KprofRecording,
    chip_id: u32,
    cycles: *const u64,
    host_ns: *mut i64,
    count: usize,
    bound_ns: *mut f64,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?.inner();
        // SAFETY: the caller passes a pointer to `count` numbers.
        let cycles = unsafe { array(cycles, count, "cycles") }?;
        let clock = recording.clock.as_ref().and_then(|clock| clock.reference_clock(chip_id));
        let clock = clock.ok_or_else(|| no_chip(chip_id))?;
        // SAFETY: the caller passes a pointer to `count` numbers that nobody else uses.
        let host_ns = unsafe { array_mut(host_ns, count, "host_ns") }?;
        let converted = clock.convert(cycles, host_ns);
        let bound =
            converted.map_err(|error| Fault::from_error(KprofStatus::NotAvailable, &error))?;
        if !bound_ns.is_null() {
            // SAFETY: the caller passes a pointer to memory for a number.
            unsafe { Out::new(bound_ns, "bound_ns") }?.set(bound);
        }
        Ok(())
    })
}

fn no_chip(chip_id: u32) -> Fault {
    Fault::new(
        KprofStatus::NotAvailable,
        format!("expected a clock of chip {chip_id}, found none in the recording"),
    )
}
