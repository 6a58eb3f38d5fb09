//! Costs of streamed records compared with TT-Metal's streaming header, and the limits.

use crate::{
    core::{Core, Cost},
    cost::returned,
    firmware,
    package::{Package, package},
    probes::{self, Variant},
    readme,
    toolchain::{Chip, Header, Mode, Processor, first_error, in_parallel},
};
use std::fmt::Write as _;
use wire::stream::{Policy, words};

/// First line of the table in the documentation.
const HEADING: &str =
    "| streamed, instructions / cycles | Wormhole | upstream's | Blackhole | upstream's |";

/// Passes of a loop, enough to fill whole chunks with any record.
const PASSES: u32 = 32;
/// Indices of the control words for the tail and head of TT-Metal's ring of the first RISC.
///
/// # Compatibility
/// `SPSC_RING_TAIL_0` and `SPSC_RING_HEAD_0` of `streaming_profiler_common.h`.
const UPSTREAMS_ENDS: [usize; 2] = [24, 0];

/// A row of the table, with the limits on both chips if it has limits.
struct Row {
    label: &'static str,
    bar: Option<[(u64, u64); 2]>,
    measure: fn(&mut Measured<'_>) -> Option<Cost>,
}

const ROWS: [Row; 17] = [
    Row {
        label: "zone, open and close",
        bar: Some([(18, 24), (18, 24)]),
        measure: |core| Some(core.per_pass("zone")),
    },
    Row { label: "64 bits of data", bar: None, measure: |core| Some(core.per_pass("data")) },
    Row { label: "128 bits of data", bar: None, measure: |core| Some(core.per_pass("data_16b")) },
    Row { label: "event", bar: None, measure: |core| Some(core.per_pass("event")) },
    Row {
        label: "zone that finds the ring full",
        bar: Some([(30, 30), (30, 30)]),
        measure: |core| core.lost("zone"),
    },
    Row { label: "data that finds the ring full", bar: None, measure: |core| core.lost("data") },
    Row {
        label: "zone, overwriting the oldest",
        bar: None,
        measure: |core| core.under(Policy::OverwriteOldest, "zone"),
    },
    Row {
        label: "zone, policy to wait, drained",
        bar: Some([(18, 24), (18, 24)]),
        measure: |core| core.under(Policy::Block { cycles_log2: 20 }, "zone"),
    },
    Row {
        label: "zone, one of 8 chunks kept",
        bar: None,
        measure: |core| core.under(Policy::KeepOneOf { chunks_log2: 3 }, "zone"),
    },
    Row { label: "zone, sites that call", bar: None, measure: |core| core.calling() },
    Row {
        label: "kernel's zone, open and close",
        bar: None,
        measure: |core| Some(core.per_pass("kernel_zone")),
    },
    Row {
        label: "begin of a launch, BRISC",
        bar: Some([(75, 90), (75, 90)]),
        measure: |core| Some(core.launch(0).0),
    },
    Row {
        label: "begin of a launch, another RISC",
        bar: Some([(70, 90), (70, 90)]),
        measure: |core| Some(core.launch(1).0),
    },
    Row {
        label: "end of a launch, BRISC",
        bar: Some([(30, 40), (30, 40)]),
        measure: |core| Some(core.launch(0).1),
    },
    Row {
        label: "end of a launch, another RISC",
        bar: Some([(30, 40), (30, 40)]),
        measure: |core| Some(core.launch(1).1),
    },
    Row {
        label: "bytes of a zone's call site",
        bar: Some([(130, 0); 2]),
        measure: |core| core.site(),
    },
    Row {
        label: "bytes of a zone's call site that calls",
        bar: Some([(24, 0); 2]),
        measure: |core| core.calling_site(),
    },
];

/// A core with a header's probes, and a core with probes in which call sites call a function.
struct Measured<'a> {
    header: Header,
    core: Core<'a>,
    calls: Core<'a>,
    /// Size in bytes of a call site in the probes of each core.
    sites: [u32; 2],
}

impl Measured<'_> {
    /// Empties the ring, as a drain does.
    fn drain(core: &mut Core<'_>, header: Header) {
        let [tail, head] = match header {
            Header::Ours => [words::WRITTEN, words::READ],
            _ => UPSTREAMS_ENDS,
        };
        core.set_control(head, core.control(tail));
    }

    fn per_pass(&mut self, probe: &str) -> Cost {
        Self::per_pass_on(&mut self.core, self.header, probe, true)
    }

    /// Returns the cost of one pass of a probe's loop, without the loop itself.
    fn per_pass_on(core: &mut Core<'_>, header: Header, probe: &str, drains: bool) -> Cost {
        let mut slope = |name: &str| {
            let [short, long] = [8, 8 + PASSES].map(|passes| {
                let mut cost = Cost::default();
                for _ in 0..2 {
                    returned(core.call(0, "begin", &[1]));
                    cost = returned(core.call(0, name, &[passes]));
                    returned(core.call(0, "finish", &[]));
                    if drains {
                        Self::drain(core, header);
                    }
                }
                cost
            });
            let of = |long: u64, short: u64| (long - short).div_ceil(u64::from(PASSES));
            Cost {
                instructions: of(long.instructions, short.instructions),
                cycles: of(long.cycles, short.cycles),
            }
        };
        let (whole, alone) = (slope(probe), slope("nothing"));
        Cost {
            instructions: whole.instructions - alone.instructions,
            cycles: whole.cycles - alone.cycles,
        }
    }

    /// Returns the cost of one more record in a ring that has long been full. TT-Metal's header
    /// waits forever or overwrites.
    fn lost(&mut self, probe: &str) -> Option<Cost> {
        if self.header != Header::Ours {
            return None;
        }
        returned(self.core.call(0, "begin", &[1]));
        returned(self.core.call(0, probe, &[600]));
        let cost = Self::per_pass_within(&mut self.core, probe);
        returned(self.core.call(0, "finish", &[]));
        Self::drain(&mut self.core, self.header);
        Some(cost)
    }

    /// Returns the cost of one pass during a launch.
    fn per_pass_within(core: &mut Core<'_>, probe: &str) -> Cost {
        const MANY: u32 = 512;
        let mut slope = |name: &str| {
            let [short, long] =
                [64, 64 + MANY].map(|passes| returned(core.call(0, name, &[passes])));
            [long.instructions - short.instructions, long.cycles - short.cycles]
        };
        let (whole, alone) = (slope(probe), slope("nothing"));
        let [instructions, cycles] =
            [0, 1].map(|index| (whole[index] - alone[index]).div_ceil(u64::from(MANY)));
        Cost { instructions, cycles }
    }

    fn under(&mut self, policy: Policy, probe: &str) -> Option<Cost> {
        if self.header != Header::Ours {
            return None;
        }
        self.core.set_control(words::POLICY, policy.to_word());
        let cost = if policy == Policy::OverwriteOldest {
            returned(self.core.call(0, "begin", &[1]));
            returned(self.core.call(0, probe, &[600]));
            let cost = Self::per_pass_within(&mut self.core, probe);
            returned(self.core.call(0, "finish", &[]));
            Self::drain(&mut self.core, self.header);
            cost
        } else {
            // The passes fill eight chunks, so that each case has its usual weight.
            Self::per_pass_over(&mut self.core, self.header, probe)
        };
        self.core.set_control(words::POLICY, Policy::DropNewest.to_word());
        Some(cost)
    }

    /// Returns the mean cost of a pass, over the number of passes that fill the ring once.
    fn per_pass_over(core: &mut Core<'_>, header: Header, probe: &str) -> Cost {
        const MANY: u32 = 192;
        let mut slope = |name: &str| {
            let costs = [8, 8 + MANY].map(|passes| {
                returned(core.call(0, "begin", &[1]));
                let cost = returned(core.call(0, name, &[passes]));
                returned(core.call(0, "finish", &[]));
                Self::drain(core, header);
                cost
            });
            [costs[1].instructions - costs[0].instructions, costs[1].cycles - costs[0].cycles]
        };
        let (whole, alone) = (slope(probe), slope("nothing"));
        let [instructions, cycles] =
            [0, 1].map(|index| (whole[index] - alone[index]).div_ceil(u64::from(MANY)));
        Cost { instructions, cycles }
    }

    fn calling(&mut self) -> Option<Cost> {
        Some(Self::per_pass_on(&mut self.calls, self.header, "zone", true))
    }

    /// Returns the costs of begin and end of a launch, with code between that lets all stores
    /// complete. They are means over launches that begin at each possible cell of a chunk.
    fn launch(&mut self, risc: usize) -> (Cost, Cost) {
        const LAUNCHES: u64 = 24;
        let mut costs = (Cost::default(), Cost::default());
        for launch in 0..=LAUNCHES {
            // The first RISC announces the launch.
            if risc != 0 {
                returned(self.core.call(0, "begin", &[1]));
            }
            let begin = returned(self.core.call(risc, "begin", &[1]));
            returned(self.core.call(risc, "nothing", &[50]));
            let end = returned(self.core.call(risc, "finish", &[]));
            // The first launch runs on a core that has not streamed yet.
            if launch > 0 {
                costs = (costs.0 + begin, costs.1 + end);
            }
            if risc != 0 {
                returned(self.core.call(0, "finish", &[]));
            }
            Self::drain(&mut self.core, self.header);
        }
        let mean = |cost: Cost| Cost {
            instructions: cost.instructions.div_ceil(LAUNCHES),
            cycles: cost.cycles.div_ceil(LAUNCHES),
        };
        (mean(costs.0), mean(costs.1))
    }

    #[expect(clippy::unnecessary_wraps, reason = "a row's measure")]
    fn site(&mut self) -> Option<Cost> {
        Some(Cost { instructions: self.sites[0].into(), cycles: 0 })
    }

    #[expect(clippy::unnecessary_wraps, reason = "a row's measure")]
    fn calling_site(&mut self) -> Option<Cost> {
        Some(Cost { instructions: self.sites[1].into(), cycles: 0 })
    }
}

/// Returns the costs of a header on a chip, by row.
fn measure(package: &Package, chip: Chip, header: Header) -> Result<Vec<Option<Cost>>, String> {
    let probes = probes::build(package, chip, header, Variant::Stream, 2)?;
    let calls = probes::build(package, chip, header, Variant::StreamCalls, 1)?;
    let sites = [&probes, &calls].map(|probes| {
        let size = |name: &str| probes.programs[0].symbol(name).size_bytes;
        let seven =
            |name: &str| size(&format!("{name}_sites_8")) - size(&format!("{name}_sites_1"));
        (seven("zone") - seven("nothing")).div_ceil(7)
    });
    let (core, calls) = (Core::new(chip, &probes), Core::new(chip, &calls));
    let mut measured = Measured { header, core, calls, sites };
    Ok(ROWS.iter().map(|row| (row.measure)(&mut measured)).collect())
}

fn text(cost: Option<Cost>) -> String {
    cost.map_or_else(
        || "-".to_owned(),
        |cost| match cost {
            Cost { instructions, cycles: 0 } => instructions.to_string(),
            Cost { instructions, cycles } => format!("{instructions} / {cycles}"),
        },
    )
}

/// Checks that every cost is within its limit and below TT-Metal's in cycles.
#[test]
fn streamed_records_cost_less_than_upstreams() {
    let Some(package) = package() else { return };
    let list = Chip::ALL.map(|chip| [(chip, Header::Ours), (chip, Header::Upstream)]);
    let columns = in_parallel(list.as_flattened(), |&(chip, header)| {
        measure(package, chip, header).map_err(|error| format!("{chip}: {}", first_error(&error)))
    });
    let columns: Vec<_> = columns.into_iter().collect::<Result<_, _>>().unwrap();
    let mut table = format!("{HEADING}\n|---|---|---|---|---|\n");
    let mut faults = Vec::new();
    for (index, row) in ROWS.iter().enumerate() {
        write!(table, "| {} |", row.label).unwrap();
        for (chip, column) in columns.chunks(2).enumerate() {
            let [ours, upstream] = [column[0][index], column[1][index]];
            write!(table, " {} | {} |", text(ours), text(upstream)).unwrap();
            let ours = ours.unwrap();
            let (instructions, cycles) = row.bar.map_or((u64::MAX, u64::MAX), |bars| bars[chip]);
            // TT-Metal's header records no launch, and records the kernel's zone like any other
            // zone.
            let is_of_launch = row.label.contains(" of a launch") || row.label.contains("kernel's");
            let is_above = upstream.is_some_and(|upstream| ours.cycles > upstream.cycles);
            if ours.instructions > instructions || ours.cycles > cycles || is_above && !is_of_launch
            {
                faults.push(format!("{}, {}: {ours:?}", Chip::ALL[chip], row.label));
            }
        }
        table.push('\n');
    }
    for processor in [Processor::Brisc, Processor::Ncrisc, Processor::Trisc0] {
        write!(table, "| bytes that the profiler adds to {processor}'s firmware |").unwrap();
        for chip in Chip::ALL {
            let text = [(Header::Ours, Mode::Stream), (Header::Off, Mode::Plain)]
                .map(|profiler| firmware::program_in(package, chip, processor, profiler))
                .map(|program| program.map(|program| program.text_bytes()));
            let [with, without] = text.map(Result::unwrap);
            write!(table, " {} | - |", with - without).unwrap();
        }
        table.push('\n');
    }
    crate::publish("stream-cost.txt", &table);
    assert!(faults.is_empty(), "{table}\n{}", faults.join("\n"));
    readme::compare_in(package, "docs/costs.md", HEADING, &table);
}
