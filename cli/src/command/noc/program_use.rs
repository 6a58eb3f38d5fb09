//! `kprof noc --utilization`: utilization of links, DRAM and Ethernet by program.

use crate::{layout::write_columns, numbers::decimal, tables::program_label};
use host_reader::noc_events::{NocChip, NocFigures, ProgramTrace};
use serde::Serialize;
use std::{collections::BTreeMap, io::Write};

/// Utilization of a chip's NoCs by one program.
#[derive(Serialize)]
pub(super) struct ProgramUse {
    chip: u32,
    run_host_id: u32,
    op_name: String,
    noc_percent: Option<f64>,
    multicast_noc_percent: Option<f64>,
    dram_percent: Option<f64>,
    /// Utilization of each DRAM controller in percent, by controller number.
    dram_controller_percent: Option<BTreeMap<u16, f64>>,
    ethernet_percent: Option<Vec<EthernetUse>>,
    congestion_percent: Option<f64>,
    /// Reasons why figures are null.
    gaps: Vec<String>,
    /// Number of transfers that the utilization does not include: inline writes, and writes with a
    /// transaction id.
    ignored_transfers: u64,
    /// Number of transfers with the largest size that a NoC event can hold. These transfers may
    /// have moved more bytes.
    saturated_transfers: u64,
    /// Text about ignored and saturated transfers.
    #[serde(skip)]
    missing_bytes: Option<String>,
}

/// Utilization of one Ethernet core's link.
#[derive(Serialize)]
struct EthernetUse {
    core_x: u16,
    core_y: u16,
    percent: f64,
}

impl ProgramUse {
    /// Computes the figures of a program. If the chip has no model, all figures are null, and
    /// `gaps` contains the reason.
    pub(super) fn from_trace(trace: &ProgramTrace, chips: &BTreeMap<u32, NocChip>) -> Self {
        match chips.get(&trace.chip_id) {
            Some(chip) => Self::new(trace, NocFigures::from_trace(trace, chip), Vec::new()),
            None => {
                let gap = "the speeds of the chip's NoCs are unknown".to_owned();
                Self::new(trace, NocFigures::default(), vec![gap])
            }
        }
    }

    fn new(trace: &ProgramTrace, figures: NocFigures, mut gaps: Vec<String>) -> Self {
        gaps.extend(figures.gaps.iter().map(ToString::to_string));
        let ethernet =
            figures.ethernet_percent.as_ref().map(|cores| {
                let of_core = |(core, &percent): (&host_reader::mesh::Noc0Coord, &f64)| {
                    EthernetUse { core_x: core.x, core_y: core.y, percent }
                };
                cores.iter().map(of_core).collect()
            });
        Self {
            chip: trace.chip_id,
            run_host_id: trace.program.0,
            op_name: trace.op_name.clone(),
            noc_percent: figures.link_percent,
            multicast_noc_percent: figures.multicast_link_percent,
            dram_percent: figures.dram_percent,
            ethernet_percent: ethernet,
            congestion_percent: figures.congestion_percent,
            gaps,
            ignored_transfers: figures.ignored_count,
            saturated_transfers: figures.saturated_count,
            missing_bytes: figures.missing_bytes(),
            dram_controller_percent: figures.dram_controller_percent,
        }
    }
}

/// Writes a row for each program.
pub(super) fn write_use(
    programs: &[ProgramUse],
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    writeln!(out, "\nModelled use of links, DRAM and Ethernet, in percent\n")?;
    write_columns!(programs, rows, out, |one| {
        let controllers = one.dram_controller_percent.iter().flat_map(BTreeMap::values).copied();
        let ethernet = one.ethernet_percent.iter().flatten().map(|core| core.percent);
        "chip" => one.chip,
        "program" => program_label(one.run_host_id, None),
        "op" => one.op_name,
        "NoC" => decimal(one.noc_percent),
        "multicast" => decimal(one.multicast_noc_percent),
        "DRAM" => decimal(one.dram_percent),
        "busiest DRAM" => decimal(controllers.reduce(f64::max)),
        "busiest Ethernet" => decimal(ethernet.reduce(f64::max)),
        "congestion" => decimal(one.congestion_percent),
        "empty because" => one.gaps.join(", "),
        "without" => one.missing_bytes.as_deref().unwrap_or_default(),
    })
}
