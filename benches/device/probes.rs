//! Images of the probes, linked by `build.rs`.

use sim::{arch::Arch, machine::images::ParsedImage};
use std::sync::OnceLock;

/// A linked ELF in the list written by `build.rs`.
struct ProbeImage {
    arch: &'static str,
    has_sums: bool,
    is_enabled: bool,
    part: &'static str,
    processor: &'static str,
    digest: u64,
    elf: &'static [u8],
}

static EMBEDDED: &[ProbeImage] = &include!(concat!(env!("OUT_DIR"), "/images.rs"));

/// Returns true if this build includes the probes. Building the probes requires the compiler target
/// of the RISCs.
pub(crate) const fn are_there() -> bool {
    !EMBEDDED.is_empty()
}

fn parsed() -> &'static [ParsedImage] {
    static PARSED: OnceLock<Vec<ParsedImage>> = OnceLock::new();
    PARSED.get_or_init(|| {
        EMBEDDED.iter().map(|embedded| ParsedImage::parse(embedded.elf, embedded.digest)).collect()
    })
}

fn image(is_wanted: impl Fn(&ProbeImage) -> bool) -> &'static ParsedImage {
    let index = EMBEDDED.iter().position(is_wanted).expect("the build has every image");
    &parsed()[index]
}

/// Returns the image of BRISC's probes that was built with these options.
///
/// `part` is `probes`, or `probes-out-of-line` (only for Wormhole without sums). With a C++
/// compiler there are also `cpp_probes`, `cpp_probes_small` (-Os), `cpp_probes_addresses` and
/// `cpp_probes_dispatch`. Without the profiler, only probes for Wormhole exist.
pub(crate) fn find(
    arch: Arch,
    has_sums: bool,
    is_enabled: bool,
    part: &str,
) -> &'static ParsedImage {
    image(|image| {
        image.arch == arch.facts().name
            && (image.has_sums, image.is_enabled) == (has_sums, is_enabled)
            && (image.part, image.processor) == (part, "brisc")
    })
}

/// Returns the firmware of a processor that was built without the profiler.
pub(crate) fn firmware_without_profiler(processor: &str) -> &'static ParsedImage {
    image(|image| (image.part, image.processor) == ("firmware", processor))
}
