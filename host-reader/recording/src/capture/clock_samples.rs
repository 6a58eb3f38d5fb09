//! Clock samples of a capture. Every single sample is stored and returned.
//!
//! [`crate::capture::sync`] fits clocks to the samples. The samples stay in the capture, so the fit
//! can be repeated.

use super::{
    Capture,
    error::CaptureError,
    section::{ClockSamples, Content},
    writer::CaptureWriter,
};
use crate::capture::sync::MeshSamples;

impl CaptureWriter {
    /// Appends all measurements of a mesh's clocks.
    ///
    /// # Errors
    /// The errors of [`CaptureWriter::append`].
    pub fn append_clock_samples(&mut self, samples: &MeshSamples) -> Result<(), CaptureError> {
        let tiles = samples.bursts().map(ClockSamples::TwoWay);
        let mut all = tiles.chain(samples.link_bursts().map(ClockSamples::Ethernet));
        all.try_for_each(|samples| self.append(&samples))
    }
}

impl Capture {
    /// Returns all measurements of the mesh's clocks, except for [`ClockSamples::OneWay`].
    #[must_use]
    pub fn clock_samples(&self) -> MeshSamples {
        let mut samples = MeshSamples::default();
        for section in self.sections() {
            match section.content() {
                Ok(Content::Clock(ClockSamples::TwoWay(burst))) => samples.add_burst(burst),
                Ok(Content::Clock(ClockSamples::Ethernet(burst))) => samples.add_link_burst(burst),
                _ => {}
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::sync::LinkBurst;
    use reader::clock::{EthernetPing, PingBurst, Tile, TwoWayPing};

    #[test]
    fn what_was_measured_comes_back_for_another_fit() {
        let ping = TwoWayPing { host_send_ns: -1, device_cycles: 7, host_receive_ns: 800 };
        let message = EthernetPing {
            sender_start_cycles: 1,
            receiver_start_cycles: 2,
            receiver_end_cycles: 3,
            sender_end_cycles: 4,
        };
        let [sender, receiver] = [0, 1].map(|chip| Tile::new(chip, 1, 2));
        let mut samples = MeshSamples::default();
        samples.add_burst(PingBurst { tile: sender, pings: vec![ping; 3] });
        samples.add_burst(PingBurst { tile: receiver, pings: vec![ping] });
        samples.add_link_burst(LinkBurst { sender, receiver, pings: vec![message; 2] });

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.kprof");
        let mut writer = CaptureWriter::create(&path).unwrap();
        writer.append_clock_samples(&samples).unwrap();
        let capture = Capture::open(&path).unwrap();
        assert_eq!(capture.clock_samples(), samples);
    }
}
