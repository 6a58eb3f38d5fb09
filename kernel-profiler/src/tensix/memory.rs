//! The core's control vector and the vectors of its RISCs.

use super::{Tensix, firmware::constant, symbols};
use crate::{
    lane::{CONTROL, index_word},
    port::Memory,
    state::offset,
    tile,
};
use wire::vector::VECTOR_WORDS;

impl Memory for Tensix {
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
        tile::load(place)
    }

    #[inline(always)]
    fn store(&mut self, place: u32, value: u32) {
        tile::store(place, value);
    }

    #[inline(always)]
    fn forget_cached(&mut self) {
        tile::forget_cached();
    }
}
