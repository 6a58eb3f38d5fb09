//! tt-metal's firmware, compiled with each profiler and linked with tt-metal's scripts.

use crate::{
    drawn::{drawn, tries_every_build},
    package::{Package, package},
    program::Program,
    toolchain::{
        self, Builds, Chip, Header, Mode, Processor, Target, first_error, folder, in_parallel, run,
    },
};
use sim::tt_metal::firmware::FirmwareSet;
use std::{
    fmt::Write as _,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// Returns the firmware of a chip, with its sources.
///
/// # Compatibility
/// `srcs` of `hal_1xx_common.cpp`, `wh_hal.cpp` and `bh_hal.cpp`.
pub(crate) fn firmware_of(chip: Chip) -> Vec<(Processor, &'static str)> {
    let mut list = vec![
        (Processor::Brisc, "brisc.cc"),
        (Processor::Ncrisc, "ncrisc.cc"),
        (Processor::Trisc0, "trisc.cc"),
        (Processor::Trisc1, "trisc.cc"),
        (Processor::Trisc2, "trisc.cc"),
        (Processor::IdleErisc, "idle_erisc.cc"),
    ];
    list.extend(match chip {
        Chip::Wormhole => vec![(Processor::Erisc, "erisc.cc")],
        Chip::Blackhole => vec![
            (Processor::SubordinateIdleErisc, "subordinate_erisc.cc"),
            (Processor::ActiveErisc, "active_erisc.cc"),
            (Processor::MainErisc, "active_erisc.cc"),
            (Processor::SubordinateErisc, "subordinate_erisc.cc"),
        ],
    });
    list
}

/// Linked programs of one firmware, by profiler and mode. Each is built at its first use.
struct Row {
    chip: Chip,
    processor: Processor,
    source: &'static str,
    programs: [OnceLock<Result<Program, String>>; COLUMNS.len()],
}

impl Row {
    fn program(&self, package: &Package, column: usize) -> &Result<Program, String> {
        self.programs[column].get_or_init(|| {
            let (header, mode) = COLUMNS[column];
            let target = Target { mode, ..Target::new(self.chip, self.processor, header) };
            build(package, &target, self.source, "firmware").and_then(|path| Program::read(&path))
        })
    }

    fn all(&self, package: &Package) -> [&Result<Program, String>; COLUMNS.len()] {
        std::array::from_fn(|column| self.program(package, column))
    }
}

const COLUMNS: [(Header, Mode); 9] = [
    (Header::Off, Mode::Plain),
    (Header::Upstream, Mode::Plain),
    (Header::Ours, Mode::Plain),
    (Header::Ours, Mode::Sums),
    (Header::Upstream, Mode::Accumulate),
    (Header::Ours, Mode::Accumulate),
    (Header::Upstream, Mode::Dispatch),
    (Header::Ours, Mode::Dispatch),
    (Header::Ours, Mode::Stream),
];

/// Compiles and links one firmware.
pub(crate) fn build(
    package: &Package,
    target: &Target,
    source: &str,
    into: &str,
) -> Result<PathBuf, String> {
    let folder = folder(into);
    let sources = package.root.join("tt_metal/hw/firmware/src/tt-1xx");
    let object = folder.join(format!("{}.o", target.stem()));
    target.object(package, &sources.join(source), &object)?;
    let mut objects = start_of(package, target);
    objects.push(object);
    objects.extend(library_objects(package, target)?);
    let program = folder.join(format!("{}.elf", target.stem()));
    target.link(package, &script(package, target), &objects, &program)?;
    Ok(program)
}

/// Returns the package's start-up code, which is assembled and so independent of the compiler.
fn start_of(package: &Package, target: &Target) -> Vec<PathBuf> {
    let objects = package.root.join("runtime/hw/lib").join(target.chip.folder());
    let names: &[&str] = match (target.chip, target.processor) {
        (_, Processor::Erisc | Processor::MainErisc) => &[],
        (Chip::Wormhole, Processor::Ncrisc) => &["tmu-crt0.o", "wh-iram-trampoline.o"],
        _ => &["tmu-crt0.o"],
    };
    names.iter().map(|name| objects.join(name)).collect()
}

/// Returns the sources that tt-metal ships as objects of its own compiler.
fn library_of(target: &Target) -> Vec<&'static str> {
    let mut parts = vec!["tt_metal/hw/toolchain/substitutes.cpp"];
    match (target.chip, target.processor) {
        (Chip::Wormhole, Processor::Brisc | Processor::IdleErisc) => {
            parts.push("tt_metal/hw/firmware/src/tt-1xx/wormhole/noc.c");
        }
        (Chip::Blackhole, Processor::Brisc | Processor::IdleErisc) => {
            parts.push("tt_metal/hw/firmware/src/tt-1xx/blackhole/noc.c");
        }
        (Chip::Wormhole, Processor::Ncrisc) if !target.is_kernel => {
            parts.push("tt_metal/hw/firmware/src/tt-1xx/tdma_xmov.c");
        }
        (Chip::Wormhole, Processor::Erisc) => {
            parts.push("tt_metal/hw/firmware/src/tt-1xx/erisc-crt0.cc");
        }
        (_, Processor::MainErisc) => {
            parts.push("tt_metal/hw/firmware/src/tt-1xx/active_erisc-crt0.cc");
        }
        _ => {}
    }
    parts
}

/// Compiles the sources of [`library_of`]. They do not include the profiler, so all headers link
/// with the same objects. The objects are compiled once for firmware and once for kernels.
pub(crate) fn library_objects(package: &Package, target: &Target) -> Result<Vec<PathBuf>, String> {
    static OBJECTS: Builds<String, PathBuf> = Builds::new();
    let kind = if target.is_kernel { "kernel" } else { "firmware" };
    let without = Target {
        is_kernel: target.is_kernel,
        optimisation: target.optimisation,
        ..Target::new(target.chip, target.processor, Header::Off)
    };
    let compile = |source: &str| {
        let source = package.root.join(source);
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let level = target.optimisation.unwrap_or("own");
        let name = format!("{}-{kind}-{level}-{name}.o", without.stem());
        OBJECTS.get(name.clone(), || {
            let object = folder("library").join(name);
            without.object_without_layouts(package, &source, &object)?;
            Ok(object)
        })
    };
    library_of(target).into_iter().map(compile).collect()
}

pub(crate) fn script(package: &Package, target: &Target) -> PathBuf {
    let kind = if target.is_kernel { "kernel" } else { "firmware" };
    let scripts = package.root.join("runtime/hw/toolchain").join(target.chip.folder());
    if target.processor == Processor::Erisc {
        let name = if target.is_kernel { "erisc-b0-kernel.ld" } else { "erisc-b0-app.ld" };
        return scripts.join(name);
    }
    scripts.join(format!("{kind}_{}.ld", target.processor.script()))
}

/// Returns all firmware, built once for all tests.
fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    let row = |chip, (processor, source)| Row {
        chip,
        processor,
        source,
        programs: [const { OnceLock::new() }; COLUMNS.len()],
    };
    let rows_of = |chip| firmware_of(chip).into_iter().map(move |one| row(chip, one));
    ROWS.get_or_init(|| Chip::ALL.into_iter().flat_map(rows_of).collect())
}

/// Returns the firmware against which kernels of a processor are linked.
pub(crate) fn program(
    package: &Package,
    chip: Chip,
    processor: Processor,
    header: Header,
) -> Result<Program, String> {
    program_in(package, chip, processor, (header, Mode::Plain))
}

/// Returns the firmware in a mode.
pub(crate) fn program_in(
    package: &Package,
    chip: Chip,
    processor: Processor,
    profiler: (Header, Mode),
) -> Result<Program, String> {
    let row = rows().iter().find(|row| (row.chip, row.processor) == (chip, processor));
    let column = COLUMNS.iter().position(|column| *column == profiler);
    row.zip(column).map_or_else(
        || Err(format!("no firmware of {chip} {processor}")),
        |(row, column)| row.program(package, column).clone(),
    )
}

/// Returns the firmware of all five RISCs of a Tensix core, as a chip boots it.
pub(crate) fn set(package: &Package, chip: Chip, header: Header) -> Arc<FirmwareSet> {
    set_in(package, chip, (header, Mode::Plain))
}

/// Returns the firmware of all five RISCs in a mode.
pub(crate) fn set_in(package: &Package, chip: Chip, profiler: (Header, Mode)) -> Arc<FirmwareSet> {
    let files = Processor::TENSIX.map(|processor| {
        let program = program_in(package, chip, processor, profiler);
        program.unwrap_or_else(|error| panic!("{chip} {processor} {profiler:?}: {error}")).file
    });
    Arc::new(FirmwareSet::from_files(files).unwrap())
}

/// Returns the texts of zones in the firmware of a chip's BRISC, from the compiler's log.
pub(crate) fn zone_texts(package: &Package, chip: Chip, profiler: (Header, Mode)) -> Vec<String> {
    zone_texts_of(package, (chip, Processor::Brisc), profiler)
}

/// Returns the texts of zones in the firmware of any processor.
pub(crate) fn zone_texts_of(
    package: &Package,
    (chip, processor): (Chip, Processor),
    (header, mode): (Header, Mode),
) -> Vec<String> {
    let target = Target { mode, ..Target::new(chip, processor, header) };
    let mut command = target.compiler(package);
    let row = firmware_of(chip).into_iter().find(|(one, _)| *one == processor);
    let source = row.map_or("brisc.cc", |(_, source)| source);
    let source = package.root.join("tt_metal/hw/firmware/src/tt-1xx").join(source);
    let output = run(command.args(["-fsyntax-only", "-x", "c++"]).arg(source)).unwrap();
    toolchain::zone_texts(&output)
}

fn table(package: &Package, rows: &[&Row]) -> String {
    let name = |(header, mode): (Header, Mode)| format!("{header}{}", mode.suffix());
    let names: String = COLUMNS.map(|column| format!("{:>15}", name(column))).concat();
    let mut table = format!("firmware                          limit |{names} | RAM:{names} |\n");
    for row in rows {
        let cell = |program: &Result<Program, String>, of: fn(&Program) -> u32| {
            program.as_ref().map_or_else(|_| "-".to_owned(), |program| of(program).to_string())
        };
        let programs = row.all(package);
        let limit = programs.into_iter().flatten().find_map(Program::text_limit);
        let limit = limit.map_or_else(|| "-".to_owned(), |limit| limit.to_string());
        let firmware = format!("{} {}", row.chip, row.processor);
        write!(table, "{firmware:<33} {limit:>5} |").unwrap();
        for of in [Program::text_bytes as fn(&Program) -> u32, Program::ram_bytes] {
            for program in programs {
                write!(table, "{:>15}", cell(program, of)).unwrap();
            }
            table.push_str(" |");
        }
        table.push('\n');
        for (program, column) in programs.into_iter().zip(COLUMNS) {
            if let Err(error) = program {
                writeln!(table, "    {}: {}", name(column), first_error(error)).unwrap();
            }
        }
    }
    table
}

/// Returns the firmware that this run tries. BRISC's firmware of both chips is always included,
/// because it compiles with TT-Metal's header.
fn tried_rows() -> Vec<&'static Row> {
    let (always, others): (Vec<&Row>, _) =
        rows().iter().partition(|row| row.processor == Processor::Brisc);
    always.into_iter().chain(drawn("firmware sources", others)).collect()
}

/// Every firmware compiles, links and fits with our header.
///
/// With or without profiled dispatch cores, it takes less text than with TT-Metal's header and no
/// more RAM. With sums, or with shared pushes, it takes at most TT-Metal's text.
#[test]
fn firmware_fits_and_is_smaller_than_with_upstreams_header() {
    let Some(package) = package() else { return };
    let rows = tried_rows();
    let cells: Vec<_> =
        rows.iter().flat_map(|row| (0..COLUMNS.len()).map(move |column| (row, column))).collect();
    in_parallel(&cells, |(row, column)| {
        row.program(package, *column);
    });
    let table = table(package, &rows);
    println!("{table}");
    crate::publish("firmware.txt", &table);
    let mut faults = Vec::new();
    let mut compared = 0;
    for row in &rows {
        let Row { chip, processor, .. } = row;
        let [
            _,
            plain,
            ours,
            with_sums,
            accumulating,
            ours_accumulating,
            dispatching,
            ours_dispatching,
            streaming,
        ] = row.all(package);
        let columns = [
            (ours, plain, "ours", [1, 0]),
            (with_sums, plain, "ours with sums", [0; 2]),
            // On two NCRISCs, gcc leaves a gap between the variables.
            (ours_accumulating, accumulating, "ours, accumulating", [0, 4]),
            (ours_dispatching, dispatching, "ours, dispatch cores too", [1, 0]),
        ];
        compared += usize::from(plain.is_ok());
        if let (Ok(ours), Ok(streaming)) = (ours, streaming) {
            let bytes = [streaming.text_bytes(), streaming.ram_bytes()];
            if streaming.text_limit().is_some_and(|limit| bytes[0] > limit)
                || bytes[1] > ours.ram_bytes()
            {
                faults.push(format!("{chip} {processor}, streaming: {bytes:?} bytes"));
            }
        } else if ours.is_ok() {
            let error = streaming.as_ref().err().map_or("", |error| first_error(error));
            faults.push(format!("{chip} {processor}, streaming: {error}"));
        }
        for (ours, upstream, name, [least_saved, more_ram]) in columns {
            let Ok(upstream) = upstream else { continue };
            let ours = match ours {
                Ok(ours) => ours,
                Err(error) => {
                    faults.push(format!("{chip} {processor}, {name}: {}", first_error(error)));
                    continue;
                }
            };
            if ours.text_bytes() > upstream.text_bytes() - least_saved {
                let bytes = ours.text_bytes();
                faults.push(format!("{chip} {processor}, {name}: {bytes} bytes of text"));
            }
            if ours.text_limit().is_some_and(|limit| ours.text_bytes() > limit) {
                faults.push(format!("{chip} {processor}, {name}: does not fit"));
            }
            if ours.ram_bytes() > upstream.ram_bytes() + more_ram {
                let bytes = ours.ram_bytes();
                faults.push(format!("{chip} {processor}, {name}: {bytes} bytes of RAM"));
            }
        }
    }
    let least = if tries_every_build() { 9 } else { Chip::ALL.len() };
    assert!(compared >= least, "{compared} firmware builds compile with upstream's header");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
