//! Metrics computed from hardware counters, in the order of their columns in TT-Metal's ops CSV.

use crate::counters::{
    CounterGroup, Limit,
    formula::{
        Formula::{
            self, BundlesOfL1, ComputeToUnpack, Contention, FpuAndSfpu, Granted, L1Bandwidth,
            L1Client, L1Reads, MathToPack, MeanDataFlow, MeanOfAllPorts, MeanOfPorts, NocOfWork,
            Overlap, PackerImbalance, PackerL1, PerReadyCycle, Port, Port1Refused, Quotient, Rate,
            Refused, Rest, RestWithin, Ring0Outgoing, Share, SrcBStall, StallShare,
        },
        SRCB_STALL_MATH,
    },
    names::{L1_CLIENT_PREFIX, l1_client_names},
    ports::{
        BUNDLES, PACKERS, PORT_1, PORT_2, PORT_8, RING_0, RING_0_INCOMING, RING_0_OUTGOING, RING_1,
        RING_1_INCOMING, RING_1_OUTGOING, UNPACKER, UNPACKER_0_EXTENDED, UNPACKER_1_EXTENDED,
    },
    reader::CounterReader,
};
use crate::peak::MOST_PERCENT;
use std::{collections::BTreeMap, sync::LazyLock};

/// Metric of hardware counters, with one value for each core and launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    label: &'static str,
    formula: Formula,
    /// True if the metric is a plain ratio that may exceed 1, false if it is a percentage.
    is_ratio: bool,
}

impl Metric {
    /// Returns the metric's name.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        self.label
    }

    /// Returns the unit of the values: percent, or a ratio that may exceed 1.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        if self.is_ratio { "ratio" } else { "%" }
    }

    /// Returns true if the metric is the share of cycles in which a counter counted, which cannot
    /// exceed 1.
    #[must_use]
    pub const fn is_share_of_cycles(&self) -> bool {
        matches!(self.formula, Formula::Rate(_)) && !self.is_ratio
    }

    /// Returns what the metric does not measure.
    #[must_use]
    pub fn limits(&self) -> Vec<Limit> {
        Limit::from_formula(self.formula)
    }

    /// Returns the column header for one statistic over the cores.
    ///
    /// # Compatibility
    /// Headers of `ops_perf_results.csv`.
    #[must_use]
    pub fn title(&self, statistic: &str) -> String {
        format!("{} {statistic} ({})", self.label, self.unit())
    }

    /// Returns true if the counters that one core read contradict each other.
    pub(crate) fn is_contradiction(&self, reader: &CounterReader) -> bool {
        self.formula.is_contradiction(reader)
    }

    /// Returns true if the metric is computed from a counter that counted in more cycles than there
    /// were. Shares of cycles are such counters themselves.
    pub(crate) fn uses_doubtful_counter(&self, reader: &CounterReader) -> bool {
        !self.is_share_of_cycles()
            && self.formula.counters().iter().any(|name| {
                counts_cycles(name)
                    && reader.own_rate(name).is_some_and(|rate| rate * 100.0 > MOST_PERCENT)
            })
    }

    /// Returns the most cycles over which one of the metric's counters counted on one core; 0 if
    /// unknown.
    pub(crate) fn most_cycles(&self, reader: &CounterReader) -> f64 {
        self.formula.counters().iter().map(|name| reader.own_cycles(name)).fold(0.0, f64::max)
    }

    /// Returns true if the metric is about engines, or about threads that feed them: kernels that compute.
    pub(crate) fn is_of_engines(&self) -> bool {
        let groups = self.formula.counters();
        let mut groups = groups.iter().filter_map(|name| CounterGroup::from_counter(name));
        groups.any(|group| !matches!(group, CounterGroup::L1(_)))
    }

    /// Returns the value on one core, in the metric's unit.
    pub(crate) fn value(&self, reader: &CounterReader, is_blackhole: bool) -> Option<f64> {
        let value = self.formula.value(reader, is_blackhole)?;
        Some(if self.is_ratio { value } else { value * 100.0 })
    }
}

/// Returns true if a counter counts at most once in a cycle.
fn counts_cycles(counter: &str) -> bool {
    let mut shares = METRICS.iter().filter(|metric| metric.is_share_of_cycles());
    shares.any(|metric| matches!(metric.formula, Rate(name) if name == counter))
}

const fn percent(label: &'static str, formula: Formula) -> Metric {
    Metric { label, formula, is_ratio: false }
}

const fn ratio(label: &'static str, formula: Formula) -> Metric {
    Metric { label, formula, is_ratio: true }
}

/// Returns all metrics, in the order of their columns.
///
/// # Compatibility
/// `METRIC_LABELS` of `tt_llk_perf/metrics.py`, release 0.81.1.
#[must_use]
pub fn metrics() -> &'static [Metric] {
    &METRICS
}

/// Returns the metric of one of Quasar's L1 client counters; `None` for other counters.
///
/// # Compatibility
/// `compute_l1_client_metrics` of `tt_llk_perf/metrics.py`, release 0.81.1.
pub(crate) fn l1_client_metric(counter: &str) -> Option<&'static Metric> {
    static METRICS: LazyLock<BTreeMap<&'static str, Metric>> = LazyLock::new(|| {
        // The names are leaked, so that they are `'static` like those of all other metrics.
        let metrics = l1_client_names().map(|counter| -> (&'static str, Metric) {
            let counter = counter.leak();
            let metric = if counts_pending(counter) {
                let label = format!("{counter} Mean Outstanding").leak();
                ratio(label, L1Client(counter, pending_requests(counter)))
            } else {
                percent(format!("{counter} Rate").leak(), L1Client(counter, 1.0))
            };
            (counter, metric)
        });
        metrics.collect()
    });
    METRICS.get(counter)
}

/// Returns true if a column header belongs to one of Quasar's L1 clients.
#[must_use]
pub fn is_l1_client_title(title: &str) -> bool {
    title.starts_with(L1_CLIENT_PREFIX)
}

/// Returns true if a counter of L1 clients counts pending requests. Several requests can be pending
/// at the same time.
fn counts_pending(counter: &str) -> bool {
    counter.ends_with("_PENDING_REQS_CARRY")
}

/// Returns the number of request cycles after which the counter increases by one. A request that is
/// pending for `n` cycles has `n` request cycles.
///
/// Packer 0 has room for more requests than other clients, so its counts stand for more cycles.
fn pending_requests(counter: &str) -> f64 {
    if counter.starts_with("L1_CLIENT_PACK0_IF") { 128.0 } else { 64.0 }
}

static METRICS: [Metric; 164] = [
    percent("FPU Util", Rate("FPU_COUNTER")),
    percent("MATH Util", Rate("MATH_COUNTER")),
    percent("SFPU Util", Rate("SFPU_COUNTER")),
    ratio("FPU Execution Efficiency", Quotient("FPU_COUNTER", "MATH_INSTRN_AVAILABLE_1")),
    percent("Packer Utilization", Rate("PACKER_BUSY")),
    percent("Packer Efficiency", Quotient("PACKER0_DEST_READ_REQ", "PACKER_BUSY")),
    percent("Pack Dest Grant Efficiency", Quotient("DEST_READ_GRANTED_0", "PACKER0_DEST_READ_REQ")),
    percent("Math Pipeline Utilization", Quotient("MATH_INSTRN_STARTED", "MATH_INSTRN_AVAILABLE")),
    ratio("Math-to-Pack Handoff Efficiency", MathToPack),
    ratio("Unpacker-to-Math Data Flow", MeanDataFlow),
    ratio("Unpacker-to-Math Data Flow (srcA)", Quotient("SRCA_WRITE_REQ", "UNPACK0_BUSY_THREAD0")),
    ratio("Unpacker-to-Math Data Flow (srcB)", Quotient("SRCB_WRITE_REQ", "UNPACK1_BUSY_THREAD0")),
    percent("Thread 0 Stall Rate", Rate("THREAD_STALLS_0")),
    percent("Thread 1 Stall Rate", Rate("THREAD_STALLS_1")),
    percent("Thread 2 Stall Rate", Rate("THREAD_STALLS_2")),
    percent("SrcA Valid Wait", Rate("WAITING_FOR_SRCA_VALID")),
    percent("SrcB Valid Wait", Rate("WAITING_FOR_SRCB_VALID")),
    percent("SrcA Clear Wait", Rate("WAITING_FOR_SRCA_CLEAR")),
    percent("SrcB Clear Wait", Rate("WAITING_FOR_SRCB_CLEAR")),
    percent("Math Idle Wait T1", Rate("WAITING_FOR_MATH_IDLE_1")),
    percent("Pack Idle Wait T2", Rate("WAITING_FOR_PACK_IDLE_2")),
    percent("Unpack Idle Wait T0", Rate("WAITING_FOR_UNPACK_IDLE_0")),
    percent("Math Waiting on Unpack (T1)", Rate("WAITING_FOR_UNPACK_IDLE_1")),
    percent("Pack Waiting on Math (T2)", Rate("WAITING_FOR_MATH_IDLE_2")),
    percent("Unpack Waiting on Pack (T0)", Rate("WAITING_FOR_PACK_IDLE_0")),
    percent("SFPU Idle Wait T1", Rate("WAITING_FOR_SFPU_IDLE_1")),
    percent("CFG Idle Wait T0", Rate("WAITING_FOR_CFG_IDLE_0")),
    percent("THCON Idle Wait T0", Rate("WAITING_FOR_THCON_IDLE_0")),
    percent("MOVE Idle Wait T0", Rate("WAITING_FOR_MOVE_IDLE_0")),
    percent("Semaphore Zero Wait T1", Rate("WAITING_FOR_NONZERO_SEM_1")),
    percent("Semaphore Zero Wait T2", Rate("WAITING_FOR_NONZERO_SEM_2")),
    percent("Semaphore Zero Wait T0", Rate("WAITING_FOR_NONZERO_SEM_0")),
    percent("Semaphore Full Wait T0", Rate("WAITING_FOR_NONFULL_SEM_0")),
    percent("Semaphore Full Wait T1", Rate("WAITING_FOR_NONFULL_SEM_1")),
    percent("Semaphore Full Wait T2", Rate("WAITING_FOR_NONFULL_SEM_2")),
    percent("CFG Instrn Avail Rate T0", Rate("CFG_INSTRN_AVAILABLE_0")),
    percent("SYNC Instrn Avail Rate T0", Rate("SYNC_INSTRN_AVAILABLE_0")),
    percent("THCON Instrn Avail Rate T0", Rate("THCON_INSTRN_AVAILABLE_0")),
    percent("MOVE Instrn Avail Rate T0", Rate("MOVE_INSTRN_AVAILABLE_0")),
    percent("MATH Instrn Avail Rate T1", Rate("MATH_INSTRN_AVAILABLE_1")),
    percent("UNPACK Instrn Avail Rate T0", Rate("UNPACK_INSTRN_AVAILABLE_0")),
    percent("PACK Instrn Avail Rate T2", Rate("PACK_INSTRN_AVAILABLE_2")),
    percent("Data Hazard Stall Rate", Rest("MATH_NOT_D2S_STALLED", "MATH_INSTRN_AVAILABLE")),
    percent(
        "Math Scoreboard Stall Rate",
        RestWithin("MATH_NOT_SCOREBOARD_STALLED", "MATH_INSTRN_AVAILABLE"),
    ),
    percent(
        "SrcA Write Actual Efficiency",
        Quotient("SRCA_WRITE_NOT_BLOCKED_PORT", "SRCA_WRITE_REQ"),
    ),
    percent(
        "SrcB Write Actual Efficiency",
        Quotient("SRCB_WRITE_NOT_BLOCKED_PORT", "SRCB_WRITE_REQ"),
    ),
    percent(
        "SrcA Write Overwrite Blocked Rate",
        Rest("SRCA_WRITE_NOT_BLOCKED_OVR", "SRCA_WRITE_REQ"),
    ),
    percent(
        "SrcB Write Overwrite Blocked Rate",
        Rest("SRCB_WRITE_NOT_BLOCKED_OVR", "SRCB_WRITE_REQ"),
    ),
    percent("T0 Instrn Issue Rate", Rate("THREAD_INSTRUCTIONS_0")),
    percent("T1 Instrn Issue Rate", Rate("THREAD_INSTRUCTIONS_1")),
    percent("T2 Instrn Issue Rate", Rate("THREAD_INSTRUCTIONS_2")),
    percent("Packer Engine 0 Util", Rate("PACKER_BUSY_0")),
    percent("Packer Engine 1 Util", Rate("PACKER_BUSY_1")),
    percent("Packer Engine 2 Util", Rate("PACKER_BUSY_2")),
    percent("Packer Load Imbalance", PackerImbalance),
    percent("L1 Unpacker Port Util", MeanOfPorts(UNPACKER)),
    percent("L1 Port 1 Util", Port(PORT_1)),
    percent("L1 Packer Port 8 Util", Port(PORT_8)),
    percent("L1 TDMA Bundle Util", MeanOfPorts(BUNDLES)),
    percent("L1 Unpacker1 Ext Util", MeanOfPorts(UNPACKER_1_EXTENDED)),
    percent("L1 Unpacker0 Ext Util", MeanOfPorts(UNPACKER_0_EXTENDED)),
    percent("L1 Packer Interfaces Util", MeanOfPorts(PACKERS)),
    percent("L1 Mean Client Util", MeanOfAllPorts),
    percent("L1 Port 2 Util", Port(PORT_2)),
    percent("NOC Ring 0 Util", MeanOfPorts(RING_0)),
    percent("NOC Ring 1 Util", MeanOfPorts(RING_1)),
    percent("NOC Ring 0 Outgoing Util", MeanOfPorts(RING_0_OUTGOING)),
    percent("NOC Ring 0 Incoming Util", MeanOfPorts(RING_0_INCOMING)),
    percent("NOC Ring 1 Outgoing Util", MeanOfPorts(RING_1_OUTGOING)),
    percent("NOC Ring 1 Incoming Util", MeanOfPorts(RING_1_INCOMING)),
    percent("NOC Ring 0 Grant Efficiency", Granted(RING_0)),
    ratio("Unpacker L1 Efficiency", Quotient("L1_0_UNPACKER_0_GRANT", "UNPACK0_BUSY_THREAD0")),
    ratio("Packer L1 Efficiency", PackerL1),
    percent("L1 Unpacker Backpressure", Refused(UNPACKER)),
    percent("L1 Port 1 Backpressure", Port1Refused),
    percent("NOC Ring 0 Outgoing Backpressure", Refused(RING_0_OUTGOING)),
    percent("NOC Ring 0 Incoming Backpressure", Refused(RING_0_INCOMING)),
    percent("NOC Ring 1 Outgoing Backpressure", Refused(RING_1_OUTGOING)),
    percent("NOC Ring 1 Incoming Backpressure", Refused(RING_1_INCOMING)),
    percent("L1 Total Bandwidth Util", L1Bandwidth),
    percent("L1 Read vs Write Ratio", L1Reads),
    percent("NOC Ring 0 Asymmetry", Ring0Outgoing),
    percent("TDMA vs NOC L1 Share", BundlesOfL1),
    percent("L1 Contention Index", Contention),
    percent("NOC vs Compute Balance", NocOfWork),
    ratio("Stall Overlap T0", Overlap(0)),
    ratio("Stall Overlap T1", Overlap(1)),
    ratio("Stall Overlap T2", Overlap(2)),
    ratio("Compute-to-Unpack Ratio", ComputeToUnpack),
    percent("NOC Ring 1 Grant Efficiency", Granted(RING_1)),
    percent("Any-Thread Stall Rate", Rate("ANY_THREAD_STALL")),
    percent("L1 Unpacker1 Ext Backpressure", Refused(UNPACKER_1_EXTENDED)),
    percent("L1 Unpacker0 Ext Backpressure", Refused(UNPACKER_0_EXTENDED)),
    percent("L1 Packer Interfaces Backpressure", Refused(PACKERS)),
    percent("Unpacker0 T1 Share", Share("UNPACK0_BUSY_THREAD1", "UNPACK0_BUSY_THREAD0")),
    percent("Unpacker1 T1 Share", Share("UNPACK1_BUSY_THREAD1", "UNPACK1_BUSY_THREAD0")),
    percent("SrcA Write Even-TID Share", Share("SRCA_WRITE_TID_EVEN", "SRCA_WRITE_TID_ODD")),
    percent("SrcB Write Even-TID Share", Share("SRCB_WRITE_TID_EVEN", "SRCB_WRITE_TID_ODD")),
    percent("Thread 3 Stall Rate", Rate("THREAD_STALLS_3")),
    percent("T3 Instrn Issue Rate", Rate("THREAD_INSTRUCTIONS_3")),
    percent("CFG Instrn Avail Rate T1", Rate("CFG_INSTRN_AVAILABLE_1")),
    percent("CFG Instrn Avail Rate T2", Rate("CFG_INSTRN_AVAILABLE_2")),
    percent("CFG Instrn Avail Rate T3", Rate("CFG_INSTRN_AVAILABLE_3")),
    percent("SYNC Instrn Avail Rate T1", Rate("SYNC_INSTRN_AVAILABLE_1")),
    percent("SYNC Instrn Avail Rate T2", Rate("SYNC_INSTRN_AVAILABLE_2")),
    percent("SYNC Instrn Avail Rate T3", Rate("SYNC_INSTRN_AVAILABLE_3")),
    percent("THCON Instrn Avail Rate T1", Rate("THCON_INSTRN_AVAILABLE_1")),
    percent("THCON Instrn Avail Rate T2", Rate("THCON_INSTRN_AVAILABLE_2")),
    percent("THCON Instrn Avail Rate T3", Rate("THCON_INSTRN_AVAILABLE_3")),
    percent("INSTISSUE Instrn Avail Rate T0", Rate("INSTISSUE_INSTRN_AVAILABLE_0")),
    percent("INSTISSUE Instrn Avail Rate T1", Rate("INSTISSUE_INSTRN_AVAILABLE_1")),
    percent("INSTISSUE Instrn Avail Rate T2", Rate("INSTISSUE_INSTRN_AVAILABLE_2")),
    percent("INSTISSUE Instrn Avail Rate T3", Rate("INSTISSUE_INSTRN_AVAILABLE_3")),
    percent("MATH Instrn Avail Rate T0", Rate("MATH_INSTRN_AVAILABLE_0")),
    percent("MATH Instrn Avail Rate T2", Rate("MATH_INSTRN_AVAILABLE_2")),
    percent("MATH Instrn Avail Rate T3", Rate("MATH_INSTRN_AVAILABLE_3")),
    percent("UNPACK Instrn Avail Rate T1", Rate("UNPACK_INSTRN_AVAILABLE_1")),
    percent("UNPACK Instrn Avail Rate T2", Rate("UNPACK_INSTRN_AVAILABLE_2")),
    percent("UNPACK Instrn Avail Rate T3", Rate("UNPACK_INSTRN_AVAILABLE_3")),
    percent("PACK Instrn Avail Rate T0", Rate("PACK_INSTRN_AVAILABLE_0")),
    percent("PACK Instrn Avail Rate T1", Rate("PACK_INSTRN_AVAILABLE_1")),
    percent("PACK Instrn Avail Rate T3", Rate("PACK_INSTRN_AVAILABLE_3")),
    percent("Tile Counter Stall Pack Rate", Rate("TILE_COUNTER_STALL_PACK")),
    percent("Tile Counter Stall Unpack Rate", Rate("TILE_COUNTER_STALL_UNPACK")),
    percent("Srcs Stall Pack Rate", Rate("SRCS_STALL_PACK")),
    percent("Srcs Stall SFPU Rate", Rate("SRCS_STALL_SFPU")),
    percent("Srcs Stall Unpack Rate", Rate("SRCS_STALL_UNPACK")),
    percent("Dest Stall Pack Rate", Rate("DEST_STALL_PACK")),
    percent("Dest Stall SFPU Rate", Rate("DEST_STALL_SFPU")),
    percent("Dest Stall Math Rate", Rate("DEST_STALL_MATH")),
    percent("Dest Stall Unpack Rate", Rate("DEST_STALL_UNPACK")),
    percent("SFPU Data Hazard Stall Rate", Rate("SFPU_DATA_HAZARD_STALL")),
    percent("FPU Data Hazard Stall Rate", Rate("FPU_DATA_HAZARD_STALL")),
    percent("SrcB Stall Unpack Rate", Rate("SRCB_STALL_UNPACK")),
    percent("SrcA Stall Unpack Rate", Rate("SRCA_STALL_UNPACK")),
    percent("Src Valid Stall Math Rate", Rate("DVALID_STALL_MATH")),
    percent("SrcA Stall Math Rate", Rate("SRCA_STALL_MATH")),
    percent("SrcB Stall Math Rate", SrcBStall),
    percent("Tile Counter Stall Pack Share", StallShare("TILE_COUNTER_STALL_PACK")),
    percent("Tile Counter Stall Unpack Share", StallShare("TILE_COUNTER_STALL_UNPACK")),
    percent("Srcs Stall Pack Share", StallShare("SRCS_STALL_PACK")),
    percent("Srcs Stall SFPU Share", StallShare("SRCS_STALL_SFPU")),
    percent("Srcs Stall Unpack Share", StallShare("SRCS_STALL_UNPACK")),
    percent("Dest Stall Pack Share", StallShare("DEST_STALL_PACK")),
    percent("Dest Stall SFPU Share", StallShare("DEST_STALL_SFPU")),
    percent("Dest Stall Math Share", StallShare("DEST_STALL_MATH")),
    percent("Dest Stall Unpack Share", StallShare("DEST_STALL_UNPACK")),
    percent("SFPU Data Hazard Stall Share", StallShare("SFPU_DATA_HAZARD_STALL")),
    percent("FPU Data Hazard Stall Share", StallShare("FPU_DATA_HAZARD_STALL")),
    percent("SrcB Stall Unpack Share", StallShare("SRCB_STALL_UNPACK")),
    percent("SrcA Stall Unpack Share", StallShare("SRCA_STALL_UNPACK")),
    percent("SrcA Stall Math Share", StallShare("SRCA_STALL_MATH")),
    percent("SrcB Stall Math Share", StallShare(SRCB_STALL_MATH)),
    percent("Unpacker0 Busy T0 Util", Rate("UNPACK0_BUSY_THREAD0")),
    percent("Unpacker1 Busy T0 Util", Rate("UNPACK1_BUSY_THREAD0")),
    percent("Unpacker2 Busy T0 Util", Rate("UNPACK2_BUSY_THREAD0")),
    percent("Unpacker0 Busy T1 Util", Rate("UNPACK0_BUSY_THREAD1")),
    percent("Unpacker1 Busy T1 Util", Rate("UNPACK1_BUSY_THREAD1")),
    percent("Math Src Data Ready Rate", Rate("MATH_SRC_DATA_READY")),
    percent("FPU SFPU Overlap", FpuAndSfpu),
    ratio(
        "T0 Instrn Per Issue-Ready Cycle",
        PerReadyCycle("THREAD_INSTRUCTIONS_0", "THREAD_STALLS_0"),
    ),
    ratio(
        "T1 Instrn Per Issue-Ready Cycle",
        PerReadyCycle("THREAD_INSTRUCTIONS_1", "THREAD_STALLS_1"),
    ),
    ratio(
        "T2 Instrn Per Issue-Ready Cycle",
        PerReadyCycle("THREAD_INSTRUCTIONS_2", "THREAD_STALLS_2"),
    ),
    ratio(
        "T3 Instrn Per Issue-Ready Cycle",
        PerReadyCycle("THREAD_INSTRUCTIONS_3", "THREAD_STALLS_3"),
    ),
];
