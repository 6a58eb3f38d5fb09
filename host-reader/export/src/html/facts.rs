//! Initial data of the page as JSON: everything except the individual zones and points of lanes,
//! and the figures of ops on individual cores.

use super::{
    buffer_facts::BufferFacts,
    cause_facts::CauseFacts,
    comparison_facts::ComparisonFacts,
    core_sums::DeviceSums,
    counter_facts::CounterFacts,
    device_facts::{DeviceFacts, clock_problems},
    host_facts::HostFacts,
    loss_facts::{AnomalyFacts, LossFacts, ShortfallFacts},
    memory_facts::MemoryFacts,
    noc_facts::NocFacts,
    op_facts::OpFacts,
    page::write_facts,
    source_facts::SourceFacts,
    zone_facts::{NameFacts, PointCount, PointKey, Row, point_columns, zone_columns},
};
use crate::{Trace, host_names::HostNames};
use causes::OpCodeGroup;
use reports::perf::OpsByColumn;
use serde::Serialize;
use std::io::{self, Write};
use tables::Arrays;
use wire::Risc;

/// The page's initial data; potentially long tables are stored column by column.
#[derive(Serialize)]
struct Facts<'a> {
    exporter: &'static str,
    title: &'a str,
    span_ns: u64,
    origin_host_ns: Option<i64>,
    zone_count: usize,
    point_count: usize,
    doubts: Vec<(String, u64)>,
    shortfall: ShortfallFacts,
    /// Labels of the RISCs, in the order of [`Risc::ALL`].
    riscs: [&'static str; Risc::ALL.len()],
    names: NameFacts<'a>,
    devices: Vec<DeviceFacts<'a>>,
    host: Option<HostFacts<'a>>,
    clock_problems: Vec<String>,
    ops: OpFacts<'a>,
    cores: Vec<DeviceSums>,
    zones: Arrays<(usize, Row)>,
    points: Arrays<(PointKey, PointCount)>,
    counters: CounterFacts,
    noc: NocFacts,
    buffers: BufferFacts<'a>,
    /// What L1 and DRAM hold while ops run; `None` if it was not recorded.
    memory: Option<MemoryFacts<'a>>,
    /// Cycles of source lines, by program; empty if they were not counted.
    source: Vec<SourceFacts<'a>>,
    losses: LossFacts,
    anomalies: AnomalyFacts<'a>,
    comparison: Option<ComparisonFacts<'a>>,
    causes: Option<CauseFacts<'a>>,
    /// Ops grouped by op code; empty if no source describes the ops' tensors.
    groups: &'a [OpCodeGroup],
    /// Ops grouped by the module that called them; `None` if no call was recorded.
    modules: Option<&'a OpsByColumn>,
}

/// Writes the initial data as JSON that the page's HTML parser cannot mistake for markup.
pub(super) fn write(trace: &Trace<'_>, out: &mut dyn Write) -> io::Result<()> {
    let host_names = HostNames::new(trace);
    let facts = Facts {
        exporter: concat!("kprof ", env!("CARGO_PKG_VERSION")),
        title: &trace.title,
        span_ns: trace.end_ns(),
        origin_host_ns: trace.origin_host_ns,
        zone_count: trace.zone_count(),
        point_count: trace.point_count(),
        doubts: trace.doubts(),
        shortfall: ShortfallFacts::new(trace),
        riscs: Risc::ALL.map(Risc::label),
        names: NameFacts::new(trace, &host_names),
        devices: trace.devices.iter().map(|device| DeviceFacts::new(device, trace)).collect(),
        host: HostFacts::new(trace, &host_names),
        clock_problems: clock_problems(trace),
        ops: OpFacts::new(trace),
        cores: trace.devices.iter().map(|device| DeviceSums::new(device, &trace.names)).collect(),
        zones: zone_columns(trace),
        points: point_columns(trace),
        counters: CounterFacts::new(trace),
        noc: NocFacts::new(trace),
        buffers: BufferFacts::new(trace),
        memory: MemoryFacts::new(trace),
        source: SourceFacts::of_programs(trace),
        losses: LossFacts::new(trace),
        anomalies: AnomalyFacts::new(trace),
        comparison: trace.comparison.as_ref().map(ComparisonFacts::new),
        causes: CauseFacts::new(trace),
        groups: trace.explanation.as_ref().map_or(&[], |explanation| &explanation.groups),
        modules: trace.explanation.as_ref().and_then(|explanation| explanation.by.as_ref()),
    };
    write_facts(&facts, out)
}
