//! Converts a recording to a host recording, the type that captures store and all outputs use.

use crate::recording::{DeviceZone, TracyRecording, TracyZone};
use host_events::{
    HostColor, HostEvent, HostEventKind, HostRecording, HostSource, HostThread, address_text,
};
use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

/// Prefix of the messages with which TT-Metal's Python package sends signposts.
const SIGNPOST: &str = "`TT_SIGNPOST: ";

/// Names and source locations of events, without duplicates.
#[derive(Default)]
struct Sources {
    met: Vec<HostSource>,
    by_value: HashMap<HostSource, u32>,
}

impl Sources {
    fn index(&mut self, source: HostSource) -> u32 {
        if let Some(known) = self.by_value.get(&source) {
            return *known;
        }
        let index = u32::try_from(self.met.len()).unwrap_or(u32::MAX);
        self.met.push(source.clone());
        self.by_value.insert(source, index);
        index
    }

    fn named(&mut self, name: &str) -> u32 {
        self.index(HostSource::from_name(name.to_owned()))
    }
}

/// Converts a time since the client's start to a time on the clock of the host recording.
///
/// `start_ns` is the client's start on the clock of the host recording. Negative results become 0.
fn time_ns(since_start_ns: i64, start_ns: u64) -> u64 {
    start_ns.saturating_add_signed(since_start_ns)
}

/// Returns the sort key of an event: the end time. Of zones with equal ends, the inner zone sorts
/// first.
const fn order_of_ends(event: &HostEvent) -> (u64, u16) {
    match event.kind {
        HostEventKind::Zone { depth, .. } => (event.end_ns(), u16::MAX.wrapping_sub(depth)),
        _ => (event.end_ns(), 0),
    }
}

impl TracyRecording {
    /// Converts the program's zones, messages, plots and frames, and the zones of its devices, to a
    /// host recording.
    ///
    /// `start_ns` is the client's start on the clock of the host recording; with 0, the times are
    /// unchanged. Zones without an end are counted as open. The functions of a zone's call stack
    /// become lines of the zone's text. Each lane of a device becomes a thread with the device's
    /// name. The threads for devices come after the program's threads. Device zones without times
    /// are counted as open.
    #[must_use]
    pub fn to_host_recording(&self, start_ns: u64) -> HostRecording {
        let mut sources = Sources::default();
        let mut threads: Vec<HostThread> = Vec::with_capacity(self.threads.len());
        for (number, thread) in (1..).zip(&self.threads) {
            let ended = thread.zones.iter().filter(|zone| zone.end_ns.is_some());
            let mut events: Vec<HostEvent> =
                ended.map(|zone| self.zone_event(zone, start_ns, &mut sources)).collect();
            events.sort_by_key(order_of_ends);
            let open_zone_count = thread.zones.len().saturating_sub(events.len()) as u64;
            let name = thread.name.clone();
            let thread =
                HostThread { number, name, events, open_zone_count, ..HostThread::default() };
            threads.push(thread);
        }
        self.add_messages(&mut threads, start_ns, &mut sources);
        self.add_series(&mut threads, start_ns, &mut sources);
        self.add_devices(&mut threads, start_ns, &mut sources);
        HostRecording {
            process_id: u32::try_from(self.program.process_id).unwrap_or(0),
            sources: sources.met,
            threads,
            ..HostRecording::default()
        }
    }

    fn zone_event(&self, zone: &TracyZone, start_ns: u64, sources: &mut Sources) -> HostEvent {
        let name = zone.extra.as_deref().and_then(|extra| extra.name.as_deref());
        let source = self.source(zone.location, name, sources);
        let start = time_ns(zone.start_ns, start_ns);
        let end_ns = zone.end_ns.map_or(start, |end| time_ns(end, start_ns));
        HostEvent {
            source,
            time_ns: start,
            kind: HostEventKind::Zone { end_ns, depth: zone.depth },
            text: self.zone_text(zone),
            color: self.zone_color(zone),
        }
    }

    /// Returns the index in `sources` of the name and source location of a zone. If `name` is
    /// given, it replaces the name that belongs to the location.
    fn source(&self, location: u32, name: Option<&str>, sources: &mut Sources) -> u32 {
        let location = self.location(location).cloned().unwrap_or_default();
        let name = name.unwrap_or_else(|| location.zone_name()).to_owned();
        sources.index(HostSource {
            name: Cow::Owned(name),
            function: Cow::Owned(location.function.into()),
            file: Cow::Owned(location.file.into()),
            line: location.line,
        })
    }

    /// Adds a thread for each lane of each device.
    fn add_devices(&self, threads: &mut Vec<HostThread>, start_ns: u64, sources: &mut Sources) {
        for device in &self.devices {
            let mut lanes: BTreeMap<u32, Vec<&DeviceZone>> = BTreeMap::new();
            for zone in &device.zones {
                lanes.entry(zone.lane).or_default().push(zone);
            }
            let lane_count = lanes.len();
            for (lane, zones) in lanes {
                let name = if device.name.is_empty() { "device" } else { &device.name };
                let lane_suffix =
                    if lane_count > 1 { format!(", lane {lane}") } else { String::new() };
                let number = (threads.len() as u64).saturating_add(1);
                let events = self.lane_events(&zones, start_ns, sources);
                let open_zone_count = zones.len().saturating_sub(events.len()) as u64;
                let name = format!("{name}{lane_suffix}");
                threads.push(HostThread {
                    number,
                    name,
                    events,
                    open_zone_count,
                    ..HostThread::default()
                });
            }
        }
    }

    /// Returns an event for each zone of a lane, except zones whose start or end is unknown, or
    /// whose end is before the start. The depth of an event is the number of zones that are open at
    /// its start.
    fn lane_events(
        &self,
        zones: &[&DeviceZone],
        start_ns: u64,
        sources: &mut Sources,
    ) -> Vec<HostEvent> {
        let timed = zones.iter().filter_map(|zone| {
            let times = zone.start_ns.zip(zone.end_ns).filter(|(start, end)| start <= end);
            times.map(|(start, end)| (start, Reverse(end), zone.location))
        });
        let mut timed: Vec<_> = timed.collect();
        timed.sort_by_key(|&(start, end, _)| (start, end));
        let mut open: Vec<i64> = Vec::new();
        let mut events = Vec::with_capacity(timed.len());
        for (start, Reverse(end), location) in timed {
            while open.pop_if(|end_before| *end_before <= start).is_some() {}
            let depth = u16::try_from(open.len()).unwrap_or(u16::MAX);
            open.push(end);
            events.push(HostEvent {
                source: self.source(location, None, sources),
                time_ns: time_ns(start, start_ns),
                kind: HostEventKind::Zone { end_ns: time_ns(end, start_ns), depth },
                text: None,
                color: self.location(location).and_then(|location| color(location.color)),
            });
        }
        events.sort_by_key(order_of_ends);
        events
    }

    /// Returns the colour of a zone: its own colour, or else the colour of its location.
    fn zone_color(&self, zone: &TracyZone) -> Option<HostColor> {
        let own = zone.extra.as_deref().and_then(|extra| extra.color);
        own.or_else(|| self.location(zone.location).map(|location| location.color)).and_then(color)
    }

    /// Returns the text attached to a zone, followed by one line for each function of the call
    /// stack.
    fn zone_text(&self, zone: &TracyZone) -> Option<Box<str>> {
        let extra = zone.extra.as_deref()?;
        let stack = extra.callstack.and_then(|index| {
            let stack = self.callstacks.get(usize::try_from(index).ok()?)?;
            Some(
                stack
                    .iter()
                    .map(|function| {
                        format!("at {} ({}:{})", function.name, function.file, function.line)
                    })
                    .collect::<Vec<_>>()
                    .join("\n"),
            )
        });
        let lines = [extra.text.as_deref().map(str::to_owned), stack];
        let text = lines.into_iter().flatten().collect::<Vec<_>>().join("\n");
        (!text.is_empty()).then(|| text.into())
    }

    fn add_messages(&self, threads: &mut [HostThread], start_ns: u64, sources: &mut Sources) {
        for message in &self.messages {
            let Some(thread) = threads.get_mut(message.thread) else { continue };
            let time_ns = time_ns(message.time_ns, start_ns);
            let color = message.color.and_then(color);
            let event = match signpost(&message.text) {
                Some((name, text)) => HostEvent {
                    source: sources.named(name),
                    time_ns,
                    kind: HostEventKind::Signpost,
                    text: text.map(Into::into),
                    color,
                },
                None => HostEvent {
                    source: sources.named(""),
                    time_ns,
                    kind: HostEventKind::Message,
                    text: Some(message.text.clone()),
                    color,
                },
            };
            thread.events.push(event);
        }
    }

    fn add_series(&self, threads: &mut [HostThread], start_ns: u64, sources: &mut Sources) {
        let bare =
            |source, time_ns, kind| HostEvent { source, time_ns, kind, text: None, color: None };
        for plot in &self.plots {
            let source = sources.named(&plot.name);
            for (index, (time, value, thread)) in plot.points.iter().enumerate() {
                let kind = HostEventKind::Plot { value: *value };
                let time_ns = time_ns(*time, start_ns);
                let address = plot.addresses.get(index).copied().flatten();
                if let Some(thread) = threads.get_mut(*thread) {
                    let text = address.map(address_text);
                    thread.events.push(HostEvent { text, ..bare(source, time_ns, kind) });
                }
            }
        }
        for series in &self.frames {
            let source = sources.named(&series.name);
            for (start, end) in &series.frames {
                let time_ns = time_ns(end.unwrap_or(*start), start_ns);
                let kind = HostEventKind::FrameMark;
                if let Some(thread) = threads.first_mut() {
                    thread.events.push(bare(source, time_ns, kind));
                }
            }
        }
    }
}

/// Converts a client's colour; 0 means no colour.
fn color(rgb: u32) -> Option<HostColor> {
    HostColor::from_rgb(rgb).filter(|color| color.rgb() != 0)
}

/// Parses a signpost message of TT-Metal's Python package. Returns the header and the optional
/// message.
fn signpost(message: &str) -> Option<(&str, Option<&str>)> {
    let text = message.strip_prefix(SIGNPOST)?;
    let text = text.strip_suffix('`').unwrap_or(text);
    let text = text.trim_end_matches('\n');
    Some(match text.split_once('\n') {
        Some((header, message)) => (header, Some(message)),
        None => (text, None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(location: u32, start_ns: i64, end_ns: Option<i64>) -> DeviceZone {
        DeviceZone { location, lane: 5, start_ns: Some(start_ns), end_ns }
    }

    #[test]
    fn lanes_of_devices_are_threads_behind_those_of_the_program() {
        use crate::recording::{TracyDevice, TracyLocation, TracyThread};
        let location = |name: &str| TracyLocation { name: name.into(), ..TracyLocation::default() };
        let zones = vec![
            zone(0, 100, Some(900)),
            zone(1, 100, Some(300)),
            zone(1, 300, Some(900)),
            zone(1, 500, None),
            zone(0, 900, Some(950)),
            zone(0, 980, Some(970)),
            DeviceZone { lane: 2, ..zone(1, -5, Some(7)) },
        ];
        let device = TracyDevice { name: "chip 3".into(), zones };
        let recording = TracyRecording {
            locations: vec![location("FW"), location("KERNEL")],
            threads: vec![TracyThread { name: "main".to_owned(), ..TracyThread::default() }],
            devices: vec![device],
            ..TracyRecording::default()
        };
        let host = recording.to_host_recording(1000);
        let threads: Vec<_> = host
            .threads
            .iter()
            .map(|thread| (thread.number, &*thread.name, thread.open_zone_count))
            .collect();
        let expected = [(1, "main", 0), (2, "chip 3, lane 2", 0), (3, "chip 3, lane 5", 2)];
        assert_eq!(threads, expected);
        let zones = |thread: usize| -> Vec<_> {
            let events = host.threads[thread].events.iter();
            events
                .map(|event| {
                    let HostEventKind::Zone { end_ns, depth } = event.kind else {
                        panic!("{event:?}")
                    };
                    let name = host.sources[event.source as usize].name.to_string();
                    (name, event.time_ns, end_ns, depth)
                })
                .collect()
        };
        let zone = |name: &str, start, end, depth| (name.to_owned(), start, end, depth);
        // The zones are ordered by end, inner zones first.
        let lane_zones = [
            zone("KERNEL", 1100, 1300, 1),
            zone("KERNEL", 1300, 1900, 1),
            zone("FW", 1100, 1900, 0),
            zone("FW", 1900, 1950, 0),
        ];
        assert_eq!(zones(2), lane_zones);
        assert_eq!(zones(1), [zone("KERNEL", 995, 1007, 0)]);
    }

    #[test]
    fn signposts_have_a_header_and_perhaps_a_message() {
        assert_eq!(signpost("`TT_SIGNPOST: start`"), Some(("start", None)));
        assert_eq!(
            signpost("`TT_SIGNPOST: run\nsecond pass\nof 3`"),
            Some(("run", Some("second pass\nof 3")))
        );
        assert_eq!(signpost("TT_SIGNPOST: start"), None);
        assert_eq!(signpost("loading"), None);
    }
}
