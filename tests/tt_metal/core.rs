//! A tile with five RISCs, on which tests call probes.

use crate::{
    noc::{Noc, bank_count, bank_word},
    probes::Probes,
    program::Program,
    toolchain::{Chip, Header},
};
use host_reader::mesh::{
    CoreDescription, Device, DeviceDescription, DeviceImage, DramDescription, LogicalCoord,
    MeshImage, Noc0Coord,
};
use sim::{
    arch::Arch,
    riscv::{
        Bus, Flow, Hart, Image, L1Front, L1Port, LOCAL_RAM_BASE, Pause, Refusal, Region, Width,
    },
};
use std::collections::BTreeMap;
use wire::{CoreKind, control::ControlLayout, risc::RISCS_PER_CORE};

/// Cost of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) instructions: u64,
    pub(crate) cycles: u64,
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            instructions: self.instructions + other.instructions,
            cycles: self.cycles + other.cycles,
        }
    }
}

/// Reason why a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Returned,
    /// The call has stopped at a `PAUSE`; [`Core::resume`] continues it.
    Paused,
    /// The function did not return within the maximum number of instructions.
    Hangs,
    Trapped(String),
}

/// How a core finds the code that it executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// All code was executed before.
    Warm,
    /// Instruction caches are empty before each piece of code that is measured.
    Cold,
}

/// A core after a reset by the host.
pub(crate) struct Core<'a> {
    pub(crate) chip: Chip,
    pub(crate) code: Code,
    programs: Vec<&'a Program>,
    harts: Vec<Hart>,
    front: L1Front,
    tile: Tile,
    /// Layout of the control vector.
    layout: ControlLayout,
    /// Byte address of the control vector.
    profiler: u32,
    lane_bytes: u32,
}

struct Tile {
    /// Registers with values that tests have set.
    registers: BTreeMap<u32, ChangingRegister>,
    /// Future changes of L1 words: cycle, address and value.
    later_words: Vec<(u64, u32, u32)>,
    /// Value of the clock at cycle 0.
    clock_at_reset: u64,
    /// Times at which the clock was read, if a test records them.
    clock_reads: Option<Vec<u64>>,
    l1: Vec<u8>,
    local: Vec<Vec<u8>>,
    noc: Noc,
}

/// A register that changes its value at a cycle.
#[derive(Clone, Copy)]
struct ChangingRegister {
    before: u32,
    from: u64,
    then: u32,
}

struct View<'a> {
    tile: &'a mut Tile,
    risc: usize,
}

/// Return address of a RISC's call.
const RETURN: u32 = 0x1_F000;
const EBREAK: u32 = 0x0010_0073;
/// Private RAM of a Blackhole's BRISC and NCRISC, the largest of all. TT-Metal's linker scripts check
/// that programs fit into that of their RISC.
const LOCAL_RAM_BYTES: u32 = 0x2000;
const STACK_TOP: u32 = LOCAL_RAM_BASE + LOCAL_RAM_BYTES;
/// DRAM address of the first lane. A board reserves the bytes before this address.
pub(crate) const LANES_ADDRESS: u32 = 0x40;
/// Flat id of the core, and number of cores that share a DRAM bank.
pub(crate) const FLAT_ID: u32 = 13;
pub(crate) const CORES_PER_BANK: u32 = 2;
const L1_BYTES: usize = 0x8_0000;
const INSTRUCTIONS_MAX: u64 = 60_000_000;

impl<'a> Core<'a> {
    /// Loads the programs of the available RISCs, and prepares the core like a host.
    pub(crate) fn new(chip: Chip, probes: &'a Probes) -> Self {
        Self::prepared(chip, probes, LAYOUT, Code::Warm)
    }

    /// Prepares a core whose code is read from L1 after [`forget_code`](Self::forget_code).
    pub(crate) fn cold(chip: Chip, probes: &'a Probes) -> Self {
        Self::prepared(chip, probes, LAYOUT, Code::Cold)
    }

    /// Prepares a core for a host with another layout of the control vector.
    pub(crate) fn with_layout(chip: Chip, probes: &'a Probes, layout: ControlLayout) -> Self {
        Self::prepared(chip, probes, layout, Code::Warm)
    }

    fn prepared(chip: Chip, probes: &'a Probes, layout: ControlLayout, code: Code) -> Self {
        let arch = match chip {
            Chip::Wormhole => Arch::WormholeB0,
            Chip::Blackhole => Arch::Blackhole,
        };
        let programs: Vec<_> = probes.programs.iter().collect();
        let port = |risc| if risc < 3 { L1Port::Port2 } else { L1Port::Port3 };
        let hart = |risc| match code {
            Code::Warm => Hart::new(arch, port(risc)).with_warm_code(),
            Code::Cold => Hart::new(arch, port(risc)),
        };
        let mut core = Self {
            chip,
            code,
            harts: (0..programs.len()).map(hart).collect(),
            front: L1Front::new(),
            tile: Tile {
                registers: BTreeMap::new(),
                later_words: Vec::new(),
                clock_at_reset: CLOCK_AT_RESET,
                clock_reads: None,
                l1: vec![0; L1_BYTES],
                local: vec![vec![0; LOCAL_RAM_BYTES as usize]; programs.len()],
                noc: Noc::new(chip),
            },
            layout,
            profiler: 0,
            lane_bytes: crate::toolchain::lane_bytes(probes.has_sums),
            programs,
        };
        core.tile.set_word(0, RETURN, EBREAK);
        for risc in 0..core.programs.len() {
            let image = Image::parse(&core.programs[risc].file).unwrap();
            let mut view = View { tile: &mut core.tile, risc };
            view.load(&image);
            if core.programs[risc].symbols.contains_key("boot") {
                core.fill_tables(risc);
            }
        }
        core.profiler = core.constant("profiler_place");
        let enables = core.constant("launch_enables_place");
        core.tile.set_word(0, enables, (1 << RISCS_PER_CORE) - 1);
        for (index, value) in [
            (layout.dram_address, LANES_ADDRESS),
            (layout.flat_id, FLAT_ID),
            (layout.cores_per_bank, CORES_PER_BANK),
        ] {
            core.set_control(index, value);
        }
        for risc in 0..core.programs.len() {
            if !core.programs[risc].symbols.contains_key("boot") {
                continue;
            }
            assert_eq!(core.call(risc, "boot", &[]).0, End::Returned);
        }
        core
    }

    fn fill_tables(&mut self, risc: usize) {
        let table = self.programs[risc].symbol("dram_bank_to_noc_xy").address;
        let banks = bank_count(self.chip);
        for noc in 0..2 {
            for bank in 0..banks {
                let bytes = bank_word(self.chip, noc, bank).to_le_bytes();
                let at = table + 2 * (u32::try_from(noc).unwrap() * banks + bank) - LOCAL_RAM_BASE;
                self.tile.local[risc][at as usize..at as usize + 2].copy_from_slice(&bytes[..2]);
            }
        }
    }

    /// Returns a constant of the first RISC's program.
    fn constant(&self, name: &str) -> u32 {
        self.tile.word(0, self.programs[0].symbol(name).address)
    }

    /// Empties the instruction caches, as the firmware does at each launch; a warm core keeps its code.
    pub(crate) fn forget_code(&mut self) {
        if self.code == Code::Cold {
            self.harts.iter_mut().for_each(Hart::invalidate_instructions);
        }
    }

    /// Calls a function on a RISC, until it returns or pauses.
    pub(crate) fn call(&mut self, risc: usize, function: &str, arguments: &[u32]) -> (End, Cost) {
        let program = self.programs[risc];
        let hart = &mut self.harts[risc];
        hart.set_pc(program.symbol(function).address);
        hart.set_register(1, RETURN);
        hart.set_register(2, STACK_TOP);
        hart.set_register(3, program.symbol("__global_pointer$").address);
        for (index, argument) in arguments.iter().enumerate() {
            hart.set_register(10 + index, *argument);
        }
        self.run(risc)
    }

    /// Continues after a pause.
    pub(crate) fn resume(&mut self, risc: usize) -> (End, Cost) {
        let behind = self.harts[risc].pc() + 4;
        self.harts[risc].set_pc(behind);
        self.run(risc)
    }

    fn run(&mut self, risc: usize) -> (End, Cost) {
        self.run_beside(risc, u64::MAX, &mut |_| {})
    }

    /// Continues after a pause, and calls `host` every `period` cycles.
    pub(crate) fn resume_beside(
        &mut self,
        risc: usize,
        period: u64,
        host: &mut dyn FnMut(&mut Self),
    ) -> (End, Cost) {
        let behind = self.harts[risc].pc() + 4;
        self.harts[risc].set_pc(behind);
        self.run_beside(risc, period, host)
    }

    fn run_beside(
        &mut self,
        risc: usize,
        period: u64,
        host: &mut dyn FnMut(&mut Self),
    ) -> (End, Cost) {
        // RISCs run one after the other here; time passes for all of them.
        let now = self.now();
        self.harts[risc].advance_to(now);
        let before = self.harts[risc].counters();
        let last = before.instruction_count + INSTRUCTIONS_MAX;
        let mut host_comes_at = now.saturating_add(period);
        let mut end = End::Hangs;
        while self.harts[risc].counters().instruction_count < last {
            if self.harts[risc].cycle() >= host_comes_at {
                host_comes_at += period;
                host(self);
            }
            let hart = &mut self.harts[risc];
            let changes_at = self.tile.change_words(hart.cycle()).min(now + INSTRUCTIONS_MAX * 4);
            let until = changes_at.min(host_comes_at);
            let mut view = View { tile: &mut self.tile, risc };
            match hart.run_until(&mut view, &mut self.front, until) {
                Ok(Pause::Breakpoint) if hart.pc() == RETURN => end = End::Returned,
                Ok(Pause::Breakpoint) => end = End::Paused,
                Ok(_) if hart.cycle() < now + INSTRUCTIONS_MAX * 4 => continue,
                Ok(_) => {}
                Err(trap) => end = End::Trapped(format!("{trap:x?} {:?}", self.tile.noc.faults)),
            }
            break;
        }
        let after = self.harts[risc].counters();
        let cost = Cost {
            instructions: after.instruction_count - before.instruction_count,
            cycles: after.cycle_count - before.cycle_count,
        };
        (end, cost)
    }

    /// Runs a launch with a script in each RISC's kernel; the aggregating RISC's kernel ends last.
    pub(crate) fn launch(&mut self, scripts: &[u32], program: u32) -> Result<Vec<Cost>, String> {
        let enables = (1 << scripts.len()) - 1;
        let place = self.constant("launch_enables_place");
        self.tile.set_word(0, place, enables);
        let mut costs = vec![Cost::default(); scripts.len()];
        for stage in 0..3 {
            for risc in if stage == 2 {
                (0..scripts.len()).rev().collect()
            } else {
                Vec::from_iter(0..scripts.len())
            } {
                let (end, cost) = match stage {
                    0 => self.call(risc, "launch", &[scripts[risc], enables, program]),
                    _ => self.resume(risc),
                };
                let expected = if stage == 2 { End::Returned } else { End::Paused };
                if end != expected {
                    return Err(format!("RISC {risc}, stage {stage} of a launch: {end:?}"));
                }
                costs[risc] = costs[risc] + cost;
            }
        }
        self.settle();
        Ok(costs)
    }

    /// Completes all NoC transactions.
    pub(crate) fn settle(&mut self) {
        let Tile { l1, noc, .. } = &mut self.tile;
        noc.settle(l1, u64::MAX - 1);
    }

    pub(crate) fn noc(&mut self) -> &mut Noc {
        &mut self.tile.noc
    }

    /// Makes a register change its value `after` cycles from now.
    pub(crate) fn change_register(&mut self, address: u32, after: u64, [before, then]: [u32; 2]) {
        let register = ChangingRegister { before, from: self.now() + after, then };
        self.tile.registers.insert(address, register);
    }

    /// Makes a word of L1 take a value `after` cycles from now.
    pub(crate) fn set_word_after(&mut self, address: u32, after: u64, value: u32) {
        self.tile.later_words.push((self.now() + after, address, value));
    }

    /// Resets the registers that a test has set, and a word of L1.
    pub(crate) fn reset_sources(&mut self, address: u32) {
        self.tile.registers.clear();
        self.tile.set_word(0, address, 0);
    }

    /// Returns the words that a RISC has recorded in L1, from the first optional one on.
    pub(crate) fn ring(&self, risc: usize, words: u32) -> Vec<u32> {
        let vector = self.profiler + 4 * 64 + 2048 * word_index(risc) + 48;
        (0..words).map(|index| self.tile.word(0, vector + 4 * index)).collect()
    }

    pub(crate) fn control(&self, index: usize) -> u32 {
        self.tile.word(0, self.profiler + 4 * word_index(index))
    }

    pub(crate) fn set_control(&mut self, index: usize, value: u32) {
        let at = self.profiler + 4 * word_index(index);
        self.tile.set_word(0, at, value);
    }

    /// Publishes a number of words for each RISC except the first.
    pub(crate) fn publish_others(&mut self, words: u32) {
        for risc in 1..RISCS_PER_CORE {
            self.set_control(self.layout.device_end + risc, words);
        }
    }

    /// Writes a script to L1, after all other data, and returns the address of the script.
    pub(crate) fn place_script(&mut self, risc: usize, words: &[u32]) -> u32 {
        let at = SCRIPTS + 0x4000 * word_index(risc);
        for (address, word) in (at..).step_by(4).zip(words) {
            self.tile.set_word(0, address, *word);
        }
        at
    }

    /// Returns the words in the lane of a RISC, up to its HOST_END.
    pub(crate) fn lane(&self, risc: usize) -> Vec<u32> {
        let lane_bytes = self.lane_bytes;
        let bank = FLAT_ID / CORES_PER_BANK;
        let riscs = u32::try_from(RISCS_PER_CORE).unwrap();
        let first = LANES_ADDRESS
            + (FLAT_ID % CORES_PER_BANK) * riscs * lane_bytes
            + word_index(risc) * lane_bytes;
        let end = self.control(self.layout.host_end + risc);
        let word = |index| self.tile.noc.dram.get(&(bank, first + 4 * index)).copied();
        (0..end).map(|index| word(index).unwrap_or(UNWRITTEN)).collect()
    }

    /// Returns the unread words of a RISC's lane for a host that has read up to word `read`, and
    /// the host's new position. The bit positions are written here again, independently of the
    /// reader.
    pub(crate) fn read_on(&self, risc: usize, read: u32) -> (Vec<u32>, u32) {
        let riscs = u32::try_from(RISCS_PER_CORE).unwrap();
        let lanes_before = (FLAT_ID % CORES_PER_BANK) * riscs + word_index(risc);
        let first = LANES_ADDRESS + lanes_before * self.lane_bytes;
        let word = self.control(self.layout.host_end + risc);
        let (end, turned_at) = (word & 0x1_FFFF, word >> 17 << 2);
        let older = if turned_at != 0 && read > end { read..turned_at } else { 0..0 };
        let newer = if older.is_empty() && read <= end { read..end } else { 0..end };
        let at = |index| (FLAT_ID / CORES_PER_BANK, first + 4 * index);
        let words = older.chain(newer);
        let words = words.map(|index| self.tile.noc.dram.get(&at(index)).copied());
        (words.map(|word| word.unwrap_or(UNWRITTEN)).collect(), end)
    }

    /// Returns the tile's clock.
    pub(crate) fn cycle(&self) -> u64 {
        self.tile.clock_at_reset + self.now()
    }

    /// Sets the tile's clock to `time`.
    pub(crate) fn set_clock(&mut self, time: u64) {
        self.tile.clock_at_reset = time - self.now();
    }

    /// Advances the clock by some cycles at once.
    pub(crate) const fn skip_time(&mut self, cycles: u64) {
        self.tile.clock_at_reset += cycles;
    }

    /// Returns the times at which the clock was read since the last call, and continues to record
    /// them.
    pub(crate) fn take_clock_reads(&mut self) -> Vec<u64> {
        self.tile.clock_reads.replace(Vec::new()).unwrap_or_default()
    }

    /// Returns words of a RISC's vector or ring, from `first` on.
    pub(crate) fn vector_words<const COUNT: usize>(
        &self,
        risc: usize,
        first: usize,
    ) -> [u32; COUNT] {
        let vector = self.profiler + 4 * 64 + 2048 * word_index(risc);
        std::array::from_fn(|index| self.tile.word(0, vector + 4 * word_index(first + index)))
    }

    /// Zeroes the control vector, as a host does when it prepares the core.
    pub(crate) fn zero_control(&mut self) {
        (0..self.layout.word_count).for_each(|index| self.set_control(index, 0));
    }

    /// Marks everything in a core with our runtime as read, as a host does.
    pub(crate) fn mark_as_read(&mut self) {
        self.set_control(SEEN_RUNS, self.control(self.layout.run_counter));
    }

    /// Returns the memory of this core as a host reads it: L1 and DRAM of a chip with a single
    /// core.
    pub(crate) fn image(&self) -> MeshImage {
        let mut chip = DeviceImage::new(self.description(1));
        let (noc0, control_address) = (CORE, u64::from(self.profiler));
        let region_bytes = self.region_bytes();
        let count = word_index(self.layout.word_count) + 512 * word_index(RISCS_PER_CORE);
        let words: Vec<u32> =
            (0..count).map(|index| self.tile.word(0, self.profiler + 4 * index)).collect();
        chip.write_l1(noc0, control_address, &words).unwrap();
        let lanes = LANES_ADDRESS..LANES_ADDRESS + region_bytes;
        for ((bank, address), word) in &self.tile.noc.dram {
            if lanes.contains(address) {
                chip.write_dram(*bank, u64::from(*address), &[*word]).unwrap();
            }
        }
        chip.set_wall_clock(self.cycle());
        MeshImage { devices: vec![chip] }
    }

    /// Returns the description of a chip with only this core and a number of lane regions.
    pub(crate) fn description(&self, regions: u32) -> DeviceDescription {
        let control_address = u64::from(self.profiler);
        let core = CoreDescription {
            noc0: CORE,
            logical: LogicalCoord { x: 0, y: 0 },
            kind: CoreKind::Tensix,
            flat_id: FLAT_ID,
            control_address,
            vector_address: control_address + self.layout.size_bytes() as u64,
        };
        DeviceDescription {
            chip_id: 0,
            arch: self.chip.folder().to_owned(),
            aiclk_mhz: 1000,
            max_compute_cores: 1,
            cores: vec![core],
            dram: DramDescription {
                bank_count: bank_count(self.chip),
                region_address: u64::from(LANES_ADDRESS),
                region_bytes: u64::from(regions * self.region_bytes()),
            },
        }
    }

    /// Returns the size in bytes of the lanes of all cores that share a bank.
    fn region_bytes(&self) -> u32 {
        self.lane_bytes * word_index(RISCS_PER_CORE) * CORES_PER_BANK
    }

    /// Returns a word of L1 as the NoC reads it.
    pub(crate) fn l1_word(&self, address: u32) -> u32 {
        self.tile.word(0, address)
    }

    pub(crate) fn set_l1_word(&mut self, address: u32, word: u32) {
        self.tile.set_word(0, address, word);
    }

    /// Returns a word of DRAM, if it has been written.
    pub(crate) fn dram_word(&self, bank: u32, address: u32) -> Option<u32> {
        self.tile.noc.dram.get(&(bank, address)).copied()
    }

    fn now(&self) -> u64 {
        self.harts.iter().map(Hart::cycle).max().unwrap_or(0)
    }
}

/// The value that tests read from words that were never written.
pub(crate) const UNWRITTEN: u32 = 0xDEAD_BEEF;
/// Coordinates of the core, as hosts use them.
const CORE: Noc0Coord = Noc0Coord { x: 1, y: 2 };
const SCRIPTS: u32 = 0x6_0000;
/// Index of the control word that contains the number of runs read by the host. Only our runtime
/// has this word.
pub(crate) const SEEN_RUNS: usize = 8;
pub(crate) const LAYOUT: ControlLayout = ControlLayout::WORDS64;

fn word_index(index: usize) -> u32 {
    u32::try_from(index).unwrap()
}

impl Tile {
    /// Applies the changes that are due; returns the cycle of the next one.
    fn change_words(&mut self, cycle: u64) -> u64 {
        let (due, later) = self.later_words.iter().partition(|change| change.0 <= cycle);
        let due: Vec<_> = due;
        self.later_words = later;
        for (_, address, value) in due {
            self.set_word(0, address, value);
        }
        self.later_words.iter().map(|change| change.0).min().unwrap_or(u64::MAX)
    }

    fn word(&self, risc: usize, address: u32) -> u32 {
        let (memory, at) = match address.checked_sub(LOCAL_RAM_BASE) {
            Some(offset) => (&self.local[risc], offset as usize),
            None => (&self.l1, address as usize),
        };
        u32::from_le_bytes([memory[at], memory[at + 1], memory[at + 2], memory[at + 3]])
    }

    fn set_word(&mut self, risc: usize, address: u32, word: u32) {
        let (memory, at) = match address.checked_sub(LOCAL_RAM_BASE) {
            Some(offset) => (&mut self.local[risc], offset as usize),
            None => (&mut self.l1, address as usize),
        };
        memory[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    fn settle(&mut self, cycle: u64) {
        if !self.noc.is_idle() {
            self.noc.settle(&self.l1, cycle);
        }
    }
}

impl View<'_> {
    /// Writes the segments of a program to L1 and to the private RAM.
    fn load(&mut self, image: &Image<'_>) {
        for segment in image.segments() {
            let (memory, first) = match segment.address.checked_sub(LOCAL_RAM_BASE) {
                Some(offset) => (self.local_ram_mut(), offset as usize),
                None => (self.l1_mut(), segment.address as usize),
            };
            let length = segment.bytes.len();
            memory[first..first + length].copy_from_slice(segment.bytes);
            memory[first + length..][..segment.zero_byte_count as usize].fill(0);
        }
    }
}

impl Bus for View<'_> {
    fn l1(&self) -> &[u8] {
        &self.tile.l1
    }
    fn l1_mut(&mut self) -> &mut [u8] {
        &mut self.tile.l1
    }
    fn before_l1_store(&mut self, _: u32, _: u32, cycle: u64) -> Result<(), Refusal> {
        self.tile.settle(cycle);
        Ok(())
    }
    fn local_ram(&self) -> &[u8] {
        &self.tile.local[self.risc]
    }
    fn local_ram_mut(&mut self) -> &mut [u8] {
        &mut self.tile.local[self.risc]
    }
    fn region(&self, address: u32) -> Option<Region> {
        Region::in_tensix_tile(address)
    }
    fn mmio_load(&mut self, address: u32, _: Width, cycle: u64) -> Result<u32, Refusal> {
        self.tile.settle(cycle);
        let time = self.tile.clock_at_reset + cycle;
        if let Some(register) = self.tile.registers.get(&address) {
            let ChangingRegister { before, from, then } = *register;
            return Ok(if cycle < from { before } else { then });
        }
        match address {
            WALL_CLOCK_LOW => {
                self.tile.clock_reads.iter_mut().for_each(|reads| reads.push(time));
                Ok((time & 0xFFFF_FFFF) as u32)
            }
            // A read of the low word latches the high word. TT-Metal's headers read the low word
            // right before.
            WALL_CLOCK_HIGH | LATCHED_CLOCK_HIGH => Ok((time >> 32) as u32),
            _ if Noc::covers(address) => self.tile.noc.load(address, cycle),
            _ if STREAMS.contains(&address) => Ok(0),
            _ => Err(Refusal::Unmapped),
        }
    }
    fn mmio_store(
        &mut self,
        address: u32,
        _: Width,
        value: u32,
        cycle: u64,
    ) -> Result<Flow, Refusal> {
        self.tile.settle(cycle);
        if !Noc::covers(address) {
            return Err(Refusal::Unmapped);
        }
        self.tile.noc.store(address, value, cycle)?;
        self.tile.settle(cycle);
        Ok(Flow::Continue)
    }
}

/// Registers of the NoC overlay's streams, including the tile counts of circular buffers.
const STREAMS: std::ops::Range<u32> = 0xFFB4_0000..0xFFB8_0000;
const WALL_CLOCK_LOW: u32 = 0xFFB1_21F0;
const WALL_CLOCK_HIGH: u32 = 0xFFB1_21F4;
const LATCHED_CLOCK_HIGH: u32 = 0xFFB1_21F8;
/// Value of a clock that has run since the board was switched on.
const CLOCK_AT_RESET: u64 = 0x7_0001_0000;

/// Names the probes' header, for messages.
impl std::fmt::Display for Probes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { chip, header, .. } = self;
        let name = match header {
            Header::Ours => "ours",
            Header::Upstream => "upstream",
            Header::Off => "none",
        };
        write!(f, "{chip}, {name}")
    }
}
