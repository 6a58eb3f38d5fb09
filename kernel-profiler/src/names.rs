//! Zone texts: how ids are computed from them, and how they are stored for the host.
//!
//! A zone's text is `name,file,line,KERNEL_PROFILER`. The zone's id is computed from the text at
//! compile time; the text itself is never loaded to a core.
//!
//! # Kernels for a Tensix core
//!
//! Every macro puts its text, followed by a NUL, into the ELF section [`SECTION`]. If this section
//! were loaded, it would take space in L1. The linker script must therefore contain these lines:
//!
//! ```text
//! SECTIONS {
//!   .kprof_zones 0 (INFO) : { KEEP(*(.kprof_zones)) }
//! }
//! ```
//!
//! `(INFO)` removes the section's allocation flag, so the texts stay in the file and are never
//! loaded. A host reads the texts from the kernel's ELF file. No code refers to the texts, so they
//! need no relocation. The texts of a library crate have global symbols. If such a library is
//! linked both into the firmware and into kernels that link against the firmware's symbols, keep
//! only those global symbols of the firmware that kernels need (`objcopy --keep-global-symbol`).
//!
//! The texts of C++ kernels are never loaded, whatever the linker script says. The texts of the
//! Rust runtime's own zones need the linker script above.
//!
//! # Native kernels
//!
//! With the feature `hosted`, every call site registers its text when it is first reached; see
//! `hosted::registered_zones`.

use wire::ZoneId;

/// The ELF section that contains the zone texts.
pub const SECTION: &str = ".kprof_zones";

/// Returns the id of a zone, computed from the zone's text.
///
/// # Panics
/// If the id is 0, because the zone's start could then look like padding, or if the format reserves
/// the id. In the macros this is a compile-time error; use another line or another name.
#[must_use]
pub const fn zone_id(text: &str) -> u16 {
    let id = ZoneId::from_text(text);
    assert!(id.0 != 0, "the id of this zone is 0, as of padding: rename it or move its line");
    assert!(!id.is_reserved(), "the id of this zone is reserved: rename it or move its line");
    id.0
}

/// Returns true if `name` ends in `FW` (if `is_main` is true) or in `KERNEL` (if it is false), like
/// the zone names "BRISC-FW" and "BRISC-KERNEL".
///
/// Only zones with such names use the fixed slots.
#[must_use]
pub const fn is_of_launch(name: &str, is_main: bool) -> bool {
    let ending = if is_main { b"FW".as_slice() } else { b"KERNEL".as_slice() };
    let name = name.as_bytes();
    let Some(before) = name.len().checked_sub(ending.len()) else { return false };
    let mut index = 0;
    while index < ending.len() {
        if name[before + index] != ending[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Text of the zone that the runtime itself records around a push within a launch. The text is
/// constant, so that the zone has the same id in every build.
macro_rules! quick_push_text {
    () => {
        "PROFILER-NOC-QUICK-PUSH,kernel-profiler/src/flush.rs,1,KERNEL_PROFILER"
    };
}

/// Text of the zone that shows a wait for the host. The text is constant, so that the zone's id is
/// the same in every build.
macro_rules! stall_text {
    () => {
        "PROFILER-DRAM-STALL,kernel-profiler/src/stall.rs,1,KERNEL_PROFILER"
    };
}

/// Text of the zone that shows a push in accumulate mode. The text is constant, so that the zone's
/// id is the same in every build.
macro_rules! push_text {
    () => {
        "PROFILER-DRAM-PUSH,kernel-profiler/src/accumulate.rs,1,KERNEL_PROFILER"
    };
}

#[cfg(all(feature = "accumulate", target_arch = "riscv32"))]
pub(crate) use push_text;
#[cfg(all(feature = "enabled", target_arch = "riscv32"))]
pub(crate) use quick_push_text;
#[cfg(all(any(feature = "debug-dump", feature = "stream"), target_arch = "riscv32"))]
pub(crate) use stall_text;

/// Text of the zone that shows the cost of a push within a launch.
pub const QUICK_PUSH: &str = quick_push_text!();

/// Text of the zone in which a RISC waits for the host, either in the debug dump or while records
/// are streamed.
pub const STALL: &str = stall_text!();

/// Text of the zone that shows the cost of a push in accumulate mode.
///
/// # Compatibility
/// The zone's name is the one in `kernel_profiler.hpp`.
pub const PUSH: &str = push_text!();

#[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
pub(crate) static PUSH_SITE: crate::hosted::Site = crate::hosted::Site::new(PUSH);

#[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
pub(crate) static STALL_SITE: crate::hosted::Site = crate::hosted::Site::new(STALL);

#[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
pub(crate) static QUICK_PUSH_SITE: crate::hosted::Site = crate::hosted::Site::new(QUICK_PUSH);

/// Returns a text followed by a NUL, for the ELF section.
///
/// # Panics
/// If `N` is not the length of the text plus one.
#[doc(hidden)]
#[must_use]
pub const fn section_bytes<const N: usize>(text: &str) -> [u8; N] {
    assert!(N == text.len() + 1);
    let mut bytes = [0; N];
    let mut i = 0;
    while i < text.len() {
        bytes[i] = text.as_bytes()[i];
        i += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_formats() {
        assert_eq!(zone_id("A,/k/k.cpp,10,KERNEL_PROFILER"), 0xB765);
    }

    #[test]
    #[should_panic(expected = "reserved")]
    fn a_reserved_id_is_refused() {
        let text =
            (0..).map(|n| std::format!("{n}")).find(|text| ZoneId::from_text(text).is_reserved());
        let _ = zone_id(&text.unwrap());
    }

    #[test]
    #[should_panic(expected = "padding")]
    fn an_id_of_zero_is_refused() {
        let text =
            (0..).map(|n| std::format!("{n}")).find(|text| ZoneId::from_text(text) == ZoneId(0));
        let _ = zone_id(&text.unwrap());
    }

    #[test]
    fn texts_end_with_a_nul() {
        assert_eq!(section_bytes::<4>("abc"), *b"abc\0");
    }
}
