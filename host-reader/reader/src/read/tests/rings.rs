//! Tests of streaming rings, filled by a model written from the format description.

#![expect(clippy::cast_possible_truncation, reason = "fields are parts of words")]

mod launches;
mod live;
mod unreadable;

use super::*;
use proptest::prelude::*;
use wire::{
    Cycles, PacketKind, ZoneId,
    stream::{CHUNK_CELLS, Cell, Code, LaunchCell, Policy, RING_CELLS, words},
};

/// A record of a lane, as (kind, id, time, values).
type Told = (PacketKind, u32, u64, Vec<u64>);

/// An action of a RISC or of the host.
#[derive(Clone, Debug)]
enum Step {
    Open(u16),
    /// Closes the innermost zone.
    Close,
    Event(u16),
    Data(u16, u64),
    Data16(u16, u64, u64),
    /// Waits for this number of cycles.
    Pause(u32),
    /// Ends the launch, records totals of sum zones, and begins another launch.
    NextLaunch {
        totals: Vec<(u16, u32)>,
        pause: u64,
    },
    Read,
}

/// Generates actions of a RISC and reads by the host, which are frequent or rare.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![steps_with(40), steps_with(4), steps_with(1)]
}

fn steps_with(reads: u32) -> impl Strategy<Value = Vec<Step>> {
    let id = prop_oneof![any::<u16>(), 0xFFE8_u16..=0xFFFF];
    let pause = prop_oneof![20 => 1_u32..100, 2 => 60_000_u32..70_000, 1 => 1_u32 << 30..1 << 31];
    let between = prop_oneof![1_u64..1000, 1_u64 << 33..1 << 40];
    let step = prop_oneof![
        400 => id.clone().prop_map(Step::Open),
        400 => Just(Step::Close),
        80 => id.clone().prop_map(Step::Event),
        80 => (id.clone(), any::<u64>()).prop_map(|(id, value)| Step::Data(id, value)),
        40 => (id.clone(), any::<u64>(), any::<u64>())
            .prop_map(|(id, first, second)| Step::Data16(id, first, second)),
        160 => pause.prop_map(Step::Pause),
        20 => (prop::collection::vec((id, any::<u32>()), 0..3), between)
            .prop_map(|(totals, pause)| Step::NextLaunch { totals, pause }),
        reads => Just(Step::Read),
    ];
    prop::collection::vec(step, 1..1500)
}

/// Model of a streaming RISC.
struct Producer {
    risc: usize,
    policy: Policy,
    now: u64,
    launch: u32,
    program: u32,
    written: u32,
    told: u32,
    is_full: bool,
    /// Time of the last cell.
    last_cell: u64,
    open: Vec<(u16, u64)>,
    /// Numbers of zones, data and events for which the ring had no room. The next field has these
    /// numbers by program.
    lost: [u32; 3],
    lost_of_programs: BTreeMap<u32, [u64; 3]>,
    /// Records of the current launch. The next field has the totals of the launch's sums.
    records: Vec<Told>,
    totals: Vec<(u16, u32)>,
    /// All stored zones, as (program, id, start, end), in the order of their ends. The next field
    /// has the totals.
    ended: Vec<(u32, u16, u64, u64)>,
    all_totals: Vec<(u32, u16, u32)>,
    /// Stored records of finished launches, by program.
    launches: Vec<(u32, Vec<Told>)>,
}

const ZONES: usize = 0;
const DATA: usize = 1;
const EVENTS: usize = 2;

impl Producer {
    fn new(image: &mut DeviceImage, risc: usize, policy: Policy, now: u64) -> Self {
        set(image, 0, ext::SIGNATURE, &[words::SIGNATURE_VALUE]);
        set(image, 0, words::POLICY + risc, &[policy.to_word()]);
        let mut producer = Self {
            risc,
            policy,
            now,
            launch: 0,
            program: 6,
            written: 0,
            told: 0,
            is_full: false,
            last_cell: now,
            open: Vec::new(),
            lost: [0; 3],
            lost_of_programs: BTreeMap::new(),
            records: Vec::new(),
            totals: Vec::new(),
            ended: Vec::new(),
            all_totals: Vec::new(),
            launches: Vec::new(),
        };
        producer.begin_launch(image);
        producer
    }

    fn control(&self, image: &mut DeviceImage, first: usize) -> u32 {
        let mut word = [0];
        let index = first + self.risc;
        image.read_l1(core(0), CONTROL + index as u64 * 4, &mut word).unwrap();
        word[0]
    }

    fn tell(&self, image: &mut DeviceImage, first: usize, word: u32) {
        set(image, 0, first + self.risc, &[word]);
    }

    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Returns the number of cells for which the ring has room.
    fn room(&self, image: &mut DeviceImage) -> u32 {
        if self.policy == Policy::OverwriteOldest {
            return u32::MAX;
        }
        let waiting = self.written.wrapping_sub(self.control(image, words::READ));
        RING_CELLS as u32 - waiting
    }

    fn put(&mut self, image: &mut DeviceImage, cells: &[Cell]) {
        for cell in cells {
            let place = (self.risc * 512) as u64 + u64::from(self.written % 256) * 2;
            image.write_l1(core(0), VECTOR + place * 4, &[cell.head, cell.value]).unwrap();
            self.written = self.written.wrapping_add(1);
        }
        self.tell(image, words::WRITTEN, self.written);
    }

    /// Writes a record within one chunk; returns false if the ring has no room.
    fn append(&mut self, image: &mut DeviceImage, cells: &[Cell]) -> bool {
        let chunk = CHUNK_CELLS as u32;
        let said = (self.launch & 0xFFFF) << 16 | (self.now >> 32) as u32 & 0xFFFF;
        if self.is_full && self.room(image) < 2 * chunk {
            return false;
        }
        let mut all = Vec::new();
        if self.is_full {
            all.push(vec![Cell::new(Code::LOST, 0, self.lost.iter().sum())]);
        }
        let begins_chunk = self.written.is_multiple_of(chunk);
        if self.told != said && (begins_chunk || self.is_full || self.told == 0) {
            let launch = LaunchCell {
                program: self.program,
                trace_counter: 0,
                time_high: (self.now >> 32) as u16,
            };
            all.push(vec![
                Cell::new(Code::LAUNCH, self.launch as u16, self.now as u32),
                launch.to_cell(),
            ]);
        }
        all.push(cells.to_vec());
        let mut padded: Vec<Cell> = Vec::new();
        for record in all {
            let at = self.written as usize % CHUNK_CELLS + padded.len();
            let rest = CHUNK_CELLS - at % CHUNK_CELLS;
            if record.len() > rest {
                padded.extend(vec![Cell::new(Code::PADDING, 0, 7); rest]);
            }
            padded.extend(record);
        }
        if padded.len() as u32 > self.room(image) {
            self.is_full = true;
            return false;
        }
        let tells = padded.iter().any(|cell| cell.code() == Code::LAUNCH);
        self.put(image, &padded);
        self.is_full = false;
        self.last_cell = self.now;
        if tells {
            self.told = said;
            self.tell(image, words::TOLD, said & !0x8000);
        }
        true
    }

    fn lose(&mut self, image: &mut DeviceImage, kind: usize) {
        self.lost[kind] += 1;
        self.lost_of_programs.entry(self.program).or_default()[kind] += 1;
        self.tell(
            image,
            [words::LOST_ZONES, words::LOST_DATA, words::LOST_EVENTS][kind],
            self.lost[kind],
        );
    }

    fn close(&mut self, image: &mut DeviceImage) {
        let Some((id, start)) = self.open.pop() else { return };
        let end = self.tick();
        let cells = match Cell::from_zone(ZoneId(id), Cycles(end), end - start) {
            Some(cell) => vec![cell],
            None => vec![Cell::new(Code::LONG_ZONE, id, end as u32), Cell::from_bits(end - start)],
        };
        if self.append(image, &cells) {
            self.ended.push((self.program, id, start, end));
            self.records.push((PacketKind::ZoneStart, id.into(), start, vec![]));
            self.records.push((PacketKind::ZoneEnd, id.into(), end, vec![]));
        } else {
            self.lose(image, ZONES);
        }
    }

    fn point(&mut self, image: &mut DeviceImage, (code, id): (Code, u16), values: &[u64]) {
        let time = self.tick();
        let mut cells = vec![Cell::new(code, id, time as u32)];
        cells.extend(values.iter().map(|&value| Cell::from_bits(value)));
        let kind = match values.len() {
            0 => PacketKind::TimestampedEvent,
            1 => PacketKind::TimestampedData,
            _ => PacketKind::TimestampedData16B,
        };
        if self.append(image, &cells) {
            self.records.push((kind, id.into(), time, values.to_vec()));
        } else {
            self.lose(image, if values.is_empty() { EVENTS } else { DATA });
        }
    }

    fn begin_launch(&mut self, image: &mut DeviceImage) {
        self.launch += 1;
        self.program += 1;
        set(image, 0, words::LAUNCHES, &[self.launch]);
        set(image, 0, words::PROGRAM, &[self.program]);
        self.tick();
        self.open.push((0xFC0D, self.now));
        self.tick();
        self.is_full |= !self.append(image, &[]);
    }

    fn end_launch(&mut self, image: &mut DeviceImage, totals: &[(u16, u32)]) {
        while !self.open.is_empty() {
            self.close(image);
        }
        for &(id, cycles) in totals {
            if self.append(image, &[Cell::new(Code::TOTAL, id, cycles)]) {
                self.totals.push((id, cycles));
                self.all_totals.push((self.program, id, cycles));
            } else {
                self.lose(image, ZONES);
            }
        }
        self.tell(image, words::TOLD, self.told & !0x8000 | 0x8000);
        self.told = 0;
        let mut records = std::mem::take(&mut self.records);
        records.sort_by_key(|record| record.2);
        let first = records.first().map_or(0, |record| record.2);
        for (id, cycles) in self.totals.drain(..) {
            records.push((PacketKind::ZoneTotal, id.into(), first, vec![cycles.into()]));
        }
        if !records.is_empty() {
            self.launches.push((self.program, records));
        }
    }

    fn step(&mut self, image: &mut DeviceImage, step: &Step) {
        match *step {
            Step::Open(id) => {
                let start = self.tick();
                self.open.push((id, start));
            }
            // Only the end of the launch closes the outermost zone.
            Step::Close if self.open.len() > 1 => self.close(image),
            Step::Event(id) => self.point(image, (Code::EVENT, id), &[]),
            Step::Data(id, value) => self.point(image, (Code::DATA, id), &[value]),
            Step::Data16(id, first, second) => {
                self.point(image, (Code::DATA_16B, id), &[first, second]);
            }
            Step::Pause(cycles) => {
                self.now += u64::from(cycles);
                // Only the beginning of a chunk contains the high word of the time. A pause of more
                // than one wrap therefore needs a new chunk.
                let at = self.written as usize % CHUNK_CELLS;
                let is_long = self.now - self.last_cell > (1 << 32) - 2000;
                if is_long && at != 0 && self.room(image) >= CHUNK_CELLS as u32 {
                    self.put(image, &vec![Cell::new(Code::PADDING, 0, 0); CHUNK_CELLS - at]);
                    self.told = 0;
                }
            }
            Step::NextLaunch { ref totals, pause } => {
                self.end_launch(image, totals);
                self.now += pause;
                self.begin_launch(image);
            }
            Step::Close | Step::Read => {}
        }
    }
}

/// Performs actions and reads on one RISC; returns the model of the RISC and the records that were
/// read.
fn run_plan(
    bench: &mut Bench,
    (risc, policy, first_time): (usize, Policy, u64),
    steps: &[Step],
    mut disturb: impl FnMut(&mut DeviceImage),
) -> (Producer, Readout) {
    let mut reader = Reader::new(ReadOptions::default());
    let mut whole = Readout::default();
    let mut producer = Producer::new(&mut bench.0.image, risc, policy, first_time);
    for step in steps {
        match step {
            Step::Read => {
                disturb(&mut bench.0.image);
                read_all(bench, &mut reader, &mut whole, (producer.now, false));
            }
            step => producer.step(&mut bench.0.image, step),
        }
    }
    producer.end_launch(&mut bench.0.image, &[(3, 4)]);
    disturb(&mut bench.0.image);
    read_all(bench, &mut reader, &mut whole, (producer.now, false));
    (producer, whole)
}

/// Returns the runs of a lane, as (program, records).
fn told(lane: &Lane) -> Vec<(u32, Vec<Told>)> {
    let records: Vec<_> = lane
        .records()
        .map(|record| (record.kind, record.zone.0, record.time, record.data.to_vec()))
        .collect();
    let runs = lane.runs.iter().enumerate();
    runs.map(|(index, run)| (run.program.base(), records[lane.run_records(index)].to_vec()))
        .collect()
}

fn read_all(
    bench: &mut Bench,
    reader: &mut Reader,
    whole: &mut Readout,
    (now, is_last): (u64, bool),
) {
    bench.0.image.set_wall_clock(now);
    reader.options_mut().last_read = is_last;
    whole.append(reader.read(bench).unwrap());
}

fn lane_of(whole: &Readout, risc: Risc) -> Vec<(u32, Vec<Told>)> {
    whole.lanes().find(|lane| lane.id.risc == risc).map(told).unwrap_or_default()
}

/// Returns the number of cells of a record.
fn cell_count((kind, id, _, values): &Told, duration_cycles: u64) -> u64 {
    let is_long = duration_cycles > 0xFFFF || *id >= 0xFFF0;
    match kind {
        PacketKind::ZoneStart => 1 + u64::from(is_long),
        PacketKind::ZoneEnd => 0,
        PacketKind::ZoneTotal => 1,
        _ => 1 + values.len() as u64,
    }
}

/// Returns the number of cells that the records of these launches take. Starts and ends of zones
/// are paired by nesting.
fn cells_of(launches: &[(u32, Vec<Told>)]) -> u64 {
    let mut cells = 0;
    for (_, records) in launches {
        let mut open = Vec::new();
        for record in records {
            match record.0 {
                PacketKind::ZoneStart => open.push(record),
                PacketKind::ZoneEnd => {
                    let start = open.pop().unwrap();
                    cells += cell_count(start, record.2 - start.2);
                }
                _ => cells += cell_count(record, 0),
            }
        }
        assert!(open.is_empty());
    }
    cells
}

/// Returns the number of random cases: a third of `full`, unless `KPROF_FULL_SIZES` requests all.
fn case_count(full: u32) -> u32 {
    if std::env::var_os("KPROF_FULL_SIZES").is_some() { full } else { full / 3 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(case_count(48)))]

    #[test]
    fn what_was_written_is_read_and_the_rest_is_counted(
        risc in 0_usize..5,
        steps in steps(),
        first_time in prop_oneof![1_u64..1000, 1_u64 << 32..1_u64 << 33, (1_u64 << 50) - (1 << 31)..1_u64 << 50],
    ) {
        let mut bench = Bench::new();
        let case = (risc, Policy::DropNewest, first_time);
        let (producer, whole) = run_plan(&mut bench, case, &steps, |_| ());
        let risc = CoreKind::Tensix.risc(risc).unwrap();
        prop_assert_eq!(lane_of(&whole, risc), producer.launches);
        let mut counted = LossTotals::default();
        for (key, &totals) in whole.losses.entries() {
            prop_assert_eq!((key.lane.risc, key.cause), (risc, LossCause::RingFull));
            if let Some(program) = key.program {
                let lost = producer.lost_of_programs.get(&program.base()).copied();
                let [zones, data, events] = lost.unwrap_or_default();
                let is_part =
                    totals.zones <= zones && totals.data <= data && totals.events <= events;
                prop_assert!(is_part, "{program}: {totals:?} of {lost:?}");
            }
            counted.add(totals);
        }
        let [zones, data, events] = producer.lost.map(u64::from);
        prop_assert_eq!([counted.zones, counted.data, counted.events], [zones, data, events]);
        prop_assert_eq!((counted.unknown_markers, counted.is_lower_bound), (0, false));
        prop_assert_eq!(whole.anomalies.anomaly_count(), 0);
    }

    #[test]
    fn what_was_written_over_is_counted_cell_by_cell(steps in steps(), first_time in 1_u64..1000) {
        let mut bench = Bench::new();
        let case = (2, Policy::OverwriteOldest, first_time);
        let (producer, whole) = run_plan(&mut bench, case, &steps, |_| ());
        let found = lane_of(&whole, Risc::Trisc0);
        // A run of an unknown launch has program 0.
        let mut missing = producer.launches.clone();
        for record in found.iter().flat_map(|(_, records)| records) {
            let place = missing.iter_mut().find_map(|(_, records)| {
                let index = records.iter().position(|known| known == record)?;
                Some((records, index))
            });
            if let Some((records, index)) = place {
                records.remove(index);
            } else {
                // The first zone of a launch determines the time of its totals.
                prop_assert_eq!(record.0, PacketKind::ZoneTotal);
            }
        }
        for (program, records) in &found {
            let is_of = |(other, known): &(u32, Vec<Told>)| {
                program == other && records.iter().all(|record| record.0 == PacketKind::ZoneTotal || known.contains(record))
            };
            prop_assert!(*program == 0 || producer.launches.iter().any(is_of), "{program}");
        }
        let overwritten = whole.losses.by_cause(LossCause::Overwritten).unknown_markers;
        let all = u64::from(producer.written);
        prop_assert!(overwritten + cells_of(&found) <= all);
        if overwritten == 0 {
            prop_assert_eq!(found, producer.launches);
        } else {
            // Cells without records: launch cells, padding, and the chunk that the RISC may be
            // writing.
            let others = all - cells_of(&producer.launches);
            prop_assert!(overwritten + cells_of(&found) + others >= all);
        }
    }

    #[test]
    fn damaged_cells_do_no_harm_beyond_their_chunks(
        steps in steps(),
        flips in prop::collection::vec((0_u64..512, 0_u32..32), 1..20),
    ) {
        let mut bench = Bench::new();
        let mut flips = flips.into_iter();
        let disturb = |image: &mut DeviceImage| {
            if let Some((word, bit)) = flips.next() {
                let address = VECTOR + 2 * 2048 + word * 4;
                let mut words = [0];
                image.read_l1(core(0), address, &mut words).unwrap();
                image.write_l1(core(0), address, &[words[0] ^ 1 << bit]).unwrap();
            }
        };
        let case = (2, Policy::DropNewest, 1000);
        let (producer, whole) = run_plan(&mut bench, case, &steps, disturb);
        let found: usize = lane_of(&whole, Risc::Trisc0).iter().map(|(_, records)| records.len()).sum();
        let written: usize = producer.launches.iter().map(|(_, records)| records.len()).sum();
        // A chunk has up to seven records; a zone counts as two records.
        prop_assert!(found <= written + 20 * 16 && found + 20 * 16 >= written, "{found} of {written}");
    }
}

#[test]
fn a_policy_that_overwrites_while_the_host_reads_loses_whole_chunks() {
    let mut bench = Bench::new();
    let image = &mut bench.0.image;
    let mut producer = Producer::new(image, 2, Policy::OverwriteOldest, 100);
    let event = |number| Step::Event(number);
    (0..253).for_each(|number| producer.step(image, &event(number)));
    assert_eq!(producer.written, 255);
    let mut more = 253;
    let producer = std::rc::Rc::new(std::cell::RefCell::new(producer));
    let writer = std::rc::Rc::clone(&producer);
    bench.on_access(move |image, access| {
        let ring = VECTOR + 2 * 2048;
        if matches!(access, Access::ReadL1 { address, .. } if *address == ring) && more == 253 {
            while more < 273 {
                writer.borrow_mut().step(image, &event(more));
                more += 1;
            }
        }
    });
    bench.0.image.set_wall_clock(1000);
    let readout = read_device_profiler(&mut bench).unwrap();
    // There are 275 cells. The ring contains the last 256 cells, and the RISC may be overwriting
    // the oldest 8 of these, so cells 0 to 26 are lost. The rest of the chunk of cell 27 is lost
    // too.
    assert_eq!(readout.losses.by_cause(LossCause::Overwritten).unknown_markers, 32);
    producer.borrow_mut().end_launch(&mut bench.0.image, &[]);
    let readout = read_device_profiler(&mut bench).unwrap();
    let lane = lane_of(&readout, Risc::Trisc0);
    let events = lane[0].1.iter().filter(|record| record.0 == PacketKind::TimestampedEvent);
    assert_eq!(events.map(|record| record.1).collect::<Vec<_>>(), (253..273).collect::<Vec<_>>());
}

#[test]
fn rings_are_told_what_was_read_unless_nothing_may_be_written() {
    for read_only in [false, true] {
        let mut bench = Bench::new();
        let mut producer = Producer::new(&mut bench.0.image, 0, Policy::DropNewest, 100);
        producer.step(&mut bench.0.image, &Step::Event(5));
        producer.end_launch(&mut bench.0.image, &[]);
        bench.0.image.set_wall_clock(1000);
        let mut reader = Reader::new(ReadOptions { read_only, ..ReadOptions::default() });
        let first = reader.read(&mut bench).unwrap();
        assert_eq!(lane_of(&first, Risc::Brisc), producer.launches);
        assert_eq!(reader.read(&mut bench).unwrap().record_count(), 0, "read only: {read_only}");
        let expected = if read_only { 0 } else { producer.written };
        assert_eq!(bench.control(0)[words::READ], expected);
    }
}

#[test]
fn a_core_that_streams_is_not_reset_as_one_of_upstreams() {
    let mut bench = Bench::new();
    let mut producer = Producer::new(&mut bench.0.image, 4, Policy::DropNewest, 100);
    producer.end_launch(&mut bench.0.image, &[]);
    bench.0.image.set_wall_clock(1000);
    let before = bench.control(0);
    read_device_profiler(&mut bench).unwrap();
    let mut expected = before;
    expected[words::READ + 4] = producer.written;
    assert_eq!(bench.control(0), expected);
}

#[test]
fn more_cells_than_a_ring_has_are_no_cells() {
    let mut bench = Bench::new();
    let producer = Producer::new(&mut bench.0.image, 1, Policy::DropNewest, 100);
    producer.tell(&mut bench.0.image, words::WRITTEN, 5000);
    let readout = read_device_profiler(&mut bench).unwrap();
    assert_eq!(readout.record_count(), 0);
    assert_eq!(readout.anomalies.anomaly_count(), 1);
    assert!(readout.losses.by_cause(LossCause::Damaged).is_lower_bound);
}

#[test]
fn a_reader_that_joins_in_mid_launch_knows_the_program_unless_another_launch_has_begun() {
    for next_launch_begins in [false, true] {
        let mut bench = Bench::new();
        // The low word of the clock has wrapped twice. Only the launch cell, which the other reader
        // has read, and the control words have the high word.
        let first_time = (2 << 32) + 100;
        let mut producer = Producer::new(&mut bench.0.image, 1, Policy::DropNewest, first_time);
        let event = |number| Step::Event(number);
        (0..20).for_each(|number| producer.step(&mut bench.0.image, &event(number)));
        bench.0.image.set_wall_clock(producer.now);
        Reader::new(ReadOptions::default()).read(&mut bench).unwrap();
        (20..60).for_each(|number| producer.step(&mut bench.0.image, &event(number)));
        if next_launch_begins {
            let step = Step::NextLaunch { totals: vec![], pause: 100 };
            producer.step(&mut bench.0.image, &step);
            (60..80).for_each(|number| producer.step(&mut bench.0.image, &event(number)));
        }
        let (mut joining, mut whole) = (Reader::new(ReadOptions::default()), Readout::default());
        read_all(&mut bench, &mut joining, &mut whole, (producer.now, true));
        let events = |records: &[Told], first: u32| {
            let is_event = |told: &&Told| told.0 == PacketKind::TimestampedEvent && told.1 >= first;
            let events = records.iter().filter(is_event);
            events.map(|told| (told.1, told.2)).collect::<Vec<_>>()
        };
        let launches = lane_of(&whole, Risc::Ncrisc);
        let found: Vec<_> = launches.iter().map(|(id, run)| (*id, events(run, 0))).collect();
        // An unknown program has the id 0.
        let expected = if next_launch_begins {
            let begun = (producer.program, events(&producer.records, 0));
            vec![(0, events(&producer.launches[0].1, 20)), begun]
        } else {
            vec![(producer.program, events(&producer.records, 20))]
        };
        assert_eq!(found, expected);
        assert_eq!(expected[0].1.len(), 40);
    }
}

#[test]
fn cells_of_a_launch_whose_announcement_is_lost_are_lost_until_the_next_launch() {
    for has_read_a_launch in [false, true] {
        let mut bench = Bench::new();
        let (mut reader, mut whole) = (Reader::new(ReadOptions::default()), Readout::default());
        let mut producer = Producer::new(&mut bench.0.image, 1, Policy::OverwriteOldest, 100);
        let mut read_before = 0;
        if has_read_a_launch {
            producer.step(&mut bench.0.image, &Step::Event(1));
            producer.end_launch(&mut bench.0.image, &[]);
            read_all(&mut bench, &mut reader, &mut whole, (producer.now, false));
            read_before = producer.written;
            producer.begin_launch(&mut bench.0.image);
        }
        // The core begins another launch before the RISC has ended this one.
        (0..300).for_each(|number| producer.step(&mut bench.0.image, &Step::Event(number)));
        let launch = producer.launch + 1;
        set(&mut bench.0.image, 0, words::LAUNCHES, &[launch]);
        read_all(&mut bench, &mut reader, &mut whole, (producer.now, false));
        // All cells of this part are read, but they belong to the same launch.
        (300..400).for_each(|number| producer.step(&mut bench.0.image, &Step::Event(number)));
        read_all(&mut bench, &mut reader, &mut whole, (producer.now, false));
        (400..500).for_each(|number| producer.step(&mut bench.0.image, &Step::Event(number)));
        producer.end_launch(&mut bench.0.image, &[]);
        let lost = producer.written - read_before;
        producer.begin_launch(&mut bench.0.image);
        (500..520).for_each(|number| producer.step(&mut bench.0.image, &Step::Event(number)));
        producer.end_launch(&mut bench.0.image, &[]);
        read_all(&mut bench, &mut reader, &mut whole, (producer.now, true));
        let mut expected = producer.launches.clone();
        expected.remove(usize::from(has_read_a_launch));
        assert_eq!(lane_of(&whole, Risc::Ncrisc), expected);
        let overwritten = whole.losses.by_cause(LossCause::Overwritten).unknown_markers;
        assert_eq!(overwritten, lost.into());
    }
}
