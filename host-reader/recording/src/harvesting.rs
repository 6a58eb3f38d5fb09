//! Reads the harvested rows or columns of worker tiles from files next to a device log.

use crate::device_log::PackedLog;
use analysis::noc_events::{
    NocLanes, ProgramTrace, TileMap, lines_of_traces, lines_without_mask, read_json,
};
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    readout::Readout,
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// File names under which tools save the cluster descriptor next to logs.
const DESCRIPTORS: [&str; 2] = ["cluster_descriptor.yaml", "cluster_desc.yaml"];

/// Maximum number of bytes that are read from a cluster descriptor. The descriptor of a 32-chip
/// Galaxy has 60 KB.
const DESCRIPTOR_BYTES: u64 = 4 << 20;

/// The part of a cluster descriptor that describes harvesting.
///
/// # Compatibility
/// The format is that of `cluster_descriptor.cpp` in tt-umd.
#[derive(Deserialize)]
struct ClusterDescriptor {
    #[serde(default)]
    harvesting: BTreeMap<u32, ChipHarvesting>,
}

#[derive(Deserialize)]
struct ChipHarvesting {
    harvest_mask: u32,
}

/// Adds to `log` the worker rows or columns that are not harvested, as given by a cluster
/// descriptor in `folder`.
pub(crate) fn add_descriptor(log: &mut PackedLog, folder: &Path) {
    let mut paths = DESCRIPTORS.iter().map(|name| folder.join(name));
    let Some(path) = paths.find(|path| path.is_file()) else { return };
    let mut anomalies = AnomalyLog::default();
    let mut report = |reason: &str| {
        let name = path.file_name().unwrap_or_default().display();
        anomalies.record(AnomalyKind::MalformedLine, None, 0, || {
            format!("{name}: harvesting left out: {reason}")
        });
    };
    match read_descriptor(&path) {
        Err(reason) => report(&reason),
        Ok(masks) => {
            for device in &mut log.readout.devices {
                let Some(&mask) = masks.get(&device.chip.chip_id) else { continue };
                match lines_without_mask(&device.chip.arch, mask) {
                    Ok(lines) => device.chip.known_lines = lines,
                    Err(error) => report(&format!("chip {}: {error}", device.chip.chip_id)),
                }
            }
        }
    }
    log.lanes.add_anomalies(anomalies);
}

/// Reads the harvest mask of each chip. Error messages do not contain text of the file.
fn read_descriptor(path: &Path) -> Result<BTreeMap<u32, u32>, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(DESCRIPTOR_BYTES).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    let descriptor: ClusterDescriptor = serde_saphyr::from_str(&text).map_err(|error| {
        let line =
            error.location().map_or_else(String::new, |at| format!(" in line {}", at.line()));
        format!("expected a cluster descriptor, found something else{line}")
    })?;
    Ok(descriptor
        .harvesting
        .into_iter()
        .map(|(chip, harvesting)| (chip, harvesting.harvest_mask))
        .collect())
}

/// Returns the paths of TT-Metal's NoC traces in the folder, sorted by name.
///
/// Traces that tt-npe merged from other traces are omitted.
pub fn noc_trace_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ProgramTrace::is_file_name(&name) && !name.contains("merged.json")
        })
        .collect();
    files.sort_unstable();
    files
}

/// Adds to `readout` the worker rows or columns that appear in TT-Metal's NoC traces.
///
/// Does nothing if all worker rows or columns of the chips are already known.
pub(crate) fn add_traces(readout: &mut Readout, files: &[PathBuf]) {
    let is_needed =
        readout.devices.iter().filter_map(TileMap::from_device).any(|map| !map.is_complete());
    if !files.is_empty() && is_needed {
        let lanes = NocLanes::from_readout(readout);
        add_lines(readout, &lanes, files);
    }
}

/// Like [`add_traces`], for a readout whose lanes are in `lanes`.
pub(crate) fn add_traces_beside(readout: &mut Readout, lanes: &NocLanes, files: &[PathBuf]) {
    let chips = readout.devices.iter().map(|device| &device.chip);
    let mut maps = chips.filter_map(|chip| TileMap::from_lane_ids(chip, lanes.ids(chip.chip_id)));
    let is_needed = maps.any(|map| !map.is_complete());
    if !files.is_empty() && is_needed {
        add_lines(readout, lanes, files);
    }
}

fn add_lines(readout: &mut Readout, lanes: &NocLanes, files: &[PathBuf]) {
    let mut traces = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let objects = std::fs::read(path).map(|text| read_json(&text).objects);
        traces.extend(ProgramTrace::from_objects(objects.unwrap_or_default(), &name));
    }
    let mut lines = lines_of_traces(readout, lanes, &traces);
    for device in &mut readout.devices {
        let shown = lines.remove(&device.chip.chip_id).unwrap_or_default();
        for (number, line) in shown {
            device.chip.known_lines.entry(number).or_insert(line);
        }
    }
}
