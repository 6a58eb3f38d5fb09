//! The child process: loads the library and carries out the host's requests until the host
//! disconnects.
//!
//! The socket on standard input carries both requests and answers, because the library writes its
//! own messages to standard output.

use crate::{
    library::Library,
    protocol::{CHUNK_BYTES_MAX, Greeting, Operation, Request},
    windows::Windows,
};
use std::{
    io::{self, Read, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
};

/// Serves a host through the socket on standard input; returns when the host disconnects.
///
/// # Errors
/// If standard input is not a socket, if the host disconnects within a request, or if the host
/// sends an invalid request.
pub fn serve(library: &Path) -> io::Result<()> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let mut socket = UnixStream::from(socket);
    let windows = Library::load(library).and_then(|mut library| {
        library.initialise();
        Windows::new(library).map_err(|pci_id| {
            format!("its chip has PCI id {pci_id:#010x}, which is no Wormhole and no Blackhole")
        })
    });
    let pci_id = windows.as_ref().map(Windows::pci_id).map_err(Clone::clone);
    Greeting { pci_id }.send(&mut socket)?;
    let Ok(mut windows) = windows else { return Ok(()) };
    let mut bytes = vec![0; CHUNK_BYTES_MAX];
    while let Some(request) = Request::receive(&mut socket)? {
        let Request { operation, tile, address, count } = request;
        let data = &mut bytes[..CHUNK_BYTES_MAX.min(count as usize)];
        match operation {
            Operation::Read => {
                windows.read(tile, address, data);
                socket.write_all(data)?;
                continue;
            }
            Operation::Write => {
                socket.read_exact(data)?;
                windows.write(tile, address, data);
            }
            Operation::Clock => windows.clock(count),
        }
        socket.write_all(&[0])?;
    }
    Ok(())
}
