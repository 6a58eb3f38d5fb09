//! Guarantees of captures, tested through the public interface.

mod damage;
mod host_clock;
mod kill;
mod replay;
mod round_trip;
mod sample;
mod writing;

use super::{
    header::{CaptureIdentity, FileHeader, FormatVersion},
    record::RunCapture,
    writer::SectionEncoder,
    *,
};
use reader::{
    lane::LaneId,
    mesh::Mesh,
    mesh::{
        AccessError, AccessResult, CoreDescription, CoreSelection, DeviceDescription,
        DramDescription, LogicalCoord, Memory, Noc0Coord,
    },
    names::{ZoneSource, ZoneTable},
    probe_cost::{ProbeCost, ProbeCosts},
    read::{GenerationChoice, ReadError, ReadOptions, Reader},
    readout::Readout,
    recorded_options::RecordedOptions,
    simulated_time::SimulatedTime,
};
use std::ops::Range;
use wire::Risc;

/// A reader, and the capture of what it reads.
struct CapturingReader {
    reader: Reader,
    capture: RunCapture,
}

/// Results of a [`CapturingReader`]. The read and the capture can fail independently.
struct CapturedRead {
    readout: Result<Readout, ReadError>,
    capture: Result<(), CaptureError>,
}

impl CapturingReader {
    fn new(options: ReadOptions, writer: CaptureWriter) -> Self {
        Self { reader: Reader::new(options), capture: RunCapture::new(writer) }
    }

    fn read(&mut self, mesh: &mut impl Mesh) -> CapturedRead {
        let (readout, capture) =
            self.capture.read(&mut self.reader, mesh, |reader, mesh| reader.read(mesh));
        CapturedRead { readout, capture }
    }
}

/// A capture in memory, with the positions of its sections.
struct Draft {
    bytes: Vec<u8>,
    sections: Vec<Range<usize>>,
    encoder: SectionEncoder,
}

impl Draft {
    fn new() -> Self {
        let identity = CaptureIdentity { id: 0x0123_4567, created_unix_ns: 1_700_000_000_000 };
        let header = FileHeader { version: FormatVersion::CURRENT, identity };
        let bytes = header.to_bytes();
        Self { bytes, sections: Vec::new(), encoder: SectionEncoder::default() }
    }

    fn push<'file, P: Payload<'file>>(&mut self, payload: &P) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(self.encoder.encode(payload).unwrap());
        self.sections.push(start..self.bytes.len());
    }

    fn with<'file, P: Payload<'file>>(mut self, payload: &P) -> Self {
        self.push(payload);
        self
    }

    fn open(&self) -> Capture {
        Capture::from_bytes(self.bytes.clone()).unwrap()
    }
}

fn lane_id(risc: Risc) -> LaneId {
    LaneId { chip_id: 2, core: Noc0Coord { x: 3, y: 4 }, risc }
}

fn lane_words(read_number: u32, words: &[u32]) -> MemoryWords<'_> {
    MemoryWords {
        read_number,
        chip_id: 2,
        memory: Memory::Dram(1),
        address: 0x140,
        content: WordsContent::Lane,
        lane: Some(lane_id(Risc::Trisc1)),
        first_word: 40,
        words: words.into(),
    }
}

/// A capture with a few small sections.
fn small_draft() -> Draft {
    let end = ReadEnd { words_read: 7, host_time_ns: 99, ..ReadEnd::default() };
    let control = MemoryWords {
        memory: Memory::L1(Noc0Coord { x: 3, y: 4 }),
        content: WordsContent::Control,
        lane: None,
        ..lane_words(0, &[9; 5])
    };
    let log = MemoryWords { content: WordsContent::LossLog, ..lane_words(0, &[1; 8]) };
    Draft::new()
        .with(&control)
        .with(&lane_words(0, &[0x8000_0001, 2, 3]))
        .with(&log)
        .with(&end)
        .with(&lane_words(1, &[]))
}

/// Returns the payloads of a capture with their numbers and kinds, for comparison.
fn payloads(capture: &Capture) -> Vec<(u32, SectionKind, &[u8])> {
    capture.sections().map(|section| (section.number, section.kind, section.payload)).collect()
}
