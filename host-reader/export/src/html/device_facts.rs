//! Page data of each chip: its cores, its lanes, and the quality of its clock.

use super::clock_knots::{Knot, knots};
use crate::{Trace, TraceDevice, TraceLane};
use reader::clock::CorridorFit;
use recording::capture::sync::ChipFit;
use serde::Serialize;
use tables::{Arrays, Object};

/// Page data of one chip.
#[derive(Serialize)]
pub(super) struct DeviceFacts<'a> {
    chip_id: u32,
    arch: &'a str,
    nominal_mhz: Option<u32>,
    /// First cycle as text, because a JavaScript number cannot represent it exactly.
    first_cycle: String,
    span_cycles: u64,
    knots: Vec<Knot>,
    clock: ClockFacts<'a>,
    pending_run_count: u64,
    discarded_launch_count: u64,
    /// The x and y coordinates of each core.
    cores: Vec<(u16, u16)>,
    lanes: Arrays<(usize, &'a TraceLane<'a>)>,
}

/// Measurement of a chip's clock, and the bound of its error.
#[derive(Serialize)]
struct ClockFacts<'a> {
    frequency_ghz: f64,
    is_host_time: bool,
    bound_ns: Option<f64>,
    fit: Option<Object<&'a ChipFit>>,
}

impl<'a> DeviceFacts<'a> {
    pub(super) fn new(device: &'a TraceDevice<'a>, trace: &Trace<'a>) -> Self {
        let clock = &device.clock;
        let chip_id = device.chip.chip_id;
        let fit = trace.mesh_clock.and_then(|mesh| mesh.chips().find(|chip| chip.0 == chip_id));
        Self {
            chip_id,
            arch: &device.chip.arch,
            nominal_mhz: clock.nominal_mhz(),
            first_cycle: clock.first_cycle().to_string(),
            span_cycles: clock.last_cycle() - clock.first_cycle(),
            knots: knots(clock),
            clock: ClockFacts {
                frequency_ghz: clock.frequency_ghz(),
                is_host_time: clock.is_host_time(),
                bound_ns: clock.bound_ns(),
                fit: fit.map(|(_, fit)| fit_object(fit)),
            },
            pending_run_count: device.pending_run_count,
            discarded_launch_count: device.discarded_launch_count,
            cores: device.cores().filter_map(|lanes| lanes.first()).map(place).collect(),
            lanes: lane_columns(device),
        }
    }
}

fn place(lane: &TraceLane<'_>) -> (u16, u16) {
    (lane.id.core.x, lane.id.core.y)
}

/// Returns the lanes, column by column, each with the index of its core.
fn lane_columns<'a>(device: &'a TraceDevice<'a>) -> Arrays<(usize, &'a TraceLane<'a>)> {
    Arrays::new(
        device.core_of_lane().into_iter().zip(&device.lanes),
        [
            ("core", |(core, _)| (*core).into()),
            ("risc", |(_, lane)| (lane.id.risc as usize).into()),
            ("zones", |(_, lane)| lane.zones.len().into()),
            ("points", |(_, lane)| lane.points.len().into()),
            ("levels", |(_, lane)| lane.zones.level_count().into()),
        ],
    )
}

fn fit_object(chip: &ChipFit) -> Object<&ChipFit> {
    Object::new(
        chip,
        [
            // Number of pings, which are clock samples, that the fit uses.
            ("ping_count", |chip| {
                chip.fit.fits.iter().map(CorridorFit::sample_count).sum::<usize>().into()
            }),
            ("rejected_ping_count", |chip| chip.fit.rejected.len().into()),
            ("unexplained_ping_count", |chip| chip.fit.unfitted_count.into()),
            // Number of frequency changes.
            ("step_count", |chip| chip.fit.steps.len().into()),
            // Difference between the slowest and the fastest clock that is consistent with all
            // pings.
            ("frequency_range_ppm", |chip| {
                chip.fit.fits.iter().map(range_ppm).fold(0.0, f64::max).into()
            }),
            ("is_assured", |chip| chip.fit.is_assured.into()),
            // Number of tiles for which the offset from the reference clock was measured, and the
            // largest error bound of these offsets.
            ("tile_count", |chip| chip.offsets.len().into()),
            ("tile_bound_cycles", |chip| {
                let bounds = chip.offsets.values().map(|offset| offset.bound_cycles);
                bounds.fold(0.0, f64::max).into()
            }),
        ],
    )
}

fn range_ppm(fit: &CorridorFit) -> f64 {
    let (lowest, highest) = fit.slope_interval();
    (highest / lowest - 1.0) * 1e6
}

/// Returns descriptions of problems in the clock measurement.
pub(super) fn clock_problems(trace: &Trace<'_>) -> Vec<String> {
    let problems = trace.mesh_clock.iter().flat_map(|mesh| mesh.problems());
    problems.map(ToString::to_string).collect()
}
