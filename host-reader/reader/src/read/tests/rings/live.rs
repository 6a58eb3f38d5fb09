//! Tests: batches of streamed lanes during their launches.

use super::*;
use crate::read::{LiveReader, live::LiveRead};
use crate::stream::Batch;
use std::time::{Duration, Instant};

/// A zone, as (program, id, start, end).
type Zone = (u32, u16, u64, u64);

/// A data record or an event, as (program, id, time, values).
type Point = (u32, u32, u64, Vec<u64>);

/// All records of batches, in order.
#[derive(Debug, Default)]
struct Taken {
    zones: Vec<Zone>,
    points: Vec<Point>,
    totals: Vec<(u32, u16, u32)>,
    losses: LossTotals,
}

impl Taken {
    fn take(&mut self, batch: &Batch) {
        let program = batch.program.unwrap().base();
        let zones = &batch.zones;
        let rows = zones.ids.iter().zip(&zones.starts).zip(&zones.ends);
        self.zones.extend(rows.map(|((id, &start), &end)| (program, id.0, start, end)));
        let data = &batch.data;
        let rows = data.ids.iter().zip(&data.times).zip(&data.values);
        self.points.extend(rows.map(|((id, &time), &(first, second))| {
            (program, id.0.into(), time, [first].into_iter().chain(second).collect())
        }));
        let events = batch.events.ids.iter().zip(&batch.events.times);
        self.points.extend(events.map(|(id, &time)| (program, id.0.into(), time, vec![])));
        let totals = batch.totals.ids.iter().zip(&batch.totals.cycles);
        self.totals.extend(totals.map(|(id, &cycles)| (program, id.0, cycles)));
        self.losses = batch.losses;
    }
}

/// Returns the data and events of the model, by time.
fn points_of(producer: &Producer) -> Vec<Point> {
    let current = (producer.program, producer.records.clone());
    let launches = producer.launches.iter().chain([&current]);
    let points = launches.flat_map(|(program, records)| {
        let points = records.iter().filter(|record| {
            let edges = [PacketKind::ZoneStart, PacketKind::ZoneEnd, PacketKind::ZoneTotal];
            !edges.contains(&record.0)
        });
        points.map(|(_, id, time, values)| (*program, *id, *time, values.clone()))
    });
    points.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(case_count(32)))]

    #[test]
    fn records_are_in_a_batch_as_soon_as_they_are_read(
        steps in steps(),
        first_time in prop_oneof![1_u64..1000, 1_u64 << 32..1_u64 << 33],
    ) {
        let mut bench = Bench::new();
        let mut reader = Reader::new(ReadOptions::default());
        let mut producer = Producer::new(&mut bench.0.image, 2, Policy::DropNewest, first_time);
        let mut taken = Taken::default();
        for step in steps.iter().chain([&Step::Read]) {
            producer.step(&mut bench.0.image, step);
            if !matches!(step, Step::Read) {
                continue;
            }
            bench.0.image.set_wall_clock(producer.now);
            let LiveRead { batches, readout } = reader.read_live(&mut bench).unwrap();
            prop_assert_eq!(readout.record_count(), 0);
            batches.iter().for_each(|batch| taken.take(batch));
            // The launch is still running, and the reader has returned all of its records.
            prop_assert_eq!(&taken.zones, &producer.ended);
            taken.points.sort_by_key(|point| point.2);
            prop_assert_eq!(&taken.points, &points_of(&producer));
            prop_assert_eq!(&taken.totals, &producer.all_totals);
            let [zones, data, events] = producer.lost.map(u64::from);
            let losses = LossTotals { zones, data, events, ..LossTotals::default() };
            prop_assert_eq!(taken.losses, losses);
        }
    }
}

/// A chip whose first RISC runs an endless launch and records some events before each access by the
/// host.
struct Endless {
    image: DeviceImage,
    producer: Producer,
}

impl Mesh for Endless {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, _: usize) -> Option<&mut dyn Device> {
        for _ in 0..20 {
            self.producer.step(&mut self.image, &Step::Event(5));
        }
        self.image.set_wall_clock(self.producer.now);
        Some(&mut self.image)
    }
}

#[test]
fn a_slow_consumer_puts_reads_off_and_all_events_are_taken_or_counted() {
    let mut image = Bench::new().0.image;
    let producer = Producer::new(&mut image, 0, Policy::DropNewest, 100);
    let mesh = Endless { image, producer };
    let reader = Reader::new(ReadOptions::default());
    let mut live = LiveReader::start(mesh, reader, Duration::from_micros(100), 3).unwrap();
    let begun = Instant::now();
    while live.backpressure().put_off_reads < 5 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", live.backpressure());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(live.backpressure().waiting_batches, 3);
    let mut taken = Taken::default();
    // Reading continues as soon as there is room.
    for _ in 0..30 {
        let read = live.next().unwrap().unwrap();
        read.batches.iter().for_each(|batch| taken.take(batch));
    }
    let mesh = live.stop().unwrap();
    assert!(live.stop().is_none());
    for read in live.by_ref() {
        read.unwrap().batches.iter().for_each(|batch| taken.take(batch));
    }
    assert_eq!(live.backpressure().waiting_batches, 0);
    assert_eq!(taken.points, points_of(&mesh.producer));
    assert_eq!(taken.losses.events, u64::from(mesh.producer.lost[EVENTS]));
    assert!(taken.points.len() > 1000);
}

#[test]
fn reads_that_are_put_off_without_a_period_wait_for_room() {
    let mut image = Bench::new().0.image;
    let producer = Producer::new(&mut image, 0, Policy::DropNewest, 100);
    let mesh = Endless { image, producer };
    let reader = Reader::new(ReadOptions::default());
    let mut live = LiveReader::start(mesh, reader, Duration::ZERO, 1).unwrap();
    while live.backpressure().put_off_reads == 0 {
        std::thread::yield_now();
    }
    let (begun, before) = (Instant::now(), live.backpressure().put_off_reads);
    std::thread::sleep(Duration::from_millis(30));
    let put_off = live.backpressure().put_off_reads - before;
    assert!(u128::from(put_off) <= begun.elapsed().as_millis() + 1, "{put_off} in 30 ms");
    // The next read begins when the batch is taken.
    let (begun, mut taken) = (Instant::now(), 0);
    while taken < 20 {
        live.next().unwrap().unwrap();
        taken += 1;
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(live.stop().is_some());
}

#[test]
fn a_mesh_that_panics_ends_the_iterator() {
    struct Panics;
    impl Mesh for Panics {
        fn device_count(&self) -> usize {
            panic!("on purpose")
        }

        fn device(&mut self, _: usize) -> Option<&mut dyn Device> {
            None
        }
    }
    let reader = Reader::new(ReadOptions::default());
    let mut live = LiveReader::start(Panics, reader, Duration::from_millis(1), 3).unwrap();
    assert!(live.next().is_none());
}
