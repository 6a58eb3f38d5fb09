//! The error of the clock of the day, as the kernel states it.
//!
//! Nothing but this call says it: it is in no file of `/proc` or `/sys`.

/// Bound of the error of this machine's clock of the day, nanoseconds; `None` if nothing keeps it.
///
/// # Compatibility
/// The field `maxerror` of Linux's `adjtimex`, which whoever keeps the clock sets (chrony, ntpd,
/// systemd-timesyncd) and which the kernel lets grow by 500 ppm.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "no crate of ours wraps the call")]
pub(super) fn error_ns() -> Option<u64> {
    // SAFETY: `timex` is a structure of integers alone, for which zeros are values.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is that of a whole structure, which lives through the call; `modes` is
    // zero, so that the kernel writes the structure and changes nothing else.
    let status = unsafe { libc::adjtimex(&raw mut state) };
    let is_kept = status >= 0 && status != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    let error_us = u64::try_from(state.maxerror).ok().filter(|_| is_kept)?;
    error_us.checked_mul(1000)
}

/// Bound of the error of this machine's clock of the day; unknown on this system.
#[cfg(not(target_os = "linux"))]
pub(super) const fn error_ns() -> Option<u64> {
    None
}
