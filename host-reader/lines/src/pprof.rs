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
pub fn write_pprof(rows: &[LineRow], callers: &Callers<'_>, out: &mut dyn Write) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::{collections::HashMap, io::Read};

    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some((&first, rest)) = bytes.split_first() {
            *bytes = rest;
            number |= u64::from(first & 0x7F) << shift;
            shift += 7;
            if first < 0x80 {
                break;
            }
        }
        number
    }

    /// Returns the fields of a message: their numbers, with the number or the bytes of each.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = varint(&mut bytes);
            let own = if key & 7 == 2 { usize::try_from(value).unwrap() } else { 0 };
            found.push((key >> 3, value, &bytes[..own]));
            bytes = &bytes[own..];
        }
        found
    }

    fn field<'b>(message: &[(u64, u64, &'b [u8])], number: u64) -> (u64, &'b [u8]) {
        message.iter().find(|field| field.0 == number).map_or((0, &[]), |field| (field.1, field.2))
    }

    /// Returns the stack of each sample, from the innermost function, with the cycles.
    fn stacks(profile: &[u8]) -> Vec<(Vec<String>, u64)> {
        let profile = fields(profile);
        let of =
            |number| profile.iter().filter(move |field| field.0 == number).map(|field| field.2);
        let texts: Vec<_> = of(6).map(|text| String::from_utf8(text.to_vec()).unwrap()).collect();
        let functions: HashMap<u64, String> = of(5)
            .map(|function| {
                let function = fields(function);
                let text = |number| &texts[usize::try_from(field(&function, number).0).unwrap()];
                (field(&function, 1).0, format!("{} {}", text(2), text(4)))
            })
            .collect();
        let locations: HashMap<u64, Vec<String>> = of(4)
            .map(|location| {
                let location = fields(location);
                let lines = location.iter().filter(|found| found.0 == 4).map(|found| {
                    let line = fields(found.2);
                    format!("{}:{}", functions[&field(&line, 1).0], field(&line, 2).0)
                });
                (field(&location, 1).0, lines.collect())
            })
            .collect();
        of(2)
            .map(|sample| {
                let sample = fields(sample);
                let numbers = |mut packed: &[u8]| {
                    let mut found = Vec::new();
                    while !packed.is_empty() {
                        found.push(varint(&mut packed));
                    }
                    found
                };
                let stack = numbers(field(&sample, 1).1).into_iter();
                let stack = stack.flat_map(|location| locations[&location].clone());
                (stack.collect(), numbers(field(&sample, 2).1)[0])
            })
            .collect()
    }

    /// As pprof reads a profile: a stack begins with the innermost function.
    #[test]
    fn stacks_end_with_the_functions_that_called_the_op() {
        let row = |program: u32, cycles| LineRow {
            run_host_id: program,
            op: Some("Add".into()),
            risc: "BRISC".into(),
            elf: Some("out/add.elf".into()),
            function: Some("read".into()),
            file: Some("/k/api.h".into()),
            line: Some(87),
            inlined_into: Some("kernel_main at /k/add.cpp:9".into()),
            cycles: [cycles, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            ..LineRow::default()
        };
        let frame = |function: &str, line| Frame {
            function: Some(function.into()),
            file: Some("/src/m.py".into()),
            line: Some(line),
        };
        let callers = [frame("main", 3), frame("Layer.run [M.0]", 5)];
        let mut out = Vec::new();
        let rows = [row(1, 10), row(2, 20)];
        write_pprof(&rows, &|row| if row.run_host_id == 1 { &callers } else { &[] }, &mut out)
            .unwrap();
        let mut profile = Vec::new();
        GzDecoder::new(&out[..]).read_to_end(&mut profile).unwrap();
        let kernel =
            ["read /k/api.h:87", "kernel_main /k/add.cpp:9", "add.elf :0", "BRISC :0", "Add :0"];
        let called = [&kernel[..], &["Layer.run [M.0] /src/m.py:5", "main /src/m.py:3"]].concat();
        let expected = [(called, 10), (kernel.to_vec(), 20)];
        let expected = expected
            .map(|(stack, cycles)| (stack.into_iter().map(str::to_owned).collect(), cycles));
        assert_eq!(stacks(&profile), expected);
    }
}
