//! Reading a device log: header first, then blocks of lines, many at a time.

use super::{
    assemble::Assembly,
    blocks::{BLOCK_BYTES, Block, Blocks},
    chunk::{ChunkTables, LogShape, pieces_of},
    error::LogError,
    header::{ChipLine, Layout},
    text::shown,
};
use rayon::prelude::*;
use reader::readout::Readout;
use std::{fs::File, io::Read, path::Path};

/// Reads a device log from a stream; `file` names it in messages.
///
/// Every generation since September 2024 is read, and the older sample in upstream's
/// documentation: columns are found by their titles. Where a log has no `run host ID`
/// its `Run ID` takes the place. Lines may come in any order and end in CR LF; lanes come
/// out in time order, cut into runs where the program, its trace replay or its launch
/// changes. What cannot be read (a wrong number of columns, text where a number belongs,
/// a RISC that is not known) is an anomaly with its line, and is left out.
///
/// Memory: one block of at most 16 MiB, and the tables, whatever the length of the log.
///
/// # Errors
/// If the stream cannot be read, is empty, or does not begin as a device log does. A log
/// with a header and no lines is an empty readout.
///
/// ```
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
/// PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
/// 0,1,2,BRISC,4034,100,0,3072,,,BRISC-FW,ZONE_START,438,/fw/brisc.cc,
/// 0,1,2,BRISC,4034,900,0,3072,,,BRISC-FW,ZONE_END,438,/fw/brisc.cc,
/// ";
/// let readout = device_log::read_device_log(log.as_bytes(), "my log")?;
/// let lane = &readout.devices[0].lanes[0];
/// assert_eq!((lane.record_count(), lane.runs.len()), (2, 1));
/// assert_eq!(readout.zones.name(lane.heads[0].zone()), "BRISC-FW");
/// # Ok::<(), device_log::LogError>(())
/// ```
pub fn read_device_log(input: impl Read, file: &str) -> Result<Readout, LogError> {
    read_blocks(Blocks::new(input, BLOCK_BYTES), file)
}

/// Reads a device log from a file.
///
/// # Errors
/// As [`read_device_log`], or if the file cannot be opened.
pub fn read_device_log_file(path: impl AsRef<Path>) -> Result<Readout, LogError> {
    let path = path.as_ref();
    let file = path.display().to_string();
    match File::open(path) {
        Ok(input) => read_device_log(input, &file),
        Err(source) => Err(LogError::Io { file, action: "open", source }),
    }
}

pub(super) fn read_blocks<R: Read>(mut blocks: Blocks<R>, file: &str) -> Result<Readout, LogError> {
    let mut log: Option<(Header, Assembly)> = None;
    let io_error = |source| LogError::Io { file: file.to_owned(), action: "read", source };
    while let Some(block) = blocks.next().map_err(io_error)? {
        let mut lines = block.lines;
        let (header, assembly) = match &mut log {
            Some(log) => log,
            None if block.skipped_long_line => {
                let (file, longest_bytes) = (file.to_owned(), BLOCK_BYTES);
                return Err(LogError::EndlessFirstLine { file, longest_bytes });
            }
            None => {
                let header = Header::take(&mut lines, file)?;
                let assembly = Assembly::new(header.line_count);
                log.insert((header, assembly))
            }
        };
        append_block(assembly, &Block { lines, ..block }, &header.shape);
    }
    let (header, assembly) = log.ok_or_else(|| LogError::Empty { file: file.to_owned() })?;
    Ok(assembly.finish(&header.chip))
}

fn append_block(assembly: &mut Assembly, block: &Block<'_>, shape: &LogShape) {
    if block.skipped_long_line {
        assembly.skip_long_line();
    }
    let pieces = pieces_of(block.lines, 4 * rayon::current_num_threads());
    let parse = |piece| ChunkTables::parse(piece, shape);
    let chunks: Vec<_> = pieces.into_par_iter().map(parse).collect();
    for chunk in chunks {
        assembly.append(chunk);
    }
}

/// The first two lines, parsed.
pub(super) struct Header {
    pub(super) chip: ChipLine,
    pub(super) shape: LogShape,
    pub(super) line_count: u64,
}

impl Header {
    /// Takes the header off the front of `text`.
    pub(super) fn take(text: &mut &[u8], file: &str) -> Result<Self, LogError> {
        let mut line_count = 0;
        *text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let first = next_line(text, &mut line_count);
        let first = first.ok_or_else(|| LogError::Empty { file: file.to_owned() })?;
        let chip = std::str::from_utf8(first).ok().and_then(ChipLine::parse);
        let chip = chip.ok_or_else(|| LogError::FirstLine {
            file: file.to_owned(),
            line: line_count,
            found: shown(first),
        })?;
        let titles = next_line(text, &mut line_count).unwrap_or(b"");
        let layout = Layout::parse(titles).map_err(|missing| LogError::Titles {
            file: file.to_owned(),
            line: line_count,
            missing,
            found: shown(titles),
        })?;
        let header_lines = [first.into(), titles.into()];
        Ok(Self { chip, shape: LogShape { layout, header_lines }, line_count })
    }
}

/// Takes the next line that is not blank.
fn next_line<'text>(text: &mut &'text [u8], line_count: &mut u64) -> Option<&'text [u8]> {
    while !text.is_empty() {
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        let line = text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]);
        *text = &text[(end + 1).min(text.len())..];
        *line_count += 1;
        if !line.trim_ascii().is_empty() {
            return Some(line);
        }
    }
    None
}
