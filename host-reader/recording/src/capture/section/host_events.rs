//! Events of the host. The kind is reserved; captures that contain it stay readable.
//!
//! Kind 9, version 1.0: the bytes have no meaning yet.

use super::{Payload, SectionKind};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use std::borrow::Cow;

/// Uninterpreted events of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEvents<'file> {
    /// The captured bytes.
    pub bytes: Cow<'file, [u8]>,
}

impl<'file> Payload<'file> for HostEvents<'file> {
    const KIND: SectionKind = SectionKind::HOST_EVENTS;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        buffer.extend_from_slice(&self.bytes);
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        Ok(Self { bytes: Cow::Borrowed(payload) })
    }
}
