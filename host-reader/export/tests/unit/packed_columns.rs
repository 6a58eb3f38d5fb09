//! Decoder of packed columns, ported from the page's script to Rust for tests.

use base64::{Engine, engine::general_purpose::STANDARD};
use std::io::Read;

/// Reader of packed columns. Values are read in the order in which they were added.
pub(crate) struct Reading {
    bytes: Vec<u8>,
    position: usize,
}

impl Reading {
    pub(crate) fn of_base64(text: &str) -> Self {
        let deflated = STANDARD.decode(text.trim()).unwrap();
        let mut bytes = Vec::new();
        flate2::read::DeflateDecoder::new(&*deflated).read_to_end(&mut bytes).unwrap();
        Self { bytes, position: 0 }
    }

    pub(crate) fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.bytes[self.position];
            self.position += 1;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    }

    pub(crate) fn signed(&mut self) -> i64 {
        let number = self.number();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }

    pub(crate) fn exact(&mut self) -> u64 {
        let upper = self.number();
        (upper << 32) | self.number()
    }

    pub(crate) fn numbers(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.number()).collect()
    }

    pub(crate) fn rising(&mut self, first: u64, count: usize) -> Vec<u64> {
        let mut latest = first;
        (0..count)
            .map(|_| {
                latest += self.number();
                latest
            })
            .collect()
    }

    pub(crate) fn text(&mut self) -> String {
        let length = usize::try_from(self.number()).unwrap();
        let text = &self.bytes[self.position..self.position + length];
        self.position += length;
        String::from_utf8(text.to_vec()).unwrap()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.position == self.bytes.len()
    }
}
