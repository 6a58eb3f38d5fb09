//! Commands of the command queue, and the dispatcher's records of each command.
//!
//! # Compatibility
//! `cq_commands.hpp` of 0.81.1.

use super::definitions::STREAM;

/// A command of the dispatcher or its subordinate, with its payload.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) bytes: Vec<u8>,
    /// Data recorded after the command's number: name, value.
    pub(super) detail: Option<(&'static str, u64)>,
}

impl Command {
    /// Returns the command's number.
    pub(super) fn id(&self) -> u64 {
        self.bytes[0].into()
    }
}

/// Returns the bytes padded to a size.
fn padded(mut bytes: Vec<u8>, to: usize) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(to), 0);
    bytes
}

fn plain(bytes: Vec<u8>) -> Command {
    Command { bytes: padded(bytes, COMMAND_BYTES), detail: None }
}

fn fields(head: [u8; 4], words: &[u32]) -> Vec<u8> {
    head.into_iter().chain(words.iter().flat_map(|word| word.to_le_bytes())).collect()
}

/// Returns a command that writes bytes to the same address of one or several tiles.
pub(super) fn write_linear(xy: u32, dests: u8, address: u32, data: &[u8]) -> Command {
    let length = u32::try_from(data.len()).unwrap();
    let bytes = fields([1, dests, 0, 0], &[xy, address, 0, length, 0]);
    plain([padded(bytes, 2 * COMMAND_BYTES), data.to_vec()].concat())
}

/// Returns a command that writes consecutive pages of 64 bytes to the banks of DRAM, round robin.
pub(super) fn write_paged(address: u32, data: &[u8]) -> Command {
    let page_count = u32::try_from(data.len() / PAGED_BYTES as usize).unwrap();
    let bytes = fields([4, 1, 0, 0], &[address, PAGED_BYTES, page_count]);
    plain([padded(bytes, COMMAND_BYTES), data.to_vec()].concat())
}

/// Returns a command that sends bytes to the host, including the command itself.
pub(super) fn write_host(is_event: bool, data: &[u8]) -> Command {
    let length = u32::try_from(COMMAND_BYTES + data.len()).unwrap();
    let bytes = fields([3, u8::from(is_event), 0, 0], &[0, length, 0]);
    plain([padded(bytes, COMMAND_BYTES), data.to_vec()].concat())
}

/// Returns a command that sets the program of the next commands, and the offsets to add to
/// addresses.
pub(super) fn set_write_offset(program: u16, offsets: &[u32]) -> Command {
    let [low, high] = program.to_le_bytes();
    let head = fields([12, u8::try_from(offsets.len()).unwrap(), low, high], &[]);
    let offsets = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect::<Vec<u8>>();
    let bytes = [padded(head, COMMAND_BYTES), offsets].concat();
    let detail = Some(("runtime_host_id_dispatch", u64::from(program)));
    Command { detail, ..plain(bytes) }
}

/// Returns a command that waits until workers have finished `worker_count` times. If `worker_count`
/// is `None`, the command only waits until all writes have arrived.
pub(super) fn wait(worker_count: Option<u32>) -> Command {
    let flags = 1 | if worker_count.is_some() { 0x10 } else { 0 };
    let [low, high, ..] = STREAM.to_le_bytes();
    plain(fields([7, flags, low, high], &[0, worker_count.unwrap_or(0)]))
}

/// Type of packed writes.
#[derive(Clone, Copy)]
pub(super) enum Packed {
    Arguments = 1,
    Launch = 2,
}

/// Returns a command that writes blocks of the same length to the same address of several tiles,
/// one block per tile.
pub(super) fn write_packed(sort: Packed, xys: &[u32], address: u32, data: &[Vec<u8>]) -> Command {
    packed(sort, false, xys, address, data)
}

/// Returns a command that writes the same bytes to a rectangle of tiles.
pub(super) fn multicast_packed(
    sort: Packed,
    (xy, dests): (u32, u32),
    address: u32,
    data: Vec<u8>,
) -> Command {
    packed(sort, true, &[xy, dests], address, &[data])
}

fn packed(
    sort: Packed,
    is_multicast: bool,
    targets: &[u32],
    address: u32,
    data: &[Vec<u8>],
) -> Command {
    let flags = (sort as u8) << 4 | u8::from(is_multicast);
    let [low, high] = u16::try_from(data.len()).unwrap().to_le_bytes();
    let size = u32::try_from(data[0].len()).unwrap();
    let head = fields([5, flags, low, high], &[size << 16, address]);
    let targets = targets.iter().flat_map(|target| target.to_le_bytes()).collect();
    let head = padded([padded(head, COMMAND_BYTES), targets].concat(), ALIGN_BYTES as usize);
    let data = data.iter().flat_map(|one| padded(one.clone(), ALIGN_BYTES as usize)).collect();
    let value = u64::from(sort as u8) << 1 | u64::from(is_multicast);
    Command { detail: Some(("packed_data_dispatch", value)), ..plain([head, data].concat()) }
}

/// Type of large packed writes.
#[derive(Clone, Copy)]
pub(super) enum Large {
    Configuration = 1,
    Binaries = 2,
}

/// Returns a command that writes several blocks to a rectangle of tiles, as one linked transaction.
pub(super) fn write_packed_large(
    sort: Large,
    (xy, dests): (u32, u8),
    offset_index: u32,
    blocks: &[(u32, Vec<u8>)],
) -> Command {
    let [low, high] = u16::try_from(blocks.len()).unwrap().to_le_bytes();
    let head = fields([6, sort as u8, low, high], &[offset_index << 16 | ALIGN_BYTES]);
    let mut bytes = padded(head, COMMAND_BYTES);
    for (index, (address, data)) in blocks.iter().enumerate() {
        let [low, high] = u16::try_from(data.len() - 1).unwrap().to_le_bytes();
        let is_last = u8::from(index + 1 == blocks.len());
        bytes.extend(xy.to_le_bytes().into_iter().chain(address.to_le_bytes()));
        bytes.extend([low, high, dests, is_last]);
    }
    bytes = padded(bytes, ALIGN_BYTES as usize);
    for (_, data) in blocks {
        bytes.extend(padded(data.clone(), ALIGN_BYTES as usize));
    }
    Command { detail: Some(("packed_large_data_dispatch", sort as u64)), ..plain(bytes) }
}

/// Returns a command that makes the subordinate send the next GO message after all writes have
/// arrived.
pub(super) fn notify_subordinate() -> Command {
    plain(fields([15, 1, 1, 0], &[0]))
}

/// Returns a command that sends a GO message to all workers after they have finished `worker_count`
/// times.
pub(super) fn send_go(signal: u32, worker_count: u32) -> Command {
    plain(fields([14, 0, 0, 0], &[signal, worker_count, STREAM]))
}

pub(super) fn set_worker_semaphores(count: u32) -> Command {
    plain(fields([16, 0, 0, 0], &[count]))
}

pub(super) fn terminate() -> Command {
    plain(vec![13])
}

/// Returns a prefetcher command that forwards another command, to the subordinate if
/// `is_subordinate`.
pub(super) fn relayed(command: &Command, is_subordinate: bool) -> Vec<u8> {
    let length = u32::try_from(command.bytes.len()).unwrap();
    let size = (COMMAND_BYTES + command.bytes.len()).next_multiple_of(FETCH_BYTES);
    let stride = u32::try_from(size).unwrap();
    let head = fields([5, u8::from(is_subordinate), 0, 0], &[length, stride]);
    padded([padded(head, COMMAND_BYTES), command.bytes.clone()].concat(), FETCH_BYTES)
}

/// Returns the prefetcher's last command.
pub(super) fn prefetch_terminate() -> Vec<u8> {
    padded(vec![11], FETCH_BYTES)
}

const COMMAND_BYTES: usize = 16;
const ALIGN_BYTES: u32 = 16;
pub(super) const PAGED_BYTES: u32 = 64;
/// Alignment of DRAM reads that is valid on both chips.
const FETCH_BYTES: usize = 64;
