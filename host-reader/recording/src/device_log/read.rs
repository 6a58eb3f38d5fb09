//! Reads a device log: first the header, then blocks of lines in parallel.

use super::{
    assemble::Assembly,
    blocks::{BLOCK_BYTES, Block, Blocks, LINE_BYTES_MAX},
    chunk::{ChunkTables, LogShape},
    error::LogError,
    header::{Layout, LogChip},
    text::shown,
    unpack::PackedLog,
};
use reader::{packed_bytes::PackedMemory, readout::Readout};
use std::{
    collections::BTreeMap,
    io::Read,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    time::Duration,
};

/// Reads a device log from a stream; `file` is the name of the log in messages.
///
/// Supports every format since September 2024 and the older sample in TT-Metal's documentation:
/// columns are found by their titles. In a log without `run host ID`, the `Run ID` is used instead.
/// Lines may be in any order and end in CR LF. The records of each lane are returned in time order.
/// A new run begins at each record that has another program, trace replay or launch than the
/// previous record of the lane. Unreadable lines (a wrong number of columns, text in place of a
/// number, an unknown RISC) are skipped and reported as anomalies with their line number.
///
/// The memory use is a few blocks of 1 MiB each (more if a line is longer), plus the returned
/// records and tables.
///
/// # Errors
/// If the stream cannot be read, is empty, or does not begin like a device log. A log with a header
/// but no lines returns an empty readout.
///
/// ```
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
/// PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
/// 0,1,2,BRISC,4034,100,0,3072,,,BRISC-FW,ZONE_START,438,/fw/brisc.cc,
/// 0,1,2,BRISC,4034,900,0,3072,,,BRISC-FW,ZONE_END,438,/fw/brisc.cc,
/// ";
/// let readout = recording::device_log::read_device_log(log.as_bytes(), "my log")?;
/// let lane = &readout.devices[0].lanes[0];
/// assert_eq!((lane.record_count(), lane.runs.len()), (2, 1));
/// assert_eq!(readout.zones.name(lane.heads[0].zone()), "BRISC-FW");
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
pub fn read_device_log(input: impl Read, file: &str) -> Result<Readout, LogError> {
    Ok(PackedLog::read(input, file)?.into_readout()?)
}

/// Reads a device log from a file.
///
/// # Errors
/// Returns the errors of [`read_device_log`], and an error if the file cannot be opened.
pub fn read_device_log_file(path: impl AsRef<Path>) -> Result<Readout, LogError> {
    Ok(PackedLog::open(path)?.into_readout()?)
}

pub(super) fn read_packed(
    input: impl Read,
    file: &str,
    memory: &Arc<PackedMemory>,
) -> Result<PackedLog, LogError> {
    read_blocks(Blocks::new(input, BLOCK_BYTES, LINE_BYTES_MAX), file, memory)
}

pub(super) fn read_blocks<R: Read>(
    mut blocks: Blocks<R>,
    file: &str,
    memory: &Arc<PackedMemory>,
) -> Result<PackedLog, LogError> {
    let io_error = |source| LogError::Io { file: file.to_owned(), action: "read", source };
    let first = blocks.first().map_err(io_error)?;
    let mut first = first.ok_or_else(|| LogError::Empty { file: file.to_owned() })?;
    if first.skipped_long_line {
        let (file, longest_bytes) = (file.to_owned(), LINE_BYTES_MAX);
        return Err(LogError::EndlessFirstLine { file, longest_bytes });
    }
    let mut lines = first.text.as_slice();
    let header = LogHeader::take(&mut lines, file)?;
    first.text = lines.to_vec();
    let mut assembly = Assembly::new(header.line_count, Arc::clone(memory));
    read_chunks(&mut blocks, first, &header.shape, &mut assembly).map_err(io_error)?;
    memory.check()?;
    Ok(assembly.finish(&header.chip))
}

/// Maximum blocks in progress per parsing thread: one being parsed and one waiting.
const BLOCKS_PER_THREAD: usize = 2;

/// Reads blocks on this thread while other threads parse earlier blocks.
fn read_chunks<R: Read>(
    blocks: &mut Blocks<R>,
    first: Block,
    shape: &LogShape,
    assembly: &mut Assembly,
) -> std::io::Result<()> {
    let under_way_max = rayon::current_num_threads().saturating_mul(BLOCKS_PER_THREAD).max(1);
    let (sender, receiver) = channel();
    let mut parsed = Parsed { receiver, early: BTreeMap::new(), next: 0, memory: Vec::new() };
    rayon::in_place_scope(|scope| {
        let mut block = Some(first);
        let mut begun: u64 = 0;
        while let Some(Block { text, skipped_long_line }) = block {
            let job = Job { number: begun, sender: sender.clone(), result: None };
            scope.spawn(move |_| {
                let tables = ChunkTables::parse(&text, shape);
                job.finish(ParsedBlock { tables, skipped_long_line, text });
            });
            begun = begun.saturating_add(1);
            while begun.saturating_sub(parsed.next) >= under_way_max as u64 {
                if !parsed.append_next(assembly) {
                    return Ok(());
                }
            }
            block = blocks.next(parsed.memory.pop().unwrap_or_default())?;
        }
        while parsed.next < begun && parsed.append_next(assembly) {}
        Ok(())
    })
}

/// A parsed block, with its text. A later block may reuse the memory of the text.
struct ParsedBlock {
    tables: ChunkTables,
    skipped_long_line: bool,
    text: Vec<u8>,
}

/// A block in progress. If the parsing panics, dropping the job reports the block as failed.
struct Job {
    number: u64,
    sender: Sender<(u64, Option<ParsedBlock>)>,
    result: Option<ParsedBlock>,
}

impl Job {
    /// Reports a parsed block.
    fn finish(mut self, block: ParsedBlock) {
        self.result = Some(block);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Sending fails only if reading has failed and dropped the receiver.
        let _ = self.sender.send((self.number, self.result.take()));
    }
}

/// Parsed blocks, received in any order, with the number of the next block to append.
struct Parsed {
    receiver: Receiver<(u64, Option<ParsedBlock>)>,
    /// Blocks received before an earlier block was received.
    early: BTreeMap<u64, Option<ParsedBlock>>,
    next: u64,
    /// Memory of appended blocks, for reuse.
    memory: Vec<Vec<u8>>,
}

impl Parsed {
    /// Waits for the next block of the log and appends it.
    ///
    /// Returns false if the parsing of the block panicked, or if there is no room for the block's
    /// records.
    fn append_next(&mut self, assembly: &mut Assembly) -> bool {
        let block = loop {
            if let Some(block) = self.early.remove(&self.next) {
                break block;
            }
            let Some((number, block)) = self.wait() else { return false };
            self.early.insert(number, block);
        };
        let Some(ParsedBlock { tables, skipped_long_line, text }) = block else { return false };
        if skipped_long_line {
            assembly.skip_long_line();
        }
        assembly.append(tables);
        self.memory.push(text);
        self.next = self.next.saturating_add(1);
        assembly.has_room()
    }

    /// Waits for any block. If this thread belongs to the thread pool, it runs other jobs
    /// meanwhile, because it may be the pool's only thread.
    fn wait(&self) -> Option<(u64, Option<ParsedBlock>)> {
        const PAUSE: Duration = Duration::from_millis(1);
        loop {
            match self.receiver.try_recv() {
                Ok(parsed) => return Some(parsed),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
            match rayon::yield_now() {
                None => return self.receiver.recv().ok(),
                Some(rayon::Yield::Executed) => {}
                Some(rayon::Yield::Idle) => {
                    if let Ok(parsed) = self.receiver.recv_timeout(PAUSE) {
                        return Some(parsed);
                    }
                }
            }
        }
    }
}

/// The first two lines of a log, parsed.
pub(super) struct LogHeader {
    pub(super) chip: LogChip,
    pub(super) shape: LogShape,
    pub(super) line_count: u64,
}

impl LogHeader {
    /// Parses the header and removes it from the beginning of `text`.
    pub(super) fn take(text: &mut &[u8], file: &str) -> Result<Self, LogError> {
        let mut line_count = 0;
        *text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let first = next_line(text, &mut line_count);
        let first = first.ok_or_else(|| LogError::Empty { file: file.to_owned() })?;
        let chip = std::str::from_utf8(first).ok().and_then(LogChip::parse);
        let chip = chip.ok_or_else(|| {
            let (found, advice) = match Layout::parse(first) {
                Ok(_) => ("the titles", "restore that line above them"),
                Err(_) => ("other text", "name the profile_log_device.csv of a run"),
            };
            let (file, found_bytes) = (file.to_owned(), first.len());
            LogError::FirstLine { file, line: line_count, found, found_bytes, advice }
        })?;
        let titles = next_line(text, &mut line_count).unwrap_or(b"");
        let layout = Layout::parse(titles).map_err(|missing| LogError::Titles {
            file: file.to_owned(),
            line: line_count,
            missing,
            found: shown(titles),
            advice: advice_on(titles),
        })?;
        let layout = layout.for_chip(&chip);
        let header_lines = [first.into(), titles.into()];
        Ok(Self { chip, shape: LogShape { layout, header_lines }, line_count })
    }
}

/// Returns what to do about titles that a reader needs more of.
///
/// # Compatibility
/// Until 2023, TT-Metal's logs had numbered timers, of which no title tells the zone.
fn advice_on(titles: &[u8]) -> &'static str {
    let has = |title: &[u8]| titles.windows(title.len()).any(|part| part == title);
    if has(b"timer_id") && !has(b"zone name") {
        "logs of TT-Metal before 2024 have timers without zones, which kprof does not read; record the \
         program with a newer TT-Metal"
    } else {
        "restore the title line that the profiler wrote"
    }
}

/// Removes the next line from `text` and returns it. Blank lines and comments, which begin with `#`,
/// are skipped.
fn next_line<'text>(text: &mut &'text [u8], line_count: &mut u64) -> Option<&'text [u8]> {
    while !text.is_empty() {
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        let (line, after) = text.split_at_checked(end).unwrap_or((text, &[]));
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        *text = after.get(1..).unwrap_or(&[]);
        *line_count = line_count.saturating_add(1);
        let trimmed = line.trim_ascii();
        if !trimmed.is_empty() && !trimmed.starts_with(b"#") {
            return Some(line);
        }
    }
    None
}
