//! Waiting for viewers.

use super::{
    error::ServeError,
    greeting,
    protocol::{TracyProtocol, Viewers},
    session::Session,
};
use crate::{
    Trace,
    tracy::{TracyNotes, TracyOptions, scene::Scene},
};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};

/// Gives traces to the Tracy viewers that connect.
///
/// ```no_run
/// # use export::{tracy::*, Trace};
/// # fn serve(trace: &Trace<'_>) -> Result<(), ServeError> {
/// let server = TracyServer::bind("127.0.0.1:8086")?;
/// let served = server.serve_next(trace, &TracyOptions::default(), Viewers::Stock)?;
/// println!("{} took {} zones", served.protocol.viewer, served.notes.zones);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TracyServer {
    listener: TcpListener,
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
    /// True if the viewer took all of it; false if it disconnected earlier.
    pub is_whole: bool,
    /// Bytes sent, after compression.
    pub sent_bytes: u64,
}

impl TracyServer {
    /// Listens on an address; port 8086 is the one that viewers try by themselves.
    ///
    /// # Errors
    /// If the address is not to be had.
    pub fn bind(address: impl ToSocketAddrs + std::fmt::Display) -> Result<Self, ServeError> {
        match TcpListener::bind(&address) {
            Ok(listener) => Ok(Self { listener }),
            Err(source) => Err(ServeError::Bind { address: address.to_string(), source }),
        }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system cannot name it.
    pub fn local_address(&self) -> Result<SocketAddr, ServeError> {
        self.listener.local_addr().map_err(ServeError::Accept)
    }

    /// Waits for a viewer, gives it the whole trace and waits until it has it.
    ///
    /// # Errors
    /// If who connects is no viewer, or speaks a version that is not known. The next one
    /// can be served all the same. That a viewer leaves early is no error.
    pub fn serve_next(
        &self,
        trace: &Trace<'_>,
        options: &TracyOptions,
        viewers: Viewers,
    ) -> Result<ServedViewer, ServeError> {
        let (mut stream, peer) = self.listener.accept().map_err(ServeError::Accept)?;
        let protocol = greeting::greet(&mut stream, peer, viewers)?;
        let scene = Scene::new(trace, options, protocol.context_id.limit());
        let (is_whole, sent_bytes) = give(&scene, stream, protocol);
        Ok(ServedViewer { peer, protocol, notes: scene.notes, is_whole, sent_bytes })
    }
}

/// Sends a scene; whether all of it was taken, and how many bytes that were.
fn give(scene: &Scene<'_>, mut stream: TcpStream, protocol: &'static TracyProtocol) -> (bool, u64) {
    // Questions are answered one by one: waiting to fill packets would only slow them down.
    let _ = stream.set_nodelay(true);
    if greeting::welcome(&mut stream, protocol, scene.options).is_err() {
        return (false, 0);
    }
    match Session::new(scene, stream, protocol) {
        Ok(mut session) => (session.run().is_ok(), session.sent_bytes()),
        Err(_) => (false, 0),
    }
}
