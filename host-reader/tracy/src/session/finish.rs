//! Converts a session to a recording, with the received names.

use super::Session;
use crate::{
    fields::text,
    recording::{FrameSeries, RecordingEnd, TracyCrash, TracyMessage, TracyPlot, TracyRecording},
    threads::PendingMessage,
};
use std::collections::HashMap;

/// Name of the client's plot of processor load.
const PROCESSOR_LOAD: &str = "CPU usage";
/// Name for the program's main frames, because the client sends no name for them.
const MAIN_FRAMES: &str = "Frame";

impl Session {
    /// Returns the recording of everything received so far.
    pub(crate) fn finish(self, end: RecordingEnd) -> TracyRecording {
        let mut damage = self.damage;
        let locations = self.locations.resolve(&self.texts, &mut damage.missing_texts);
        let callstacks = self.callstacks.resolve(&mut damage.missing_functions);
        let threads = self.threads.finish(&mut damage);
        let devices = self.devices.finish(&mut damage);
        let texts = self.texts;
        let mut missing = damage.missing_texts;
        let mut resolved = |text| {
            texts.resolve(text).unwrap_or_else(|| {
                missing = missing.saturating_add(1);
                text_of_missing()
            })
        };
        let messages = self.messages.into_iter().map(|message| {
            let PendingMessage { thread, time_ns, text, color, metadata, callstack } = message;
            TracyMessage { thread, time_ns, text: resolved(text), color, metadata, callstack }
        });
        let messages = messages.collect();
        let pools = self.pools.finish(&mut resolved);
        let crash = self.crash.map(|(thread, time_ns, message)| TracyCrash {
            thread,
            time_ns,
            message: resolved(message),
        });
        let mut name_of = |names: &HashMap<u64, Box<str>>, key: u64, main: &str| {
            let name =
                if key == 0 { Some(text(main.as_bytes())) } else { names.get(&key).cloned() };
            name.unwrap_or_else(|| {
                missing = missing.saturating_add(1);
                text_of_missing()
            })
        };
        let plots = self.plots.items.into_iter().map(|(key, plot)| TracyPlot {
            name: name_of(&self.plot_names, key, PROCESSOR_LOAD),
            ..plot
        });
        let plots = plots.chain(pools).collect();
        let frames = self.frames.items.into_iter().map(|(key, series)| FrameSeries {
            name: name_of(&self.frame_names, key, MAIN_FRAMES),
            ..series
        });
        let frames = frames.collect();
        damage.missing_texts = missing;
        let mut program = self.program;
        if let [known] = self.candidates.as_slice() {
            program.releases = known.protocol.releases;
        }
        TracyRecording {
            program,
            locations,
            threads,
            messages,
            plots,
            frames,
            devices,
            callstacks,
            facts: self.facts,
            crash,
            left_out: self.left_out,
            damage,
            end,
        }
    }
}

/// Returns the text that replaces a name that was not received.
fn text_of_missing() -> Box<str> {
    text(b"(name not sent)")
}
