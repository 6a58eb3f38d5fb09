//! Where the RISCs of a core stand when a launch does not end.
//!
//! A RISC that reaches the launch's cycle limit is looked at twice: [`LOOK_CYCLES`] before the limit,
//! and at the limit. In between, each of its instructions is followed. This changes no time and no
//! result. On a chip that a host drives, [`Board::unfinished`](crate::board::Board::unfinished) looks
//! in the same way at the launches that are open.
//!
//! A process that simulates such a chip tells others as JSON where the RISCs stand: see [`to_json`].

use crate::{
    arch::TileCoord,
    lines::{Awaited, LoadedCode},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use wire::Risc;

/// Number of cycles before the cycle limit from which on the instructions of a RISC are followed.
pub const LOOK_CYCLES: u64 = 4096;

/// A launch that did not end on a core.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnfinishedLaunch {
    /// Number of the chip.
    pub chip_id: u32,
    /// The core.
    #[serde(with = "coordinates")]
    pub core: TileCoord,
    /// Number of the launch on its chip; on a chip that a host drives, number of the launch of the
    /// program on its core.
    pub launch_index: u64,
    /// The program's id.
    pub program_id: u32,
    /// Name of the program; empty if only the host knows it.
    pub program: String,
    /// The RISCs that have a kernel in the launch, and the first RISC, whose firmware waits for them.
    pub riscs: Vec<StandingRisc>,
}

/// A RISC at the last cycle of a launch that did not end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StandingRisc {
    /// The RISC.
    #[serde(with = "label")]
    pub risc: Risc,
    /// Cycle of the chip at which the RISC executed its last instruction.
    pub chip_cycle: u64,
    /// Address of the next instruction.
    pub pc: u32,
    /// Address of the next instruction at the first look; `None` if there was none.
    pub earlier_pc: Option<u32>,
    /// Reason why the RISC does not go on.
    pub state: Standing,
    /// Code that contains `pc`; `None` if that is unknown.
    pub code: Option<StandingCode>,
    /// Addresses of the instructions that were executed between the looks.
    pub executed: BTreeSet<u32>,
    /// Words that the RISC polls, in the order in which it polled them first.
    pub polls: Vec<PolledWord>,
    /// Addresses to which its kernel has code that stores something other than 0, of those that are
    /// constants in the code.
    pub signals: BTreeSet<u32>,
}

/// Code in which a RISC stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StandingCode {
    /// Code whose file is known.
    #[serde(skip)]
    Loaded(LoadedCode),
    /// A kernel of a host that drives the chip.
    Kernel {
        /// The host's number of the kernel; `None` if its launch messages have none.
        number: Option<u32>,
        /// Address from which the first instruction is executed.
        first: u32,
        /// The kernel's first instructions as they are in L1, by which its file can be found.
        words: Vec<u32>,
    },
    /// The host's firmware.
    Firmware,
}

impl StandingCode {
    /// Returns true for firmware.
    #[must_use]
    pub const fn is_firmware(&self) -> bool {
        match self {
            Self::Loaded(code) => code.is_firmware,
            Self::Kernel { .. } => false,
            Self::Firmware => true,
        }
    }
}

/// What a RISC does in a launch that did not end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// Its kernel has ended.
    Ended,
    /// Its firmware waits for another RISC: after its kernel, for the end of that RISC's kernel, or
    /// before its kernel, for the signal to begin.
    WaitsFor(#[serde(with = "label")] Risc),
    /// It was stopped, for this reason.
    Stopped(String),
    /// It had not ended: at the cycle limit, or with no event left that can wake it.
    Unended {
        /// The failure; `None` if nothing but the caller's look has ended the launch.
        failure: Option<String>,
    },
    /// It polls, and no event is left that can end this.
    Polls,
}

/// A word that a RISC polls: the same instruction loads it again and again, nothing is stored in
/// between, and the RISC's registers are the same in each round or it reads the clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolledWord {
    /// What the word means, as [`Awaited`] is displayed.
    pub object: String,
    /// Address of the word.
    pub address: u32,
    /// Address of the instruction that loads the word; `None` if it was not seen.
    pub load_pc: Option<u32>,
    /// Value of the word; `None` if it cannot be read.
    pub value: Option<u32>,
    /// RISCs of this core that have signalled by a store to the word in this launch; `None` if stores
    /// to this word are not followed. A store of 0 sets a counter back, and is no signal.
    #[serde(with = "labels")]
    pub stored_by: Option<Vec<Risc>>,
}

/// Removes the clock from polled words if anything else is polled: it is a time limit.
pub(crate) fn without_time_limit(mut words: Vec<(Awaited, PolledWord)>) -> Vec<PolledWord> {
    if words.iter().any(|(awaited, _)| *awaited != Awaited::Clock) {
        words.retain(|(awaited, _)| *awaited != Awaited::Clock);
    }
    words.into_iter().map(|(_, word)| word).collect()
}

/// Writes launches of a chip that a host drives as JSON.
///
/// ```
/// assert_eq!(sim::unfinished::to_json(&[]), "[]");
/// assert!(sim::unfinished::from_json("[]")?.is_empty());
/// assert!(sim::unfinished::from_json("[{}]").is_err());
/// # Ok::<(), String>(())
/// ```
#[must_use]
pub fn to_json(launches: &[UnfinishedLaunch]) -> String {
    // Only code whose file is in memory has no JSON; a host's kernels are no such code.
    serde_json::to_string(launches).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Reads what [`to_json`] has written.
///
/// # Errors
/// One sentence if the text is nothing of the kind.
pub fn from_json(text: &str) -> Result<Vec<UnfinishedLaunch>, String> {
    serde_json::from_str(text).map_err(|error| {
        format!("expected where RISCs stand, by the same version of kprof: {error}")
    })
}

/// A tile as its two coordinates.
mod coordinates {
    use crate::arch::TileCoord;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(tile: &TileCoord, to: S) -> Result<S::Ok, S::Error> {
        (tile.x, tile.y).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<TileCoord, D::Error> {
        <(u16, u16)>::deserialize(from).map(|(x, y)| TileCoord { x, y })
    }
}

/// A RISC as its label.
mod label {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use wire::Risc;

    pub(super) fn serialize<S: Serializer>(risc: &Risc, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(risc.label())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Risc, D::Error> {
        named(&String::deserialize(from)?)
    }

    pub(super) fn named<E: Error>(label: &str) -> Result<Risc, E> {
        let risc = Risc::ALL.into_iter().find(|risc| risc.label() == label);
        risc.ok_or_else(|| E::custom(format!("there is no RISC {label}")))
    }
}

/// RISCs as their labels.
mod labels {
    use super::label::named;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use wire::Risc;

    pub(super) fn serialize<S: Serializer>(
        riscs: &Option<Vec<Risc>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let labels = riscs.as_ref().map(|riscs| riscs.iter().map(|risc| risc.label()));
        labels.map(Iterator::collect::<Vec<_>>).serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Option<Vec<Risc>>, D::Error> {
        let labels = Option::<Vec<String>>::deserialize(from)?;
        labels.map(|labels| labels.iter().map(|label| named(label)).collect()).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_read_as_they_were_written() {
        let polled = PolledWord {
            object: "CB_WAIT 3".to_owned(),
            address: 0xFFB4_3010,
            load_pc: Some(0x5280),
            value: Some(1),
            stored_by: Some(vec![Risc::Ncrisc, Risc::Trisc2]),
        };
        let risc = |risc, state, code, polls| StandingRisc {
            risc,
            chip_cycle: 1 << 40,
            pc: 0x5284,
            earlier_pc: Some(0x5280),
            state,
            code,
            executed: [0x5280, 0x5284].into(),
            polls,
            signals: [0xFFB4_3010].into(),
        };
        let kernel =
            StandingCode::Kernel { number: Some(9), first: 0x5000, words: vec![0x13, 0x6F] };
        let launch = UnfinishedLaunch {
            chip_id: 1,
            core: TileCoord { x: 2, y: 7 },
            launch_index: 4,
            program_id: 12,
            program: String::new(),
            riscs: vec![
                risc(Risc::Brisc, Standing::Unended { failure: None }, Some(kernel), vec![polled]),
                risc(Risc::Ncrisc, Standing::Ended, Some(StandingCode::Firmware), Vec::new()),
                risc(Risc::Trisc0, Standing::WaitsFor(Risc::Brisc), None, Vec::new()),
                risc(Risc::Trisc1, Standing::Stopped("ebreak".to_owned()), None, Vec::new()),
            ],
        };
        let read = from_json(&to_json(std::slice::from_ref(&launch))).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", [launch]));
    }

    #[test]
    fn other_text_is_refused_in_one_sentence() {
        let launch = r#"[{"chip_id":0,"core":[1,1],"launch_index":0,"program_id":2,"program":"",
            "riscs":[{"risc":"XRISC","chip_cycle":0,"pc":0,"earlier_pc":null,"state":"Ended",
            "code":null,"executed":[],"polls":[],"signals":[]}]}]"#;
        for (text, expected) in [
            ("", "EOF"),
            ("[1]", "invalid type"),
            (launch, "there is no RISC XRISC"),
            (&launch.replace("XRISC", "BRISC").replace("Ended", "Loaded"), "unknown variant"),
        ] {
            let error = from_json(text).unwrap_err();
            assert!(error.starts_with("expected where RISCs stand"), "{error}");
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!(
            from_json(&launch.replace("XRISC", "BRISC")).unwrap()[0].riscs[0].risc,
            Risc::Brisc
        );
    }
}
