//! Sharing of a chip with other processes of the same user, through a Unix socket.
//!
//! Several processes can open a chip through the kernel driver. A simulated chip exists in only one
//! process, so that process serves it with [`ChipServer`], and other processes access it as
//! [`SharedChip`].
//!
//! # Protocol
//! Numbers are little-endian. When a client connects, the server sends the greeting. Then the
//! client sends requests, and the server answers each one before it reads the next.
//!
//! | message | bytes |
//! |---|---|
//! | greeting | `KPCHIP2` and a zero; seven words: chip, architecture (0 Wormhole, 1 Blackhole), harvest mask, mask of harvested DRAM, clock in MHz, 1 if coordinates are translated, Ethernet channels with a link (all ones: unknown) |
//! | request | 0 to read or 1 to write, NoC, column, row; word: number of bytes, at most 65,536; 64 bits: address; the bytes to write |
//! | other request | 2: where RISCs stand, 3: write tables; the rest as above, and 0 |
//! | answer | word: 0, then the bytes read; or the length of an error message, then the message |
//! | answer to 2 | word: 0, then word: length of the text, then the text |

use crate::{
    access::{AccessFailure, ChipAccess, NocResult, NocTile},
    facts::ChipFacts,
};
use reader::architecture::Arch;
use std::{
    ffi::OsStr,
    fs,
    io::{self, Read, Write},
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// Environment variable with the path of the socket at which a process serves its chip.
pub const SOCKET_VARIABLE: &str = "KPROF_CHIP_SOCKET";

/// Variable with the number of chips that `libkprof_chip.so` simulates.
pub const COUNT_VARIABLE: &str = "KPROF_CHIP_COUNT";

/// Variable with the mask of harvested rows or columns of the chips that `libkprof_chip.so`
/// simulates, in hexadecimal digits.
pub const HARVEST_VARIABLE: &str = "KPROF_CHIP_HARVESTED";

/// Variable with the mask of harvested groups of DRAM tiles of the chips that `libkprof_chip.so`
/// simulates, in hexadecimal digits.
pub const DRAM_HARVEST_VARIABLE: &str = "KPROF_CHIP_HARVESTED_DRAM";

/// Environment variable with the path of another simulator library.
///
/// If the variable is set, kprof's own simulator library forwards all calls to the other library,
/// and serves the chip that the other library simulates.
pub const LIBRARY_VARIABLE: &str = "KPROF_CHIP_LIBRARY";

/// Returns the path of a process's socket. `value` is the value of [`SOCKET_VARIABLE`], in which
/// `{pid}` stands for the number of the process, because several processes may have the same
/// environment.
#[must_use]
pub fn socket_path(value: &OsStr, pid: u32) -> PathBuf {
    match value.to_str() {
        Some(text) => PathBuf::from(text.replace("{pid}", &pid.to_string())),
        None => PathBuf::from(value),
    }
}

/// Failure to share a chip, or to access a shared chip.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// The socket cannot be created or connected to.
    #[error("the socket {} of a shared chip: {source}", .path.display())]
    Socket {
        /// The socket's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process already serves a chip at this path.
    #[error("the socket {} is in use by another process; name another one", .0.display())]
    InUse(PathBuf),
    /// The process at the other end of the socket does not use this protocol.
    #[error(
        "the socket {}: expected the greeting of a chip shared by the same version of kprof, found \
         another one",
        .0.display()
    )]
    Greeting(PathBuf),
}

/// A chip that this process accesses through another process.
#[derive(Debug)]
pub struct SharedChip {
    /// The connection to the serving process; `None` after a failure, because the next answer may
    /// belong to an earlier request.
    stream: Mutex<Option<UnixStream>>,
}

impl SharedChip {
    /// Connects to the process that serves a chip at `path`; returns the chip and its properties.
    ///
    /// # Errors
    /// [`ShareError`] if no process serves a chip there.
    pub fn connect(path: &Path) -> Result<(Self, ChipFacts), ShareError> {
        let failed = |source| ShareError::Socket { path: path.to_owned(), source };
        let mut stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(failed)?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT)).map_err(failed)?;
        let mut greeting = [0; GREETING_BYTES];
        stream.read_exact(&mut greeting).map_err(failed)?;
        let facts = facts_of_greeting(&greeting);
        let facts = facts.ok_or_else(|| ShareError::Greeting(path.to_owned()))?;
        Ok((Self { stream: Mutex::new(Some(stream)) }, facts))
    }

    /// Sends a request and receives the answer.
    fn request(&self, request: &Request, data: &[u8], answer: &mut [u8]) -> NocResult {
        self.exchange(request, data, |stream| stream.read_exact(answer))
    }

    fn exchange<T>(
        &self,
        request: &Request,
        data: &[u8],
        receive: impl FnOnce(&mut UnixStream) -> io::Result<T>,
    ) -> Result<T, AccessFailure> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = stream.as_mut() else {
            return Err(AccessFailure("the process that shares the chip is gone".to_owned()));
        };
        let exchanged = exchange(open, request, data, receive);
        exchanged.unwrap_or_else(|error| {
            *stream = None;
            Err(AccessFailure(format!("the process that shares the chip is gone: {error}")))
        })
    }
}

fn exchange<T>(
    stream: &mut UnixStream,
    request: &Request,
    data: &[u8],
    receive: impl FnOnce(&mut UnixStream) -> io::Result<T>,
) -> io::Result<Result<T, AccessFailure>> {
    stream.write_all(&[&request.to_bytes(), data].concat())?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    match u32::from_le_bytes(length) {
        0 => receive(stream).map(Ok),
        length => {
            let mut message = Vec::new();
            stream.take(u64::from(length).min(MESSAGE_BYTES_MAX)).read_to_end(&mut message)?;
            Ok(Err(AccessFailure(String::from_utf8_lossy(&message).into_owned())))
        }
    }
}

impl ChipAccess for SharedChip {
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
        for (address, piece) in pieces(address).zip(bytes.chunks_mut(PIECE_BYTES)) {
            let request = Request::new(Operation::Read, noc, tile, address, piece.len());
            self.request(&request, &[], piece)?;
        }
        Ok(())
    }

    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
        for (address, piece) in pieces(address).zip(bytes.chunks(PIECE_BYTES)) {
            let request = Request::new(Operation::Write, noc, tile, address, piece.len());
            self.request(&request, piece, &mut [])?;
        }
        Ok(())
    }

    fn standing(&self) -> Result<String, AccessFailure> {
        let request = Request::new(Operation::Standing, 0, NO_TILE, 0, 0);
        let bytes = self.exchange(&request, &[], |stream| {
            let mut length = [0; 4];
            stream.read_exact(&mut length)?;
            let length = u64::from(u32::from_le_bytes(length)).min(STANDING_BYTES_MAX);
            let mut text = Vec::new();
            stream.take(length).read_to_end(&mut text)?;
            Ok(text)
        })?;
        String::from_utf8(bytes).map_err(|error| AccessFailure(error.to_string()))
    }

    fn write_tables(&self) -> NocResult {
        self.request(&Request::new(Operation::WriteTables, 0, NO_TILE, 0, 0), &[], &mut [])
    }
}

/// Returns the start addresses of requests for an access at `address`. The iterator has no end,
/// because the length of the access is not given.
fn pieces(address: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(address), |at| at.checked_add(PIECE_BYTES as u64))
}

/// Server that lets other processes access a chip. The server runs until the end of its process.
#[derive(Debug)]
pub struct ChipServer {
    path: PathBuf,
}

impl ChipServer {
    /// Serves a chip at `path`, in separate threads. A stale socket at `path`, which no process
    /// serves any more, is replaced.
    ///
    /// Only processes of the same user can connect, at most 16 at a time.
    ///
    /// # Errors
    /// [`ShareError`] if the socket cannot be created.
    pub fn start<A>(path: &Path, facts: &ChipFacts, access: A) -> Result<Self, ShareError>
    where
        A: ChipAccess + Send + Sync + 'static,
    {
        let failed = |source| ShareError::Socket { path: path.to_owned(), source };
        let listener = bind(path)?;
        let greeting = greeting_of_facts(facts);
        let access = Arc::new(access);
        let accept = move || {
            for stream in listener.incoming().flatten() {
                // Each open connection holds a reference to `access`, and so does this thread.
                if Arc::strong_count(&access) > GUESTS_MAX {
                    continue;
                }
                let access = Arc::clone(&access);
                // If no thread can be created, the connection is closed.
                let _ =
                    thread::Builder::new().name("kprof chip guest".to_owned()).spawn(move || {
                        // An error ends this connection only, and there is nobody to report it to.
                        let _ = serve(stream, &greeting, &*access);
                    });
            }
        };
        thread::Builder::new()
            .name("kprof chip server".to_owned())
            .spawn(accept)
            .map_err(failed)?;
        Ok(Self { path: path.to_owned() })
    }
}

impl Drop for ChipServer {
    fn drop(&mut self) {
        // If the socket file cannot be removed, the next server replaces it.
        let _ = fs::remove_file(&self.path);
    }
}

fn bind(path: &Path) -> Result<UnixListener, ShareError> {
    let failed = |source| ShareError::Socket { path: path.to_owned(), source };
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if UnixStream::connect(path).is_ok() {
                return Err(ShareError::InUse(path.to_owned()));
            }
            fs::remove_file(path).map_err(failed)?;
            UnixListener::bind(path).map_err(failed)?
        }
        bound => bound.map_err(failed)?,
    };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

/// Answers the requests of one client until it disconnects or sends an invalid request.
fn serve(
    mut stream: UnixStream,
    greeting: &[u8; GREETING_BYTES],
    access: &impl ChipAccess,
) -> io::Result<()> {
    stream.write_all(greeting)?;
    let mut bytes = [0; PIECE_BYTES];
    loop {
        let mut request = [0; REQUEST_BYTES];
        stream.read_exact(&mut request)?;
        let request = Request::from_bytes(&request).ok_or(io::ErrorKind::InvalidData)?;
        let data = usize::try_from(request.size_bytes).ok().and_then(|size| bytes.get_mut(..size));
        let data = data.ok_or(io::ErrorKind::InvalidData)?;
        let (noc, tile, address) = (request.noc, request.tile, request.address);
        let done = match request.operation {
            Operation::Read => access.noc_read(noc, tile, address, data).map(|()| data.to_vec()),
            Operation::Write => {
                stream.read_exact(data)?;
                access.noc_write(noc, tile, address, data).map(|()| Vec::new())
            }
            Operation::Standing => access.standing().map(|text| {
                let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                [&length.to_le_bytes(), text.as_bytes()].concat()
            }),
            Operation::WriteTables => access.write_tables().map(|()| Vec::new()),
        };
        match done {
            Ok(answer) => stream.write_all(&[&[0; 4], &*answer].concat())?,
            Err(AccessFailure(message)) => {
                let message = if message.is_empty() { "refused" } else { &message };
                let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
                stream.write_all(&[&length.to_le_bytes(), message.as_bytes()].concat())?;
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
    Standing,
    WriteTables,
}

/// A request to read from or write to a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    operation: Operation,
    noc: u8,
    tile: NocTile,
    size_bytes: u32,
    address: u64,
}

impl Request {
    fn new(operation: Operation, noc: u8, tile: NocTile, address: u64, size_bytes: usize) -> Self {
        let size_bytes = u32::try_from(size_bytes).unwrap_or(u32::MAX);
        Self { operation, noc, tile, size_bytes, address }
    }

    fn to_bytes(self) -> [u8; REQUEST_BYTES] {
        let Self { operation, noc, tile, size_bytes, address } = self;
        let head = [operation as u8, noc, tile.x, tile.y];
        let mut bytes = [0; REQUEST_BYTES];
        let parts = head.into_iter().chain(size_bytes.to_le_bytes()).chain(address.to_le_bytes());
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        bytes
    }

    fn from_bytes(bytes: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let (&[operation, noc, x, y], rest) = bytes.split_first_chunk::<4>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let address = u64::from_le_bytes(*rest.first_chunk()?);
        let operation = match operation {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Standing,
            3 => Operation::WriteTables,
            _ => return None,
        };
        let size_bytes = u32::from_le_bytes(*size);
        Some(Self { operation, noc, tile: NocTile { x, y }, size_bytes, address })
    }
}

fn greeting_of_facts(facts: &ChipFacts) -> [u8; GREETING_BYTES] {
    let active = facts.active_ethernet.and_then(|count| u32::try_from(count).ok());
    let words = [
        facts.chip_id,
        match facts.arch {
            Arch::WormholeB0 => 0,
            Arch::Blackhole => 1,
        },
        facts.harvest_mask,
        facts.dram_harvest_mask,
        facts.aiclk_mhz,
        facts.is_translated.into(),
        active.unwrap_or(u32::MAX),
    ];
    let mut bytes = [0; GREETING_BYTES];
    let parts = MAGIC.into_iter().chain(words.into_iter().flat_map(u32::to_le_bytes));
    bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
    bytes
}

fn facts_of_greeting(greeting: &[u8; GREETING_BYTES]) -> Option<ChipFacts> {
    let words = greeting.strip_prefix(&MAGIC)?.as_chunks().0.iter();
    let words: Vec<u32> = words.map(|word| u32::from_le_bytes(*word)).collect();
    let &[chip_id, arch, harvest_mask, dram_harvest_mask, aiclk_mhz, is_translated, active] =
        words.first_chunk()?;
    Some(ChipFacts {
        chip_id,
        arch: match arch {
            0 => Arch::WormholeB0,
            1 => Arch::Blackhole,
            _ => return None,
        },
        harvest_mask,
        dram_harvest_mask,
        aiclk_mhz,
        is_translated: is_translated == 1,
        active_ethernet: usize::try_from(active).ok().filter(|_| active != u32::MAX),
    })
}

const MAGIC: [u8; 8] = *b"KPCHIP2\0";
const GREETING_BYTES: usize = 36;
const REQUEST_BYTES: usize = 16;
/// Maximum number of bytes that one request reads or writes.
const PIECE_BYTES: usize = 1 << 16;
const MESSAGE_BYTES_MAX: u64 = 4096;
/// Maximum length of the text about where RISCs stand: some 40 KB for each core.
const STANDING_BYTES_MAX: u64 = 64 << 20;
/// Tile of requests that are about none.
const NO_TILE: NocTile = NocTile { x: 0, y: 0 };
/// Maximum number of open connections.
const GUESTS_MAX: usize = 16;
/// Time without an answer after which the serving process counts as ended. The time is long,
/// because a simulator answers only after the current step of the simulated chip.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    /// A chip with one tile of memory. An access must name the right NoC and the tile's
    /// coordinates.
    #[derive(Debug)]
    struct OneTile(Mutex<Vec<u8>>);

    const TILE: NocTile = NocTile { x: 3, y: 7 };

    impl OneTile {
        fn range(
            noc: u8,
            tile: NocTile,
            address: u64,
            size: usize,
        ) -> Result<usize, AccessFailure> {
            let first = usize::try_from(address).unwrap();
            let is_there = (noc, tile) == (1, TILE) && first + size <= 200_000;
            let refusal = || AccessFailure(format!("nothing at {tile}, {address:#x}"));
            is_there.then_some(first).ok_or_else(refusal)
        }
    }

    impl ChipAccess for OneTile {
        fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
            let first = Self::range(noc, tile, address, bytes.len())?;
            bytes.copy_from_slice(&self.0.lock().unwrap()[first..first + bytes.len()]);
            Ok(())
        }

        fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
            let first = Self::range(noc, tile, address, bytes.len())?;
            self.0.lock().unwrap()[first..first + bytes.len()].copy_from_slice(bytes);
            Ok(())
        }
    }

    const FACTS: ChipFacts = ChipFacts {
        chip_id: 5,
        arch: Arch::Blackhole,
        harvest_mask: 0x42,
        dram_harvest_mask: 0x10,
        aiclk_mhz: 1350,
        is_translated: true,
        active_ethernet: Some(4),
    };

    fn served() -> (tempfile::TempDir, PathBuf, ChipServer) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chip");
        let bytes = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        let server = ChipServer::start(&path, &FACTS, OneTile(Mutex::new(bytes))).unwrap();
        (folder, path, server)
    }

    #[test]
    fn facts_and_memory_are_those_of_the_served_chip() {
        let (_folder, path, _server) = served();
        let (chip, facts) = SharedChip::connect(&path).unwrap();
        assert_eq!(facts, FACTS);
        // This read is longer than one request can be, and not a multiple of that length.
        let mut bytes = vec![0; 150_001];
        chip.noc_read(1, TILE, 40_000, &mut bytes).unwrap();
        assert!(bytes.iter().zip(40_000..).all(|(byte, number)| *byte == (number % 251) as u8));
        let written: Vec<u8> = (0..70_000_u32).map(|number| (number % 239) as u8).collect();
        chip.noc_write(1, TILE, 1_000, &written).unwrap();
        let (other, _) = SharedChip::connect(&path).unwrap();
        let mut bytes = vec![0; 70_002];
        other.noc_read(1, TILE, 999, &mut bytes).unwrap();
        assert_eq!([bytes[0], bytes[70_001]], [999, 71_000].map(|at| (at % 251) as u8));
        assert_eq!(bytes[1..70_001], written);
    }

    #[test]
    fn a_refused_access_is_said_and_the_next_one_works() {
        let (_folder, path, _server) = served();
        let (chip, _) = SharedChip::connect(&path).unwrap();
        let elsewhere = NocTile { x: 0, y: 0 };
        let error = chip.noc_read(1, elsewhere, 64, &mut [0; 8]).unwrap_err();
        assert_eq!(error, AccessFailure("nothing at (0,0), 0x40".to_owned()));
        assert!(chip.noc_write(0, TILE, 0, &[1]).is_err());
        let mut byte = [0];
        chip.noc_read(1, TILE, 250, &mut byte).unwrap();
        assert_eq!(byte, [250]);
    }

    #[test]
    fn a_guest_that_sends_nonsense_is_dropped_and_others_are_served() {
        let (_folder, path, _server) = served();
        let (chip, _) = SharedChip::connect(&path).unwrap();
        let read = Request::new(Operation::Read, 1, TILE, 0, PIECE_BYTES + 1).to_bytes();
        for nonsense in [[0xFF; REQUEST_BYTES], read] {
            let mut guest = UnixStream::connect(&path).unwrap();
            guest.read_exact(&mut [0; GREETING_BYTES]).unwrap();
            guest.write_all(&nonsense).unwrap();
            assert_eq!(guest.read(&mut [0]).unwrap_or(0), 0, "the connection ends");
        }
        chip.noc_read(1, TILE, 0, &mut [0; 4]).unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_said_and_its_socket_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chip");
        let error = SharedChip::connect(&path).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        let listener = bind(&path).unwrap();
        assert!(matches!(bind(&path), Err(ShareError::InUse(_))));
        let other = thread::spawn(move || {
            // The first connection is the one that `bind` made above.
            let mut streams: Vec<_> = listener.incoming().flatten().take(2).collect();
            streams[1].write_all(&greeting_of_facts(&FACTS)).unwrap();
        });
        let (chip, _) = SharedChip::connect(&path).unwrap();
        other.join().unwrap();
        for _ in 0..2 {
            let error = chip.noc_read(1, TILE, 0, &mut [0; 4]).unwrap_err();
            assert!(error.0.starts_with("the process that shares the chip is gone"), "{error}");
        }
        bind(&path).unwrap();
        let liar = thread::spawn({
            let listener = bind(&path).unwrap();
            move || listener.accept().unwrap().0.write_all(&[b'?'; GREETING_BYTES]).unwrap()
        });
        assert!(matches!(SharedChip::connect(&path), Err(ShareError::Greeting(_))));
        liar.join().unwrap();
    }

    #[test]
    fn a_request_has_the_bytes_of_the_table() {
        let request = Request::new(Operation::Write, 1, TILE, 0x1_0000_0002, 0x0304);
        let bytes = [1, 1, 3, 7, 4, 3, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0];
        assert_eq!(request.to_bytes(), bytes);
        assert_eq!(Request::from_bytes(&bytes), Some(request));
    }
}
