//! Locations of datasets: folders and object stores.

use crate::failure::{Failure, OrFail, failure};
use host_reader::export::{DatasetLocation, DeltaLogs, LocationError};
use std::path::Path;

/// Converts a command-line argument, which is a path or a URL, to a location.
pub(super) fn location(path: &Path) -> Result<DatasetLocation, Failure> {
    DatasetLocation::parse(path).map_err(|error| match error {
        LocationError::NoObjectStores { url } => failure!(
            "cannot open {url}: this kprof was built without object stores; build it with `cargo \
             build -p kprof --features object-store`"
        ),
        error => Failure::from_error(&error),
    })
}

/// Returns the location of the file or folder `name` below a location.
pub(super) fn below(location: &DatasetLocation, name: &str) -> Result<DatasetLocation, Failure> {
    location.join(name).or_fail()
}

/// Converts the option `--delta-log`: with it, Delta Lake logs are created; without it, only
/// existing ones are continued.
pub(super) const fn delta_logs(is_wanted: bool) -> DeltaLogs {
    if is_wanted { DeltaLogs::Create } else { DeltaLogs::Continue }
}
