//! Server that waits for viewers.

use super::{connection::Connection, error::ServeError, greeting};
use crate::{
    Trace,
    tracy::{TracyNotes, TracyOptions, scene::Scene},
};
use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    time::Duration,
};
use tracy::protocol::{Program, TracyProtocol};

/// Time without progress after which a viewer is dropped.
const PATIENCE: Duration = Duration::from_secs(60);

/// Server that sends traces to connecting Tracy viewers.
///
/// ```no_run
/// # use export::{tracy::*, Trace};
/// # fn serve(trace: &Trace<'_>) -> Result<(), ServeError> {
/// let server = TracyServer::bind("127.0.0.1:8086")?;
/// let served = server.accept()?.serve(trace, &TracyOptions::default(), Program::Stock)?;
/// println!("{} took {} zones", served.protocol.releases, served.notes.zones);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TracyServer {
    listener: TcpListener,
    patience: Duration,
}

/// An accepted connection. The peer may be a viewer or another program.
#[derive(Debug)]
pub struct Visitor {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
    patience: Duration,
}

/// Result of serving one viewer.
#[derive(Clone, Copy, Debug)]
pub struct ServedViewer {
    /// Address of the viewer.
    pub peer: SocketAddr,
    /// Protocol of the viewer.
    pub protocol: &'static TracyProtocol,
    /// Contents of the export.
    pub notes: TracyNotes,
    /// True if the viewer received everything.
    pub is_whole: bool,
    /// True if the viewer was disconnected because it received no data for too long.
    pub has_stalled: bool,
    /// Bytes sent, after compression.
    pub sent_bytes: u64,
}

impl ServedViewer {
    /// Returns the reason why the viewer received only a part of the trace; `None` if it received
    /// the whole trace.
    #[must_use]
    pub const fn failure(&self) -> Option<&'static str> {
        match (self.has_stalled, self.is_whole) {
            (true, _) => Some("received no data for too long and was disconnected"),
            (false, false) => Some("disconnected before it had received everything"),
            (false, true) => None,
        }
    }
}

impl TracyServer {
    /// Listens on an address; viewers try port 8086 by default.
    ///
    /// # Errors
    /// If the address is not available.
    pub fn bind(address: impl ToSocketAddrs + std::fmt::Display) -> Result<Self, ServeError> {
        match TcpListener::bind(&address) {
            Ok(listener) => Ok(Self { listener, patience: PATIENCE }),
            Err(source) => Err(ServeError::Bind { address: address.to_string(), source }),
        }
    }

    /// Sets the time after which a viewer that receives nothing is dropped; the default is a
    /// minute.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        // The system does not accept a time limit of 0.
        Self { patience: patience.max(Duration::from_millis(1)), ..self }
    }

    /// Returns the address on which the server listens.
    ///
    /// # Errors
    /// If the system does not know the address.
    pub fn local_address(&self) -> Result<SocketAddr, ServeError> {
        self.listener.local_addr().map_err(ServeError::Accept)
    }

    /// Makes [`TracyServer::accept`] return an error immediately if there is no connection.
    pub(super) fn set_nonblocking(&self) -> Result<(), ServeError> {
        self.listener.set_nonblocking(true).map_err(ServeError::Accept)
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// If the system cannot accept a connection.
    pub fn accept(&self) -> Result<Visitor, ServeError> {
        let (stream, peer) = self.listener.accept().map_err(ServeError::Accept)?;
        // On some systems, connections inherit the non-blocking mode from their listener.
        stream.set_nonblocking(false).map_err(ServeError::Accept)?;
        Ok(Visitor { stream, peer, patience: self.patience })
    }
}

impl Visitor {
    /// Sends the whole trace to the viewer, and waits until the viewer has received everything. To
    /// serve several viewers at once, call this function on several threads.
    ///
    /// # Errors
    /// If the peer is not a viewer, or uses an unknown protocol version. A viewer that leaves early is
    /// not an error.
    pub fn serve(
        self,
        trace: &Trace<'_>,
        options: &TracyOptions,
        viewers: Program,
    ) -> Result<ServedViewer, ServeError> {
        self.serve_with(options, viewers, |connection, notes| {
            let context_limit = 1 << (8 * connection.protocol.context_bytes());
            let scene = Scene::new(trace, options, context_limit);
            *notes = scene.notes;
            connection.send_scene(&scene)
        })
    }

    /// Answers the viewer's greeting, and calls `send` with the connection and the notes, which
    /// become part of the returned `ServedViewer`.
    pub(super) fn serve_with(
        self,
        options: &TracyOptions,
        viewers: Program,
        send: impl FnOnce(&mut Connection, &mut TracyNotes) -> io::Result<()>,
    ) -> Result<ServedViewer, ServeError> {
        let Self { mut stream, peer, patience } = self;
        let protocol = greeting::greet(&mut stream, peer, viewers)?;
        let (mut notes, mut sent_bytes) = (TracyNotes::default(), 0);
        let connection = connect(stream, protocol, options, patience);
        let result = connection.and_then(|mut connection| {
            let result = send(&mut connection, &mut notes);
            sent_bytes = connection.sent_bytes;
            result
        });
        let has_stalled = result.as_ref().is_err_and(greeting::is_timeout);
        let is_whole = result.is_ok();
        Ok(ServedViewer { peer, protocol, notes, is_whole, has_stalled, sent_bytes })
    }
}

/// Sends the welcome message to a viewer whose greeting was read.
fn connect(
    mut stream: TcpStream,
    protocol: &'static TracyProtocol,
    options: &TracyOptions,
    patience: Duration,
) -> io::Result<Connection> {
    // Requests are answered one by one: waiting for full packets would only slow the answers down.
    let _ = stream.set_nodelay(true);
    greeting::welcome(&mut stream, protocol, options)?;
    Connection::new(stream, protocol, patience)
}
