//! HTML report: one page that needs no network, server or viewer.
//!
//! The page consists of a template with a style sheet and a script, all of which are part of this
//! program, and data. The data that the page shows first is a block of JSON. Zones, points and the
//! figures of single cores follow as packed columns, which the script decodes only on demand. A
//! page of a million zones therefore opens as fast as a page of ten zones.
//!
//! Zone names are untrusted input. They reach the page as data only: `<` is escaped wherever the
//! page's parser could see it, the script writes text and never markup, and the page forbids every
//! script but its own, every image and every request.
//!
//! The files in `assets` define the page's content and layout.

mod buffer_facts;
mod cause_facts;
mod cells;
mod clock_knots;
mod core_sums;
mod counter_facts;
mod device_facts;
mod facts;
mod host_facts;
mod host_lanes;
mod lanes;
mod loss_facts;
mod noc_facts;
mod op_facts;
mod op_zones;
mod ops_csv;
mod packed;
mod page;
#[cfg(test)]
mod tests;
mod zone_facts;

pub use ops_csv::write_ops_page;

use super::{OnLanes, Trace};
use page::Part;
use std::io::{self, Write};

/// Writes the page.
pub(super) fn write(
    trace: &Trace<'_>,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
) -> io::Result<()> {
    page::RECORDING.write(&trace.title, out, |part, out| match part {
        Part::Facts => facts::write(trace, out),
        _ => page::write_blocks(trace, out, on_lanes),
    })
}
