//! Tracy's live protocol as data: the versions, and the items of each.
//!
//! A program with a Tracy client sends items: one byte of code, then fields without gaps. Each
//! version of the protocol numbers the items anew, since new kinds come in between. This crate
//! knows the kinds of every version, their codes and sizes; it neither sends nor receives.
//!
//! | question | open |
//! |---|---|
//! | which versions are there? | [`TracyProtocol::all`] |
//! | which kind has this code, how long is it? | [`TracyProtocol::kind`], [`TracyProtocol::form`] |
//! | which code has this kind? | [`TracyProtocol::code`] |
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
//! Tracy's `public/common/TracyProtocol.hpp` and `public/common/TracyQueue.hpp` at every change
//! of `ProtocolVersion` from 66 to 82, and in Tenstorrent's fork at 66 and 76: the codes and sizes
//! that a C++ compiler gave for them. The fork's 79 and 83 are those of Tracy with three more
//! kinds, as the fork describes them; no client of theirs has been met.

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

pub use item::{Form, ItemKind};
pub use version::{Program, TracyProtocol};

/// First bytes that a server sends.
pub const GREETING: [u8; 8] = *b"TracyPrf";

/// Most bytes of items in one frame, before compression.
pub const FRAME_BYTES: usize = 256 * 1024;

/// Most bytes of a frame as LZ4 gives it: a little more than it was, if nothing repeats.
pub const COMPRESSED_FRAME_BYTES: usize = FRAME_BYTES + FRAME_BYTES / 255 + 16;

/// Bytes of a query of the server: kind, key, and an extra number.
pub const QUERY_BYTES: usize = 1 + 8 + 4;

/// Distance that a 64-bit time of a zone leaves out, since protocol 78, where it is not negative:
/// smaller ones have shorter items.
pub const FAR_NS: i64 = (1 << 16) + (1 << 32);

/// Distance that a 32-bit time of a zone leaves out.
pub const NEAR_NS: i64 = 1 << 16;

/// Answers to a server's greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The welcome follows.
    Welcome,
    /// The client speaks another version.
    ProtocolMismatch,
    /// The client was connected once and takes no other server.
    NotAvailable,
}

impl Handshake {
    /// The byte on the wire.
    #[must_use]
    pub const fn byte(self) -> u8 {
        match self {
            Self::Welcome => 1,
            Self::ProtocolMismatch => 2,
            Self::NotAvailable => 3,
        }
    }

    /// The answer with this byte.
    #[must_use]
    pub const fn of_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Welcome),
            2 => Some(Self::ProtocolMismatch),
            3 => Some(Self::NotAvailable),
            _ => None,
        }
    }
}

/// Kinds of a server's queries, of those that are asked or answered here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// The end of the connection: the client may go.
    Terminate,
    /// A text of the program, by its address.
    Text,
    /// The name of a thread, by its number.
    ThreadName,
    /// A source location, by its address.
    SourceLocation,
    /// The name of a plot, by its address.
    PlotName,
    /// The name of a series of frames, by its address.
    FrameName,
    /// The name of a fiber, by its address.
    FiberName,
    /// The end of the recording: the client sends what it has, then its own end.
    Disconnect,
    /// The functions behind one address of a call stack.
    CallstackFrame,
}

impl Query {
    /// The byte on the wire.
    #[must_use]
    pub const fn byte(self) -> u8 {
        match self {
            Self::Terminate => 0,
            Self::Text => 1,
            Self::ThreadName => 2,
            Self::SourceLocation => 3,
            Self::PlotName => 4,
            Self::FrameName => 5,
            Self::FiberName => 7,
            Self::Disconnect => 9,
            Self::CallstackFrame => 10,
        }
    }
}
