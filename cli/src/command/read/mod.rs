//! `kprof read` and `kprof attach`: read a chip while another program uses it.

mod live;
mod names;
mod stands;

use crate::{
    args::{AttachArgs, ChipArgs, ReadArgs},
    failure::{Failure, OrFail as _, failure, note},
    json::{HostCounts, Source},
    numbers::counted,
    output::Findings,
    recording::{CaptureTarget, Recording},
    tracy_view::{begin_view, wait_for_viewers},
};
use chip::{
    access::ChipAccess,
    facts::ChipFacts,
    layout::FirmwareLayout,
    mesh::{ChipDevice, ChipMesh, OpenOptions},
    process::{Firmware, Process},
    rails::Writes,
    shared::SharedChip,
    sockets::remove_stale,
};
use host_reader::{ReadOptions, architecture::Arch, mesh::Device as _, recording};
use live::LiveReads;
use names::Names;
use std::{collections::BTreeMap, process::ExitCode};
use wire::{CoreKind, dram::DEFAULT_PROGRAM_SUPPORT_COUNT};

/// A chip accessed through the kernel driver, or a simulated chip accessed through another process.
type AnyChip = Box<dyn ChipAccess>;

/// Chips to read.
struct Chips {
    chips: Vec<(AnyChip, ChipFacts)>,
    /// True if another process simulates the chips. A simulated chip does not advance while it is
    /// read, so clocks that are read one after the other cannot be compared. All of its tiles have
    /// the same clock.
    are_simulated: bool,
}

/// Reads chips once. The environment of this process determines where the program's firmware is.
pub(crate) fn read(args: &ReadArgs) -> Result<ExitCode, Failure> {
    let process = Process::new(std::process::id());
    let chips = shared_chips(&process, &args.chip)?.map_or_else(|| driver_chips(&args.chip), Ok)?;
    let firmware = firmware(&process, &args.chip)?;
    read_chips(chips, &firmware, Some(&process), &args.chip, None)
}

/// Reads the chips of a running program.
pub(crate) fn attach(args: &AttachArgs) -> Result<ExitCode, Failure> {
    if args.stands {
        return stands::show(args);
    }
    let process = args.pid.map(Process::new);
    let or_this = process.clone().unwrap_or_else(|| Process::new(std::process::id()));
    let shared = shared_chips(&or_this, &args.chip)?;
    if shared.is_none() {
        refuse_build_without_driver()?;
    }
    let firmware = firmware(&or_this, &args.chip)?;
    let chips = shared.map_or_else(|| driver_chips(&args.chip), Ok)?;
    let live = args.stream.stream.then_some(args);
    read_chips(chips, &firmware, process.as_ref(), &args.chip, live)
}

/// Returns the simulated chip that a process serves, if the process's environment names a socket.
/// Also removes sockets left behind by programs that were killed.
fn shared_chips(process: &Process, args: &ChipArgs) -> Result<Option<Chips>, Failure> {
    remove_stale(&std::env::temp_dir());
    let Some(socket) = process.chip_socket() else { return Ok(None) };
    let (chip, facts) = SharedChip::connect(&socket).or_fail()?;
    if let Some(asked) = args.chip.filter(|&asked| u32::try_from(asked) != Ok(facts.chip_id)) {
        let found = facts.chip_id;
        return Err(failure!("expected chip {asked}, but the program serves chip {found}"));
    }
    Ok(Some(Chips { chips: vec![(Box::new(chip), facts)], are_simulated: true }))
}

#[cfg(feature = "chip")]
fn driver_chips(args: &ChipArgs) -> Result<Chips, Failure> {
    let chips = chip::driver::open(args.chip).or_fail()?.into_iter();
    let chips = chips.map(|(chip, facts)| (Box::new(chip) as AnyChip, facts)).collect();
    Ok(Chips { chips, are_simulated: false })
}

#[cfg(not(feature = "chip"))]
fn driver_chips(_: &ChipArgs) -> Result<Chips, Failure> {
    refuse_build_without_driver().map(|()| Chips { chips: Vec::new(), are_simulated: false })
}

#[cfg_attr(feature = "chip", expect(clippy::unnecessary_wraps, reason = "depends on the build"))]
fn refuse_build_without_driver() -> Result<(), Failure> {
    #[cfg(feature = "chip")]
    return Ok(());
    #[cfg(not(feature = "chip"))]
    Err(failure!(
        "this kprof was built without access to chips; build it with `cargo build -p kprof \
         --features chip`"
    ))
}

/// Returns the firmware that the arguments name or, if they name none, the firmware of the process.
fn firmware(process: &Process, args: &ChipArgs) -> Result<Firmware, Failure> {
    let Some(elf) = &args.elf else { return process.firmware().or_fail() };
    let layout = FirmwareLayout::open(elf).or_fail()?;
    let layouts = BTreeMap::from([(layout.arch, (elf.clone(), layout))]);
    Ok(Firmware { layouts, found_in: "the named file".to_owned() })
}

fn read_chips(
    Chips { chips, are_simulated }: Chips,
    firmware: &Firmware,
    process: Option<&Process>,
    args: &ChipArgs,
    live: Option<&AttachArgs>,
) -> Result<ExitCode, Failure> {
    let is_writing = args.write || live.is_some();
    let mut mesh = open_mesh(chips, firmware, args, is_writing)?;
    let (mut names, ops) = Names::open(&mut mesh, process, args)?;
    let capture = args.output.clone();
    let capture = capture.map(|path| CaptureTarget { path, append: false, is_counter_pass: false });
    let options = ReadOptions {
        read_only: !is_writing,
        program_support_count: support_count(args),
        sums_enabled: args.enable_sum_profiling,
        ..ReadOptions::default()
    };
    let mut recording = Recording::new(options, capture.as_ref(), ops)?;
    if !are_simulated {
        recording.recorder.open_clocks(&mut mesh);
    }
    match live {
        None => recording.read(&mut mesh, names.zones(), true)?,
        Some(live) => {
            let title = match live.pid {
                Some(pid) => format!("kprof: chips of process {pid}"),
                None => "kprof: chips of this host".to_owned(),
            };
            recording.view = begin_view(&live.view, &title, &mut mesh)?;
            LiveReads::begin(live.stream, process)?.run(&mut recording, &mut mesh, &mut names)?;
        }
    }
    if !are_simulated {
        recording.recorder.close_clocks(&mut mesh).or_fail()?;
    }
    for device in &mesh.devices {
        if let Some(stopped) = device.rails().stopped() {
            let chip_id = device.description().chip_id;
            note!("kprof: chip {chip_id}: {stopped}; only data read before is shown");
        }
    }
    let (recording, view) = recording.finish()?;
    let shown = show(recording, mesh.devices.len(), &firmware.found_in, args);
    view.iter().for_each(wait_for_viewers);
    shown
}

fn show(
    recording: recording::Recording,
    devices: usize,
    firmware: &str,
    args: &ChipArgs,
) -> Result<ExitCode, Failure> {
    let findings = Findings::new(recording, args.show)?;
    let source = Source { devices, ..Source::new(&findings, HostCounts::default()) };
    let chips = counted(source.devices as u64, "chip", "chips");
    let title = format!("{}, {chips}, firmware from {firmware}", source.arch);
    findings.show(&title, &source, args.show)
}

fn open_mesh(
    chips: Vec<(AnyChip, ChipFacts)>,
    firmware: &Firmware,
    args: &ChipArgs,
    is_writing: bool,
) -> Result<ChipMesh<AnyChip>, Failure> {
    let options = OpenOptions {
        writes: if is_writing { Writes::ControlVectors } else { Writes::Refused },
        program_support_count: support_count(args),
        sums_enabled: args.enable_sum_profiling,
    };
    let mut devices = Vec::new();
    for (chip, facts) in chips {
        let layout = layout_of(&facts, firmware)?;
        let device = ChipDevice::open(chip, &facts, layout, &options).or_fail()?;
        print_unread(&device);
        devices.push(device);
    }
    Ok(ChipMesh { devices })
}

/// Prints how many Ethernet cores are not read. If the chip has Ethernet links, also prints that
/// chips reached only over Ethernet may not be read.
fn print_unread(device: &ChipDevice<AnyChip>) {
    let chip = device.description();
    let untold = device.untold_ethernet_cores();
    if untold > 0 {
        note!(
            "kprof: chip {}: {} not read: no control vector with the address of markers was found",
            chip.chip_id,
            counted(untold as u64, "Ethernet core is", "Ethernet cores are"),
        );
    }
    if chip.cores.iter().any(|core| core.kind == CoreKind::ActiveEth) {
        note!(
            "kprof: chip {}: chips connected only over its Ethernet are not read: luwen would \
             access them through a queue that the running program uses",
            chip.chip_id,
        );
    }
}

fn layout_of<'a>(facts: &ChipFacts, firmware: &'a Firmware) -> Result<&'a FirmwareLayout, Failure> {
    let found = firmware.layouts.get(&facts.arch);
    found.map(|(_, layout)| layout).ok_or_else(|| {
        let known: Vec<String> = firmware.layouts.keys().map(Arch::to_string).collect();
        let ChipFacts { chip_id, arch, .. } = facts;
        failure!(
            "chip {chip_id} is a {arch}, but the firmware in {} is for {}; name the chip's own \
             with --elf",
            firmware.found_in,
            known.join(", ")
        )
    })
}

fn support_count(args: &ChipArgs) -> u32 {
    args.op_support_count.unwrap_or(DEFAULT_PROGRAM_SUPPORT_COUNT)
}
