//! Traffic of the NoCs.

use super::{
    arguments::{NocArguments, NocPart},
    loaded::Figures,
    table::Table,
};
use crate::{
    command::noc::document::{events, links, outside, pairs},
    failure::Failure,
};

/// Returns the table of one part of the traffic, with the columns of `kprof noc --json`.
///
/// # Errors
/// If the column to sort by is unknown.
pub(super) fn table<'a>(figures: &'a Figures, asked: &NocArguments) -> Result<Table<'a>, Failure> {
    let known = match figures {
        Figures::Run(run) => Some(&run.traffic),
        Figures::OpsCsv(_) => None,
    };
    let traffic = known.map(|known| &known.traffic);
    let table = match asked.part {
        NocPart::Events => {
            let activities = traffic.map_or(&[][..], |of| &of.activities);
            Table::from_objects(events(activities), &[("wait_cycles", "not the end of a wait")])
        }
        NocPart::Pairs => Table::from_objects(pairs(traffic.map_or(&[], |of| &of.pairs)), &[]),
        NocPart::Outside => {
            Table::from_objects(outside(traffic.map_or(&[], |of| &of.outside)), &[])
        }
        NocPart::Links => Table::from_objects(links(traffic.map_or(&[], |of| &of.links)), &[]),
    };
    let table = match known {
        None => table
            .with_note("reason", "an ops CSV has no NoC events; load the device log or capture"),
        Some(known) => match &known.why_empty {
            Some(reason) => table.with_note("reason", reason.as_str()),
            None => table
                .with_note("notes", known.notes.join("; "))
                .with_note("unknown_count", known.traffic.unknown_count)
                .with_note("unplaced_count", known.traffic.unplaced_count)
                .with_note("open_wait_count", known.traffic.open_wait_count),
        },
    };
    table.sorted(asked.sort.as_deref(), asked.order)
}
