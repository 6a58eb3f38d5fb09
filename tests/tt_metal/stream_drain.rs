//! A host that drains one ring of a core, with its own decoder.

use crate::{core::Core, stream_script::Name, stream_script::Said};
use std::collections::BTreeMap;
use wire::{
    ZoneId,
    stream::{CHUNK_CELLS, Cell, Code, LaunchCell, RING_CELLS, STABLE_CELLS, words},
};

/// Names of zones, totals and data, by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    zones: BTreeMap<u16, Name>,
    totals: BTreeMap<u16, usize>,
    data: [u16; 2],
}

impl Ids {
    /// Returns the ids of texts from the compiler's log.
    pub(crate) fn from_texts(texts: &[String]) -> Self {
        let id_of = |name: &str| {
            let text = texts.iter().find(|text| text.split(',').next() == Some(name));
            ZoneId::from_text(text.unwrap_or_else(|| panic!("no text of {name}"))).0
        };
        let names = [Name::A, Name::B, Name::If, Name::Kernel, Name::Firmware, Name::Stall];
        let zones = names.map(|name| (id_of(name.text().unwrap()), name));
        Self {
            zones: zones.into_iter().chain([(0xFFF3, Name::Escape)]).collect(),
            totals: [(id_of("sum 1"), 0), (id_of("sum 2"), 1)].into(),
            data: ["some data", "more data"].map(id_of),
        }
    }
}

/// An entry of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Record(Record),
    /// A launch: its number, program, trace counter and time.
    Launch {
        number: u16,
        program: u32,
        trace_counter: u16,
        time: u64,
    },
    /// Number of records lost so far.
    Lost(u32),
    /// Number of cells skipped so far.
    Skipped(u32),
    /// Number of cells overwritten here.
    Overwritten(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) said: Said,
    /// Number of the last launch in the lane.
    pub(crate) launch: Option<u16>,
    /// Time of the record's end; a total has none.
    pub(crate) time: Option<u64>,
    /// Cycles of a zone or a total.
    pub(crate) cycles: Option<u64>,
}

/// A drain of one RISC's ring.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    risc: usize,
    ids: Ids,
    /// Number of cells that were read.
    pub(crate) read: u32,
    /// True if cells may be overwritten before they are read.
    is_overwritten: bool,
    launch: Option<u16>,
    /// Time of the last cell that has one.
    time: Option<u64>,
    /// Decoded entries, with the number of their first cell.
    pub(crate) entries: Vec<(u32, Entry)>,
}

impl Lane {
    pub(crate) fn new(risc: usize, ids: &Ids, is_overwritten: bool) -> Self {
        let ids = ids.clone();
        Self { risc, ids, read: 0, is_overwritten, launch: None, time: None, entries: Vec::new() }
    }

    /// Restarts after the control vector has been zeroed.
    pub(crate) const fn restart(&mut self) {
        self.read = 0;
        self.launch = None;
    }

    /// Reads all published cells, and writes the progress.
    pub(crate) fn drain(&mut self, core: &mut Core<'_>) -> Result<(), String> {
        let written = core.control(words::WRITTEN + self.risc);
        let ring = u32::try_from(RING_CELLS).unwrap();
        let chunk = u32::try_from(CHUNK_CELLS).unwrap();
        if self.is_overwritten {
            let stable =
                (written / chunk * chunk).wrapping_sub(u32::try_from(STABLE_CELLS).unwrap());
            let passed = stable.wrapping_sub(self.read);
            if passed <= u32::MAX / 2 && passed != 0 {
                self.entries.push((self.read, Entry::Overwritten(passed)));
                // The cell with the high word may have been overwritten.
                self.time = self.time.or(Some(core.cycle() >> 32 << 32));
                self.read = stable;
            }
        }
        if written.wrapping_sub(self.read) > ring {
            return Err(format!("{written} cells written, {} read", self.read));
        }
        let mut number = self.read;
        while number != written {
            let cell = |number: u32| {
                let [head, value] = core.vector_words(self.risc, (2 * (number % ring)) as usize);
                Cell { head, value }
            };
            let code = cell(number).code();
            let count = code.cell_count().ok_or_else(|| format!("cell {number}: {code:?}"))?;
            let count = u32::try_from(count).unwrap();
            if number % chunk + count > chunk || written.wrapping_sub(number) < count {
                return Err(format!("cell {number}: {code:?} crosses the end at {written}"));
            }
            if code == Code::PADDING {
                number = number.wrapping_sub(number % chunk).wrapping_add(chunk);
                if written.wrapping_sub(number) > ring {
                    number = written;
                }
                continue;
            }
            let cells: Vec<_> = (0..count).map(|cell_of| cell(number + cell_of)).collect();
            let entry = self.entry(&cells).map_err(|error| format!("cell {number}: {error}"))?;
            self.entries.push((number, entry));
            number = number.wrapping_add(count);
        }
        self.read = written;
        core.set_control(words::READ + self.risc, written);
        Ok(())
    }

    /// Returns the first time with this low word that is not before the previous cell's time.
    fn time(&mut self, low: u32) -> Result<u64, String> {
        let before = self.time.ok_or("a time without a launch before it")?;
        let time = before & !0xFFFF_FFFF | u64::from(low);
        let time = if time < before { time + (1 << 32) } else { time };
        self.time = Some(time);
        Ok(time)
    }

    fn entry(&mut self, cells: &[Cell]) -> Result<Entry, String> {
        let first = cells[0];
        let record =
            |launch, said, time, cycles| Ok(Entry::Record(Record { said, launch, time, cycles }));
        let zone = |ids: &Ids, id: u16| {
            ids.zones.get(&id).copied().map(Said::Zone).ok_or_else(|| format!("zone {id:#x}"))
        };
        let launch = self.launch;
        match first.code() {
            Code::LAUNCH => {
                let LaunchCell { program, trace_counter, time_high } =
                    LaunchCell::from_cell(cells[1]);
                let time = u64::from(time_high) << 32 | u64::from(first.value);
                if self.time.is_some_and(|before| before > time) {
                    return Err(format!("{time:#x} is before {:#x?}", self.time));
                }
                (self.time, self.launch) = (Some(time), Some(first.field()));
                Ok(Entry::Launch { number: first.field(), program, trace_counter, time })
            }
            Code::LONG_ZONE => {
                let time = self.time(first.value)?;
                record(launch, zone(&self.ids, first.field())?, Some(time), Some(cells[1].bits()))
            }
            Code::DATA | Code::DATA_16B => {
                let id = self.ids.data[cells.len() - 2];
                if first.field() != id {
                    return Err(format!("data of id {:#x} in place of {id:#x}", first.field()));
                }
                let values = cells[1..].iter().map(|cell| cell.bits()).collect();
                let time = self.time(first.value)?;
                record(launch, Said::Data(values), Some(time), None)
            }
            Code::EVENT => {
                let time = self.time(first.value)?;
                record(launch, Said::Event(first.field()), Some(time), None)
            }
            Code::TOTAL => {
                let total = self.ids.totals.get(&first.field()).copied();
                let total = total.ok_or_else(|| format!("total {:#x}", first.field()))?;
                record(launch, Said::Total(total), None, Some(u64::from(first.value)))
            }
            Code::LOST => Ok(Entry::Lost(first.value)),
            Code::SKIPPED => Ok(Entry::Skipped(first.value)),
            Code(id) => {
                let time = self.time(first.value)?;
                record(launch, zone(&self.ids, id)?, Some(time), Some(u64::from(first.field())))
            }
        }
    }
}
