//! HTML report: a single page that needs no network, server or viewer.
//!
//! The page consists of a template with a style sheet and a script, which are part of this program,
//! and of data. The data shown first is a block of JSON. Zones, points and the figures of single
//! cores follow as packed columns. The script decodes packed columns only on demand, so a page with
//! a million zones opens as fast as a page with ten zones.
//!
//! Zone names are untrusted input. Names reach the page only as data: `<` is escaped wherever the
//! page's parser could see it, and the script writes text but never markup. The page's content
//! security policy forbids all scripts except the page's own, all images and all requests.
//!
//! The files in `assets` define the page's content and layout.

mod buffer_facts;
mod cause_facts;
mod cells;
mod clock_knots;
mod comparison_facts;
mod core_sums;
mod counter_facts;
mod device_facts;
mod facts;
mod host_facts;
mod host_lanes;
mod lanes;
mod loss_facts;
mod memory_facts;
mod named_zones;
mod noc_facts;
mod op_facts;
mod op_zones;
mod ops_csv;
mod packed;
mod page;
mod source_facts;
#[cfg(test)]
mod tests;
mod zone_facts;

pub use ops_csv::write_ops_page;
#[cfg(test)]
pub(super) use packed::reading::Reading;

use super::{
    ExportFormat, OnLanes, Trace,
    format::{Sink, SinkWrite},
};
use std::io::{self, Write};

impl ExportFormat {
    /// HTML page for any browser, without network access: tables, core grid, timeline.
    pub const HTML: Self = Self(&Sink {
        name: "html",
        endings: &[".html", ".htm"],
        help: "a page for any browser",
        is_binary: false,
        shows_causes: true,
        write: SinkWrite::Whole(write),
    });
}

/// Writes the page.
fn write(trace: &Trace<'_>, out: &mut dyn Write, on_lanes: OnLanes<'_>) -> io::Result<()> {
    page::RECORDING.write(&trace.title, out, |hole, out| match hole {
        "facts" => facts::write(trace, out),
        _ => page::write_blocks(trace, out, on_lanes),
    })
}
