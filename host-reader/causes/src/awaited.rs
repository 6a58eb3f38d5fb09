//! Zones around waits at circular buffers, which are known by their names.

/// What a RISC waits for at a circular buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Data in the buffer.
    Data,
    /// Room in the buffer.
    Room,
}

impl Awaited {
    /// Returns what a RISC waits for in a zone of this name; `None` if the name is not that of a wait
    /// at a circular buffer.
    ///
    /// # Compatibility
    /// `CB-COMPUTE-WAIT-FRONT` and `CB-COMPUTE-RESERVE-BACK` of TT-Metal's compute API, and names that
    /// authors derive from its functions `cb_wait_front` and `cb_reserve_back`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase().replace('_', "-");
        let is = |words: [&str; 3]| words.iter().any(|of| name.contains(of));
        if is(["WAIT-FRONT", "WAITFRONT", "CB-WAIT"]) {
            Some(Self::Data)
        } else if is(["RESERVE-BACK", "RESERVEBACK", "CB-RESERVE"]) {
            Some(Self::Room)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Awaited;

    #[test]
    fn names_of_waits_at_buffers_say_what_is_awaited() {
        for (name, awaited) in [
            ("CB-COMPUTE-WAIT-FRONT", Some(Awaited::Data)),
            ("CB-COMPUTE-RESERVE-BACK", Some(Awaited::Room)),
            ("cb_wait_front in0", Some(Awaited::Data)),
            ("cb_reserve_back", Some(Awaited::Room)),
            ("WAIT-FRONT", Some(Awaited::Data)),
            ("CB-RESERVE", Some(Awaited::Room)),
            ("WAIT-BARRIER", None),
            ("MATMUL-FRONT", None),
        ] {
            assert_eq!(Awaited::from_name(name), awaited, "{name}");
        }
    }
}
