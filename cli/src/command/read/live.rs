//! Repeated reads of the chips of a running program.

use super::{AnyChip, names::Names};
use crate::{
    args::{READ_PERIOD_NS, StreamArgs},
    failure::{Failure, OrFail as _, failure, note},
    numbers::{counted, grouped},
    recording::Recording,
};
use chip::{
    mesh::ChipMesh,
    process::{Execution, Process},
};
use host_reader::ledger::LossTotals;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Repeated reads of chips, until the program ends, the time limit is reached or a signal arrives.
pub(super) struct LiveReads {
    period: Duration,
    begun: Instant,
    limit: Option<Duration>,
    execution: Option<Execution>,
    /// True after SIGINT or SIGTERM.
    is_interrupted: Arc<AtomicBool>,
}

impl LiveReads {
    /// Starts the time limit. From now on, the first SIGINT or SIGTERM ends the reads, and the
    /// second one ends the process.
    pub(super) fn begin(args: StreamArgs, process: Option<&Process>) -> Result<Self, Failure> {
        let is_interrupted = Arc::new(AtomicBool::new(false));
        for (signal, exit_code) in [(SIGINT, 130), (SIGTERM, 143)] {
            let flag = || Arc::clone(&is_interrupted);
            flag::register_conditional_shutdown(signal, exit_code, flag()).or_fail()?;
            flag::register(signal, flag()).or_fail()?;
        }
        let execution = match process {
            None => None,
            Some(process) => Some(
                process
                    .execution()
                    .ok_or_else(|| failure!("the program has ended before the first read"))?,
            ),
        };
        Ok(Self {
            period: Duration::from_nanos(args.read_every.unwrap_or(READ_PERIOD_NS)),
            begun: Instant::now(),
            limit: args.limit.map(Duration::from_nanos),
            execution,
            is_interrupted,
        })
    }

    /// Reads until there is a reason to end, reads once more, and prints the reason.
    ///
    /// If a read fails completely, no more reads follow, and the data of earlier reads is kept.
    pub(super) fn run(
        &self,
        recording: &mut Recording,
        mesh: &mut ChipMesh<AnyChip>,
        names: &mut Names,
    ) -> Result<(), Failure> {
        let mut read_count = 0_u64;
        let end = loop {
            let read_begun = Instant::now();
            if let Some(end) = self.end(recording) {
                break Ok(end);
            }
            recording.add_ops(names.refresh_in_time())?;
            if let Err(failure) = recording.read(mesh, names.zones(), false) {
                break Err(failure);
            }
            if read_count == 0 {
                print_earlier_losses(&recording.recorder.earlier_losses());
            }
            read_count = read_count.saturating_add(1);
            self.wait_until(read_begun + self.period);
        };
        recording.add_ops(names.refresh())?;
        let end = end.and_then(|end| {
            recording.read(mesh, names.zones(), true)?;
            read_count = read_count.saturating_add(1);
            Ok(end)
        });
        let reads = counted(read_count, "time", "times");
        let seconds = self.begun.elapsed().as_secs_f64();
        match end {
            Ok(end) => note!("kprof: read {reads} in {seconds:.1} s: {end}"),
            Err(failure) if read_count == 0 => return Err(failure),
            Err(failure) => note!(
                "kprof: read {reads} in {seconds:.1} s, then no more: {failure}; an unknown number of records \
                 after the last read is missing"
            ),
        }
        Ok(())
    }

    /// Returns the reason to end the reads now; `None` if there is none.
    fn end(&self, recording: &Recording) -> Option<String> {
        let record_count = recording.recorder.readout().record_count();
        let reason = if self.is_interrupted.load(Ordering::Relaxed) {
            "interrupted"
        } else if self.execution.as_ref().is_some_and(Execution::has_ended) {
            "the program has ended"
        } else if self.limit.is_some_and(|limit| self.begun.elapsed() >= limit) {
            "the time limit of --for was reached"
        } else if record_count >= RECORDS_MAX {
            return Some(format!(
                "the limit of {} records was reached",
                grouped(RECORDS_MAX as u64)
            ));
        } else {
            return None;
        };
        Some(reason.to_owned())
    }

    /// Waits until `time`, or until a signal arrives or the time limit is reached.
    fn wait_until(&self, time: Instant) {
        let limit = self.limit.map_or(time, |limit| self.begun + limit);
        let time = time.min(limit);
        while !self.is_interrupted.load(Ordering::Relaxed) {
            let rest = time.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return;
            }
            thread::sleep(rest.min(SIGNAL_INTERVAL));
        }
    }
}

/// Prints the numbers of records that the RISCs had lost before this process began to read.
fn print_earlier_losses(losses: &LossTotals) {
    let LossTotals { zones, data, events, unknown_markers, .. } = *losses;
    let records = zones.saturating_add(data).saturating_add(events);
    for (count, one, several) in [
        (records, "record had been lost", "records had been lost"),
        (unknown_markers, "cell had been skipped", "cells had been skipped"),
    ] {
        if count > 0 {
            note!(
                "kprof: {} before the first read, when the rings had another reader; the tables \
                 do not include {}",
                counted(count, one, several),
                if count == 1 { "it" } else { "them" },
            );
        }
    }
}

/// Maximum time between two checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// Number of records in memory (about 1 GB) at which the reads end.
const RECORDS_MAX: usize = 1 << 26;
