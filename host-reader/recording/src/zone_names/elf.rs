//! The zone sections of a kernel's ELF.

use object::{Object, ObjectSection};

/// Name of the ELF section that contains the zone texts.
///
/// # Compatibility
/// The name equals `kernel_profiler::names::SECTION`.
const SECTION: &[u8] = b".kprof_zones";

/// Returns the bytes of every zone section, or the reason why a section cannot be read.
pub(super) fn zone_sections(bytes: &[u8]) -> object::Result<Vec<Result<&[u8], String>>> {
    let file = object::File::parse(bytes)?;
    let zones = file.sections().filter(|section| section.name_bytes() == Ok(SECTION));
    Ok(zones.map(|section| section_bytes(&section)).collect())
}

fn section_bytes<'data>(section: &object::Section<'data, '_>) -> Result<&'data [u8], String> {
    let range = section.compressed_file_range().map_err(|error| error.to_string())?;
    if range.format != object::CompressionFormat::None {
        return Err("a compressed section; link without --compress-debug-sections".to_owned());
    }
    section.data().map_err(|error| error.to_string())
}

/// Returns the texts of a section with their byte offsets, without terminating and padding NULs.
pub(super) fn texts(section: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut offset = 0_u64;
    let pieces = section.split(|&byte| byte == 0).map(move |piece| {
        let start = offset;
        offset = start.saturating_add(piece.len() as u64).saturating_add(1);
        (start, piece)
    });
    pieces.filter(|(_, piece)| !piece.is_empty())
}
