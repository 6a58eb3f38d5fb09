//! The messages between a host and the child process that runs the simulator.
//!
//! Numbers are little-endian. The child first sends a greeting. Then the host sends requests, and
//! the child answers each one before it reads the next.
//!
//! | message | bytes |
//! |---|---|
//! | greeting | three words: version of the protocol, PCI id of the chip, length of a text in bytes; then the text, which is empty or says why the child cannot use the library |
//! | request | 0 to read, 1 to write, 2 to advance the chip; column, row, 0; word: number of bytes or of clocks; 64 bits: address; the bytes to write |
//! | answer | the bytes read; a zero byte after a write or an advance |

use std::io::{self, Read, Write};

/// Maximum number of bytes that one message reads or writes on the chip.
pub(crate) const CHUNK_BYTES_MAX: usize = 1 << 18;

/// Version of the protocol. Increase it when the messages change.
pub(crate) const VERSION: u32 = 2;

/// The child's first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// PCI id of the chip, or the reason why the child cannot use the library.
    pub(crate) pci_id: Result<u32, String>,
}

/// Coordinates of a tile on NoC 0. The host uses the same coordinates to map a window of the chip's
/// BAR to a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// Column.
    pub x: u8,
    /// Row.
    pub y: u8,
}

/// Operation that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Reads bytes from an address of a tile.
    Read,
    /// Writes bytes, which follow the request, to an address of a tile.
    Write,
    /// Advances the chip by a number of clocks.
    Clock,
}

/// Request that the host sends to the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) tile: Tile,
    pub(crate) address: u64,
    /// Number of bytes, at most [`CHUNK_BYTES_MAX`], or number of clocks.
    pub(crate) count: u32,
}

const REQUEST_BYTES: usize = 16;
/// Maximum length of a greeting's text, in bytes. The host does not read more.
const REASON_BYTES_MAX: u64 = 4096;

impl Greeting {
    pub(crate) fn send(&self, stream: &mut impl Write) -> io::Result<()> {
        let (pci_id, reason) = match &self.pci_id {
            Ok(pci_id) => (*pci_id, ""),
            Err(reason) => (0, reason.as_str()),
        };
        let length = u32::try_from(reason.len()).unwrap_or(u32::MAX);
        let words = [VERSION, pci_id, length].map(u32::to_le_bytes);
        stream.write_all(&[words.as_flattened(), reason.as_bytes()].concat())
    }

    pub(crate) fn receive(stream: &mut impl Read) -> io::Result<Self> {
        let mut words = [[0; 4]; 3];
        stream.read_exact(words.as_flattened_mut())?;
        let [version, pci_id, length] = words.map(u32::from_le_bytes);
        if version != VERSION {
            let reason = format!("expected version {VERSION} of the protocol, found {version}");
            return Ok(Self { pci_id: Err(reason) });
        }
        let mut reason = Vec::new();
        stream.take(u64::from(length).min(REASON_BYTES_MAX)).read_to_end(&mut reason)?;
        let reason = String::from_utf8_lossy(&reason).into_owned();
        Ok(Self { pci_id: if reason.is_empty() { Ok(pci_id) } else { Err(reason) } })
    }
}

impl Request {
    pub(crate) fn to_bytes(self) -> [u8; REQUEST_BYTES] {
        let Self { operation, tile: Tile { x, y }, address, count } = self;
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&[operation as u8, x, y, 0]);
        bytes[4..8].copy_from_slice(&count.to_le_bytes());
        bytes[8..].copy_from_slice(&address.to_le_bytes());
        bytes
    }

    /// Receives the head of a request, but not the bytes to write; returns `None` at the end of the
    /// stream.
    pub(crate) fn receive(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let mut bytes = [0; REQUEST_BYTES];
        if stream.read(&mut bytes[..1])? == 0 {
            return Ok(None);
        }
        stream.read_exact(&mut bytes[1..])?;
        let invalid = || {
            let sentence = format!("expected a request, found the bytes {bytes:?}");
            io::Error::new(io::ErrorKind::InvalidData, sentence)
        };
        Self::parse(&bytes).map(Some).ok_or_else(invalid)
    }

    fn parse(&[kind, x, y, _, ref fields @ ..]: &[u8; REQUEST_BYTES]) -> Option<Self> {
        let (count, address) = fields.split_first_chunk()?;
        let (count, address) = (u32::from_le_bytes(*count), address.first_chunk()?);
        let operation = match kind {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Clock,
            _ => return None,
        };
        let is_sound = operation == Operation::Clock || count as usize <= CHUNK_BYTES_MAX;
        let (tile, address) = (Tile { x, y }, u64::from_le_bytes(*address));
        is_sound.then_some(Self { operation, tile, address, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: Tile = Tile { x: 18, y: 12 };

    #[test]
    fn requests_and_greetings_survive_the_way() {
        let request = |operation, address, count| Request { operation, tile: TILE, address, count };
        let requests = [
            request(Operation::Read, 0xFFB1_21F0, 4),
            request(Operation::Write, u64::MAX, 1 << 18),
            request(Operation::Clock, 0, u32::MAX),
        ];
        let stream = requests.map(Request::to_bytes);
        let expected = [0, 18, 12, 0, 4, 0, 0, 0, 0xF0, 0x21, 0xB1, 0xFF, 0, 0, 0, 0];
        assert_eq!(stream[0], expected, "the layout is fixed");
        let mut stream = stream.as_flattened();
        for request in requests {
            assert_eq!(Request::receive(&mut stream).unwrap(), Some(request));
        }
        assert_eq!(Request::receive(&mut stream).unwrap(), None);
        for pci_id in [Ok(0x401E_1E52), Err("no".to_owned())] {
            let (greeting, mut stream) = (Greeting { pci_id }, Vec::new());
            greeting.send(&mut stream).unwrap();
            assert_eq!(Greeting::receive(&mut &stream[..]).unwrap(), greeting);
        }
    }

    #[test]
    fn messages_that_are_none_are_refused_before_anything_is_allocated() {
        let error = |bytes: &[u8]| Request::receive(&mut &bytes[..]).unwrap_err().to_string();
        assert!(error(&[9; 16]).starts_with("expected a request, found the bytes [9, 9,"));
        // A read and a write of more than a chunk.
        for operation in [Operation::Read, Operation::Write] {
            let count = u32::try_from(CHUNK_BYTES_MAX).unwrap() + 1;
            let request = Request { operation, tile: TILE, address: 0, count };
            assert!(error(&request.to_bytes()).starts_with("expected a request"));
        }
        // Streams that end within a message.
        assert_eq!(error(&[0, 0]), "failed to fill whole buffer");
        let greeting = Greeting::receive(&mut &[3, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9][..]).unwrap();
        let expected = "expected version 2 of the protocol, found 3".to_owned();
        assert_eq!(greeting.pci_id, Err(expected));
    }
}
