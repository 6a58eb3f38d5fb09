//! Entry points, registers and memory: all of the firmware's unsafe code.

#![allow(unsafe_code, reason = "entry points, memory-mapped registers and linker symbols")]

use crate::mailbox::{self, SIZE_BYTES};
use core::{arch::naked_asm, panic::PanicInfo, ptr};

/// The firmware's variables that the profiler's runtime asks for.
#[cfg(feature = "enabled")]
mod profiler {
    use super::{read, word};
    use crate::mailbox::{BANK_COUNT_MAX, RISC_COUNT};
    use core::mem::offset_of;
    use kernel_profiler::tensix::Tile;

    kernel_profiler::firmware_state!();

    static mut WRITES_ISSUED: u32 = 0;
    static mut WRITES_ACKED: u32 = 0;

    /// Fills what the runtime reads, and takes over the NoC's count of acknowledgements.
    #[inline(always)]
    pub(super) fn boot(risc_index: u32) {
        let tile = &raw mut __kprof_tile;
        let words = tile.cast::<u32>();
        for index in 0..WORDS_OF_CORE {
            let place = words.wrapping_add(1 + index as usize);
            // SAFETY: a word of this RISC's own variable, before the first probe reads it.
            unsafe { place.write_volatile(word(RISC_COUNT + 4 * index)) };
        }
        // SAFETY: as above.
        let tile = unsafe { &mut *tile };
        tile.risc_index = risc_index;
        if risc_index == 1 {
            tile.noc += NOC_STRIDE;
            tile.command_buffer += NOC_STRIDE;
            tile.bank_coordinates += 2 * BANK_COUNT_MAX;
        }
        tile.writes_issued = &raw mut WRITES_ISSUED;
        tile.writes_acked = &raw mut WRITES_ACKED;
        let received = read(tile.noc + STATUS_WRITE_ACKS_RECEIVED);
        let acked = &raw mut WRITES_ACKED;
        // SAFETY: this RISC's own variable.
        unsafe { acked.write_volatile(received) };
    }

    /// Words of the mailbox that a [`Tile`] has after its first one.
    const WORDS_OF_CORE: u32 = (offset_of!(Tile, writes_issued) as u32 - 4) / 4;
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

/// Returns once the byte at `address` is `value`.
///
/// Its two instructions are where a RISC is idle, so the simulator can tell.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn __wait_for_byte(address: u32, value: u32) {
    naked_asm!("2: lbu t0, 0(a0)", "bne t0, a1, 2b", "ret")
}

/// An entry point: sets the stack up, zeroes the variables, goes on in Rust.
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

/// Prepares the RISC with this index.
#[inline(always)]
pub(crate) fn boot(risc_index: u32) {
    #[cfg(feature = "enabled")]
    profiler::boot(risc_index);
    #[cfg(not(feature = "enabled"))]
    let _ = risc_index;
}

/// Says where the subordinates of a Tensix core begin, and ends their reset.
pub(crate) fn release_subordinates() {
    write(TRISC_RESET_PC, (&raw const __trisc0_base).addr() as u32);
    write(TRISC_RESET_PC + 4, (&raw const __trisc1_base).addr() as u32);
    write(TRISC_RESET_PC + 8, (&raw const __trisc2_base).addr() as u32);
    write(TRISC_RESET_PC_OVERRIDE, 0b111);
    write(NCRISC_RESET_PC, (&raw const __ncrisc_base).addr() as u32);
    write(NCRISC_RESET_PC_OVERRIDE, 1);
    write(SOFT_RESET, 0);
}

/// Runs a RISC's kernel; it gets its part of the launch message.
#[inline(always)]
pub(crate) fn call_kernel(risc: u32) {
    let entry = word(mailbox::ENTRIES + 4 * risc);
    let entry = ptr::with_exposed_provenance::<()>(entry as usize);
    // SAFETY: the dispatcher has written the kernel's code and its entry before GO; a
    // kernel is a function of this type.
    let entry = unsafe { core::mem::transmute::<*const (), extern "C" fn(*const u32, u32)>(entry) };
    entry(mailbox_at(mailbox::LAUNCH_INDEX).cast(), risc);
}

/// A word of the mailbox.
#[inline(always)]
pub(crate) fn word(offset: u32) -> u32 {
    // SAFETY: callers pass offsets of words within the mailbox, which is aligned. Volatile,
    // since others write to it.
    unsafe { mailbox_at(offset).cast::<u32>().read_volatile() }
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

#[cfg(feature = "enabled")]
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

/// Nothing here panics; if it did, the core would stop where a debugger sees it.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the core.
        unsafe { core::arch::asm!("ebreak") };
    }
}

const SOFT_RESET: u32 = 0xFFB1_21B0;
const TRISC_RESET_PC: u32 = 0xFFB1_2228;
const TRISC_RESET_PC_OVERRIDE: u32 = 0xFFB1_2234;
const NCRISC_RESET_PC: u32 = 0xFFB1_2238;
const NCRISC_RESET_PC_OVERRIDE: u32 = 0xFFB1_223C;
