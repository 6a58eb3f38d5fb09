//! The kernel that runs a script.
//!
//! The simulator creates and checks scripts, and encodes them as words:
//!
//! | first word | following words | step |
//! |---|---|---|
//! | [`opcode::END`] | | ends the script and closes all open zones |
//! | [`opcode::OPEN`], zone number << 8 | | opens a zone |
//! | [`opcode::CLOSE`] | | closes the most recently opened zone |
//! | [`opcode::DATA`], name number << 8 | value, low half first | records data |
//! | [`opcode::DATA_16B`] | two values, each with its low half first | records 16 bytes of data |
//! | [`opcode::EVENT`], event << 8 | | records an event |
//! | [`opcode::SUM_1`], [`opcode::SUM_2`] | cycles | spends cycles in a sum zone |
//! | [`opcode::SPIN`] | cycles | spends cycles |
//! | [`opcode::QUICK_PUSH`] | | pushes the records made so far |
//! | [`opcode::TRANSFER`], flags << 8, target << 16 | bytes | moves bytes and records a NoC event |
//! | [`opcode::LOCK`], kind << 8 | address, bytes | records a lock event |

use super::body::{Environment, Transfer};
use kernel_profiler::{
    device_record_event, device_timestamped_data, device_timestamped_data_16b, device_zone_scoped,
    device_zone_scoped_sum1, device_zone_scoped_sum2, quick_push, record_noc_event,
    record_noc_event_with_addr, record_noc_event_with_addresses, record_scoped_lock_event,
};

/// Opcodes of the steps. The low byte of a step's first word contains the opcode.
pub mod opcode {
    /// The end of the script.
    pub const END: u32 = 0;
    /// Opens a zone.
    pub const OPEN: u32 = 1;
    /// Closes a zone.
    pub const CLOSE: u32 = 2;
    /// Records 64 bits.
    pub const DATA: u32 = 3;
    /// Records 128 bits.
    pub const DATA_16B: u32 = 4;
    /// Records an event.
    pub const EVENT: u32 = 5;
    /// Adds to the first accumulator.
    pub const SUM_1: u32 = 6;
    /// Adds to the second accumulator.
    pub const SUM_2: u32 = 7;
    /// Spends cycles.
    pub const SPIN: u32 = 8;
    /// Writes the records made so far to DRAM.
    pub const QUICK_PUSH: u32 = 9;
    /// Moves bytes.
    pub const TRANSFER: u32 = 10;
    /// Records a lock event.
    pub const LOCK: u32 = 11;
}

/// Flag of a transfer: set for a write, not set for a read.
pub const IS_WRITE: u32 = 1;
/// Flag of a write: set if it is not acknowledged.
pub const IS_POSTED: u32 = 2;
/// Flag of a transfer: set if its event includes addresses.
pub const HAS_ADDRESSES: u32 = 4;

/// L1 address of a scratch area: the destination of NoC reads and the source of NoC writes.
const SCRATCH: u32 = 0xF_0000;
/// Address in the target tile to which NoC writes go.
const WRITTEN: u32 = 0xF_4000;
/// Address in the target tile from which NoC reads get their data.
const READ: u32 = 0;

/// Runs the script encoded in the kernel's data.
pub fn script<E: Environment>(environment: &mut E) {
    block(environment, 0);
}

/// Runs the steps from word `next` to the end of the zone; returns the index of the next word.
#[inline(never)]
fn block<E: Environment>(environment: &mut E, mut next: u32) -> u32 {
    loop {
        let step = environment.data(next);
        let operand = step >> 8;
        match step & 0xFF {
            opcode::CLOSE => return next + 1,
            opcode::OPEN => next = in_zone(environment, operand, next + 1),
            opcode::DATA => {
                record_data(operand, value_at(environment, next + 1));
                next += 3;
            }
            opcode::DATA_16B => {
                let (first, second) =
                    (value_at(environment, next + 1), value_at(environment, next + 3));
                device_timestamped_data_16b!("SCRIPT-DATA-16B", first, second);
                next += 5;
            }
            opcode::EVENT => {
                device_record_event!((operand & 0xFFFF) as u16);
                next += 1;
            }
            opcode::SUM_1 => {
                device_zone_scoped_sum1!("SCRIPT-SUM-1");
                environment.spin(environment.data(next + 1));
                next += 2;
            }
            opcode::SUM_2 => {
                device_zone_scoped_sum2!("SCRIPT-SUM-2");
                environment.spin(environment.data(next + 1));
                next += 2;
            }
            opcode::SPIN => {
                environment.spin(environment.data(next + 1));
                next += 2;
            }
            opcode::QUICK_PUSH => {
                quick_push();
                next += 1;
            }
            opcode::TRANSFER => {
                transfer(environment, operand, environment.data(next + 1));
                next += 2;
            }
            opcode::LOCK => {
                let [address, bytes] = [1, 2].map(|index| environment.data(next + index));
                if environment.noc().is_some() {
                    record_lock(operand, address, bytes);
                }
                next += 3;
            }
            // The end of the script ends all zones.
            _ => return next,
        }
    }
}

/// Records a transfer and then issues it, as tt-metal's dataflow functions do. Does nothing on a
/// RISC without a NoC.
#[inline(never)]
pub fn transfer<E: Environment>(environment: &mut E, operand: u32, byte_count: u32) {
    let Some(noc) = environment.noc() else { return };
    let tile = environment.tile(operand >> 8);
    let (is_write, is_posted) = (operand & IS_WRITE != 0, operand & IS_POSTED != 0);
    let remote = if is_write { WRITTEN } else { READ };
    let address = u64::from(tile) << 36 | u64::from(remote);
    match (is_write, operand & HAS_ADDRESSES != 0) {
        (true, false) => {
            record_noc_event_with_addr!(Write, SCRATCH, address, byte_count, 1, is_posted, noc);
        }
        (false, false) => {
            record_noc_event_with_addr!(Read, SCRATCH, address, byte_count, -1, false, noc);
        }
        (true, true) => {
            record_noc_event_with_addresses!(
                Write, SCRATCH, address, byte_count, 1, is_posted, noc
            );
        }
        (false, true) => {
            record_noc_event_with_addresses!(Read, SCRATCH, address, byte_count, -1, false, noc);
        }
    }
    let transfer = Transfer { is_write, is_posted, tile, local: SCRATCH, remote, byte_count };
    environment.transfer(&transfer);
    // Records the wait for the transfer as a second event, in modes that record such waits.
    record_noc_event!(FullBarrier, false, noc);
}

/// Records a lock event.
#[inline(never)]
fn record_lock(kind: u32, address: u32, bytes: u32) {
    match kind {
        0 => record_scoped_lock_event!(CbLock, address, bytes),
        1 => record_scoped_lock_event!(CbUnlock, address, bytes),
        2 => record_scoped_lock_event!(MemLock, address, bytes),
        3 => record_scoped_lock_event!(MemUnlock, address, bytes),
        4 => record_scoped_lock_event!(DfbLock, address, bytes),
        5 => record_scoped_lock_event!(DfbUnlock, address, bytes),
        6 => record_scoped_lock_event!(DfbRegionStart, address, bytes),
        _ => record_scoped_lock_event!(DfbRegionClear, address, bytes),
    }
}

fn value_at<E: Environment>(environment: &E, index: u32) -> u64 {
    let [low, high] = [index, index + 1].map(|index| u64::from(environment.data(index)));
    low | high << 32
}

fn record_data(site: u32, value: u64) {
    match site {
        0 => device_timestamped_data!("SCRIPT-DATA-0", value),
        1 => device_timestamped_data!("SCRIPT-DATA-1", value),
        2 => device_timestamped_data!("SCRIPT-DATA-2", value),
        _ => device_timestamped_data!("SCRIPT-DATA-3", value),
    }
}

macro_rules! zone_sites {
    ($site:expr, $body:expr, $($number:pat => $name:literal),+) => {
        match $site {
            $($number => {
                device_zone_scoped!($name);
                $body
            })+
        }
    };
}

fn in_zone<E: Environment>(environment: &mut E, site: u32, next: u32) -> u32 {
    zone_sites!(
        site, block(environment, next),
        0 => "SCRIPT-0",
        1 => "SCRIPT-1",
        2 => "SCRIPT-2",
        3 => "SCRIPT-3",
        4 => "SCRIPT-4",
        5 => "SCRIPT-5",
        6 => "SCRIPT-6",
        _ => "SCRIPT-7"
    )
}
