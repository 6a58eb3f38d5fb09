//! The `.tracy` file: the order of its sections and their contents.
//!
//! Files are written in version 0.10.0 of the format. Every Tracy viewer in use is newer than this
//! version and can read it, including the viewer of Tenstorrent's fork of Tracy. Sections that a
//! device trace does not need are written empty.
//!
//! # Compatibility
//! Tracy's `server/TracyWorker.cpp` (reader and writer), `server/TracyEvent.hpp` and
//! `server/TracyFileRead.hpp`.

mod blocks;
mod bytes;
mod strings;
mod timelines;

use super::{
    TracyNotes, TracyOptions,
    places::SourcePlace,
    plots::Plot,
    scene::{Scene, tracy_ns},
};
use crate::{
    ExportFormat, OnLanes, Trace,
    format::{Sink, SinkWrite},
};
use blocks::BlockWriter;
pub(super) use blocks::compressed;
use bytes::Bytes;
use std::io::{self, Write};
use strings::{StringIndex, StringTable};
use timelines::{GpuTimelines, Spans};

impl ExportFormat {
    /// Tracy's file format, for all versions of its viewer and for Tenstorrent's fork.
    pub const TRACY: Self = Self(&Sink {
        name: "tracy",
        endings: &[".tracy"],
        help: "for the Tracy viewer",
        is_binary: true,
        shows_causes: false,
        write: SinkWrite::Whole(write),
    });
}

fn write(trace: &Trace<'_>, out: &mut dyn Write, on_lanes: OnLanes<'_>) -> io::Result<()> {
    let options = TracyOptions { title: trace.title.clone(), ..TracyOptions::default() };
    write_tracy_file(trace, &options, out)?;
    on_lanes(trace.lane_count());
    Ok(())
}

/// Version of the format in which files are written.
const FILE_VERSION: [u8; 3] = [0, 10, 0];
/// Kind of GPU context: Vulkan. Every version of the viewer knows this kind, and draws one lane for
/// each thread id of the context's zones.
const CONTEXT_TYPE: u8 = 2;
/// Name of the traced program, as shown in the viewer's title line.
pub(super) const PROGRAM: &str = "kprof";
/// Number of bytes to buffer before they are written out.
const CHUNK_BYTES: usize = 1 << 20;

/// Writes a trace as a `.tracy` file.
///
/// # Errors
/// If `out` cannot be written to. After an error, the file is incomplete; write through
/// [`crate::write_atomically`] to get either a complete file or none.
///
/// ```
/// use recording::device_log::read_device_log;
/// use export::{*, tracy::*};
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-KERNEL,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-KERNEL,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let recording = Recording::from_readout(readout);
/// let trace = Trace::new(&recording, &TraceFilter::default());
/// let mut file = Vec::new();
/// let notes = write_tracy_file(&trace, &TracyOptions::default(), &mut file)?;
/// assert_eq!((notes.zones, notes.lanes), (1, 1));
/// assert_eq!(&file[..4], b"tlZ\x04");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_tracy_file(
    trace: &Trace<'_>,
    options: &TracyOptions,
    out: &mut dyn Write,
) -> io::Result<TracyNotes> {
    let scene = Scene::new(trace, options, usize::MAX);
    let mut file = FileWriter::new(&scene, out)?;
    file.write_all()?;
    file.blocks.finish()?;
    Ok(scene.notes)
}

struct FileWriter<'a> {
    scene: &'a Scene<'a>,
    strings: StringTable<'a>,
    spans: Spans,
    gpu: GpuTimelines,
    bytes: Bytes,
    blocks: BlockWriter<&'a mut dyn Write>,
}

impl<'a> FileWriter<'a> {
    fn new(scene: &'a Scene<'a>, out: &'a mut dyn Write) -> io::Result<Self> {
        let mut strings = StringTable::default();
        let spans = Spans::new(scene, &mut strings);
        Ok(Self {
            scene,
            strings,
            spans,
            gpu: GpuTimelines::new(scene),
            bytes: Bytes::default(),
            blocks: BlockWriter::new(out)?,
        })
    }

    fn write_all(&mut self) -> io::Result<()> {
        self.put_header();
        self.put_frames()?;
        let places = self.place_strings();
        let contexts: Vec<_> = self.intern_all(|scene| {
            scene.contexts.iter().map(|context| context.name.as_str()).collect()
        });
        let messages = self.intern_all(|scene| {
            scene.messages.iter().map(|message| message.text.as_str()).collect()
        });
        self.put_names();
        self.flush()?;
        self.put_threads_in_order();
        self.put_places(&places);
        self.put_zone_counts();
        self.bytes.put_u64(0); // locks
        self.put_messages(&messages)?;
        self.put_zone_extras()?;
        self.put_threads()?;
        self.put_contexts(&contexts)?;
        self.put_plots()?;
        self.put_empty_rest();
        self.flush()
    }

    fn intern_all(
        &mut self,
        texts: impl FnOnce(&'a Scene<'a>) -> Vec<&'a str>,
    ) -> Vec<StringIndex> {
        texts(self.scene).into_iter().map(|text| self.strings.intern(text)).collect()
    }

    /// Writes out the buffered bytes.
    fn flush(&mut self) -> io::Result<()> {
        self.blocks.write(self.bytes.as_slice())?;
        self.bytes.clear();
        Ok(())
    }

    fn flush_if_large(&mut self) -> io::Result<()> {
        if self.bytes.as_slice().len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    fn put_header(&mut self) {
        let Scene { options, end_ns, .. } = self.scene;
        let bytes = &mut self.bytes;
        bytes.put(b"tracy");
        bytes.put(&FILE_VERSION);
        bytes.put_u64(0); // cost of a zone
        bytes.put_u64(1); // resolution in nanoseconds
        bytes.put_f64(1.0); // nanoseconds per tick
        bytes.put_i64(*end_ns);
        bytes.put_u64(0); // frames before the first
        bytes.put_u64(0); // process
        bytes.put_i64(0); // sampling period
        bytes.put_u8(0); // processor: unknown
        bytes.put_u32(0);
        bytes.put(&[0; 12]);
        bytes.put_u8(0); // not on demand
        bytes.put_text(cut(&options.title, TITLE_BYTES));
        bytes.put_text(PROGRAM);
        bytes.put_u64(options.recorded_at_s);
        bytes.put_u64(0); // time of the executable
        bytes.put_text("Tenstorrent device profile");
        bytes.put_u64(0); // processor topology
        bytes.put(&[0; 28]); // no crash
    }

    /// Adds the frame sets. The first set has a single frame. Viewers use the end of this frame as
    /// the start of the trace.
    fn put_frames(&mut self) -> io::Result<()> {
        self.bytes.put_count(1 + self.scene.frames.len());
        self.put_frame_set(0, &[0, 1])?;
        for (key, frames) in (self.scene.first_frame_key()..).zip(&self.scene.frames) {
            self.put_frame_set(key, &frames.times_ns)?;
        }
        Ok(())
    }

    fn put_frame_set(&mut self, name_key: u64, times_ns: &[u64]) -> io::Result<()> {
        self.bytes.put_u64(name_key);
        self.bytes.put_u8(1); // one frame ends where the next begins
        self.bytes.put_count(times_ns.len());
        let mut before_ns = 0;
        for &time_ns in times_ns {
            let time_ns = tracy_ns(time_ns);
            self.bytes.put_i64(time_ns - before_ns);
            self.bytes.put_u32(u32::MAX); // no image
            before_ns = time_ns;
            self.flush_if_large()?;
        }
        Ok(())
    }

    /// Adds the strings and the names that refer to them.
    fn put_names(&mut self) {
        let frame = self.strings.intern("Frame");
        let keyed = self.intern_all(keyed_names);
        let threads = self
            .intern_all(|scene| scene.threads.iter().map(|thread| thread.name.as_str()).collect());
        let bytes = &mut self.bytes;
        bytes.put_count(self.strings.texts.len());
        for (index, text) in self.strings.texts.iter().enumerate() {
            bytes.put_u64(strings::pointer(index));
            bytes.put_text(text);
        }
        bytes.put_count(keyed.len() + 1);
        for (key, name) in (0_u64..).zip(std::iter::once(frame).chain(keyed)) {
            bytes.put_u64(key);
            bytes.put_u64(name.pointer());
        }
        bytes.put_count(threads.len());
        for (thread, name) in self.scene.threads.iter().zip(threads) {
            bytes.put_u64(thread.id.into());
            bytes.put_u64(name.pointer());
        }
        bytes.put_u64(0); // names of other processes
    }

    /// Adds the ids of the threads. Zones of contexts refer to a thread by its index in this list.
    fn put_threads_in_order(&mut self) {
        let known = &self.gpu.thread_ids;
        self.bytes.put_count(known.len());
        known.iter().for_each(|&id| self.bytes.put_u64(id.into()));
        self.bytes.put_u64(0); // threads of other processes
    }

    fn place_strings(&mut self) -> Vec<[StringIndex; 3]> {
        let places: &'a [SourcePlace<'a>] = &self.scene.places;
        places
            .iter()
            .map(|place| {
                [&*place.name, &*place.function, &*place.file].map(|text| self.strings.intern(text))
            })
            .collect()
    }

    fn put_places(&mut self, strings: &[[StringIndex; 3]]) {
        let bytes = &mut self.bytes;
        bytes.put_u64(0); // locations identified by address
        bytes.put_u64(1);
        bytes.put_u64(0);
        bytes.put_count(strings.len());
        for (place, names) in self.scene.places.iter().zip(strings) {
            names.iter().for_each(|&name| bytes.put_string_ref(name));
            bytes.put_u32(place.line);
            bytes.put_u32(bgr(place.rgb));
        }
    }

    fn put_zone_counts(&mut self) {
        for counts in [&self.spans.place_counts, &self.gpu.place_counts] {
            self.bytes.put_count(counts.iter().filter(|&&count| count > 0).count());
            for (place, &count) in (0_u16..).zip(counts).filter(|(_, count)| **count > 0) {
                self.bytes.put_i16(timelines::place_id(place));
                self.bytes.put_u64(count);
            }
        }
    }

    fn put_messages(&mut self, texts: &[StringIndex]) -> io::Result<()> {
        self.bytes.put_count(texts.len());
        let mut before_ns = 0;
        for (index, (message, &text)) in self.scene.messages.iter().zip(texts).enumerate() {
            let time_ns = tracy_ns(message.time_ns);
            self.bytes.put_u64(strings::pointer(index));
            self.bytes.put_i64(time_ns - before_ns);
            self.bytes.put_string_ref(text);
            self.bytes.put_u32(0xFF00_0000 | bgr(message.rgb));
            self.bytes.put_u24(0); // call stack
            before_ns = time_ns;
            self.flush_if_large()?;
        }
        Ok(())
    }

    fn put_zone_extras(&mut self) -> io::Result<()> {
        let count = self.spans.extras.len();
        self.bytes.put_count(count + 1);
        self.bytes.put(&[0; 12]);
        for index in 0..count {
            let [text, name] = self.spans.extras[index];
            self.bytes.put_u24(0); // call stack
            for index in [text, name] {
                self.bytes.put_u24(index.map_or(0, StringIndex::plus_one));
            }
            self.bytes.put_u24(0); // colour
            self.flush_if_large()?;
        }
        Ok(())
    }

    fn put_threads(&mut self) -> io::Result<()> {
        self.spans.put(self.scene, &mut self.bytes);
        self.flush()
    }

    fn put_contexts(&mut self, names: &[StringIndex]) -> io::Result<()> {
        self.bytes.put_u64(self.scene.notes.zones);
        self.bytes.put_u64(self.gpu.parent_count);
        self.bytes.put_count(self.scene.contexts.len());
        for (context, name) in self.scene.contexts.iter().zip(names) {
            let zones: usize = context.lanes.iter().map(|lane| lane.zones.len()).sum();
            self.bytes.put_u64(0); // no single thread
            self.bytes.put_u8(0); // not calibrated
            self.bytes.put_count(zones);
            self.bytes.put_f32(1.0);
            self.bytes.put_u8(CONTEXT_TYPE);
            self.bytes.put_u24(name.plus_one());
            self.bytes.put_u64(0); // overflow
            self.bytes.put_count(context.lanes.len());
            for lane in &context.lanes {
                self.gpu.put_lane(lane, &mut self.bytes);
                self.flush_if_large()?;
            }
        }
        Ok(())
    }

    fn put_plots(&mut self) -> io::Result<()> {
        self.bytes.put_count(self.scene.plots.len());
        for (key, plot) in (1_u64..).zip(&self.scene.plots) {
            self.put_plot(key, plot);
            self.flush_if_large()?;
        }
        Ok(())
    }

    fn put_plot(&mut self, key: u64, plot: &Plot) {
        let values = plot.points.iter().map(|&(_, value)| value);
        let bytes = &mut self.bytes;
        bytes.put_u8(0); // type: user plot
        bytes.put_u8(0); // plain numbers
        bytes.put_u8(plot.is_stepped.into());
        bytes.put_u8(1); // filled
        bytes.put_u32(0); // the viewer's colour
        bytes.put_u64(key);
        bytes.put_f64(values.clone().fold(f64::INFINITY, f64::min));
        bytes.put_f64(values.clone().fold(f64::NEG_INFINITY, f64::max));
        bytes.put_f64(values.sum());
        bytes.put_count(plot.points.len());
        let mut before_ns = 0;
        for &(time_ns, value) in &plot.points {
            let time_ns = tracy_ns(time_ns);
            bytes.put_i64(time_ns - before_ns);
            bytes.put_f64(value);
            before_ns = time_ns;
        }
    }

    /// Adds empty sections for memory, call stacks, frame images, context switches and symbols.
    fn put_empty_rest(&mut self) {
        let bytes = &mut self.bytes;
        bytes.put_u64(1); // one set of allocations
        bytes.put(&[0; 5 * 8]); // unnamed, without entries
        bytes.put_u64(0); // highest address
        bytes.put_u64(u64::MAX); // lowest address
        bytes.put(&[0; 2 * 8]); // bytes in use, name
        bytes.put(&[0; 3 * 8]); // call stacks, their frames, information about the program
        bytes.put(&[0; 4 + 8]); // frame images and their dictionary
        bytes.put(&[0; 8 + 8 + 256 * 8]); // context switches by thread and by processor
        bytes.put(&[0; 9 * 8]); // processes, processors, symbols, code, samples, sources
    }
}

/// Returns the names that are stored with keys: the names of plots, then the names of frame sets.
/// The key of a name is its index plus 1.
fn keyed_names<'a>(scene: &'a Scene<'a>) -> Vec<&'a str> {
    let frames = scene.frames.iter().map(|frames| frames.name);
    scene.plots.iter().map(|plot| plot.name.as_str()).chain(frames).collect()
}

/// Maximum length of a title in bytes. Readers use a buffer of 1024 bytes.
const TITLE_BYTES: usize = 1000;

/// Returns the beginning of a text, at most `byte_limit` bytes long.
pub(super) fn cut(text: &str, byte_limit: usize) -> &str {
    &text[..text.floor_char_boundary(byte_limit)]
}

/// Reorders a colour for Tracy's files, which store red in the lowest byte.
const fn bgr(rgb: u32) -> u32 {
    ((rgb & 0xFF) << 16) | (rgb & 0xFF00) | ((rgb >> 16) & 0xFF)
}
