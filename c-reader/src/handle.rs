//! Handles. A handle guards a value. Only one call at a time may use the value. The value can also
//! be lent to a thread.

#![allow(unsafe_code, reason = "handles are pointers that a host gives back")]

use crate::{
    arguments::{owned, shared},
    status::{Fault, KprofStatus},
};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Value that only one call at a time may use.
#[derive(Debug)]
pub(crate) struct Handle<T>(Mutex<Place<T>>);

/// State of a handle's value.
#[derive(Debug)]
enum Place<T> {
    Here(T),
    Lent,
    /// The value was lost, because the thread that borrowed the value panicked.
    Lost,
}

impl<T> Handle<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(Place::Here(value)))
    }

    /// Calls a function with the value. Returns an error if another call uses the value, or if the
    /// value is lent to a thread.
    pub(crate) fn with<R>(
        &self,
        call: impl FnOnce(&mut T) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        match &mut *self.lock()? {
            Place::Here(value) => call(value),
            Place::Lent => Err(lent()),
            Place::Lost => Err(lost()),
        }
    }

    /// Removes the value from the handle. Until the value is given back, calls return an error.
    pub(crate) fn lend(&self) -> Result<T, Fault> {
        let mut place = self.lock()?;
        match std::mem::replace(&mut *place, Place::Lent) {
            Place::Here(value) => Ok(value),
            Place::Lent => Err(lent()),
            Place::Lost => {
                *place = Place::Lost;
                Err(lost())
            }
        }
    }

    /// Puts a lent value back; `None` marks it as lost.
    pub(crate) fn give_back(&self, value: Option<T>) {
        // No call changes the state while the value is lent, so the lock is not poisoned.
        if let Ok(mut place) = self.0.lock() {
            *place = value.map_or(Place::Lost, Place::Here);
        }
    }

    fn lock(&self) -> Result<MutexGuard<'_, Place<T>>, Fault> {
        self.0.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Fault::new(
                KprofStatus::Busy,
                "expected an unused handle, found it in another call; callbacks and other \
                 threads must wait",
            ),
            TryLockError::Poisoned(_) => lost(),
        })
    }
}

fn lent() -> Fault {
    Fault::new(
        KprofStatus::Busy,
        "expected an unused handle, found it used by a periodic reader; stop the reader first",
    )
}

fn lost() -> Fault {
    Fault::new(
        KprofStatus::Panic,
        "an earlier call with this handle failed because of a bug in the library; free the handle",
    )
}

/// Frees a handle. Returns an error if a call uses the handle, or if the handle's value is lent to
/// a thread.
///
/// # Safety
/// The same as for [`owned`].
pub(crate) unsafe fn free<T, V>(
    pointer: *mut T,
    name: &str,
    handle_of: impl Fn(&T) -> &Handle<V>,
) -> Result<(), Fault> {
    if pointer.is_null() {
        return Ok(());
    }
    // SAFETY: the caller promises that the pointer came from `Box::into_raw` and was not freed, so
    // it points to a valid `T`.
    let handle = handle_of(unsafe { shared(pointer.cast_const(), name) }?);
    match handle.with(|_| Ok(())) {
        Err(fault) if fault.status == KprofStatus::Busy => return Err(fault),
        // A handle whose value is lost can still be freed.
        _ => {}
    }
    // SAFETY: the caller promises that the pointer came from `Box::into_raw`. No call uses the
    // handle, as checked above, and the reference `handle` is not used any more.
    drop(unsafe { owned(pointer) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_lent_is_busy_until_it_comes_back() {
        let handle = Handle::new(7);
        assert_eq!(handle.lend().unwrap(), 7);
        assert_eq!(handle.with(|_| Ok(())).unwrap_err().status, KprofStatus::Busy);
        assert_eq!(handle.lend().unwrap_err().status, KprofStatus::Busy);
        handle.give_back(Some(8));
        assert_eq!(handle.with(|value| Ok(*value)).unwrap(), 8);
        assert_eq!(handle.lend().unwrap(), 8);
        handle.give_back(None);
        assert_eq!(handle.with(|_| Ok(())).unwrap_err().status, KprofStatus::Panic);
        assert_eq!(handle.lend().unwrap_err().status, KprofStatus::Panic);
        assert_eq!(handle.with(|_| Ok(())).unwrap_err().status, KprofStatus::Panic);
    }
}
