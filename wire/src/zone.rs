//! Zone ids: 16-bit hashes of a zone's name and source location.
//!
//! The text that is hashed is `name,file,line,KERNEL_PROFILER`. Two texts can have the same id.
//! Such a collision is detected when names are collected, and never stops a reader.
//!
//! # Compatibility
//! `kernel_profiler.hpp` and `profiler.cpp`: 32-bit FNV-1a, folded by XOR of its halves. Bytes are
//! unsigned, as on the device. TT-Metal's x86 host treats bytes as signed, so it does not find
//! names that contain bytes above 0x7F.

/// The last field of every zone text.
pub const ZONE_TAG: &str = "KERNEL_PROFILER";

/// A 16-bit marker id: the hash of a zone's text, or one of the reserved numbers below.
///
/// ```
/// use wire::ZoneId;
/// const ID: ZoneId = ZoneId::from_text("A,/k/k.cpp,10,KERNEL_PROFILER");
/// assert_eq!(ID, ZoneId(0xB765));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ZoneId(pub u16);

impl ZoneId {
    /// Id of NoC events (`NOC_TRACING_STATIC_ID`).
    pub const NOC_TRACING: Self = Self(12345);
    /// Id of NoC debugging events (`NOC_DEBUGGING_STATIC_ID`).
    pub const NOC_DEBUGGING: Self = Self(23456);
    /// Id of hardware counter records.
    pub const PERF_COUNTER: Self = Self(9090);

    /// Returns the id of a zone text. In a constant, the id is computed at compile time.
    #[must_use]
    pub const fn from_text(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }

    /// Returns the id of a zone text that need not be valid UTF-8.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "folding keeps the low half")]
    pub const fn from_bytes(text: &[u8]) -> Self {
        let hash = fnv1a(text);
        Self((hash ^ (hash >> 16)) as u16)
    }

    /// Returns true if the id has a fixed meaning and is not the hash of a text.
    #[must_use]
    pub const fn is_reserved(self) -> bool {
        matches!(self, Self::NOC_TRACING | Self::NOC_DEBUGGING | Self::PERF_COUNTER)
    }
}

/// Returns the 32-bit FNV-1a hash of `bytes`.
const fn fnv1a(bytes: &[u8]) -> u32 {
    let mut hash: u32 = 0x811C_9DC5;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_upstreams_hash() {
        assert_eq!(fnv1a(b""), 0x811C_9DC5);
        assert_eq!(fnv1a(b"a"), 0xE40C_292C);
        for (text, id) in [
            ("", 0x1CD9),
            ("a", 0xCD20),
            ("BRISC-FW,/tt/brisc.cc,418,KERNEL_PROFILER", 0xFC0D),
            ("BRISC-KERNEL,/tt/brisck.cc,74,KERNEL_PROFILER", 0xE427),
            ("B,/k/k.cpp,12,KERNEL_PROFILER", 0x9272),
            ("D,/k/k.cpp,13,KERNEL_PROFILER", 0x988E),
        ] {
            assert_eq!(ZoneId::from_text(text), ZoneId(id), "{text}");
        }
    }

    #[test]
    fn a_real_capture_has_the_ids_that_its_texts_hash_to() {
        // The first two zones of a Wormhole log of TT-Metal 0.74.
        let folder = "/home/nbrown23/tt-metal-0.74/tt-metal/tt_metal/hw/firmware/src/tt-1xx";
        let mut text = [0_u8; 160];
        for (name, file, line, id) in
            [("BRISC-FW", "brisc.cc", "433", 30530), ("BRISC-KERNEL", "brisck.cc", "77", 30604)]
        {
            let parts = [name, ",", folder, "/", file, ",", line, ",", ZONE_TAG];
            let mut len = 0;
            for part in parts {
                text[len..len + part.len()].copy_from_slice(part.as_bytes());
                len += part.len();
            }
            assert_eq!(ZoneId::from_bytes(&text[..len]), ZoneId(id), "{name}");
        }
    }
}
