//! TT-Metal's synchronisation: the host writes its time, and a kernel adds a device timestamp.
//!
//! The kernel `SYNC-MAIN` runs on BRISC of one core. It reads the low word of the clock and then
//! the control word that the host writes. If the control word is not zero, the kernel stores both.
//! One-way stamps cannot distinguish the host's forward latency from an offset, so the clock of
//! [`super::synchronise`] is better. Use the one-way clock to compare with TT-Metal and to write
//! TT-Metal's file.
//!
//! # Compatibility
//! The method is that of `syncDeviceHost` in `tt_metal_profiler.cpp`, and of `sync_kernel.cpp`. The
//! host makes 249 writes to the low reset word, 10 ms apart. The kernel stores 250 pairs from the
//! first optional word of BRISC's vector on.

use super::ping::tile_of;
use reader::{
    clock::OneWaySession,
    mesh::{AccessError, CoreDescription, Device, Noc0Coord},
};
use wire::vector::{FIRST_OPTIONAL, OPTIONAL_MARKER_COUNT};

/// Options for taking stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWayOptions {
    /// Number of stamps for which the kernel waits; at most 249.
    pub stamp_count: usize,
    /// Host time before each write, in nanoseconds.
    pub spacing_ns: u64,
    /// Maximum number of additional writes, in case the kernel misses some writes.
    pub extra_writes: usize,
}

impl OneWayOptions {
    /// Maximum number of stamps in a vector.
    pub const MOST_STAMPS: usize = OPTIONAL_MARKER_COUNT - 1;
}

impl Default for OneWayOptions {
    /// Returns TT-Metal's schedule.
    fn default() -> Self {
        Self { stamp_count: Self::MOST_STAMPS, spacing_ns: 10_000_000, extra_writes: 25 }
    }
}

/// A session and the number of missed writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneWayResult {
    /// Stamps, in ticks of [`Device::host_time_ns`].
    pub session: OneWaySession,
    /// Number of writes that the kernel missed because the next write came before the kernel's next
    /// poll.
    pub missed_count: usize,
}

/// Reason why a session failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OneWayError {
    /// The core's coordinate is too large for samples.
    #[error("core {core} lies beyond row or column 255")]
    Place {
        /// The core.
        core: Noc0Coord,
    },
    /// The core could not be reached.
    #[error("cannot exchange times with core {core}: {source}")]
    Access {
        /// The core.
        core: Noc0Coord,
        /// Error of the back end.
        source: AccessError,
    },
    /// The kernel stored too few stamps.
    #[error(
        "expected {expected} stamps of core {core}, found {found}; does the kernel SYNC-MAIN run \
         there, and on BRISC?"
    )]
    NoAnswer {
        /// The core.
        core: Noc0Coord,
        /// Number of stamps requested.
        expected: usize,
        /// Number of stamps found.
        found: usize,
    },
    /// A stamp has a host time that was never written.
    #[error("stamp {index} of core {core} carries {host_ticks}, which the host never wrote")]
    ForeignStamp {
        /// The core.
        core: Noc0Coord,
        /// Index of the stamp.
        index: usize,
        /// Host time in the stamp.
        host_ticks: u32,
    },
}

/// Exchanges times with a core on which `SYNC-MAIN` has been launched, in the same way as TT-Metal.
///
/// First clears the space for stamps in BRISC's vector. The mesh must have been prepared
/// ([`reader::init_device_profiler`]): a core that cannot push counts its losses in the same space.
///
/// # Errors
/// If the core cannot be reached, does not store stamps, or stores a stamp with a time that was not
/// written.
///
/// # Cost
/// With the default options, takes two and a half seconds, like TT-Metal.
pub fn one_way_session(
    device: &mut dyn Device,
    core: &CoreDescription,
    options: &OneWayOptions,
) -> Result<OneWayResult, OneWayError> {
    let place = OneWayError::Place { core: core.noc0 };
    let tile = tile_of(device.description().chip_id, core.noc0).ok_or(place)?;
    let stamp_count = options.stamp_count.min(OneWayOptions::MOST_STAMPS);
    let mut talk = Talk { device, core, writes: Vec::new(), start_ns: 0 };
    talk.clear().and_then(|()| talk.write_times(stamp_count, options.spacing_ns))?;
    let mut words = talk.read_words()?;
    for _ in 0..options.extra_writes {
        if stamps_in(&words) >= stamp_count {
            break;
        }
        talk.write_times(1, options.spacing_ns)?;
        words = talk.read_words()?;
    }
    let found = stamps_in(&words);
    if found < stamp_count || stamp_count == 0 {
        return Err(OneWayError::NoAnswer { core: core.noc0, expected: stamp_count, found });
    }
    let durations = talk.durations_of(&words, stamp_count)?;
    let missed_count = talk.writes.len().saturating_sub(durations.len());
    let session = OneWaySession::from_words(tile, talk.start_ns, &words, &durations);
    let session = session.unwrap_or_else(|| unreachable!("the words hold at least one pair"));
    Ok(OneWayResult { session, missed_count })
}

const WORD_COUNT: usize = 2 * OPTIONAL_MARKER_COUNT;
/// Offset of the mailbox in the control vector. `STAMPS_BYTES` is the offset of the stamps in
/// BRISC's vector.
const MAILBOX_BYTES: u64 = (4 * wire::generation::CURRENT.control.fw_reset_low) as u64;
const STAMPS_BYTES: u64 = (4 * FIRST_OPTIONAL) as u64;

/// An exchange in progress.
struct Talk<'a> {
    device: &'a mut dyn Device,
    core: &'a CoreDescription,
    writes: Vec<TimeWrite>,
    start_ns: u64,
}

/// A time written by the host.
#[derive(Clone, Copy)]
struct TimeWrite {
    ticks: u32,
    duration_ticks: u32,
}

impl Talk<'_> {
    fn clear(&mut self) -> Result<(), OneWayError> {
        let stamps = self.stamps_address();
        self.write(self.mailbox_address(), &[0])?;
        self.write(stamps, &[0; WORD_COUNT])?;
        self.start_ns = self.device.host_time_ns();
        Ok(())
    }

    fn write_times(&mut self, count: usize, spacing_ns: u64) -> Result<(), OneWayError> {
        for _ in 0..count {
            self.device.wait_ns(spacing_ns);
            let before = self.device.host_time_ns();
            // The kernel treats zero as no message.
            let ticks = low_word(before.wrapping_sub(self.start_ns)).max(1);
            self.write(self.mailbox_address(), &[ticks])?;
            let duration = self.device.host_time_ns().saturating_sub(before);
            let duration_ticks = u32::try_from(duration).unwrap_or(u32::MAX);
            self.writes.push(TimeWrite { ticks, duration_ticks });
        }
        Ok(())
    }

    fn read_words(&mut self) -> Result<[u32; WORD_COUNT], OneWayError> {
        let mut words = [0; WORD_COUNT];
        let (core, address) = (self.core.noc0, self.stamps_address());
        let result = self.device.read_l1(core, address, &mut words);
        result.map_err(|source| OneWayError::Access { core, source })?;
        Ok(words)
    }

    /// Returns the duration of the write for each stamp. Writes without a stamp are omitted.
    fn durations_of(&self, words: &[u32], count: usize) -> Result<Vec<u32>, OneWayError> {
        let mut writes = self.writes.iter();
        let stamps = host_ticks_in(words).take(count).enumerate();
        stamps
            .map(|(index, host_ticks)| {
                let write = writes.find(|write| write.ticks == host_ticks);
                let foreign = OneWayError::ForeignStamp { core: self.core.noc0, index, host_ticks };
                write.map(|write| write.duration_ticks).ok_or(foreign)
            })
            .collect()
    }

    fn write(&mut self, address: u64, words: &[u32]) -> Result<(), OneWayError> {
        let core = self.core.noc0;
        let result = self.device.write_l1(core, address, words);
        result.map_err(|source| OneWayError::Access { core, source })
    }

    const fn mailbox_address(&self) -> u64 {
        self.core.control_address.saturating_add(MAILBOX_BYTES)
    }

    const fn stamps_address(&self) -> u64 {
        self.core.vector_address.saturating_add(STAMPS_BYTES)
    }
}

/// Counts the stamps before the first pair without a host time.
///
/// The first pair of all is not a stamp, but the full clock.
fn stamps_in(words: &[u32]) -> usize {
    host_ticks_in(words).take_while(|&host_ticks| host_ticks != 0).count()
}

/// Returns the host times of the stamps; 0 if there is no stamp.
fn host_ticks_in(words: &[u32]) -> impl Iterator<Item = u32> {
    let (pairs, _) = words.as_chunks::<2>();
    pairs.iter().skip(1).map(|&[_, host_ticks]| host_ticks)
}

#[expect(clippy::cast_possible_truncation, reason = "the mailbox holds the low word")]
const fn low_word(ticks: u64) -> u32 {
    ticks as u32
}
