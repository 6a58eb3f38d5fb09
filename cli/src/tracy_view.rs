//! Tracy viewers of a program that still runs.

use crate::{
    args::TracyViewArgs,
    failure::{Failure, note},
    numbers::{counted, grouped},
};
use host_reader::{
    capture::LivePart,
    export::{
        Trace, TraceFilter,
        tracy::{
            LiveFeed, LiveServer, Program, ServeError, ServedViewer, TracyOptions, TracyServer,
        },
    },
    lane::LaneId,
    mesh::Mesh,
    recording::Recording,
};
use std::{
    fmt::Write as _,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A feed of a running program, and its server.
pub(crate) struct TracyView {
    feed: Arc<LiveFeed>,
    server: LiveServer,
    /// Number of records of lanes that are not streamed.
    other_record_count: u64,
    patience: Duration,
}

impl TracyView {
    /// Starts to listen for viewers if the options request it. Also waits for the first viewer if
    /// requested.
    pub(crate) fn begin(
        args: &TracyViewArgs,
        title: &str,
        mesh: &mut dyn Mesh,
    ) -> Result<Option<Self>, Failure> {
        let Some(address) = &args.tracy else { return Ok(None) };
        let patience = Duration::from_secs(args.tracy_drop_after);
        let server = TracyServer::bind(address.as_str()).map_err(|error| failure(&error))?;
        let server = server.with_patience(patience);
        let address = server.local_address().map_err(|error| failure(&error))?;
        let origin_ns = mesh.device(0).map_or(0, |device| device.host_time_ns());
        let origin_ns = i64::try_from(origin_ns).unwrap_or(i64::MAX);
        let feed = Arc::new(LiveFeed::new(origin_ns, &lanes_of(mesh)));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let options = TracyOptions { title: title.to_owned(), recorded_at_s: now.as_secs() };
        let viewers = if args.tracy_fork { Program::Fork } else { Program::Stock };
        let server = LiveServer::start(server, Arc::clone(&feed), options, viewers, print);
        let server = server.map_err(|error| failure(&error))?;
        note!("kprof: waiting for Tracy viewers on {address}");
        let view = Self { feed, server, other_record_count: 0, patience };
        while args.tracy_wait && !view.feed.wait_for_viewer(Duration::from_secs(1)) {}
        Ok(Some(view))
    }

    /// Sends the records of one read.
    pub(crate) fn add(&mut self, part: LivePart) {
        let LivePart { run, other_record_count } = part;
        self.other_record_count = self.other_record_count.saturating_add(other_record_count);
        let recording = Recording::from_captured_run(run);
        self.feed.add(&Trace::new(&recording, &TraceFilter::default()));
    }

    /// Sends remarks about the whole recording, and ends the feed.
    pub(crate) fn finish(&self, recording: &Recording) {
        let trace = Trace::new(recording, &TraceFilter::default());
        self.feed.finish(&trace, self.other_record_count);
    }

    /// Waits until every viewer has received everything, or has stopped reading.
    pub(crate) fn wait_for_viewers(&self) {
        if !self.server.wait_for_viewers(self.patience) {
            let pressure = self.feed.pressure();
            note!(
                "kprof: {} not taken everything: {} waiting",
                counted(pressure.viewer_count as u64, "Tracy viewer has", "Tracy viewers have"),
                counted(pressure.waiting_zones, "zone is", "zones are"),
            );
        }
    }
}

/// Returns all lanes that the chips may have.
fn lanes_of(mesh: &mut dyn Mesh) -> Vec<LaneId> {
    let mut lanes = Vec::new();
    for index in 0..mesh.device_count() {
        let Some(device) = mesh.device(index) else { continue };
        let chip = device.description();
        for core in &chip.cores {
            let riscs = (0..core.kind.risc_count()).filter_map(|index| core.kind.risc(index));
            let lane = |risc| LaneId { chip_id: chip.chip_id, core: core.noc0, risc };
            lanes.extend(riscs.map(lane));
        }
    }
    lanes
}

pub(crate) fn failure(error: &ServeError) -> Failure {
    Failure::from_error(error)
}

/// Prints how a connection ended.
fn print(result: Result<ServedViewer, ServeError>) {
    match result {
        Ok(served) => note!("kprof: {}", served_label(&served)),
        Err(error) => note!("kprof: {error}"),
    }
}

/// Returns lines about what a viewer has received, without a newline at the end.
pub(crate) fn served_label(served: &ServedViewer) -> String {
    let ServedViewer { peer, protocol, notes, is_whole, has_stalled, sent_bytes } = served;
    let releases = protocol.releases;
    if *has_stalled {
        return format!("{peer} ({releases}) took nothing for too long and was dropped");
    }
    if !is_whole {
        return format!("{peer} ({releases}) left before it had everything");
    }
    let host_label = match notes.host_zones {
        0 => String::new(),
        count => format!(", {} of the host", counted(count, "zone", "zones")),
    };
    let mut label = format!(
        "{peer} ({releases}): {} on {}{host_label}, {}, {} bytes",
        counted(notes.zones, "zone", "zones"),
        counted(notes.lanes, "lane", "lanes"),
        counted(notes.messages, "message", "messages"),
        grouped(*sent_bytes)
    );
    for (what, count) in notes.doubts() {
        let _ = write!(label, "\n  {}: {}", what.replace('_', " "), grouped(count));
    }
    label
}
