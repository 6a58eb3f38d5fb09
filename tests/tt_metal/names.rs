//! The names of TT-Metal's profiler header: those that kernels use exist with our header, or the compiler
//! says in a sentence what to use instead.
//!
//! The package's own headers tell which names there are, and its kernels which of them kernels use.

use crate::{
    kernels::{self, Job, kernels_that, visit},
    package::{Package, package},
    toolchain::{Chip, Header, Processor, folder, in_parallel, run},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Headers whose names a kernel may use for the profiler.
///
/// # Compatibility
/// `tt_metal/hw/inc` of ttnn 0.81.1.
const HEADERS: [&str; 5] = [
    "api/debug/kernel_profiler.hpp",
    "hostdev/profiler_common.h",
    "internal/profiler/noc_event_profiler.hpp",
    "internal/profiler/synchronization_event_profiler.hpp",
    "internal/profiler/perf_counters.hpp",
];

/// Words that name nothing: those of the language that can stand in the headers.
const KEYWORDS: [&str; 61] = [
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "class",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "defined",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "namespace",
    "new",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "public",
    "reinterpret_cast",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "true",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "void",
    "volatile",
];

/// Names of the profiler in kernels of public repositories that are not in the package, as found on
/// 30 November 2026 by searches for the header's functions and macros. Beside each: its use in a kernel
/// that our header refuses, or `None` if the name exists.
const PUBLIC: [(&str, Option<&str>); 33] = [
    ("DO_PRAGMA", None),
    ("DeviceIncrementTraceCount", None),
    ("DeviceRecordEvent", None),
    ("DeviceTimestampedData", None),
    ("DeviceValidateProfiler", None),
    ("DeviceZoneScopedMainChildN", None),
    ("DeviceZoneScopedMainN", None),
    ("DeviceZoneScopedN", None),
    ("DeviceZoneScopedND", Some("DeviceZoneScopedND(\"CQ\")")),
    ("DeviceZoneScopedSumN1", None),
    ("DeviceZoneScopedSumN2", None),
    ("DeviceZoneSetCounter", None),
    ("PROFILER_MSG_NAME", None),
    ("RECORD_NOC_EVENT", None),
    ("RECORD_NOC_EVENT_WITH_ADDR", None),
    ("SrcLocNameToHash", None),
    ("CUSTOM_MARKERS", None),
    ("DoingDispatch", None),
    ("Hash16_CT", None),
    ("PROFILER_L1_MARKER_UINT32_SIZE", None),
    ("bufferHasRoom", None),
    ("flush_to_dram_if_full", None),
    ("mark_time", Some("kernel_profiler::mark_time(5);")),
    ("mark_time_at_index_inlined", None),
    ("profileScope", None),
    ("profileScopeAccumulate", None),
    (
        "profiler_control_buffer",
        Some("uint32_t head = kernel_profiler::profiler_control_buffer[0];"),
    ),
    ("quick_push", None),
    ("recordEvent", None),
    ("stackSize", None),
    ("sums", None),
    ("timeStampedData", None),
    ("wIndex", None),
];

/// Names of TT-Metal's header that are not there, each with a use of it.
const REFUSED: [(&str, &str); 20] = [
    ("ACCUMULATE_FLUSH_HEADROOM", "uint32_t words = kernel_profiler::ACCUMULATE_FLUSH_HEADROOM;"),
    ("DRAM_PROFILER_ADDRESS", "uint32_t word = kernel_profiler::DRAM_PROFILER_ADDRESS;"),
    ("HOST_BUFFER_END_INDEX", "uint32_t word = HOST_BUFFER_END_INDEX;"),
    ("NocRegisterStateSave", "kernel_profiler::NocRegisterStateSave saved;"),
    ("PROFILER_MAIN_SCOPE", "PROFILER_MAIN_SCOPE<7> scope;"),
    ("TRACE_MARK_ALL_ENDS", "uint32_t index = kernel_profiler::TRACE_MARK_ALL_ENDS;"),
    ("TRACE_MARK_FW_START", "uint32_t index = kernel_profiler::TRACE_MARK_FW_START;"),
    ("TRACE_MARK_KERNEL_START", "uint32_t index = kernel_profiler::TRACE_MARK_KERNEL_START;"),
    ("get_dropped_timestamps", "kernel_profiler::get_dropped_timestamps(0);"),
    ("main_accumulate_begin", "kernel_profiler::main_accumulate_begin();"),
    ("main_accumulate_end", "kernel_profiler::main_accumulate_end();"),
    ("mark_dropped_timestamps", "kernel_profiler::mark_dropped_timestamps(0);"),
    ("mark_padding", "kernel_profiler::mark_padding();"),
    ("myRiscID", "uint32_t risc = myRiscID;"),
    ("profiler_control_buffer", "uint32_t word = kernel_profiler::profiler_control_buffer[0];"),
    ("profiler_data_buffer", "uint32_t word = kernel_profiler::profiler_data_buffer[0].data[4];"),
    (
        "profiler_noc_async_flush_posted_write",
        "kernel_profiler::profiler_noc_async_flush_posted_write();",
    ),
    (
        "profiler_noc_async_write_posted",
        "kernel_profiler::profiler_noc_async_write_posted(0, 0, 4);",
    ),
    ("risc_finished_profiling", "kernel_profiler::risc_finished_profiling();"),
    ("signal_host_buffer_full", "kernel_profiler::signal_host_buffer_full();"),
];

/// Returns the words of a text that can be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split(move |character: char| !is_part(character));
    words.filter(|word| word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
}

fn header_texts(package: &Package) -> Vec<String> {
    let folder = package.root.join("tt_metal/hw/inc");
    HEADERS.iter().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect()
}

/// A processor whose kernels may use the names.
#[derive(Clone, Copy, Debug)]
struct Place {
    chip: Chip,
    processor: Processor,
    header: Header,
}

impl Place {
    fn job(self, name: &str, text: &str) -> Job {
        let Self { chip, processor, header } = self;
        let file = folder("names").join(format!("{chip}-{processor}-{header}-{name}.cpp"));
        fs::write(&file, text).unwrap();
        Job::new(chip, processor, file)
    }

    /// Returns the macros that are defined.
    fn macros(self, package: &Package, words: &BTreeSet<String>) -> BTreeSet<String> {
        let asked = words
            .iter()
            .map(|word| format!("#if defined({word})\nkernel_profiler_has \"{word}\"\n#endif\n"));
        let text = format!("{INCLUDE}{}", asked.collect::<String>());
        let job = self.job("macros", &text);
        let mut command = job.command(package, self.header);
        let output = run(command.arg("-E")).unwrap();
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = output.lines().filter_map(|line| line.strip_prefix("kernel_profiler_has \""));
        lines.filter_map(|line| Some(line.split_once('"')?.0.to_owned())).collect()
    }

    /// Returns the words that are names in the namespace of the profiler.
    fn names(self, package: &Package, words: &BTreeSet<String>) -> BTreeSet<String> {
        let words: Vec<&String> = words.iter().collect();
        let asked = words.iter().map(|word| format!("using kernel_profiler::{word};\n"));
        let text = format!("{INCLUDE}namespace asked {{\n{}}}\n", asked.collect::<String>());
        let first = 1 + text.lines().position(|line| line.starts_with("using ")).unwrap();
        let job = self.job("names", &text);
        let mut command = job.command(package, self.header);
        let errors = run(command.arg("-fsyntax-only")).err().unwrap_or_default();
        let mark = format!("{}-{}-{}-names.cpp:", self.chip, self.processor, self.header);
        let refused: BTreeSet<usize> = errors
            .lines()
            .filter(|line| line.contains(" error: "))
            .filter_map(|line| line.split_once(&mark)?.1.split(':').next()?.parse().ok())
            .collect();
        let found = words.into_iter().zip(first..).filter(|(_, line)| !refused.contains(line));
        found.map(|(word, _)| word.clone()).collect()
    }
}

const INCLUDE: &str = "#include \"api/debug/kernel_profiler.hpp\"\n";

/// The names that a header gives to kernels: macros, and names in its namespace.
fn names_of(package: &Package, place: Place, words: &BTreeSet<String>) -> [BTreeSet<String>; 2] {
    let macros = place.macros(package, words);
    let rest = words - &macros;
    let names = place.names(package, &rest);
    [macros, names]
}

fn places(header: Header) -> Vec<Place> {
    let processors = [Processor::Brisc, Processor::Ncrisc, Processor::Trisc1];
    let places = Chip::ALL.into_iter().flat_map(|chip| processors.map(|of| (chip, of)));
    places.map(|(chip, processor)| Place { chip, processor, header }).collect()
}

/// Returns the words of the headers, and of the lists here, that can be names.
fn candidates(package: &Package) -> BTreeSet<String> {
    let texts = header_texts(package);
    let of_headers = texts.iter().flat_map(|text| words(text));
    let public = PUBLIC.iter().map(|(name, _)| *name);
    let all = of_headers.chain(public).filter(|word| !KEYWORDS.contains(word));
    all.map(str::to_owned).collect()
}

#[test]
fn every_name_that_kernels_have_with_upstreams_header_exists_with_ours() {
    let Some(package) = package() else { return };
    let candidates = candidates(package);
    let (mut missing, mut count) = (BTreeMap::new(), 0);
    let found = in_parallel(&places(Header::Upstream), |&place| {
        let ours = Place { header: Header::Ours, ..place };
        [place, ours].map(|place| names_of(package, place, &candidates))
    });
    for (place, [upstream, ours]) in places(Header::Upstream).iter().zip(&found) {
        for (upstream, ours) in upstream.iter().zip(ours) {
            count += upstream.len();
            let absent: Vec<_> = upstream.difference(ours).filter(|name| !is_inner(name)).collect();
            if !absent.is_empty() {
                missing.insert(format!("{} {}", place.chip, place.processor), absent);
            }
        }
    }
    // The list is no list of nothing: the header alone declares more than a hundred names.
    assert!(count > 6 * 100, "{count}");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns true for names that are parts of TT-Metal's header itself, such as the guards of its parts.
fn is_inner(name: &str) -> bool {
    name.ends_with("_IMPL_")
}

#[test]
fn every_name_of_the_profiler_in_the_packages_kernels_and_in_public_ones_exists_or_is_refused() {
    let Some(package) = package() else { return };
    let candidates = candidates(package);
    let place = |chip| Place { chip, processor: Processor::Brisc, header: Header::Ours };
    let both = in_parallel(&Chip::ALL, |&chip| names_of(package, place(chip), &candidates));
    let ours: BTreeSet<&String> = both.iter().flatten().flatten().collect();
    let upstream = Place { header: Header::Upstream, ..place(Chip::Blackhole) };
    let upstream = names_of(package, upstream, &candidates);
    let macros: BTreeSet<&str> = upstream[0].iter().map(String::as_str).collect();
    let (mut used, kernels) = (BTreeMap::<String, PathBuf>::new(), sources(package));
    assert!(kernels.len() >= 200, "{} kernels", kernels.len());
    for kernel in &kernels {
        let text = fs::read(kernel).unwrap();
        let text = String::from_utf8_lossy(&text);
        let of_namespace = text.split("kernel_profiler::").skip(1).filter_map(|rest| {
            let end = rest.find(|one: char| !one.is_ascii_alphanumeric() && one != '_')?;
            Some(&rest[..end])
        });
        let of_macros = words(&text).filter(|word| macros.contains(word));
        let is_profilers = |word: &&str| {
            ["Device", "RECORD_", "SYNC_", "PROFILER_"].iter().any(|one| word.starts_with(one))
        };
        for name in of_namespace.chain(of_macros.filter(is_profilers)) {
            used.entry(name.to_owned()).or_insert_with(|| kernel.clone());
        }
    }
    assert!(used.len() >= 10, "{used:#?}");
    let absent: Vec<_> = used.iter().filter(|(name, _)| !ours.contains(name)).collect();
    assert!(absent.is_empty(), "of {} kernels: {absent:#?}", kernels.len());
    let public: Vec<_> =
        PUBLIC.iter().filter(|(name, _)| !ours.contains(&(*name).to_owned())).collect();
    assert!(public.is_empty(), "{public:?}");
    println!("{} names in {} kernels", used.len(), kernels.len());
}

/// Returns the kernels of the package and the headers beside them, except those for Quasar and those of
/// TT-Metal's streaming profiler, whose builds get TT-Metal's own header.
fn sources(package: &Package) -> Vec<PathBuf> {
    let mut kernels = kernels_that(package, &["kernel_main", "MAIN"]);
    let mut headers = Vec::new();
    visit(&package.root.join("ttnn/cpp"), &mut |path: &Path| {
        if path.extension().is_some_and(|extension| extension == "hpp" || extension == "h") {
            let text = fs::read(path).unwrap_or_default();
            let is_of_kernel = path.to_string_lossy().contains("kernels/");
            if is_of_kernel && String::from_utf8_lossy(&text).contains("Device") {
                headers.push(path.to_owned());
            }
        }
    });
    kernels.append(&mut headers);
    kernels.retain(|path| {
        let path = path.to_string_lossy();
        !path.contains("quasar") && !path.contains("streaming_profiler")
    });
    kernels
}

#[test]
fn names_that_cannot_be_there_are_refused_in_a_sentence() {
    let Some(package) = package() else { return };
    let public = PUBLIC.iter().filter_map(|(name, code)| Some((*name, (*code)?)));
    let refused: Vec<_> = REFUSED.into_iter().chain(public).collect();
    let verdicts = in_parallel(&refused, |&(name, code)| {
        let text = format!("{INCLUDE}void kernel_main() {{\n    {code}\n}}\n");
        let chip = if name.len() % 2 == 0 { Chip::Wormhole } else { Chip::Blackhole };
        let place = Place { chip, processor: Processor::Brisc, header: Header::Ours };
        kernels::link(package, &place.job(name, &text), false, Header::Ours).err()
    });
    for ((name, code), verdict) in refused.iter().zip(&verdicts) {
        let error = verdict.as_ref().unwrap_or_else(|| panic!("{name} compiles: {code}"));
        let sentences =
            ["expected DeviceZoneScopedN, ", "expected DeviceZoneScopedN for an interval"];
        assert!(sentences.iter().any(|one| error.contains(one)), "{name}: {error}");
    }
}
