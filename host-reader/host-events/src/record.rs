//! Events encoded as words: head, time, value (depends on the kind), colour and text.

use super::{HostColor, HostEventKind};

// Layout of a record's head word: kind in bits 0 to 2, flags in bits 3 to 5, depth of a zone in
// bits 16 to 31, and number of a static source location in bits 32 to 63.
const ZONE: u64 = 0;
const MESSAGE: u64 = 1;
const SIGNPOST: u64 = 2;
const FRAME_MARK: u64 = 3;
const PLOT: u64 = 4;
const KIND: u64 = 0x7;
const HAS_TEXT: u64 = 0x8;
const IS_MADE: u64 = 0x10;
const HAS_COLOR: u64 = 0x20;
const DEPTH_SHIFT: u32 = 16;
const SITE_SHIFT: u32 = 32;

/// Source location of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventSource {
    /// Number of a static source location.
    Site(u32),
    /// First unread entry in the list of source locations that were created at run time.
    Made,
}

/// One event, without its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) place: EventSource,
    pub(super) time_ns: u64,
    pub(super) kind: HostEventKind,
    pub(super) color: Option<HostColor>,
}

impl Record {
    /// Returns the number of words of the record, including its text.
    #[inline]
    pub(super) fn word_count(&self, text: Option<&str>) -> usize {
        let kind_word_count = usize::from(matches!(
            self.kind,
            HostEventKind::Zone { .. } | HostEventKind::Plot { .. }
        ));
        2 + kind_word_count
            + usize::from(self.color.is_some())
            + text.map_or(0, |text| 1 + text.len().div_ceil(8))
    }

    /// Returns the words before the text: head and time, then value and colour if present.
    #[inline]
    pub(super) fn head_words(&self, has_text: bool) -> ([u64; 2], [Option<u64>; 2]) {
        let (kind, word) = match self.kind {
            HostEventKind::Zone { end_ns, depth } => {
                (ZONE | u64::from(depth) << DEPTH_SHIFT, Some(end_ns))
            }
            HostEventKind::Message => (MESSAGE, None),
            HostEventKind::Signpost => (SIGNPOST, None),
            HostEventKind::FrameMark => (FRAME_MARK, None),
            HostEventKind::Plot { value } => (PLOT, Some(value.to_bits())),
        };
        let place = match self.place {
            EventSource::Site(number) => u64::from(number) << SITE_SHIFT,
            EventSource::Made => IS_MADE,
        };
        let color = self.color.map(|color| color.rgb().into());
        let flags = u64::from(has_text) * HAS_TEXT + u64::from(color.is_some()) * HAS_COLOR;
        ([kind | place | flags, self.time_ns], [word, color])
    }

    /// Removes the next record from `words` and returns it with its text. Returns `None` at the end
    /// of the words, or if the words are malformed.
    pub(super) fn take(words: &mut &[u64]) -> Option<(Self, Option<Box<str>>)> {
        let head = take_word(words)?;
        let time_ns = take_word(words)?;
        let kind = match head & KIND {
            ZONE => {
                let depth = u16::try_from(head >> DEPTH_SHIFT & 0xFFFF).ok()?;
                HostEventKind::Zone { end_ns: take_word(words)?, depth }
            }
            MESSAGE => HostEventKind::Message,
            SIGNPOST => HostEventKind::Signpost,
            FRAME_MARK => HostEventKind::FrameMark,
            _ => HostEventKind::Plot { value: f64::from_bits(take_word(words)?) },
        };
        let place = if head & IS_MADE == 0 {
            EventSource::Site(u32::try_from(head >> SITE_SHIFT).ok()?)
        } else {
            EventSource::Made
        };
        let color = if head & HAS_COLOR == 0 { None } else { Some(take_color(words)?) };
        let text = if head & HAS_TEXT == 0 { None } else { Some(take_text(words)?) };
        Some((Self { place, time_ns, kind, color }, text))
    }
}

/// Encodes a text as words: its length in bytes, then its bytes.
#[inline]
pub(super) fn text_words(text: &str) -> impl Iterator<Item = u64> {
    std::iter::once(text.len() as u64).chain(text.as_bytes().chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }))
}

fn take_word(words: &mut &[u64]) -> Option<u64> {
    let (&first, rest) = words.split_first()?;
    *words = rest;
    Some(first)
}

fn take_color(words: &mut &[u64]) -> Option<HostColor> {
    HostColor::from_rgb(u32::try_from(take_word(words)?).ok()?)
}

fn take_text(words: &mut &[u64]) -> Option<Box<str>> {
    let length = usize::try_from(take_word(words)?).ok()?;
    let (text, rest) = words.split_at_checked(length.div_ceil(8))?;
    *words = rest;
    let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_le_bytes()).take(length).collect();
    String::from_utf8(bytes).ok().map(String::into_boxed_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = HostEventKind> {
        prop_oneof![
            any::<(u64, u16)>().prop_map(|(end_ns, depth)| HostEventKind::Zone { end_ns, depth }),
            Just(HostEventKind::Message),
            Just(HostEventKind::Signpost),
            Just(HostEventKind::FrameMark),
            (-1e300..1e300).prop_map(|value| HostEventKind::Plot { value }),
        ]
    }

    proptest! {
        #[test]
        fn records_come_back_from_their_words(
            events in proptest::collection::vec(
                (proptest::option::of(any::<u32>()), any::<u64>(), kinds(),
                 proptest::option::of(".{0,40}"), proptest::option::of(0..=0xFF_FFFF_u32)), 0..20),
        ) {
            let mut words = Vec::new();
            let mut expected = Vec::new();
            for (site, time_ns, kind, text, rgb) in events {
                let place = site.map_or(EventSource::Made, EventSource::Site);
                let color = rgb.map(|rgb| HostColor::from_rgb(rgb).unwrap());
                let record = Record { place, time_ns, kind, color };
                let before = words.len();
                let (head, rest) = record.head_words(text.is_some());
                words.extend(head.into_iter().chain(rest.into_iter().flatten()));
                words.extend(text.iter().flat_map(|text| text_words(text)));
                prop_assert_eq!(words.len() - before, record.word_count(text.as_deref()));
                expected.push((record, text.map(String::into_boxed_str)));
            }
            let mut rest = words.as_slice();
            let found: Vec<_> = std::iter::from_fn(|| Record::take(&mut rest)).collect();
            prop_assert_eq!((found, rest.len()), (expected, 0));
        }
    }
}
