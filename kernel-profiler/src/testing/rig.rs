//! The core, its ports, and launches as the firmware runs them.

use super::oracle::{self, Run};
use crate::{
    launch::{self, Scope},
    port::{
        self, Clock, ClockWords, Memory, Noc, NocCoordinates, Port, Pushes, SavedRegisters,
        WaitRecords, word_at,
    },
    state::State,
};
use std::{boxed::Box, cell::RefCell, collections::BTreeMap, rc::Rc, vec, vec::Vec};
use wire::{ZoneId, control::ControlLayout, noc_event::NocCounter, wait::SyncWindows};

pub(crate) const C: ControlLayout = ControlLayout::WORDS64;
pub(crate) const REGION: u32 = 0x1000;
pub(crate) const FLAT_ID: u32 = 7;
pub(crate) const CORES_PER_BANK: u32 = 3;

pub(crate) const FW: ZoneId = ZoneId(0xFC0D);
pub(crate) const KERNEL: ZoneId = ZoneId(0xE427);

/// The state shared by the RISCs of a core.
pub(crate) struct Core {
    pub(crate) control: [u32; 64],
    pub(crate) vectors: [[u32; 512]; 5],
    pub(crate) bank: Vec<u32>,
    pub(crate) clock: u64,
    pub(crate) is_linked: bool,
    pub(crate) push_cycles: u64,
    pub(crate) trouble: Trouble,
    /// Number of waits that timed out.
    pub(crate) waits_in_vain: u32,
    pub(crate) pushes: Vec<Push>,
    pub(crate) host: Option<Host>,
    pub(crate) drain: Option<Drain>,
    in_flight: Vec<Push>,
    is_pushing: bool,
    is_saved: bool,
}

/// A host that reads at regular times.
pub(crate) struct Host {
    pub(crate) period: u64,
    pub(crate) next: u64,
    /// Words found so far, by RISC.
    pub(crate) found: [Vec<u32>; 5],
}

/// A host that drains rings at regular times, and the cells found so far, by RISC.
#[derive(Default)]
pub(crate) struct Drain {
    pub(crate) period: u64,
    pub(crate) next: u64,
    pub(crate) found: [Vec<[u32; 2]>; 5],
    /// Number of cells overwritten before they were found.
    pub(crate) overwritten: [u32; 5],
}

impl Core {
    /// Takes the new cells of all rings. Does not use `wire` for control words and positions.
    pub(crate) fn drain(&mut self) {
        let Some(mut drain) = self.drain.take() else { return };
        for risc_index in 0..5 {
            let (written, read) = (self.control[24 + risc_index], self.control[59 + risc_index]);
            let mut first = read;
            if written.wrapping_sub(read) > 248 && self.control[9 + risc_index] == 1 {
                // The oldest chunk may be in the process of being overwritten; reading resumes at
                // the beginning of the next chunk.
                let oldest = written.wrapping_sub(248);
                first = oldest.wrapping_add(7) & !7;
                drain.overwritten[risc_index] += first.wrapping_sub(read);
            }
            assert!(written.wrapping_sub(first) <= 256, "{written} of {read} on RISC {risc_index}");
            while first != written {
                let word = (first % 256 * 2) as usize;
                let ring = &self.vectors[risc_index];
                drain.found[risc_index].push([ring[word], ring[word + 1]]);
                first = first.wrapping_add(1);
            }
            self.control[59 + risc_index] = written;
        }
        self.drain = Some(drain);
    }

    /// Drains the rings if the time of the next drain has come.
    fn run_drain(&mut self) {
        let Some(drain) = &mut self.drain else { return };
        if self.clock >= drain.next {
            drain.next = self.clock + drain.period;
            self.drain();
        }
    }

    /// Reads the new words of a RISC's lane. Does not use `wire` for bit positions.
    fn read_on(&mut self, risc_index: usize) -> Vec<u32> {
        let lane_words = self.control[6] as usize;
        let start = ((FLAT_ID % CORES_PER_BANK) as usize * 5 + risc_index) * lane_words;
        let lane = &self.bank[start..start + lane_words];
        let word = self.control[C.host_end + risc_index] as usize;
        let (end, mark) = (word & 0x1_FFFF, word >> 17 << 2);
        let read = self.control[59 + risc_index] as usize;
        let words = if mark != 0 && read > end {
            [&lane[read..mark], &lane[..end]].concat()
        } else {
            lane[read..end].to_vec()
        };
        self.control[59 + risc_index] = end as u32;
        words
    }

    /// Lets the host read if the time of its next read has come.
    fn run_host(&mut self) {
        let Some(mut host) = self.host.take() else { return };
        if self.clock >= host.next {
            host.next = self.clock + host.period;
            for risc_index in 0..5 {
                host.found[risc_index].extend(self.read_on(risc_index));
            }
        }
        self.host = Some(host);
    }
}

/// Faults of the NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Nothing,
    /// No command is accepted.
    Busy,
    /// The given number of commands is accepted, and no further command.
    BusyAfter(usize),
    /// Nothing is acknowledged.
    Silent,
}

/// A write to DRAM: source address, number of words, target address.
pub(crate) type Push = (u32, u32, u32);

/// A RISC's view of the core.
pub(crate) struct TestPort {
    pub(crate) core: Rc<RefCell<Core>>,
    pub(crate) risc_index: usize,
    pub(crate) sums: bool,
    pub(crate) is_dispatch: bool,
    pub(crate) is_trace_only: bool,
    pub(crate) is_accumulating: bool,
    pub(crate) is_streaming: bool,
    /// Maximum cycles of a wait for the host, in the debug dump.
    pub(crate) stall_cycles: Option<u32>,
    /// Windows of time in which individual waits and signals are recorded; `None` to record no
    /// waits.
    pub(crate) sync_windows: Option<SyncWindows>,
    /// A data cache that never evicts a line: the words that the RISC has read.
    cached: BTreeMap<(Option<usize>, usize), u32>,
}

impl TestPort {
    /// Returns a word as this RISC sees it. Loads the whole cache line that contains the word.
    fn cached_word(&mut self, of: Option<usize>, index: usize) -> u32 {
        let core = self.core.borrow();
        let words = of.map_or(&core.control[..], |risc_index| &core.vectors[risc_index][..]);
        let line = index / LINE_WORDS * LINE_WORDS;
        for (at, word) in words.iter().enumerate().skip(line).take(LINE_WORDS) {
            self.cached.entry((of, at)).or_insert(*word);
        }
        self.cached[&(of, index)]
    }

    /// Updates the cache with the RISC's own store.
    fn store_cached(&mut self, of: Option<usize>, index: usize, value: u32) {
        if let Some(word) = self.cached.get_mut(&(of, index)) {
            *word = value;
        }
    }
}

/// Size of a Blackhole's cache line in words.
const LINE_WORDS: usize = 4;

impl Clock for TestPort {
    fn now(&mut self) -> ClockWords {
        let mut core = self.core.borrow_mut();
        core.clock += 1;
        core.run_host();
        core.run_drain();
        ClockWords { high: (core.clock >> 32) as u32, low: core.clock as u32 }
    }
}

impl Memory for TestPort {
    fn load(&mut self, place: u32) -> u32 {
        let (risc_index, index) = word_at(place);
        self.cached_word(risc_index, index)
    }

    fn store(&mut self, place: u32, value: u32) {
        let (risc_index, index) = word_at(place);
        self.store_cached(risc_index, index, value);
        let mut core = self.core.borrow_mut();
        if let Some(of) = risc_index {
            let is_own = of == self.risc_index || self.risc_index == 0 || self.is_trace_only;
            assert!(is_own, "RISC {} wrote into the vector of RISC {of}", self.risc_index);
            core.vectors[of][index] = value;
        } else {
            let is_claim = (C.host_end..C.host_end + 5).contains(&index) || index == C.run_counter;
            assert!(!is_claim || core.in_flight.is_empty(), "word {index} is ahead of its data");
            core.control[index] = value;
        }
    }

    fn forget_cached(&mut self) {
        self.cached.clear();
    }
}

impl Noc for TestPort {
    fn is_linked(&mut self) -> bool {
        self.core.borrow().is_linked
    }

    fn await_idle(&mut self) -> bool {
        let mut core = self.core.borrow_mut();
        let is_idle = core.trouble != Trouble::Busy;
        core.waits_in_vain += u32::from(!is_idle);
        is_idle
    }

    fn begin_pushes(&mut self, bank: u32) -> Pushes {
        let mut core = self.core.borrow_mut();
        assert_ne!(core.trouble, Trouble::Busy, "a store to a busy command buffer");
        assert!(core.in_flight.is_empty());
        assert!(!core::mem::replace(&mut core.is_pushing, true));
        assert!(bank == FLAT_ID / CORES_PER_BANK || bank == 0, "bank {bank}");
        Pushes(bank)
    }

    fn push(&mut self, pushes: Pushes, place: u32, word_count: u32, address: u32) -> bool {
        let mut core = self.core.borrow_mut();
        assert_eq!(pushes, Pushes(FLAT_ID / CORES_PER_BANK));
        assert!(core.is_pushing && !core.is_linked, "a push now would hang the NoC");
        assert!(word_count > 0 && word_count.is_multiple_of(4), "{word_count} words");
        assert!(place.is_multiple_of(16) && address.is_multiple_of(16));
        if core.trouble == Trouble::BusyAfter(core.in_flight.len()) {
            core.waits_in_vain += 1;
            core.is_pushing = false;
            return false;
        }
        core.in_flight.push((place, word_count, address));
        true
    }

    /// Returns the number of pushes if `counter` counts writes, and 0 for other counters.
    fn noc_counter(&mut self, counter: NocCounter) -> u32 {
        let pushes = self.core.borrow().pushes.len() as u32;
        if counter == NocCounter::WritesSent { pushes } else { 0 }
    }

    /// Drops the writes in flight if the NoC is stuck.
    fn count_pushes(&mut self, count: u32) {
        let mut core = self.core.borrow_mut();
        assert_eq!(core.in_flight.len(), count as usize);
        if !core.is_pushing {
            core.in_flight.clear();
        }
    }

    /// Copies the words from L1 only now, so that a premature change of the words shows in DRAM.
    fn wait_for_pushes(&mut self, _: Pushes) -> bool {
        let core = &mut *self.core.borrow_mut();
        assert!(core::mem::replace(&mut core.is_pushing, false));
        core.clock += core.push_cycles;
        let is_silent = core.trouble == Trouble::Silent;
        core.waits_in_vain += u32::from(is_silent);
        for (place, word_count, address) in core.in_flight.drain(..) {
            if is_silent {
                continue;
            }
            let words = match port::word_at(place) {
                (Some(risc_index), 0) => &core.vectors[risc_index][..],
                other => panic!("nothing is pushed from {other:?}"),
            };
            let start = ((address - REGION) / 4) as usize;
            let count = word_count as usize;
            core.bank[start..start + count].copy_from_slice(&words[..count]);
            core.pushes.push((place, word_count, address));
        }
        !is_silent
    }

    fn save_command_buffer(&mut self, saved: &mut SavedRegisters) {
        let mut core = self.core.borrow_mut();
        assert!(core.in_flight.is_empty(), "registers saved under a push");
        assert!(!core::mem::replace(&mut core.is_saved, true));
        *saved = [7; 9];
    }

    fn restore_command_buffer(&mut self, saved: &SavedRegisters) {
        let mut core = self.core.borrow_mut();
        assert!(core.in_flight.is_empty(), "registers restored under a push");
        assert!(core::mem::replace(&mut core.is_saved, false));
        assert_eq!(*saved, [7; 9]);
    }
}

impl Port for TestPort {
    fn risc_index(&self) -> usize {
        self.risc_index
    }

    fn risc_count(&self) -> usize {
        5
    }

    fn sums_enabled(&self) -> bool {
        self.sums
    }

    fn bank_count(&self) -> u32 {
        12
    }

    fn is_dispatch(&self) -> bool {
        self.is_dispatch
    }

    fn is_trace_only(&self) -> bool {
        self.is_trace_only
    }

    fn is_accumulating(&self) -> bool {
        self.is_accumulating
    }

    fn is_streaming(&self) -> bool {
        self.is_streaming
    }

    fn is_non_dropping(&self) -> bool {
        self.stall_cycles.is_some()
    }

    fn stall_cycles(&self) -> u32 {
        self.stall_cycles.unwrap_or(0)
    }

    fn wait_records(&self) -> WaitRecords {
        if self.sync_windows.is_some() { WaitRecords::Events } else { WaitRecords::Off }
    }

    fn sync_windows(&self) -> Option<SyncWindows> {
        self.sync_windows
    }

    fn noc_coordinates(&self) -> Option<NocCoordinates> {
        Some(NocCoordinates { x: 18, y: 19 })
    }
}

/// A RISC: its port and its local RAM.
pub(crate) struct TestRisc {
    pub(crate) state: State,
    pub(crate) port: TestPort,
}

/// The body of a kernel.
pub(crate) type Body = Box<dyn FnMut(&mut TestRisc)>;

/// A core with its firmware.
pub(crate) struct Rig {
    pub(crate) core: Rc<RefCell<Core>>,
    pub(crate) riscs: Vec<TestRisc>,
    /// Enable bits that the firmware of the next launch sets.
    pub(crate) enables: u32,
}

impl Rig {
    /// Returns a core that the host has set up with lanes of `lane_words` words.
    pub(crate) fn new(lane_words: u32) -> Self {
        let mut control = [0; 64];
        control[C.dram_address] = REGION;
        control[C.flat_id] = FLAT_ID;
        control[C.cores_per_bank] = CORES_PER_BANK;
        control[6] = lane_words;
        let core = Core {
            control,
            vectors: [[0xDEAD_BEEF; 512]; 5],
            bank: vec![0; (lane_words * 5 * CORES_PER_BANK) as usize],
            clock: 0x1_0000_0000,
            is_linked: false,
            push_cycles: 0,
            trouble: Trouble::Nothing,
            waits_in_vain: 0,
            pushes: Vec::new(),
            host: None,
            drain: None,
            in_flight: Vec::new(),
            is_pushing: false,
            is_saved: false,
        };
        let core = Rc::new(RefCell::new(core));
        let risc = |risc_index| TestRisc {
            state: State::new(),
            port: TestPort {
                core: Rc::clone(&core),
                risc_index,
                sums: false,
                is_dispatch: false,
                is_trace_only: false,
                is_accumulating: false,
                is_streaming: false,
                stall_cycles: None,
                sync_windows: None,
                cached: BTreeMap::new(),
            },
        };
        let riscs = (0..5).map(risc).collect();
        Self { core, riscs, enables: 1 }
    }

    pub(crate) fn control(&self, index: usize) -> u32 {
        self.core.borrow().control[index]
    }

    pub(crate) fn set_control(&self, index: usize, value: u32) {
        self.core.borrow_mut().control[index] = value;
    }

    pub(crate) fn vector(&self, risc_index: usize, index: usize) -> u32 {
        self.core.borrow().vectors[risc_index][index]
    }

    pub(crate) fn set_linked(&self, is_linked: bool) {
        self.core.borrow_mut().is_linked = is_linked;
    }

    /// Begins a launch on BRISC, as its firmware does.
    pub(crate) fn begin(&mut self, program_id: u32) {
        let brisc = &mut self.riscs[0];
        brisc.open_scope(Scope::Main);
        State::validate(&mut brisc.port, self.enables);
        State::set_counter(&mut brisc.port, program_id);
    }

    /// Runs one launch in which each given RISC runs its kernel body. The RISCs end in the given
    /// order, BRISC last.
    pub(crate) fn launch(&mut self, program_id: u32, bodies: &mut [(usize, Body)]) {
        self.enables = bodies.iter().map(|(risc_index, _)| 1 << risc_index).sum();
        self.begin(program_id);
        for (risc_index, body) in bodies {
            let risc = &mut self.riscs[*risc_index];
            if *risc_index != 0 {
                risc.open_scope(Scope::Main);
            }
            risc.open_scope(Scope::MainChild);
            body(risc);
            risc.close_scope(Scope::MainChild);
            if *risc_index != 0 {
                risc.close_scope(Scope::Main);
            }
        }
        self.riscs[0].close_scope(Scope::Main);
    }

    /// Runs one launch with a kernel on BRISC alone.
    pub(crate) fn launch_brisc(
        &mut self,
        program_id: u32,
        body: impl FnMut(&mut TestRisc) + 'static,
    ) {
        self.launch(program_id, &mut [(0, Box::new(body))]);
    }

    /// Returns the words of a RISC's lane up to the end that the device published.
    pub(crate) fn lane(&self, risc_index: usize) -> Vec<u32> {
        let core = self.core.borrow();
        let lane_words = core.control[6] as usize;
        let core_in_bank = (FLAT_ID % CORES_PER_BANK) as usize;
        let start = (core_in_bank * 5 + risc_index) * lane_words;
        let end = core.control[C.host_end + risc_index] as usize;
        assert!(end <= lane_words, "lane {risc_index} says {end} of {lane_words} words");
        core.bank[start..start + end].to_vec()
    }

    /// Reads the new words of a RISC's lane and writes the progress, like a host that knows only
    /// the control words.
    pub(crate) fn read_on(&self, risc_index: usize) -> Vec<u32> {
        self.core.borrow_mut().read_on(risc_index)
    }

    /// Returns the decoded runs of a RISC's lane.
    pub(crate) fn runs(&self, risc_index: usize) -> Vec<Run> {
        oracle::decode(&self.lane(risc_index))
    }

    /// Returns how many zones, data records and events of a RISC found no room in L1.
    pub(crate) fn lost(&self, risc_index: usize) -> [u32; 3] {
        [29, 34, 39].map(|word| self.control(word + risc_index))
    }

    /// Returns the number of a RISC's runs that were not stored completely in DRAM, and the number
    /// of their refused markers.
    pub(crate) fn refused(&self, risc_index: usize) -> [u32; 2] {
        [9, 14].map(|word| self.control(word + risc_index))
    }

    /// Acknowledges a read as the host does, by writing how far it has read.
    pub(crate) fn acknowledge(&self) {
        self.set_control(8, self.control(C.run_counter));
    }
}

impl TestRisc {
    pub(crate) fn open_scope(&mut self, scope: Scope) {
        let id = if scope == Scope::Main { FW } else { KERNEL };
        if scope == Scope::Main && !self.port.is_trace_only {
            // TT-Metal's firmware also does this before it looks for a launch.
            self.port.forget_cached();
            self.state.begin(&mut self.port);
        }
        launch::open_scope(&mut self.port, scope, id);
    }

    pub(crate) fn close_scope(&mut self, scope: Scope) {
        let id = if scope == Scope::Main { FW } else { KERNEL };
        launch::close_scope(&mut self.port, scope, id);
        if scope == Scope::Main && !self.port.is_trace_only {
            self.state.finish(&mut self.port);
        }
    }

    pub(crate) fn open(&mut self, id: u16) -> bool {
        self.state.open_zone(&mut self.port, ZoneId(id))
    }

    pub(crate) fn close(&mut self, id: u16) {
        self.state.close_zone(&mut self.port, ZoneId(id));
    }

    pub(crate) fn zone(&mut self, id: u16) {
        if self.open(id) {
            self.close(id);
        }
    }

    pub(crate) fn data(&mut self, id: u16, data: u64) {
        self.state.record_data(&mut self.port, ZoneId(id), data);
    }

    pub(crate) fn event(&mut self, event: u16) {
        self.state.record_event(&mut self.port, event);
    }

    /// Records a sum zone that ends now, with the given cycles.
    pub(crate) fn sum(&mut self, accumulator: usize, id: u16, cycles: u32) {
        let ends = self.port.core.borrow().clock as u32 + 1;
        let started = ends.wrapping_sub(cycles);
        self.state.add_to_sum(&mut self.port, accumulator, ZoneId(id), started);
    }

    pub(crate) fn quick_push(&mut self) {
        self.state.quick_push(&mut self.port);
    }
}
