//! One reading of one counter.

use crate::counters::names::{counter_name, current_name, is_tied_off, l1_client_name};
use serde::Deserialize;
use std::borrow::Cow;

/// One reading of one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Name of the counter.
    pub name: Cow<'static, str>,
    /// Part of the core that counted (a Quasar core has four); `None` if not recorded.
    pub neo: Option<u8>,
    /// Number of events.
    pub count: u64,
    /// Cycles over which the events were counted; `None` if unknown.
    pub cycles: Option<u64>,
}

/// Reason why a data record is not a valid reading, although its id marks it as the reading of a
/// counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum SampleProblem {
    /// The record does not identify the counter.
    #[error("unknown counter: neither its text nor the second half of its record is in the log")]
    Unnamed,
    /// No counter has this number.
    #[error("unknown counter number {0}")]
    UnknownNumber(u16),
    /// The text does not describe a counter.
    #[error("its text is not JSON with `counter type` and `value`")]
    BadText,
    /// The record has no value.
    #[error("the record has no value")]
    NoValue,
}

/// Name or number of a counter. A log contains either the name or the number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kind {
    Number(u16),
    Name(String),
}

/// Metadata that a line of a device log contains for a counter.
#[derive(Deserialize)]
struct Description {
    #[serde(rename = "counter type")]
    kind: Kind,
    value: u64,
    #[serde(rename = "ref cnt")]
    cycles: Option<u64>,
    neo: Option<u8>,
    #[serde(rename = "counter sel")]
    selection: Option<u16>,
}

/// Name of a counter that counts an event selected by software. A reading of this counter gets the
/// name of the selected event.
const SELECTED: &str = "QUASAR_L1_CLIENT_EVENT";

impl Sample {
    /// Decodes the values of a record and the text that a log has attached to the record.
    ///
    /// If there is a text, the reading is decoded from the text and `values` is ignored, because a
    /// log contains only the first value of a record.
    ///
    /// ```
    /// use analysis::counters::Sample;
    /// let sample = Sample::decode(&[4317 << 32 | 16, 21], None)?;
    /// assert_eq!((&*sample.name, sample.count), ("CFG_INSTRN_AVAILABLE_0", 16));
    /// assert_eq!(sample.cycles, Some(4317));
    /// # Ok::<(), analysis::counters::SampleProblem>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the counter cannot be identified.
    pub fn decode(values: &[u64], text: Option<&str>) -> Result<Self, SampleProblem> {
        if let Some(text) = text {
            let sample = Self::from_text(text).ok_or(SampleProblem::BadText)?;
            return Ok(Self { name: current_name(&sample.name).into_owned().into(), ..sample });
        }
        match values {
            [] => Err(SampleProblem::NoValue),
            [first, second, ..] => Self::from_words(*first, *second),
            [_] => Err(SampleProblem::Unnamed),
        }
    }

    /// Decodes the two 64-bit words of a counter record.
    ///
    /// # Compatibility
    /// `union PerfCounter` of `perf_counters.hpp`: until 2026 the number of the counter had 8 bits,
    /// and the bits above the number were uninitialised.
    fn from_words(first: u64, second: u64) -> Result<Self, SampleProblem> {
        let [low, high, neo, rest, ..] = second.to_le_bytes();
        let wide = u16::from_le_bytes([low, high]);
        let is_clean = rest == 0 && neo < 16 && counter_name(wide).is_some();
        let number = if is_clean { wide } else { low.into() };
        let name = counter_name(number).ok_or(SampleProblem::UnknownNumber(number))?;
        Ok(Self {
            name,
            // All chips other than Quasar write 0.
            neo: Some(neo).filter(|&neo| is_clean && neo > 0),
            count: first & u64::from(u32::MAX),
            cycles: Some(first >> 32),
        })
    }

    /// Decodes the metadata of a line of a device log; `None` if the metadata does not describe a
    /// counter. The counter keeps the name that the metadata contains.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let json = text.replace(';', ",").replace('\'', "\"");
        let Description { kind, value, cycles, neo, selection } =
            serde_json::from_str(&json).ok()?;
        let name: Cow<'static, str> = match kind {
            Kind::Number(number) => counter_name(number)?,
            Kind::Name(name) => name.into(),
        };
        let name = match selection {
            Some(selection) if name == SELECTED => l1_client_name(selection).into(),
            _ => name,
        };
        Some(Self { name, neo, count: value, cycles })
    }

    /// Formats the reading like the metadata of a device log.
    ///
    /// ```
    /// use analysis::counters::Sample;
    /// let sample = Sample::decode(&[4317 << 32 | 16, 21], None)?;
    /// let text = r#"{"counter type":"CFG_INSTRN_AVAILABLE_0";"ref cnt":4317;"value":16}"#;
    /// assert_eq!(sample.to_text(), text);
    /// # Ok::<(), analysis::counters::SampleProblem>(())
    /// ```
    ///
    /// # Compatibility
    /// Metadata of `profile_log_device.csv`: keys sorted by name, `;` instead of commas.
    #[must_use]
    pub fn to_text(&self) -> String {
        let cycles =
            self.cycles.map_or_else(String::new, |cycles| format!("\"ref cnt\":{cycles};"));
        let neo = self.neo.map_or_else(String::new, |neo| format!("\"neo\":{neo};"));
        format!("{{\"counter type\":\"{}\";{neo}{cycles}\"value\":{}}}", self.name, self.count)
    }

    /// Returns false if the reading is meaningless: the hardware ties the counter to a constant, or
    /// the counter was never started and therefore covers 0 cycles.
    #[must_use]
    pub fn is_observable(&self) -> bool {
        !is_tied_off(&self.name) && self.cycles != Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_gives_name_count_and_cycles() {
        let text = r#"{"counter type":"WAITING_FOR_MMIO_IDLE_0";"ref cnt":4317;"value":6}"#;
        let raw = Sample::from_text(text).unwrap();
        assert_eq!((&*raw.name, raw.count, raw.cycles), ("WAITING_FOR_MMIO_IDLE_0", 6, Some(4317)));
        let sample = Sample::decode(&[0], Some(text)).unwrap();
        assert_eq!(sample.name, "WAITING_FOR_CFG_IDLE_0");
        let numbered = Sample::from_text("{'counter type': 180; 'value': 7; 'neo': 3}").unwrap();
        assert_eq!((&*numbered.name, numbered.neo), ("ANY_THREAD_STALL", Some(3)));
        assert_eq!(numbered.cycles, None);
        let selected = r#"{"counter sel":39;"counter type":"QUASAR_L1_CLIENT_EVENT";"value":1}"#;
        assert_eq!(Sample::from_text(selected).unwrap().name, "L1_CLIENT_THCON_ORDER_FIFO_ACTIVE");
    }

    #[test]
    fn text_that_describes_no_counter_is_refused() {
        for text in [
            "",
            "{}",
            "x",
            r#"{"counter type":0;"value":1}"#,
            r#"{"counter type":"A"}"#,
            r#"{"counter type":"A";"value":-1}"#,
            r#"{"counter type":"A";"value":1"#,
        ] {
            assert_eq!(Sample::from_text(text), None, "{text}");
            assert_eq!(Sample::decode(&[1, 1], Some(text)), Err(SampleProblem::BadText));
        }
    }

    #[test]
    fn numbers_of_both_generations_are_understood() {
        let name = |second| Sample::decode(&[0, second], None).map(|sample| sample.name);
        assert_eq!(name(0x0000_00B4).unwrap(), "ANY_THREAD_STALL");
        // An 8-bit number below arbitrary bits from the stack.
        assert_eq!(name(0xDEAD_BEB4).unwrap(), "ANY_THREAD_STALL");
        assert_eq!(name(0x0002_0101).unwrap(), "L1_CLIENT_TRISC_SBANK0_SBANK_POP");
        assert_eq!(Sample::decode(&[0, 0x0002_0101], None).unwrap().neo, Some(2));
        assert_eq!(Sample::decode(&[0, 0x0000_0101], None).unwrap().neo, None);
        assert_eq!(name(0), Err(SampleProblem::UnknownNumber(0)));
        assert_eq!(name(250), Err(SampleProblem::UnknownNumber(250)));
        assert_eq!(Sample::decode(&[7], None), Err(SampleProblem::Unnamed));
        assert_eq!(Sample::decode(&[], None), Err(SampleProblem::NoValue));
    }

    #[test]
    fn counters_that_are_tied_off_are_not_observable() {
        let first = |cycles: u64| cycles << 32;
        let is_observable =
            |number| Sample::decode(&[first(100), number], None).unwrap().is_observable();
        assert!(is_observable(7) && is_observable(94));
        assert!(!Sample::decode(&[first(0) | 3, 7], None).unwrap().is_observable());
        for number in [6, 15, 16, 17, 92, 93, 203, 206] {
            assert!(!is_observable(number), "{number}");
        }
    }

    proptest! {
        #[test]
        fn any_input_is_a_sample_or_a_problem(values: Vec<u64>, text: Option<String>) {
            if let Ok(sample) = Sample::decode(&values, text.as_deref()) {
                prop_assert!(!sample.name.is_empty() || text.is_some());
            }
        }

        #[test]
        fn count_and_cycles_are_the_halves_of_the_first_value(count: u32, cycles: u32) {
            let sample = Sample::decode(&[u64::from(cycles) << 32 | u64::from(count), 1], None);
            let sample = sample.unwrap();
            prop_assert_eq!((sample.count, sample.cycles), (count.into(), Some(cycles.into())));
        }
    }
}
