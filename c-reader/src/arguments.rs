//! Pointers that callers pass: checked for null and alignment, then borrowed.
//!
//! Every function here is unsafe for one reason: a pointer that is neither null nor misaligned may
//! still be invalid. The caller must pass valid pointers, as each function of the interface states.
//! No other code handles a caller's pointer.

#![allow(unsafe_code, reason = "pointers of C are turned into references here")]

use crate::status::{Fault, KprofStatus};
use std::{
    ffi::{CStr, c_char},
    mem::MaybeUninit,
    path::Path,
};

/// A struct that begins with its own size in bytes.
///
/// # Safety
/// The type must be `repr(C)`, and its first field a `usize`.
pub(crate) unsafe trait HasSize {
    /// Name of the struct in the C header.
    const NAME: &'static str;
}

/// Returns an error if a pointer is null or misaligned.
fn check<T>(pointer: *const T, name: &str) -> Result<(), Fault> {
    if pointer.is_null() {
        return Err(Fault::invalid(format!("expected a pointer for `{name}`, found null")));
    }
    if !pointer.is_aligned() {
        return Err(Fault::invalid(format!(
            "expected `{name}` at a multiple of {} bytes, found {pointer:p}",
            align_of::<T>()
        )));
    }
    Ok(())
}

/// Borrows the value that a pointer points to.
///
/// # Safety
/// If `pointer` is neither null nor misaligned, it points to a valid `T` that nobody changes during
/// `'a`.
pub(crate) unsafe fn shared<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Fault> {
    check(pointer, name)?;
    // SAFETY: not null and aligned, as checked above. The caller promises a valid value that nobody
    // changes.
    Ok(unsafe { &*pointer })
}

/// Copies a struct, if the size in its first field is the size in this version.
///
/// # Safety
/// If `pointer` is neither null nor misaligned, it points to a readable `usize`. If that number is
/// the size of `T`, the pointer also points to a valid `T`.
pub(crate) unsafe fn sized<T: HasSize + Copy>(pointer: *const T, name: &str) -> Result<T, Fault> {
    // SAFETY: the caller makes the promise that `check_size` requires.
    unsafe { check_size(pointer, name) }?;
    // SAFETY: `check_size` succeeded, so the pointer is aligned and not null, and the struct has
    // the size of `T`. In this case, the caller promises a valid `T`.
    Ok(unsafe { *pointer })
}

/// Checks the size in the first field of a struct.
///
/// # Safety
/// If `pointer` is neither null nor misaligned, it points to a readable `usize`.
unsafe fn check_size<T: HasSize>(pointer: *const T, name: &str) -> Result<(), Fault> {
    check(pointer, name)?;
    // SAFETY: the first field of `T` is a `usize` (`HasSize`), so `pointer` is aligned for one,
    // and the caller promises that it can be read.
    let found = unsafe { pointer.cast::<usize>().read() };
    if found == size_of::<T>() {
        return Ok(());
    }
    Err(Fault::new(
        KprofStatus::WrongSize,
        format!(
            "expected struct_size {} in `{name}`, found {found}; set it to sizeof({}) of the \
             header of this library",
            size_of::<T>(),
            T::NAME
        ),
    ))
}

/// Memory of the caller for one result. The result is written at most once.
#[derive(Debug)]
pub(crate) struct Out<'a, T>(&'a mut MaybeUninit<T>);

impl<'a, T> Out<'a, T> {
    /// Wraps a pointer to memory for a result.
    ///
    /// # Safety
    /// If `pointer` is neither null nor misaligned, it points to memory in which a `T` fits, and
    /// nothing else uses this memory during `'a`.
    pub(crate) unsafe fn new(pointer: *mut T, name: &str) -> Result<Self, Fault> {
        check(pointer, name)?;
        // SAFETY: not null and aligned, as checked above. The caller promises memory that nobody
        // else uses, and `MaybeUninit` allows any content.
        Ok(Self(unsafe { &mut *pointer.cast::<MaybeUninit<T>>() }))
    }

    /// Writes the result.
    pub(crate) fn set(self, value: T) {
        self.0.write(value);
    }
}

impl<'a, T: HasSize> Out<'a, T> {
    /// Wraps a pointer to memory for a struct. The caller has set the struct's size field.
    ///
    /// # Safety
    /// If `pointer` is neither null nor misaligned, it points to a readable `usize`. If that number
    /// is the size of `T`, the pointer also points to memory for a `T` that nobody else uses during
    /// `'a`.
    pub(crate) unsafe fn sized(pointer: *mut T, name: &str) -> Result<Self, Fault> {
        // SAFETY: the caller promises that the size field can be read.
        unsafe { check_size(pointer.cast_const(), name) }?;
        // SAFETY: the struct has the size of `T`. In this case, the caller promises memory for a
        // `T` that nobody else uses.
        unsafe { Self::new(pointer, name) }
    }
}

/// Borrows an array. If `count` is 0, the pointer may be null.
///
/// # Safety
/// If `pointer` is neither null nor misaligned, it points to `count` valid elements that nobody
/// changes during `'a`.
pub(crate) unsafe fn array<'a, T>(
    pointer: *const T,
    count: usize,
    name: &str,
) -> Result<&'a [T], Fault> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, name)?;
    check_extent::<T>(count, name)?;
    // SAFETY: not null, aligned, and not larger than `isize::MAX` bytes, as checked above. The
    // caller promises valid elements that nobody changes.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Borrows an array of `i64` for writing, and sets all elements to 0. If `count` is 0, the pointer
/// may be null.
///
/// # Safety
/// If `pointer` is neither null nor misaligned, it points to `count` elements that nobody else uses
/// during `'a`.
pub(crate) unsafe fn array_mut<'a>(
    pointer: *mut i64,
    count: usize,
    name: &str,
) -> Result<&'a mut [i64], Fault> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer, name)?;
    check_extent::<i64>(count, name)?;
    // SAFETY: not null, aligned, and not larger than `isize::MAX` bytes, as checked above. The
    // caller promises the memory. Its previous content is not read, and zero bytes are a valid
    // `i64`.
    unsafe { std::ptr::write_bytes(pointer, 0, count) };
    // SAFETY: as above; every element is initialised now.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

fn check_extent<T>(count: usize, name: &str) -> Result<(), Fault> {
    let is_possible =
        count.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    if is_possible {
        return Ok(());
    }
    let text = format!("expected a number of elements for `{name}` that memory can hold");
    Err(Fault::new(KprofStatus::WrongSize, format!("{text}, found {count}")))
}

/// Borrows a text as UTF-8.
///
/// # Safety
/// If `pointer` is not null, it points to a text that ends with a zero byte and that nobody changes
/// during `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Fault> {
    check(pointer, name)?;
    // SAFETY: not null, as checked above. The caller promises a text that ends with a zero byte and
    // that nobody changes.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| Fault::invalid(format!("expected UTF-8 in `{name}`: {error}")))
}

/// Borrows the name of a file.
///
/// # Safety
/// The same as for [`text`].
pub(crate) unsafe fn path<'a>(pointer: *const c_char, name: &str) -> Result<&'a Path, Fault> {
    // SAFETY: this function has the same safety requirements as `text`.
    let text = unsafe { text(pointer, name) }?;
    if text.is_empty() {
        return Err(Fault::invalid(format!("expected a path for `{name}`, found an empty text")));
    }
    Ok(Path::new(text))
}

/// Converts a pointer that [`Box::into_raw`] returned back into a box; returns `None` for null.
///
/// # Safety
/// If `pointer` is not null, it came from [`Box::into_raw`] of a `Box<T>` and was not converted
/// back before.
pub(crate) unsafe fn owned<T>(pointer: *mut T) -> Option<Box<T>> {
    // SAFETY: the caller promises that the pointer came from `Box::into_raw` and is taken back only
    // once.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    struct Three {
        struct_size: usize,
        value: u64,
    }

    // SAFETY: `repr(C)`, and the first field is a `usize`.
    unsafe impl HasSize for Three {
        const NAME: &'static str = "Three";
    }

    #[test]
    fn a_size_of_another_version_is_refused_before_anything_else_is_read() {
        // Memory for the size field only. Miri would detect a read of any other field.
        let size = 8_usize;
        let pointer = (&raw const size).cast::<Three>();
        // SAFETY: the pointer points to a `usize`, which is not the size of `Three`.
        let fault = unsafe { sized(pointer, "three") }.unwrap_err();
        assert_eq!(fault.status, KprofStatus::WrongSize);
        assert!(fault.text.starts_with("expected struct_size 16 in `three`, found 8;"));
        let three = Three { struct_size: 16, value: 9 };
        // SAFETY: the pointer points to a whole `Three`.
        assert_eq!(unsafe { sized(&raw const three, "three") }.unwrap().value, 9);
    }

    #[test]
    fn null_and_misaligned_pointers_are_refused() {
        // SAFETY: a null pointer is allowed.
        let fault = unsafe { shared(std::ptr::null::<u64>(), "number") }.unwrap_err();
        assert_eq!(fault.text, "expected a pointer for `number`, found null");
        let numbers = [0_u64; 2];
        let odd = numbers.as_ptr().cast::<u8>().wrapping_add(1).cast::<u64>();
        // SAFETY: a misaligned pointer is allowed.
        let fault = unsafe { shared(odd, "number") }.unwrap_err();
        assert!(fault.text.starts_with("expected `number` at a multiple of 8 bytes"));
    }

    #[test]
    fn arrays_that_no_memory_can_hold_are_refused() {
        let number = 0_u64;
        // SAFETY: the count is refused before the pointer is used.
        let fault = unsafe { array(&raw const number, usize::MAX / 8, "numbers") }.unwrap_err();
        assert_eq!(fault.status, KprofStatus::WrongSize);
        // SAFETY: the pointer to an empty array may be null.
        assert!(unsafe { array(std::ptr::null::<u64>(), 0, "numbers") }.unwrap().is_empty());
    }
}
