//! Conversion of cycles of a chip's reference clock to nanoseconds of a trace.

use crate::{Recording, capture::sync::MeshClock};
use analysis::cycles_to_ns;
use rayon::prelude::*;
use reader::{
    clock::PiecewiseClock,
    lane::Lane,
    readout::{ChipSummary, DeviceReadout},
};

/// Conversion of a chip's cycles to the trace's time.
///
/// If the chip's clock was related to the host's clock, times are host times. Otherwise, the chip's
/// first record is at 0, cycles are converted at the nominal frequency, and times of different
/// chips are not comparable.
#[derive(Clone, Copy, Debug)]
pub struct DeviceClock<'a> {
    nominal_mhz: u32,
    first_cycle: u64,
    last_cycle: u64,
    host: Option<&'a PiecewiseClock>,
    /// Host time of the trace's origin; used only if `host` is set.
    origin_ns: i64,
}

impl<'a> DeviceClock<'a> {
    /// Returns the clock of a chip. All records of the chip must be between the two given cycles.
    fn new(
        chip: &ChipSummary,
        (first_cycle, last_cycle): (u64, u64),
        clock: Option<&'a MeshClock>,
    ) -> Self {
        let reference = clock.and_then(|clock| clock.reference_clock(chip.chip_id));
        Self { nominal_mhz: chip.aiclk_mhz, first_cycle, last_cycle, host: reference, origin_ns: 0 }
    }

    /// Returns true if times are host times, which are comparable between chips.
    #[must_use]
    pub const fn is_host_time(&self) -> bool {
        self.host.is_some()
    }

    /// Returns the nominal frequency in MHz. Returns `None` if it is unknown; a cycle then counts
    /// as 1 ns.
    #[must_use]
    pub const fn nominal_mhz(&self) -> Option<u32> {
        if self.nominal_mhz == 0 { None } else { Some(self.nominal_mhz) }
    }

    /// Returns the frequency in GHz: measured if the clock was sampled, otherwise nominal.
    #[must_use]
    pub fn frequency_ghz(&self) -> f64 {
        match self.host {
            Some(clock) => clock.frequency_ghz(self.first_cycle),
            None => f64::from(self.drawn_mhz()) / 1000.0,
        }
    }

    /// Returns the maximum error of times relative to the host's clock, in ns; `None` if times are
    /// not host times.
    #[must_use]
    pub fn bound_ns(&self) -> Option<f64> {
        let clock = self.host?;
        let bounds =
            [self.first_cycle, self.last_cycle].map(|cycle| clock.to_host_ns(cycle).bound_ns);
        Some(bounds[0].max(bounds[1]))
    }

    /// Returns the host time of the trace's origin, in ns. If times are not host times, returns the
    /// time from the chip's reset to its first record, computed with the nominal frequency.
    #[must_use]
    pub fn origin_ns(&self) -> i64 {
        if self.host.is_some() {
            return self.origin_ns;
        }
        let ns = cycles_to_ns(self.first_cycle, self.drawn_mhz());
        ns.and_then(|ns| i64::try_from(ns).ok()).unwrap_or(i64::MAX)
    }

    /// Returns the earliest cycle of the chip's records.
    #[must_use]
    pub const fn first_cycle(&self) -> u64 {
        self.first_cycle
    }

    /// Returns the latest cycle of the chip's records.
    #[must_use]
    pub const fn last_cycle(&self) -> u64 {
        self.last_cycle
    }

    /// Converts a cycle of the chip's reference clock to nanoseconds since the trace's origin.
    #[must_use]
    pub fn time_ns(&self, cycle: u64) -> u64 {
        match self.host {
            Some(clock) => self.since_origin(clock.to_host_ns(cycle).ns),
            None => self.nominal_ns(cycle),
        }
    }

    const fn drawn_mhz(&self) -> u32 {
        if self.nominal_mhz == 0 { 1000 } else { self.nominal_mhz }
    }

    fn since_origin(&self, host_ns: i64) -> u64 {
        u64::try_from(i128::from(host_ns).saturating_sub(self.origin_ns.into())).unwrap_or(0)
    }

    #[inline]
    fn nominal_ns(&self, cycle: u64) -> u64 {
        let cycles = cycle.saturating_sub(self.first_cycle);
        match self.drawn_mhz() {
            1000 => cycles,
            mhz => cycles_to_ns(cycles, mhz).unwrap_or(u64::MAX),
        }
    }
}

/// Returns the clocks of chips that were not related to the host's clock, such as the chips of a
/// device log. `bounds` are the earliest and latest cycle of each chip's records.
pub(crate) fn unrelated_clocks<'chips>(
    devices: &'chips [DeviceReadout],
    bounds: impl IntoIterator<Item = (u64, u64)>,
) -> Vec<DeviceClock<'chips>> {
    let devices = devices.iter().zip(bounds);
    devices.map(|(device, bounds)| DeviceClock::new(&device.chip, bounds, None)).collect()
}

/// Returns the clock of each chip and the host time of their common origin.
///
/// The host time is `None` unless the clocks of all chips with lanes are related to the host's
/// clock.
pub fn clocks_of(recording: &Recording) -> (Vec<DeviceClock<'_>>, Option<i64>) {
    let devices = &recording.readout.devices;
    let mut clocks: Vec<_> = devices
        .iter()
        .map(|device| DeviceClock::new(&device.chip, bounds(device), recording.clock.as_ref()))
        .collect();
    let used = devices.iter().zip(&clocks).filter(|(device, _)| !device.lanes.is_empty());
    let used = used.map(|(_, clock)| clock);
    let is_common = used.clone().all(DeviceClock::is_host_time);
    let first_ns = |clock: &DeviceClock<'_>| Some(clock.host?.to_host_ns(clock.first_cycle).ns);
    let first_device_ns = used.filter_map(first_ns).min();
    let first_host_ns =
        recording.first_host_event_ns().filter(|_| is_common).and_then(|ns| i64::try_from(ns).ok());
    let origin_ns = first_device_ns
        .map(|device_ns| first_host_ns.map_or(device_ns, |host_ns| host_ns.min(device_ns)));
    clocks.iter_mut().for_each(|clock| clock.origin_ns = origin_ns.unwrap_or(0));
    (clocks, origin_ns.filter(|_| is_common))
}

/// Returns the earliest and latest cycle of a chip's records.
fn bounds(device: &DeviceReadout) -> (u64, u64) {
    device.lanes.par_iter().filter_map(lane_bounds).reduce_with(wider).unwrap_or((0, 0))
}

/// Returns the earliest and latest cycle of a lane's records.
pub(crate) fn lane_bounds(lane: &Lane) -> Option<(u64, u64)> {
    Some((*lane.times.iter().min()?, *lane.times.iter().max()?))
}

/// Returns the smallest range that contains both ranges.
pub(crate) fn wider(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0.min(other.0), one.1.max(other.1))
}
