//! Paths of the sockets at which programs under `kprof record` serve their chips, and removal of
//! stale sockets.
//!
//! A program removes its socket when it ends. The file remains if the program is killed, or if a
//! simulator's library ends the process.

use std::{
    fs, io,
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _},
        net::UnixStream,
    },
    path::{Path, PathBuf},
};

/// Returns the path pattern for the sockets of all programs that the process `recorder` starts.
///
/// The path is in the folder for temporary files, and contains `{pid}` in place of the number of
/// the program's process. It is a value for [`SOCKET_VARIABLE`](crate::shared::SOCKET_VARIABLE).
#[must_use]
pub fn recorded_socket(recorder: u32) -> PathBuf {
    std::env::temp_dir().join(format!("{PREFIX}{recorder}-{{pid}}"))
}

/// Removes sockets that ended programs have left behind in a folder. Returns the number of removed
/// sockets.
///
/// A socket is removed if its name is one that [`recorded_socket`] returns, it belongs to this
/// user, its process does not exist, and it accepts no connections. Other files stay, as do sockets
/// that cannot be examined.
pub fn remove_stale(folder: &Path) -> usize {
    let Ok(user) = fs::metadata("/proc/self").map(|process| process.uid()) else { return 0 };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let stale = entries.map(|entry| entry.path()).filter(|path| is_stale(path, user));
    stale.filter(|path| fs::remove_file(path).is_ok()).count()
}

fn is_stale(path: &Path, user: u32) -> bool {
    let Some(process) = path.file_name().and_then(|name| program(name.to_str()?)) else {
        return false;
    };
    // Symbolic links are not followed.
    let is_own_socket = fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.file_type().is_socket() && metadata.uid() == user);
    // A process in another container has no folder in this `/proc`, but accepts connections.
    is_own_socket
        && !Path::new("/proc").join(process.to_string()).exists()
        && UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Returns the number of the process that created the socket with this file name.
fn program(name: &str) -> Option<u32> {
    let (recorder, program) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| digits.parse::<u32>().ok()).flatten()
    };
    number(recorder)?;
    number(program)
}

const PREFIX: &str = "kprof-chip-";

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::net::UnixListener, process::Command};

    /// Returns the number of a process that has ended and was waited for.
    fn ended_process() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn only_sockets_of_ended_programs_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: String| folder.path().join(name);
        let (own, ended) = (std::process::id(), ended_process());
        // The listener is dropped, and the file stays.
        let closed = |path: &Path| drop(UnixListener::bind(path).unwrap());
        let stale =
            [path(format!("kprof-chip-1-{ended}")), path(format!("kprof-chip-{own}-{ended}"))];
        stale.iter().for_each(|path| closed(path));

        let running_program = path(format!("kprof-chip-{ended}-{own}"));
        let others = [
            format!("kprof-chip-{ended}"),
            format!("kprof-chip-1-{ended}-1"),
            format!("kprof-chip--{ended}"),
            format!("kprof-chip-1-+{ended}"),
            format!("chip-1-{ended}"),
            "kprof-chip-wormhole".to_owned(),
        ];
        let mut kept: Vec<PathBuf> = others.map(path).into();
        kept.push(running_program);
        kept.iter().for_each(|path| closed(path));
        // A file, a link to a stale socket, and a socket with a server in another container.
        let file = path(format!("kprof-chip-2-{ended}"));
        fs::write(&file, "").unwrap();
        let link = path(format!("kprof-chip-3-{ended}"));
        std::os::unix::fs::symlink("kprof-chip-wormhole", &link).unwrap();
        let served = path(format!("kprof-chip-4-{ended}"));
        let _server = UnixListener::bind(&served).unwrap();
        kept.extend([file, link, served]);

        assert_eq!(remove_stale(folder.path()), 2);
        let mut found: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        kept.sort();
        assert_eq!(found, kept);
        assert_eq!(remove_stale(folder.path()), 0);
        assert_eq!(remove_stale(&folder.path().join("nowhere")), 0);
    }

    #[test]
    fn a_recorders_sockets_are_named_by_both_processes() {
        let socket = crate::shared::socket_path(recorded_socket(12).as_os_str(), 34);
        assert_eq!(socket.parent(), Some(std::env::temp_dir().as_path()));
        assert_eq!(socket.file_name().unwrap(), "kprof-chip-12-34");
    }
}
