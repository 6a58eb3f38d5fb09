//! Command lines of tt-metal's JIT, for Debian's gcc instead of Tenstorrent's.
//!
//! # Compatibility
//! Flags, defines, include paths and link lines: tt-metal's `jit_build/build.cpp` and
//! `llrt/hal/tt-1xx/{wormhole/wh,blackhole/bh}_hal.cpp`; `--param=min-pagesize=0` is in the
//! `DW_AT_producer` of the package's precompiled firmware. Features that only Tenstorrent's
//! compiler has are replaced: its `-mcpu`, `.ttinsn` and `lltt.h` (folder `shims`), its C library
//! (declarations in `shims`) and its C++ library (the host's headers of the same version of gcc).

use crate::package::{Package, our_include, sources};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Condvar, Mutex, OnceLock},
};
use wire::dram::{DEFAULT_PROGRAM_SUPPORT_COUNT, bytes_per_program};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Chip {
    Wormhole,
    Blackhole,
}

impl Chip {
    pub(crate) const ALL: [Self; 2] = [Self::Wormhole, Self::Blackhole];

    /// Returns the name of the chip's folders under `runtime/hw` and `hw/inc`.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Wormhole => "wormhole",
            Self::Blackhole => "blackhole",
        }
    }

    /// Returns the name of the chip's folders under `ckernels` and `tt-llk`.
    const fn kernels_folder(self) -> &'static str {
        match self {
            Self::Wormhole => "wormhole_b0",
            Self::Blackhole => "blackhole",
        }
    }

    /// Returns the macro that Tenstorrent's `-mcpu=tt-*-tensix` defines, which is passed only for
    /// TRISCs.
    ///
    /// # Compatibility
    /// `ckernel_ops.h` of both chips. Without the macro, Tensix instructions are errors of the
    /// assembler, which appear in the first function that is linked.
    const fn tensix_define(self) -> &'static str {
        match self {
            Self::Wormhole => "__riscv_xtttensixwh=1",
            Self::Blackhole => "__riscv_xtttensixbh=1",
        }
    }

    /// Returns a board's banks and addresses, as tt-metal defines them.
    const fn defines(self) -> &'static [&'static str] {
        match self {
            Self::Wormhole => &[
                "ARCH_WORMHOLE",
                "NUM_DRAM_BANKS=12",
                "IS_NOT_POW2_NUM_DRAM_BANKS=1",
                "NUM_L1_BANKS=64",
                "LOG_BASE_2_OF_NUM_L1_BANKS=6",
                "PCIE_NOC_X=0",
                "PCIE_NOC_Y=3",
            ],
            Self::Blackhole => &[
                "ARCH_BLACKHOLE",
                "NUM_DRAM_BANKS=8",
                "LOG_BASE_2_OF_NUM_DRAM_BANKS=3",
                "NUM_L1_BANKS=130",
                "IS_NOT_POW2_NUM_L1_BANKS=1",
                "PCIE_NOC_X=19",
                "PCIE_NOC_Y=24",
            ],
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.folder())
    }
}

/// A processor for which firmware or a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Processor {
    Brisc,
    Ncrisc,
    Trisc0,
    Trisc1,
    Trisc2,
    IdleErisc,
    SubordinateIdleErisc,
    /// Wormhole's active Ethernet RISC, shared with the base firmware.
    Erisc,
    /// Blackhole's active Ethernet RISC that the base firmware does not use.
    ActiveErisc,
    /// Blackhole's main Ethernet RISC, if both RISCs run our code.
    MainErisc,
    SubordinateErisc,
}

impl Processor {
    pub(crate) const TENSIX: [Self; 5] =
        [Self::Brisc, Self::Ncrisc, Self::Trisc0, Self::Trisc1, Self::Trisc2];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Brisc => "brisc",
            Self::Ncrisc => "ncrisc",
            Self::Trisc0 => "trisc0",
            Self::Trisc1 => "trisc1",
            Self::Trisc2 => "trisc2",
            Self::IdleErisc => "idle_erisc",
            Self::SubordinateIdleErisc => "subordinate_idle_erisc",
            Self::Erisc => "erisc",
            Self::ActiveErisc => "active_erisc",
            Self::MainErisc => "main_erisc",
            Self::SubordinateErisc => "subordinate_erisc",
        }
    }

    pub(crate) const fn is_trisc(self) -> bool {
        matches!(self, Self::Trisc0 | Self::Trisc1 | Self::Trisc2)
    }

    /// Returns the name of the processor's linker scripts.
    pub(crate) const fn script(self) -> &'static str {
        match self {
            Self::IdleErisc => "ierisc",
            Self::SubordinateIdleErisc => "subordinate_ierisc",
            Self::Erisc | Self::ActiveErisc => "aerisc",
            Self::MainErisc => "main_aerisc",
            Self::SubordinateErisc => "subordinate_aerisc",
            _ => self.name(),
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table, one entry per processor")]
    const fn defines(self) -> &'static [&'static str] {
        match self {
            Self::Brisc => &["PROCESSOR_INDEX=0", "PROGRAMMABLE_CORE_TYPE=0", "COMPILE_FOR_BRISC"],
            Self::Ncrisc => {
                &["PROCESSOR_INDEX=1", "PROGRAMMABLE_CORE_TYPE=0", "COMPILE_FOR_NCRISC"]
            }
            Self::Trisc0 => &[
                "PROCESSOR_INDEX=2",
                "PROGRAMMABLE_CORE_TYPE=0",
                "COMPILE_FOR_TRISC=0",
                "UCK_CHLKC_UNPACK",
                "NAMESPACE=chlkc_unpack",
            ],
            Self::Trisc1 => &[
                "PROCESSOR_INDEX=3",
                "PROGRAMMABLE_CORE_TYPE=0",
                "COMPILE_FOR_TRISC=1",
                "UCK_CHLKC_MATH",
                "NAMESPACE=chlkc_math",
            ],
            Self::Trisc2 => &[
                "PROCESSOR_INDEX=4",
                "PROGRAMMABLE_CORE_TYPE=0",
                "COMPILE_FOR_TRISC=2",
                "UCK_CHLKC_PACK",
                "NAMESPACE=chlkc_pack",
            ],
            Self::IdleErisc => &[
                "PROCESSOR_INDEX=0",
                "PROGRAMMABLE_CORE_TYPE=2",
                "COMPILE_FOR_IDLE_ERISC=0",
                "ERISC",
                "RISC_B0_HW",
            ],
            Self::SubordinateIdleErisc => &[
                "PROCESSOR_INDEX=1",
                "PROGRAMMABLE_CORE_TYPE=2",
                "COMPILE_FOR_IDLE_ERISC=1",
                "ERISC",
                "RISC_B0_HW",
            ],
            Self::Erisc => &[
                "PROCESSOR_INDEX=0",
                "PROGRAMMABLE_CORE_TYPE=1",
                "COMPILE_FOR_ERISC",
                "ERISC",
                "RISC_B0_HW",
                "COOPERATIVE_ERISC",
                "ROUTING_FW_ENABLED",
            ],
            Self::ActiveErisc => &[
                "PROCESSOR_INDEX=0",
                "PROGRAMMABLE_CORE_TYPE=1",
                "COMPILE_FOR_AERISC=0",
                "ERISC",
                "RISC_B0_HW",
                "PHYSICAL_AERISC_ID=1",
                "ROUTING_FW_ENABLED",
            ],
            Self::MainErisc => &[
                "PROCESSOR_INDEX=0",
                "PROGRAMMABLE_CORE_TYPE=1",
                "COMPILE_FOR_AERISC=0",
                "ERISC",
                "RISC_B0_HW",
                "ENABLE_2_ERISC_MODE",
                "PHYSICAL_AERISC_ID=0",
                "ROUTING_FW_ENABLED",
            ],
            Self::SubordinateErisc => &[
                "PROCESSOR_INDEX=1",
                "PROGRAMMABLE_CORE_TYPE=1",
                "COMPILE_FOR_AERISC=1",
                "ERISC",
                "RISC_B0_HW",
                "ENABLE_2_ERISC_MODE",
                "PHYSICAL_AERISC_ID=1",
                "ROUTING_FW_ENABLED",
            ],
        }
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The profiler header that the sources include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Header {
    /// TT-Metal's header, with the profiler switched off.
    Off,
    Upstream,
    Ours,
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Off => "none",
            Self::Upstream => "upstream",
            Self::Ours => "ours",
        })
    }
}

/// Mode of the profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain,
    /// Sum zones are recorded as well.
    Sums,
    /// Several launches share a push.
    Accumulate,
    /// Dispatch kernels are profiled as well.
    Dispatch,
    /// Records are streamed, in the header's own mode.
    Stream,
    /// Records are streamed, with sums.
    StreamSums,
}

impl Mode {
    /// Returns the value of `PROFILE_KERNEL`.
    ///
    /// # Compatibility
    /// `PROFILER_OPT_*` of `profiler_common.h`.
    const fn options(self) -> u32 {
        match self {
            Self::Plain | Self::Stream => 1,
            Self::Sums | Self::StreamSums => 1 | 1 << 3,
            Self::Accumulate => 1 | 1 << 4,
            Self::Dispatch => 1 | 1 << 1,
        }
    }

    /// Returns true if sums are recorded, too.
    pub(crate) const fn has_sums(self) -> bool {
        matches!(self, Self::Sums | Self::StreamSums)
    }

    const fn is_streaming(self) -> bool {
        matches!(self, Self::Stream | Self::StreamSums)
    }

    /// Returns the suffix of file names.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Sums => "+sums",
            Self::Accumulate => "+runs",
            Self::Dispatch => "+dispatch",
            Self::Stream => "+stream",
            Self::StreamSums => "+stream+sums",
        }
    }
}

/// Target of a compilation: the chip, its processor, and the profiler.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) chip: Chip,
    pub(crate) processor: Processor,
    pub(crate) header: Header,
    pub(crate) mode: Mode,
    pub(crate) is_kernel: bool,
    /// Optimisation level without the dash; `None` for tt-metal's own choice.
    pub(crate) optimisation: Option<&'static str>,
    pub(crate) defines: Vec<String>,
    /// Folder with files that replace files of the package.
    pub(crate) instead: Option<PathBuf>,
}

/// Returns a compiler option that makes the hashes of call sites independent of the folder of the
/// tests. The hashes are constants in the code, and depend on the path of the file.
pub(crate) fn same_paths() -> OsString {
    let mut option = OsString::from("-fmacro-prefix-map=");
    option.push(sources());
    option.push("=tests/tt_metal");
    option
}

impl Target {
    pub(crate) const fn new(chip: Chip, processor: Processor, header: Header) -> Self {
        Self {
            chip,
            processor,
            header,
            mode: Mode::Plain,
            is_kernel: false,
            optimisation: None,
            defines: Vec::new(),
            instead: None,
        }
    }

    /// Returns a name for the target's files. No other target in the same folder has this name.
    pub(crate) fn stem(&self) -> String {
        format!("{}-{}-{}{}", self.chip, self.processor, self.header, self.mode.suffix())
    }

    fn optimisation(&self) -> &'static str {
        let own = if self.processor.is_trisc() { "O3" } else { "Os" };
        self.optimisation.unwrap_or(own)
    }

    /// Returns the flags for both compiling and linking, since whole programs are compiled at link
    /// time.
    pub(crate) fn code_flags(&self) -> Vec<String> {
        let mut flags: Vec<String> =
            ["-march=rv32im_zicsr", "-mabi=ilp32"].map(str::to_owned).to_vec();
        flags.push(format!("-{}", self.optimisation()));
        flags.extend(
            ["-std=c++17", "-ffast-math", "-fno-exceptions", "--param=min-pagesize=0"]
                .map(str::to_owned),
        );
        match self.processor {
            Processor::Erisc => flags.push("-fno-delete-null-pointer-checks".to_owned()),
            processor if processor.is_trisc() => {}
            _ => flags.push("-fno-tree-loop-distribute-patterns".to_owned()),
        }
        flags
    }

    fn all_defines(&self) -> Vec<String> {
        let mut defines: Vec<String> = self
            .chip
            .defines()
            .iter()
            .chain(self.processor.defines())
            .map(|define| (*define).to_owned())
            .collect();
        defines.extend(
            ["TENSIX_FIRMWARE", "LOCAL_MEM_EN=0", "DISPATCH_MESSAGE_ADDR=0xFFB70438"]
                .map(str::to_owned),
        );
        defines.push((if self.is_kernel { "KERNEL_BUILD" } else { "FW_BUILD" }).to_owned());
        if self.processor.is_trisc() {
            defines.push(self.chip.tensix_define().to_owned());
        }
        if self.header != Header::Off {
            defines.push(format!("PROFILE_KERNEL={}", self.mode.options()));
            let lane_bytes = lane_bytes(self.mode.has_sums());
            defines.push(format!("PROFILER_FULL_HOST_BUFFER_SIZE_PER_RISC={lane_bytes}"));
        }
        match self.header {
            Header::Ours if self.mode.is_streaming() => {
                defines.push("KERNEL_PROFILER_STREAM".to_owned());
            }
            Header::Upstream if self.mode.is_streaming() => {
                defines.push("PROFILE_STREAMING".to_owned());
            }
            _ => {}
        }
        defines.extend(self.defines.iter().cloned());
        defines
    }

    /// Returns the include folders, ours first in tests of our header.
    fn includes(&self, package: &Package) -> Vec<PathBuf> {
        let (chip, kernels) = (self.chip.folder(), self.chip.kernels_folder());
        let mut folders = Vec::new();
        if self.header == Header::Ours {
            folders.push(our_include());
        }
        folders.extend(self.instead.clone());
        let below_root = [
            String::new(),
            "ttnn".into(),
            "ttnn/cpp".into(),
            "tt_metal".into(),
            "tt_metal/hw/inc".into(),
            "tt_metal/hostdevcommon/api".into(),
            "tt_metal/api".into(),
            "tt_metal/tt-llk/tools/include".into(),
            format!("tt_metal/hw/ckernels/{kernels}/metal/common"),
            format!("tt_metal/hw/ckernels/{kernels}/metal/llk_io"),
            "tt_metal/hw/inc/internal/tt-1xx".into(),
            format!("tt_metal/hw/inc/internal/tt-1xx/{chip}"),
            format!("tt_metal/hw/inc/internal/tt-1xx/{chip}/{kernels}_defines"),
            format!("tt_metal/hw/inc/internal/tt-1xx/{chip}/noc"),
            format!("tt_metal/tt-llk/tt_llk_{kernels}/common/inc"),
            format!("tt_metal/tt-llk/tt_llk_{kernels}/llk_lib"),
            "tt_metal/tt-llk/common".into(),
            format!("tt_metal/hw/ckernels/{kernels}/metal/llk_api"),
            format!("tt_metal/hw/ckernels/{kernels}/metal/llk_api/llk_sfpu"),
            "tt_metal/hw/inc/internal/ethernet".into(),
            "tt_metal/hw/firmware/src/tt-1xx".into(),
        ];
        folders.extend(below_root.iter().map(|folder| package.root.join(folder)));
        folders
    }

    /// Returns the compiler command with all flags, but without a source and an output file.
    pub(crate) fn compiler(&self, package: &Package) -> Command {
        let mut command = Command::new(&package.compiler);
        command.args(self.code_flags()).args(WARNINGS);
        self.add_sources_flags(package, &mut command);
        command
    }

    /// Returns the command for clang, with the flags that clang supports.
    pub(crate) fn clang(&self, package: &Package, clang: &str, major: u32) -> Command {
        let mut command = Command::new(clang);
        // Older versions treat the instructions of Zicsr as part of I, and do not know the name.
        let architecture = if major < 16 { "-march=rv32im" } else { "-march=rv32im_zicsr" };
        command.args(["--target=riscv32-unknown-elf", architecture, "-ffreestanding"]);
        let is_gccs = |flag: &String| {
            ["-march=", "--param=", "-fno-tree-"].iter().any(|start| flag.starts_with(start))
        };
        command.args(self.code_flags().iter().filter(|flag| !is_gccs(flag)));
        let is_known = |flag: &&&str| **flag != "-Wno-error=multistatement-macros";
        command.args(WARNINGS.iter().filter(is_known));
        self.add_sources_flags(package, &mut command);
        command
    }

    fn add_sources_flags(&self, package: &Package, command: &mut Command) {
        command.args(["-fno-use-cxa-atexit", "-fno-rtti", "-nostdinc++"]);
        let shims = sources().join("shims");
        for folder in [&package.library[0], &shims, &package.library[1]] {
            command.arg("-isystem").arg(folder);
        }
        command.args(["-include", "ttinsn.h"]);
        command.arg(same_paths());
        command.args(self.all_defines().iter().map(|define| format!("-D{define}")));
        for folder in self.includes(package) {
            let mut argument = OsString::from("-I");
            argument.push(folder);
            command.arg(argument);
        }
    }

    /// Compiles a part of a whole program, to be optimised at link time. The simulator takes
    /// layouts from the part's debug information, as with tt-metal's own files.
    pub(crate) fn object(
        &self,
        package: &Package,
        source: &Path,
        object: &Path,
    ) -> Result<(), String> {
        self.object_with(package, &["-g"], source, object)
    }

    /// Compiles like [`Self::object`], but without debug information, in a quarter less time.
    pub(crate) fn object_without_layouts(
        &self,
        package: &Package,
        source: &Path,
        object: &Path,
    ) -> Result<(), String> {
        self.object_with(package, &[], source, object)
    }

    fn object_with(
        &self,
        package: &Package,
        flags: &[&str],
        source: &Path,
        object: &Path,
    ) -> Result<(), String> {
        let mut command = self.compiler(package);
        command.args(flags).args(["-flto", "-Werror", "-x", "c++", "-c"]);
        run(command.arg(source).arg("-o").arg(object)).map(drop)
    }

    /// Links with one of tt-metal's scripts.
    pub(crate) fn link(
        &self,
        package: &Package,
        script: &Path,
        objects: &[PathBuf],
        program: &Path,
    ) -> Result<(), String> {
        let mut command = Command::new(&package.compiler);
        command.args(self.code_flags()).args(["-flto", "-Werror", "-nostartfiles", "-nostdlib"]);
        command.args(["-Wl,-z,max-page-size=16", "-Wl,-z,common-page-size=16"]);
        if self.is_kernel {
            command.arg("-Wl,--emit-relocs");
        }
        if self.processor == Processor::MainErisc {
            // These belong to a C library, which Debian's compiler lacks; this program is only
            // measured.
            command.args(["-Wl,--defsym=setjmp=0", "-Wl,--defsym=longjmp=0"]);
        }
        // The scripts of Wormhole's Ethernet RISC include other scripts.
        command.arg("-L").arg(package.root.join("tt_metal/hw/toolchain"));
        command.arg("-T").arg(script).args(objects).arg(&package.libgcc).arg("-o").arg(program);
        run(&mut command).map(drop)
    }
}

/// Runs a command and returns its output, or its error messages.
pub(crate) fn run(command: &mut Command) -> Result<Output, String> {
    let _turn = Turn::take();
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(text)
}

/// Returns the texts of zones from a compiler's log, as tt-metal does.
pub(crate) fn zone_texts(output: &Output) -> Vec<String> {
    let log = String::from_utf8_lossy(&output.stderr);
    let texts = log.split("'#pragma message: ").skip(1).filter_map(|text| text.split_once('\''));
    let zones = texts.map(|(text, _)| text).filter(|text| text.ends_with(",KERNEL_PROFILER"));
    zones.map(str::to_owned).collect()
}

/// Returns the first line of a compiler's output that reports an error.
pub(crate) fn first_error(output: &str) -> &str {
    let is_error = |line: &&str| {
        ["error", "undefined reference", "region", "overflow"]
            .iter()
            .any(|word| line.contains(word))
    };
    output.lines().find(is_error).or_else(|| output.lines().next()).unwrap_or("no output")
}

/// A slot for one of the compilers that may run in parallel.
struct Turn;

static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());
const AT_MOST: usize = 2;

impl Turn {
    fn take() -> Self {
        let (count, freed) = &RUNNING;
        let count = count.lock().unwrap();
        let mut count = freed.wait_while(count, |count| *count >= AT_MOST).unwrap();
        *count += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (count, freed) = &RUNNING;
        *count.lock().unwrap() -= 1;
        freed.notify_one();
    }
}

/// Applies a function to each item. The number of threads is the number of compilers that may run
/// at once.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..AT_MOST {
            scope.spawn(|| {
                while let Some(item) = {
                    let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    *results[item.0].lock().unwrap() = Some(work(item.1));
                }
            });
        }
    });
    results.into_iter().map(|result| result.into_inner().unwrap().expect("all were done")).collect()
}

/// Results of builds. The first test that needs a result builds it for all tests of a run.
pub(crate) struct Builds<K, T>(Mutex<BTreeMap<K, Cell<T>>>);

/// The result of a build, set when the build has ended.
type Cell<T> = Arc<OnceLock<Result<T, String>>>;

impl<K: Ord, T: Clone> Builds<K, T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns the result of a build, which `build` makes if this is the first request.
    pub(crate) fn get(
        &self,
        key: K,
        build: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        // The map is not locked while a build runs.
        let cell = Arc::clone(self.0.lock().unwrap().entry(key).or_default());
        cell.get_or_init(build).clone()
    }
}

/// Returns a separate folder for a test's build.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tt_metal").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the bytes of a RISC's lane in DRAM, as compiled in: tt-metal's default number of
/// programs.
pub(crate) const fn lane_bytes(has_sums: bool) -> u32 {
    DEFAULT_PROGRAM_SUPPORT_COUNT * bytes_per_program(has_sums)
}

/// tt-metal's warning flags, and the flag for attributes that only Tenstorrent's compiler knows.
const WARNINGS: [&str; 9] = [
    "-Wall",
    "-Wno-unknown-pragmas",
    "-Wno-deprecated-declarations",
    "-Wno-error=multistatement-macros",
    "-Wno-error=parentheses",
    "-Wno-error=unused-but-set-variable",
    "-Wno-unused-variable",
    "-Wno-unused-function",
    "-Wno-attributes",
];
