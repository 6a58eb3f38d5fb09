//! Sections: the kinds of payload, with their encoding and decoding.
//!
//! There is one file for each kind. The documentation of the file begins with the byte layout. All
//! numbers are little-endian. Texts are UTF-8 without a terminator. Texts that are followed by
//! other data are padded together with zeros to a multiple of eight bytes. "RISC, in report order"
//! is an index into [`Risc::ALL`](wire::Risc::ALL). A newer minor version may add fields after the
//! known fields of a payload. It may also add fields after the known fields of a record if the
//! payload states the record's size. Readers skip such fields.

mod capture_end;
mod clock;
mod device;
mod failed_access;
mod fields;
mod host_clock;
mod host_events;
mod host_recording;
mod ledger;
mod memory;
mod ops;
mod probe_cost;
mod read_begin;
mod read_end;
mod recorded_options;
mod simulated_time;
mod zones;

pub use ::host_events::OpMetadata;
pub use capture_end::CaptureEnd;
pub use clock::ClockSamples;
pub use failed_access::FailedAccess;
pub use host_events::HostEvents;
pub use memory::{MemoryWords, WordsContent};
pub use read_begin::ReadBegin;
pub use read_end::ReadEnd;

use super::{
    error::CaptureError,
    frame::SectionVersion,
    host_clock::HostClock,
    kind::SectionKind,
    problem::{MalformedPayload, ProblemKind},
};
use ::host_events::HostRecording;
use reader::{
    ledger::LossLedger, mesh::DeviceDescription, names::ZoneTable, probe_cost::ProbeCosts,
    recorded_options::RecordedOptions, simulated_time::SimulatedTime,
};

/// Data that is captured as one section.
///
/// [`CaptureWriter::append`](super::CaptureWriter::append) accepts every type that implements this
/// trait. Other crates cannot implement this trait.
pub trait Payload<'file>: Sized + sealed::Sealed<'file> {
    /// Kind of the section.
    const KIND: SectionKind;
    /// Version that this library writes.
    const VERSION: SectionVersion = SectionVersion { major: 1, minor: 0 };

    /// Appends the payload to a buffer. The length of the buffer must be a multiple of eight bytes.
    ///
    /// # Errors
    /// If a count or a text does not fit its field.
    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError>;

    /// Decodes a payload with the same major version as [`Self::VERSION`].
    ///
    /// # Errors
    /// If a field has an impossible value.
    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload>;
}

mod sealed {
    /// Prevents other crates from defining kinds with conflicting numbers.
    pub trait Sealed<'file> {}
}

/// Defines all kinds of sections that this library knows: for each kind, its number, its label and
/// the type of its decoded payload.
///
/// Only these types can be payloads.
macro_rules! sections {
    ($(
        $(#[$doc:meta])*
        $kind:ident = $number:literal, $label:literal: $content:ident($payload:ty);
    )*) => {
        impl SectionKind {
            $($(#[$doc])* pub const $kind: Self = Self($number);)*

            /// All kinds known to this library.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$kind),*];

            /// Returns a short label for tables; `None` for unknown kinds.
            #[must_use]
            pub const fn label(self) -> Option<&'static str> {
                match self {
                    $(Self::$kind => Some($label),)*
                    _ => None,
                }
            }
        }

        /// Decoded payload of a section.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Content<'file> {
            $($(#[$doc])* $content($payload),)*
            /// A kind that this library does not know.
            Unknown(&'file [u8]),
        }

        impl<'file> Content<'file> {
            /// Decodes the payload of a section.
            pub(super) fn decode(
                kind: SectionKind,
                version: SectionVersion,
                payload: &'file [u8],
            ) -> Result<Self, ProblemKind> {
                match kind {
                    $(SectionKind::$kind => read(version, payload, Self::$content),)*
                    _ => Ok(Self::Unknown(payload)),
                }
            }
        }

        $(impl<'file> sealed::Sealed<'file> for $payload {})*
    };
}

sections! {
    /// A chip.
    DEVICE = 1, "device": Device(DeviceDescription);
    /// The beginning of a read.
    READ_BEGIN = 2, "read begin": ReadBegin(ReadBegin);
    /// Words read from a chip.
    MEMORY = 3, "memory words": Memory(MemoryWords<'file>);
    /// A failed access to a chip.
    FAILED_ACCESS = 4, "failed access": FailedAccess(FailedAccess);
    /// The end of a read.
    READ_END = 5, "read end": ReadEnd(ReadEnd);
    /// Names of zones.
    ZONE_NAMES = 6, "zone names": ZoneNames(ZoneTable);
    /// Raw measurements for a clock fit.
    CLOCK = 7, "clock samples": Clock(ClockSamples);
    /// Metadata of ops.
    OP_METADATA = 8, "op metadata": OpMetadata(Vec<OpMetadata>);
    /// Uninterpreted events of the host; reserved.
    HOST_EVENTS = 9, "host events": HostEvents(HostEvents<'file>);
    /// Losses in data that was recorded without raw words.
    LEDGER = 10, "loss ledger": Ledger(LossLedger);
    /// Costs of probes.
    PROBE_COST = 11, "probe cost": ProbeCosts(ProbeCosts);
    /// Events of the host's threads.
    HOST_RECORDING = 12, "host recording": HostRecording(HostRecording);
    /// The end mark of a recording.
    CAPTURE_END = 13, "end mark": CaptureEnd(CaptureEnd);
    /// The host's clock and the time of day.
    HOST_CLOCK = 14, "host clock": HostClock(HostClock);
    /// Statement that times are simulated.
    SIMULATED_TIME = 15, "simulated time": SimulatedTime(SimulatedTime);
    /// Options of the profiler with which a recording was made.
    RECORDED_OPTIONS = 16, "options": RecordedOptions(RecordedOptions);
}

fn read<'file, P: Payload<'file>>(
    found: SectionVersion,
    payload: &'file [u8],
    content: impl FnOnce(P) -> Content<'file>,
) -> Result<Content<'file>, ProblemKind> {
    if found.major != P::VERSION.major {
        return Err(ProblemKind::UnknownSectionVersion { found, known: P::VERSION });
    }
    P::decode(payload).map(content).map_err(ProblemKind::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_distinct_numbers_and_labels() {
        let numbers: std::collections::BTreeSet<_> = SectionKind::ALL.into_iter().collect();
        let labels: std::collections::BTreeSet<_> =
            SectionKind::ALL.into_iter().map(|kind| kind.label().unwrap()).collect();
        assert_eq!((numbers.len(), labels.len()), (SectionKind::ALL.len(), SectionKind::ALL.len()));
        assert_eq!(SectionKind(999).to_string(), "kind 999");
    }

    #[test]
    fn a_newer_major_version_is_refused_and_a_newer_minor_one_read() {
        let mut payload = Vec::new();
        ReadEnd::default().encode(&mut payload).unwrap();
        payload.extend_from_slice(&[1; 24]);
        let newer_minor = SectionVersion { major: 1, minor: 9 };
        let content = Content::decode(SectionKind::READ_END, newer_minor, &payload);
        assert_eq!(content, Ok(Content::ReadEnd(ReadEnd::default())));
        let newer_major = SectionVersion { major: 2, minor: 0 };
        let content = Content::decode(SectionKind::READ_END, newer_major, &payload);
        let known = ReadEnd::VERSION;
        assert_eq!(content, Err(ProblemKind::UnknownSectionVersion { found: newer_major, known }));
    }
}
