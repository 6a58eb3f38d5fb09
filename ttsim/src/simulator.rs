//! The simulator in a child process. A child process is necessary, because the library ends its
//! process at the first operation that is not valid on a chip.

use crate::{
    protocol::{CHUNK_BYTES_MAX, Greeting, Operation, Request, Tile},
    windows::arch_of,
};
use sim::arch::Arch;
use std::{
    fmt,
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::JoinHandle,
    time::Duration,
};

/// Reason why a simulator cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TtsimError {
    /// The child process did not start.
    #[error("cannot start the process for ttsim: {reason}")]
    NotStarted {
        /// The system's error.
        reason: String,
    },
    /// The file is not a usable library.
    #[error("cannot use {} as libttsim: {reason}; name the file with --ttsim-library", library.display())]
    NotALibrary {
        /// The file.
        library: PathBuf,
        /// Reason, as a sentence.
        reason: String,
    },
    /// The library does not simulate the requested chip.
    #[error(
        "{} simulates {found}, but the run is for {expected}; choose --arch {found} or the other \
         library", library.display()
    )]
    OtherChip {
        /// The file.
        library: PathBuf,
        /// The architecture that the library simulates.
        found: Arch,
        /// The requested chip.
        expected: Arch,
    },
    /// ttsim stopped at an operation that the chip does not support.
    #[error("ttsim refused what the chip was told, at clock {clock}: {violation}")]
    Violation {
        /// Clock of the chip when ttsim stopped.
        clock: u64,
        /// Category, location and message, as ttsim prints them.
        violation: String,
    },
    /// The child process ended or does not answer.
    #[error("the process of ttsim {what}{}", said(.output))]
    Ended {
        /// Description of how the child process ended.
        what: String,
        /// The last bytes of the child's output.
        output: String,
    },
    /// ttsim cannot carry out the run.
    #[error("cannot run this on ttsim: {reason}")]
    Unsupported {
        /// Reason, with a remedy if there is one.
        reason: String,
    },
    /// A core did not finish.
    #[error("core {core}: {what} after {clocks} clocks")]
    Stuck {
        /// The core.
        core: String,
        /// State of the core, such as `is still running`.
        what: &'static str,
        /// Number of clocks for which the host has waited.
        clocks: u64,
    },
}

fn said(output: &str) -> String {
    match output.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!(", it printed: {}", line.trim()),
        None => " and printed nothing".to_owned(),
    }
}

/// A chip that ttsim simulates in a child process.
pub struct Simulator {
    socket: UnixStream,
    child: Child,
    output: Option<[JoinHandle<String>; 2]>,
    arch: Arch,
    clock: u64,
    /// Reason why the child ended; `None` while requests are possible.
    failure: Option<TtsimError>,
}

impl Simulator {
    /// Starts the child by running `command` with the library's path as an additional last
    /// argument. The child loads the library.
    ///
    /// The program that `command` starts must call [`crate::child::serve`].
    ///
    /// # Errors
    /// If the child does not start, or the file is not a libttsim.
    pub fn start(mut command: Command, library: &Path) -> Result<Self, TtsimError> {
        let not_started = |error: io::Error| TtsimError::NotStarted { reason: error.to_string() };
        check_file(library)?;
        // The path must include the folder: for a bare name, the system would search its own
        // folders.
        let library = std::path::absolute(library).map_err(not_started)?;
        let (socket, for_child) = UnixStream::pair().map_err(not_started)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(not_started)?;
        // With this variable, kernels could send requests to the host, which are not simulated
        // here.
        command.env_remove("TTSIM_SEMIHOSTING");
        command.arg(&library).stdin(Stdio::from(OwnedFd::from(for_child)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(not_started)?;
        // The command owns a copy of the child's end of the socket. This copy must be closed so
        // that the parent can detect the end of the child.
        drop(command);
        let output = Some([end_of(child.stdout.take()), end_of(child.stderr.take())]);
        let (arch, clock, failure) = (Arch::WormholeB0, 0, None);
        let mut simulator = Self { socket, child, output, arch, clock, failure };
        simulator.greet(library)?;
        Ok(simulator)
    }

    fn greet(&mut self, library: PathBuf) -> Result<(), TtsimError> {
        let greeting = Greeting::receive(&mut self.socket).map_err(|error| self.lost(&error))?;
        let arch = greeting.pci_id.and_then(|pci_id| {
            let unknown = || format!("its chip has the unknown PCI id {pci_id:#010x}");
            arch_of(pci_id).ok_or_else(unknown)
        });
        self.arch = arch.map_err(|reason| TtsimError::NotALibrary { library, reason })?;
        Ok(())
    }

    /// Returns the architecture of the chip that the library simulates.
    #[must_use]
    pub const fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the number of clocks by which the chip has advanced since its start.
    #[must_use]
    pub const fn clock(&self) -> u64 {
        self.clock
    }

    /// Returns the failure after which no more requests are possible, or `None` if there was none.
    #[must_use]
    pub const fn failure(&self) -> Option<&TtsimError> {
        self.failure.as_ref()
    }

    /// Reads from an address of a tile; registers are read word by word.
    ///
    /// # Errors
    /// If ttsim refuses the access, or has refused an earlier one.
    pub fn read(&mut self, tile: Tile, address: u64, bytes: &mut [u8]) -> Result<(), TtsimError> {
        for (address, part) in parts(address).zip(bytes.chunks_mut(CHUNK_BYTES_MAX)) {
            let count = u32::try_from(part.len()).unwrap_or(0);
            let request = Request { operation: Operation::Read, tile, address, count };
            self.ask(request, &[], part)?;
        }
        Ok(())
    }

    /// Writes to an address of a tile; registers are written word by word.
    ///
    /// # Errors
    /// The errors of [`Simulator::read`].
    pub fn write(&mut self, tile: Tile, address: u64, bytes: &[u8]) -> Result<(), TtsimError> {
        for (address, part) in parts(address).zip(bytes.chunks(CHUNK_BYTES_MAX)) {
            let count = u32::try_from(part.len()).unwrap_or(0);
            let request = Request { operation: Operation::Write, tile, address, count };
            self.ask(request, part, &mut [0])?;
        }
        Ok(())
    }

    /// Reads words from an address of a tile.
    ///
    /// # Errors
    /// The errors of [`Simulator::read`].
    pub fn read_words(
        &mut self,
        tile: Tile,
        address: u64,
        words: &mut [u32],
    ) -> Result<(), TtsimError> {
        let mut bytes = vec![0; words.len() * 4];
        self.read(tile, address, &mut bytes)?;
        let (chunks, _) = bytes.as_chunks();
        for (word, chunk) in words.iter_mut().zip(chunks) {
            *word = u32::from_le_bytes(*chunk);
        }
        Ok(())
    }

    /// Writes words to an address of a tile.
    ///
    /// # Errors
    /// The errors of [`Simulator::read`].
    pub fn write_words(
        &mut self,
        tile: Tile,
        address: u64,
        words: &[u32],
    ) -> Result<(), TtsimError> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(tile, address, &bytes)
    }

    /// Advances the chip by a number of clocks.
    ///
    /// # Errors
    /// If a core does something that ttsim refuses, or ttsim has refused something before.
    pub fn advance(&mut self, clocks: u32) -> Result<(), TtsimError> {
        let mut rest = clocks;
        while rest > 0 {
            let count = rest.min(CLOCKS_MAX);
            let (operation, tile) = (Operation::Clock, Tile { x: 0, y: 0 });
            self.ask(Request { operation, tile, address: 0, count }, &[], &mut [0])?;
            self.clock += u64::from(count);
            rest -= count;
        }
        Ok(())
    }

    /// Sends a request with the bytes to write, and receives the answer.
    fn ask(&mut self, request: Request, data: &[u8], answer: &mut [u8]) -> Result<(), TtsimError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        // If the child has ended, receiving the answer reports it.
        let _ = self.socket.write_all(&[&request.to_bytes(), data].concat());
        self.socket.read_exact(answer).map_err(|error| self.lost(&error))
    }

    /// Returns the reason why the child gave no answer.
    fn lost(&mut self, error: &io::Error) -> TtsimError {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
        let what = match error.kind() {
            BrokenPipe | ConnectionReset | UnexpectedEof => return self.autopsy(),
            WouldBlock | TimedOut => {
                format!("did not answer for {} seconds and was ended", PATIENCE.as_secs())
            }
            _ => format!("sent an invalid answer: {error}"),
        };
        self.fail(TtsimError::Ended { what, output: String::new() })
    }

    /// Records a failure and ends the child. All later requests return this failure.
    fn fail(&mut self, failure: TtsimError) -> TtsimError {
        let _ = self.child.kill();
        self.failure.get_or_insert(failure).clone()
    }

    /// Waits until the operating system reports the end of the child, and returns the reason why
    /// the child ended.
    fn autopsy(&mut self) -> TtsimError {
        let status = self.child.wait();
        let [output, errors] = self.output.take().map_or_else(Default::default, |threads| {
            threads.map(|thread| thread.join().unwrap_or_default())
        });
        let failure = violation(&output).unwrap_or_else(|| TtsimError::Ended {
            what: status.map_or_else(|error| error.to_string(), ending),
            output: output + &errors,
        });
        self.fail(failure)
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arch, clock, failure, .. } = self;
        f.debug_struct("Simulator")
            .field("arch", arch)
            .field("clock", clock)
            .field("failure", failure)
            .finish_non_exhaustive()
    }
}

fn check_file(library: &Path) -> Result<(), TtsimError> {
    let reason = match std::fs::metadata(library) {
        Ok(metadata) if metadata.is_file() => return Ok(()),
        Ok(_) => "it is no file".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(TtsimError::NotALibrary { library: library.to_owned(), reason })
}

/// Returns the start addresses of the requests for an access at `address`. The iterator has no end,
/// because the length of the access is not given.
fn parts(address: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(address), |at| Some(at.wrapping_add(CHUNK_BYTES_MAX as u64)))
}

fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Returns the violation that ttsim printed before it ended the process.
///
/// # Compatibility
/// `docs/sim_error_handling.md` of ttsim; ttsim prints violations as `[clock] ERROR: Category:
/// function: message`.
fn violation(output: &str) -> Option<TtsimError> {
    output.lines().rev().find_map(|line| {
        let (clock, violation) = line.strip_prefix('[')?.split_once("] ERROR: ")?;
        let clock = clock.parse().ok()?;
        Some(TtsimError::Violation { clock, violation: violation.trim().to_owned() })
    })
}

/// Starts a thread that reads an output stream of a process to its end; the thread returns the last
/// [`KEPT_BYTES`] bytes.
fn end_of(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let Some(mut stream) = stream else { return String::new() };
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..count]);
            let surplus = kept.len().saturating_sub(KEPT_BYTES);
            kept.drain(..surplus);
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

/// Maximum time that the child may take to answer one request.
const PATIENCE: Duration = Duration::from_secs(120);
/// Maximum number of clocks in one request. The child needs far less than [`PATIENCE`] for this
/// number of clocks, even if every core is busy.
const CLOCKS_MAX: u32 = 20_000;
/// Maximum number of bytes kept of the child's output.
const KEPT_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_violation_is_found_in_what_was_printed() {
        let output = "hello\n[12] ERROR: UndefinedBehavior: first: a=1\n\
                      [5120] ERROR: UnimplementedFunctionality: t_tile_mmio_wr32: addr=0x228\n\n";
        let violation = violation(output).unwrap();
        assert_eq!(
            violation.to_string(),
            "ttsim refused what the chip was told, at clock 5120: \
             UnimplementedFunctionality: t_tile_mmio_wr32: addr=0x228"
        );
        for output in ["", "[x] ERROR: a", "[1] WARNING: b", "1] ERROR: c"] {
            assert_eq!(super::violation(output), None, "{output}");
        }
    }

    #[test]
    fn a_file_that_is_none_is_named_with_what_to_do() {
        let error = Simulator::start(Command::new("true"), Path::new("/no/such/file.so"));
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("cannot use /no/such/file.so as libttsim: "), "{error}");
        assert!(error.ends_with("; name the file with --ttsim-library"), "{error}");
    }

    #[test]
    fn a_child_that_ends_at_once_says_how() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut child = Command::new("sh");
        child.args(["-c", "echo so long; exit 7"]);
        let error = Simulator::start(child, file.path()).unwrap_err().to_string();
        assert_eq!(error, "the process of ttsim ended with exit code 7, it printed: so long");
        let mut child = Command::new("sh");
        child.args(["-c", "kill -9 $$"]);
        let error = Simulator::start(child, file.path()).unwrap_err().to_string();
        assert_eq!(error, "the process of ttsim was ended by signal 9 and printed nothing");
        let error = Simulator::start(Command::new("/no/such/program"), file.path()).unwrap_err();
        assert!(matches!(error, TtsimError::NotStarted { .. }), "{error}");
    }
}
