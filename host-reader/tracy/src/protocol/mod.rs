//! Tracy's live protocol as data: the versions, and the items of each version.
//!
//! A program with a Tracy client sends items. An item is a code of one byte, followed by fields
//! without padding. Each version of the protocol renumbers the codes, because new kinds are
//! inserted. This module contains the kinds, codes and sizes of every version. The module neither
//! sends nor receives data.
//!
//! | question | item |
//! |---|---|
//! | which versions are there? | [`TracyProtocol::all`] |
//! | which kind of item has a given code, and how long are items of this kind? | [`TracyProtocol::kind`], [`TracyProtocol::form`] |
//! | which code does a kind of item have? | [`TracyProtocol::code`] |
//!
//! ```
//! use tracy::protocol::{Form, ItemKind, Program, TracyProtocol};
//! let protocol = TracyProtocol::with_number(82, Program::Stock).ok_or("unknown")?;
//! let code = protocol.code(ItemKind::ZoneEnd).ok_or("no such item")?;
//! assert_eq!(code, 25);
//! assert_eq!(protocol.form(ItemKind::ZoneEnd), Form::Fixed(8));
//! # Ok::<(), &str>(())
//! ```
//!
//! # Compatibility
//! The kinds are those of two header files: `public/common/TracyProtocol.hpp` and
//! `public/common/TracyQueue.hpp`. Tracy's headers were used for each `ProtocolVersion` from 66 to
//! 82, and the headers of Tenstorrent's fork for its versions 66 and 76. Codes and sizes were
//! determined with a C++ compiler. According to the fork's description, versions 79 and 83 of the
//! fork are Tracy's versions with three additional kinds. Versions 79 and 83 of the fork were not
//! tested with a client.

#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

mod item;
mod version;

pub(crate) use item::Topic;
pub use item::{Form, ItemKind};
pub use version::{Program, TracyProtocol};

/// First bytes that a server sends.
pub const GREETING: [u8; 8] = *b"TracyPrf";

/// Maximum total size of the items in one frame, in bytes, before compression.
pub const FRAME_BYTES: usize = 256 * 1024;

/// Maximum size of a compressed frame in bytes. If no data repeats, LZ4's output is slightly larger
/// than its input.
pub const COMPRESSED_FRAME_BYTES: usize = FRAME_BYTES + FRAME_BYTES / 255 + 16;

/// Length of a server's query in bytes: kind, key, and an extra number.
pub const QUERY_BYTES: usize = 1 + 8 + 4;

/// Number of nanoseconds that clients since protocol 78 subtract from a zone's 64-bit time
/// difference, unless the difference is negative.
///
/// Differences from 0 up to this number are sent in items with 16-bit or 32-bit differences.
pub const FAR_NS: i64 = (1 << 16) + (1 << 32);

/// Number of nanoseconds that clients subtract from a zone's 32-bit time difference.
pub const NEAR_NS: i64 = 1 << 16;

/// Answer to a server's greeting. A variant's value is the answer's byte on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Handshake {
    /// The client accepts the server. The welcome follows.
    Welcome = 1,
    /// The client uses another version.
    ProtocolMismatch = 2,
    /// Another server was connected to the client before, and the client accepts no second server.
    NotAvailable = 3,
}

impl Handshake {
    /// Returns the byte on the wire.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// Returns the answer that a byte encodes.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        let all = [Self::Welcome, Self::ProtocolMismatch, Self::NotAvailable];
        all.into_iter().find(|answer| answer.byte() == byte)
    }
}

/// Kind of a query from a server to a client. A variant's value is the kind's byte on the wire.
///
/// Kinds that this project neither sends nor answers are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Query {
    /// End of the connection; the client may exit.
    Terminate = 0,
    /// Text of the program, by address.
    Text = 1,
    /// Name of a thread, by number.
    ThreadName = 2,
    /// Source location, by address.
    SourceLocation = 3,
    /// Name of a plot, by address.
    PlotName = 4,
    /// Name of a series of frames, by address.
    FrameName = 5,
    /// Name of a fiber, by address.
    FiberName = 7,
    /// End of the recording. The client sends its remaining data, and then
    /// [`ItemKind::Terminate`].
    Disconnect = 9,
    /// Functions at one address of a call stack.
    CallstackFrame = 10,
    /// Machine code of a symbol, by address.
    SymbolCode = 12,
    /// Source file, by number.
    SourceCode = 13,
}

impl Query {
    /// Returns the byte that represents this query in the protocol.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// Returns the query that a byte encodes; `None` for kinds that this project does not answer.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        use Query::{
            CallstackFrame, Disconnect, FiberName, FrameName, PlotName, SourceCode, SourceLocation,
            SymbolCode, Terminate, Text, ThreadName,
        };
        let texts = [Text, ThreadName, SourceLocation, PlotName, FrameName, FiberName];
        let others = [Terminate, Disconnect, CallstackFrame, SymbolCode, SourceCode];
        texts.into_iter().chain(others).find(|query| query.byte() == byte)
    }
}
