//! Decodes the file container: blocks of 64 KiB, in one or several streams.

use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

const BLOCK_BYTES: usize = 64 * 1024;
/// An empty zstd block with the flag of the last block.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// Returns the decompressed content of a file.
pub(crate) fn open(file: &[u8]) -> Vec<u8> {
    let (magic, rest) = file.split_at(4);
    match magic {
        b"tlZ\x04" => lz4(&blocks(rest)),
        b"tr\xFDP" => {
            let &[method, stream_count] = rest.first_chunk().unwrap();
            assert_eq!(method, 1, "expected zstd");
            zstd(&blocks(&rest[2..]), stream_count.into())
        }
        _ => panic!("no magic of a Tracy file: {magic:02x?}"),
    }
}

fn blocks(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    while let Some((size, rest)) = bytes.split_first_chunk() {
        let (block, rest) = rest.split_at(u32::from_le_bytes(*size) as usize);
        blocks.push(block);
        bytes = rest;
    }
    assert!(bytes.is_empty(), "{} bytes behind the last block", bytes.len());
    blocks
}

/// Decompresses LZ4 blocks. A block may refer to the content of the previous block.
fn lz4(blocks: &[&[u8]]) -> Vec<u8> {
    let mut content = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let before = &content[content.len().saturating_sub(BLOCK_BYTES)..];
        let block = lz4_flex::block::decompress_with_dict(block, BLOCK_BYTES, before).unwrap();
        assert!(block.len() == BLOCK_BYTES || index + 1 == blocks.len(), "a short block inside");
        content.extend(block);
    }
    content
}

/// Decompresses zstd streams. The blocks of each stream form one frame, without the block that ends
/// a frame.
fn zstd(blocks: &[&[u8]], stream_count: usize) -> Vec<u8> {
    let streams: Vec<Vec<u8>> = (0..stream_count.min(blocks.len()))
        .map(|stream| {
            let own = blocks.iter().skip(stream).step_by(stream_count);
            let frame = [own.copied().flatten().copied().collect(), LAST_BLOCK.to_vec()].concat();
            let mut content = Vec::new();
            StreamingDecoder::new(&frame[..]).unwrap().read_to_end(&mut content).unwrap();
            content
        })
        .collect();
    let mut content = Vec::new();
    for index in 0..blocks.len() {
        let stream = &streams[index % stream_count];
        let first = index / stream_count * BLOCK_BYTES;
        content.extend(&stream[first..stream.len().min(first + BLOCK_BYTES)]);
    }
    content
}
