//! Readable labels of points whose values can be decoded: NoC events, hardware counters, waits and
//! signals.

use super::{Trace, TraceName, TraceNoc, TracePoint};
use analysis::{counters::Sample, noc_events::TraceObject};
use reader::lane::LaneId;
use std::{borrow::Cow, collections::BTreeMap};
use tables::Value;
use wire::{
    ZoneId,
    wait::{
        BlockedWait, CB_RESERVE_ZONE, CB_WAIT_ZONE, NOC_BARRIER_ZONE, SEM_WAIT_ZONE,
        WAIT_TOTAL_ZONE, WaitKind, WaitTotal, WindowedWait,
    },
};

/// Meanings of a trace's points.
pub(super) struct PointWords<'t> {
    /// For each name, the kind of the records with this name; `None` if their values need no
    /// decoding.
    records: Vec<Option<Record>>,
    /// NoC events of each lane, by cycle.
    noc_events: BTreeMap<LaneId, BTreeMap<u64, &'t TraceObject>>,
}

/// Kind of the records whose values are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    Counter,
    NocEvent,
    WaitTotal,
    Wait,
}

/// Meaning of a point, decoded from its values.
pub(super) enum Meaning<'t> {
    /// A sample of a hardware counter.
    Counter(Sample),
    /// A NoC event.
    NocEvent(&'t TraceObject),
    /// A blocking wait, recorded at its end.
    Wait(BlockedWait),
    /// The sum of a kernel's waits for one object.
    WaitTotal(WaitTotal),
}

impl<'t> PointWords<'t> {
    /// Decodes the names and NoC events of a trace.
    pub(super) fn new(trace: &'t Trace<'_>) -> Self {
        let mut noc_events: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for device in &trace.devices {
            let chip_id = device.chip.chip_id;
            for (_, object) in trace.noc.events(chip_id) {
                if let Some(lane) = TraceNoc::lane_of(chip_id, object) {
                    noc_events.entry(lane).or_default().insert(object.timestamp, object);
                }
            }
        }
        Self { records: trace.names.as_slice().iter().map(record_of).collect(), noc_events }
    }

    /// Returns the meaning of a point of a lane; `None` if the point needs no decoding or could not
    /// be decoded.
    pub(super) fn meaning(&self, lane: LaneId, point: &TracePoint<'_>) -> Option<Meaning<'t>> {
        let data = <[u64; 2]>::try_from(point.values).ok();
        match self.records.get(point.name.index()).copied().flatten()? {
            Record::Counter => Sample::decode(point.values, point.text).ok().map(Meaning::Counter),
            Record::NocEvent => {
                self.noc_events.get(&lane)?.get(&point.cycle).copied().map(Meaning::NocEvent)
            }
            Record::WaitTotal => WaitTotal::from_data(data?).map(Meaning::WaitTotal),
            Record::Wait => {
                let windowed = WindowedWait::from_data(data?).map(|windowed| windowed.wait);
                windowed.or_else(|| BlockedWait::from_data(data?)).map(Meaning::Wait)
            }
        }
    }
}

impl Meaning<'_> {
    /// Returns a readable label, such as `WRITE_ 4096 B to 1-2`.
    pub(super) fn label(&self) -> Cow<'_, str> {
        match self {
            Self::Counter(sample) => Cow::Borrowed(&sample.name),
            Self::NocEvent(object) => Cow::Owned(noc_label(object)),
            Self::Wait(wait) => Cow::Owned(wait_label(wait.kind, wait.key)),
            Self::WaitTotal(total) => {
                Cow::Owned(format!("{}, all of the kernel", wait_label(total.kind, total.key)))
            }
        }
    }
}

impl Meaning<'_> {
    /// Returns the fields of the record by name, as arguments of an event. The value of a counter
    /// is not included.
    pub(super) fn arguments(&self) -> Vec<(&'static str, Value<'_>)> {
        match self {
            Self::Counter(sample) => {
                sample.cycles.map(|cycles| number("of_cycles", cycles)).into_iter().collect()
            }
            Self::NocEvent(object) => {
                let noc = object.noc.as_ref().map(|noc| ("noc", Value::Text(noc.into())));
                let bytes = object.num_bytes.map(|bytes| number("bytes", bytes));
                let tile = [("to_x", object.dx), ("to_y", object.dy)];
                let tile = tile.into_iter().filter_map(|(name, coordinate)| {
                    Some(number(name, u64::try_from(coordinate?).ok()?))
                });
                noc.into_iter().chain(bytes).chain(tile).collect()
            }
            Self::Wait(wait) => {
                vec![number("key", wait.key.into()), number("blocked_cycles", wait.cycles.into())]
            }
            Self::WaitTotal(total) => vec![
                number("key", total.key.into()),
                number("blocked_cycles", total.cycles.into()),
                number("waits", total.waits.into()),
            ],
        }
    }
}

const fn number(name: &'static str, value: u64) -> (&'static str, Value<'static>) {
    (name, Value::Unsigned64(value))
}

fn record_of(name: &TraceName<'_>) -> Option<Record> {
    const WAITS: [&str; 4] = [CB_WAIT_ZONE, CB_RESERVE_ZONE, SEM_WAIT_ZONE, NOC_BARRIER_ZONE];
    match u16::try_from(name.marker_id).map(ZoneId) {
        Ok(ZoneId::PERF_COUNTER) => Some(Record::Counter),
        Ok(ZoneId::NOC_TRACING) => Some(Record::NocEvent),
        _ if name.label == WAIT_TOTAL_ZONE => Some(Record::WaitTotal),
        _ => WAITS.contains(&&*name.label).then_some(Record::Wait),
    }
}

/// Returns the kind and key of a wait, such as `CB_WAIT 3`.
fn wait_label(kind: WaitKind, key: u32) -> String {
    kind.name()
        .map_or_else(|| format!("wait of kind {} {key}", kind.0), |name| format!("{name} {key}"))
}

fn noc_label(object: &TraceObject) -> String {
    let mut label = object.event_type.clone().unwrap_or_else(|| "NoC event".to_owned());
    if let Some(bytes @ 1..) = object.num_bytes {
        label.push_str(&format!(" {bytes} B"));
    }
    if let (Some(x @ 0..), Some(y @ 0..)) = (object.dx, object.dy) {
        label.push_str(&format!(" {x}-{y}"));
    }
    label
}
