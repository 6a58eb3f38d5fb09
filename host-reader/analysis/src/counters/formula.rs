//! Formulas that compute metrics from the counters of one core.
//!
//! A metric whose counters were not read has no value; it is not 0.

use crate::counters::{
    ports::{
        ALL, BUNDLES, PORT_1, PORT_1_GRANTS, RING_0_INCOMING, RING_0_OUTGOING, UNPACKER, grant_of,
    },
    reader::{Bank, CounterReader, divided},
};

use crate::peak::MOST_PERCENT;
use std::borrow::Cow;

/// Formula of a metric. A string is the name of a counter; a list contains names of ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Formula {
    /// A counter divided by the number of cycles for which the counter's bank counted.
    Rate(&'static str),
    /// The first counter divided by the second.
    Quotient(&'static str, &'static str),
    /// 1 minus the quotient of the first and the second counter.
    Rest(&'static str, &'static str),
    /// Like [`Self::Rest`], clamped to the range 0 to 1.
    RestWithin(&'static str, &'static str),
    /// The first counter divided by the sum of both.
    Share(&'static str, &'static str),
    /// Counter of the first port in the list whose counter was read, divided by the number of
    /// cycles for which this counter counted.
    Port(&'static [&'static str]),
    /// Mean of the rates of those listed ports that were read.
    MeanOfPorts(&'static [&'static str]),
    MeanOfAllPorts,
    /// Share of the requests to these ports that were granted.
    Granted(&'static [&'static str]),
    /// Share of the requests to these ports that were not granted.
    Refused(&'static [&'static str]),
    Port1Refused,
    /// Instructions of a thread, divided by the cycles in which the thread was not stalled.
    PerReadyCycle(&'static str, &'static str),
    /// Sum of all waits of a thread, divided by the cycles of the counters' bank. It exceeds 1 if
    /// waits overlap.
    Overlap(u8),
    /// Stalls for one reason, divided by the stalls for all reasons.
    StallShare(&'static str),
    /// Number of cycles in which the math pipe waited for source B but not for source A, divided by
    /// the number of cycles for which the counters' bank counted.
    SrcBStall,
    /// Number of cycles in which math results were ready to be packed, divided by the number of
    /// cycles in which the packer was busy.
    ///
    /// If the packer was never busy, the divisor is the number of all counted cycles.
    MathToPack,
    /// Mean of two quotients, one for each unpacker: its write requests to the math pipe's source A
    /// or B, divided by the unpacker's busy cycles.
    MeanDataFlow,
    PackerImbalance,
    PackerL1,
    L1Bandwidth,
    L1Reads,
    Ring0Outgoing,
    BundlesOfL1,
    Contention,
    NocOfWork,
    ComputeToUnpack,
    /// Share of cycles in which FPU and SFPU are both busy.
    FpuAndSfpu,
    /// Counter of one of Quasar's L1 clients, divided by the number of cycles for which this
    /// counter counted, and multiplied by the number of events or cycles that one count represents.
    L1Client(&'static str, f64),
}

/// Name for the stalls of the math pipe for source B. These stalls are computed, because no
/// hardware counter counts them separately from those for source A.
pub(crate) const SRCB_STALL_MATH: &str = "SRCB_STALL_MATH";
const SOURCES_STALL_MATH: &str = "DVALID_STALL_MATH";

impl Formula {
    /// Returns the value, where 1 is 100 %; `None` if a counter was not read or a divisor is 0.
    ///
    /// An impossible value is clamped, as TT-Metal does: see [`Self::is_contradiction`].
    pub(crate) fn value(self, reader: &CounterReader, is_blackhole: bool) -> Option<f64> {
        let count = |name| reader.count(name);
        match self {
            Self::Rate(name) => divided(count(name)?, reader.bank_cycles(Bank::from_counter(name))),
            Self::Quotient(part, whole) => divided(count(part)?, count(whole)?),
            Self::Rest(part, whole) => Some(1.0 - divided(count(part)?, count(whole)?)?),
            Self::RestWithin(part, whole) => rest_within(count(part)?, count(whole)?),
            Self::Share(part, other) => divided(count(part)?, count(part)? + count(other)?),
            Self::Port(ports) => reader.own_rate(first_of(reader, ports)?),
            Self::MeanOfPorts(ports) => mean_of_ports(reader, ports),
            Self::MeanOfAllPorts => mean_of_ports(reader, &ALL.concat()),
            Self::Granted(ports) => granted(reader, ports).map(|part| part.clamp(0.0, 1.0)),
            Self::Refused(ports) => granted(reader, ports).map(|part| (1.0 - part).clamp(0.0, 1.0)),
            Self::Port1Refused => port_1_granted(reader).map(|part| (1.0 - part).clamp(0.0, 1.0)),
            Self::PerReadyCycle(instructions, stalls) => per_ready(reader, instructions, stalls),
            Self::Overlap(thread) => overlap(reader, thread),
            Self::StallShare(reason) => stall_share(reader, reason),
            Self::SrcBStall => {
                divided(srcb_stall(reader)?.max(0.0), reader.bank_cycles(Bank::Instruction))
            }
            Self::MathToPack => math_to_pack(reader),
            Self::MeanDataFlow => mean_data_flow(reader, is_blackhole),
            Self::PackerImbalance => packer_imbalance(reader),
            Self::PackerL1 if is_blackhole => None,
            Self::PackerL1 => divided(count("L1_0_PORT1_GRANT")?, count("PACKER_BUSY")?),
            Self::L1Bandwidth
            | Self::L1Reads
            | Self::Ring0Outgoing
            | Self::BundlesOfL1
            | Self::NocOfWork => L1Traffic::new(reader)?.value(self, reader, is_blackhole),
            Self::Contention => contention(reader),
            Self::ComputeToUnpack => {
                let unpacking =
                    count("UNPACK0_BUSY_THREAD0")? + count("UNPACK1_BUSY_THREAD0").unwrap_or(0.0);
                divided(count("MATH_COUNTER")?, unpacking)
            }
            Self::FpuAndSfpu => fpu_and_sfpu(reader).map(|both| both.max(0.0)),
            Self::L1Client(name, weight) => reader.own_rate(name).map(|rate| rate * weight),
        }
    }

    /// Returns true if the counters contradict each other, so that the value was clamped: for
    /// example, more requests were granted than made.
    ///
    /// The counters of a formula do not start at the same time, so small contradictions are normal.
    pub(crate) fn is_contradiction(self, reader: &CounterReader) -> bool {
        let count = |name| reader.count(name);
        let is_share = |part: Option<f64>| part.is_none_or(|part| part <= MOST_SHARE);
        let is_possible = match self {
            Self::RestWithin(part, whole) => is_share(
                count(part).zip(count(whole)).and_then(|(part, whole)| divided(part, whole)),
            ),
            Self::Granted(ports) | Self::Refused(ports) => is_share(granted(reader, ports)),
            Self::Port1Refused => is_share(port_1_granted(reader)),
            Self::Contention => contended_ports().all(|port| is_share(granted(reader, &[port]))),
            Self::PerReadyCycle(_, stalls) => is_share(
                count(stalls)
                    .and_then(|stalls| divided(stalls, reader.bank_cycles(Bank::Instruction))),
            ),
            Self::SrcBStall | Self::StallShare(SRCB_STALL_MATH) => {
                let cycles = reader.bank_cycles(Bank::Instruction);
                is_share(srcb_stall(reader).and_then(|stalls| divided(cycles - stalls, cycles)))
            }
            Self::FpuAndSfpu => is_share(fpu_and_sfpu(reader).map(|both| 1.0 - both)),
            _ => true,
        };
        !is_possible
    }

    /// Returns the names of all counters that the formula can use, including alternatives.
    pub(crate) fn counters(self) -> Vec<Cow<'static, str>> {
        match self {
            Self::Rate(name) | Self::L1Client(name, _) => named(&[name]),
            Self::StallShare(SRCB_STALL_MATH) | Self::SrcBStall => {
                named(&[SOURCES_STALL_MATH, "SRCA_STALL_MATH"])
            }
            Self::StallShare(name) => named(&[name]),
            Self::Quotient(one, other)
            | Self::Rest(one, other)
            | Self::RestWithin(one, other)
            | Self::Share(one, other)
            | Self::PerReadyCycle(one, other) => named(&[one, other]),
            Self::Port(ports) | Self::MeanOfPorts(ports) => named(ports),
            Self::MeanOfAllPorts => named(&ALL.concat()),
            Self::Granted(ports) | Self::Refused(ports) => with_grants(ports),
            Self::Port1Refused => named(&[PORT_1, &PORT_1_GRANTS].concat()),
            Self::Overlap(thread) => {
                WAITS.map(|what| format!("WAITING_FOR_{what}_{thread}").into()).to_vec()
            }
            Self::MathToPack => named(&["MATH_NOT_SCOREBOARD_STALLED", "PACKER_BUSY"]),
            Self::MeanDataFlow => named(&[
                "SRCA_WRITE_REQ",
                "UNPACK0_BUSY_THREAD0",
                "SRCB_WRITE_REQ",
                "UNPACK1_BUSY_THREAD0",
            ]),
            Self::PackerImbalance => named(&PACKER_ENGINES),
            Self::PackerL1 => named(&["L1_0_PORT1_GRANT", "PACKER_BUSY"]),
            Self::L1Bandwidth | Self::L1Reads => {
                named(&[UNPACKER, PORT_1, BUNDLES, RING_0_OUTGOING, RING_0_INCOMING].concat())
            }
            Self::Ring0Outgoing => named(&[RING_0_OUTGOING, RING_0_INCOMING].concat()),
            Self::BundlesOfL1 => named(&[BUNDLES, RING_0_OUTGOING, RING_0_INCOMING].concat()),
            Self::Contention => with_grants(&[UNPACKER, RING_0_OUTGOING, RING_0_INCOMING].concat()),
            Self::NocOfWork => {
                named(&[RING_0_OUTGOING, RING_0_INCOMING, &["FPU_COUNTER"]].concat())
            }
            Self::ComputeToUnpack => {
                named(&["MATH_COUNTER", "UNPACK0_BUSY_THREAD0", "UNPACK1_BUSY_THREAD0"])
            }
            Self::FpuAndSfpu => named(&["FPU_COUNTER", "SFPU_COUNTER", "MATH_COUNTER"]),
        }
    }
}

/// Returns the names of the ports' request counters and grant counters.
fn with_grants(ports: &[&'static str]) -> Vec<Cow<'static, str>> {
    let grants = ports.iter().map(|port| grant_of(port).into());
    ports.iter().map(|&port| port.into()).chain(grants).collect()
}

fn named(names: &[&'static str]) -> Vec<Cow<'static, str>> {
    names.iter().map(|&name| name.into()).collect()
}

fn rest_within(part: f64, whole: f64) -> Option<f64> {
    divided(part, whole).map(|part| (1.0 - part).clamp(0.0, 1.0))
}

fn first_of<'name>(reader: &CounterReader, names: &[&'name str]) -> Option<&'name str> {
    names.iter().copied().find(|name| reader.count(name).is_some())
}

#[expect(clippy::cast_precision_loss, reason = "there are few ports")]
fn mean(values: &[f64]) -> Option<f64> {
    divided(values.iter().sum(), values.len() as f64)
}

fn mean_of_ports(reader: &CounterReader, ports: &[&str]) -> Option<f64> {
    let rates: Vec<_> = ports.iter().filter_map(|port| reader.own_rate(port)).collect();
    mean(&rates)
}

/// Returns granted requests divided by all requests, summed over the ports for which both were
/// counted.
fn granted(reader: &CounterReader, ports: &[&str]) -> Option<f64> {
    let sums = ports
        .iter()
        .filter_map(|port| Some((reader.count(port)?, reader.count(&grant_of(port))?)))
        .fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    divided(sums.1, sums.0)
}

fn per_ready(reader: &CounterReader, instructions: &str, stalls: &str) -> Option<f64> {
    let (instructions, stalls) = (reader.count(instructions)?, reader.count(stalls)?);
    let cycles = reader.bank_cycles(Bank::Instruction);
    (cycles > 0.0).then(|| instructions / (cycles - stalls).max(1.0))
}

/// Resources that a thread can wait for.
const WAITS: [&str; 9] = [
    "THCON_IDLE",
    "UNPACK_IDLE",
    "PACK_IDLE",
    "MATH_IDLE",
    "NONZERO_SEM",
    "NONFULL_SEM",
    "MOVE_IDLE",
    "CFG_IDLE",
    "SFPU_IDLE",
];

fn overlap(reader: &CounterReader, thread: u8) -> Option<f64> {
    let waits: Vec<_> = WAITS
        .into_iter()
        .filter_map(|what| reader.count(&format!("WAITING_FOR_{what}_{thread}")))
        .collect();
    let total = (!waits.is_empty()).then(|| waits.iter().sum())?;
    divided(total, reader.bank_cycles(Bank::Instruction))
}

/// Largest share that the counters can give although they do not start at the same time.
const MOST_SHARE: f64 = MOST_PERCENT / 100.0;

/// Returns the cycles in which FPU and SFPU were both busy, divided by all cycles. It is negative if
/// the math pipe was busy for longer than both together.
fn fpu_and_sfpu(reader: &CounterReader) -> Option<f64> {
    let one_or_other = reader.count("FPU_COUNTER")? + reader.count("SFPU_COUNTER")?;
    divided(one_or_other - reader.count("MATH_COUNTER")?, reader.bank_cycles(Bank::Fpu))
}

/// Returns the granted part of the requests at L1 port 1.
fn port_1_granted(reader: &CounterReader) -> Option<f64> {
    let mut ports = PORT_1.iter().zip(PORT_1_GRANTS);
    let (grants, requests) =
        ports.find_map(|(port, grants)| Some((grants, reader.count(port)?)))?;
    divided(reader.count(grants)?, requests)
}

/// Returns the stalls for source B. The number is negative if there were more stalls for source A
/// alone than for both sources.
fn srcb_stall(reader: &CounterReader) -> Option<f64> {
    Some(reader.count(SOURCES_STALL_MATH)? - reader.count("SRCA_STALL_MATH")?)
}

/// Returns the stalls for one reason, divided by the stalls for all reasons; `None` if the counters
/// of fewer than two reasons were read.
///
/// The counter `DVALID_STALL_MATH` covers stalls for source A and source B. This counter is not
/// used directly: the value of the counter for source A is subtracted from it, which gives the
/// stalls for source B only.
fn stall_share(reader: &CounterReader, reason: &str) -> Option<f64> {
    let reasons = crate::counters::names::STALLS.iter().filter(|&&name| name != SOURCES_STALL_MATH);
    let known = reasons.filter_map(|&name| Some((name, reader.count(name)?)));
    let derived = srcb_stall(reader).map(|count| (SRCB_STALL_MATH, count.max(0.0)));
    let known: Vec<_> = known.chain(derived).collect();
    let (_, count) = known.iter().find(|(name, _)| *name == reason)?;
    let total = (known.len() >= 2).then(|| known.iter().map(|(_, count)| count).sum())?;
    divided(*count, total)
}

fn math_to_pack(reader: &CounterReader) -> Option<f64> {
    let (ready, busy) =
        (reader.count("MATH_NOT_SCOREBOARD_STALLED")?, reader.count("PACKER_BUSY")?);
    let cycles = if busy > 0.0 { busy } else { reader.bank_cycles(Bank::Pack) };
    divided(ready, cycles)
}

fn mean_data_flow(reader: &CounterReader, is_blackhole: bool) -> Option<f64> {
    let flows =
        [("SRCA_WRITE_REQ", "UNPACK0_BUSY_THREAD0"), ("SRCB_WRITE_REQ", "UNPACK1_BUSY_THREAD0")];
    let flows = flows
        .into_iter()
        .filter_map(|(writes, busy)| Formula::Quotient(writes, busy).value(reader, is_blackhole));
    mean(&flows.collect::<Vec<_>>())
}

/// Counters of a Wormhole's four packer engines.
const PACKER_ENGINES: [&str; 4] =
    ["PACKER_BUSY_0", "PACKER_BUSY_1", "PACKER_BUSY_2", "PACKER_BUSY"];

/// Returns the difference between the counts of the busiest and the least busy packer engine,
/// divided by the count of the busiest one.
fn packer_imbalance(reader: &CounterReader) -> Option<f64> {
    let busy: Vec<f64> =
        PACKER_ENGINES.iter().map(|name| reader.count(name)).collect::<Option<_>>()?;
    let most = busy.iter().copied().fold(f64::MIN, f64::max);
    let least = busy.iter().copied().fold(f64::MAX, f64::min);
    divided(most - least, most)
}

/// Returns the ports of the unpacker and of NoC ring 0.
fn contended_ports() -> impl Iterator<Item = &'static str> {
    UNPACKER.iter().chain(RING_0_OUTGOING).chain(RING_0_INCOMING).copied()
}

/// Returns the mean share of refused requests at the L1 ports of the unpacker and of NoC ring 0.
fn contention(reader: &CounterReader) -> Option<f64> {
    mean(
        &contended_ports()
            .filter_map(|port| rest_within(reader.count(&grant_of(port))?, reader.count(port)?))
            .collect::<Vec<_>>(),
    )
}

/// Number of requests at the ports of L1's first bank, grouped by the unit that uses the port.
struct L1Traffic {
    unpacker: f64,
    port_1: f64,
    bundles: f64,
    outgoing: f64,
    incoming: f64,
}

impl L1Traffic {
    /// Adds up the counters of the ports; returns `None` if the bank was not read.
    fn new(reader: &CounterReader) -> Option<Self> {
        Some(Self {
            unpacker: reader.count(UNPACKER.first()?)?,
            port_1: first_of(reader, PORT_1).and_then(|port| reader.count(port)).unwrap_or(0.0),
            bundles: reader.total(BUNDLES),
            outgoing: reader.total(RING_0_OUTGOING),
            incoming: reader.total(RING_0_INCOMING),
        })
    }

    fn value(&self, formula: Formula, reader: &CounterReader, is_blackhole: bool) -> Option<f64> {
        const PORTS: f64 = 8.0;
        let Self { unpacker, port_1, bundles, outgoing, incoming } = *self;
        let noc = outgoing + incoming;
        match formula {
            Formula::L1Bandwidth => {
                let total = unpacker + port_1 + bundles + outgoing + incoming;
                divided(total, PORTS * reader.own_cycles(UNPACKER.first()?))
            }
            Formula::L1Reads => {
                // Port 1 unpacks on Blackhole and packs on Wormhole.
                let (read, written) = if is_blackhole { (port_1, 0.0) } else { (0.0, port_1) };
                let reads = unpacker + outgoing + read;
                divided(reads, reads + (incoming + written))
            }
            Formula::Ring0Outgoing => divided(outgoing, noc),
            Formula::BundlesOfL1 => divided(bundles, bundles + outgoing + incoming),
            Formula::NocOfWork => divided(noc, reader.count("FPU_COUNTER")? + noc),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::ports::{RING_0, RING_1};

    fn reader(counters: &[(&str, f64, f64)]) -> CounterReader {
        let mut reader = CounterReader::default();
        for &(name, count, cycles) in counters {
            reader.record(name.to_owned(), count, cycles);
        }
        reader
    }

    #[test]
    fn each_form_gives_what_is_worked_out_by_hand() {
        let reader = reader(&[
            ("FPU_COUNTER", 30.0, 120.0),
            ("SFPU_COUNTER", 60.0, 120.0),
            ("MATH_COUNTER", 75.0, 120.0),
            ("SRCA_WRITE_REQ", 10.0, 100.0),
            ("SRCA_WRITE_NOT_BLOCKED_OVR", 4.0, 100.0),
            ("UNPACK0_BUSY_THREAD0", 15.0, 100.0),
            ("L1_0_UNPACKER_0", 40.0, 100.0),
            ("L1_0_UNPACKER_0_GRANT", 50.0, 100.0),
            ("L1_0_UNPACKER_1_ECC", 20.0, 100.0),
            ("L1_0_NOC_RING0_OUTGOING_0", 8.0, 50.0),
            ("L1_0_NOC_RING0_OUTGOING_0_GRANT", 6.0, 50.0),
            ("L1_0_NOC_RING0_INCOMING_1", 12.0, 50.0),
            ("WAITING_FOR_PACK_IDLE_0", 90.0, 100.0),
            ("WAITING_FOR_CFG_IDLE_0", 60.0, 100.0),
        ]);
        for (formula, expected) in [
            (Formula::Rate("FPU_COUNTER"), Some(0.25)),
            (Formula::Rate("PACKER_BUSY"), None),
            (Formula::Quotient("SRCA_WRITE_REQ", "SRCA_WRITE_NOT_BLOCKED_OVR"), Some(2.5)),
            (Formula::Rest("SRCA_WRITE_NOT_BLOCKED_OVR", "SRCA_WRITE_REQ"), Some(0.6)),
            (Formula::Share("FPU_COUNTER", "SFPU_COUNTER"), Some(30.0 / 90.0)),
            (Formula::Port(PORT_1), Some(0.2)),
            // 8 and 12 requests, each in 50 cycles.
            (Formula::MeanOfPorts(RING_0), Some(0.2)),
            (Formula::MeanOfPorts(RING_1), None),
            (Formula::Granted(UNPACKER), Some(1.0)),
            (Formula::Refused(RING_0_OUTGOING), Some(0.25)),
            (Formula::Refused(RING_0_INCOMING), None),
            (Formula::Overlap(0), Some(1.5)),
            (Formula::Overlap(1), None),
            (Formula::ComputeToUnpack, Some(5.0)),
            (Formula::FpuAndSfpu, Some(0.125)),
            // 40, 20, 8 and 12 requests at 8 ports in 100 cycles.
            (Formula::L1Bandwidth, Some(0.1)),
            (Formula::L1Reads, Some(48.0 / 80.0)),
            (Formula::Ring0Outgoing, Some(0.4)),
            // The unpacker's port refused no request, and one port of the ring refused a quarter.
            (Formula::Contention, Some(0.125)),
            (Formula::NocOfWork, Some(0.4)),
        ] {
            assert_eq!(formula.value(&reader, false), expected, "{formula:?}");
        }
        // Port 1 unpacks on Blackhole.
        assert_eq!(Formula::L1Reads.value(&reader, true), Some(68.0 / 80.0));
    }

    #[test]
    fn what_is_clamped_by_more_than_the_spread_of_starts_is_a_contradiction() {
        let both = |fpu, sfpu, math| {
            reader(&[
                ("FPU_COUNTER", fpu, 100.0),
                ("SFPU_COUNTER", sfpu, 100.0),
                ("MATH_COUNTER", math, 100.0),
            ])
        };
        let port = |grants| {
            reader(&[
                ("L1_0_UNPACKER_0", 40.0, 100.0),
                ("L1_0_UNPACKER_0_GRANT", grants, 100.0),
                ("MATH_NOT_SCOREBOARD_STALLED", grants, 100.0),
                ("MATH_INSTRN_AVAILABLE", 40.0, 100.0),
            ])
        };
        let stalls = |srca, thread| {
            reader(&[
                ("DVALID_STALL_MATH", 50.0, 100.0),
                ("SRCA_STALL_MATH", srca, 100.0),
                ("SYNC_STALL_MATH", 10.0, 100.0),
                ("THREAD_STALLS_0", thread, 100.0),
                ("THREAD_INSTRUCTIONS_0", 10.0, 100.0),
            ])
        };
        let rest = Formula::RestWithin("MATH_NOT_SCOREBOARD_STALLED", "MATH_INSTRN_AVAILABLE");
        let ready = Formula::PerReadyCycle("THREAD_INSTRUCTIONS_0", "THREAD_STALLS_0");
        for (formula, counters, clamped, is_impossible) in [
            // 50 + 10 - 110 is less than nothing.
            (Formula::FpuAndSfpu, both(50.0, 10.0, 110.0), 0.0, true),
            (Formula::FpuAndSfpu, both(50.0, 10.0, 62.0), 0.0, false),
            (Formula::FpuAndSfpu, both(50.0, 10.0, 40.0), 0.2, false),
            (Formula::Granted(UNPACKER), port(50.0), 1.0, true),
            (Formula::Refused(UNPACKER), port(50.0), 0.0, true),
            (Formula::Contention, port(50.0), 0.0, true),
            (rest, port(50.0), 0.0, true),
            (Formula::Granted(UNPACKER), port(41.0), 1.0, false),
            (Formula::Refused(UNPACKER), port(30.0), 0.25, false),
            (Formula::Contention, port(41.0), 0.0, false),
            (rest, port(41.0), 0.0, false),
            (Formula::SrcBStall, stalls(60.0, 0.0), 0.0, true),
            (Formula::SrcBStall, stalls(52.0, 0.0), 0.0, false),
            (Formula::StallShare(SRCB_STALL_MATH), stalls(60.0, 0.0), 0.0, true),
            (ready, stalls(0.0, 120.0), 10.0, true),
            (ready, stalls(0.0, 90.0), 1.0, false),
        ] {
            let found = (formula.value(&counters, false), formula.is_contradiction(&counters));
            assert_eq!(found, (Some(clamped), is_impossible), "{formula:?} of {counters:?}");
        }
        // Counters that were not read contradict nothing.
        assert!(!Formula::FpuAndSfpu.is_contradiction(&reader(&[("FPU_COUNTER", 1.0, 1.0)])));
    }

    #[test]
    fn cycles_of_a_bank_are_those_of_its_first_known_counter() {
        let pass_reader = reader(&[("THREAD_STALLS_2", 1.0, 70.0), ("THREAD_STALLS_0", 1.0, 50.0)]);
        assert_eq!(pass_reader.bank_cycles(Bank::Instruction), 50.0);
        let others = reader(&[("PACKER_BUSY_1", 1.0, 20.0), ("CFG_INSTRN_AVAILABLE_1", 1.0, 30.0)]);
        assert_eq!(others.bank_cycles(Bank::Instruction), 30.0);
        assert_eq!(others.bank_cycles(Bank::Unpack), 0.0);
    }
}
