//! `kprof attach --where`: where the RISCs of a running program's simulated chip stand.

use super::{AnyChip, Chips, firmware, open_mesh, shared_chips};
use crate::{
    args::{AttachArgs, ChipArgs},
    command::standing::{KernelsOf, StandingRiscs},
    failure::{Failure, failure, note},
    numbers::counted,
    output::print,
    recording::Recording,
};
use chip::{facts::ChipFacts, inspector::OpNames, process::Process};
use host_reader::{
    ReadOptions,
    names::ZoneTable,
    readout::Readout,
    tables::{Rows, Standing},
    zone_names::{NameAge, ZoneNames},
};
use serde::Serialize;
use sim::unfinished::{UnfinishedLaunch, from_json};
use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
};

/// The open launches of a program.
#[derive(Serialize)]
struct Document {
    process: u32,
    /// One row for each RISC of each core with an open launch.
    standing: Rows<'static, Standing>,
}

/// Prints where the RISCs stand in the launches that are open.
pub(super) fn show(args: &AttachArgs) -> Result<ExitCode, Failure> {
    let Some(pid) = args.pid else {
        return Err(failure!("expected the number of a process with --where, found none"));
    };
    let process = Process::new(pid);
    let Some(Chips { chips, .. }) = shared_chips(&process, &args.chip)? else {
        return Err(failure!(
            "expected a program on kprof's simulated chip with --where, started by `kprof record \
             --simulate` or with KPROF_CHIP_SOCKET, found none; where the RISCs of a real chip stand \
             could be read over its debug bus, which kprof has not tried"
        ));
    };
    let mut launches = Vec::new();
    for (chip, _) in &chips {
        let text = chip.standing().map_err(|refusal| failure!("{refusal}"))?;
        launches.append(&mut from_json(&text).map_err(Failure::Sentence)?);
    }
    let inspector = args.chip.inspector.clone().or_else(|| process.inspector());
    let names = inspector.and_then(|folder| OpNames::open(&folder).ok()).unwrap_or_default();
    for launch in &mut launches {
        if let Some(name) = names.names.get(&launch.program_id) {
            launch.program = name.to_string();
        }
    }
    // A program without open launches has no open zones.
    let readout = match launches.is_empty() {
        true => None,
        false => told(readout(chips, &process, &args.chip)),
    };
    let caches = process.kernel_caches();
    let found = StandingRiscs::new(&launches, readout.as_ref(), KernelsOf::Host(caches));
    let rows = args.chip.show.rows;
    if args.chip.show.json {
        let document = Document { process: pid, standing: Rows(found.rows) };
        print(Some(&document), |_| Ok(()))?;
    } else {
        print(None::<&Document>, |out| write(out, &found, &launches, rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(
    out: &mut impl Write,
    found: &StandingRiscs,
    launches: &[UnfinishedLaunch],
    rows: usize,
) -> io::Result<()> {
    let cores = counted(launches.len() as u64, "core", "cores");
    writeln!(out, "A launch is open on {cores}")?;
    for line in found.lines(rows, "is open", "--rows 0 shows all") {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Prints why open zones are not known.
fn told(readout: Result<Readout, Failure>) -> Option<Readout> {
    readout.map_err(|failure| note!("kprof: open zones are not known: {failure}")).ok()
}

/// Reads the records of the chips, also those of launches that have not ended. Nothing is written.
fn readout(
    chips: Vec<(AnyChip, ChipFacts)>,
    process: &Process,
    args: &ChipArgs,
) -> Result<Readout, Failure> {
    let firmware = firmware(process, args)?;
    let mut mesh = open_mesh(chips, &firmware, args, false)?;
    let options = ReadOptions { read_only: true, ..ReadOptions::default() };
    let mut recording = Recording::new(options, None, Vec::new())?;
    recording.read(&mut mesh, zones(process), true)?;
    Ok(recording.finish()?.0.readout)
}

/// Returns the names of the zones in the log of the program's compilations.
fn zones(process: &Process) -> ZoneTable {
    let mut names = ZoneNames::new();
    if let Some(log) = process.path_variable(ZONES_VARIABLE)
        && let Ok(text) = fs::read(&log)
    {
        let lines = text.split(|&byte| byte == b'\n').filter(|line| line.ends_with(ZONE_END));
        let lines: Vec<u8> = lines.collect::<Vec<_>>().join(&b'\n');
        // Zones without names are shown, too.
        let _ = names.add_log(&log.to_string_lossy(), NameAge::AnyBuild, &*lines);
    }
    names.finish().0
}

/// Variable with the path of the log in which `kprof record` keeps the names of zones.
const ZONES_VARIABLE: &str = "KPROF_TTNN_ZONES";
const ZONE_END: &[u8] = b",KERNEL_PROFILER'";
