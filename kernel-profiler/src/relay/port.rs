//! Hardware interface of a gatherer: a clock, the core's L1, and a NoC.

use crate::port::Clock;

/// The core and NoC on which a gatherer runs.
///
/// Requests with one id are answered in any order. A port may refuse a request if the NoC accepts none
/// for a long time.
pub trait RelayPort: Clock {
    /// Reads a word of the core's own L1.
    fn load(&mut self, address: u32) -> u32;

    /// Writes a word of the core's own L1.
    fn store(&mut self, address: u32, value: u32);

    /// Requests bytes from another tile; returns false if the NoC does not accept the request.
    fn fetch(&mut self, request: &Request) -> bool;

    /// Writes bytes to another tile, with an acknowledgement; returns false if the NoC does not accept
    /// the request. An outlet is busy while its bytes leave the core.
    ///
    /// The data sent includes every store to L1 before the last [`RelayPort::settle`].
    fn send(&mut self, outlet: Outlet, request: &Request) -> bool;

    /// Returns true if every request with an id is answered: fetched data is in L1, and sent data
    /// has reached its target.
    fn is_quiet(&mut self, id: u32) -> bool;

    /// Waits until the last store, which was to this address, and all earlier stores are in L1.
    fn settle(&mut self, address: u32);

    /// Makes words written by other RISCs, the NoC or the host visible, if a data cache may be on.
    #[inline(always)]
    fn forget_cached(&mut self) {}
}

/// Command buffers for writes, each with its own registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlet {
    /// Reports of progress to producers.
    Progress,
    /// The first bytes of a frame.
    Frame,
    /// The rest of a long frame, and a filler.
    FrameRest,
}

/// A request to the NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The other tile, as the words in [`wire::relay::setup`] name it.
    pub tile: u32,
    /// Address in that tile.
    pub remote: u32,
    /// Address in the core's own L1.
    pub local: u32,
    /// Number of bytes, at most 8192.
    pub byte_count: u32,
    /// Transaction id, below 16.
    pub id: u32,
}
