//! Chips accessed through the kernel driver.

use crate::{
    args::ChipArgs,
    failure::{Failure, note},
    folders::measurements,
    json::{HostCounts, Source},
    numbers::counted,
    op_names::OpNames,
    output::Findings,
    recording::{CaptureTarget, Recording},
};
use chip::{
    driver::{self, LuwenChip},
    facts::ChipFacts,
    inspector,
    layout::FirmwareLayout,
    mesh::{ChipDevice, ChipMesh, OpenOptions},
    process::{Firmware, Process},
    rails::Writes,
};
use host_reader::{
    ReadOptions,
    architecture::Arch,
    capture::OpMetadata,
    mesh::{Device as _, Mesh as _},
    names::ZoneTable,
    zone_names::ZoneNames,
};
use std::{collections::BTreeMap, path::Path, process::ExitCode};
use wire::{CoreKind, RunHostId, dram::DEFAULT_PROGRAM_SUPPORT_COUNT};

type Chips = Vec<(LuwenChip, ChipFacts)>;

/// Reads chips, with information about their program from the environment.
pub(super) fn read(args: &ChipArgs) -> Result<ExitCode, Failure> {
    let chips = open_chips(args)?;
    let process = Process::new(std::process::id());
    let firmware = firmware(&process, args)?;
    read_chips(chips, &firmware, Some(&process), args)
}

/// Reads the chips of a running program.
pub(super) fn attach(pid: Option<u32>, args: &ChipArgs) -> Result<ExitCode, Failure> {
    let process = pid.map(Process::new);
    let firmware = firmware(process.as_ref().unwrap_or(&Process::new(std::process::id())), args)?;
    read_chips(open_chips(args)?, &firmware, process.as_ref(), args)
}

fn open_chips(args: &ChipArgs) -> Result<Chips, Failure> {
    driver::open(args.chip).map_err(|error| Failure::from_error(&error))
}

/// Returns the firmware that the arguments name; otherwise, the firmware of the process.
fn firmware(process: &Process, args: &ChipArgs) -> Result<Firmware, Failure> {
    let Some(elf) = &args.elf else {
        return process.firmware().map_err(|error| Failure::from_error(&error));
    };
    let layout = FirmwareLayout::open(elf).map_err(|error| Failure::from_error(&error))?;
    let layouts = BTreeMap::from([(layout.arch, (elf.clone(), layout))]);
    Ok(Firmware { layouts, found_in: "the named file".to_owned() })
}

fn read_chips(
    chips: Chips,
    firmware: &Firmware,
    process: Option<&Process>,
    args: &ChipArgs,
) -> Result<ExitCode, Failure> {
    let mut mesh = open_mesh(chips, firmware, args)?;
    let inspector = args.inspector.clone().or_else(|| process?.inspector());
    let ops = op_names(&mut mesh, inspector.as_deref(), args.inspector.is_some())?;
    let names = OpNames::new(&ops);
    let capture = args.output.clone().map(|path| CaptureTarget {
        path,
        append: false,
        is_counter_pass: false,
    });
    let options = ReadOptions {
        read_only: !args.write,
        program_support_count: support_count(args),
        sums_enabled: args.enable_sum_profiling,
        ..ReadOptions::default()
    };
    let mut recording = Recording::begin(&mut mesh, options, capture.as_ref(), ops)?;
    recording.read(&mut mesh, zone_names(args)?, true)?;
    recording.close(&mut mesh)?;
    for device in &mesh.devices {
        if let Some(stopped) = device.rails().stopped() {
            let chip_id = device.description().chip_id;
            note!("kprof: chip {chip_id}: {stopped}; what was read before is shown");
        }
    }
    let readout = recording.finish()?.0.readout;
    let chip = readout.devices.first().map(|device| device.chip.clone());
    let findings = Findings::new(readout, args.show)?.with_names(names);
    let source = Source {
        arch: chip.as_ref().map_or("", |chip| &chip.arch),
        devices: mesh.device_count(),
        worker_cores: chip.as_ref().and_then(|chip| chip.max_compute_cores),
        launches: findings.parts().1.summary.launch_count,
        execution_failures: &[],
        reads: None,
        host: HostCounts::default(),
    };
    let chips = counted(source.devices as u64, "chip", "chips");
    let title = format!("{}, {chips}, firmware from {}", source.arch, firmware.found_in);
    findings.show(&title, &source, args.show)
}

fn open_mesh(
    chips: Chips,
    firmware: &Firmware,
    args: &ChipArgs,
) -> Result<ChipMesh<LuwenChip>, Failure> {
    let options = OpenOptions {
        writes: if args.write { Writes::ControlVectors } else { Writes::Refused },
        program_support_count: support_count(args),
        sums_enabled: args.enable_sum_profiling,
    };
    let mut devices = Vec::new();
    for (chip, facts) in chips {
        let layout = layout_of(&facts, firmware)?;
        let device = ChipDevice::open(chip, &facts, layout, &options);
        let device = device.map_err(|error| Failure::from_error(&error))?;
        print_unread(&device);
        devices.push(device);
    }
    Ok(ChipMesh { devices })
}

/// Prints which Ethernet cores are not read, and that chips reached over Ethernet are not read.
fn print_unread(device: &ChipDevice<LuwenChip>) {
    let chip = device.description();
    let untold = device.untold_ethernet_cores();
    if untold > 0 {
        note!(
            "kprof: chip {}: {} not read: no control vector of theirs names the markers' place",
            chip.chip_id,
            counted(untold as u64, "Ethernet core is", "Ethernet cores are"),
        );
    }
    if chip.cores.iter().any(|core| core.kind == CoreKind::ActiveEth) {
        note!(
            "kprof: chip {}: chips behind its Ethernet links are read only if the driver shows \
             them: luwen reaches others through a queue that it does not share with the running \
             program",
            chip.chip_id,
        );
    }
}

fn layout_of<'a>(facts: &ChipFacts, firmware: &'a Firmware) -> Result<&'a FirmwareLayout, Failure> {
    let found = firmware.layouts.get(&facts.arch);
    found.map(|(_, layout)| layout).ok_or_else(|| {
        let known: Vec<String> = firmware.layouts.keys().map(Arch::to_string).collect();
        let ChipFacts { chip_id, arch, .. } = facts;
        Failure::Sentence(format!(
            "chip {chip_id} is a {arch}, but the firmware in {} is for {}; name the chip's own \
             with --elf",
            firmware.found_in,
            known.join(", ")
        ))
    })
}

fn support_count(args: &ChipArgs) -> u32 {
    args.op_support_count.unwrap_or(DEFAULT_PROGRAM_SUPPORT_COUNT)
}

/// Returns the names of ops for every chip, from the Inspector's log.
fn op_names(
    mesh: &mut ChipMesh<LuwenChip>,
    folder: Option<&Path>,
    is_wanted: bool,
) -> Result<Vec<OpMetadata>, Failure> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let found = match inspector::OpNames::open(folder) {
        Ok(found) => found,
        Err(error) if is_wanted => {
            return Err(Failure::from_file(&folder.join(inspector::LOG_NAME), &error));
        }
        Err(_) => return Ok(Vec::new()),
    };
    if found.malformed > 0 {
        let count = counted(found.malformed, "entry", "entries");
        note!("kprof: {}: {count} without an id or a name", folder.display());
    }
    let chips: Vec<u32> = mesh.devices.iter().map(|device| device.description().chip_id).collect();
    let names = &found.names;
    Ok(chips
        .iter()
        .flat_map(|&chip_id| {
            names.iter().map(move |(&base, name)| OpMetadata {
                chip_id,
                run_host_id: RunHostId::encode(base, chip_id),
                fields: [(OpMetadata::NAME.to_owned(), name.to_string())].into(),
            })
        })
        .collect())
}

/// Returns the names of zones from TT-Metal's logs.
fn zone_names(args: &ChipArgs) -> Result<ZoneTable, Failure> {
    let default = measurements().join(".logs");
    let folder = args.names.clone().or_else(|| default.is_dir().then_some(default));
    let Some(folder) = folder else { return Ok(ZoneTable::new()) };
    let mut names = ZoneNames::new();
    names.add_log_folder(&folder).map_err(|error| Failure::from_file(&folder, &error))?;
    Ok(names.finish().0)
}
