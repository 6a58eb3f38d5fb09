//! Hardware interface of a gatherer: a clock, its core's L1, and a NoC.

use crate::port::Clock;

/// Hardware that a gatherer uses: its core and its NoC.
///
/// Requests with the same transaction id may be answered in any order. A port may refuse a request
/// if the NoC has not accepted any request for a long time.
pub trait RelayPort: Clock {
    /// Reads a word of the core's own L1.
    fn load(&mut self, address: u32) -> u32;

    /// Writes a word of the core's own L1.
    fn store(&mut self, address: u32, value: u32);

    /// Requests bytes from another tile; returns false if the NoC does not accept the request.
    fn fetch(&mut self, request: &Request) -> bool;

    /// Writes bytes to another tile, with an acknowledgement; returns false if the NoC does not
    /// accept the request. An outlet is busy until its bytes have left the core.
    ///
    /// The sent data includes every store to L1 that precedes the last [`RelayPort::settle`].
    fn send(&mut self, outlet: Outlet, request: &Request) -> bool;

    /// Returns true if every request with the transaction id `id` has been answered: fetched data
    /// is in L1, and sent data has reached its target.
    fn is_quiet(&mut self, id: u32) -> bool;

    /// Waits until all stores so far are in L1. `address` is the address of the last store.
    fn settle(&mut self, address: u32);

    /// Makes writes by other RISCs, the NoC and the host visible to this RISC, in case its data
    /// cache is on.
    #[inline(always)]
    fn forget_cached(&mut self) {}
}

/// Command buffers for writes; each has its own registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlet {
    /// Command buffer for reports of progress to producers.
    Progress,
    /// Command buffer for the first bytes of a frame.
    Frame,
    /// Command buffer for the rest of a long frame, and for fillers.
    FrameRest,
}

/// A request to a NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Coordinates of the other tile, in the format of [`wire::relay::setup`].
    pub tile: u32,
    /// Address in the memory of the other tile.
    pub remote: u32,
    /// Address in the L1 of the gatherer's core.
    pub local: u32,
    /// Number of bytes, at most 8192.
    pub byte_count: u32,
    /// Transaction id, below 16.
    pub id: u32,
}
