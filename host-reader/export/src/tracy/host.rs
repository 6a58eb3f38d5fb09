//! The host as Tracy shows it: threads (with their zones and messages), frames and plots.
//!
//! # Compatibility
//! Signposts have the text that tt-metal's Python package `tracy` writes, and that tt-metal's
//! reports search for.

use super::{messages::Message, places::PlaceTable, plots::Plot, spans::Span};
use crate::{TraceHost, TraceHostMark, TraceHostThread, TraceZone};
use host_events::{HostColor, HostEventKind};
use std::{borrow::Cow, collections::BTreeMap};

const MESSAGE_RGB: u32 = 0x00FF_FFFF;
const SIGNPOST_RGB: u32 = 0x0000_CD66;

/// Frames with the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrameSet<'a> {
    pub(super) name: &'a str,
    /// Times at which one frame ended and the next began, in ascending order.
    pub(super) times_ns: Vec<u64>,
}

/// Returns the zones of a thread.
pub(super) fn spans<'a>(
    thread: &TraceHostThread<'a>,
    places: &mut PlaceTable<'a>,
) -> Vec<Span<'a>> {
    thread
        .zone_events()
        .map(|(zone, event, source)| Span {
            start_ns: zone.start_ns,
            end_ns: zone.end_ns,
            depth: zone.depth,
            place: places.host_place(source, event.color),
            name: Cow::Borrowed(""),
            text: text(zone, event.text.as_deref().unwrap_or("")),
        })
        .collect()
}

fn text<'a>(zone: &TraceZone, said: &'a str) -> Cow<'a, str> {
    if !zone.is_clipped {
        return Cow::Borrowed(said);
    }
    let clipped = format!("drawn shorter than recorded: {} ns", zone.duration_cycles);
    Cow::Owned(if said.is_empty() { clipped } else { format!("{said}\n{clipped}") })
}

/// Returns the messages and signposts of a thread.
pub(super) fn messages(
    thread: &TraceHostThread<'_>,
    thread_id: u32,
) -> impl Iterator<Item = Message> {
    thread.marks.iter().filter_map(move |mark| {
        let (text, rgb) = match mark.event.kind {
            HostEventKind::Message => {
                (mark.event.text.as_deref().unwrap_or("").to_owned(), MESSAGE_RGB)
            }
            HostEventKind::Signpost => (signpost(mark), SIGNPOST_RGB),
            _ => return None,
        };
        let rgb = mark.event.color.map_or(rgb, HostColor::rgb);
        Some(Message { time_ns: mark.time_ns, thread_id, text, rgb })
    })
}

/// Returns a signpost's text in the format that TT-Metal's tools read.
fn signpost(mark: &TraceHostMark<'_>) -> String {
    let name = &mark.source.name;
    match &mark.event.text {
        Some(text) => format!("`TT_SIGNPOST: {name}\n{text}`"),
        None => format!("`TT_SIGNPOST: {name}`"),
    }
}

/// Returns the frames that the threads have marked, grouped by name.
pub(super) fn frames<'a>(host: &TraceHost<'a>) -> Vec<FrameSet<'a>> {
    let mut sets: BTreeMap<&'a str, Vec<u64>> = BTreeMap::new();
    for mark in host.threads.iter().flat_map(|thread| &thread.marks) {
        if mark.event.kind == HostEventKind::FrameMark {
            sets.entry(&mark.source.name).or_default().push(mark.time_ns);
        }
    }
    sets.into_iter()
        .map(|(name, mut times_ns)| {
            times_ns.sort_unstable();
            FrameSet { name, times_ns }
        })
        .collect()
}

/// Returns the plots. Points that are not finite are left out, because viewers can neither draw nor
/// scale them.
pub(super) fn plots(host: &TraceHost<'_>) -> Vec<Plot> {
    let plots = host.plots.iter().map(|plot| Plot {
        name: plot.name.to_owned(),
        points: plot
            .points
            .iter()
            .filter(|point| point.value.is_finite())
            .map(|point| (point.time_ns, point.value))
            .collect(),
        is_stepped: false,
    });
    plots.filter(|plot| !plot.points.is_empty()).collect()
}

/// Returns the number of plot points that [`plots`] leaves out.
pub(super) fn undrawn_point_count(host: &TraceHost<'_>) -> u64 {
    let points = host.plots.iter().flat_map(|plot| &plot.points);
    points.filter(|point| !point.value.is_finite()).count() as u64
}
