//! Reads typed fields of a payload with bounds checks, and writes fields.
//!
//! Each kind of section has its own module, which documents the layout.

pub(super) use super::super::numbers::{Record, put_u16s, put_u32s, put_u64s};

use super::super::{error::CaptureError, problem::MalformedPayload};
use std::borrow::Cow;
use zerocopy::{FromBytes, IntoBytes};

/// Reader of the records, words and texts of a payload, in order.
pub(super) struct Fields<'file> {
    payload: &'file [u8],
    at: usize,
}

impl<'file> Fields<'file> {
    pub(super) const fn new(payload: &'file [u8]) -> Self {
        Self { payload, at: 0 }
    }

    /// Reads the next `size_bytes` as one record.
    pub(super) fn record(
        &mut self,
        field: &'static str,
        size_bytes: u32,
    ) -> Result<Record<'file>, MalformedPayload> {
        Ok(Record::new(self.bytes(field, size_bytes.into())?))
    }

    /// Reads the next `count` records, which have `stride_bytes` each. The known fields are in the
    /// first `size_bytes` of each record; the other bytes are skipped.
    pub(super) fn records(
        &mut self,
        field: &'static str,
        size_bytes: u32,
        [count, stride_bytes]: [u32; 2],
    ) -> Result<impl Iterator<Item = Record<'file>> + use<'file>, MalformedPayload> {
        if stride_bytes < size_bytes {
            let expected = format!("records of at least {size_bytes} bytes");
            return Err(self.fault(field, &expected, &format!("{stride_bytes} bytes")));
        }
        let all = self.bytes(field, u64::from(count).saturating_mul(stride_bytes.into()))?;
        // The length is a multiple of the stride.
        let stride = usize::try_from(stride_bytes).unwrap_or(usize::MAX);
        Ok(all.chunks_exact(stride).map(Record::new))
    }

    /// Reads the next `count` words. They are not copied if alignment and byte order allow it.
    pub(super) fn words(
        &mut self,
        field: &'static str,
        count: u64,
    ) -> Result<Cow<'file, [u32]>, MalformedPayload> {
        let bytes = self.bytes(field, count.saturating_mul(4))?;
        if cfg!(target_endian = "little")
            && let Ok(words) = <[u32]>::ref_from_bytes(bytes)
        {
            return Ok(Cow::Borrowed(words));
        }
        let (words, _) = bytes.as_chunks::<4>();
        Ok(Cow::Owned(words.iter().map(|&word| u32::from_le_bytes(word)).collect()))
    }

    /// Reads the next text.
    pub(super) fn text(
        &mut self,
        field: &'static str,
        size_bytes: u32,
    ) -> Result<&'file str, MalformedPayload> {
        let at = self.at;
        let bytes = self.bytes(field, u64::from(size_bytes))?;
        std::str::from_utf8(bytes).map_err(|error| MalformedPayload {
            field,
            offset: at.saturating_add(error.valid_up_to()) as u64,
            expected: "UTF-8".into(),
            found: "another byte".into(),
        })
    }

    /// Reads consecutive texts and the padding after them. `texts` contains the field name and the
    /// size in bytes of each text.
    pub(super) fn padded_texts<const COUNT: usize>(
        &mut self,
        texts: [(&'static str, u32); COUNT],
    ) -> Result<[String; COUNT], MalformedPayload> {
        let mut read = [const { String::new() }; COUNT];
        for (text, (field, size_bytes)) in read.iter_mut().zip(texts) {
            self.text(field, size_bytes)?.clone_into(text);
        }
        self.at = self.at.next_multiple_of(8).min(self.payload.len());
        Ok(read)
    }

    /// Returns `items[number]`, or an error about `field` if the number is too large.
    pub(super) fn item<T: Copy>(
        &self,
        field: &'static str,
        items: &[T],
        number: u32,
    ) -> Result<T, MalformedPayload> {
        let item = usize::try_from(number).ok().and_then(|number| items.get(number)).copied();
        let last = items.len().saturating_sub(1);
        item.ok_or_else(|| match last {
            1 => self.fault(field, "0 or 1", &number),
            _ => self.fault(field, &format!("0 to {last}"), &number),
        })
    }

    /// Returns the error for a field with an impossible value.
    pub(super) fn fault(
        &self,
        field: &'static str,
        expected: &str,
        found: &(impl std::fmt::Display + ?Sized),
    ) -> MalformedPayload {
        MalformedPayload {
            field,
            offset: self.at as u64,
            expected: expected.into(),
            found: found.to_string(),
        }
    }

    fn bytes(
        &mut self,
        field: &'static str,
        size_bytes: u64,
    ) -> Result<&'file [u8], MalformedPayload> {
        let rest = self.payload.get(self.at..).unwrap_or(&[]);
        let taken = usize::try_from(size_bytes).ok().and_then(|size| rest.get(..size));
        let Some(taken) = taken else {
            let expected = format!("{size_bytes} bytes");
            return Err(self.fault(field, &expected, &format!("{} bytes", rest.len())));
        };
        self.at = self.at.saturating_add(taken.len());
        Ok(taken)
    }
}

/// Appends words.
pub(super) fn put_words(buffer: &mut Vec<u8>, words: &[u32]) {
    if cfg!(target_endian = "little") {
        buffer.extend_from_slice(words.as_bytes());
    } else {
        put_u32s(buffer, words.iter().copied());
    }
}

/// Appends texts, and pads them with zeros to a multiple of eight bytes.
pub(super) fn put_padded_texts(buffer: &mut Vec<u8>, texts: &[&str]) {
    texts.iter().for_each(|text| buffer.extend_from_slice(text.as_bytes()));
    buffer.resize(buffer.len().next_multiple_of(8), 0);
}

/// Converts a count or length to the type of its field.
pub(super) fn field_count(count: usize) -> Result<u32, CaptureError> {
    u32::try_from(count).map_err(|_| CaptureError::SectionTooLarge {
        size_bytes: count as u64,
        limit: "a count or text length takes 32 bits; write it as several sections",
    })
}

/// Returns the number with which a capture stores an item: its index in the list of all items.
pub(super) fn number_of<T: PartialEq>(items: &[T], item: &T) -> u8 {
    let position = items.iter().position(|other| other == item);
    position.and_then(|position| u8::try_from(position).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_equal_in_place_and_copied(words: Vec<u32>, shift in 0_usize..8) {
            let mut bytes = vec![0; shift];
            put_words(&mut bytes, &words);
            let mut fields = Fields::new(&bytes[shift..]);
            let read = fields.words("words", words.len() as u64).unwrap();
            prop_assert_eq!(read.as_ref(), &words[..]);
            prop_assert!(fields.words("words", 1).is_err());
        }
    }

    #[test]
    fn counts_that_exceed_the_payload_are_faults_and_not_allocations() {
        let bytes = [0; 64];
        for count in [17, u64::MAX / 4, u64::MAX] {
            assert!(Fields::new(&bytes).words("words", count).is_err());
        }
        assert!(Fields::new(&bytes).records("records", 4, [u32::MAX; 2]).is_err());
        assert!(Fields::new(&bytes).records("records", 4, [1, 0]).is_err());
        let fault = Fields::new(b"ab\xFF").text("name", 3).unwrap_err();
        assert_eq!((fault.field, fault.offset), ("name", 2));
    }
}
