//! Messages: instants, losses, and remarks about the whole trace.

use super::lanes::Rgb;
use crate::{
    PointCategory, Trace, TraceLane, TraceLoss, TraceNames, TracePoint,
    point_words::PointWords,
    words::{loss_label, totals_label},
};
use std::borrow::Cow;

/// One line of Tracy's message list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) time_ns: u64,
    /// Thread of the message.
    pub(super) thread_id: u32,
    pub(super) text: String,
    pub(super) rgb: Rgb,
}

const VALUE_RGB: Rgb = 0x006A_5ACD;
const EVENT_RGB: Rgb = 0x00FF_BF00;
const SUM_RGB: Rgb = 0x0077_815C;
const LOSS_RGB: Rgb = 0x00FF_3030;
/// Id of the thread with the remarks in a live feed. All other threads have greater ids.
pub(super) const REMARKS_THREAD: u32 = 1 << 3;
pub(super) const REMARK_RGB: Rgb = 0x00C0_C0C0;

/// Returns the messages of one lane, ordered by time.
pub(super) fn lane_messages(
    lane: &TraceLane<'_>,
    thread_id: u32,
    names: &TraceNames<'_>,
    words: &PointWords<'_>,
) -> Vec<Message> {
    let points = lane.points.iter().map(|point| {
        let meaning = words.meaning(lane.id, point);
        let name = match &meaning {
            Some(meaning) => meaning.label(),
            None => Cow::Borrowed(names.label(point.name)),
        };
        point_message(point, thread_id, &name)
    });
    let losses = lane.losses.iter().map(|loss| loss_message(loss, thread_id));
    let mut messages: Vec<_> = points.chain(losses).collect();
    messages.sort_by_key(|message| message.time_ns);
    messages
}

fn point_message(point: &TracePoint<'_>, thread_id: u32, name: &str) -> Message {
    let (mut text, rgb) = match (point.category(), point.values) {
        (PointCategory::Sum, &[cycles]) => (format!("{name}: {cycles} cycles in sum"), SUM_RGB),
        (_, []) => (name.to_owned(), EVENT_RGB),
        (_, &[value]) => (format!("{name} = {value} ({value:#x})"), VALUE_RGB),
        (_, values) => (format!("{name} = {values:#x?}").replace(['\n', ' '], ""), VALUE_RGB),
    };
    if let Some(more) = point.text {
        text.push_str(": ");
        text.push_str(more);
    }
    Message { time_ns: point.time_ns, thread_id, text, rgb }
}

fn loss_message(loss: &TraceLoss, thread_id: u32) -> Message {
    let program = loss.program.map_or_else(String::new, |id| format!(", program {}", id.base()));
    let text = format!("{}{program}", loss_label(loss));
    Message { time_ns: loss.time_ns, thread_id, text, rgb: LOSS_RGB }
}

/// Returns messages about the trace as a whole: losses, anomalies, hidden items.
pub(super) fn trace_messages(trace: &Trace<'_>, thread_id: u32) -> Vec<Message> {
    let doubts = trace.doubts().into_iter();
    let doubts = doubts.map(|(what, count)| format!("{}: {count}", what.replace('_', " ")));
    let unplaced = trace.unplaced_losses.iter().map(|(key, totals)| {
        format!("lost on {}: {} ({})", key.lane, totals_label(totals), key.cause.label())
    });
    doubts.chain(unplaced).map(|text| remark(text, thread_id)).collect()
}

/// Returns a message that is shown at the start of the trace.
pub(super) const fn remark(text: String, thread_id: u32) -> Message {
    Message { time_ns: 0, thread_id, text, rgb: REMARK_RGB }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::{Recording, TraceFilter};

    #[test]
    fn messages_name_points_by_what_they_mean() {
        let recording = Recording::from_readout(captures::read_capture("wormhole-noc-256"));
        let trace = Trace::new(&recording, &TraceFilter::default());
        let words = PointWords::new(&trace);
        let lanes = trace.lanes();
        let messages: Vec<_> =
            lanes.flat_map(|lane| lane_messages(lane, 7, &trace.names, &words)).collect();
        let count =
            |part: &str| messages.iter().filter(|message| message.text.starts_with(part)).count();
        // 8 reads and 8 writes, encoded as 1 and 11 in the low bytes of the log's data.
        assert_eq!((count("READ 256 B "), count("WRITE_ 256 B "), count("id ")), (8, 8, 0));
    }
}
