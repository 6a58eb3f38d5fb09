//! NoC figures of one program.

use super::{
    chip::{NocChip, TileKind},
    gap::NocGap,
    simulation::{Outcome, simulate},
    workload::{Flow, Sink, Workload},
};
use crate::{
    MOST_PERCENT,
    noc_events::{counted, trace::ProgramTrace},
};
use reader::mesh::Noc0Coord;
use std::collections::BTreeMap;

/// Use of a chip's NoCs, DRAM controllers and Ethernet links by one program, in percent of their
/// peaks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NocFigures {
    /// Mean use of all links.
    pub link_percent: Option<f64>,
    /// Part of `link_percent` that is due to multicast writes.
    pub multicast_link_percent: Option<f64>,
    /// Use of DRAM: bytes read and written during the kernels.
    pub dram_percent: Option<f64>,
    /// Use of each DRAM controller that has traffic. The keys are the numbers of the controllers.
    pub dram_controller_percent: Option<BTreeMap<u16, f64>>,
    /// Use of each Ethernet core that receives writes: bytes received during the kernels.
    pub ethernet_percent: Option<BTreeMap<Noc0Coord, f64>>,
    /// Time that transfers lose by sharing links and tiles, in percent of the time until the last
    /// transfer ends.
    pub congestion_percent: Option<f64>,
    /// Reasons for empty figures.
    pub gaps: Vec<NocGap>,
    /// Number of transfers that no figure includes: inline writes, and writes with a transaction
    /// id.
    pub ignored_count: u64,
    /// Number of transfers recorded with the maximum size that an event can hold. These transfers
    /// may have moved more bytes.
    pub saturated_count: u64,
}

impl NocFigures {
    /// Computes the figures of a program. A figure that cannot be computed is `None`, and `gaps`
    /// contains the reason.
    ///
    /// ```
    /// use analysis::noc_events::{NocChip, NocFigures, ProgramTrace, read_json};
    /// let text = br#"[
    ///     {"proc": "BRISC", "sx": 1, "sy": 1, "timestamp": 0, "zone": "A", "zone_phase": "ZONE_START"},
    ///     {"proc": "BRISC", "sx": 1, "sy": 1, "timestamp": 100, "type": "READ", "noc": "NOC_0",
    ///      "dx": 0, "dy": 0, "num_bytes": 2360},
    ///     {"proc": "BRISC", "sx": 1, "sy": 1, "timestamp": 1020, "zone": "A", "zone_phase": "ZONE_END"}
    /// ]"#;
    /// let traces = ProgramTrace::from_objects(read_json(text).objects, "noc_trace_dev0_ID1024.json");
    /// let figures = NocFigures::from_trace(&traces[0], &NocChip::from_arch("wormhole_b0").unwrap());
    /// // One of six controllers moves 23.6 bytes a cycle, and needs 100 of 1,000.
    /// let percent = figures.dram_controller_percent.unwrap()[&0];
    /// assert!((percent - 10.0).abs() < 0.001);
    /// ```
    #[must_use]
    pub fn from_trace(trace: &ProgramTrace, chip: &NocChip) -> Self {
        Self::from_workload(&Workload::from_trace(trace, chip), chip)
    }

    /// Returns true if any figure is known.
    #[must_use]
    pub const fn has_any(&self) -> bool {
        self.link_percent.is_some()
            || self.dram_percent.is_some()
            || self.dram_controller_percent.is_some()
    }

    /// Returns a short text about the bytes missing in the figures; `None` if no bytes are missing.
    ///
    /// ```
    /// use analysis::noc_events::NocFigures;
    /// let figures = NocFigures { ignored_count: 2, saturated_count: 1, ..NocFigures::default() };
    /// assert_eq!(
    ///     figures.missing_bytes().unwrap(),
    ///     "2 inline writes or writes under a transaction id; more bytes of 1 large transfer"
    /// );
    /// ```
    #[must_use]
    pub fn missing_bytes(&self) -> Option<String> {
        let ignored = (self.ignored_count > 0).then(|| {
            let one = "inline write or write under a transaction id";
            counted(self.ignored_count, one, "inline writes or writes under a transaction id")
        });
        let saturated = (self.saturated_count > 0).then(|| {
            let large = counted(self.saturated_count, "large transfer", "large transfers");
            format!("more bytes of {large}")
        });
        let reasons: Vec<_> = ignored.into_iter().chain(saturated).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    pub(super) fn from_workload(workload: &Workload, chip: &NocChip) -> Self {
        let mut figures = Self {
            gaps: workload.gaps.clone(),
            ignored_count: workload.ignored_count,
            saturated_count: workload.saturated_count,
            ..Self::default()
        };
        if !figures.gaps.is_empty() {
            return figures;
        }
        let Some(kernel_cycles) = workload.kernel_cycles else {
            figures.gaps.push(NocGap::NoTime);
            return figures;
        };
        figures.add_bandwidths(workload, to_float(kernel_cycles), chip);
        if let Err(gap) = figures.add_links(workload, chip) {
            figures.gaps.push(gap);
        }
        figures
    }

    fn add_bandwidths(&mut self, workload: &Workload, kernel_cycles: f64, chip: &NocChip) {
        let (mut controller_bytes, mut ethernet_bytes) = (BTreeMap::new(), BTreeMap::new());
        for flow in &workload.flows {
            if let Some(controller) = dram_controller_of(flow, chip) {
                *controller_bytes.entry(controller).or_insert(0.0) += to_float(flow.byte_count);
            }
            if let Sink::Tile(to) = flow.sink
                && chip.kind(to) == TileKind::Ethernet
            {
                *ethernet_bytes.entry(to).or_insert(0.0) += to_float(flow.byte_count);
            }
        }
        let dram = f64::from(chip.dram_controller_rate()) * kernel_cycles / 100.0;
        let whole: f64 = controller_bytes.values().fold(0.0, |sum, bytes| sum + bytes);
        let controllers = mapped(controller_bytes, |bytes| bytes / dram);
        if controllers.values().any(|percent| *percent > MOST_PERCENT) {
            self.gaps.push(NocGap::AboveDramPeak);
        } else {
            self.dram_controller_percent = Some(controllers);
            self.dram_percent =
                chip.dram_controller_count().map(|count| whole / (dram * f64::from(count)));
            if self.dram_percent.is_none() {
                self.gaps.push(NocGap::UnknownBoard);
            }
        }
        let ethernet = f64::from(chip.rates.ethernet_link) * kernel_cycles / 100.0;
        let links = mapped(ethernet_bytes, |bytes| bytes / ethernet);
        if links.values().any(|percent| *percent > MOST_PERCENT) {
            self.gaps.push(NocGap::AboveEthernetPeak);
        } else {
            self.ethernet_percent = Some(links);
        }
    }

    fn add_links(&mut self, workload: &Workload, chip: &NocChip) -> Result<(), NocGap> {
        let [congested, free]: [Outcome; 2] =
            [simulate(workload, chip, true)?, simulate(workload, chip, false)?];
        let [all, multicast] = congested.utilisation_percent;
        let congestion = match (congested.end_cycle, free.end_cycle) {
            (Some(end), Some(free)) => 100.0 * (1.0 - to_float(free) / to_float(end)),
            _ if workload.flows.is_empty() => 0.0,
            _ => return Err(NocGap::AllAtEnd),
        };
        if all > MOST_PERCENT {
            return Err(NocGap::AboveLinkPeak);
        }
        self.link_percent = Some(all);
        self.multicast_link_percent = Some(multicast);
        self.congestion_percent = Some(congestion);
        Ok(())
    }
}

/// Returns the DRAM controller that sends the bytes, or else the one that receives them.
fn dram_controller_of(flow: &Flow, chip: &NocChip) -> Option<u16> {
    chip.dram_controller(flow.from).or_else(|| match flow.sink {
        Sink::Tile(to) => chip.dram_controller(to),
        Sink::Rectangle(_) => None,
    })
}

fn mapped<K: Ord>(map: BTreeMap<K, f64>, change: impl Fn(f64) -> f64) -> BTreeMap<K, f64> {
    map.into_iter().map(|(key, value)| (key, change(value))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "2^53 bytes or cycles are in no trace")]
const fn to_float(count: u64) -> f64 {
    count as f64
}
