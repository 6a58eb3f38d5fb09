//! Kernels in tt-metal's tree that use the profiler, compiled with either header, and our own
//! kernels, linked against firmware as tt-metal links them.

use crate::{
    drawn::{drawn, tries_every_build},
    firmware,
    package::{Package, package, sources},
    program::Program,
    toolchain::{
        Chip, Header, Mode, Processor, Target, first_error, folder, in_parallel, run, zone_texts,
    },
    weaken::weaken,
};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Names that show that a source uses the profiler.
///
/// # Compatibility
/// Names of `kernel_profiler.hpp` and of the headers that it includes.
const NAMES: [&str; 9] = [
    "kernel_profiler",
    "DeviceZoneScoped",
    "DeviceTimestampedData",
    "DeviceRecordEvent",
    "DeviceValidateProfiler",
    "RECORD_NOC_EVENT",
    "RECORD_FABRIC",
    "SYNC_WAIT",
    "SYNC_SIGNAL",
];

/// Returns the sources of kernels that use the profiler, below the package's root, except kernels
/// for Quasar.
fn kernels_that_name_the_profiler(package: &Package) -> Vec<PathBuf> {
    kernels_that(package, &NAMES)
}

/// Returns the sources of kernels that contain one of some texts, except kernels for Quasar.
pub(crate) fn kernels_that(package: &Package, texts: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["ttnn/cpp", "tt_metal/impl", "tt_metal/fabric", "tt_metal/tools"] {
        visit(&package.root.join(folder), &mut |path| {
            let is_kernel = path.extension().is_some_and(|extension| extension == "cpp")
                && !path.to_string_lossy().contains("quasar");
            if is_kernel {
                let text = fs::read(path).unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                if texts.iter().any(|name| text.contains(name)) {
                    found.push(path.to_owned());
                }
            }
        });
    }
    found.sort();
    found
}

pub(crate) fn visit(folder: &Path, action: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            visit(&path, action);
        } else {
            action(&path);
        }
    }
}

/// Returns the processors of a kernel: TRISCs for compute kernels, data movers for the others.
fn processors(chip: Chip, kernel: &Path) -> Vec<Processor> {
    if kernel.to_string_lossy().contains("compute") {
        return vec![Processor::Trisc0, Processor::Trisc1, Processor::Trisc2];
    }
    match chip {
        Chip::Wormhole => vec![Processor::Ncrisc],
        Chip::Blackhole => vec![Processor::Brisc],
    }
}

/// A kernel on a processor, with the files that the JIT generates for it.
pub(crate) struct Job {
    chip: Chip,
    processor: Processor,
    kernel: PathBuf,
    folder: PathBuf,
    /// Further definitions, without `-D`.
    defines: Vec<String>,
    mode: Mode,
    /// Optimisation level without the dash; `None` for tt-metal's own choice.
    optimisation: Option<&'static str>,
}

impl Job {
    /// Returns a job with its own folder, since jobs of the same kernel run in parallel.
    pub(crate) fn new(chip: Chip, processor: Processor, kernel: PathBuf) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = folder("kernels").join(format!("{chip}-{processor}-{number}"));
        fs::create_dir_all(&folder).unwrap();
        let defines = Vec::new();
        let (mode, optimisation) = (Mode::Plain, None);
        let job = Self { chip, processor, kernel, folder, defines, mode, optimisation };
        job.generate();
        job
    }

    pub(crate) fn with_defines(self, defines: Vec<String>) -> Self {
        Self { defines, ..self }
    }

    pub(crate) fn in_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    pub(crate) fn optimised(self, level: &'static str) -> Self {
        Self { optimisation: Some(level), ..self }
    }

    /// Writes the files that include the kernel.
    ///
    /// # Compatibility
    /// `jit_build/genfiles.cpp`; the wrappers `*risck.cc` and `chlkc_list.h` say what they include.
    fn generate(&self) {
        let write = |name: &str, text: String| fs::write(self.folder.join(name), text).unwrap();
        let include = format!("#include \"{}\"\n", self.kernel.display());
        if !self.processor.is_trisc() {
            return write("kernel_includes.hpp", include);
        }
        let part = match self.processor {
            Processor::Trisc0 => "unpack",
            Processor::Trisc1 => "math",
            _ => "pack",
        };
        let text = format!(
            "#define TRISC_{}\n#include \"defines_generated.h\"\n{include}",
            part.to_uppercase()
        );
        write(&format!("chlkc_{part}.cpp"), text);
        write("defines_generated.h", String::new());
    }

    fn target(&self, header: Header) -> Target {
        let target = Target::new(self.chip, self.processor, header);
        let Self { mode, optimisation, .. } = *self;
        let mut target = Target { is_kernel: true, mode, optimisation, ..target };
        let arguments = ["1"; 160].join(",");
        let noc = u32::from(self.processor == Processor::Ncrisc);
        target.defines = vec![
            "NOC_MODE=0".to_owned(),
            format!("NOC_INDEX={noc}"),
            format!("KERNEL_COMPILE_TIME_ARGS={arguments}"),
            "FULL_KERNEL_NAME=\"kernel\"".to_owned(),
        ];
        target.defines.extend(self.defines.iter().cloned());
        target
    }

    fn wrapper(&self, package: &Package) -> PathBuf {
        let name = match self.processor {
            Processor::Brisc => "brisck.cc",
            Processor::Ncrisc => "ncrisck.cc",
            _ => "trisck.cc",
        };
        package.root.join("tt_metal/hw/firmware/src/tt-1xx").join(name)
    }

    pub(crate) fn command(&self, package: &Package, header: Header) -> Command {
        let mut command = self.target(header).compiler(package);
        command.arg("-I").arg(&self.folder);
        if let Some(parent) = self.kernel.parent() {
            command.arg("-I").arg(parent);
        }
        // gcc before 13 rejects `static_assert(false)` in templates that are never instantiated.
        command.arg("-Dstatic_assert(...)=");
        command.args(["-x", "c++"]).arg(self.wrapper(package));
        command
    }

    /// Compiles without output, or up to the stage in `flags`.
    fn compile(&self, package: &Package, header: Header, flags: &[&str]) -> Result<(), String> {
        let mut command = self.command(package, header);
        run(command.args(flags).args(["-o", "/dev/null"])).map(drop)
    }

    /// Returns the texts of the zones in the compiler's log.
    pub(crate) fn zone_texts(&self, package: &Package, header: Header) -> Vec<String> {
        let mut command = self.command(package, header);
        zone_texts(&run(command.arg("-fsyntax-only")).unwrap())
    }

    fn name(&self, package: &Package) -> String {
        let kernel = self.kernel.strip_prefix(&package.root).unwrap_or(&self.kernel);
        format!("{} {} {}", self.chip, self.processor, kernel.display())
    }
}

/// Result of compiling a kernel.
enum Verdict {
    /// gcc rejects the kernel with TT-Metal's header, too, for this reason.
    Excluded(String),
    Compiles,
    /// The kernel compiles with warnings that TT-Metal's header causes, too.
    CompilesWithWarnings,
    /// The kernel compiles only with TT-Metal's header.
    Fault(String),
}

fn judge(package: &Package, job: &Job) -> Verdict {
    if let Err(error) = job.compile(package, Header::Upstream, &["-fsyntax-only"]) {
        return Verdict::Excluded(first_error(&error).to_owned());
    }
    let Err(error) = job.compile(package, Header::Ours, &["-S", "-Werror"]) else {
        return Verdict::Compiles;
    };
    match job.compile(package, Header::Upstream, &["-S", "-Werror"]) {
        Err(_) if job.compile(package, Header::Ours, &["-S"]).is_ok() => {
            Verdict::CompilesWithWarnings
        }
        // With optimisation, the kernel does not compile with TT-Metal's header either.
        Err(_) if job.compile(package, Header::Upstream, &["-S"]).is_err() => {
            Verdict::Excluded(first_error(&error).to_owned())
        }
        _ => Verdict::Fault(first_error(&error).to_owned()),
    }
}

/// Every kernel that compiles with TT-Metal's header compiles with ours, without a new warning.
#[test]
fn kernels_that_compile_with_upstreams_header_compile_with_ours() {
    let Some(package) = package() else { return };
    let kernels = drawn("kernels", kernels_that_name_the_profiler(package));
    let jobs = jobs_of(&kernels, &[]);
    compile_all(package, &kernels, &jobs, 40, "kernels.txt");
}

/// Every kernel that compiles with TT-Metal's header and recorded NoC events compiles with ours.
/// The kernels include those that send over the fabric.
#[test]
fn kernels_that_record_noc_events_compile_with_ours() {
    let Some(package) = package() else { return };
    let mut kernels = kernels_that_name_the_profiler(package);
    kernels.retain(|kernel| !kernel.to_string_lossy().contains("compute"));
    let mut fabric = kernels_that(package, &["tt_fabric_mux_interface.hpp"]);
    fabric.truncate(FABRIC_KERNELS);
    kernels.extend(fabric);
    kernels.sort();
    kernels.dedup();
    let kernels = drawn("kernels with NoC events", kernels);
    let jobs = jobs_of(&kernels, &["PROFILE_NOC_EVENTS=1"]);
    compile_all(package, &kernels, &jobs, 20, "noc_event_kernels.txt");
}

/// Every kernel that compiles with TT-Metal's header compiles with ours if waits are recorded, one
/// by one or as totals together with NoC events.
#[test]
fn kernels_that_record_waits_compile_with_ours() {
    let Some(package) = package() else { return };
    let mut kernels = kernels_that(package, &["noc_async_full_barrier", "noc_semaphore_wait_min"]);
    kernels.truncate(KERNELS_WITH_WAITS);
    let both: &[&str] = &["KERNEL_PROFILER_WAITS=1", "PROFILE_NOC_EVENTS=1"];
    let mut jobs = jobs_of(&kernels, both);
    jobs.extend(jobs_of(&kernels, &["PROFILE_SYNC_EVENTS"]));
    compile_all(package, &kernels, &jobs, KERNELS_WITH_WAITS, "wait_kernels.txt");
}

/// Number of kernels with waits to try.
const KERNELS_WITH_WAITS: usize = 8;
/// Number of fabric kernels to try.
const FABRIC_KERNELS: usize = 8;

/// Returns each kernel on each of its processors, with further definitions.
fn jobs_of(kernels: &[PathBuf], defines: &[&str]) -> Vec<Job> {
    let defines: Vec<String> = defines.iter().map(|&define| define.to_owned()).collect();
    kernels
        .iter()
        .flat_map(|kernel| Chip::ALL.map(|chip| (kernel, chip)))
        .flat_map(|(kernel, chip)| {
            let processors = processors(chip, kernel);
            processors.into_iter().map(move |one| Job::new(chip, one, kernel.clone()))
        })
        .map(|job| job.with_defines(defines.clone()))
        .collect()
}

/// Compiles with both headers. At least `least` builds must compile with TT-Metal's header. If this
/// run tries only some of the builds, one build is enough.
fn compile_all(package: &Package, kernels: &[PathBuf], jobs: &[Job], least: usize, name: &str) {
    let verdicts = in_parallel(jobs, |job| judge(package, job));
    let (mut list, mut excluded, mut faults) = (String::new(), String::new(), Vec::new());
    let mut compiled = 0;
    for (job, verdict) in jobs.iter().zip(&verdicts) {
        let name = job.name(package);
        match verdict {
            Verdict::Compiles => writeln!(list, "compiles  {name}").unwrap(),
            Verdict::CompilesWithWarnings => {
                writeln!(list, "compiles, with warnings as with upstream's  {name}").unwrap();
            }
            Verdict::Excluded(reason) => writeln!(excluded, "{name}\n    {reason}").unwrap(),
            Verdict::Fault(reason) => faults.push(format!("{name}: {reason}")),
        }
        compiled += usize::from(!matches!(verdict, Verdict::Excluded(_)));
    }
    let table = format!(
        "{list}{compiled} builds of {} kernels compile with upstream's header, {} with ours; gcc \
         refuses the others with upstream's header too:\n{excluded}only with upstream's: {}\n{}\n",
        kernels.len(),
        compiled - faults.len(),
        faults.len(),
        faults.join("\n")
    );
    println!("{table}");
    crate::publish(name, &table);
    let least = if tries_every_build() { least } else { 1 };
    assert!(compiled >= least, "{compiled} builds of kernels compile with upstream's header");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// One of our kernels, linked against its firmware.
struct Linked {
    chip: Chip,
    processor: Processor,
    is_blank: bool,
    /// The program without the profiler, the program with TT-Metal's header, and the program with
    /// our header.
    programs: [Result<Program, String>; 3],
}

const HEADERS: [Header; 3] = [Header::Off, Header::Upstream, Header::Ours];

pub(crate) fn link(
    package: &Package,
    job: &Job,
    is_blank: bool,
    header: Header,
) -> Result<Program, String> {
    let mut target = job.target(header);
    if is_blank {
        target.defines.push("BLANK_KERNEL".to_owned());
    }
    let stem = format!("{header}-{}", if is_blank { "blank" } else { "full" });
    let object = job.folder.join(format!("{stem}.o"));
    let mut command = target.compiler(package);
    command.arg("-I").arg(&job.folder).args(["-flto", "-Werror", "-x", "c++", "-c"]);
    run(command.arg(job.wrapper(package)).arg("-o").arg(&object))?;
    let firmware = firmware::program_in(package, job.chip, job.processor, (header, job.mode))?;
    let weakened = job.folder.join(format!("{header}_weakened.elf"));
    let file = weaken(&firmware.file).map_err(|error| error.to_string())?;
    fs::write(&weakened, file).map_err(|error| error.to_string())?;
    let mut objects = vec![object];
    if (job.chip, job.processor) == (Chip::Wormhole, Processor::Ncrisc) {
        objects.insert(0, package.root.join("runtime/hw/lib/wormhole/wh-iram-start.o"));
    }
    objects.extend(firmware::library_objects(package, &target)?);
    let program = job.folder.join(format!("{stem}.elf"));
    let mut symbols = std::ffi::OsString::from("-Wl,--just-symbols=");
    symbols.push(&weakened);
    let script = firmware::script(package, &target);
    target.link(package, &script, &[vec![PathBuf::from(symbols)], objects].concat(), &program)?;
    Program::read(&program)
}

/// Kernels link against weakened firmware, have no orphan sections, and take no more text than with
/// TT-Metal's header.
#[test]
fn kernels_link_and_are_no_larger_than_with_upstreams_header() {
    let Some(package) = package() else { return };
    let jobs: Vec<_> = Chip::ALL
        .into_iter()
        .flat_map(|chip| Processor::TENSIX.map(|processor| (chip, processor)))
        .map(|(chip, processor)| Job::new(chip, processor, sources().join("kernel.cpp")))
        .flat_map(|job| {
            let again = Job::new(job.chip, job.processor, job.kernel.clone());
            [(job, false), (again, true)]
        })
        .collect();
    let linked = in_parallel(&jobs, |(job, is_blank)| Linked {
        chip: job.chip,
        processor: job.processor,
        is_blank: *is_blank,
        programs: HEADERS.map(|header| link(package, job, *is_blank, header)),
    });
    let mut table = String::from("kernel                     text: none  upstream  ours\n");
    let mut faults = Vec::new();
    for Linked { chip, processor, is_blank, programs } in &linked {
        let kind = if *is_blank { "blank" } else { "full buffer" };
        let name = format!("{chip} {processor} {kind}");
        write!(table, "{name:<31}").unwrap();
        for program in programs {
            let text = program
                .as_ref()
                .map_or_else(|_| "-".to_owned(), |one| one.text_bytes().to_string());
            write!(table, "{text:>8}").unwrap();
        }
        table.push('\n');
        for (program, header) in programs.iter().zip(HEADERS) {
            match program {
                Err(error) => faults.push(format!("{name}, {header}: {}", first_error(error))),
                Ok(program) if !program.orphans().is_empty() => {
                    faults.push(format!("{name}, {header}: orphans {:?}", program.orphans()));
                }
                Ok(_) => {}
            }
        }
        if let [_, Ok(upstream), Ok(ours)] = programs
            && ours.text_bytes() > upstream.text_bytes()
        {
            let [ours, upstream] = [ours, upstream].map(Program::text_bytes);
            faults.push(format!("{name}: {ours} bytes of text, upstream {upstream}"));
        }
    }
    println!("{table}");
    crate::publish("links.txt", &format!("{table}{}\n", faults.join("\n")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
