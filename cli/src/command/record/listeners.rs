//! Finds the ports on which the Tracy clients of a program and its children listen.

use std::{collections::HashMap, net::SocketAddr};

/// Ports that a Tracy client tries one after the other, unless `TRACY_PORT` specifies another port.
const CLIENT_PORTS: std::ops::RangeInclusive<u16> = 8086..=8105;

/// A listening socket: its address, and its unique number in the kernel (inode).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Listener {
    pub(super) address: SocketAddr,
    pub(super) socket: u64,
}

/// Returns true if a Tracy client may listen on this port. `named` is the user's port, if given.
fn may_be_client(port: u16, named: Option<u16>) -> bool {
    CLIENT_PORTS.contains(&port) || named == Some(port)
}

/// Search for Tracy clients.
///
/// The search inspects all processes of the machine, which takes milliseconds of processor time
/// that the program needs. It therefore runs only after a new socket has appeared.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// For each known socket, the number of searches that did not find the process that owns the
    /// socket.
    seen: HashMap<u64, u32>,
}

impl Search {
    /// Returns those new sockets of the process and its descendants on which a Tracy client may
    /// listen.
    ///
    /// Sockets of other programs are never returned: a Tracy client accepts only one connection at
    /// a time, so connecting to the client of another program would block that program's own
    /// viewer.
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

/// Maximum number of searches for the process of a socket.
///
/// A search may fail because the socket is still being passed to that process.
const MOST_LOOKS: u32 = 20;

#[cfg(target_os = "linux")]
fn listening(named: Option<u16>) -> Vec<Listener> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    let rows = tables.iter().flatten().flat_map(|table| table.lines().skip(1));
    let listening = rows.filter_map(Listener::from_row);
    listening.filter(|listener| may_be_client(listener.address.port(), named)).collect()
}

#[cfg(target_os = "linux")]
impl Listener {
    /// Returns the listener in a row of `/proc/net/tcp` or `/proc/net/tcp6`; `None` for other rows.
    fn from_row(row: &str) -> Option<Self> {
        let cells: Vec<&str> = row.split_ascii_whitespace().collect();
        let [_, address, _, state, _, _, _, _, _, socket, ..] = cells.as_slice() else {
            return None;
        };
        let (ip, port) = address.split_once(':')?;
        let address = SocketAddr::new(ip_of(ip)?, u16::from_str_radix(port, 16).ok()?);
        (*state == LISTENS).then_some(Self { address, socket: socket.parse().ok()? })
    }
}

/// State of a listening socket in the kernel's table.
#[cfg(target_os = "linux")]
const LISTENS: &str = "0A";

/// Parses an IP address as the kernel prints it: words of four bytes in the machine's byte order.
///
/// The unspecified address ("any") becomes the loopback address.
#[cfg(target_os = "linux")]
fn ip_of(digits: &str) -> Option<std::net::IpAddr> {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    let words = (0..digits.len()).step_by(8).map(|at| digits.get(at..at + 8));
    let words = words.map(|word| u32::from_str_radix(word?, 16).ok());
    let bytes = words.collect::<Option<Vec<_>>>()?.into_iter().flat_map(u32::to_ne_bytes);
    let bytes: Vec<u8> = bytes.collect();
    let ip = match <[u8; 4]>::try_from(&*bytes) {
        Ok(bytes) => IpAddr::from(bytes),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
    };
    Some(match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    })
}

/// Returns the numbers of the sockets of a process and its descendants.
#[cfg(target_os = "linux")]
fn sockets_of_tree(process: u32) -> std::collections::HashSet<u64> {
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: HashMap<u32, u32> =
        processes.filter_map(|one| Some((one, parent_of(one)?))).collect();
    let descendants = parents.keys().filter(|&&one| {
        let ancestors = std::iter::successors(Some(one), |one| parents.get(one).copied());
        // The limit ends a cycle of parents, which can result from a reused process number.
        ancestors.take(parents.len()).any(|one| one == process)
    });
    descendants.flat_map(|one| sockets_of(*one)).collect()
}

/// Returns the parent of a process, if the process exists.
#[cfg(target_os = "linux")]
fn parent_of(process: u32) -> Option<u32> {
    // The file is read as bytes, since the name of a program may be invalid UTF-8.
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    parent_in_stat(&String::from_utf8_lossy(&stat))
}

/// Returns the process id of the parent: the second field after the name in `/proc/PID/stat`.
///
/// The name is in parentheses. It may contain blanks and parentheses.
#[cfg(target_os = "linux")]
fn parent_in_stat(stat: &str) -> Option<u32> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Returns the numbers of a process's sockets; empty if the process has ended.
#[cfg(target_os = "linux")]
fn sockets_of(process: u32) -> Vec<u64> {
    let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten();
    let targets = descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets
        .filter_map(|target| {
            target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        })
        .collect()
}

/// Returns the port `named`, or the default port, if a process listens on that port. Other ports
/// are not searched, because this operating system has no list of sockets.
#[cfg(not(target_os = "linux"))]
fn listening(named: Option<u16>) -> Vec<Listener> {
    let port = named.unwrap_or(*CLIENT_PORTS.start());
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let is_there = std::net::TcpListener::bind(address).is_err() && may_be_client(port, named);
    is_there.then_some(Listener { address, socket: port.into() }).into_iter().collect()
}

/// Returns all port numbers. This operating system has no list of processes, so the searched port
/// is assumed to belong to the program.
#[cfg(not(target_os = "linux"))]
fn sockets_of_tree(_process: u32) -> std::collections::HashSet<u64> {
    (0..=u64::from(u16::MAX)).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Tests rows of `/proc/net/tcp` as printed by Linux on a little-endian machine.
    #[cfg(target_endian = "little")]
    #[test]
    fn rows_of_the_kernel_are_listeners_with_addresses() {
        let rest = "00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000";
        let found = |local: &str, state: &str| {
            let remote = "0".repeat(local.len() - 5) + ":0000";
            let found = Listener::from_row(&format!("  0: {local} {remote} {state} {rest} 100 0"));
            found.map(|listener| (listener.address.to_string(), listener.socket))
        };
        assert_eq!(found("0200A8C0:1F96", "0A"), found_v4("192.168.0.2"));
        assert_eq!(found("00000000:1F96", "0A"), found_v4("127.0.0.1"));
        let v6 = "B80D0120000000000000000001000000:1F96";
        assert_eq!(found(v6, "0A"), Some(("[2001:db8::1]:8086".to_owned(), 4711)));
        assert_eq!(found(&format!("{:032}:1F96", 0), "0A"), Some(("[::1]:8086".to_owned(), 4711)));
        assert_eq!(found("0200A8C0:1F96", "01"), None, "a connection");
        assert_eq!(found("0200A8:1F96", "0A"), None);
        assert_eq!(Listener::from_row("0: é"), None);
    }

    fn found_v4(ip: &str) -> Option<(String, u64)> {
        Some((format!("{ip}:8086"), 4711))
    }

    #[test]
    fn a_program_may_have_any_name() {
        assert_eq!(parent_in_stat("12 (a) S 1 (b) S 77 12 12 0 -1"), Some(77));
        assert_eq!(parent_in_stat("12"), None);
    }

    /// Tests that a socket of this process is found in the real `/proc/net/tcp` and `/proc/PID/fd`.
    #[test]
    fn a_socket_of_this_process_is_found_and_others_are_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let found = Search::default().new_clients(std::process::id(), Some(address.port()));
        let found: Vec<_> = found.iter().map(|listener| listener.address).collect();
        assert!(found.contains(&address), "{found:?}");
        let clients = Search::default().new_clients(u32::MAX, Some(address.port()));
        assert_eq!(clients, []);
    }
}
