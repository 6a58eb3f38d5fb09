//! Locations of datasets: folders and object stores.

use crate::failure::{Failure, OrFail, failure, make_folder};
use host_reader::export::{DatasetLocation, DeltaLogs, LocationError};
use std::path::{Path, PathBuf};

/// Returns the location that an argument names.
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

/// Folder for temporary files of a command: the output's own folder, or a separate temporary folder
/// if the output goes to an object store.
pub(super) struct ScratchFolder {
    folder: PathBuf,
    #[cfg(feature = "object-store")]
    _temporary: Option<tempfile::TempDir>,
}

impl ScratchFolder {
    /// Returns the folder for temporary files of an output; creates the folder if it is missing.
    pub(super) fn new(output: &DatasetLocation) -> Result<Self, Failure> {
        match output {
            DatasetLocation::Folder(folder) => {
                make_folder(folder)?;
                Ok(Self {
                    folder: folder.clone(),
                    #[cfg(feature = "object-store")]
                    _temporary: None,
                })
            }
            #[cfg(feature = "object-store")]
            _ => {
                let temporary = tempfile::tempdir()?;
                Ok(Self { folder: temporary.path().to_owned(), _temporary: Some(temporary) })
            }
            #[cfg(not(feature = "object-store"))]
            _ => Err(failure!("expected a folder, found {output}")),
        }
    }

    /// Returns the path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }
}
