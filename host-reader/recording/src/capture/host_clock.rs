//! The clock of a recording's host: the machine that the clock belongs to, and readings that relate
//! the clock to the time of day.
//!
//! Recordings from one machine share the monotonic clock of the machine. Recordings from different
//! machines can be related by the time of day, if a service synchronises the time of day of each
//! machine and states the error of that time.

use super::kernel_time;
use host_events::monotonic_ns;
use reader::{clock::DayReading, mesh::Device};
use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

/// Clock of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostClock {
    /// Boot id of the machine's kernel, unique to every boot of every machine; `None` if unknown.
    ///
    /// # Compatibility
    /// The id is the content of `/proc/sys/kernel/random/boot_id` on Linux.
    pub boot_id: Option<u128>,
    /// Offset, in nanoseconds, that the time namespace of the recording process adds to the
    /// machine's monotonic clock.
    pub namespace_ns: i64,
    /// Readings of the time of day.
    pub readings: Vec<DayReading>,
}

impl HostClock {
    /// Reads the clocks of this machine. The host's clock is the monotonic clock of this machine.
    #[must_use]
    pub fn now() -> Self {
        let namespace_ns = time_namespace_ns();
        Self {
            // If the time namespace is unknown, it is also unknown which machine's clock this is.
            boot_id: boot_id().filter(|_| namespace_ns.is_some()),
            namespace_ns: namespace_ns.unwrap_or(0),
            readings: vec![reading()],
        }
    }

    /// Returns true if the device's host times come from the monotonic clock of this machine.
    pub(super) fn is_of(device: &mut dyn Device) -> bool {
        let before = monotonic_ns();
        let time = device.host_time_ns();
        (before..=monotonic_ns()).contains(&time)
    }
}

/// Number of attempts per reading. The shortest attempt is kept, because longer attempts may have
/// been interrupted.
const TRIES: usize = 5;

fn reading() -> DayReading {
    let tries = (0..TRIES).map(|_| {
        let before_ns = monotonic_ns();
        let day_ns = unix_time_ns();
        let after_ns = monotonic_ns();
        DayReading { before_ns, day_ns, after_ns, error_ns: None }
    });
    let shortest = tries.min_by_key(|reading| reading.after_ns.saturating_sub(reading.before_ns));
    DayReading { error_ns: kernel_time::error_ns(), ..shortest.unwrap_or_default() }
}

/// Returns the time of day, in nanoseconds since the Unix epoch.
pub(super) fn unix_time_ns() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}

fn boot_id() -> Option<u128> {
    parse_boot_id(&fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?)
}

fn parse_boot_id(text: &str) -> Option<u128> {
    let digits: String = text.trim().chars().filter(|&digit| digit != '-').collect();
    let is_whole = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u128::from_str_radix(&digits, 16).ok().filter(|&id| is_whole && id != 0)
}

/// Returns the offset, in nanoseconds, that the time namespace of this process adds to the
/// machine's monotonic clock; `None` if unknown.
///
/// # Compatibility
/// Linux's `/proc/PID/timens_offsets` describes the time namespace of child processes. The process
/// itself is in the same namespace as its children, unless it has created a new time namespace and
/// has executed no other program since.
fn time_namespace_ns() -> Option<i64> {
    let [own, children] = ["time", "time_for_children"]
        .map(|name| fs::read_link(format!("/proc/self/ns/{name}")).ok());
    match fs::read_to_string("/proc/self/timens_offsets") {
        Ok(text) => parse_namespace(&text).filter(|_| own == children),
        // The kernel has no time namespaces.
        Err(_) => own.is_none().then_some(0),
    }
}

fn parse_namespace(text: &str) -> Option<i64> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|line| line.first() == Some(&"monotonic"))?;
    let [_, seconds, ns] = line[..] else { return None };
    let seconds: i64 = seconds.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_id_is_a_number_of_128_bits_or_unknown() {
        let text = "a16fc905-c2ca-4ac0-9701-ca2798cd0d5c\n";
        assert_eq!(parse_boot_id(text), Some(0xa16f_c905_c2ca_4ac0_9701_ca27_98cd_0d5c));
        for text in ["", "a16fc905", "+16fc905-c2ca-4ac0-9701-ca2798cd0d5c"] {
            assert_eq!(parse_boot_id(text), None, "{text}");
        }
        assert_eq!(parse_boot_id("00000000-0000-0000-0000-000000000000"), None);
    }

    #[test]
    fn a_time_namespace_shifts_the_monotonic_clock() {
        let text = "monotonic           -5         200\nboottime            7         0\n";
        assert_eq!(parse_namespace(text), Some(-4_999_999_800));
        for text in ["", "monotonic 5\n", "monotonic x 0\n", "monotonic 9223372037 0\n"] {
            assert_eq!(parse_namespace(text), None, "{text}");
        }
    }

    #[test]
    fn readings_of_this_machine_follow_each_other_on_both_clocks() {
        let (one, other) = (HostClock::now(), HostClock::now());
        assert_eq!((one.boot_id, one.namespace_ns), (other.boot_id, other.namespace_ns));
        if cfg!(target_os = "linux") {
            assert!(one.boot_id.is_some());
        }
        let ([first], [second]) = (&one.readings[..], &other.readings[..]) else {
            panic!("one reading each")
        };
        assert!(first.before_ns <= first.after_ns && first.after_ns <= second.before_ns);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let age = now - u128::from(second.day_ns);
        assert!(age < 60_000_000_000, "{age}");
    }
}
