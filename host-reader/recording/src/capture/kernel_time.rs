//! Maximum error of the time of day, as reported by the kernel.
//!
//! Only the system call `adjtimex` reports the error; no file of `/proc` or `/sys` contains it.

/// Returns the maximum error of this machine's time of day, in ns; `None` if the time of day is not
/// synchronised.
///
/// # Compatibility
/// The error is the field `maxerror` of Linux's `adjtimex`. The synchronisation service (chrony,
/// ntpd, systemd-timesyncd) sets this field, and the kernel increases it by 500 ppm of the elapsed
/// time.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "no crate of ours wraps the call")]
pub(super) fn error_ns() -> Option<u64> {
    // SAFETY: `timex` contains only integers, for which all-zero bytes are valid.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer refers to a complete structure that outlives the call. `modes` is zero,
    // so the kernel fills the structure and changes nothing else.
    let status = unsafe { libc::adjtimex(&raw mut state) };
    let is_kept = status >= 0 && status != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    let error_us = u64::try_from(state.maxerror).ok().filter(|_| is_kept)?;
    error_us.checked_mul(1000)
}

/// Returns `None`: the maximum error is unknown on this system.
#[cfg(not(target_os = "linux"))]
pub(super) const fn error_ns() -> Option<u64> {
    None
}
