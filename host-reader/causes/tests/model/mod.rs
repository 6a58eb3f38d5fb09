//! Event model of a core, and the recording that the model produces. The core has a reader,
//! unpacker, math, packer and writer, with bounded buffers between them. Nothing here uses the code
//! under test.

use reader::{
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    ledger::{LossCause, LossKey, LossLedger, LossTotals},
    mesh::Noc0Coord,
    names::{ZoneSource, ZoneTable},
    readout::{ChipSummary, DeviceReadout, Readout},
};
use recording::Recording;
use std::collections::HashMap;
use wire::{PacketKind, Risc, RunHostId, ZoneId};

pub(crate) const CLOCK_MHZ: u32 = 1000;
const INPUT: u64 = 0;
const OUTPUT: u64 = 16;

/// Random number generator (Numerical Recipes' constants) with stable results for a seed.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Draws a number from `low` to `high`.
    pub(crate) fn draw(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// Cycles that each stage needs for one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) reader: u64,
    pub(crate) unpack: u64,
    pub(crate) math: u64,
    pub(crate) pack: u64,
    pub(crate) writer: u64,
    /// Percentage of the reader's work that is spent at a barrier.
    pub(crate) barrier_percent: u64,
    /// Maximum deviation of a single block, in percent.
    pub(crate) jitter_percent: u64,
    pub(crate) blocks: usize,
    pub(crate) input_blocks: usize,
    pub(crate) output_blocks: usize,
}

impl Work {
    pub(crate) const EVEN: Self = Self {
        reader: 1000,
        unpack: 290,
        math: 1000,
        pack: 200,
        writer: 1000,
        barrier_percent: 0,
        jitter_percent: 0,
        blocks: 200,
        input_blocks: 2,
        output_blocks: 2,
    };

    /// Draws the work of each stage. Unpacking and packing are short, and single blocks deviate by
    /// up to a fifth.
    pub(crate) fn drawn(numbers: &mut Numbers, blocks: usize) -> Self {
        let mut cycles = || 400 + numbers.below(1600);
        Self {
            reader: cycles(),
            math: cycles(),
            writer: cycles(),
            unpack: 100,
            pack: 100,
            jitter_percent: 20,
            blocks,
            ..Self::EVEN
        }
    }
}

/// A wait that blocked, and the RISC that ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) risc: Risc,
    pub(crate) kind: u64,
    pub(crate) key: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// RISC that ended the wait, and the cycle.
    pub(crate) by: Option<(Risc, u64)>,
}

/// One run of a core.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoreRun {
    pub(crate) waits: Vec<Blocked>,
    /// RISC, name, key and time of each signal.
    pub(crate) signals: Vec<(Risc, &'static str, u64, u64)>,
    pub(crate) starts: HashMap<Risc, u64>,
    pub(crate) ends: HashMap<Risc, u64>,
    /// Cycles in which the math waits for its operands.
    pub(crate) starved: u64,
    pub(crate) end: u64,
}

pub(crate) const READER: Risc = Risc::Ncrisc;
pub(crate) const WRITER: Risc = Risc::Brisc;

/// Draws the cycles of each block on reader, unpacker, math, packer and writer.
fn costs(work: &Work, numbers: &mut Numbers) -> Vec<[u64; 5]> {
    let mut deviate = |cycles: u64| {
        let range = 2 * work.jitter_percent + 1;
        let percent = 100 + numbers.below(range) - work.jitter_percent;
        (cycles * percent + 50) / 100
    };
    let stages = [work.reader, work.unpack, work.math, work.pack, work.writer];
    (0..work.blocks).map(|_| stages.map(&mut deviate)).collect()
}

/// Runs the model. The deviations depend on the seed only, not on the work.
pub(crate) fn run(work: &Work, start: u64, seed: u64) -> CoreRun {
    let mut numbers = Numbers::new(seed);
    let n = work.blocks;
    let costs = costs(work, &mut numbers);
    let mut core = CoreRun::default();
    for risc in [READER, Risc::Trisc0, Risc::Trisc1, Risc::Trisc2, WRITER] {
        core.starts.insert(risc, start + numbers.below(20));
    }
    let mut latency: Vec<u64> = (0..4 * n).map(|_| 5 + numbers.below(16)).collect();
    let mut wait = |core: &mut CoreRun, risc, kind, key, from: u64, by: Option<(Risc, u64)>| {
        let Some((_, at)) = by.filter(|(_, at)| *at > from) else { return from };
        let end = at + latency.pop().unwrap();
        core.waits.push(Blocked { risc, kind, key, start: from, end, by });
        end
    };
    let (mut pushed, mut popped) = (vec![0; n], vec![0; n]);
    let (mut math_done, mut packed) = (vec![0; n], vec![0; n]);
    let mut written = vec![0; n];
    let [mut at_reader, mut at_unpack, mut at_math, mut at_pack, mut at_writer] =
        [READER, Risc::Trisc0, Risc::Trisc1, Risc::Trisc2, WRITER].map(|risc| core.starts[&risc]);
    for i in 0..n {
        let [r, u, m, p, w] = costs[i];
        let room = i.checked_sub(work.input_blocks).map(|before| (Risc::Trisc0, popped[before]));
        at_reader = wait(&mut core, READER, 2, INPUT, at_reader, room) + r;
        let barrier = r * work.barrier_percent / 100;
        if barrier > 0 {
            let start = at_reader - barrier;
            core.waits.push(Blocked {
                risc: READER,
                kind: 4,
                key: 0,
                start,
                end: at_reader,
                by: None,
            });
        }
        pushed[i] = at_reader;
        core.signals.push((READER, "SYNC-CB-PUSH", INPUT, at_reader));
        // The hardware has two contexts: it holds up the unpacker until the math has processed the
        // block before the previous one. This is not a polling wait.
        at_unpack = wait(&mut core, Risc::Trisc0, 1, INPUT, at_unpack, Some((READER, pushed[i])));
        if let Some(before) = i.checked_sub(2) {
            at_unpack = at_unpack.max(math_done[before]);
        }
        at_unpack += u;
        popped[i] = at_unpack;
        core.signals.push((Risc::Trisc0, "SYNC-CB-POP", INPUT, at_unpack));
        let ready = at_unpack.max(i.checked_sub(2).map_or(0, |before| packed[before]));
        core.starved += ready.saturating_sub(at_math);
        at_math = at_math.max(ready) + m;
        math_done[i] = at_math;
        let room = i.checked_sub(work.output_blocks).map(|before| (WRITER, written[before]));
        at_pack = wait(&mut core, Risc::Trisc2, 2, OUTPUT, at_pack, room).max(at_math) + p;
        packed[i] = at_pack;
        core.signals.push((Risc::Trisc2, "SYNC-CB-PUSH", OUTPUT, at_pack));
        at_writer =
            wait(&mut core, WRITER, 1, OUTPUT, at_writer, Some((Risc::Trisc2, packed[i]))) + w;
        written[i] = at_writer;
        core.signals.push((WRITER, "SYNC-CB-POP", OUTPUT, at_writer));
    }
    core.ends.extend([(READER, at_reader), (Risc::Trisc0, at_unpack), (Risc::Trisc1, at_math)]);
    core.ends.extend([(Risc::Trisc2, at_pack), (WRITER, at_writer)]);
    core.end = at_writer;
    core
}

/// Form in which waits are recorded.
#[allow(dead_code, reason = "each test file uses some of them")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Sums,
    Single,
    SingleAndSignals,
    Upstream,
    /// Sums, plus single waits and signals inside windows.
    Windows(Windows),
}

/// Windows of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    pub(crate) length_log2: u32,
    pub(crate) period_log2: u32,
    /// Cycles by which the tile's clock is ahead of the recording's clock.
    pub(crate) ahead: u64,
}

impl Windows {
    pub(crate) fn is_open(self, time: u64) -> bool {
        (time + self.ahead) % (1 << self.period_log2) < 1 << self.length_log2
    }

    /// Returns true if a window is open at the wait's start, or opens before its end.
    fn touches(self, wait: &Blocked) -> bool {
        let period = 1 << self.period_log2;
        let opens = ((wait.start + self.ahead) / period + 1) * period - self.ahead;
        self.is_open(wait.start) || opens <= wait.end
    }

    fn single(self, wait: &Blocked) -> Entry<'static> {
        let (time, kind, name, mut data) = single(wait);
        let phase = (time + self.ahead) % (1 << self.period_log2);
        data[1] |=
            phase << 32 | u64::from(self.length_log2) << 52 | u64::from(self.period_log2) << 57;
        (time, kind, name, data)
    }
}

/// Builds the recording of cores, launch by launch.
pub(crate) struct Recorder {
    zones: ZoneTable,
    lanes: Vec<Lane>,
    losses: LossLedger,
    /// Capacity of a lane for data in one run, in words.
    pub(crate) data_words: usize,
    pub(crate) chip_id: u32,
    pub(crate) arch: &'static str,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            zones: ZoneTable::new(),
            lanes: Vec::new(),
            losses: LossLedger::default(),
            data_words: usize::MAX,
            chip_id: 0,
            arch: "wormhole_b0",
        }
    }

    pub(crate) fn zone(&mut self, name: &str) -> ZoneIndex {
        let source = ZoneSource { name: name.into(), file: "model.cpp".into(), line: 1 };
        let id: ZoneId = source.id();
        let index = ZoneIndex(u32::from(id.0));
        if self.zones.sources(index).is_empty() {
            self.zones.add(id, source);
        }
        index
    }

    /// Adds records of any kind for one run of a lane.
    pub(crate) fn lane(
        &mut self,
        (x, y): (u16, u16),
        risc: Risc,
        program: u32,
        mut records: Vec<(u64, PacketKind, &str, Vec<u64>)>,
    ) {
        records.sort_by_key(|record| record.0);
        let id = LaneId { chip_id: self.chip_id, core: Noc0Coord { x, y }, risc };
        let mut room = self.data_words;
        let all = records.len();
        records.retain(|(_, _, _, data)| {
            let words = if data.is_empty() { 0 } else { 2 + 2 * data.len() };
            let fits = words <= room;
            room -= if fits { words } else { 0 };
            fits
        });
        let program_id = RunHostId::encode(program, self.chip_id);
        if records.len() < all {
            let key = LossKey { lane: id, cause: LossCause::L1Full, program: Some(program_id) };
            let data = (all - records.len()) as u64;
            self.losses.record(key, LossTotals { data, ..LossTotals::default() });
        }
        let zones: Vec<_> = records.iter().map(|record| self.zone(record.2)).collect();
        let at = self.lanes.iter().position(|lane| lane.id == id).unwrap_or_else(|| {
            self.lanes.push(Lane::new(id));
            self.lanes.len() - 1
        });
        let lane = &mut self.lanes[at];
        lane.begin_run(program_id);
        for ((time, kind, _, data), zone) in records.into_iter().zip(zones) {
            lane.push(RecordHead::new(kind, zone), time, &data);
        }
    }

    pub(crate) fn core(&mut self, at: (u16, u16), program: u32, core: &CoreRun, form: Form) {
        for (&risc, &start) in &core.starts {
            let kernel = match risc {
                Risc::Brisc => "BRISC-KERNEL",
                Risc::Ncrisc => "NCRISC-KERNEL",
                _ => "TRISC-KERNEL",
            };
            let end = core.ends[&risc];
            let mut records = vec![
                (start, PacketKind::ZoneStart, kernel, vec![]),
                (end, PacketKind::ZoneEnd, kernel, vec![]),
            ];
            let waits = core.waits.iter().filter(|wait| wait.risc == risc);
            match form {
                Form::Sums => records.extend(sums(waits, end)),
                Form::Single | Form::SingleAndSignals => records.extend(waits.map(single)),
                Form::Upstream => records.extend(waits.flat_map(upstream)),
                Form::Windows(windows) => {
                    records.extend(sums(waits.clone(), end));
                    let known = waits.filter(|wait| windows.touches(wait));
                    records.extend(known.map(|wait| windows.single(wait)));
                }
            }
            if matches!(form, Form::SingleAndSignals | Form::Windows(_)) {
                let own = core.signals.iter().filter(|signal| signal.0 == risc);
                let own = own.filter(|signal| match form {
                    Form::Windows(windows) => windows.is_open(signal.3),
                    _ => true,
                });
                records.extend(own.map(|&(_, name, key, time)| {
                    (time, PacketKind::TimestampedData, name, vec![key])
                }));
            }
            // Among the records of its cycle, the kernel's end comes last.
            let (ends, rest): (Vec<_>, Vec<_>) = records
                .into_iter()
                .partition(|record| record.1 == PacketKind::ZoneEnd && record.2 == kernel);
            self.lane(at, risc, program, rest.into_iter().chain(ends).collect());
        }
    }

    pub(crate) fn finish(mut self) -> Recording {
        self.lanes.sort_by_key(|lane| lane.id);
        let mut devices: Vec<DeviceReadout> = Vec::new();
        for lane in self.lanes {
            let chip_id = lane.id.chip_id;
            if devices.last().is_none_or(|device| device.chip.chip_id != chip_id) {
                let chip = ChipSummary {
                    chip_id,
                    arch: self.arch.into(),
                    aiclk_mhz: CLOCK_MHZ,
                    max_compute_cores: Some(80),
                    known_lines: [].into(),
                };
                let lanes = Vec::new();
                devices.push(DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 });
            }
            devices.last_mut().unwrap().lanes.push(lane);
        }
        Recording::from_readout(Readout {
            devices,
            losses: self.losses,
            zones: self.zones,
            ..Readout::default()
        })
    }
}

type Entry<'a> = (u64, PacketKind, &'a str, Vec<u64>);

const fn name_of(kind: u64) -> &'static str {
    match kind {
        1 => "SYNC-CB-WAIT",
        2 => "SYNC-CB-RESERVE",
        3 => "SYNC-SEM-WAIT",
        _ => "SYNC-NOC-BARRIER",
    }
}

fn single(wait: &Blocked) -> Entry<'static> {
    let data = vec![wait.key | wait.kind << 32, wait.end - wait.start];
    (wait.end, PacketKind::TimestampedData16B, name_of(wait.kind), data)
}

fn upstream(wait: &Blocked) -> Vec<Entry<'static>> {
    let key = match wait.kind {
        1 => "SYNC-CB-WAIT-KEY",
        2 => "SYNC-CB-RESERVE-KEY",
        _ => return Vec::new(),
    };
    vec![
        (wait.start, PacketKind::ZoneStart, name_of(wait.kind), vec![]),
        (wait.start, PacketKind::TimestampedData, key, vec![wait.key]),
        (wait.end, PacketKind::ZoneEnd, name_of(wait.kind), vec![]),
    ]
}

fn sums<'a>(waits: impl Iterator<Item = &'a Blocked>, end: u64) -> Vec<Entry<'static>> {
    let mut sums: HashMap<(u64, u64), (u64, u64)> = HashMap::new();
    for wait in waits {
        let sum = sums.entry((wait.kind, wait.key)).or_default();
        *sum = (sum.0 + wait.end - wait.start, sum.1 + 1);
    }
    let entry = |((kind, key), (cycles, count)): ((u64, u64), (u64, u64))| {
        let data = vec![key | kind << 32, cycles | count << 32];
        (end, PacketKind::TimestampedData16B, "SYNC-WAIT-TOTAL", data)
    };
    sums.into_iter().map(entry).collect()
}
