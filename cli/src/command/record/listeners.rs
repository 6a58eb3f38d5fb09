//! Tracy clients of a program and of its children: the ports on which they listen.

use std::{collections::HashMap, net::SocketAddr};

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

/// Search for clients. All processes of the machine are looked at only when there is a socket
/// that was not seen before: that takes milliseconds, from the processor that the program needs.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Sockets that were seen, with the number of looks in vain for their process.
    seen: HashMap<u64, u32>,
}

impl Search {
    /// New sockets of the process and its descendants on which a Tracy client may listen. Sockets
    /// of other programs are never among them: a client takes one server only.
    pub(super) fn new_clients(&mut self, process: u32, named: Option<u16>) -> Vec<Listener> {
        let mut listening = listening(named);
        listening.retain(|listener| self.is_wanted(listener.socket));
        if listening.is_empty() {
            return Vec::new();
        }
        let own = sockets_of_tree(process);
        for listener in &listening {
            let looks = self.seen.entry(listener.socket).or_default();
            let is_own = own.contains(&listener.socket);
            *looks = if is_own { MOST_LOOKS } else { looks.saturating_add(1) };
        }
        listening.retain(|listener| own.contains(&listener.socket));
        listening
    }

    fn is_wanted(&self, socket: u64) -> bool {
        self.seen.get(&socket).is_none_or(|looks| *looks < MOST_LOOKS)
    }
}

/// Looks for the process of a socket: it may be under way to it when it is looked for first.
const MOST_LOOKS: u32 = 20;

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
fn listening(named: Option<u16>) -> Vec<Listener> {
    let port = named.unwrap_or(*CLIENT_PORTS.start());
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let is_there = std::net::TcpListener::bind(address).is_err() && may_be_client(port, named);
    is_there.then_some(Listener { address, socket: port.into() }).into_iter().collect()
}

/// Without a list of processes the port that was given is taken for the program's.
#[cfg(not(target_os = "linux"))]
fn sockets_of_tree(_process: u32) -> std::collections::HashSet<u64> {
    (0..=u64::from(u16::MAX)).collect()
}
