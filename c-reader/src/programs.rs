//! Figures of the programs of the latest read of a session, and of all reads.

#![allow(unsafe_code, reason = "functions that C calls take pointers")]

use crate::{
    arguments::{Out, shared},
    recording::KprofText,
    session::KprofSession,
    status::{KprofStatus, guard},
};

/// Makes a session keep figures of programs from its next read on, as
/// `TT_METAL_PROFILER_MID_RUN_DUMP` and `TT_METAL_PROFILER_CPP_POST_PROCESS` do.
///
/// # Safety
/// `session` must be null or a session that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_keep_programs(session: *mut KprofSession) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller promises a session that lives.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        session.0.with(|state| {
            state.keep_programs();
            Ok(())
        })
    })
}

/// Gives figures of the programs of the latest read, or with `is_of_all` not 0 of all reads, as a
/// JSON text: a list of programs by number of the chip.
///
/// The text belongs to the session, until the next call of this function or until it is freed.
///
/// # Safety
/// `session` must be null or a session that is not freed, and `json` must lead to memory for a
/// text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_session_programs_json(
    session: *mut KprofSession,
    is_of_all: u32,
    json: *mut KprofText,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller promises a session that lives.
        let session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller promises memory for a text.
        let out = unsafe { Out::new(json, "json") }?;
        session.0.with(|state| {
            out.set(KprofText::of(state.programs_json(is_of_all != 0)?));
            Ok(())
        })
    })
}
