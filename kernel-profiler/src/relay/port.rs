//! What a gatherer needs of its core: a clock, its L1, and a NoC.

use crate::port::Clock;

/// A core and NoC with which a gatherer works.
///
/// Requests with one id are answered in any order. A port may refuse a request if the NoC accepts none
/// for a long time.
pub trait RelayPort: Clock {
    /// Reads a word of the core's own L1.
    fn load(&mut self, address: u32) -> u32;

    /// Writes a word of the core's own L1.
    fn store(&mut self, address: u32, value: u32);

    /// Requests bytes of another tile; returns false if the NoC does not accept the request.
    fn fetch(&mut self, request: &Request) -> bool;

    /// Writes bytes to another tile, with an acknowledgement; returns false if the NoC does not accept
    /// the request. An outlet is busy while its bytes leave the core.
    ///
    /// Stores to L1 up to [`RelayPort::settle`] are in what is sent.
    fn send(&mut self, outlet: Outlet, request: &Request) -> bool;

    /// Returns true if every request with an id is answered: what was fetched is in L1, what was sent
    /// is where it was sent to.
    fn is_quiet(&mut self, id: u32) -> bool;

    /// Waits until the last store, which was to this address, is in L1, and with it all before.
    fn settle(&mut self, address: u32);

    /// Makes words that others have written visible, if a data cache may be on.
    #[inline(always)]
    fn forget_cached(&mut self) {}
}

/// Ways out of the core, each with a register block of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlet {
    /// To producers.
    Progress,
    /// The first bytes of a frame.
    Frame,
    /// The rest of a long frame, and a filler.
    FrameRest,
}

/// A request to the NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The other tile: column, and row from bit 6 on.
    pub tile: u32,
    /// Address there.
    pub remote: u32,
    /// Address in the core's own L1.
    pub local: u32,
    /// Number of bytes, at most 8192.
    pub byte_count: u32,
    /// Transaction id, below 16.
    pub id: u32,
}
