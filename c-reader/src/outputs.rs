//! Writing a recording to files.

#![allow(unsafe_code, reason = "functions that C calls take pointers")]

use crate::{
    arguments::{path, shared, text},
    recording::KprofRecording,
    status::{Fault, KprofStatus, c_text, guard},
};
use host_reader::{
    export::TraceFilter,
    output::{Output, OutputError},
};
use std::{
    ffi::{CString, c_char},
    sync::OnceLock,
};

/// Returns the name of the output with this index, from 0. Returns null if the index is too large.
#[unsafe(no_mangle)]
pub extern "C" fn kprof_output_name(index: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| Output::all().map(|output| c_text(output.label())).collect());
    names.get(index).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Writes a file, or a folder for `noc-traces` and `parquet`. The output appears only when
/// complete.
///
/// `output` is one of the names that `kprof_output_name` returns, such as `perfetto`, `html`,
/// `device-log` or `ops`. `filter` takes the terms of `kprof export --filter`, such as
/// `op=Matmul*,risc=ncrisc`; null selects everything.
///
/// # Safety
/// `recording` must be null or a recording that is not freed. `output`, `filter` and `file` must be
/// texts or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_write(
    recording: *const KprofRecording,
    output: *const c_char,
    filter: *const c_char,
    file: *const c_char,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?;
        // SAFETY: the caller passes null or a text.
        let output = unsafe { text(output, "output") }?;
        let output: Output = output
            .parse()
            .map_err(|error| Fault::from_error(KprofStatus::InvalidArgument, &error))?;
        let filter = match filter.is_null() {
            true => TraceFilter::default(),
            // SAFETY: the caller passes null or a text.
            false => unsafe { text(filter, "filter") }?
                .parse()
                .map_err(|error| Fault::from_error(KprofStatus::InvalidArgument, &error))?,
        };
        // SAFETY: the caller passes null or a text.
        let file = unsafe { path(file, "file") }?;
        output.write(recording.inner(), "", &filter, file).map_err(|error| {
            let status = match error {
                OutputError::Empty { .. } => KprofStatus::NotAvailable,
                _ => KprofStatus::WriteFailed,
            };
            Fault::from_error(status, &error)
        })
    })
}
