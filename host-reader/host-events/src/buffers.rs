//! Buffers on chips: bytes in use in each kind of memory.

use crate::{HostEventKind, HostRecording};
use std::{collections::BTreeMap, fmt};

/// Kinds of memory in which a host allocates buffers.
///
/// # Compatibility
/// The names are those of `BufferType` in tt-metal's `buffer_types.hpp`.
const KINDS: [&str; 5] = ["DRAM", "L1", "SYSTEM_MEMORY", "L1_SMALL", "TRACE"];

/// One kind of memory of one chip, in which the host allocates buffers.
///
/// ```
/// use host_events::BufferPool;
/// let pool = BufferPool::parse("Device 3 L1_SMALL").unwrap();
/// assert_eq!((pool.device_id, pool.kind), (3, "L1_SMALL"));
/// assert_eq!(pool.to_string(), "Device 3 L1_SMALL");
/// assert_eq!(BufferPool::parse("Device 3 temperature"), None);
/// ```
///
/// # Compatibility
/// The displayed names are those of the pools that tt-metal reports to Tracy with
/// `TT_METAL_MEM_PROFILER=1` (`tt_metal/impl/buffers/buffer.cpp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferPool {
    /// Number of the chip.
    pub device_id: u64,
    /// Name of the kind, such as `L1`.
    pub kind: &'static str,
}

impl BufferPool {
    /// Parses a pool name such as `Device 3 L1_SMALL`; returns `None` for any other name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (device_id, kind) = name.strip_prefix("Device ")?.split_once(' ')?;
        let kind = KINDS.into_iter().find(|known| *known == kind)?;
        Some(Self { device_id: device_id.parse().ok()?, kind })
    }
}

impl fmt::Display for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device {} {}", self.device_id, self.kind)
    }
}

/// Converts a value from a pool's plot to whole bytes; negative values become 0.
#[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
#[expect(clippy::cast_sign_loss, reason = "no pool holds less than nothing")]
#[must_use]
pub const fn buffer_bytes(value: f64) -> u64 {
    value as u64
}

/// Formats the address of an allocated or freed buffer as the text of a plot point.
///
/// ```
/// use host_events::{address_text, buffer_address};
/// assert_eq!(&*address_text(0x1_2000), "0x12000");
/// assert_eq!(buffer_address("0x12000"), Some(0x1_2000));
/// assert_eq!(buffer_address("12000"), None);
/// ```
#[must_use]
pub fn address_text(address: u64) -> Box<str> {
    format!("{address:#x}").into()
}

/// Parses the buffer address in a plot point's text; returns `None` if the text is not an address.
#[must_use]
pub fn buffer_address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Bytes in use in each pool over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferUsage {
    /// Changes of each pool, ordered by time, as (time in nanoseconds, bytes in use from this time
    /// on).
    pools: BTreeMap<BufferPool, Vec<(u64, u64)>>,
}

impl BufferUsage {
    /// Collects the points of all plots of buffer pools from the given recordings of a host.
    #[must_use]
    pub fn from_host(host: &[HostRecording]) -> Self {
        let mut pools: BTreeMap<BufferPool, Vec<(u64, u64)>> = BTreeMap::new();
        for recording in host {
            for event in recording.events() {
                let HostEventKind::Plot { value } = event.kind else { continue };
                let Some(pool) = BufferPool::parse(recording.name(event)) else { continue };
                pools.entry(pool).or_default().push((event.time_ns, buffer_bytes(value)));
            }
        }
        pools.values_mut().for_each(|points| points.sort_by_key(|(time_ns, _)| *time_ns));
        Self { pools }
    }

    /// Returns each pool with its changes, ordered by time, as (time in nanoseconds, bytes in use
    /// from this time on).
    pub fn pools(&self) -> impl Iterator<Item = (BufferPool, &[(u64, u64)])> {
        self.pools.iter().map(|(pool, points)| (*pool, points.as_slice()))
    }

    /// Returns true if no pool was plotted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    /// Returns the pools of a chip, each with the maximum number of bytes in use from `start_ns` to
    /// `end_ns` (inclusive).
    ///
    /// Pools without a recorded point up to `end_ns` are left out.
    pub fn peaks(
        &self,
        device_id: u64,
        start_ns: u64,
        end_ns: u64,
    ) -> impl Iterator<Item = (BufferPool, u64)> + '_ {
        let device_pools = self.pools.iter().filter(move |(pool, _)| pool.device_id == device_id);
        device_pools.filter_map(move |(pool, points)| {
            let first = points.partition_point(|(time_ns, _)| *time_ns < start_ns);
            let end = points.partition_point(|(time_ns, _)| *time_ns <= end_ns);
            let from = first.saturating_sub(1);
            let peak = points.get(from..end)?.iter().map(|(_, bytes)| *bytes).max()?;
            Some((*pool, peak))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostEvent, HostSource, HostThread};

    #[test]
    fn a_peak_counts_what_is_there_before_and_until_the_end() {
        let sources = vec![HostSource::from_name("Device 1 L1"), HostSource::from_name("load")];
        let event = |source, time_ns, value| HostEvent {
            source,
            time_ns,
            kind: HostEventKind::Plot { value },
            text: None,
            color: None,
        };
        let events = vec![
            event(0, 20, 300.0),
            event(0, 10, 100.0),
            event(1, 20, 1e9),
            event(0, 30, 200.0),
            event(0, 40, 0.0),
        ];
        let thread = HostThread { events, ..HostThread::default() };
        let host = HostRecording { sources, threads: vec![thread], ..HostRecording::default() };
        let usage = BufferUsage::from_host(&[host]);
        let peak = |start, end| {
            let peaks: Vec<_> = usage.peaks(1, start, end).collect();
            let pool = BufferPool { device_id: 1, kind: "L1" };
            match peaks.as_slice() {
                [] => None,
                [(found, bytes)] if *found == pool => Some(*bytes),
                _ => panic!("{peaks:?}"),
            }
        };
        assert_eq!(peak(0, 9), None);
        assert_eq!(peak(0, 10), Some(100));
        assert_eq!(peak(11, 19), Some(100));
        assert_eq!(peak(11, 20), Some(300));
        assert_eq!(peak(25, 35), Some(300));
        assert_eq!(peak(30, 35), Some(300), "until 30 there were 300");
        assert_eq!(peak(31, 35), Some(200));
        assert_eq!(peak(50, 60), Some(0));
        assert_eq!(usage.peaks(0, 0, 100).count(), 0);
    }
}
