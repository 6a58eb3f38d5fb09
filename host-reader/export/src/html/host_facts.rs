//! Page data of the host: its threads, its plots, and the time spent in each zone.

use crate::{Trace, TraceHostThread, host_names::HostNames, words::thread_label};
use serde::Serialize;
use std::collections::BTreeMap;

/// The host.
#[derive(Serialize)]
pub(super) struct HostFacts<'a> {
    /// Origin on the host's clock, as text: a JavaScript number cannot hold it exactly.
    origin_ns: String,
    is_on_clock_of_chips: bool,
    zone_count: usize,
    threads: ThreadFacts,
    plots: Vec<PlotFacts<'a>>,
    zones: HostZoneFacts,
}

/// The threads, column by column.
#[derive(Default, Serialize)]
struct ThreadFacts {
    label: Vec<String>,
    zones: Vec<usize>,
    points: Vec<usize>,
    /// Maximum nesting depth of zones.
    levels: Vec<u16>,
}

/// A plot, without its points.
#[derive(Serialize)]
struct PlotFacts<'a> {
    name: &'a str,
    points: usize,
    /// Minimum of the plot's finite values.
    least: Option<f64>,
    most: Option<f64>,
}

/// Zones by name, column by column, in the order of the names' numbers.
#[derive(Default, Serialize)]
struct HostZoneFacts {
    name: Vec<u32>,
    count: Vec<u64>,
    total_ns: Vec<u64>,
    /// Time in the zone itself, outside nested zones.
    self_ns: Vec<u64>,
}

impl<'a> HostFacts<'a> {
    /// Returns the page data of the host, if it recorded anything.
    pub(super) fn new(trace: &Trace<'a>, names: &HostNames<'_>) -> Option<Self> {
        let host = &trace.host;
        (!host.is_empty()).then(|| Self {
            origin_ns: host.origin_ns.to_string(),
            is_on_clock_of_chips: host.is_on_clock_of_chips,
            zone_count: host.zone_count(),
            threads: ThreadFacts::new(&host.threads),
            plots: host
                .plots
                .iter()
                .map(|plot| {
                    let values =
                        || plot.points.iter().map(|&(_, value)| value).filter(|v| v.is_finite());
                    PlotFacts {
                        name: plot.name,
                        points: plot.points.len(),
                        least: values().reduce(f64::min),
                        most: values().reduce(f64::max),
                    }
                })
                .collect(),
            zones: HostZoneFacts::new(&host.threads, names),
        })
    }
}

impl ThreadFacts {
    fn new(threads: &[TraceHostThread<'_>]) -> Self {
        let mut facts = Self::default();
        for thread in threads {
            facts.label.push(thread_label(thread));
            facts.zones.push(thread.zones.len());
            facts.points.push(thread.marks.len());
            let deepest = thread.zones.depths().iter().max();
            facts.levels.push(deepest.map_or(0, |deepest| deepest.saturating_add(1)));
        }
        facts
    }
}

impl HostZoneFacts {
    fn new(threads: &[TraceHostThread<'_>], names: &HostNames<'_>) -> Self {
        let mut sums: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
        for thread in threads {
            let own = thread.zones.self_cycles();
            for ((index, zone), self_ns) in thread.zones.iter().enumerate().zip(own) {
                let Some((_, source)) = thread.zone_event(index) else { continue };
                let entry = sums.entry(names.number(source).0).or_default();
                // On the host, one cycle is one nanosecond.
                let figures = [1, zone.duration_cycles, self_ns];
                entry.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
            }
        }
        let mut facts = Self::default();
        for (name, [count, total_ns, self_ns]) in sums {
            facts.name.push(name);
            facts.count.push(count);
            facts.total_ns.push(total_ns);
            facts.self_ns.push(self_ns);
        }
        facts
    }
}
