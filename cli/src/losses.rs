//! Text about losses: missing records by cause, RISC and program, and advice on how to avoid each
//! cause.

use crate::{
    tables::write_rows,
    terminal::{Style, styled},
};
use host_reader::{
    analysis::{FullBuffer, loss_groups, loss_remedies, lost_line},
    ledger::LossLedger,
    tables::LossGroups,
};
use std::io::Write;

/// Writes the number of missing records in one line, what else may be missing, then a table by cause, then the
/// remedies.
pub(crate) fn write_losses(
    losses: &LossLedger,
    full: &[FullBuffer],
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let style = match (losses.is_intended(), losses.uncounted().next()) {
        (true, None) => Style::Good,
        (true, Some(_)) => Style::Doubtful,
        (false, _) => Style::Bad,
    };
    writeln!(out, "{}", styled(&lost_line(losses), style))?;
    for buffer in full {
        writeln!(out, "{}", styled(&buffer.sentence(), Style::Doubtful))?;
    }
    if losses.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let groups = loss_groups(losses.entries().map(|(key, totals)| (*key, *totals)));
    write_rows::<LossGroups>(&groups, rows, out)?;
    // The remedy depends on the cause: reading more often does not prevent every loss.
    for (cause, remedy) in loss_remedies(&groups) {
        writeln!(out, "{}: {remedy}", cause.label())?;
    }
    Ok(())
}
