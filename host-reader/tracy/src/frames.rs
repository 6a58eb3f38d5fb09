//! Frames: LZ4 blocks that may refer to data of earlier blocks.

use crate::protocol::FRAME_BYTES;
use lz4_flex::block::decompress_into_with_dict;

/// Maximum distance of a back reference in LZ4, in bytes.
const WINDOW_BYTES: usize = 64 * 1024;

/// Decompressor for frames that refer to earlier frames.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The last bytes of the previous frames, to which later frames may refer.
    window: Vec<u8>,
    frame: Box<[u8]>,
}

impl Frames {
    pub(crate) fn new() -> Self {
        Self { window: Vec::new(), frame: vec![0; FRAME_BYTES].into() }
    }

    /// Decompresses the next frame, and returns the bytes of its items.
    ///
    /// # Errors
    /// If the block is corrupt, or if its decompressed size exceeds the maximum size of a frame.
    pub(crate) fn decompress(&mut self, block: &[u8]) -> Result<&[u8], String> {
        let size = decompress_into_with_dict(block, &mut self.frame, &self.window)
            .map_err(|error| error.to_string())?;
        let frame = self.frame.get(..size).unwrap_or_default();
        // Later frames can only refer to the last `WINDOW_BYTES` of the window and this frame
        // together.
        let kept = WINDOW_BYTES.saturating_sub(frame.len()).min(self.window.len());
        self.window.drain(..self.window.len().saturating_sub(kept));
        let from = frame.len().saturating_sub(WINDOW_BYTES);
        self.window.extend_from_slice(frame.get(from..).unwrap_or_default());
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::block::compress_with_dict;

    #[test]
    fn frames_refer_to_those_before() {
        let sizes = [10, 70_000, 5, 0, 200_000, 65_536, 65_535, 1, 262_144, 30];
        let mut state = 1_u32;
        let mut all: Vec<u8> = Vec::new();
        let mut frames = Frames::new();
        for size in sizes {
            let from = all.len();
            for _ in 0..size {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                all.push(b"zone begin, zone end"[(state >> 28) as usize]);
            }
            let window = &all[from.saturating_sub(WINDOW_BYTES)..from];
            let block = compress_with_dict(&all[from..], window);
            assert_eq!(frames.decompress(&block).unwrap(), &all[from..], "{size}");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_an_error() {
        let block = lz4_flex::block::compress(&vec![7; FRAME_BYTES + 1]);
        assert!(Frames::new().decompress(&block).is_err());
        assert!(Frames::new().decompress(&[0x10, 1, 9, 9]).is_err());
    }
}
