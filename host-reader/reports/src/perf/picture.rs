//! Summary as a picture: one stacked bar of device time, or one bar for each device.

use super::{report::PerfReport, stacked::StackedOps};
use plotters::{coord::Shift, prelude::*};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

/// Colour scheme of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// One colour for each category of ops. The ops of a category have different shades of its
    /// colour.
    #[default]
    Category,
    /// Base colours in turn: each kind of op gets the next base colour. After the last base colour,
    /// the first one is used again.
    Classic,
}

/// Minimum share of a bar, in percent, for which a segment gets a label. Labels of smaller segments
/// would overlap.
const LABEL_PERCENT: f64 = 2.0;
/// Height of a picture in pixels.
const HEIGHT: u32 = 700;
/// Width in pixels of the area that contains one bar and the labels next to it.
const BAR_WIDTH: u32 = 420;
/// Maximum number of bars with full width. If there are more, all bars are narrower.
const WIDE_BARS_MAX: u32 = 64;
/// Left and right edge of a bar, as fractions of [`BAR_WIDTH`].
const BAR: (f64, f64) = (0.02, 0.32);
const LABEL: f64 = 0.34;
/// Upper end of the axis in percent: 100 % and space for the titles of the bars.
const TOP_PERCENT: f64 = 106.0;
const TITLE_PERCENT: f64 = 104.0;

/// Writes the summary as an SVG, with one bar for all device time. If each device is reported
/// separately, there is one bar for each device. An op with at least 2 % of a bar has a label.
///
/// # Compatibility
/// tt-perf-report 1.4.1 writes a PNG with the same parts and labels.
///
/// # Errors
/// Returns the errors of the output stream.
pub fn write_stacked_picture(
    report: &PerfReport,
    palette: Palette,
    mut out: impl Write,
) -> io::Result<()> {
    let mut bars: BTreeMap<Option<u64>, Vec<&StackedOps>> = BTreeMap::new();
    for ops in report.stacked.iter().filter(|ops| ops.total_percent > Some(0.0)) {
        bars.entry(ops.device).or_default().push(ops);
    }
    let colours = colours_of(report, palette);
    let mut svg = String::new();
    draw(&bars, &colours, &mut svg).map_err(|error| io::Error::other(error.to_string()))?;
    out.write_all(svg.as_bytes())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawResult = Result<(), DrawingAreaErrorKind<io::Error>>;

fn draw(
    bars: &BTreeMap<Option<u64>, Vec<&StackedOps>>,
    colours: &BTreeMap<&str, RGBColor>,
    svg: &mut String,
) -> DrawResult {
    let count = u32::try_from(bars.len()).unwrap_or(u32::MAX).clamp(1, WIDE_BARS_MAX);
    let width = BAR_WIDTH.saturating_mul(count).saturating_add(BAR_WIDTH / 4);
    let area: Area<'_> = SVGBackend::with_string(svg, (width, HEIGHT)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Device time by op", ("sans-serif", 20))
        .margin(10)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..bars.len().max(1) as f64, 0.0..TOP_PERCENT)?;
    chart.configure_mesh().disable_mesh().y_desc("share of the device time, %").draw()?;
    for (number, (device, parts)) in bars.iter().enumerate() {
        let left = number as f64;
        let mut bottom = 0.0;
        for ops in parts {
            let Some(percent) = ops.total_percent else { continue };
            let top = bottom + percent;
            let corners = [(left + BAR.0, bottom), (left + BAR.1, top)];
            let colour = colours.get(ops.op_code.as_str()).copied().unwrap_or(BLACK);
            chart.draw_series([
                Rectangle::new(corners, colour.filled()),
                Rectangle::new(corners, WHITE.stroke_width(1)),
            ])?;
            if percent >= LABEL_PERCENT {
                let label = format!("{} {percent:.1} %", ops.op_code);
                let middle = f64::midpoint(bottom, top);
                chart.draw_series([text(label, (left + LABEL, middle))])?;
            }
            bottom = top;
        }
        if let Some(device) = device {
            chart.draw_series([text(format!("device {device}"), (left + BAR.0, TITLE_PERCENT))])?;
        }
    }
    area.present()
}

fn text(label: String, at: (f64, f64)) -> Text<'static, (f64, f64), String> {
    Text::new(label, at, ("sans-serif", 12).into_font())
}

const BASE_COUNT: usize = 8;
/// Base colours that are distinguishable with red-green colour blindness.
const BASES: [RGBColor; BASE_COUNT] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(150, 150, 60),
    RGBColor(110, 110, 110),
];
/// Number of shades of a base colour. If a category has more ops, shades repeat.
const SHADES: usize = 5;

/// Returns the colour of each kind of op, by the kind's key.
fn colours_of(report: &PerfReport, palette: Palette) -> BTreeMap<&str, RGBColor> {
    let categories: BTreeSet<&str> = report.stacked.iter().map(|ops| ops.category).collect();
    let mut colours = BTreeMap::new();
    let mut members: BTreeMap<&str, usize> = BTreeMap::new();
    for ops in &report.stacked {
        if colours.contains_key(ops.op_code.as_str()) {
            continue;
        }
        let colour = match palette {
            Palette::Classic => base(colours.len()),
            Palette::Category => {
                let shade = members.entry(ops.category).or_default();
                let number = categories.iter().position(|&other| other == ops.category);
                let colour = lighter(base(number.unwrap_or(0)), *shade);
                *shade = shade.saturating_add(1);
                colour
            }
        };
        colours.insert(ops.op_code.as_str(), colour);
    }
    colours
}

fn base(number: usize) -> RGBColor {
    BASES.get(number % BASE_COUNT).copied().unwrap_or(BLACK)
}

/// Mixes a colour with white: the higher the number of the shade, the more white.
fn lighter(RGBColor(red, green, blue): RGBColor, shade: usize) -> RGBColor {
    let white = (shade % SHADES) as f64 / (SHADES as f64 + 3.0);
    #[expect(clippy::cast_possible_truncation, reason = "between the part and 255")]
    let [red, green, blue] =
        [red, green, blue].map(|part| (f64::from(part) + (255.0 - f64::from(part)) * white) as u8);
    RGBColor(red, green, blue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::{PerfOptions, read_ops_csv};

    const OPS: &str = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\n\
        Matmul<&,tt_dnn_device,0,6000\nTilize,tt_dnn_device,0,3900\nPad,tt_dnn_device,0,100\n\
        Softmax,tt_dnn_device,1,5000\n";

    fn picture(text: &str, is_by_device: bool, palette: Palette) -> String {
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let options = PerfOptions { is_by_device, ..PerfOptions::default() };
        let report = PerfReport::new(vec![csv], &options).unwrap();
        let mut svg = Vec::new();
        write_stacked_picture(&report, palette, &mut svg).unwrap();
        String::from_utf8(svg).unwrap()
    }

    /// Returns the heights of all filled rectangles except the background, from the SVG's
    /// attributes.
    fn heights(svg: &str) -> Vec<f64> {
        let filled = svg.lines().filter(|line| {
            line.starts_with("<rect")
                && line.contains("stroke=\"none\"")
                && !line.contains("#FFFFFF")
        });
        filled
            .map(|line| {
                let (_, rest) = line.split_once("height=\"").unwrap();
                rest.split('"').next().unwrap().parse().unwrap()
            })
            .collect()
    }

    #[test]
    fn parts_are_as_high_as_their_shares_and_large_ones_have_labels() {
        let svg = picture(OPS, true, Palette::Category);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        let heights = heights(&svg);
        let [matmul, tilize, pad, softmax] = heights[..] else { panic!("{heights:?}: {svg}") };
        assert!((matmul / softmax - 0.6).abs() < 0.01 && (tilize / softmax - 0.39).abs() < 0.01);
        assert!(pad / softmax < 0.02, "{pad}");
        for label in ["Matmul&lt;&amp; 60.0 %", "Tilize 39.0 %", "Softmax 100.0 %", "device 1"] {
            assert!(svg.contains(label), "{label}: {svg}");
        }
        assert!(!svg.contains("Pad"), "1 % has no room");
    }

    #[test]
    fn palettes_differ_and_no_time_is_an_empty_picture() {
        let one = picture(OPS, false, Palette::Category);
        assert_ne!(one, picture(OPS, false, Palette::Classic));
        let none = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\nA,tt_dnn_device,0,0\n";
        assert!(heights(&picture(none, false, Palette::Classic)).is_empty());
    }
}
