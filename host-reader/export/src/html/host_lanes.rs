//! Host data of the timeline: threads as lanes in nanoseconds, and plots.
//!
//! A thread is stored like a lane without runs, in the columns of [`super::lanes`]. A step is the
//! difference from the previous value. The kinds of a thread's points are the numbers that
//! [`point_kind`] returns. These points have no values. Three more columns follow:
//!
//! | column | content |
//! |---|---|
//! | texts of zones | count, then all steps of the zones' indices, then all texts |
//! | colours of points | count, then all steps of the points' indices, then all colours |
//! | colours of zones | count, then all steps of the zones' indices, then all colours |
//!
//! Colours are numbers 0xRRGGBB. A plot consists of the steps of all times, followed by all values.
//! Each value is stored as the two halves of its bits.

use super::{lanes::record_zones, packed::PackedColumns};
use crate::{TraceHostPlot, TraceHostThread, host_names::HostNames};
use host_events::{HostColor, HostEventKind};

/// Packs a thread as a lane; `origin_ns` is the trace's origin on the host's clock.
pub(super) fn pack_thread(
    thread: &TraceHostThread<'_>,
    names: &HostNames<'_>,
    origin_ns: u64,
) -> PackedColumns {
    let mut columns = PackedColumns::default();
    columns.count(thread.zones.len());
    columns.count(thread.marks.len());
    columns.count(0);
    let events = thread.zones.iter().map(|zone| thread.zone_event(zone));
    record_zones(&mut columns, &thread.zones, |zone| names.zone_name(thread, zone), origin_ns);
    add_marks(&mut columns, thread, names);
    add_texts(&mut columns, events.clone().map(|event| event?.0.text.as_deref()));
    add_colors(&mut columns, thread.marks.iter().map(|mark| mark.event.color));
    add_colors(&mut columns, events.map(|event| event?.0.color));
    columns
}

fn add_marks(columns: &mut PackedColumns, thread: &TraceHostThread<'_>, names: &HostNames<'_>) {
    let marks = &thread.marks;
    marks.iter().for_each(|mark| columns.number(point_kind(mark.event.kind)));
    marks.iter().for_each(|mark| columns.number(names.number(mark.source).0.into()));
    columns.rising(0, marks.iter().map(|mark| mark.time_ns));
    marks.iter().for_each(|_| columns.count(0));
    add_texts(columns, marks.iter().map(|mark| mark.event.text.as_deref()));
}

/// Adds the texts of all entries that have a text.
fn add_texts<'a>(columns: &mut PackedColumns, texts: impl Iterator<Item = Option<&'a str>>) {
    columns.present(texts, |columns, text| columns.text(text));
}

/// Adds the colours of all entries that have a colour.
fn add_colors(columns: &mut PackedColumns, colors: impl Iterator<Item = Option<HostColor>>) {
    columns.present(colors, |columns, color| columns.number(color.rgb().into()));
}

/// Packs the points of a plot.
pub(super) fn pack_plot(plot: &TraceHostPlot<'_>) -> PackedColumns {
    let mut columns = PackedColumns::default();
    columns.rising(0, plot.points.iter().map(|point| point.time_ns));
    plot.points.iter().for_each(|point| columns.exact(point.value.to_bits()));
    columns
}

/// Returns the number by which the page identifies messages, signposts or frame marks. The
/// numbers start after the last one of [`PointCategory`](crate::PointCategory).
const fn point_kind(kind: HostEventKind) -> u64 {
    match kind {
        HostEventKind::Message => 3,
        HostEventKind::Signpost => 4,
        // Of these kinds, only frame marks occur. This function is called only for messages,
        // signposts and frame marks, not for zones and plots.
        HostEventKind::FrameMark | HostEventKind::Zone { .. } | HostEventKind::Plot { .. } => 5,
    }
}
