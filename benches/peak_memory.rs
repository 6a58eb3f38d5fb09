//! Peak memory of a bench.

/// Fails if the peak memory of the process, including a log's text, reached 1 GiB.
pub(crate) fn assert_memory_is_bounded() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")).map(str::parse::<u64>);
    let Some(Ok(peak_kib)) = peak else { return };
    eprintln!("peak memory: {} MiB", peak_kib >> 10);
    assert!(peak_kib < 1 << 20, "{peak_kib} KiB of memory at the peak, expected less than 1 GiB");
}
