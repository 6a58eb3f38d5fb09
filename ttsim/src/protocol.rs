//! The messages between a host and the child process that runs the simulator.
//!
//! A message consists of its length in bytes as a little-endian 32-bit word, a type byte, and the
//! fields of that type (little-endian). Lengths are checked before any allocation.

use std::io::{self, Read, Write};

/// Maximum number of bytes that one message reads or writes on the chip.
pub(crate) const CHUNK_BYTES_MAX: usize = 1 << 18;

/// Version of the protocol. Increase it when the messages change.
pub(crate) const VERSION: u32 = 1;

/// Maximum size of a message in bytes: one chunk of data and the fields before it.
const MESSAGE_BYTES_MAX: usize = CHUNK_BYTES_MAX + 64;

/// Request that the host sends to the child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Reads bytes from an address of a tile.
    Read { tile: Tile, address: u64, byte_count: u32 },
    /// Writes bytes to an address of a tile.
    Write { tile: Tile, address: u64, bytes: Vec<u8> },
    /// Advances the chip by a number of clocks.
    Clock { clocks: u32 },
}

/// Response of the child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// The library is loaded; contains the version of the protocol and the chip's PCI id.
    Ready { version: u32, pci_id: u32 },
    /// The requested bytes.
    Data(Vec<u8>),
    /// The write or the advance is done.
    Done,
    /// The child could not load the library; contains the reason.
    Refused(String),
}

/// Coordinates of a tile, as in host windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// Column.
    pub x: u8,
    /// Row.
    pub y: u8,
}

impl Request {
    pub(crate) fn send(&self, stream: &mut impl Write) -> io::Result<()> {
        let mut message = Vec::new();
        match self {
            Self::Read { tile, address, byte_count } => {
                message.extend([1, tile.x, tile.y]);
                message.extend(address.to_le_bytes());
                message.extend(byte_count.to_le_bytes());
            }
            Self::Write { tile, address, bytes } => {
                message.extend([2, tile.x, tile.y]);
                message.extend(address.to_le_bytes());
                message.extend(bytes);
            }
            Self::Clock { clocks } => {
                message.push(3);
                message.extend(clocks.to_le_bytes());
            }
        }
        send(stream, &message)
    }

    /// Receives a request; `None` at the end of the stream.
    pub(crate) fn receive(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(message) = receive(stream)? else { return Ok(None) };
        Self::parse(&message).map(Some).ok_or_else(|| bad("a request", &message))
    }

    fn parse(message: &[u8]) -> Option<Self> {
        let (kind, mut fields) = message.split_first()?;
        match kind {
            1 => {
                let (tile, address) = (tile(&mut fields)?, double_word(&mut fields)?);
                let byte_count = word(&mut fields)?;
                let is_sound = fields.is_empty() && byte_count as usize <= CHUNK_BYTES_MAX;
                is_sound.then_some(Self::Read { tile, address, byte_count })
            }
            2 => {
                let (tile, address) = (tile(&mut fields)?, double_word(&mut fields)?);
                let is_sound = !fields.is_empty() && fields.len() <= CHUNK_BYTES_MAX;
                is_sound.then(|| Self::Write { tile, address, bytes: fields.to_vec() })
            }
            3 => {
                let clocks = word(&mut fields)?;
                fields.is_empty().then_some(Self::Clock { clocks })
            }
            _ => None,
        }
    }
}

impl Response {
    pub(crate) fn send(&self, stream: &mut impl Write) -> io::Result<()> {
        let mut message = Vec::new();
        match self {
            Self::Ready { version, pci_id } => {
                message.push(1);
                message.extend(version.to_le_bytes());
                message.extend(pci_id.to_le_bytes());
            }
            Self::Data(bytes) => {
                message.push(2);
                message.extend(bytes);
            }
            Self::Done => message.push(3),
            Self::Refused(reason) => {
                message.push(4);
                message.extend(reason.bytes().take(CHUNK_BYTES_MAX));
            }
        }
        send(stream, &message)
    }

    /// Receives a response; `None` at the end of the stream.
    pub(crate) fn receive(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(message) = receive(stream)? else { return Ok(None) };
        Self::parse(&message).map(Some).ok_or_else(|| bad("an answer", &message))
    }

    fn parse(message: &[u8]) -> Option<Self> {
        let (kind, mut fields) = message.split_first()?;
        match kind {
            1 => {
                let (version, pci_id) = (word(&mut fields)?, word(&mut fields)?);
                fields.is_empty().then_some(Self::Ready { version, pci_id })
            }
            2 => Some(Self::Data(fields.to_vec())),
            3 => fields.is_empty().then_some(Self::Done),
            4 => Some(Self::Refused(String::from_utf8_lossy(fields).into_owned())),
            _ => None,
        }
    }
}

fn send(stream: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut framed = length.to_le_bytes().to_vec();
    framed.extend(message);
    stream.write_all(&framed)
}

fn receive(stream: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    if stream.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut length[1..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MESSAGE_BYTES_MAX {
        let sentence = format!("expected at most {MESSAGE_BYTES_MAX} bytes, found {length}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, sentence));
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message)?;
    Ok(Some(message))
}

fn bad(what: &str, message: &[u8]) -> io::Error {
    let (kind, length) = (message.first().copied().unwrap_or(0), message.len());
    let sentence = format!("expected {what}, found {length} bytes of kind {kind}");
    io::Error::new(io::ErrorKind::InvalidData, sentence)
}

fn tile(fields: &mut &[u8]) -> Option<Tile> {
    let [x, y] = take(fields)?;
    Some(Tile { x, y })
}

fn word(fields: &mut &[u8]) -> Option<u32> {
    take(fields).map(u32::from_le_bytes)
}

fn double_word(fields: &mut &[u8]) -> Option<u64> {
    take(fields).map(u64::from_le_bytes)
}

fn take<const N: usize>(fields: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = fields.split_first_chunk()?;
    *fields = rest;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: Tile = Tile { x: 18, y: 12 };

    #[test]
    fn requests_and_responses_survive_the_way() {
        let requests = [
            Request::Read { tile: TILE, address: 0xFFB1_21F0, byte_count: 4 },
            Request::Write { tile: TILE, address: u64::MAX, bytes: vec![1, 2, 3] },
            Request::Clock { clocks: u32::MAX },
        ];
        let mut stream = Vec::new();
        requests.iter().for_each(|request| request.send(&mut stream).unwrap());
        // Length 15, kind, tile, address, count: the layout is fixed.
        assert_eq!(stream[..8], [15, 0, 0, 0, 1, 18, 12, 0xF0]);
        let mut stream = &stream[..];
        for request in requests {
            assert_eq!(Request::receive(&mut stream).unwrap(), Some(request));
        }
        assert_eq!(Request::receive(&mut stream).unwrap(), None);
        let responses = [
            Response::Ready { version: 7, pci_id: 0x401E_1E52 },
            Response::Data(vec![9; 5]),
            Response::Done,
            Response::Refused("no".to_owned()),
        ];
        let mut stream = Vec::new();
        responses.iter().for_each(|response| response.send(&mut stream).unwrap());
        let mut stream = &stream[..];
        for response in responses {
            assert_eq!(Response::receive(&mut stream).unwrap(), Some(response));
        }
    }

    #[test]
    fn messages_that_are_none_are_refused_before_anything_is_allocated() {
        let error = |bytes: &[u8]| Request::receive(&mut &bytes[..]).unwrap_err().to_string();
        assert!(error(&u32::MAX.to_le_bytes()).contains("found 4294967295"));
        assert!(error(&[1, 0, 0, 0, 9]).contains("found 1 bytes of kind 9"));
        // A read of more than a chunk, a write without bytes, and a clock field that is too short.
        let mut read = vec![15, 0, 0, 0, 1, 0, 0];
        read.extend([0; 8]);
        read.extend((u32::try_from(CHUNK_BYTES_MAX).unwrap() + 1).to_le_bytes());
        assert!(error(&read).contains("of kind 1"));
        let mut write = vec![11, 0, 0, 0, 2];
        write.extend([0; 10]);
        assert!(error(&write).contains("of kind 2"));
        assert!(error(&[3, 0, 0, 0, 3, 1, 1]).contains("of kind 3"));
        // Streams that end within a message.
        assert_eq!(error(&[5, 0]), "failed to fill whole buffer");
        assert_eq!(error(&[5, 0, 0, 0, 3]), "failed to fill whole buffer");
    }
}
