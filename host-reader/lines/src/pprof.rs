//! Rows as a profile of pprof: `profile.proto` of github.com/google/pprof, compressed with gzip.

use crate::{
    code_file::file_name,
    frame::{Callers, Frame, frames},
};
use flate2::{Compression, write::GzEncoder};
use prost::encoding::{WireType, encode_key, encode_varint};
use std::{
    collections::BTreeMap,
    io::{self, Write},
};
use tables::LineRow;

/// Writes rows as a compressed profile with two values for each sample, cycles and instructions; of
/// sampled rows with one, their samples.
///
/// A sample's stack ends with the kernel's file, the RISC, the op and the functions that called it. Chip,
/// RISC, op and awaited object are labels.
///
/// # Errors
/// If `out` fails.
pub fn write_pprof(
    rows: &[LineRow],
    callers: &Callers<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_sampled = rows.iter().any(|row| row.samples.is_some());
    let mut profile = Profile { is_sampled, ..Profile::default() };
    rows.iter().for_each(|row| profile.add(row, callers(row)));
    let mut encoder = GzEncoder::new(out, Compression::default());
    encoder.write_all(&profile.encoded())?;
    encoder.finish().map(|_| ())
}

/// A message's bytes.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, field: u32, number: u64) {
        encode_key(field, WireType::Varint, &mut self.0);
        encode_varint(number, &mut self.0);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        encode_key(field, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
    }

    fn numbers(&mut self, field: u32, numbers: &[u64]) {
        let mut packed = Vec::new();
        numbers.iter().for_each(|&number| encode_varint(number, &mut packed));
        self.bytes(field, &packed);
    }
}

/// A function of the profile: name and file, as indices of texts.
type Function = (u64, u64);
/// A location: address and, from the innermost one, the functions with their lines.
type Location = (u64, Vec<(u64, u64)>);

#[derive(Default)]
struct Profile {
    texts: BTreeMap<String, u64>,
    functions: BTreeMap<Function, u64>,
    locations: BTreeMap<Location, u64>,
    samples: Vec<Message>,
    is_sampled: bool,
}

/// Returns the number of an item, from 1; adds the item if it is new.
fn number_of<T: Ord>(known: &mut BTreeMap<T, u64>, item: T) -> u64 {
    let next = known.len() as u64 + 1;
    *known.entry(item).or_insert(next)
}

impl Profile {
    /// Returns the index of a text. Index 0 is the empty text.
    fn text(&mut self, text: &str) -> u64 {
        match self.texts.get(text) {
            Some(&index) => index,
            None if text.is_empty() => 0,
            None => number_of(&mut self.texts, text.to_owned()),
        }
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let function = (self.text(name), self.text(file));
        number_of(&mut self.functions, function)
    }

    /// Returns a location without an address, for what is no code.
    fn label(&mut self, name: &str) -> u64 {
        let function = self.function(name, "");
        number_of(&mut self.locations, (0, vec![(function, 0)]))
    }

    /// Returns the number of a frame's function, and its line; `unknown` is the name of a function
    /// without one.
    fn line(&mut self, frame: &Frame, unknown: &str) -> (u64, u64) {
        let name = frame.function.as_deref().unwrap_or(unknown);
        let function = self.function(name, frame.file.as_deref().unwrap_or_default());
        (function, frame.line.unwrap_or_default().into())
    }

    fn add(&mut self, row: &LineRow, callers: &[Frame]) {
        let unknown = format!("{:#x}", row.address);
        let lines = frames(row).iter().map(|frame| self.line(frame, &unknown)).collect();
        let code = number_of(&mut self.locations, (u64::from(row.address), lines));
        let op = row.op.clone().unwrap_or_else(|| format!("program {}", row.run_host_id));
        let elf = row.elf.as_deref().map_or("unknown code", file_name);
        let outer = [elf, &row.risc, &op].map(|name| self.label(name));
        let mut stack: Vec<u64> = std::iter::once(code).chain(outer).collect();
        for caller in callers.iter().rev() {
            let line = self.line(caller, "?");
            stack.push(number_of(&mut self.locations, (0, vec![line])));
        }
        let mut sample = Message::default();
        sample.numbers(1, &stack);
        match row.samples {
            Some(samples) => sample.numbers(2, &[samples.count]),
            None => sample.numbers(2, &[row.total_cycles(), row.instructions]),
        }
        let chip = row.chip_id.to_string();
        let awaited = row.waits_for.as_deref();
        let labels = [("chip", Some(&*chip)), ("risc", Some(&row.risc)), ("op", Some(&op))];
        for (key, value) in labels.into_iter().chain([("waits_for", awaited)]) {
            let Some(value) = value else { continue };
            let mut label = Message::default();
            label.number(1, self.text(key));
            label.number(2, self.text(value));
            sample.bytes(3, &label.0);
        }
        self.samples.push(sample);
    }

    fn encoded(mut self) -> Vec<u8> {
        let mut profile = Message::default();
        let kinds: &[&str] =
            if self.is_sampled { &["samples"] } else { &["cycles", "instructions"] };
        for (kind, unit) in kinds.iter().map(|kind| (kind, "count")) {
            let mut value = Message::default();
            value.number(1, self.text(kind));
            value.number(2, self.text(unit));
            profile.bytes(1, &value.0);
        }
        self.samples.iter().for_each(|sample| profile.bytes(2, &sample.0));
        for ((address, lines), id) in &self.locations {
            let mut location = Message::default();
            location.number(1, *id);
            location.number(3, *address);
            for &(function, number) in lines {
                let mut line = Message::default();
                line.number(1, function);
                line.number(2, number);
                location.bytes(4, &line.0);
            }
            profile.bytes(4, &location.0);
        }
        for ((name, file), id) in &self.functions {
            let mut function = Message::default();
            function.number(1, *id);
            function.number(2, *name);
            function.number(3, *name);
            function.number(4, *file);
            profile.bytes(5, &function.0);
        }
        let cycles = self.text(if self.is_sampled { "samples" } else { "cycles" });
        let mut texts: Vec<_> = self.texts.iter().map(|(text, index)| (*index, text)).collect();
        texts.sort_unstable();
        profile.bytes(6, b"");
        texts.iter().for_each(|(_, text)| profile.bytes(6, text.as_bytes()));
        profile.number(14, cycles);
        profile.0
    }
}
