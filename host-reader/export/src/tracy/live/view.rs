//! Live view of chips whose records are read repeatedly: a feed, and a server that sends it to
//! viewers.

use super::{
    error::ServeError,
    feed::{FeedPressure, LiveFeed},
    server::{ServedViewer, TracyServer},
};
use crate::{Trace, TraceFilter, tracy::TracyOptions};
use reader::{lane::LaneId, mesh::Mesh};
use recording::{Recording, capture::LivePart};
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tracy::protocol::Program;

/// Options of a live view of a mesh.
#[derive(Clone, Debug)]
pub struct LiveViewOptions {
    /// Address and port to listen on; port 0 selects a free port.
    pub address: String,
    /// Title of the trace.
    pub title: String,
    /// Kind of the viewers.
    pub program: Program,
    /// Time after which a viewer that receives nothing is dropped.
    pub patience: Duration,
}

/// A feed with the records of a mesh that is read repeatedly, and its server.
#[derive(Debug)]
pub struct LiveView {
    feed: Arc<LiveFeed>,
    address: SocketAddr,
    /// Number of records that belong to lanes that are not streamed.
    other_record_count: u64,
    patience: Duration,
}

impl LiveView {
    /// Starts to listen for viewers. When a connection to a viewer ends, `tell` is called with its
    /// result.
    ///
    /// # Errors
    /// If the address is not available.
    pub fn begin(
        options: LiveViewOptions,
        mesh: &mut dyn Mesh,
        tell: fn(Result<ServedViewer, ServeError>),
    ) -> Result<Self, ServeError> {
        let LiveViewOptions { address, title, program, patience } = options;
        let server = TracyServer::bind(address.as_str())?.with_patience(patience);
        let address = server.local_address()?;
        let origin_ns = mesh.device(0).map_or(0, |device| device.host_time_ns());
        let origin_ns = i64::try_from(origin_ns).unwrap_or(i64::MAX);
        let feed = Arc::new(LiveFeed::new(origin_ns, &lanes_of(mesh)));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let trace = TracyOptions { title, recorded_at_s: now.as_secs() };
        feed.serve(server, trace, program, tell)?;
        Ok(Self { feed, address, other_record_count: 0, patience })
    }

    /// Returns the address on which the server listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits at most `limit` until a viewer is connected. Returns true if a viewer is connected.
    #[must_use]
    pub fn wait_for_viewer(&self, limit: Duration) -> bool {
        self.feed.wait_for_viewer(limit)
    }

    /// Sends the records of one read.
    pub fn add(&mut self, part: LivePart) {
        let LivePart { run, other_record_count } = part;
        self.other_record_count = self.other_record_count.saturating_add(other_record_count);
        let recording = Recording::from_captured_run(run);
        self.feed.add(&Trace::new(&recording, &TraceFilter::default()));
    }

    /// Sends remarks about the whole recording, and ends the feed.
    pub fn finish(&self, recording: &Recording) {
        let trace = Trace::new(recording, &TraceFilter::default());
        self.feed.finish(&trace, self.other_record_count);
    }

    /// Waits until every viewer has received everything, or has stopped receiving.
    ///
    /// If a viewer has stopped receiving, returns the state of the connections. The state includes
    /// the number of zones that viewers have not received.
    #[must_use]
    pub fn wait_for_viewers(&self) -> Option<FeedPressure> {
        (!self.feed.wait_for_viewers(self.patience)).then(|| self.feed.pressure())
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
            lanes.extend(riscs.map(|risc| LaneId { chip_id: chip.chip_id, core: core.noc0, risc }));
        }
    }
    lanes
}
