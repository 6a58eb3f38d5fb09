//! The recording as one of the host, which captures keep and every output shows.

use crate::recording::{TracyRecording, TracyZone};
use host_events::{HostEvent, HostEventKind, HostRecording, HostSource, HostThread};
use std::{borrow::Cow, collections::HashMap};

/// Begin of the messages that TT-Metal's Python package sends for a signpost.
const SIGNPOST: &str = "`TT_SIGNPOST: ";

/// Sources of events, each once.
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
        self.index(HostSource::of_name(name.to_owned()))
    }
}

/// A time as recordings of a host have it. Times before the client's start are its start.
fn time_ns(since_start_ns: i64, start_ns: u64) -> u64 {
    start_ns.saturating_add_signed(since_start_ns)
}

impl TracyRecording {
    /// The zones, messages, plots and frames of the threads as a recording of the host.
    ///
    /// `start_ns` is the client's start on the clock that the recording is to have; 0 leaves the
    /// times as they are. Zones without an end are counted as open. Call stacks become lines of
    /// a zone's text. Device zones are not part of it.
    #[must_use]
    pub fn to_host_recording(&self, start_ns: u64) -> HostRecording {
        let mut sources = Sources::default();
        let mut threads: Vec<HostThread> = Vec::with_capacity(self.threads.len());
        for (number, thread) in (1..).zip(&self.threads) {
            let ended = thread.zones.iter().filter(|zone| zone.end_ns.is_some());
            let mut events: Vec<HostEvent> =
                ended.map(|zone| self.zone_event(zone, start_ns, &mut sources)).collect();
            // Of two zones that end at once the inner one comes first.
            let order = |event: &HostEvent| match event.kind {
                HostEventKind::Zone { depth, .. } => (event.end_ns(), u16::MAX.wrapping_sub(depth)),
                _ => (event.end_ns(), 0),
            };
            events.sort_by_key(order);
            let open_zone_count = thread.zones.len().saturating_sub(events.len()) as u64;
            let name = thread.name.clone();
            let thread =
                HostThread { number, name, events, open_zone_count, ..HostThread::default() };
            threads.push(thread);
        }
        self.add_messages(&mut threads, start_ns, &mut sources);
        self.add_series(&mut threads, start_ns, &mut sources);
        HostRecording {
            process_id: u32::try_from(self.program.process_id).unwrap_or(0),
            sources: sources.met,
            threads,
            ..HostRecording::default()
        }
    }

    fn zone_event(&self, zone: &TracyZone, start_ns: u64, sources: &mut Sources) -> HostEvent {
        let location = self.location(zone.location).cloned().unwrap_or_default();
        let extra = zone.extra.as_deref();
        let name = extra.and_then(|extra| extra.name.clone());
        let name = name.unwrap_or_else(|| location.zone_name().into());
        let source = sources.index(HostSource {
            name: Cow::Owned(name.into()),
            function: Cow::Owned(location.function.into()),
            file: Cow::Owned(location.file.into()),
            line: location.line,
        });
        let start = time_ns(zone.start_ns, start_ns);
        let end_ns = zone.end_ns.map_or(start, |end| time_ns(end, start_ns));
        HostEvent {
            source,
            time_ns: start,
            kind: HostEventKind::Zone { end_ns, depth: zone.depth },
            text: self.zone_text(zone),
        }
    }

    /// Attached text, then one line for each function of the call stack.
    fn zone_text(&self, zone: &TracyZone) -> Option<Box<str>> {
        let extra = zone.extra.as_deref()?;
        let stack = extra.callstack.and_then(|index| {
            let stack = self.callstacks.get(usize::try_from(index).ok()?)?;
            let line = |function: &crate::StackFunction| {
                format!("at {} ({}:{})", function.name, function.file, function.line)
            };
            Some(stack.iter().map(line).collect::<Vec<_>>().join("\n"))
        });
        let lines = [extra.text.as_deref().map(str::to_owned), stack];
        let text = lines.into_iter().flatten().collect::<Vec<_>>().join("\n");
        (!text.is_empty()).then(|| text.into())
    }

    fn add_messages(&self, threads: &mut [HostThread], start_ns: u64, sources: &mut Sources) {
        for message in &self.messages {
            let Some(thread) = threads.get_mut(message.thread) else { continue };
            let time_ns = time_ns(message.time_ns, start_ns);
            let event = match signpost(&message.text) {
                Some((name, text)) => HostEvent {
                    source: sources.named(name),
                    time_ns,
                    kind: HostEventKind::Signpost,
                    text: text.map(Into::into),
                },
                None => HostEvent {
                    source: sources.named(""),
                    time_ns,
                    kind: HostEventKind::Message,
                    text: Some(message.text.clone()),
                },
            };
            thread.events.push(event);
        }
    }

    fn add_series(&self, threads: &mut [HostThread], start_ns: u64, sources: &mut Sources) {
        for plot in &self.plots {
            let source = sources.named(&plot.name);
            for (time, value, thread) in &plot.points {
                let kind = HostEventKind::Plot { value: *value };
                let time_ns = time_ns(*time, start_ns);
                if let Some(thread) = threads.get_mut(*thread) {
                    thread.events.push(HostEvent { source, time_ns, kind, text: None });
                }
            }
        }
        for series in &self.frames {
            let source = sources.named(&series.name);
            for (start, end) in &series.frames {
                let time_ns = time_ns(end.unwrap_or(*start), start_ns);
                let kind = HostEventKind::FrameMark;
                if let Some(thread) = threads.first_mut() {
                    thread.events.push(HostEvent { source, time_ns, kind, text: None });
                }
            }
        }
    }
}

/// Header and message of a signpost, as TT-Metal's Python package packs them into a message.
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
