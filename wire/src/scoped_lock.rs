//! Lock events: 64 bits that record when a kernel locks or unlocks memory of its tile.
//!
//! A lock event is timestamped data under the id
//! [`ZoneId::NOC_DEBUGGING`](crate::ZoneId::NOC_DEBUGGING).
//!
//! | bits | |
//! |---|---|
//! | 0..8 | kind |
//! | 8..32 | first address |
//! | 32..56 | bytes |
//! | 56..64 | 0 |
//!
//! # Compatibility
//! `noc_debugging_metadata.hpp` of tt-metal 0.81.

crate::labelled! {
    /// Kind of a lock event, in the order of the kind numbers, from 0. Labels are TT-Metal's names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum LockEventKind {
        /// Pages of a circular buffer are locked.
        CbLock = "CB_LOCK",
        /// Pages of a circular buffer are unlocked.
        CbUnlock = "CB_UNLOCK",
        /// A range of memory is locked.
        MemLock = "MEM_LOCK",
        /// A range of memory is unlocked.
        MemUnlock = "MEM_UNLOCK",
        /// Pages of a dataflow buffer are locked.
        DfbLock = "DFB_LOCK",
        /// Pages of a dataflow buffer are unlocked.
        DfbUnlock = "DFB_UNLOCK",
        /// A dataflow buffer begins to own a range of memory.
        DfbRegionStart = "DFB_REGION_START",
        /// All memory ranges that dataflow buffers of the RISC own are released.
        DfbRegionClear = "DFB_REGION_CLEAR",
    }
}

impl LockEventKind {
    /// Returns the kind that unlocks what this kind locks; `None` if this kind locks nothing.
    #[must_use]
    pub const fn unlock(self) -> Option<Self> {
        match self {
            Self::CbLock => Some(Self::CbUnlock),
            Self::MemLock => Some(Self::MemUnlock),
            Self::DfbLock => Some(Self::DfbUnlock),
            _ => None,
        }
    }
}

/// A lock event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockEvent {
    /// Kind of the event.
    pub kind: LockEventKind,
    /// First address in L1.
    pub address: u32,
    /// Size in bytes.
    pub byte_count: u32,
}

impl LockEvent {
    /// Packs the event. Numbers above [`FIELD_MAX`] are recorded as [`FIELD_MAX`].
    ///
    /// ```
    /// use wire::scoped_lock::{LockEvent, LockEventKind};
    /// let event = LockEvent { kind: LockEventKind::MemUnlock, address: 0x2_0000, byte_count: 64 };
    /// assert_eq!(event.pack(), 0x0000_0040_0200_0003);
    /// assert_eq!(LockEvent::unpack(event.pack()), Some(event));
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn pack(self) -> u64 {
        const fn field(value: u32) -> u64 {
            (if value > FIELD_MAX { FIELD_MAX } else { value }) as u64
        }
        self.kind as u64 | field(self.address) << 8 | field(self.byte_count) << 32
    }

    /// Unpacks an event; `None` if its kind is unknown. The upper eight bits are ignored.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "fields have 24 bits")]
    pub const fn unpack(bits: u64) -> Option<Self> {
        let number = (bits & 0xFF) as usize;
        if number >= LockEventKind::ALL.len() {
            return None;
        }
        let address = (bits >> 8) as u32 & FIELD_MAX;
        let byte_count = (bits >> 32) as u32 & FIELD_MAX;
        Some(Self { kind: LockEventKind::ALL[number], address, byte_count })
    }
}

/// Maximum address or size in an event; greater numbers are recorded as this value.
pub const FIELD_MAX: u32 = (1 << 24) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_upstreams_and_fields_do_not_overflow() {
        for (number, kind) in (0_u64..).zip(LockEventKind::ALL) {
            let event = LockEvent { kind, address: u32::MAX, byte_count: 1 << 24 };
            assert_eq!(event.pack(), 0x00FF_FFFF_FFFF_FF00 | number);
            let event = LockEvent { kind, address: 0, byte_count: FIELD_MAX - 1 };
            assert_eq!(event.pack(), 0x00FF_FFFE_0000_0000 | number);
        }
        assert_eq!(LockEvent::unpack(8), None);
        assert_eq!(LockEvent::unpack(0xFF), None);
        let padded = LockEvent::unpack(0xAB00_0000_0000_0107).unwrap();
        assert_eq!((padded.kind, padded.address), (LockEventKind::DfbRegionClear, 1));
    }
}
