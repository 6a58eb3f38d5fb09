//! Access to the variables and constants that the firmware provides, except those that hold the
//! runtime's state.

use super::symbols;

/// Returns the value of a link-time constant.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "addresses have 32 bits here")]
pub(super) fn constant(symbol: *const u8) -> u32 {
    symbol.addr() as u32
}

/// Returns the address of an element of a variable that the firmware provides.
#[inline(always)]
pub(super) const fn variable<const N: usize>(variable: *mut [u32; N], index: usize) -> *mut u32 {
    variable.cast::<u32>().wrapping_add(index)
}

#[inline(always)]
pub(super) fn noc_index() -> u8 {
    // SAFETY: the firmware provides the byte, and changes it only between launches.
    unsafe { (&raw const symbols::noc_index).read() }
}

/// Returns the tile's coordinates on the NoC with this index.
#[inline(always)]
pub(super) fn coordinates_on(noc_index: u8) -> [u32; 2] {
    let x = (&raw const symbols::my_x).cast::<u8>().wrapping_add(noc_index as usize);
    let y = (&raw const symbols::my_y).cast::<u8>().wrapping_add(noc_index as usize);
    // SAFETY: the firmware provides one byte for each of the two NoCs.
    let x = unsafe { x.read() };
    // SAFETY: as above.
    let y = unsafe { y.read() };
    [u32::from(x), u32::from(y)]
}

/// A word of local RAM that the firmware provides and that exists as long as the program runs.
#[derive(Clone, Copy)]
pub(super) struct Word(pub(super) *mut u32);

impl Word {
    #[inline(always)]
    pub(super) fn load(self) -> u32 {
        // SAFETY: aligned and in bounds of memory that is always initialised.
        unsafe { self.0.read_volatile() }
    }

    #[inline(always)]
    pub(super) fn store(self, value: u32) {
        // SAFETY: as in `load`; no reference to the word exists that this could invalidate.
        unsafe { self.0.write_volatile(value) }
    }
}
