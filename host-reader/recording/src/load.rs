//! Loading: a device log, a capture, or the folder that upstream leaves its logs in.

use crate::Recording;
use capture::{Capture, CaptureError, FILE_MAGIC, Overrides};
use device_log::{LogError, read_device_log, read_device_log_file};
use reader::{lane::ZoneIndex, read::ReadError, readout::Readout};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};
use wire::ZoneId;
use zone_names::{ZoneNames, ZoneNamesError};

/// Name of the device log in a folder of logs.
const DEVICE_LOG: &str = "profile_log_device.csv";

/// Everything that a file or folder holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The runs of a capture, at least one; a log is one run.
    pub recordings: Vec<Recording>,
    /// Problems of a capture whose rest was used.
    pub problem_count: u64,
}

/// Why nothing could be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file is no device log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The file is no capture that can be opened.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// No read of a capture gave anything.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The zone logs beside a device log cannot be read.
    #[error(transparent)]
    ZoneNames(#[from] ZoneNamesError),
    /// The folder has no device log.
    #[error(
        "expected {DEVICE_LOG} in the folder {} or in its .logs, found none",
        folder.display()
    )]
    NoDeviceLog {
        /// The folder.
        folder: PathBuf,
    },
}

/// Loads whatever lies at the path; its content decides.
///
/// In a folder, zones that the log itself does not name get the names of the zone logs beside
/// it.
///
/// ```
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
/// ";
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("profile_log_device.csv"), log)?;
/// let loaded = recording::load(folder.path())?;
/// assert_eq!(loaded.recordings[0].readout.record_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there is nothing of that kind, or nothing of it can be read. Damage within a capture is
/// counted instead.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    if path.is_dir() {
        return load_folder(path);
    }
    if is_capture(path) {
        return load_capture(path);
    }
    Ok(of_log(read_device_log_file(path)?))
}

/// Reads a device log from a stream; errors name it as `source`.
///
/// # Errors
/// If it is no device log.
pub fn read_log(log: impl Read, source: &str) -> Result<Loaded, LoadError> {
    Ok(of_log(read_device_log(log, source)?))
}

fn of_log(readout: Readout) -> Loaded {
    Loaded { recordings: vec![Recording::of_readout(readout)], problem_count: 0 }
}

fn load_folder(folder: &Path) -> Result<Loaded, LoadError> {
    let candidates = [folder.to_owned(), folder.join(".logs")];
    let Some(logs) = candidates.into_iter().find(|logs| logs.join(DEVICE_LOG).exists()) else {
        return Err(LoadError::NoDeviceLog { folder: folder.to_owned() });
    };
    let mut readout = read_device_log_file(logs.join(DEVICE_LOG))?;
    name_unknown_zones(&mut readout, &logs)?;
    Ok(of_log(readout))
}

fn load_capture(path: &Path) -> Result<Loaded, LoadError> {
    let capture = Capture::open(path)?;
    let problem_count = capture.check().problems.len() as u64;
    let runs = capture.runs(&Overrides::default())?;
    let recordings = runs.into_iter().map(Recording::of_captured_run).collect();
    Ok(Loaded { recordings, problem_count })
}

/// Names the zones that the log itself does not, from the zone logs in the same folder.
fn name_unknown_zones(readout: &mut Readout, logs: &Path) -> Result<(), ZoneNamesError> {
    let mut names = ZoneNames::new();
    names.add_log_folder(logs)?;
    let (table, anomalies) = names.finish();
    let is_unknown = |id: ZoneId| readout.zones.sources(ZoneIndex(id.0.into())).is_empty();
    let unknown: Vec<_> = table.places().filter(|&(id, _)| is_unknown(id)).collect();
    for (id, source) in unknown {
        readout.zones.add(id, source.clone());
    }
    readout.anomalies.merge(anomalies);
    Ok(())
}

/// Returns true if a file begins with the magic of captures, most of whose bytes must be intact.
#[must_use]
pub fn is_capture(path: &Path) -> bool {
    // What is no plain file, such as a pipe, could not be read again from its beginning.
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut found = [0; FILE_MAGIC.len()];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut found)).is_ok();
    let equal = found.iter().zip(FILE_MAGIC).filter(|&(&found, expected)| found == expected);
    is_read && equal.count() > FILE_MAGIC.len() / 2
}
