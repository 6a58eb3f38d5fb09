//! Folded stacks of rows: one line per stack of functions with its cycles, for flame graphs.
//!
//! ```text
//! device 0;matmul;BRISC;kernel.elf;kernel_main at kernel.cpp:9;noc_async_read_barrier at dataflow_api.h:87 1234
//! ```

use crate::{
    code_file::file_name,
    frame::{Callers, Frame, frames},
};
use std::{
    collections::BTreeMap,
    io::{self, Write},
};
use tables::LineRow;

/// Writes rows as folded stacks.
///
/// A stack has the chip, the functions that called the op, the op, the RISC, the file of the code, the
/// functions from the outermost one, and the awaited object. Its number is its cycles, or the samples of
/// a sampled table.
///
/// # Errors
/// If `out` fails.
pub fn write_folded(
    rows: &[LineRow],
    callers: &Callers<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        let stack: Vec<String> = stack(row, callers).iter().map(|frame| cleaned(frame)).collect();
        *stacks.entry(stack.join(";")).or_default() += row.weight();
    }
    stacks.iter().try_for_each(|(stack, cycles)| writeln!(out, "{stack} {cycles}"))
}

fn stack(row: &LineRow, callers: &Callers<'_>) -> Vec<String> {
    let elf = row.elf.as_deref().map_or("unknown code", file_name);
    let op = row.op.clone().unwrap_or_else(|| format!("program {}", row.run_host_id));
    let mut stack = vec![format!("device {}", row.chip_id)];
    stack.extend(callers(row).iter().map(Frame::short));
    stack.extend([op, row.risc.clone(), elf.to_owned()]);
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
        let rows = [row.clone(), bare, row];
        let of_kernels = "matmul_2;BRISC;kernel.elf;kernel_main at kernel.cpp:9;barrier at \
                          api.h:87;waits for NOC_READ_BARRIER 0 84\n";
        let bare = "device 0;program 0;;unknown code;0x40 3\n";
        let written = |callers: &Callers<'_>| {
            let mut out = Vec::new();
            write_folded(&rows, callers, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&|_| &[]), format!("device 0;{of_kernels}{bare}"));
        let frame =
            |function, file, line| Frame { function: text(function), file: text(file), line };
        let callers = [frame("main", "/src/run.py", Some(3)), frame("f [M;a]", "m.py", None)];
        let found = written(&|row| if row.op.is_some() { &callers } else { &[] });
        let expected = format!("device 0;main at run.py:3;f [M_a] at m.py;{of_kernels}{bare}");
        assert_eq!(found, expected);
    }
}
