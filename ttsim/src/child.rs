//! The child process: loads the library and carries out the host's requests until the host
//! disconnects.
//!
//! The socket on standard input carries both requests and responses, because the library writes its
//! own messages to standard output.

use crate::{
    library::Library,
    protocol::{Request, Response, VERSION},
    windows::Windows,
};
use std::{io, os::fd::AsFd, os::unix::net::UnixStream, path::Path};

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
    let mut windows = match windows {
        Ok(windows) => windows,
        Err(reason) => return Response::Refused(reason).send(&mut socket),
    };
    Response::Ready { version: VERSION, pci_id: windows.pci_id() }.send(&mut socket)?;
    while let Some(request) = Request::receive(&mut socket)? {
        carry_out(&mut windows, request).send(&mut socket)?;
    }
    Ok(())
}

fn carry_out(windows: &mut Windows, request: Request) -> Response {
    match request {
        Request::Read { tile, address, byte_count } => {
            let mut bytes = vec![0; byte_count as usize];
            windows.read(tile, address, &mut bytes);
            Response::Data(bytes)
        }
        Request::Write { tile, address, bytes } => {
            windows.write(tile, address, &bytes);
            Response::Done
        }
        Request::Clock { clocks } => {
            windows.clock(clocks);
            Response::Done
        }
    }
}
