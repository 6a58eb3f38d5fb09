//! Choice of hardware counters.

use host_reader::counters::CounterGroup;

/// Groups of hardware counters to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CounterChoice {
    /// All groups that can be read.
    All,
    /// Selected groups, as the bit mask of TT-Metal's variable `TT_METAL_PROFILE_PERF_COUNTERS`.
    Groups(u32),
}

impl CounterChoice {
    /// Returns the bit mask of the groups. `all` are the groups that can be read.
    pub(crate) fn mask(self, all: &[CounterGroup]) -> u32 {
        match self {
            Self::All => all.iter().fold(0, |mask, group| mask | group.bit()),
            Self::Groups(groups) => groups,
        }
    }
}

/// First bit of the event of a Quasar's L1 clients in TT-Metal's mask. The event is the number of the
/// subport times 8, plus the number of its event.
const L1_CLIENT_SHIFT: u32 = 16;
/// Largest number of such an event.
const L1_CLIENT_EVENT_MAX: u32 = 511;

/// Parses the name of a counter group, `all`, or a bit mask in decimal.
pub(crate) fn parse_choice(text: &str) -> Result<CounterChoice, String> {
    if text == "all" {
        return Ok(CounterChoice::All);
    }
    if let Ok(mask) = text.parse::<u32>() {
        return Ok(CounterChoice::Groups(mask));
    }
    if let Some(event) = text.strip_prefix("l1_client=") {
        let event =
            event.parse::<u32>().ok().filter(|event| (1..=L1_CLIENT_EVENT_MAX).contains(event));
        let event = event.ok_or("expected l1_client= with the number of an event, 1 to 511")?;
        return Ok(CounterChoice::Groups(event << L1_CLIENT_SHIFT));
    }
    let group: Result<CounterGroup, _> = text.parse();
    group.map(|group| CounterChoice::Groups(group.bit())).map_err(|_| {
        "expected all, fpu, pack, unpack, instrn, l1_0 to l1_5, l1_client=N, or a mask of their bits"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_names_or_a_mask() {
        assert_eq!(parse_choice("all"), Ok(CounterChoice::All));
        // In TT_METAL_PROFILE_PERF_COUNTERS, the mask 47 selects fpu, pack, unpack, l1_0 and
        // instrn.
        assert_eq!(parse_choice("47"), Ok(CounterChoice::Groups(47)));
        for (name, bit) in [("fpu", 0), ("l1_1", 4), ("instrn", 5), ("l1_2", 6), ("l1_5", 9)] {
            assert_eq!(parse_choice(name), Ok(CounterChoice::Groups(1 << bit)));
        }
        let mask = |name| parse_choice(name).unwrap().mask(&CounterGroup::one_run());
        assert_eq!(["fpu", "instrn", "l1_5", "l1", "all"].map(mask), [1, 32, 512, 8, 47]);
        assert_eq!(mask("l1_client=9"), 9 << 16);
        for name in ["l1_6", "FPU", "-1", "", "l1_client=", "l1_client=0", "l1_client=512"] {
            assert!(parse_choice(name).is_err(), "{name}");
        }
    }
}
