//! L1 words that the base firmware of an Ethernet tile without a connected link has written by the
//! time a host opens the chip.
//!
//! # Compatibility
//! tt-umd, `wormhole_device_firmware.cpp` and `blackhole_device_firmware.cpp`: the words that a
//! host waits for. tt-metal's Ethernet firmware calls base firmware functions through a table.

use crate::arch::Arch;

/// Returns L1 addresses and the words that the firmware has written there.
pub(super) const fn base_firmware(arch: Arch) -> &'static [(u32, u32)] {
    match arch {
        Arch::WormholeB0 => &[
            // Version 6.14.0; no link; a function table with one function, which returns at once.
            (0x210, 6 << 16 | 14 << 12),
            (0x1104, 3),
            (0x9020, 0x440),
            (0x440, RETURN),
        ],
        Arch::Blackhole => &[
            (0x7_CF00, 0x7_1574),
            (0x7_1574, RETURN),
            (0x7_CF04, 0x7_59AC),
            (0x7_59AC, RETURN),
            (0x7_CF08, 0x7_5414),
            (0x7_5414, RETURN),
            // Version 1.6.0; initialised; the port is down.
            (0x7_CFBC, 1 << 16 | 6 << 8),
            (0x7_CC00, 0xC0DE_A000),
            (0x7_CC04, 2),
        ],
    }
}

/// Encoding of the instruction `ret`.
const RETURN: u32 = 0x8067;
