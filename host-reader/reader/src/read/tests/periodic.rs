//! Tests of the reader thread: period, last read, end.

use super::*;
use crate::mesh::MeshImage;
use crate::read::PeriodicThread;
use std::{
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

type Programs = Result<Vec<(u16, Risc, u32)>, ReadError>;

type Periodic = PeriodicThread<(MeshImage, Reader)>;

/// Starts to read `mesh`, and passes each result to `take`.
fn start_with(
    mesh: MeshImage,
    period: Duration,
    mut take: impl FnMut(Result<Readout, ReadError>) + Send + 'static,
) -> Periodic {
    let state = (mesh, Reader::new(ReadOptions::default()));
    let read = move |(mesh, reader): &mut (MeshImage, Reader), is_last| {
        reader.options_mut().last_read = is_last;
        take(reader.read(mesh));
    };
    PeriodicThread::start(period, state, read).unwrap()
}

/// Starts reading; the receiver gets the programs found by each read.
fn start(mesh: MeshImage, period: Duration) -> (Periodic, Receiver<Programs>) {
    let (sender, results) = channel();
    let take = move |result: Result<Readout, ReadError>| {
        sender.send(result.map(|readout| programs(&readout))).unwrap();
    };
    (start_with(mesh, period, take), results)
}

/// Returns a chip that runs this project's runtime, with one run.
fn image() -> MeshImage {
    let mut bench = Bench::ours();
    push(&mut bench.0.image, (0, 0), 0, &run(0, 0, 7, 100));
    finish(&mut bench.0.image, 0, 1);
    MeshImage { devices: vec![bench.0.image] }
}

#[test]
fn each_run_comes_once_however_often_is_read() {
    let (periodic, results) = start(image(), Duration::from_millis(1));
    let first: Vec<_> = results.iter().take(5).map(Result::unwrap).collect();
    assert_eq!(first[0], [(1, Risc::Brisc, 7)]);
    assert!(first[1..].iter().all(Vec::is_empty), "{first:?}");
    let (mut mesh, _) = periodic.stop().unwrap();
    assert!(results.iter().all(|rest| rest.unwrap().is_empty()));
    let mut control = [0; 64];
    mesh.devices[0].read_l1(core(0), CONTROL, &mut control).unwrap();
    assert_eq!((control[ext::CONSUMED], control[ext::SEEN_RUNS]), (12, 1));
}

#[test]
fn stopping_waits_for_no_period_and_reads_once_more() {
    let (periodic, results) = start(image(), Duration::from_secs(3600));
    assert_eq!(results.recv().unwrap().unwrap(), [(1, Risc::Brisc, 7)]);
    let _ = periodic.stop().unwrap();
    assert_eq!(results.iter().count(), 1);
}

#[test]
fn a_read_that_fails_ends_nothing() {
    let mesh = MeshImage { devices: Vec::new() };
    let (periodic, results) = start(mesh, Duration::from_millis(1));
    assert!(results.iter().take(3).all(|result| result.is_err()));
    assert!(periodic.stop().unwrap().0.devices.is_empty());
}

#[test]
fn a_panic_of_the_one_who_takes_is_passed_on() {
    let mesh = MeshImage { devices: Vec::new() };
    let take = |_: Result<Readout, ReadError>| panic!("no room");
    let panic = start_with(mesh, Duration::ZERO, take).stop().unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"no room"));
}
