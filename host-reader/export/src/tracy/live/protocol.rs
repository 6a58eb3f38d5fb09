//! The versions of the protocol, as data: what each item is numbered and how it is cut.
//!
//! # Compatibility
//! Tracy's `public/common/TracyProtocol.hpp` and `public/common/TracyQueue.hpp` at the
//! releases named in [`TracyProtocol::viewer`]; the same files of Tenstorrent's fork.

/// Number of each kind of item that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemCodes {
    pub(super) zone_text: u8,
    pub(super) zone_name: u8,
    pub(super) message_color: u8,
    pub(super) zone_begin_with_place: u8,
    pub(super) zone_end: u8,
    /// For ends less than 2^32 + 2^16 and 2^16 nanoseconds later, where there are any.
    pub(super) near_zone_ends: Option<[u8; 2]>,
    pub(super) gpu_zone_begin_with_place: u8,
    pub(super) gpu_zone_end: u8,
    pub(super) plot_double: u8,
    pub(super) gpu_time: u8,
    pub(super) gpu_context_name: u8,
    pub(super) terminate: u8,
    pub(super) thread_context: u8,
    pub(super) zone_validation: u8,
    pub(super) frame_mark: u8,
    pub(super) gpu_new_context: u8,
    pub(super) plot_config: u8,
    pub(super) query_done: u8,
    pub(super) source_code_missing: u8,
    pub(super) symbol_code_missing: u8,
    pub(super) single_string: u8,
    /// For texts below 256 bytes, where there is one.
    pub(super) short_string: Option<u8>,
    pub(super) string_data: u8,
    pub(super) thread_name: u8,
    pub(super) plot_name: u8,
    pub(super) place: u8,
    pub(super) frame_name: u8,
}

/// How wide the number of a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContextId {
    U8,
    U16,
}

impl ContextId {
    /// Number of contexts that it distinguishes.
    pub(super) const fn limit(self) -> usize {
        match self {
            Self::U8 => 1 << 8,
            Self::U16 => 1 << 16,
        }
    }
}

/// One version of the live protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracyProtocol {
    /// Which viewers speak it.
    pub viewer: &'static str,
    /// The number that the viewer gives when it connects.
    pub number: u32,
    /// True if it is the protocol of Tenstorrent's fork.
    pub is_fork: bool,
    pub(super) codes: ItemCodes,
    pub(super) context_id: ContextId,
    pub(super) context_type: u8,
    /// The welcome holds the cost of a zone.
    pub(super) welcome_has_delay: bool,
    /// Messages have a severity.
    pub(super) message_has_severity: bool,
}

/// Vulkan, whose contexts have a lane for each thread in every viewer.
const VULKAN: u8 = 2;

/// 0.11: the oldest numbering that is spoken.
const CODES_66: ItemCodes = ItemCodes {
    zone_text: 0,
    zone_name: 1,
    message_color: 3,
    zone_begin_with_place: 7,
    zone_end: 17,
    near_zone_ends: None,
    gpu_zone_begin_with_place: 40,
    gpu_zone_end: 42,
    plot_double: 45,
    gpu_time: 48,
    gpu_context_name: 49,
    terminate: 57,
    thread_context: 59,
    zone_validation: 64,
    frame_mark: 67,
    gpu_new_context: 79,
    plot_config: 90,
    query_done: 92,
    source_code_missing: 93,
    symbol_code_missing: 94,
    single_string: 96,
    short_string: None,
    string_data: 99,
    thread_name: 100,
    plot_name: 101,
    place: 102,
    frame_name: 105,
};

/// A hint on the group of a thread came before the strings.
const CODES_69: ItemCodes = ItemCodes {
    string_data: 100,
    thread_name: 101,
    plot_name: 102,
    place: 103,
    frame_name: 106,
    ..CODES_66
};

/// Two items on discarded memory came before those of contexts.
const CODES_72: ItemCodes = ItemCodes {
    gpu_zone_begin_with_place: 42,
    gpu_zone_end: 44,
    plot_double: 47,
    gpu_time: 50,
    gpu_context_name: 51,
    terminate: 59,
    thread_context: 61,
    zone_validation: 66,
    frame_mark: 69,
    gpu_new_context: 81,
    plot_config: 92,
    query_done: 94,
    source_code_missing: 95,
    symbol_code_missing: 96,
    single_string: 98,
    string_data: 102,
    thread_name: 103,
    plot_name: 104,
    place: 105,
    frame_name: 108,
    ..CODES_66
};

/// Names of annotations came behind those of contexts, annotations before the strings.
const CODES_76: ItemCodes = ItemCodes {
    terminate: 60,
    thread_context: 62,
    zone_validation: 67,
    frame_mark: 70,
    gpu_new_context: 82,
    plot_config: 93,
    query_done: 95,
    source_code_missing: 96,
    symbol_code_missing: 97,
    single_string: 99,
    string_data: 104,
    thread_name: 105,
    plot_name: 106,
    place: 107,
    frame_name: 110,
    ..CODES_72
};

/// Shorter forms of zones, samples and texts, and sections.
const CODES_82: ItemCodes = ItemCodes {
    zone_end: 25,
    near_zone_ends: Some([26, 27]),
    gpu_zone_begin_with_place: 52,
    gpu_zone_end: 54,
    plot_double: 57,
    gpu_time: 60,
    gpu_context_name: 61,
    terminate: 73,
    thread_context: 75,
    zone_validation: 80,
    frame_mark: 83,
    gpu_new_context: 95,
    plot_config: 106,
    query_done: 108,
    source_code_missing: 109,
    symbol_code_missing: 110,
    single_string: 112,
    short_string: Some(114),
    string_data: 119,
    thread_name: 120,
    plot_name: 121,
    place: 122,
    frame_name: 125,
    ..CODES_76
};

/// The fork before it took over 0.14: shorter forms of zones, markers and whole zones, but no
/// sections and no shorter texts.
const CODES_79: ItemCodes = ItemCodes {
    terminate: 72,
    thread_context: 74,
    zone_validation: 80,
    frame_mark: 83,
    gpu_new_context: 95,
    plot_config: 106,
    query_done: 108,
    source_code_missing: 109,
    symbol_code_missing: 110,
    single_string: 112,
    short_string: None,
    string_data: 117,
    thread_name: 118,
    plot_name: 119,
    place: 120,
    frame_name: 123,
    ..CODES_82
};

/// The fork's markers came behind the names of annotations, its whole zones behind the
/// synchronisation of contexts.
const CODES_83: ItemCodes = ItemCodes {
    terminate: 75,
    thread_context: 77,
    zone_validation: 83,
    frame_mark: 86,
    gpu_new_context: 98,
    plot_config: 109,
    query_done: 111,
    source_code_missing: 112,
    symbol_code_missing: 113,
    single_string: 115,
    short_string: Some(117),
    string_data: 122,
    thread_name: 123,
    plot_name: 124,
    place: 125,
    frame_name: 128,
    ..CODES_82
};

/// 0.11.0.
const PROTOCOL_66: TracyProtocol = TracyProtocol {
    viewer: "Tracy 0.11.0",
    number: 66,
    is_fork: false,
    codes: CODES_66,
    context_id: ContextId::U8,
    context_type: VULKAN,
    welcome_has_delay: true,
    message_has_severity: false,
};

/// 0.13.
const PROTOCOL_76: TracyProtocol = TracyProtocol {
    viewer: "Tracy 0.13",
    number: 76,
    codes: CODES_76,
    welcome_has_delay: false,
    ..PROTOCOL_66
};

/// 0.14.
const PROTOCOL_82: TracyProtocol = TracyProtocol {
    viewer: "Tracy 0.14",
    number: 82,
    codes: CODES_82,
    message_has_severity: true,
    ..PROTOCOL_76
};

/// Every version that is spoken.
const PROTOCOLS: [TracyProtocol; 11] = [
    PROTOCOL_66,
    TracyProtocol { viewer: "Tracy 0.11.1", number: 69, codes: CODES_69, ..PROTOCOL_66 },
    TracyProtocol {
        viewer: "Tracy of late 2024, and IREE's capture tool",
        number: 72,
        codes: CODES_72,
        ..PROTOCOL_66
    },
    TracyProtocol { viewer: "Tracy of spring 2025", number: 73, codes: CODES_72, ..PROTOCOL_66 },
    TracyProtocol { viewer: "Tracy 0.12", number: 74, codes: CODES_72, ..PROTOCOL_66 },
    PROTOCOL_76,
    PROTOCOL_82,
    TracyProtocol {
        viewer: "Tenstorrent's fork until August 2025",
        is_fork: true,
        context_id: ContextId::U16,
        context_type: 6,
        ..PROTOCOL_66
    },
    TracyProtocol {
        viewer: "Tenstorrent's fork on Tracy 0.12.4",
        is_fork: true,
        context_id: ContextId::U16,
        context_type: 10,
        ..PROTOCOL_76
    },
    TracyProtocol {
        viewer: "Tenstorrent's fork of early 2026",
        number: 79,
        is_fork: true,
        codes: CODES_79,
        context_id: ContextId::U16,
        context_type: 10,
        ..PROTOCOL_82
    },
    TracyProtocol {
        viewer: "Tenstorrent's fork on Tracy 0.14",
        number: 83,
        is_fork: true,
        codes: CODES_83,
        context_id: ContextId::U16,
        context_type: 11,
        ..PROTOCOL_82
    },
];

/// Expected viewers, for protocol numbers that two viewers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Viewers {
    /// Viewers of Tracy itself.
    #[default]
    Stock,
    /// Viewers of Tenstorrent's fork.
    Fork,
}

impl TracyProtocol {
    /// Every version that is spoken, Tracy's own first.
    ///
    /// ```
    /// use export::tracy::TracyProtocol;
    /// let numbers: Vec<u32> = TracyProtocol::all().iter().map(|known| known.number).collect();
    /// assert!([66, 69, 74, 76, 82].iter().all(|number| numbers.contains(number)));
    /// ```
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &PROTOCOLS
    }

    /// The version with this number. Where Tracy and the fork gave the same number to
    /// different things, `viewers` decides.
    #[must_use]
    pub fn with_number(number: u32, viewers: Viewers) -> Option<&'static Self> {
        let of_number = || PROTOCOLS.iter().filter(|known| known.number == number);
        let wants_fork = viewers == Viewers::Fork;
        of_number().find(|known| known.is_fork == wants_fork).or_else(|| of_number().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(protocol: &TracyProtocol) -> Vec<u8> {
        let ItemCodes {
            zone_text,
            zone_name,
            message_color,
            zone_begin_with_place,
            zone_end,
            near_zone_ends,
            gpu_zone_begin_with_place,
            gpu_zone_end,
            plot_double,
            gpu_time,
            gpu_context_name,
            terminate,
            thread_context,
            zone_validation,
            frame_mark,
            gpu_new_context,
            plot_config,
            query_done,
            source_code_missing,
            symbol_code_missing,
            single_string,
            short_string,
            string_data,
            thread_name,
            plot_name,
            place,
            frame_name,
        } = protocol.codes;
        let mut codes = vec![zone_text, zone_name, message_color, zone_begin_with_place, zone_end];
        codes.extend(near_zone_ends.into_iter().flatten());
        codes.extend([gpu_zone_begin_with_place, gpu_zone_end, plot_double, gpu_time]);
        codes.extend([gpu_context_name, terminate, thread_context, zone_validation]);
        codes.extend([frame_mark, gpu_new_context, plot_config, query_done, source_code_missing]);
        codes.extend([symbol_code_missing, single_string]);
        codes.extend(short_string);
        codes.extend([string_data, thread_name, plot_name, place, frame_name]);
        codes
    }

    #[test]
    fn items_keep_their_order_from_version_to_version() {
        for protocol in TracyProtocol::all() {
            let codes = codes(protocol);
            assert!(codes.is_sorted_by(|one, next| one < next), "{}: {codes:?}", protocol.viewer);
        }
    }

    #[test]
    fn a_number_that_two_programs_use_is_decided_by_whose_viewers_are_expected() {
        let found = |number, viewers| TracyProtocol::with_number(number, viewers).unwrap();
        assert_eq!(found(66, Viewers::Stock).context_id, ContextId::U8);
        assert_eq!(found(66, Viewers::Fork).context_id, ContextId::U16);
        assert_eq!(found(82, Viewers::Fork).viewer, "Tracy 0.14");
        assert_eq!(found(83, Viewers::Stock).context_type, 11);
        assert_eq!(TracyProtocol::with_number(65, Viewers::Stock), None);
    }
}
