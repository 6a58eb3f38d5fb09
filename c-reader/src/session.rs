//! Sessions: preparing a mesh, and reading its records and clocks.

#![allow(unsafe_code, reason = "functions that C calls take pointers")]

use crate::{
    arguments::{HasSize, Out, path, shared, sized, text},
    handle::{Handle, free},
    mesh::{CallbackMesh, KprofMesh},
    recording::KprofRecording,
    status::{Fault, KprofStatus, guard},
};
use host_reader::{
    ProfilerOptions, ReadOptions,
    anomaly::AnomalyLog,
    capture::{CaptureWriter, MeshRecorder, OpMetadata, RecordError},
    decode::{CaptureMode, HostIdForm},
    init_device_profiler,
    names::{ZoneSource, ZoneTable},
    programs::read_programs,
    read::GenerationChoice,
    recording::Recording,
    report::ProgramsPerfData,
    zone_names::{ZoneNames, ZoneNamesError},
};
use std::{ffi::c_char, path::Path};
use wire::RunHostId;

/// Options for preparing a mesh.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofInitOptions {
    /// `sizeof(KprofInitOptions)`.
    pub struct_size: usize,
    /// Number of programs that each RISC's DRAM lane can hold, as in
    /// `TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT`.
    pub program_support_count: u32,
    /// 1 if kernels record sum zones, else 0.
    pub sums_enabled: u32,
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofInitOptions {
    const NAME: &'static str = "KprofInitOptions";
}

/// Options for reading a mesh. Usually all fields but `struct_size` and `program_support_count` are
/// 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofReadOptions {
    /// `sizeof(KprofReadOptions)`.
    pub struct_size: usize,
    /// Number of programs that a lane can hold. Used only if the device does not report the size of
    /// its lanes.
    pub program_support_count: u32,
    /// Not 0 if lanes have room for sums; used if the device does not report its lane size.
    pub sums_enabled: u32,
    /// Generation of the record format: 0 to detect it on the chip, 1 for the current, 2 for the
    /// previous generation.
    pub generation: u32,
    /// Format of the program ids in launches: 0 for plain ids, 1 for ids encoded with the chip.
    pub host_ids: u32,
    /// Capture mode of the device.
    ///
    /// 0: records of workers. 1: records of workers and dispatch cores. 2: one zone for each replay
    /// of a trace, which encloses the replay. 3: records of workers; each worker collects the
    /// records of several launches before it writes them to DRAM.
    pub mode: u32,
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofReadOptions {
    const NAME: &'static str = "KprofReadOptions";
}

impl KprofReadOptions {
    fn options(&self) -> Result<ReadOptions, Fault> {
        Ok(ReadOptions {
            program_support_count: self.program_support_count,
            sums_enabled: self.sums_enabled != 0,
            read_only: false,
            generation: match self.generation {
                0 => GenerationChoice::Auto,
                1 => GenerationChoice::Current,
                2 => GenerationChoice::Legacy,
                other => return Err(unknown_number("generation", 2, other)),
            },
            host_ids: match self.host_ids {
                0 => HostIdForm::Base,
                1 => HostIdForm::Encoded,
                other => return Err(unknown_number("host_ids", 1, other)),
            },
            mode: match self.mode {
                0 => CaptureMode::Workers,
                1 => CaptureMode::DispatchCores,
                2 => CaptureMode::TraceOnly,
                3 => CaptureMode::Accumulate,
                other => return Err(unknown_number("mode", 3, other)),
            },
            ..ReadOptions::default()
        })
    }
}

fn unknown_number(name: &str, last: u32, found: u32) -> Fault {
    Fault::invalid(format!("expected {name} from 0 to {last}, found {found}"))
}

/// Several reads of a mesh that form one recording; created by `kprof_session_new`, freed by
/// `kprof_session_free`.
#[derive(Debug)]
pub struct KprofSession(pub(crate) Handle<State>);

/// State of a session until it is finished.
#[derive(Debug)]
pub(crate) struct State {
    recorder: Option<MeshRecorder>,
    zones: ZoneTable,
    anomalies: AnomalyLog,
    /// Performance figures of programs; `None` unless the host requested them.
    programs: Option<ProgramsPerfData>,
    /// The last text that was returned to the caller. The caller has a pointer to this text.
    programs_json: String,
}

impl State {
    fn new(options: ReadOptions, capture: Option<&Path>) -> Result<Self, Fault> {
        let writer = capture
            .map(CaptureWriter::create)
            .transpose()
            .map_err(|error| Fault::from_error(KprofStatus::CaptureFailed, &error))?;
        Ok(Self {
            recorder: Some(MeshRecorder::new(options, writer)),
            zones: ZoneTable::new(),
            anomalies: AnomalyLog::default(),
            programs: None,
            programs_json: String::new(),
        })
    }

    pub(crate) fn recorder(&mut self) -> Result<&mut MeshRecorder, Fault> {
        self.recorder.as_mut().ok_or_else(finished)
    }

    pub(crate) fn keep_programs(&mut self) {
        self.programs.get_or_insert_default();
    }

    /// Returns the programs' performance figures for the latest read, or for all reads, as JSON.
    pub(crate) fn programs_json(&mut self, is_of_all: bool) -> Result<&str, Fault> {
        let Some(programs) = &self.programs else {
            return Err(Fault::invalid(
                "expected a session that keeps programs, found one that does not; call \
                 kprof_session_keep_programs before it reads"
                    .to_owned(),
            ));
        };
        let programs = if is_of_all { programs.all() } else { programs.latest() };
        self.programs_json = serde_json::to_string(programs)
            .map_err(|error| Fault::from_error(KprofStatus::NotAvailable, &error))?;
        Ok(&self.programs_json)
    }

    fn add_names(
        &mut self,
        add: impl FnOnce(&mut ZoneNames) -> Result<usize, ZoneNamesError>,
    ) -> Result<(), Fault> {
        let mut names = ZoneNames::new();
        add(&mut names).map_err(|error| Fault::from_error(KprofStatus::LoadFailed, &error))?;
        let (zones, anomalies) = names.finish();
        self.zones.merge(&zones);
        self.anomalies.merge(anomalies);
        Ok(())
    }

    pub(crate) fn read(&mut self, mesh: &mut CallbackMesh, is_last: bool) -> Result<(), Fault> {
        let recorder = self.recorder.as_mut().ok_or_else(finished)?;
        let options = recorder.options_mut();
        (options.zones, options.last_read) = (self.zones.clone(), is_last);
        let read = match &mut self.programs {
            None => recorder.read(mesh),
            Some(programs) => read_programs(recorder, mesh, programs),
        };
        read.map_err(|error| {
            let status = match &error {
                RecordError::Capture(_) => KprofStatus::CaptureFailed,
                _ => KprofStatus::ReadFailed,
            };
            Fault::from_error(status, &error)
        })
    }

    fn finish(&mut self) -> Result<KprofRecording, Fault> {
        let recorder = self.recorder.take().ok_or_else(finished)?;
        let run = recorder.finish();
        let run = run.map_err(|error| Fault::from_error(KprofStatus::CaptureFailed, &error))?;
        let mut recording = Recording::from_captured_run(run);
        recording.readout.zones.merge(&self.zones);
        recording.readout.anomalies.merge(std::mem::take(&mut self.anomalies));
        Ok(KprofRecording::new(recording))
    }
}

fn finished() -> Fault {
    Fault::invalid("expected a session in progress, found a finished one")
}

/// Prepares every chip of a mesh. Call this function before the first kernel is launched.
///
/// # Safety
/// `mesh` must be null or a mesh that is not freed, `options` null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_init_device_profiler(
    mesh: *mut KprofMesh,
    options: *const KprofInitOptions,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a mesh that is not freed.
        let mesh = unsafe { shared(mesh.cast_const(), "mesh") }?;
        let mut chosen = ProfilerOptions::default();
        if !options.is_null() {
            // SAFETY: the caller passes a pointer to valid options.
            let given = unsafe { sized(options, "options") }?;
            chosen.program_support_count = given.program_support_count;
            chosen.sums_enabled = given.sums_enabled != 0;
        }
        mesh.0.with(|mesh| {
            init_device_profiler(mesh, &chosen)
                .map_err(|error| Fault::from_error(KprofStatus::InitFailed, &error))
        })
    })
}

/// Begins a session. Unless `capture` is null, all data that is read is also written to a new
/// capture with this path.
///
/// # Safety
/// `options` must be null or valid, `capture` null or a text, and `session` must point to memory
/// for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_new(
    options: *const KprofReadOptions,
    capture: *const c_char,
    session: *mut *mut KprofSession,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes a pointer to memory for a pointer.
        let out = unsafe { Out::new(session, "session") }?;
        // SAFETY: the caller passes null or a pointer to valid options.
        let options = unsafe { read_options(options) }?;
        let capture = match capture.is_null() {
            true => None,
            // SAFETY: the caller passes null or a text.
            false => Some(unsafe { path(capture, "capture") }?),
        };
        let state = State::new(options, capture)?;
        out.set(Box::into_raw(Box::new(KprofSession(Handle::new(state)))));
        Ok(())
    })
}

/// Frees a session; null is allowed. A session in use by a call or a periodic reader is not freed.
///
/// If the session was not finished, the end mark is missing in the session's capture. Programs that
/// read the capture report that the mark is missing.
///
/// # Safety
/// `session` must be null or come from `kprof_session_new`, and must not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_free(session: *mut KprofSession) -> KprofStatus {
    // SAFETY: the caller promises that the pointer is null or came from `kprof_session_new`.
    guard(|| unsafe { free(session, "session", |session| &session.0) })
}

/// Adds the name and source location of a zone, as the text `name,file,line,KERNEL_PROFILER`.
///
/// # Safety
/// `session` must be null or a session that is not freed, `zone_text` null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_add_zone_text(
    session: *mut KprofSession,
    zone_text: *const c_char,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller passes null or a text.
        let zone_text = unsafe { text(zone_text, "zone_text") }?;
        let source = ZoneSource::from_text(zone_text).ok_or_else(|| {
            Fault::invalid(format!(
                "expected `name,file,line,KERNEL_PROFILER`, found `{zone_text}`"
            ))
        })?;
        session.0.with(|state| {
            state.zones.add(source.id(), source);
            Ok(())
        })
    })
}

/// Adds the names of the zones in a kernel's ELF file.
///
/// # Safety
/// `session` must be null or a session that is not freed, `elf` null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_add_elf(
    session: *mut KprofSession,
    elf: *const c_char,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller passes null or a text.
        let elf = unsafe { path(elf, "elf") }?;
        session.0.with(|state| state.add_names(|names| names.add_elf_file(elf)))
    })
}

/// Adds the names of the zones in the `zone_src_locations.log` files of a folder.
///
/// # Safety
/// `session` must be null or a session that is not freed, `folder` null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_add_zone_logs(
    session: *mut KprofSession,
    folder: *const c_char,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller passes null or a text.
        let folder = unsafe { path(folder, "folder") }?;
        session.0.with(|state| state.add_names(|names| names.add_log_folder(folder)))
    })
}

/// Sets the name of a program on a chip; `run_host_id` is encoded with the chip: `base << 10 |
/// chip`.
///
/// # Safety
/// `session` must be null or a session that is not freed, `name` null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_add_op(
    session: *mut KprofSession,
    chip_id: u32,
    run_host_id: u32,
    name: *const c_char,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller passes null or a text.
        let name = unsafe { text(name, "name") }?;
        let fields = [(OpMetadata::NAME.to_owned(), name.to_owned())].into();
        let op = OpMetadata { chip_id, run_host_id: RunHostId(run_host_id), fields };
        session.0.with(|state| {
            let added = state.recorder()?.add_ops(vec![op]);
            added.map_err(|error| Fault::from_error(KprofStatus::CaptureFailed, &error))
        })
    })
}

/// Measures the clocks of an initialised mesh. Call this function before the first read.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_open_clocks(
    session: *mut KprofSession,
    mesh: *mut KprofMesh,
) -> KprofStatus {
    // SAFETY: the caller passes null or handles that are not freed.
    unsafe {
        with_mesh(session, mesh, |state, mesh| {
            state.recorder()?.open_clocks(mesh);
            Ok(())
        })
    }
}

/// Measures the clocks again. Call this function after the last read.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_close_clocks(
    session: *mut KprofSession,
    mesh: *mut KprofMesh,
) -> KprofStatus {
    // SAFETY: the caller passes null or handles that are not freed.
    unsafe {
        with_mesh(session, mesh, |state, mesh| {
            let closed = state.recorder()?.close_clocks(mesh);
            closed.map_err(|error| Fault::from_error(KprofStatus::CaptureFailed, &error))
        })
    }
}

/// Reads everything that the mesh has recorded since the last read of the session.
///
/// `is_last_read` is 1 if no further launch follows, else 0. The last read also returns the records
/// that cores keep in L1 until the next launch.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_read(
    session: *mut KprofSession,
    mesh: *mut KprofMesh,
    is_last_read: u32,
) -> KprofStatus {
    // SAFETY: the caller passes null or handles that are not freed.
    unsafe { with_mesh(session, mesh, |state, mesh| state.read(mesh, is_last_read != 0)) }
}

/// Checks whether the mesh must be read now so that no markers are lost in the next `launches`
/// launches. `is_about_to` receives 1 if markers may be lost without a read, else 0.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed, and `is_about_to` must point to
/// memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_about_to_overflow(
    session: *mut KprofSession,
    mesh: *mut KprofMesh,
    launches: u32,
    is_about_to: *mut u32,
) -> KprofStatus {
    let call = |state: &mut State, mesh: &mut CallbackMesh| {
        // SAFETY: the caller passes a pointer to memory for a number.
        let out = unsafe { Out::new(is_about_to, "is_about_to") }?;
        let found = state.recorder()?.about_to_overflow(mesh, launches);
        let found = found.map_err(|error| Fault::from_error(KprofStatus::ReadFailed, &error))?;
        out.set(found.into());
        Ok(())
    };
    // SAFETY: the caller passes null or handles that are not freed.
    unsafe { with_mesh(session, mesh, call) }
}

/// Ends a session. Writes the end mark of its capture, and sets `recording` to a new recording with
/// all data that was read.
///
/// Afterwards, the session can only be freed.
///
/// # Safety
/// `session` must be null or a session that is not freed, and `recording` must point to memory for
/// a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_finish(
    session: *mut KprofSession,
    recording: *mut *mut KprofRecording,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller passes a pointer to memory for a pointer.
        let out = unsafe { Out::new(recording, "recording") }?;
        out.set(Box::into_raw(Box::new(session.0.with(State::finish)?)));
        Ok(())
    })
}

/// Reads all records and the clocks of a mesh in one call.
///
/// # Safety
/// `mesh` must be null or a mesh that is not freed, `options` null or valid, and `recording` must
/// point to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_read_device_profiler(
    mesh: *mut KprofMesh,
    options: *const KprofReadOptions,
    recording: *mut *mut KprofRecording,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a mesh that is not freed.
        let mesh = unsafe { shared(mesh.cast_const(), "mesh") }?;
        // SAFETY: the caller passes a pointer to memory for a pointer.
        let out = unsafe { Out::new(recording, "recording") }?;
        // SAFETY: the caller passes null or a pointer to valid options.
        let mut state = State::new(unsafe { read_options(options) }?, None)?;
        mesh.0.with(|mesh| {
            state.recorder()?.open_clocks(mesh);
            state.read(mesh, true)
        })?;
        out.set(Box::into_raw(Box::new(state.finish()?)));
        Ok(())
    })
}

/// Locks a session and a mesh, and calls a function with them.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed.
unsafe fn with_mesh(
    session: *mut KprofSession,
    mesh: *mut KprofMesh,
    call: impl FnOnce(&mut State, &mut CallbackMesh) -> Result<(), Fault>,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller passes null or a mesh that is not freed.
        let mesh = unsafe { shared(mesh.cast_const(), "mesh") }?;
        session.0.with(|state| mesh.0.with(|mesh| call(state, mesh)))
    })
}

/// Returns the options at a pointer, or the defaults for null.
///
/// # Safety
/// `options` must be null or valid.
unsafe fn read_options(options: *const KprofReadOptions) -> Result<ReadOptions, Fault> {
    if options.is_null() {
        return Ok(ReadOptions::default());
    }
    // SAFETY: the caller passes a pointer to valid options.
    unsafe { sized(options, "options") }?.options()
}
