//! Labels shared by all export formats.

use super::{Trace, TraceDevice, TraceHostThread, TraceLane, TraceLoss};
use host_events::{HostEvent, HostEventKind, HostSource};
use reader::ledger::{LossCause, LossTotals, UncountedSource};
use std::{borrow::Cow, collections::BTreeMap};

/// Returns the label of a lane, such as `1-2 BRISC`.
pub(super) fn lane_label(lane: &TraceLane<'_>) -> String {
    format!("{} {}", core_label(lane), lane.id.risc)
}

/// Returns the label of a row of ops.
pub(super) fn row_label(row: u32) -> String {
    if row == 0 { "ops".to_owned() } else { format!("ops, row {}", row + 1) }
}

/// Returns the label of the row of modules whose ops are in a row of ops.
pub(super) fn module_row_label(row: u32) -> String {
    if row == 0 { "modules".to_owned() } else { format!("modules, row {}", row + 1) }
}

/// Returns the label of a core in the style of TT-Metal's tools, such as `1-2`.
pub(super) fn core_label(lane: &TraceLane<'_>) -> String {
    format!("{}-{}", lane.id.core.x, lane.id.core.y)
}

/// Returns the label of a host thread: its name, process number and thread number.
pub(super) fn thread_label(thread: &TraceHostThread<'_>) -> String {
    let name = if thread.name.is_empty() { "thread" } else { thread.name };
    format!("{name} {}.{}", thread.process_id, thread.number)
}

/// Returns the kind and the label of a message, signpost or frame mark.
pub(super) fn mark_label<'a>(
    event: &'a HostEvent,
    source: &'a HostSource,
) -> (&'static str, Cow<'a, str>) {
    let label = match event.kind {
        HostEventKind::Message => message_label(event.text.as_deref().unwrap_or("")),
        _ => Cow::Borrowed(&*source.name),
    };
    (kind_label(event.kind), label)
}

/// Returns the label of a kind of host event.
pub(super) const fn kind_label(kind: HostEventKind) -> &'static str {
    match kind {
        HostEventKind::Message => "message",
        HostEventKind::Signpost => "signpost",
        HostEventKind::FrameMark => "frame",
        HostEventKind::Zone { .. } => "zone",
        HostEventKind::Plot { .. } => "plot",
    }
}

/// Maximum length of a message's label, in characters.
const MESSAGE_LABEL_CHARS: usize = 64;

/// Returns the label of a message: the beginning of its first line that is not empty.
///
/// A message of TT-Metal may be several pages of JSON between backticks, so the label is only a
/// short part of it. Formats store the whole text separately.
fn message_label(text: &str) -> Cow<'_, str> {
    let mut lines =
        text.lines().map(|line| line.trim_matches(|c: char| c == '`' || c.is_whitespace()));
    let line = lines.find(|line| !line.is_empty()).unwrap_or("message");
    match line.char_indices().nth(MESSAGE_LABEL_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}\u{2026}", line.get(..end).unwrap_or(line))),
        None => Cow::Borrowed(line),
    }
}

/// Returns the label of a chip.
pub(super) fn device_label(device: &TraceDevice<'_>) -> String {
    format!("device {} {}", device.chip.chip_id, device.chip.arch)
}

/// Returns true if a trace shows a chip beside others whose times cannot be compared with its own.
pub(super) fn has_own_clock(trace: &Trace<'_>, device: &TraceDevice<'_>) -> bool {
    trace.devices.len() > 1 && !device.clock.is_host_time()
}

/// Returns the label of a chip in a trace with one time axis for all chips.
pub(super) fn device_label_on_axis(trace: &Trace<'_>, device: &TraceDevice<'_>) -> String {
    let label = device_label(device);
    if has_own_clock(trace, device) { format!("{label} (own clock)") } else { label }
}

/// Returns the id, architecture and clock of a chip as JSON. `id_key` is the key of the id.
pub(super) fn clock_json(device: &TraceDevice<'_>, id_key: &str) -> serde_json::Value {
    serde_json::json!({
        id_key: device.chip.chip_id,
        "arch": device.chip.arch,
        "frequency_ghz": device.clock.frequency_ghz(),
        "is_host_time": device.clock.is_host_time(),
        "bound_ns": device.clock.bound_ns(),
        "first_cycle": device.clock.first_cycle(),
    })
}

/// Returns the label of a loss, such as `lost 25 zones, 3 events: L1 full`.
pub(super) fn loss_label(loss: &TraceLoss) -> String {
    missing_label(loss.cause, &loss.totals)
}

/// Returns the label of missing records. Records that were omitted on purpose are not lost.
fn missing_label(cause: LossCause, totals: &LossTotals) -> String {
    let verb = if cause.is_intended() { "omitted" } else { "lost" };
    format!("{verb} {}: {}", totals_label(totals), cause.label())
}

/// Returns all losses of a lane in one line; `None` if no loss is known.
///
/// An example is `lost 25 zones, 3 events: L1 full; lost 64 unknown markers: DRAM full`.
pub(super) fn losses_label(lane: &TraceLane<'_>) -> Option<String> {
    let mut causes: BTreeMap<LossCause, LossTotals> = BTreeMap::new();
    for loss in &lane.losses {
        causes.entry(loss.cause).or_default().add(loss.totals);
    }
    let labels: Vec<_> =
        causes.into_iter().map(|(cause, totals)| missing_label(cause, &totals)).collect();
    (!labels.is_empty()).then(|| labels.join("; "))
}

/// Returns the numbers of missing records as text.
pub(super) fn totals_label(totals: &LossTotals) -> String {
    totals.in_words(|kind, count| format!("{count} {}", kind.label().replace('_', " ")))
}

/// Returns the number of runs that lost records, and the programs of the first and the last launch
/// that may have lost them.
///
/// Each number is a pair of name and value. Unknown numbers are left out.
pub(super) fn launches(totals: &LossTotals) -> impl Iterator<Item = (&'static str, u64)> {
    let span = totals.programs;
    let numbers = [
        ("runs", (totals.runs > 0).then_some(totals.runs)),
        ("first_run_host_id", span.map(|span| span.first.0.into())),
        ("last_run_host_id", span.map(|span| span.last.0.into())),
    ];
    numbers.into_iter().filter_map(|(name, number)| Some((name, number?)))
}

/// Beginning of the keys of reasons why losses are unknown.
pub(crate) const LOSSES_UNKNOWN: &str = "losses_unknown_";

/// Returns the name of the warning about a source that does not report how many records it lost,
/// such as `losses_unknown_the_capture_is_damaged`.
fn uncounted_key(source: UncountedSource) -> String {
    let label = source.label().replace('\'', "").replace([' ', '-'], "_");
    format!("{LOSSES_UNKNOWN}{}", label.to_ascii_lowercase())
}

/// Returns an entry of [`Trace::doubts`] as text for people. Why losses are unknown is a sentence,
/// without a count. `count` is the entry's number as text.
///
/// ```
/// use export::doubt_text;
/// assert_eq!(doubt_text("lost_zones", "25"), "lost zones: 25");
/// let key = "losses_unknown_tt_metals_logs_do_not_record_losses";
/// assert_eq!(doubt_text(key, "1"), "losses unknown: TT-Metal's logs do not record losses");
/// ```
#[must_use]
pub fn doubt_text(key: &str, count: &str) -> String {
    let source = UncountedSource::ALL.into_iter().find(|source| uncounted_key(*source) == key);
    match source {
        Some(source) => format!("losses unknown: {}", source.label()),
        None => format!("{}: {count}", key.replace('_', " ")),
    }
}

impl Trace<'_> {
    /// Returns all warnings about the trace as keys with counts; empty if the trace is complete.
    ///
    /// The warnings are losses, anomalies, repairs, clipped zones, items hidden by a filter, and
    /// runs whose records have not been pushed. Counts of zero are left out.
    #[must_use]
    pub fn doubts(&self) -> Vec<(String, u64)> {
        let mut doubts = Vec::new();
        self.add_losses_and_anomalies(&mut doubts);
        self.add_hidden(&mut doubts);
        self.record_host(&mut doubts);
        let devices = self.devices.iter();
        let pending_run_count = devices.clone().map(|device| device.pending_run_count).sum();
        let discarded_launch_count = devices.map(|device| device.discarded_launch_count).sum();
        doubts.push(("clipped_zones".to_owned(), self.clipped_zone_count() as u64));
        doubts.push(("pending_runs".to_owned(), pending_run_count));
        doubts.push(("discarded_launches".to_owned(), discarded_launch_count));
        doubts.retain(|&(_, count)| count > 0);
        doubts
    }

    fn add_losses_and_anomalies(&self, doubts: &mut Vec<(String, u64)>) {
        let lost = self.lost();
        doubts.extend(lost.counts().map(|(kind, count)| (format!("lost_{}", kind.label()), count)));
        doubts.push(("lost_counts_are_lower_bounds".to_owned(), lost.is_lower_bound.into()));
        let left_out = self.left_out().counts();
        doubts.extend(left_out.map(|(kind, count)| (format!("left_out_{}", kind.label()), count)));
        doubts.extend(self.uncounted.iter().map(|&source| (uncounted_key(source), 1)));
        for (kind, count) in self.anomalies.counts() {
            let what = if kind.is_repair() { "repaired" } else { "anomaly" };
            doubts.push((format!("{what}_{}", kind.label().replace(' ', "_")), count));
        }
    }

    fn record_host(&self, doubts: &mut Vec<(String, u64)>) {
        let host = &self.host;
        let clipped: usize = host.threads.iter().map(|thread| thread.zones.clipped_count()).sum();
        let is_elsewhere = !host.is_empty() && !host.is_on_clock_of_chips;
        doubts.push(("dropped_host_events".to_owned(), host.dropped_count));
        doubts.push(("open_host_zones".to_owned(), host.open_zone_count));
        doubts.push(("clipped_host_zones".to_owned(), clipped as u64));
        doubts.push(("host_is_not_on_clock_of_chips".to_owned(), is_elsewhere.into()));
    }

    fn add_hidden(&self, doubts: &mut Vec<(String, u64)>) {
        let hidden = self.hidden;
        let kinds = [
            ("lanes", hidden.lanes),
            ("zones", hidden.zones),
            ("points", hidden.points),
            ("ops", hidden.ops),
            ("lost_records", hidden.lost_records),
        ];
        doubts.extend(kinds.map(|(kind, count)| (format!("hidden_by_filter_{kind}"), count)));
    }
}

#[cfg(test)]
mod tests {
    use super::message_label;

    #[test]
    fn a_message_is_called_by_the_beginning_of_its_first_line() {
        let op = "`TT_DNN_DEVICE_OP: \"Matmul\", 12, false ->\n{\n\"attributes\": {}\n}`";
        assert_eq!(message_label(op), "TT_DNN_DEVICE_OP: \"Matmul\", 12, false ->");
        assert_eq!(message_label("an op has run"), "an op has run");
        assert_eq!(message_label("\r\n  `\n hello "), "hello");
        for nothing in ["", "``", " \n\t"] {
            assert_eq!(message_label(nothing), "message");
        }
        // The length counts characters, so no character is cut.
        assert_eq!(message_label(&"\u{e9}".repeat(64)), "\u{e9}".repeat(64));
        assert_eq!(message_label(&"\u{e9}".repeat(65)), format!("{}\u{2026}", "\u{e9}".repeat(64)));
    }
}
