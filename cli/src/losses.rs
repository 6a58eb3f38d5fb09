//! Text about losses: missing records by cause, RISC and program, and advice on how to avoid each
//! cause.

use crate::{
    numbers::counted,
    tables::write_rows,
    terminal::{Style, styled},
};
use host_reader::{
    analysis::{loss_groups, loss_remedies},
    ledger::{LossCause, LossLedger, LossTotals, LostKind, UncountedSource},
    tables::LossGroups,
};
use std::io::Write;

/// Writes the number of missing records in one line, then a table by cause, then the remedies.
pub(crate) fn write_losses(
    losses: &LossLedger,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let style = match (losses.is_intended(), losses.uncounted().next()) {
        (true, None) => Style::Good,
        (true, Some(_)) => Style::Doubtful,
        (false, _) => Style::Bad,
    };
    writeln!(out, "{}", styled(&lost_line(losses), style))?;
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

/// Causes whose records are omitted on purpose, and how a sentence calls them.
const OMITTED: [(LossCause, &str); 2] = [
    (LossCause::ValidateOff, "omitted, because no kernel ran"),
    (LossCause::Skipped, "omitted, as the policy of the stream allows"),
];

/// Returns one line about all losses. If some record sources do not count their losses, the line
/// also says why more records may be missing.
///
/// Records that are omitted on purpose are mentioned but are not losses.
pub(crate) fn lost_line(losses: &LossLedger) -> String {
    let mut line = match losses.is_intended() {
        true => "Lost: nothing".to_owned(),
        false => format!("Lost: {}", describe(&losses.unintended_total())),
    };
    let uncounted: Vec<_> = losses.uncounted().map(UncountedSource::label).collect();
    if !uncounted.is_empty() {
        let reasons = uncounted.join("; ");
        line = match losses.is_intended() {
            true => format!("Lost: unknown; {reasons}"),
            false => format!("{line}; more may be lost: {reasons}"),
        };
    }
    for (cause, why) in OMITTED {
        let omitted = losses.by_cause(cause);
        if omitted != LossTotals::default() {
            line.push_str(&format!("; {why}: {}", describe(&omitted)));
        }
    }
    line
}

/// Returns numbers of lost records as text, such as `64 zones, 3 events`.
fn describe(totals: &LossTotals) -> String {
    totals.in_words(|kind, count| match kind {
        LostKind::Zones => counted(count, "zone", "zones"),
        LostKind::Data => counted(count, "data", "data"),
        LostKind::Events => counted(count, "event", "events"),
        LostKind::Sums => counted(count, "sum", "sums"),
        LostKind::UnknownMarkers => {
            counted(count, "marker of unknown kind", "markers of unknown kind")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_reader::{lane::LaneId, ledger::LossKey, mesh::Noc0Coord};
    use wire::Risc;

    #[test]
    fn a_loss_without_counts_is_not_shown_as_nothing() {
        let totals = LossTotals { is_lower_bound: true, ..LossTotals::default() };
        assert_eq!(describe(&totals), "an unknown number of records");
    }

    #[test]
    fn launches_without_a_kernel_are_no_losses_but_are_named() {
        let mut losses = LossLedger::default();
        let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
        let key = |cause| LossKey { lane, program: None, cause };
        losses.record(key(LossCause::ValidateOff), lost_zones(3));
        let left_out = "omitted, because no kernel ran: 3 zones";
        assert_eq!(lost_line(&losses), format!("Lost: nothing; {left_out}"));
        losses.record(key(LossCause::L1Full), lost_zones(2));
        assert_eq!(lost_line(&losses), format!("Lost: 2 zones; {left_out}"));
        losses.record(key(LossCause::Skipped), lost_zones(7));
        let skipped = "omitted, as the policy of the stream allows: 7 zones";
        assert_eq!(lost_line(&losses), format!("Lost: 2 zones; {left_out}; {skipped}"));
    }

    #[test]
    fn every_cause_that_is_intended_is_called_omitted() {
        for cause in LossCause::ALL {
            let is_named = OMITTED.iter().any(|&(named, _)| named == cause);
            assert_eq!(is_named, cause.is_intended(), "{cause:?}");
        }
    }

    fn lost_zones(zones: u64) -> LossTotals {
        LossTotals { zones, ..LossTotals::default() }
    }
}
