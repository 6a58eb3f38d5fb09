//! Checks of Python arguments that have bounds.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use std::ops::RangeInclusive;

/// Converts a Python argument to a whole number within bounds.
///
/// # Errors
/// A `TypeError` if the value is not a whole number, a `ValueError` if the number is out of bounds.
pub(crate) fn whole_number(
    name: &str,
    value: &Bound<'_, PyAny>,
    bounds: RangeInclusive<u64>,
) -> PyResult<u64> {
    let found = match value.extract::<u64>() {
        Ok(found) => Some(found),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {
            let found = value.get_type().name()?;
            let text = format!("expected {name} as a whole number, found {found}");
            return Err(PyTypeError::new_err(text));
        }
        Err(_) => None,
    };
    found.filter(|found| bounds.contains(found)).ok_or_else(|| {
        let (least, most) = (bounds.start(), bounds.end());
        PyValueError::new_err(format!("expected {name} from {least} to {most}, found {value}"))
    })
}

/// Converts a Python argument to a 32-bit whole number within bounds.
///
/// # Errors
/// The errors of [`whole_number`].
pub(crate) fn word(
    name: &str,
    value: &Bound<'_, PyAny>,
    bounds: RangeInclusive<u32>,
) -> PyResult<u32> {
    let bounds = u64::from(*bounds.start())..=u64::from(*bounds.end());
    let number = whole_number(name, value, bounds)?;
    u32::try_from(number).map_err(|error| PyValueError::new_err(error.to_string()))
}
