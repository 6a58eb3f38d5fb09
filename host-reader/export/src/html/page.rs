//! The page without its data: order of its parts, content security policy, and data blocks.

use super::{
    cells, host_lanes, lanes, memory_facts, op_zones::zones_of_ops, packed::PackedColumns,
};
use crate::{OnLanes, Trace, host_names::HostNames, point_words::PointWords};
use base64::{Engine, engine::general_purpose::STANDARD};
use rayon::prelude::*;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

const STYLE: &str = include_str!("assets/report.css");

/// Kind of page: template and script.
#[derive(Debug)]
pub(super) struct Page {
    /// Template of the page, with placeholders in double braces.
    template: &'static str,
    /// Concatenated script files. All files share one scope; the last file starts the script.
    script: &'static str,
}

/// Page of a recording.
pub(super) const RECORDING: Page = Page {
    template: concat!(include_str!("assets/head.html"), include_str!("assets/report.html")),
    script: concat!(
        "'use strict';\n(() => {\n",
        include_str!("assets/words.js"),
        include_str!("assets/looks.js"),
        include_str!("assets/columns.js"),
        include_str!("assets/model.js"),
        include_str!("assets/host.js"),
        include_str!("assets/elements.js"),
        include_str!("assets/shares.js"),
        include_str!("assets/table.js"),
        include_str!("assets/summary.js"),
        include_str!("assets/findings.js"),
        include_str!("assets/op_page.js"),
        include_str!("assets/grid.js"),
        include_str!("assets/scene.js"),
        include_str!("assets/timeline.js"),
        include_str!("assets/timeline_keys.js"),
        include_str!("assets/keys.js"),
        include_str!("assets/address.js"),
        include_str!("assets/detail.js"),
        include_str!("assets/selection.js"),
        include_str!("assets/sections.js"),
        include_str!("assets/groups.js"),
        include_str!("assets/modules.js"),
        include_str!("assets/gaps.js"),
        include_str!("assets/losses.js"),
        include_str!("assets/comparison.js"),
        include_str!("assets/counters.js"),
        include_str!("assets/noc.js"),
        include_str!("assets/source.js"),
        include_str!("assets/buffers.js"),
        include_str!("assets/memory_model.js"),
        include_str!("assets/memory_chart.js"),
        include_str!("assets/memory.js"),
        include_str!("assets/report.js"),
        "})();\n"
    ),
};

/// Page of an ops CSV.
pub(super) const OPS: Page = Page {
    template: concat!(include_str!("assets/head.html"), include_str!("assets/ops.html")),
    script: concat!(
        "'use strict';\n(() => {\n",
        include_str!("assets/words.js"),
        include_str!("assets/looks.js"),
        include_str!("assets/elements.js"),
        include_str!("assets/table.js"),
        include_str!("assets/findings.js"),
        include_str!("assets/gaps.js"),
        include_str!("assets/ops_model.js"),
        include_str!("assets/groups.js"),
        include_str!("assets/modules.js"),
        include_str!("assets/roofline.js"),
        include_str!("assets/comparison.js"),
        include_str!("assets/ops.js"),
        "})();\n"
    ),
};

/// Number of cores that are packed at once. This number bounds the memory in use.
const CORES_PER_BATCH: usize = 32;

impl Page {
    /// Writes the page. `fill` receives the name of a placeholder and writes its content: the
    /// initial data for `facts`, and the blocks of packed columns for `blocks`.
    pub(super) fn write(
        &self,
        title: &str,
        out: &mut dyn Write,
        mut fill: impl FnMut(&str, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let (first, rest) = self.template.split_once("{{").unwrap_or((self.template, ""));
        out.write_all(first.as_bytes())?;
        for (hole, text) in rest.split("{{").filter_map(|part| part.split_once("}}")) {
            match hole {
                "policy" => out.write_all(self.policy().as_bytes())?,
                "title" => {
                    let dot = if title.is_empty() { "" } else { " · " };
                    write!(out, "{}{dot}kprof report", escaped_text(title))?;
                }
                "style" => out.write_all(STYLE.as_bytes())?,
                "script" => out.write_all(self.script.as_bytes())?,
                _ => fill(hole, out)?,
            }
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Returns the page's content security policy. The policy allows only the page's own script and
    /// style, identified by their hashes.
    fn policy(&self) -> String {
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
             form-action 'none'",
            base64_hash(self.script),
            base64_hash(STYLE)
        )
    }
}

fn base64_hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}

/// Writes the initial data as JSON that the page's parser cannot mistake for markup.
pub(super) fn write_facts(facts: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let json = serde_json::to_string(facts)?;
    // In JSON, `<` occurs only in strings, where it may be written as an escape sequence.
    out.write_all(json.replace('<', "\\u003c").as_bytes())
}

/// Escapes a text so that the page's parser does not see markup in it.
fn escaped_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Writes the packed columns of host threads, plots, cores and ops, each in a separate block.
pub(super) fn write_blocks(
    trace: &Trace<'_>,
    out: &mut dyn Write,
    on_lanes: OnLanes<'_>,
) -> io::Result<()> {
    let names = HostNames::new(trace);
    write_packed(out, "host", 0, &trace.host.threads, |thread| {
        host_lanes::pack_thread(thread, &names, trace.host.origin_ns)
    })?;
    write_packed(out, "plot", 0, &trace.host.plots, host_lanes::pack_plot)?;
    write_packed(out, "memory", 0, &memory_facts::blocks(trace), memory_facts::pack_block)?;
    let words = PointWords::new(trace);
    let mut lane_count = 0;
    for (device_index, device) in trace.devices.iter().enumerate() {
        let core_of_lane = device.core_of_lane();
        let zones = zones_of_ops(device);
        let blocks = device.ops.chunks(cells::OPS_PER_BLOCK);
        let blocks: Vec<_> = blocks.zip(zones.chunks(cells::OPS_PER_BLOCK)).collect();
        write_packed(out, &format!("ops-{device_index}"), 0, &blocks, |&(ops, zones)| {
            cells::pack_ops((device, &trace.names), ops, zones, &core_of_lane)
        })?;
        let cores: Vec<_> = device.cores().collect();
        let id = format!("core-{device_index}");
        for (batch, cores) in cores.chunks(CORES_PER_BATCH).enumerate() {
            write_packed(out, &id, batch * CORES_PER_BATCH, cores, |lanes| {
                lanes::pack_core(lanes, device.clock.first_cycle(), &words)
            })?;
            lane_count += cores.iter().map(|lanes| lanes.len()).sum::<usize>();
            on_lanes(lane_count);
        }
    }
    Ok(())
}

/// Packs many blocks in parallel and writes them in order, numbered from `first`.
fn write_packed<T: Sync>(
    out: &mut dyn Write,
    id: &str,
    first: usize,
    items: &[T],
    pack: impl Fn(&T) -> PackedColumns + Sync,
) -> io::Result<()> {
    let packed: Vec<String> = items.par_iter().map(|item| pack(item).to_base64()).collect();
    for (number, text) in (first..).zip(packed) {
        writeln!(out, "<script type=\"text/plain\" id=\"{id}-{number}\">{text}</script>")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_has_every_hole_once_and_no_other() {
        for (page, last) in [(RECORDING, &["blocks"][..]), (OPS, &[])] {
            let template = page.template;
            let holes: Vec<_> =
                template.split("{{").skip(1).filter_map(|part| part.split("}}").next()).collect();
            let first = ["policy", "title", "style", "facts", "script"];
            assert_eq!(holes, [&first[..], last].concat());
        }
    }

    #[test]
    fn style_and_script_hold_nothing_that_would_end_them_or_load_anything() {
        for text in [STYLE, RECORDING.script, OPS.script] {
            for forbidden in
                ["</", "<!--", "http:", "https:", "@import", "url(", "innerHTML", "eval("]
            {
                assert!(!text.contains(forbidden), "{forbidden}");
            }
        }
    }

    #[test]
    fn text_cannot_become_markup() {
        let escaped = escaped_text("</title><script>'\"&");
        assert_eq!(escaped, "&lt;/title&gt;&lt;script&gt;&#39;&quot;&amp;");
    }
}
