//! Items of a frame.

use crate::{
    fields::Fields,
    protocol::{Form, ItemKind, TracyProtocol},
};

/// One item of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'frame> {
    pub(crate) kind: ItemKind,
    /// Key of an answer or a payload; 0 for all other items.
    pub(crate) key: u64,
    /// Fields of the item, or bytes of a text.
    pub(crate) fields: Fields<'frame>,
}

/// Reason why an item cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadItem {
    /// The version has no item with this code.
    #[error("an item of unknown code {0}")]
    Code(u8),
    /// The frame ends in the middle of the item.
    #[error("an item {0:?} that the frame cuts")]
    Cut(ItemKind),
}

/// Reads the next item of a frame.
///
/// # Errors
/// If the code is unknown, or the frame ends too early.
pub(crate) fn take_item<'frame>(rest: &mut Fields<'frame>) -> Result<Item<'frame>, BadItem> {
    let code = rest.u8().unwrap_or(u8::MAX);
    let kind = rest.protocol.kind(code).ok_or(BadItem::Code(code))?;
    take_fields(kind, rest).ok_or(BadItem::Cut(kind))
}

fn take_fields<'frame>(kind: ItemKind, rest: &mut Fields<'frame>) -> Option<Item<'frame>> {
    /// Minimum length, in bytes, of a text with a 16-bit length, if the version has separate items
    /// for shorter texts.
    const LONG_TEXT_BYTES: usize = 256;
    let protocol = rest.protocol;
    let mut key = 0;
    let count = match protocol.form(kind) {
        Form::Fixed(bytes) => bytes,
        Form::Text8 => rest.u8()?.into(),
        Form::Text16 => {
            let left_out = if protocol.has_short_texts() { LONG_TEXT_BYTES } else { 0 };
            usize::from(rest.u16()?).checked_add(left_out)?
        }
        Form::KeyedText16 => {
            key = rest.u64()?;
            rest.u16()?.into()
        }
        Form::KeyedText32 => {
            key = rest.u64()?;
            usize::try_from(rest.u32()?).ok()?
        }
    };
    Some(Item { kind, key, fields: Fields::new(protocol, rest.bytes(count)?) })
}

/// A protocol version that is checked against the received frames.
///
/// A wrong version may also decode a frame without an error. For example, the second byte of a
/// context number in the fork is 0, which Tracy's version reads as an item [`ItemKind::ZoneText`].
/// This misreading is detected, because no text precedes such an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) protocol: &'static TracyProtocol,
    /// True if a text was received, but not yet the item that it belongs to. The item may be in the
    /// next frame.
    has_text: bool,
}

impl Candidate {
    pub(crate) const fn new(protocol: &'static TracyProtocol) -> Self {
        Self { protocol, has_text: false }
    }

    /// Returns true if the version can decode the whole frame.
    pub(crate) fn explains(&mut self, frame: &[u8]) -> bool {
        let mut rest = Fields::new(self.protocol, frame);
        while !rest.is_empty() {
            match take_item(&mut rest) {
                Ok(item) if self.follows(item.kind) => {}
                _ => return false,
            }
        }
        true
    }

    /// Returns true if an item of this kind may follow the previous items.
    fn follows(&mut self, kind: ItemKind) -> bool {
        match kind {
            ItemKind::SingleStringData | ItemKind::SingleStringData8 => {
                self.has_text = true;
                true
            }
            ItemKind::ZoneText
            | ItemKind::ZoneName
            | ItemKind::GpuContextName
            | ItemKind::MessageAppInfo
            | ItemKind::Message
            | ItemKind::MessageColor
            | ItemKind::MessageCallstack
            | ItemKind::MessageColorCallstack => std::mem::take(&mut self.has_text),
            _ => true,
        }
    }
}
