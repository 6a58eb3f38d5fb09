//! Folded stacks of rows: one line per stack of functions with its cycles, for flame graphs.
//!
//! ```text
//! device 0;matmul;BRISC;kernel.elf;kernel_main at kernel.cpp:9;noc_async_read_barrier at dataflow_api.h:87 1234
//! ```

use crate::{code_file::file_name, frame::frames};
use std::{
    collections::BTreeMap,
    io::{self, Write},
};
use tables::LineRow;

/// Writes rows as folded stacks: chip, op, RISC, file of the code, functions from the outermost one,
/// and the awaited object. A stack's number is its cycles.
///
/// # Errors
/// If `out` fails.
pub fn write_folded(rows: &[LineRow], out: &mut dyn Write) -> io::Result<()> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        let stack: Vec<String> = stack(row).iter().map(|frame| cleaned(frame)).collect();
        *stacks.entry(stack.join(";")).or_default() += row.weight();
    }
    stacks.iter().try_for_each(|(stack, cycles)| writeln!(out, "{stack} {cycles}"))
}

fn stack(row: &LineRow) -> Vec<String> {
    let elf = row.elf.as_deref().map_or("unknown code", file_name);
    let op = row.op.clone().unwrap_or_else(|| format!("program {}", row.run_host_id));
    let mut stack = vec![format!("device {}", row.chip_id), op, row.risc.clone(), elf.to_owned()];
    let frames = frames(row);
    let is_unknown = frames.iter().all(|frame| frame.function.is_none() && frame.file.is_none());
    match is_unknown {
        true => stack.push(format!("{:#x}", row.address)),
        false => stack.extend(frames.iter().rev().map(|frame| frame.short())),
    }
    stack.extend(row.waits_for.iter().map(|object| format!("waits for {object}")));
    stack
}

/// Replaces the separator of frames and control characters.
fn cleaned(frame: &str) -> String {
    frame.chars().map(|c| if c == ';' || c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_go_from_the_chip_to_the_line_and_the_awaited_object() {
        let text = |text: &str| Some(text.to_owned());
        let row = LineRow {
            op: text("matmul;2"),
            risc: "BRISC".to_owned(),
            elf: text("out/kernel.elf"),
            function: text("barrier"),
            file: text("inc/api.h"),
            line: Some(87),
            inlined_into: text("kernel_main at src/kernel.cpp:9"),
            waits_for: text("NOC_READ_BARRIER 0"),
            cycles: [2, 0, 0, 0, 40, 0, 0, 0, 0, 0],
            ..LineRow::default()
        };
        let bare =
            LineRow { address: 64, cycles: [3, 0, 0, 0, 0, 0, 0, 0, 0, 0], ..LineRow::default() };
        let mut out = Vec::new();
        write_folded(&[row.clone(), bare, row], &mut out).unwrap();
        let expected = "device 0;matmul_2;BRISC;kernel.elf;kernel_main at kernel.cpp:9;barrier at \
                        api.h:87;waits for NOC_READ_BARRIER 0 84\n\
                        device 0;program 0;;unknown code;0x40 3\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
