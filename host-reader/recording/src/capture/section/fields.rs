//! Reads typed fields of a payload with bounds checks, and writes fields.
//!
//! Each kind of section has its own module, which documents the layout.

use super::super::{error::CaptureError, problem::MalformedPayload};
use std::borrow::Cow;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian::U32};

/// Reader that takes fields from the front of a payload.
pub(super) struct Fields<'file> {
    payload: &'file [u8],
    at: usize,
}

/// The traits that a record with a fixed byte layout must implement. All of them can be derived.
pub(super) trait RawRecord:
    FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned
{
}

impl<T: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned> RawRecord for T {}

/// Defines records, and checks that each has the stated size in bytes.
macro_rules! raw_records {
    ($($(#[$doc:meta])* $name:ident: $size:expr => {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(
            Clone,
            Copy,
            zerocopy::FromBytes,
            zerocopy::IntoBytes,
            zerocopy::Immutable,
            zerocopy::KnownLayout,
            zerocopy::Unaligned,
        )]
        #[repr(C)]
        pub(super) struct $name {
            $($(#[$field_doc])* pub(super) $field: $type,)*
        }

        const _: () = assert!(size_of::<$name>() == $size);
    )*};
}
pub(super) use raw_records;

/// Defines records with the same fields as another type, and the conversions in both directions.
macro_rules! mirror_records {
    ($($name:ident: $size:expr, of $native:ident {
        $($field:ident: $type:ty,)*
        $(; $reserved:ident: $reserved_type:ty,)?
    })*) => {$(
        raw_records! {
            $name: $size => { $($field: $type,)* $($reserved: $reserved_type,)? }
        }

        impl From<&$native> for $name {
            fn from(native: &$native) -> Self {
                Self {
                    $($field: native.$field.into(),)*
                    $($reserved: <$reserved_type>::ZERO,)?
                }
            }
        }

        impl From<&$name> for $native {
            fn from(raw: &$name) -> Self {
                Self { $($field: raw.$field.get(),)* }
            }
        }
    )*};
}
pub(super) use mirror_records;

impl<'file> Fields<'file> {
    pub(super) const fn new(payload: &'file [u8]) -> Self {
        Self { payload, at: 0 }
    }

    /// Reads the next record.
    pub(super) fn record<T: RawRecord + 'file>(
        &mut self,
        field: &'static str,
    ) -> Result<&'file T, MalformedPayload> {
        let bytes = self.bytes(field, size_of::<T>() as u64)?;
        T::ref_from_bytes(bytes).map_err(|_| self.fault(field, "a record", "fewer bytes"))
    }

    /// Reads the next `count` records, which have `stride_bytes` each. In each record, bytes after
    /// the known fields are skipped.
    pub(super) fn records<T: RawRecord + 'file>(
        &mut self,
        field: &'static str,
        count: u32,
        stride_bytes: u32,
    ) -> Result<impl Iterator<Item = &'file T> + use<'file, T>, MalformedPayload> {
        let stride = usize::try_from(stride_bytes).unwrap_or(usize::MAX);
        if stride < size_of::<T>() {
            let expected = format!("records of at least {} bytes", size_of::<T>());
            return Err(self.fault(field, &expected, &format!("{stride} bytes")));
        }
        let all = self.bytes(field, u64::from(count).saturating_mul(stride_bytes.into()))?;
        // The length is a multiple of the stride, and each record is long enough.
        Ok(all.chunks_exact(stride).filter_map(|chunk| Some(T::ref_from_prefix(chunk).ok()?.0)))
    }

    /// Reads entries written by [`put_entries`].
    pub(super) fn entries<T: RawRecord + 'file>(
        &mut self,
    ) -> Result<impl Iterator<Item = &'file T> + use<'file, T>, MalformedPayload> {
        let [count, stride]: &[U32; 2] = self.record("head")?;
        self.records("entries", count.get(), stride.get())
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

    /// Skips the padding after a text.
    pub(super) fn align(&mut self) {
        self.at = self.at.next_multiple_of(8).min(self.payload.len());
    }

    /// Returns all remaining bytes.
    pub(super) fn rest(&self) -> &'file [u8] {
        self.payload.get(self.at..).unwrap_or(&[])
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
        let rest = self.rest();
        let taken = usize::try_from(size_bytes).ok().and_then(|size| rest.get(..size));
        let Some(taken) = taken else {
            let expected = format!("{size_bytes} bytes");
            return Err(self.fault(field, &expected, &format!("{} bytes", rest.len())));
        };
        self.at = self.at.saturating_add(taken.len());
        Ok(taken)
    }
}

/// Appends a record.
pub(super) fn put(buffer: &mut Vec<u8>, record: &impl RawRecord) {
    buffer.extend_from_slice(record.as_bytes());
}

/// Appends the number of entries, the bytes per entry, and the entries.
pub(super) fn put_entries<T: RawRecord>(
    buffer: &mut Vec<u8>,
    count: usize,
    entries: impl Iterator<Item = T>,
) -> Result<(), CaptureError> {
    put(buffer, &U32::new(field_count(count)?));
    put(buffer, &U32::new(field_count(size_of::<T>())?));
    entries.for_each(|entry| put(buffer, &entry));
    Ok(())
}

/// Appends words.
pub(super) fn put_words(buffer: &mut Vec<u8>, words: &[u32]) {
    if cfg!(target_endian = "little") {
        buffer.extend_from_slice(words.as_bytes());
    } else {
        buffer.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
}

/// Pads with zeros to a multiple of eight bytes.
pub(super) fn pad(buffer: &mut Vec<u8>) {
    buffer.resize(buffer.len().next_multiple_of(8), 0);
}

/// Converts a count or length to the type of its field.
pub(super) fn field_count(count: usize) -> Result<u32, CaptureError> {
    u32::try_from(count).map_err(|_| CaptureError::SectionTooLarge {
        size_bytes: count as u64,
        limit: "a count or text length takes 32 bits; write it as several sections",
    })
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
        assert!(Fields::new(&bytes).records::<[u8; 4]>("records", u32::MAX, u32::MAX).is_err());
        assert!(Fields::new(&bytes).records::<[u8; 4]>("records", 1, 0).is_err());
        let fault = Fields::new(b"ab\xFF").text("name", 3).unwrap_err();
        assert_eq!((fault.field, fault.offset), ("name", 2));
    }
}
