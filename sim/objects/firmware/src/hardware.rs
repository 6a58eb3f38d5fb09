//! Entry points, registers and memory: all of the firmware's unsafe code.

#![allow(unsafe_code, reason = "entry points, memory-mapped registers and linker symbols")]

use crate::mailbox::{self, SIZE_BYTES};
use core::{arch::naked_asm, panic::PanicInfo, ptr};

/// Firmware variables that the profiler's runtime reads.
#[cfg(feature = "enabled")]
mod profiler {
    use super::{half_word, read, word};
    use crate::mailbox::{
        BANK_COORDINATES, BANK_COUNT, BANK_COUNT_MAX, BANK_OFFSETS, OWN_COORDINATES,
    };

    kernel_profiler::firmware_state!();

    /// Fills the variables of `firmware_state!`; some get the NoCs' counts of acknowledged writes.
    #[inline(always)]
    pub(super) fn boot(risc_index: u32) {
        let bank_count = word(BANK_COUNT);
        set(&raw mut NOC_INDEX, 0, u8::from(risc_index == 1));
        for noc in 0..2 {
            let [x, y] = half_word(OWN_COORDINATES + 2 * noc).to_le_bytes();
            set((&raw mut MY_X).cast(), noc, x);
            set((&raw mut MY_Y).cast(), noc, y);
            let row = BANK_COORDINATES + 2 * BANK_COUNT_MAX * noc;
            let table = (&raw mut DRAM_BANK_TO_NOC_XY).cast();
            for bank in 0..bank_count {
                set(table, noc * bank_count + bank, half_word(row + 2 * bank));
            }
            let received = read(NOC_REGISTERS + noc * NOC_STRIDE + STATUS_WRITE_ACKS_RECEIVED);
            set((&raw mut NOC_WRITES_ACKED).cast(), noc, received);
        }
        for bank in 0..bank_count {
            set((&raw mut BANK_TO_DRAM_OFFSET).cast(), bank, word(BANK_OFFSETS + 4 * bank));
        }
    }

    /// Writes an element of a firmware variable.
    #[inline(always)]
    fn set<T>(variable: *mut T, index: u32, value: T) {
        // SAFETY: the variable belongs to this RISC and has room for all entries that callers fill.
        // No probe has read it yet, and nobody holds a reference to it.
        unsafe { variable.wrapping_add(index as usize).write_volatile(value) }
    }

    const NOC_REGISTERS: u32 = 0xFFB2_0000;
    const NOC_STRIDE: u32 = 0x1_0000;
    const STATUS_WRITE_ACKS_RECEIVED: u32 = 0x200 + 4;
}

unsafe extern "C" {
    static mut __mailbox: [u8; SIZE_BYTES as usize];
    static __ncrisc_base: [u32; 0];
    static __trisc0_base: [u32; 0];
    static __trisc1_base: [u32; 0];
    static __trisc2_base: [u32; 0];
}

/// Waits until the byte at `address` is `value`.
///
/// The simulator recognises this loop of two instructions: a RISC that executes it is idle.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn __wait_for_byte(address: u32, value: u32) {
    naked_asm!("2: lbu t0, 0(a0)", "bne t0, a1, 2b", "ret")
}

/// Defines an entry point, which sets up the stack, zeroes the variables and jumps to Rust code.
macro_rules! entry {
    ($symbol:ident, $section:literal, $main:path) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = $section)]
        extern "C" fn $symbol() -> ! {
            extern "C" fn main() -> ! {
                $main()
            }
            naked_asm!(
                ".option push",
                ".option norelax",
                "la gp, __global_pointer$",
                ".option pop",
                "la sp, __stack_top",
                "la t0, __bss_start",
                "la t1, __bss_end",
                "2: bgeu t0, t1, 3f",
                "sw zero, 0(t0)",
                "addi t0, t0, 4",
                "j 2b",
                "3: tail {main}",
                main = sym main,
            )
        }
    };
}

entry!(__brisc_entry, ".text.entry.brisc", crate::brisc);
entry!(__ncrisc_entry, ".text.entry.ncrisc", crate::ncrisc);
entry!(__trisc0_entry, ".text.entry.trisc0", trisc0);
entry!(__trisc1_entry, ".text.entry.trisc1", trisc1);
entry!(__trisc2_entry, ".text.entry.trisc2", trisc2);
entry!(__erisc_entry, ".text.entry.erisc", crate::erisc);
entry!(__idle_erisc_entry, ".text.entry.idle_erisc", crate::idle_erisc);

fn trisc0() -> ! {
    crate::trisc(2)
}

fn trisc1() -> ! {
    crate::trisc(3)
}

fn trisc2() -> ! {
    crate::trisc(4)
}

/// Boots the RISC with this index.
#[inline(always)]
pub(crate) fn boot(risc_index: u32) {
    #[cfg(feature = "enabled")]
    profiler::boot(risc_index);
    #[cfg(not(feature = "enabled"))]
    let _ = risc_index;
}

/// Sets the entry points of the subordinate RISCs of a Tensix core, and releases these RISCs from
/// reset.
pub(crate) fn release_subordinates() {
    let triscs = [&raw const __trisc0_base, &raw const __trisc1_base, &raw const __trisc2_base];
    for (register, base) in (TRISC_RESET_PC..).step_by(4).zip(triscs) {
        write(register, base.addr() as u32);
    }
    write(TRISC_RESET_PC_OVERRIDE, 0b111);
    write(NCRISC_RESET_PC, (&raw const __ncrisc_base).addr() as u32);
    write(NCRISC_RESET_PC_OVERRIDE, 1);
    write(SOFT_RESET, 0);
}

/// Empties the instruction caches of all RISCs of a Tensix core, because the host may have written
/// other kernels.
pub(crate) fn empty_instruction_caches() {
    write(INSTRUCTION_CACHES, ALL_CACHES);
}

/// Waits for a number of cycles of the tile's clock.
pub(crate) fn spin(cycles: u32) {
    let start = read(WALL_CLOCK_LOW);
    while read(WALL_CLOCK_LOW).wrapping_sub(start) < cycles {}
}

/// Calls the kernel of a RISC, with the launch message and the RISC's index as arguments.
#[inline(always)]
pub(crate) fn call_kernel(risc: u32) {
    let entry = word(mailbox::ENTRIES + 4 * risc);
    let entry = ptr::with_exposed_provenance::<()>(entry as usize);
    // SAFETY: the dispatcher has written the kernel's code and its entry before GO; a
    // kernel is a function of this type.
    let entry = unsafe { core::mem::transmute::<*const (), extern "C" fn(*const u32, u32)>(entry) };
    entry(mailbox_at(mailbox::LAUNCH_INDEX).cast(), risc);
}

/// Returns a word of the mailbox.
#[inline(always)]
pub(crate) fn word(offset: u32) -> u32 {
    // SAFETY: callers pass offsets of words within the mailbox, which is aligned. The read is
    // volatile, because the host and other RISCs write to the mailbox.
    unsafe { mailbox_at(offset).cast::<u32>().read_volatile() }
}

/// Returns a half word of the mailbox.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn half_word(offset: u32) -> u16 {
    // SAFETY: as in `word`.
    unsafe { mailbox_at(offset).cast::<u16>().read_volatile() }
}

/// Writes a byte of the mailbox.
#[inline(always)]
pub(crate) fn set_byte(offset: u32, value: u8) {
    // SAFETY: callers pass offsets within the mailbox, to which nobody holds references.
    unsafe { mailbox_at(offset).write_volatile(value) }
}

/// Waits until a byte of the mailbox has a value.
#[inline(always)]
pub(crate) fn wait_for_byte(offset: u32, value: u8) {
    __wait_for_byte(mailbox_at(offset).addr() as u32, u32::from(value));
}

#[inline(always)]
fn mailbox_at(offset: u32) -> *mut u8 {
    (&raw mut __mailbox).cast::<u8>().wrapping_add(offset as usize)
}

#[inline(always)]
fn read(register: u32) -> u32 {
    // SAFETY: this module names only registers that exist and may be read.
    unsafe { ptr::with_exposed_provenance::<u32>(register as usize).read_volatile() }
}

#[inline(always)]
fn write(register: u32, value: u32) {
    // SAFETY: this module names only registers that exist and may be written; none of them
    // changes memory.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(register as usize).write_volatile(value) }
}

/// Stops the core with `ebreak`, which a debugger reports. `no_std` code must have such a function.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the core.
        unsafe { core::arch::asm!("ebreak") };
    }
}

const WALL_CLOCK_LOW: u32 = 0xFFB1_21F0;
const SOFT_RESET: u32 = 0xFFB1_21B0;

/// Address of the first of six registers. They contain the reset addresses of the TRISCs and of
/// NCRISC, and the bits that enable these addresses.
///
/// These are configuration registers on a Wormhole, and debug registers on a Blackhole.
///
/// # Compatibility
/// `cfg_defines.h` (`TRISC_RESET_PC_SEC0_PC_ADDR32` 158 and the next constants) and `tensix.h`.
const TRISC_RESET_PC: u32 =
    if cfg!(feature = "blackhole") { 0xFFB1_2228 } else { configuration(158) };
const TRISC_RESET_PC_OVERRIDE: u32 = TRISC_RESET_PC + 12;
const NCRISC_RESET_PC: u32 = TRISC_RESET_PC + 16;
const NCRISC_RESET_PC_OVERRIDE: u32 = TRISC_RESET_PC + 20;

/// Register that empties instruction caches, with a bit for each RISC.
///
/// # Compatibility
/// `cfg_defines.h`: `RISCV_IC_INVALIDATE_InvalidateAll_ADDR32`.
const INSTRUCTION_CACHES: u32 = configuration(if cfg!(feature = "blackhole") { 185 } else { 157 });
const ALL_CACHES: u32 = 0x1F;

/// Returns the address of a configuration register.
const fn configuration(index: u32) -> u32 {
    0xFFEF_0000 + 4 * index
}
