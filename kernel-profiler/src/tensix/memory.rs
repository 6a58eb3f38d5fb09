//! The core's control vector and the vectors of its RISCs.

use super::{Tensix, firmware::constant, symbols};
use crate::{
    lane::{CONTROL, index_word},
    port::Memory,
    state::offset,
};
use core::{arch::asm, ptr};
use wire::vector::VECTOR_WORDS;

impl Memory for Tensix {
    #[inline(always)]
    fn control(&mut self, index: usize) -> u32 {
        self.load(self.control_place(index))
    }

    #[inline(always)]
    fn set_control(&mut self, index: usize, value: u32) {
        self.store(self.control_place(index), value);
    }

    #[inline(always)]
    fn vector(&mut self, risc_index: usize, index: usize) -> u32 {
        self.load(self.vector_place(risc_index) + offset(index))
    }

    #[inline(always)]
    fn set_vector(&mut self, risc_index: usize, index: usize, value: u32) {
        self.store(self.vector_place(risc_index) + offset(index), value);
    }

    #[inline(always)]
    fn control_place(&self, index: usize) -> u32 {
        constant(&raw const symbols::__kprof_control) + index_word(index) * 4
    }

    #[inline(always)]
    fn vector_place(&self, risc_index: usize) -> u32 {
        self.control_place(CONTROL.word_count) + index_word(risc_index) * offset(VECTOR_WORDS)
    }

    #[inline(always)]
    fn load(&mut self, place: u32) -> u32 {
        let word = ptr::with_exposed_provenance::<u32>(place as usize);
        // SAFETY: places are made in this crate only. Each is that of a word of the control
        // vector or of a vector of one of the core's RISCs, both of which the firmware
        // provides, aligned, for as long as the program runs, outside of what the compiler
        // knows. Volatile, since other RISCs and the host write to them.
        unsafe { word.read_volatile() }
    }

    #[inline(always)]
    fn store(&mut self, place: u32, value: u32) {
        let word = ptr::with_exposed_provenance_mut::<u32>(place as usize);
        // SAFETY: as in `load`, and the program holds no reference to any of these words. A
        // next place stays within its vector: used words, room, the ends of open zones and the
        // totals of sums together are all of it.
        unsafe { word.write_volatile(value) }
    }

    /// # Compatibility
    /// `invalidate_l1_cache` of tt-metal. A Wormhole has no data cache.
    #[inline(always)]
    fn forget_cached(&mut self) {
        if cfg!(feature = "blackhole") {
            // SAFETY: empties the data cache, which holds nothing that memory does not.
            unsafe { asm!("fence", options(nostack, preserves_flags)) };
        }
    }
}
