//! Performance figures of the programs in a session's latest read or in all reads of the session.

#![allow(unsafe_code, reason = "functions that C calls take pointers")]

use crate::{
    arguments::{Out, shared},
    recording::KprofText,
    session::KprofSession,
    status::{KprofStatus, guard},
};

/// Makes a session keep performance figures of programs, from the next read on.
///
/// TT-Metal keeps these figures if `TT_METAL_PROFILER_MID_RUN_DUMP` and
/// `TT_METAL_PROFILER_CPP_POST_PROCESS` are set.
///
/// # Safety
/// `session` must be null or a session that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_keep_programs(session: *mut KprofSession) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        session.0.with(|state| {
            state.keep_programs();
            Ok(())
        })
    })
}

/// Writes performance figures of programs to `json`, as a JSON text: an object that maps chip
/// numbers to lists of programs.
///
/// The figures cover the programs in all reads if `is_of_all` is not 0, else the programs in the
/// latest read.
///
/// The text belongs to the session. It is valid until the next call of this function or until the
/// session is freed.
///
/// # Safety
/// `session` must be null or a session that is not freed, and `json` must point to memory for a
/// text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_programs_json(
    session: *mut KprofSession,
    is_of_all: u32,
    json: *mut KprofText,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller passes a pointer to memory for a text.
        let out = unsafe { Out::new(json, "json") }?;
        session.0.with(|state| {
            out.set(KprofText::from_text(state.programs_json(is_of_all != 0)?));
            Ok(())
        })
    })
}
