//! Results of calls: a code, and a message for the user.

#![allow(unsafe_code, reason = "functions that C calls have names of their own")]

use std::{
    any::Any,
    cell::RefCell,
    error::Error,
    ffi::{CStr, CString, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Version of the interface; structs may differ between versions.
pub const KPROF_ABI_VERSION: u32 = 1;

/// Result of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KprofStatus {
    /// The call succeeded.
    Ok = 0,
    /// An argument is null, misaligned, not UTF-8 or out of range.
    InvalidArgument = 1,
    /// A struct or a buffer has a different size than this version expects.
    WrongSize = 2,
    /// Another call uses the handle.
    Busy = 3,
    /// The mesh cannot be prepared with these options.
    InitFailed = 4,
    /// No data could be read.
    ReadFailed = 5,
    /// A capture cannot be written. The data that was read from the chips is kept in memory.
    CaptureFailed = 6,
    /// A file cannot be read, or has an unknown format.
    LoadFailed = 7,
    /// A file cannot be written.
    WriteFailed = 8,
    /// The recording does not have the requested data.
    NotAvailable = 9,
    /// The library panicked. The handles that were passed to the call can only be freed.
    Panic = 10,
}

/// Failure of a call.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: KprofStatus,
    pub(crate) text: String,
}

impl Fault {
    pub(crate) fn new(status: KprofStatus, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(KprofStatus::InvalidArgument, text)
    }

    /// Returns a failure whose message contains the error and its causes.
    pub(crate) fn from_error(status: KprofStatus, error: &dyn Error) -> Self {
        Self::new(status, host_reader::sentence::from_error(error))
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// Executes a call. Catches panics, and stores the message of a failure.
pub(crate) fn guard(call: impl FnOnce() -> Result<(), Fault>) -> KprofStatus {
    // A panic may leave data half changed. The locks of the handles protect this data, because the
    // panic poisons them.
    let fault = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return KprofStatus::Ok,
        Ok(Err(fault)) => fault,
        Err(payload) => Fault::new(KprofStatus::Panic, panic_text(payload)),
    };
    // A thread that is ending can no longer store a message; it still returns the status.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = c_text(&fault.text));
    fault.status
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    // Dropping a payload may run code that panics again.
    std::mem::forget(payload);
    format!("bug in the library: {}", text.unwrap_or_default())
}

/// Returns a text as a C string, which ends with a zero byte. Zero bytes in the text are replaced.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Returns the version of the interface that the library was built with. It must equal
/// `KPROF_ABI_VERSION` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn kprof_abi_version() -> u32 {
    KPROF_ABI_VERSION
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn kprof_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// Returns a message about the last failed call of this thread; empty if no call has failed.
///
/// The message is valid until another call of the same thread fails, or until the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn kprof_last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the message of this thread's last failure.
    fn last_error() -> String {
        // SAFETY: the pointer points to a text that is valid until the next failure of this thread.
        let text = unsafe { CStr::from_ptr(kprof_last_error()) };
        text.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_with_its_text() {
        let status = guard(|| panic!("number {}", 7));
        assert_eq!(status, KprofStatus::Panic);
        assert_eq!(last_error(), "bug in the library: number 7");
    }

    #[test]
    fn a_success_leaves_the_sentence_of_the_failure_before_it() {
        assert_eq!(guard(|| Err(Fault::invalid("a\0b"))), KprofStatus::InvalidArgument);
        assert_eq!(guard(|| Ok(())), KprofStatus::Ok);
        assert_eq!(last_error(), "a\u{fffd}b");
        let other_thread_error = std::thread::spawn(last_error).join().unwrap();
        assert_eq!(other_thread_error, "");
    }

    #[test]
    fn versions_are_those_of_the_package() {
        assert_eq!(kprof_abi_version(), 1);
        // SAFETY: the pointer points to a constant that ends with a zero byte.
        let version = unsafe { CStr::from_ptr(kprof_version()) };
        assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
