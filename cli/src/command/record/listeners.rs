//! Tracy clients of a program and of its children: the ports on which they listen.

use std::net::SocketAddr;

/// Ports that a client tries in turn, unless `TRACY_PORT` names another.
const CLIENT_PORTS: std::ops::RangeInclusive<u16> = 8086..=8105;

/// A socket that listens, by the number that tells it from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Listener {
    pub(super) address: SocketAddr,
    pub(super) socket: u64,
}

/// Returns true if a client may listen on this port.
fn may_be_client(port: u16, named: Option<u16>) -> bool {
    CLIENT_PORTS.contains(&port) || named == Some(port)
}

/// Sockets of the process and its descendants on which a Tracy client may listen. Sockets of
/// other programs are never among them: a client takes one server only.
#[cfg(target_os = "linux")]
pub(super) fn of_tree(process: u32, named: Option<u16>) -> Vec<Listener> {
    let listening = listening(named);
    if listening.is_empty() {
        return Vec::new();
    }
    let own = sockets_of_tree(process);
    listening.into_iter().filter(|listener| own.contains(&listener.socket)).collect()
}

#[cfg(target_os = "linux")]
fn listening(named: Option<u16>) -> Vec<Listener> {
    use procfs::net::{TcpState, tcp, tcp6};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    let entries = [tcp(), tcp6()].into_iter().flatten().flatten();
    let listening = entries.filter(|entry| entry.state == TcpState::Listen);
    let clients = listening.filter(|entry| may_be_client(entry.local_address.port(), named));
    clients
        .map(|entry| {
            let mut address = entry.local_address;
            // Whoever listens on every address listens on that of this machine.
            match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
                _ => {}
            }
            Listener { address, socket: entry.inode }
        })
        .collect()
}

#[cfg(target_os = "linux")]
fn sockets_of_tree(process: u32) -> std::collections::HashSet<u64> {
    use procfs::process::{FDTarget, Process, all_processes};
    let mut parents = std::collections::HashMap::new();
    for found in all_processes().into_iter().flatten().flatten() {
        if let Ok(status) = found.stat() {
            parents.insert(status.pid, status.ppid);
        }
    }
    let root = i32::try_from(process).unwrap_or(-1);
    let is_descendant = |pid: &i32| {
        let ancestors = std::iter::successors(Some(*pid), |pid| parents.get(pid).copied());
        // A chain of parents is short; a number used twice must not make it a circle.
        ancestors.take(parents.len()).any(|pid| pid == root)
    };
    let tree = parents.keys().filter(|pid| is_descendant(pid));
    let descriptors = tree.filter_map(|pid| Process::new(*pid).ok()?.fd().ok()).flatten().flatten();
    descriptors
        .filter_map(|descriptor| match descriptor.target {
            FDTarget::Socket(inode) => Some(inode),
            _ => None,
        })
        .collect()
}

/// Without a list of sockets there is the one port that was given to the program.
#[cfg(not(target_os = "linux"))]
pub(super) fn of_tree(_process: u32, named: Option<u16>) -> Vec<Listener> {
    let port = named.unwrap_or(*CLIENT_PORTS.start());
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let is_there = std::net::TcpListener::bind(address).is_err() && may_be_client(port, named);
    is_there.then_some(Listener { address, socket: port.into() }).into_iter().collect()
}
