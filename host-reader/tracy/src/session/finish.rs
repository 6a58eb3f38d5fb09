//! Converts a session to a recording, with the received names.

use super::Session;
use crate::recording::{
    FrameSeries, RecordingEnd, TracyCrash, TracyMessage, TracyPlot, TracyRecording,
};

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
                "(name not sent)".into()
            })
        };
        let messages = self.messages.into_iter();
        let messages =
            messages.map(|(text, message)| TracyMessage { text: resolved(text), ..message });
        let messages = messages.collect();
        let pools = self.pools.finish(&mut resolved);
        let crash = self.crash.map(|(thread, time_ns, message)| TracyCrash {
            thread,
            time_ns,
            message: resolved(message),
        });
        let plots = self.plots.items.into_iter();
        let plots = plots.map(|(name, plot)| TracyPlot { name: resolved(name), ..plot });
        let plots = plots.chain(pools).collect();
        let frames = self.frames.items.into_iter();
        let frames = frames.map(|(name, series)| FrameSeries { name: resolved(name), ..series });
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
