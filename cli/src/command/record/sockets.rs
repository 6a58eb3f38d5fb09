//! Sockets as Linux tells of them in `/proc`: those that listen, and those of a process and its
//! descendants.
//!
//! # Compatibility
//! Linux, `Documentation/networking/proc_net_tcp.rst` and `Documentation/filesystems/proc.rst`.
//! Lines and processes that cannot be read are left out: processes end while they are looked at.

use super::listeners::Listener;
use std::{
    collections::{HashMap, HashSet},
    fs, iter,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

/// State of a socket that listens: `TCP_LISTEN` of `include/net/tcp_states.h`.
const LISTENS: &str = "0A";

/// Returns every TCP socket that listens.
pub(super) fn listening() -> Vec<Listener> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let tables = tables.into_iter().flatten();
    tables.flat_map(|table| table.lines().filter_map(listener).collect::<Vec<_>>()).collect()
}

/// The socket of a table's line, if it listens.
fn listener(line: &str) -> Option<Listener> {
    let mut fields = line.split_ascii_whitespace();
    // The line's number, the local and the remote address, the state; queues, timer,
    // retransmissions, user and timeouts; the socket.
    let (local, state, socket) = (fields.nth(1)?, fields.nth(1)?, fields.nth(5)?);
    if state != LISTENS {
        return None;
    }
    let (ip, port) = local.split_once(':')?;
    let address = SocketAddr::new(ip_address(ip)?, u16::from_str_radix(port, 16).ok()?);
    Some(Listener { address, socket: socket.parse().ok()? })
}

/// An address as hexadecimal words, each in the byte order of this machine.
fn ip_address(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = hex.get(at..at + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match hex.len() {
        8 => Some(IpAddr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(words.as_flattened()).ok()?).into())
        }
        _ => None,
    }
}

/// Returns the sockets of a process and of its descendants.
pub(super) fn of_tree(process: u32) -> HashSet<u64> {
    let processes = children(&PathBuf::from("/proc"));
    let processes = processes.filter_map(|path| path.file_name()?.to_str()?.parse().ok());
    let parents: HashMap<u32, u32> =
        processes.filter_map(|process| Some((process, parent(process)?))).collect();
    let is_descendant = |process_of: &u32| {
        let above = |process: &u32| parents.get(process).copied();
        // A chain of parents is short; a number used twice must not make it a circle.
        let mut chain = iter::successors(Some(*process_of), above).take(parents.len());
        chain.any(|ancestor| ancestor == process)
    };
    let tree = parents.keys().filter(|process| is_descendant(process));
    let descriptors =
        tree.flat_map(|process| children(&PathBuf::from(format!("/proc/{process}/fd"))));
    descriptors.filter_map(|path| socket(fs::read_link(path).ok()?.to_str()?)).collect()
}

/// Paths in a folder; none of one that cannot be read.
fn children(folder: &PathBuf) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn parent(process: u32) -> Option<u32> {
    // Names of programs are bytes of any kind.
    parent_in(&String::from_utf8_lossy(&fs::read(format!("/proc/{process}/stat")).ok()?))
}

/// The parent in a process's `stat`. A program's name may hold blanks and parentheses itself, and
/// ends with the last one.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The socket that a descriptor's link points to.
fn socket(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::TcpListener, process};

    /// The line of the kernel's own documentation, with another state.
    #[test]
    fn lines_are_read_as_the_kernel_documents_them() {
        let line = |local: &str, state: &str| {
            format!(
                "  46: {local} 030310AC:1770 {state} 00000150:00000000 01:00000019 00000000  1000 \
                 0 54165785 4 cd1e6040 25 4 27 3 -1"
            )
        };
        let address = |line: String| listener(&line).map(|found| found.address.to_string());
        assert_eq!(
            listener(&line("010310AC:9C4C", "0A")).map(|found| found.socket),
            Some(54_165_785)
        );
        if cfg!(target_endian = "little") {
            let found = address(line("010310AC:9C4C", "0A"));
            assert_eq!(found.as_deref(), Some("172.16.3.1:40012"));
            let found = address(line("B80D0120000000000000000001000000:1F96", "0A"));
            assert_eq!(found.as_deref(), Some("[2001:db8::1]:8086"));
        }
        let torn = ["010310AC:9C4C0", "010310A:9C4C", "010310AC", "äöüä:1F96", "0103:10AC:1"];
        assert!(torn.iter().all(|local| listener(&line(local, "0A")).is_none()));
        assert!(
            ["01", "06", "0B"]
                .iter()
                .all(|state| listener(&line("010310AC:9C4C", state)).is_none())
        );
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt";
        assert_eq!((listener(head), listener("")), (None, None));
    }

    #[test]
    fn parents_and_sockets_are_found_behind_any_name() {
        assert_eq!(parent_in("4242 (a) R 7 (b)) S 17 4242 4242 0 -1"), Some(17));
        assert_eq!(parent_in("4242 (cat) S"), None);
        assert_eq!(
            (socket("socket:[18]"), socket("pipe:[18]"), socket("socket:[x]")),
            (Some(18), None, None)
        );
    }

    #[test]
    fn sockets_of_this_process_are_found_at_their_addresses() {
        for ip in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            // A machine may be without the newer protocol.
            let Ok(own) = TcpListener::bind(ip) else { continue };
            let address = own.local_addr().unwrap();
            let found = listening();
            let found = found.iter().find(|listener| listener.address == address).unwrap();
            assert!(of_tree(process::id()).contains(&found.socket), "{address}");
            drop(own);
            assert!(!of_tree(process::id()).contains(&found.socket), "{address}");
        }
    }
}
