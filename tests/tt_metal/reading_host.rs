//! A host that reads a single core with our reader while the core runs.

use crate::{
    core::{Core, End},
    stalls::{ADDRESSES, KINDS, NAMES_ITS_ADDRESS, TRANSFERS},
};
use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler,
    lane::Lane,
    mesh::{AccessError, Device, DeviceDescription, Mesh, Noc0Coord},
    names::ZoneTable,
    read::Reader,
    readout::Readout,
};
use wire::{PacketKind, Risc, risc::RISCS_PER_CORE};

/// Control words and values of `profiler_common.h`: the address of each RISC's buffer in TT-Metal's
/// debug dump, the value of that word when the buffer is full, and the RISCs that have dropped
/// records.
const BUFFER_ADDRESS: usize = 60;
const STALLED: u32 = 0xFFFF_FFFF;
const DROPPED: usize = 56;
/// RISCs that move data.
pub(crate) const MOVERS: [Risc; 2] = [Risc::Brisc, Risc::Ncrisc];

/// A running core as its host sees it.
struct HostView<'view, 'probes> {
    core: &'view mut Core<'probes>,
    description: DeviceDescription,
}

impl<'view, 'probes> HostView<'view, 'probes> {
    fn new(core: &'view mut Core<'probes>) -> Self {
        let description = core.description(2);
        Self { core, description }
    }
}

fn word_addresses(address: u64) -> impl Iterator<Item = u32> {
    (u32::try_from(address).unwrap()..).step_by(4)
}

impl Device for HostView<'_, '_> {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, _: Noc0Coord, at: u64, words: &mut [u32]) -> Result<(), AccessError> {
        for (word, address) in words.iter_mut().zip(word_addresses(at)) {
            *word = self.core.l1_word(address);
        }
        Ok(())
    }

    fn write_l1(&mut self, _: Noc0Coord, at: u64, words: &[u32]) -> Result<(), AccessError> {
        for (word, address) in words.iter().zip(word_addresses(at)) {
            self.core.set_l1_word(address, *word);
        }
        Ok(())
    }

    fn read_dram(&mut self, bank: u32, at: u64, words: &mut [u32]) -> Result<(), AccessError> {
        for (word, address) in words.iter_mut().zip(word_addresses(at)) {
            // Words that were never written get a recognisable value, because a host that reads
            // them reads beyond the end of a lane.
            *word = self.core.dram_word(bank, address).unwrap_or(0xDEAD_BEEF);
        }
        Ok(())
    }

    fn read_wall_clock(&mut self, _: Noc0Coord) -> Result<u64, AccessError> {
        Ok(self.core.cycle())
    }

    fn host_time_ns(&mut self) -> u64 {
        self.core.cycle()
    }
}

impl Mesh for HostView<'_, '_> {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        (index == 0).then_some(self as &mut dyn Device)
    }
}

/// A host that reads continuously.
pub(crate) struct Host {
    options: ReadOptions,
    reader: Reader,
    /// True if each read uses a new reader without earlier state.
    forgets: bool,
    pub(crate) whole: Readout,
    /// Number of reads that found TT-Metal's runtime waiting, by RISC.
    pub(crate) waits: [usize; RISCS_PER_CORE],
}

impl Host {
    /// Prepares a core. Its profiler has two buffers for each RISC, or one.
    pub(crate) fn new(core: &mut Core<'_>, has_two_buffers: bool, zones: ZoneTable) -> Self {
        let options = ProfilerOptions { has_two_buffers, ..ProfilerOptions::default() };
        init_device_profiler(&mut HostView::new(core), &options).unwrap();
        // TT-Metal's pushes wait for everything sent on their NoC, so each data mover needs its own
        // NoC.
        assert_eq!(core.call(1, "choose_noc", &[1]).0, End::Returned);
        let options = ReadOptions { zones, ..ReadOptions::default() };
        Self {
            reader: Reader::new(options.clone()),
            options,
            forgets: false,
            whole: Readout::default(),
            waits: [0; RISCS_PER_CORE],
        }
    }

    /// Returns the host with `forgets` set, so that each read uses a new reader.
    pub(crate) const fn that_forgets(mut self, forgets: bool) -> Self {
        self.forgets = forgets;
        self
    }

    pub(crate) fn read(&mut self, core: &mut Core<'_>) {
        for (risc, waits) in self.waits.iter_mut().enumerate() {
            *waits += usize::from(core.control(BUFFER_ADDRESS + risc) == STALLED);
        }
        if self.forgets {
            self.reader = Reader::new(self.options.clone());
        }
        self.whole.append(self.reader.read(&mut HostView::new(core)).unwrap());
    }

    /// Launches scripts, and reads every `period` cycles.
    pub(crate) fn launch(
        &mut self,
        core: &mut Core<'_>,
        scripts: &[u32],
        (program, period): (u32, u64),
    ) -> Result<(), String> {
        let enables = (1 << scripts.len()) - 1;
        let check = |risc: usize, found: End, expected: End| {
            let error = || format!("launch {program}, RISC {risc}: {found:?}");
            if found == expected { Ok(()) } else { Err(error()) }
        };
        for (risc, script) in scripts.iter().enumerate() {
            let end = core.call(risc, "launch", &[*script, enables, program]).0;
            check(risc, end, End::Paused)?;
        }
        for expected in [End::Paused, End::Returned] {
            for risc in (0..scripts.len()).rev() {
                let end = core.resume_beside(risc, period, &mut |core| self.read(core)).0;
                check(risc, end, expected.clone())?;
            }
        }
        core.settle();
        Ok(())
    }

    pub(crate) fn lane(&self, risc: Risc) -> Result<&Lane, String> {
        let lane = self.whole.lanes().find(|lane| lane.id.risc == risc);
        lane.ok_or_else(|| format!("no lane of {risc}"))
    }

    pub(crate) fn check_nothing_is_lost(&self, core: &Core<'_>) -> Result<(), String> {
        let losses: Vec<_> = self.whole.losses.entries().collect();
        if !losses.is_empty() || core.control(DROPPED) != 0 {
            return Err(format!("lost: {losses:?}, {:#x}", core.control(DROPPED)));
        }
        Ok(())
    }
}

/// Launches a kernel on both data movers that records a read and a write of each address below
/// [`ADDRESSES`].
///
/// Checks that all events of both arrive in order, with the begins and ends of their barriers.
pub(crate) fn follow_addresses(
    core: &mut Core<'_>,
    host: &mut Host,
    period: u64,
) -> Result<(), String> {
    core.noc().answer_cycles = 60;
    let scripts: Vec<_> =
        (0..MOVERS.len()).map(|risc| core.place_script(risc, &[TRANSFERS, ADDRESSES, 0])).collect();
    host.launch(core, &scripts, (5, period))?;
    host.read(core);
    host.check_nothing_is_lost(core)?;
    let expected: Vec<_> = (0..u64::from(ADDRESSES))
        .flat_map(|address| KINDS.map(|kind| (kind, address)))
        .map(|(kind, address)| (kind, if NAMES_ITS_ADDRESS.contains(&kind) { address } else { 0 }))
        .collect();
    for risc in MOVERS {
        let lane = host.lane(risc)?;
        let events = lane.records().filter(|record| record.kind == PacketKind::TimestampedData16B);
        let events: Vec<_> = events
            .map(|record| {
                let trailer = record.data[1];
                (record.data[0] & 0xFF, (trailer & 0x3F_FFFF) << 2 | trailer >> 22 & 0xF)
            })
            .collect();
        if events != expected {
            let at = events.iter().zip(&expected).position(|(found, expected)| found != expected);
            return Err(format!("{risc}: {} events, first other {at:?}", events.len()));
        }
        if lane.runs.len() != 1 {
            return Err(format!("{risc}: {} launches", lane.runs.len()));
        }
    }
    Ok(())
}
