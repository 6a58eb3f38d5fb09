//! Names of a running program's ops and zones. The names come from the program's logs, which grow
//! while the program runs.

use super::AnyChip;
use crate::{
    args::ChipArgs,
    failure::{Failure, OrFail as _, note},
    folders::measurements,
    numbers::counted,
};
use chip::{inspector, mesh::ChipMesh, process::Process};
use host_reader::{
    capture::OpMetadata, mesh::Device as _, names::ZoneTable, zone_names::ZoneNames,
};
use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    time::{Duration, Instant, SystemTime},
};
use wire::RunHostId;

/// The names known so far, and the logs that contain them.
pub(super) struct Names {
    chips: Vec<u32>,
    /// Log of TT-Metal's Inspector, with the names of ops.
    op_log: Option<LogFile>,
    known_ops: BTreeSet<(u32, u32)>,
    zone_folder: Option<PathBuf>,
    zone_logs: Vec<LogFile>,
    zones: ZoneTable,
    looked_at: Instant,
}

/// A file, with its size and modification time when it was last checked.
struct LogFile {
    path: PathBuf,
    state: Option<(u64, SystemTime)>,
}

impl LogFile {
    const fn new(path: PathBuf) -> Self {
        Self { path, state: None }
    }

    /// Returns true if the file has changed since the last call.
    fn has_changed(&mut self) -> bool {
        let metadata = fs::metadata(&self.path).ok();
        let state = metadata.and_then(|file| Some((file.len(), file.modified().ok()?)));
        state.is_some() && std::mem::replace(&mut self.state, state) != state
    }
}

impl Names {
    /// Finds and reads the logs of a program; also returns the names of the ops found.
    pub(super) fn open(
        mesh: &mut ChipMesh<AnyChip>,
        process: Option<&Process>,
        args: &ChipArgs,
    ) -> Result<(Self, Vec<OpMetadata>), Failure> {
        let folder = args.inspector.clone().or_else(|| process?.inspector());
        if let Some(folder) = &args.inspector {
            let found = inspector::OpNames::open(folder);
            found.or_fail_at(&folder.join(inspector::LOG_NAME))?;
        }
        let default = measurements().join(".logs");
        let zone_folder = args.names.clone().or_else(|| default.is_dir().then_some(default));
        let devices = mesh.devices.iter();
        let mut names = Self {
            chips: devices.map(|device| device.description().chip_id).collect(),
            op_log: folder.map(|folder| LogFile::new(folder.join(inspector::LOG_NAME))),
            known_ops: BTreeSet::new(),
            zone_folder,
            zone_logs: Vec::new(),
            zones: ZoneTable::new(),
            looked_at: Instant::now(),
        };
        names.read_zones()?;
        let ops = names.new_ops();
        Ok((names, ops))
    }

    /// Returns the names of zones known so far.
    pub(super) fn zones(&self) -> ZoneTable {
        self.zones.clone()
    }

    /// Reads changed logs, at most once a second; returns the names of new ops.
    pub(super) fn refresh_in_time(&mut self) -> Vec<OpMetadata> {
        if self.looked_at.elapsed() < INTERVAL { Vec::new() } else { self.refresh() }
    }

    /// Reads changed logs; returns the names of new ops. If a log can no longer be read, the names
    /// known so far are kept.
    pub(super) fn refresh(&mut self) -> Vec<OpMetadata> {
        self.looked_at = Instant::now();
        if let Err(error) = self.read_zones() {
            note!("kprof: names of zones: {error}");
            self.zone_folder = None;
        }
        self.new_ops()
    }

    fn read_zones(&mut self) -> Result<(), Failure> {
        let Some(folder) = &self.zone_folder else { return Ok(()) };
        if self.zone_logs.is_empty() {
            let entries = fs::read_dir(folder).or_fail_at(folder)?.flatten().take(LOGS_MAX);
            self.zone_logs = entries.map(|entry| LogFile::new(entry.path())).collect();
        }
        let changed = self.zone_logs.iter_mut().filter_map(|log| log.has_changed().then_some(()));
        if changed.count() == 0 {
            return Ok(());
        }
        let mut names = ZoneNames::new();
        names.add_log_folder(folder).or_fail_at(folder)?;
        self.zones = names.finish().0;
        Ok(())
    }

    fn new_ops(&mut self) -> Vec<OpMetadata> {
        let Some(log) = &mut self.op_log else { return Vec::new() };
        if !log.has_changed() {
            return Vec::new();
        }
        let found = log.path.parent().map(inspector::OpNames::open);
        let Some(Ok(found)) = found else { return Vec::new() };
        if found.malformed > 0 && self.known_ops.is_empty() {
            let count = counted(found.malformed, "entry", "entries");
            note!("kprof: {}: {count} without an id or a name", log.path.display());
        }
        let mut new = Vec::new();
        for &chip_id in &self.chips {
            for (&base, name) in &found.names {
                if self.known_ops.insert((chip_id, base)) {
                    new.push(OpMetadata {
                        chip_id,
                        run_host_id: RunHostId::encode(base, chip_id),
                        fields: [(OpMetadata::NAME.to_owned(), name.to_string())].into(),
                    });
                }
            }
        }
        new
    }
}

/// Minimum time between two checks of the logs.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of files whose changes are watched.
const LOGS_MAX: usize = 4096;
