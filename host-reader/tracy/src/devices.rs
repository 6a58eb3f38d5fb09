//! Device contexts. The times of device zones arrive in separate items.

use crate::{
    fields::Fields,
    recording::{Damage, DeviceZone, TracyDevice},
    times::{ClientClock, Reference},
};
use std::collections::HashMap;

/// Number of ticks: a counter that decreases by more than this number is assumed to have wrapped
/// around.
const WRAP_TICKS: i64 = 1 << 31;

/// Zone start or zone end for which no time has arrived yet.
#[derive(Clone, Copy, Debug)]
enum Edge {
    Start(usize),
    End(usize),
    /// Start or end of a zone that was not kept because of the limit on events.
    Unkept,
}

/// Relation of a context's ticks to the host's clock.
#[derive(Clone, Copy, Debug)]
struct DeviceClock {
    ns_per_tick: f32,
    /// Host time minus device time, in ns.
    offset_ns: i64,
    /// Latest pair of device time and host time in ns, and the ratio of host time to device time
    /// between the last two pairs.
    ///
    /// Only calibrated contexts have this value.
    calibration: Option<(i64, i64, f64)>,
    last_ticks: i64,
    wrap_ticks: i64,
}

impl DeviceClock {
    #[expect(clippy::cast_precision_loss, reason = "Tracy's server rounds as well")]
    #[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    fn scaled(&self, ticks: i64) -> i64 {
        if self.ns_per_tick.to_bits() == 1_f32.to_bits() {
            return ticks;
        }
        (f64::from(self.ns_per_tick) * ticks as f64) as i64
    }

    /// Returns the ticks after correcting wraps of the counter.
    fn unwrapped(&mut self, ticks: i64) -> i64 {
        if ticks < self.last_ticks.saturating_sub(WRAP_TICKS) {
            let bits = 64_u32.saturating_sub(self.last_ticks.leading_zeros());
            let range = 1_i64.checked_shl(bits).unwrap_or(0);
            self.wrap_ticks = self.wrap_ticks.saturating_add(range);
        }
        self.last_ticks = ticks;
        ticks.saturating_add(self.wrap_ticks)
    }

    #[expect(clippy::cast_precision_loss, reason = "Tracy's server rounds as well")]
    #[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    fn host_ns(&mut self, ticks: i64) -> i64 {
        let unwrapped = self.unwrapped(ticks);
        let device_ns = self.scaled(unwrapped);
        match self.calibration {
            None => device_ns.saturating_add(self.offset_ns),
            Some((device, host, scale)) => {
                let since_pair = device_ns.saturating_sub(device) as f64 * scale;
                host.saturating_add(since_pair as i64)
            }
        }
    }
}

/// A device context that is being recorded.
#[derive(Debug)]
struct OpenDevice {
    device: TracyDevice,
    clock: DeviceClock,
    /// True if all zones belong to the thread that created the context.
    is_bound: bool,
    /// Indices of open zones by lane; `None` for a zone that was not kept because of the limit on
    /// events.
    open: HashMap<u32, Vec<Option<usize>>>,
    /// Zone starts and zone ends for which no time has arrived yet. The key is the query number;
    /// the item with the time contains the same number.
    waiting: HashMap<u16, Edge>,
}

/// All device contexts of a session.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    met: Vec<OpenDevice>,
    by_context: HashMap<u16, usize>,
    last_time: Reference,
    count: usize,
}

/// Fields that items for zone starts and zone ends have in common: lane, query number and context.
struct Head {
    lane: u32,
    query: u16,
    context: u16,
}

impl Head {
    fn take(fields: &mut Fields<'_>) -> Option<Self> {
        let lane = fields.u32()?;
        let query = fields.u16()?;
        Some(Self { lane, query, context: fields.context()? })
    }
}

impl Devices {
    /// Returns the number of zones that were kept.
    pub(crate) const fn zone_count(&self) -> usize {
        self.count
    }

    fn device(&mut self, context: u16) -> Option<&mut OpenDevice> {
        self.met.get_mut(*self.by_context.get(&context)?)
    }

    pub(crate) fn announce(&mut self, mut fields: Fields<'_>, host: ClientClock) -> Option<()> {
        /// Flag of contexts that will send calibration pairs.
        const IS_CALIBRATED: u8 = 1;
        let [host_ticks, device_ticks] = [fields.i64()?, fields.i64()?];
        let is_bound = fields.u32()? != 0;
        let ns_per_tick = fields.f32()?;
        let number = fields.context()?;
        let flags = fields.u8()?;
        fields.u8()?; // type of the context
        let mut clock = DeviceClock {
            ns_per_tick,
            offset_ns: 0,
            calibration: None,
            last_ticks: 0,
            wrap_ticks: 0,
        };
        let (host_ns, device_ns) = (host.ns(host_ticks), clock.scaled(device_ticks));
        clock.offset_ns = host_ns.saturating_sub(device_ns);
        if flags & IS_CALIBRATED != 0 {
            clock.calibration = Some((device_ns, host_ns, 1.0));
        }
        self.by_context.insert(number, self.met.len());
        self.met.push(OpenDevice {
            device: TracyDevice::default(),
            clock,
            is_bound,
            open: HashMap::new(),
            waiting: HashMap::new(),
        });
        Some(())
    }

    pub(crate) fn name(&mut self, mut fields: Fields<'_>, name: Box<str>) -> Option<()> {
        self.device(fields.context()?)?.device.name = name;
        Some(())
    }

    /// Begins a zone.
    ///
    /// `location` returns the zone's location, from the last payload or from the fields after the
    /// head.
    pub(crate) fn begin(
        &mut self,
        mut fields: Fields<'_>,
        is_kept: bool,
        location: impl FnOnce(&mut Fields<'_>) -> Option<u32>,
    ) -> Option<()> {
        fields.i64()?; // when the host recorded it
        let head = Head::take(&mut fields)?;
        let location = location(&mut fields)?;
        let device = self.device(head.context)?;
        let lane = if device.is_bound { 0 } else { head.lane };
        let open = device.open.entry(lane).or_default();
        if !is_kept {
            open.push(None);
            device.waiting.insert(head.query, Edge::Unkept);
            return Some(());
        }
        let index = device.device.zones.len();
        open.push(Some(index));
        device.waiting.insert(head.query, Edge::Start(index));
        let zone = DeviceZone { location, lane, start_ns: None, end_ns: None };
        device.device.zones.push(zone);
        self.count = self.count.saturating_add(1);
        Some(())
    }

    /// Ends the innermost zone of a lane.
    pub(crate) fn end(&mut self, mut fields: Fields<'_>) -> Option<()> {
        fields.i64()?; // when the host recorded it
        let head = Head::take(&mut fields)?;
        let device = self.device(head.context)?;
        let lane = if device.is_bound { 0 } else { head.lane };
        let index = device.open.get_mut(&lane)?.pop()?;
        device.waiting.insert(head.query, index.map_or(Edge::Unkept, Edge::End));
        Some(())
    }

    /// Sets the time of a zone's start or end.
    pub(crate) fn time(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let ticks = self.last_time.advance(fields.i64()?);
        let query = fields.u16()?;
        let device = self.device(fields.context()?)?;
        let host_ns = device.clock.host_ns(ticks);
        let edge = device.waiting.remove(&query)?;
        match edge {
            Edge::Start(index) => device.device.zones.get_mut(index)?.start_ns = Some(host_ns),
            Edge::End(index) => device.device.zones.get_mut(index)?.end_ns = Some(host_ns),
            Edge::Unkept => {}
        }
        Some(())
    }

    /// Adds a complete zone, as sent by the fork.
    pub(crate) fn whole_zone(
        &mut self,
        mut fields: Fields<'_>,
        is_kept: bool,
        location: impl FnOnce(u64) -> Option<u32>,
    ) -> Option<()> {
        let [start, end] = [fields.i64()?, fields.i64()?];
        let location = location(fields.u64()?)?;
        let lane = fields.u32()?;
        let device = self.device(fields.context()?)?;
        if !is_kept {
            return Some(());
        }
        let [start_ns, end_ns] = [start, end].map(|ticks| Some(device.clock.host_ns(ticks)));
        device.device.zones.push(DeviceZone { location, lane, start_ns, end_ns });
        self.count = self.count.saturating_add(1);
        Some(())
    }

    /// Processes a pair of device time and host time of a calibrated context.
    #[expect(clippy::cast_precision_loss, reason = "Tracy's server rounds as well")]
    pub(crate) fn calibrate(&mut self, mut fields: Fields<'_>, host: ClientClock) -> Option<()> {
        let (device_ticks, host_ticks) = (fields.i64()?, fields.i64()?);
        let host_distance_ns = fields.i64()?;
        let device = self.device(fields.context()?)?;
        let (before, ..) = device.clock.calibration?;
        let device_ns = device.clock.scaled(device_ticks);
        let distance_ns = device_ns.checked_sub(before).filter(|distance| *distance != 0)?;
        let scale = host_distance_ns as f64 / distance_ns as f64;
        device.clock.calibration = Some((device_ns, host.ns(host_ticks), scale));
        Some(())
    }

    /// Processes a new pair of device time and host time of a context without calibration.
    pub(crate) fn synchronise(&mut self, mut fields: Fields<'_>, host: ClientClock) -> Option<()> {
        let [device_ticks, host_ticks] = [fields.i64()?, fields.i64()?];
        let device = self.device(fields.context()?)?;
        let device_ns = device.clock.scaled(device_ticks);
        device.clock.offset_ns = host.ns(host_ticks).saturating_sub(device_ns);
        device.clock.last_ticks = 0;
        device.clock.wrap_ticks = 0;
        Some(())
    }

    /// Returns the contexts. Stores in `damage` the number of zones that lack a start time or an
    /// end time.
    pub(crate) fn finish(self, damage: &mut Damage) -> Vec<TracyDevice> {
        let devices: Vec<TracyDevice> = self.met.into_iter().map(|open| open.device).collect();
        let zones = devices.iter().flat_map(|device| &device.zones);
        let untimed = zones.filter(|zone| zone.start_ns.is_none() || zone.end_ns.is_none());
        damage.untimed_device_zones = untimed.count() as u64;
        devices
    }
}
