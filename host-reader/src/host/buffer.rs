//! The records of one thread, bounded.

use super::{HostDrops, HostEvent, HostEventKind, HostSource, HostThread};
use std::{collections::HashMap, sync::Arc};

/// How much a thread may record between two calls of `take`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) event_count: usize,
    pub(super) text_bytes: usize,
}

/// A place in the program: one of the program's own, or one made while it runs.
#[derive(Clone, Debug)]
pub(super) enum SourceRef {
    Static(&'static HostSource),
    Shared(Arc<HostSource>),
}

/// One thread's records. Only that thread adds to it; whoever takes them waits for it.
#[derive(Debug)]
pub(super) struct Buffer {
    number: u64,
    name: String,
    bounds: Bounds,
    events: Vec<Raw>,
    text_bytes: usize,
    open_zones: u16,
    dropped: HostDrops,
}

#[derive(Debug)]
struct Raw {
    source: SourceRef,
    time_ns: u64,
    kind: HostEventKind,
    text: Option<Box<str>>,
}

impl SourceRef {
    fn get(&self) -> &HostSource {
        match self {
            Self::Static(source) => source,
            Self::Shared(source) => source,
        }
    }
}

impl Buffer {
    pub(super) fn new(number: u64, name: String, bounds: Bounds) -> Self {
        Self {
            number,
            name,
            bounds,
            events: Vec::new(),
            text_bytes: 0,
            open_zones: 0,
            dropped: HostDrops::default(),
        }
    }

    /// Begins a zone if there is room for its end; its depth.
    pub(super) fn begin_zone(&mut self) -> Option<u16> {
        let depth = self.open_zones;
        let is_room = self.events.len() + usize::from(depth) < self.bounds.event_count;
        if !is_room || depth == u16::MAX {
            self.dropped.zones += 1;
            return None;
        }
        self.open_zones += 1;
        Some(depth)
    }

    /// Ends a zone; its room was kept.
    pub(super) fn end_zone(
        &mut self,
        source: SourceRef,
        depth: u16,
        (time_ns, end_ns): (u64, u64),
        text: Option<Box<str>>,
    ) {
        self.open_zones = self.open_zones.saturating_sub(1);
        let text = self.admit(text);
        self.events.push(Raw {
            source,
            time_ns,
            kind: HostEventKind::Zone { end_ns, depth },
            text,
        });
    }

    /// Adds what has no duration, if there is room.
    pub(super) fn add(
        &mut self,
        source: SourceRef,
        time_ns: u64,
        kind: HostEventKind,
        text: Option<Box<str>>,
    ) {
        if self.events.len() + usize::from(self.open_zones) >= self.bounds.event_count {
            self.dropped.others += 1;
            return;
        }
        let text = self.admit(text);
        self.events.push(Raw { source, time_ns, kind, text });
    }

    /// Takes the records out; `None` if there are none and nothing was dropped.
    pub(super) fn take(&mut self, sources: &mut Sources) -> Option<HostThread> {
        let open_zone_count = self.open_zones.into();
        if self.events.is_empty() && self.dropped.count() == 0 && open_zone_count == 0 {
            return None;
        }
        self.text_bytes = 0;
        let event = |raw: Raw| HostEvent {
            source: sources.number(&raw.source),
            time_ns: raw.time_ns,
            kind: raw.kind,
            text: raw.text,
        };
        Some(HostThread {
            number: self.number,
            name: self.name.clone(),
            events: std::mem::take(&mut self.events).into_iter().map(event).collect(),
            open_zone_count,
            dropped: std::mem::take(&mut self.dropped),
        })
    }

    fn admit(&mut self, text: Option<Box<str>>) -> Option<Box<str>> {
        let text = text?;
        if self.text_bytes.saturating_add(text.len()) > self.bounds.text_bytes {
            self.dropped.texts += 1;
            return None;
        }
        self.text_bytes += text.len();
        Some(text)
    }
}

/// Places in the program, each numbered once.
#[derive(Default)]
pub(super) struct Sources {
    numbers: HashMap<HostSource, u32>,
    list: Vec<HostSource>,
}

impl Sources {
    pub(super) fn into_list(self) -> Vec<HostSource> {
        self.list
    }

    fn number(&mut self, source: &SourceRef) -> u32 {
        let source = source.get();
        if let Some(&number) = self.numbers.get(source) {
            return number;
        }
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.numbers.insert(source.clone(), number);
        self.list.push(source.clone());
        number
    }
}
