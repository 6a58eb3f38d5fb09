//! Page data of the host: its threads, its plots, and the time spent in each zone.

use crate::{Trace, TraceHostPlot, TraceHostThread, host_names::HostNames, words::thread_label};
use analysis::ZoneSum;
use serde::Serialize;
use std::collections::BTreeMap;
use tables::{Arrays, Objects};

/// Page data of the host.
#[derive(Serialize)]
pub(super) struct HostFacts<'a> {
    /// Trace's origin on the host's clock, as text, because a JavaScript number cannot represent it
    /// exactly.
    origin_ns: String,
    is_on_clock_of_chips: bool,
    zone_count: usize,
    threads: Arrays<&'a TraceHostThread<'a>>,
    plots: Objects<&'a TraceHostPlot<'a>>,
    zones: Arrays<(u32, ZoneSum<()>)>,
}

impl<'a> HostFacts<'a> {
    /// Returns the page data of the host; `None` if the host recorded nothing.
    pub(super) fn new(trace: &'a Trace<'a>, names: &HostNames<'_>) -> Option<Self> {
        let host = &trace.host;
        (!host.is_empty()).then(|| Self {
            origin_ns: host.origin_ns.to_string(),
            is_on_clock_of_chips: host.is_on_clock_of_chips,
            zone_count: host.zone_count(),
            threads: thread_columns(&host.threads),
            plots: plot_objects(&host.plots),
            zones: zone_columns(&host.threads, names),
        })
    }
}

/// Returns the threads, column by column.
fn thread_columns<'a>(threads: &'a [TraceHostThread<'a>]) -> Arrays<&'a TraceHostThread<'a>> {
    Arrays::new(
        threads,
        [
            ("label", |thread| thread_label(thread).into()),
            ("zones", |thread| thread.zones.len().into()),
            ("points", |thread| thread.marks.len().into()),
            ("levels", |thread| thread.zones.level_count().into()),
        ],
    )
}

/// Returns the plots without their points.
fn plot_objects<'a>(plots: &'a [TraceHostPlot<'a>]) -> Objects<&'a TraceHostPlot<'a>> {
    Objects::new(
        plots,
        [
            ("name", |plot| plot.name.into()),
            ("points", |plot| plot.points.len().into()),
            // Minimum and maximum of the plot's finite values.
            ("least", |plot| finite_values(plot).reduce(f64::min).into()),
            ("most", |plot| finite_values(plot).reduce(f64::max).into()),
        ],
    )
}

fn finite_values(plot: &TraceHostPlot<'_>) -> impl Iterator<Item = f64> {
    plot.points.iter().map(|point| point.value).filter(|value| value.is_finite())
}

/// Returns sums over the zones with the same name, column by column, sorted by the number of the
/// name.
fn zone_columns(
    threads: &[TraceHostThread<'_>],
    names: &HostNames<'_>,
) -> Arrays<(u32, ZoneSum<()>)> {
    let mut sums: BTreeMap<u32, ZoneSum<()>> = BTreeMap::new();
    for thread in threads {
        for zone in thread.zones.iter() {
            // On the host, one cycle is one nanosecond.
            sums.entry(names.zone_name(thread, zone).0).or_default().add(zone.time(), ());
        }
    }
    Arrays::new(
        sums,
        [
            ("name", |(name, _)| (*name).into()),
            ("count", |(_, sum)| sum.count.into()),
            ("total_ns", |(_, sum)| sum.total_cycles.into()),
            // Time in the zone itself, outside nested zones.
            ("self_ns", |(_, sum)| sum.self_cycles.into()),
        ],
    )
}
