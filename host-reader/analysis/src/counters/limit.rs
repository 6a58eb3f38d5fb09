//! Limits of metrics: quantities that a reader might expect in a metric, but that the metric does
//! not measure.

use crate::counters::{
    CounterGroup,
    formula::Formula,
    names::{L1_CLIENT_PREFIX, STALLS},
};

reader::labelled! {
    /// Quantity or distinction that a metric does not measure.
    ///
    /// # Compatibility
    /// `performance_counters/hardware_reference.md`, `perf_counters.hpp` and `perf_counters/quasar.h` of
    /// TT-Metal 0.81.1.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Limit {
        /// Time without a compute kernel.
        OutsideOfCompute =
            "time before TRISC 1 begins its kernel (on a Quasar, before DM 0 starts the \
             counters) or after the last TRISC has ended",
        /// Polling loops of a RISC-V core.
        PollingRiscs =
            "waits in which a RISC polls: cb_wait_front, cb_reserve_back and NoC barriers issue \
             no Tensix instruction",
        /// Data that the core itself reads over the NoC.
        OwnReads = "data that the core itself reads, because it arrives over the outgoing interface",
        /// The second pair of the NoC's channels, which only Blackhole has.
        SecondChannels = "the second pair of channels, which only Blackhole has",
        /// Banks of L1 that another run counts.
        OtherBanks = "other banks of L1, because a run counts one bank",
        /// One common time span: the counters of the formula start one after the other, or count in
        /// different runs.
        OneSpan =
            "one common time span: its counters start one after the other, or in different runs",
        /// Unit that wrote to the source registers: writes of THCON and of other threads are
        /// counted together with those of the unpacker.
        OtherWriters = "which unit writes: writes of THCON and of other threads are counted too",
        /// Thread that issued the instruction: instructions of all threads are counted together.
        WhichThread = "which thread issued the instruction: all threads are counted together",
        /// Which of Quasar's four threads stalls.
        WhichOfFourThreads = "which of Quasar's four threads stalls",
        /// Ports and events of Quasar's L1 clients that the run has not selected.
        OtherSelections = "other ports and events of the L1 clients, because a run selects one of 256",
        /// Lane of an L1 client's port: the port's counter counts the events of all lanes together.
        WhichLane = "which lane of the port: a bank's count covers all lanes",
        /// Events that are too few for a count: the hardware increases the counter by one only
        /// after several events.
        BelowCarry =
            "fewer events than a carry: one count stands for four events of lanes, or for 64 or \
             128 cycles of pending requests",
        /// Time for which one part of a Quasar core counted. The cycles are those from the start to
        /// the stop of all four parts.
        OwnWindow =
            "the time of its own part: its cycles are the wall clock from the start to the stop \
             of all four parts of the core",
    }
}

impl Limit {
    /// Returns the limits of a formula, derived from its counters.
    pub(crate) fn from_formula(formula: Formula) -> Vec<Self> {
        let counters = formula.counters();
        let any = |is: &dyn Fn(&str) -> bool| counters.iter().any(|name| is(name));
        let groups = counters.iter().filter_map(|name| CounterGroup::from_counter(name));
        let mut groups: Vec<_> = groups.collect();
        groups.sort_unstable();
        groups.dedup();
        let is_primary = matches!(formula, Formula::MeanOfPorts(_) | Formula::Refused(_))
            && counters
                .iter()
                .all(|name| name.starts_with("L1_0_NOC_RING") || name.starts_with("L1_1_NOC_RING"));
        let is_client = any(&|name| name.starts_with(L1_CLIENT_PREFIX));
        Self::ALL
            .into_iter()
            .filter(|limit| match limit {
                Self::OutsideOfCompute => true,
                Self::PollingRiscs => any(&|name| {
                    name.starts_with("WAITING_FOR_")
                        || name.starts_with("THREAD_STALLS_")
                        || name == "ANY_THREAD_STALL"
                }),
                Self::OwnReads => any(&|name| name.contains("_INCOMING_")),
                Self::SecondChannels => is_primary,
                Self::OtherBanks => !is_client && any(&|name| name.starts_with("L1_")),
                Self::OneSpan => groups.len() > 1,
                Self::OtherWriters => {
                    any(&|name| matches!(name, "SRCA_WRITE_REQ" | "SRCB_WRITE_REQ"))
                }
                Self::WhichThread => any(&|name| name == "FPU_COUNTER"),
                Self::WhichOfFourThreads => any(&|name| STALLS.contains(&name)),
                Self::OtherSelections | Self::OwnWindow => is_client,
                Self::WhichLane => is_client && any(&|name| name.contains("_SBANK")),
                Self::BelowCarry => is_client && any(&|name| name.ends_with("_CARRY")),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{
        Metric,
        metrics::{l1_client_metric, metrics},
        names::l1_client_names,
    };
    use std::collections::BTreeSet;

    fn limits(label: &str) -> Vec<Limit> {
        metrics().iter().find(|metric| metric.label() == label).unwrap().limits()
    }

    #[test]
    fn metrics_say_what_they_cannot_see() {
        use Limit::{
            OneSpan, OtherBanks, OtherWriters, OutsideOfCompute, OwnReads, PollingRiscs,
            SecondChannels, WhichOfFourThreads, WhichThread,
        };
        for (label, expected) in [
            ("FPU Util", vec![OutsideOfCompute, WhichThread]),
            ("SFPU Util", vec![OutsideOfCompute]),
            ("Thread 0 Stall Rate", vec![OutsideOfCompute, PollingRiscs]),
            ("SrcA Valid Wait", vec![OutsideOfCompute, PollingRiscs]),
            ("Stall Overlap T2", vec![OutsideOfCompute, PollingRiscs]),
            ("Math Scoreboard Stall Rate", vec![OutsideOfCompute, OneSpan]),
            ("NOC Ring 0 Util", vec![OutsideOfCompute, OwnReads, OtherBanks, OneSpan]),
            (
                "NOC Ring 1 Incoming Backpressure",
                vec![OutsideOfCompute, OwnReads, SecondChannels, OtherBanks],
            ),
            ("NOC Ring 0 Outgoing Util", vec![OutsideOfCompute, SecondChannels, OtherBanks]),
            ("Unpacker-to-Math Data Flow (srcA)", vec![OutsideOfCompute, OtherWriters]),
            ("Dest Stall Math Share", vec![OutsideOfCompute, WhichOfFourThreads]),
        ] {
            assert_eq!(limits(label), expected, "{label}");
        }
        use Limit::{BelowCarry, OtherSelections, OwnWindow, WhichLane};
        for (counter, own) in [
            ("L1_CLIENT_THCON_ORDER_FIFO_ACTIVE", vec![]),
            ("L1_CLIENT_TRISC_SBANK0_SBANK_POP", vec![WhichLane]),
            ("L1_CLIENT_PACK0_IF0_SBANK2_ISSUE_STALL_CARRY", vec![WhichLane, BelowCarry]),
            ("L1_CLIENT_UNPACK1_IF1_LANE2_PENDING_REQS_CARRY", vec![BelowCarry]),
        ] {
            let mut expected = vec![OutsideOfCompute, OtherSelections];
            expected.extend(own);
            expected.push(OwnWindow);
            assert_eq!(l1_client_metric(counter).unwrap().limits(), expected, "{counter}");
        }
        let clients: Vec<_> = l1_client_names().collect();
        let clients = clients.iter().map(|counter| l1_client_metric(counter).unwrap());
        assert_eq!(clients.clone().count(), 256, "as many selections as upstream counts");
        let all: BTreeSet<_> = metrics().iter().chain(clients).flat_map(Metric::limits).collect();
        assert_eq!(all.len(), Limit::ALL.len(), "no limit without a metric");
    }
}
