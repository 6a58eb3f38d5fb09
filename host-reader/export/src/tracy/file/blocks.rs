//! File container: blocks of 64 KiB, each compressed separately.
//!
//! # Compatibility
//! Tracy's `server/TracyFileHeader.hpp`: the LZ4 magic number, which all versions of Tracy accept.
//! `server/TracyFileRead.hpp`: every block except the last holds exactly 64 KiB.

use lz4_flex::block::{compress_into, get_maximum_output_size};
use rayon::prelude::*;
use std::io::{self, Write};

/// First bytes of a file.
const MAGIC: [u8; 4] = *b"tlZ\x04";
/// Length of a block before compression, in bytes.
const BLOCK_BYTES: usize = 64 * 1024;
/// Number of blocks that are compressed in parallel.
const BATCH_BLOCKS: usize = 64;

/// Writer that splits its input into blocks and compresses them in parallel.
pub(super) struct BlockWriter<W: Write> {
    out: W,
    pending: Vec<u8>,
}

impl<W: Write> BlockWriter<W> {
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        Ok(Self { out, pending: Vec::with_capacity(BATCH_BLOCKS * BLOCK_BYTES) })
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = BATCH_BLOCKS * BLOCK_BYTES - self.pending.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.pending.extend_from_slice(now);
            bytes = later;
            if self.pending.len() == BATCH_BLOCKS * BLOCK_BYTES {
                self.write_pending()?;
            }
        }
        Ok(())
    }

    /// Writes the remaining bytes as the last block, which may be shorter than 64 KiB.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.out.flush()
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let blocks: Vec<_> = self.pending.par_chunks(BLOCK_BYTES).map(compressed).collect();
        for block in blocks {
            self.out.write_all(&block?)?;
        }
        self.pending.clear();
        Ok(())
    }
}

/// Compresses a block. The result begins with the compressed size.
pub(in super::super) fn compressed(block: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4 + get_maximum_output_size(block.len())];
    let size = compress_into(block, &mut bytes[4..]).map_err(io::Error::other)?;
    let size_field = u32::try_from(size).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&size_field.to_le_bytes());
    bytes.truncate(4 + size);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decompresses a written file. Returns the sizes of the blocks before compression.
    fn block_sizes(mut file: &[u8]) -> Vec<usize> {
        assert_eq!(&file[..4], b"tlZ\x04");
        file = &file[4..];
        let mut sizes = Vec::new();
        while let Some((size, rest)) = file.split_first_chunk() {
            let (block, rest) = rest.split_at(u32::from_le_bytes(*size) as usize);
            sizes.push(lz4_flex::block::decompress(block, BLOCK_BYTES).unwrap().len());
            file = rest;
        }
        sizes
    }

    #[test]
    fn every_block_but_the_last_is_full() {
        for (byte_count, expected) in [
            (0, vec![]),
            (1, vec![1]),
            (BLOCK_BYTES, vec![BLOCK_BYTES]),
            (2 * BLOCK_BYTES + 7, vec![BLOCK_BYTES, BLOCK_BYTES, 7]),
        ] {
            let mut file = Vec::new();
            let mut blocks = BlockWriter::new(&mut file).unwrap();
            let noise: Vec<u8> =
                (0..byte_count).map(|byte| (byte * byte).to_le_bytes()[1]).collect();
            noise.chunks(1000).for_each(|part| blocks.write(part).unwrap());
            blocks.finish().unwrap();
            assert_eq!(block_sizes(&file), expected);
        }
    }
}
