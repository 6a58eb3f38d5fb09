//! Sparse memory: only written pages are allocated, and all other bytes read as zero.

use std::collections::HashMap;

/// Size of a page in bytes.
const PAGE_BYTES: usize = 1 << 14;

/// A sparse memory without a size limit.
#[derive(Clone, Debug, Default)]
pub(super) struct SparseMemory {
    pages: HashMap<u64, Box<[u8]>>,
}

impl SparseMemory {
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        let mut done = 0;
        while done < bytes.len() {
            let (page, first, length) = piece(address + done as u64, bytes.len() - done);
            let target = &mut bytes[done..done + length];
            match self.pages.get(&page) {
                Some(stored) => target.copy_from_slice(&stored[first..first + length]),
                None => target.fill(0),
            }
            done += length;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let mut done = 0;
        while done < bytes.len() {
            let (page, first, length) = piece(address + done as u64, bytes.len() - done);
            let stored = self.pages.entry(page).or_insert_with(|| vec![0; PAGE_BYTES].into());
            stored[first..first + length].copy_from_slice(&bytes[done..done + length]);
            done += length;
        }
        Ok(())
    }
}

/// Returns the page of an address, the offset in that page, and how many of the bytes are in it.
fn piece(address: u64, length: usize) -> (u64, usize, usize) {
    let page_bytes = PAGE_BYTES as u64;
    let first = usize::try_from(address % page_bytes).unwrap_or(0);
    (address / page_bytes, first, length.min(PAGE_BYTES - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_across_pages_come_back_and_others_are_zero() {
        let mut memory = SparseMemory::default();
        let bytes: Vec<u8> = (0..40_000_u32).map(|index| (index % 251) as u8).collect();
        memory.write(PAGE_BYTES as u64 - 7, &bytes).unwrap();
        let mut found = vec![9; bytes.len() + 2];
        memory.read(PAGE_BYTES as u64 - 8, &mut found).unwrap();
        assert_eq!((found[0], found[found.len() - 1]), (0, 0));
        assert_eq!(found[1..found.len() - 1], bytes);
    }
}
