//! Zone texts of the runtime's own zones.
//!
//! Unlike the texts in macros, these texts are not statics. This crate is linked into both firmware
//! and kernels, and kernels are linked against the firmware's symbols, so that a static would be a
//! duplicate symbol, which is an error. The section flags are the same as for statics.

/// Puts a text into the ELF section of zone texts.
#[cfg(target_arch = "riscv32")]
macro_rules! zone_text {
    ($text:ident) => {
        // SAFETY: nothing but bytes of a section that is not loaded.
        core::arch::global_asm!(
            ".pushsection .kprof_zones, \"a\", @progbits",
            concat!(".asciz \"", crate::names::$text!(), "\""),
            ".popsection",
            options(raw)
        );
    };
}

#[cfg(target_arch = "riscv32")]
zone_text!(quick_push_text);
#[cfg(all(target_arch = "riscv32", any(feature = "debug-dump", feature = "stream")))]
zone_text!(stall_text);
#[cfg(all(target_arch = "riscv32", feature = "accumulate"))]
zone_text!(push_text);
