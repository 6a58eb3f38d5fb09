//! Values in the description of an op, and the text with which TT-Metal's scripts represent a
//! value.
//!
//! Descriptions are read as JSON and written as cells of a CSV. A cell contains the text that
//! Python prints for the value, because programs that read ops CSVs expect Python's format.

use serde::{
    Serialize, Serializer,
    de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor},
};
use std::fmt::{self, Write};

/// A JSON value. Objects keep the order of their keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Null.
    Null,
    /// Boolean.
    Bool(bool),
    /// Integer below 0.
    Signed(i64),
    /// Integer of 0 or more.
    Unsigned(u64),
    /// Number with a fraction or an exponent.
    Float(f64),
    /// Text.
    Text(String),
    /// Elements, in order.
    List(Vec<Self>),
    /// Keys and values, in order.
    Object(#[serde(serialize_with = "as_map")] Vec<(String, Self)>),
}

impl Value {
    /// Returns the value of a key; the last value if the key is repeated.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let fields = self.fields();
        fields.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the fields of an object; empty for other values.
    #[must_use]
    pub fn fields(&self) -> &[(String, Self)] {
        if let Self::Object(fields) = self { fields } else { &[] }
    }

    /// Returns the elements of a list; empty for other values.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        if let Self::List(elements) = self { elements } else { &[] }
    }

    /// Returns the value as a non-negative integer; text is parsed.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Unsigned(number) => Some(*number),
            Self::Signed(number) => u64::try_from(*number).ok(),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns the value as a floating-point number; text is parsed.
    #[must_use]
    pub fn float(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            #[expect(clippy::cast_precision_loss, reason = "what Python's float() does")]
            Self::Unsigned(number) => Some(*number as f64),
            #[expect(clippy::cast_precision_loss, reason = "what Python's float() does")]
            Self::Signed(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// Returns the text for a CSV cell. The text may contain commas.
    ///
    /// Text values are returned unchanged. Null becomes an empty text.
    #[must_use]
    pub fn cell(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Float(number) if number.is_nan() => String::new(),
            Self::Text(text) => text.clone(),
            _ => {
                let mut literal = String::new();
                self.write_literal(&mut literal);
                literal
            }
        }
    }

    /// Returns the JSON of a structure, number or boolean. Text is returned unchanged.
    #[must_use]
    pub fn json_or_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            // Serialization only fails for keys that are not text. Numbers that are not finite
            // become null.
            _ => serde_json::to_string(self).unwrap_or_default(),
        }
    }

    fn write_literal(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("None"),
            Self::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
            Self::Signed(number) => write_display(out, number),
            Self::Unsigned(number) => write_display(out, number),
            Self::Float(number) => out.push_str(&float_text(*number)),
            Self::Text(text) => write_quoted(out, text),
            Self::List(elements) => {
                write_joined(out, ('[', ']'), elements, |out, element| element.write_literal(out));
            }
            Self::Object(fields) => write_joined(out, ('{', '}'), fields, |out, (key, value)| {
                write_quoted(out, key);
                out.push_str(": ");
                value.write_literal(out);
            }),
        }
    }
}

fn write_display(out: &mut String, value: &impl fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

fn write_joined<T>(
    out: &mut String,
    (open, close): (char, char),
    items: &[T],
    write_item: impl Fn(&mut String, &T),
) {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write_item(out, item);
    }
    out.push(close);
}

/// Writes text in the quotes that Python would choose.
fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_control() => write_display(out, &format_args!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// Formats a float with the fewest digits that parse to the same number.
///
/// The text always has a decimal point or an exponent.
#[must_use]
pub fn float_text(number: f64) -> String {
    let mut text = shortest_float(number);
    if number.is_finite() && !text.contains(['.', 'e']) {
        text.push_str(".0");
    }
    text
}

/// Formats a number with the fewest digits that parse to the same number, like the C++ library
/// `{fmt}`.
///
/// Below 1e-4 and from 1e16 on, the number has an exponent of at least two digits.
fn shortest_float(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() || magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text,
    }
}

/// Formats a float rounded to the nearest integer, ties to even.
#[must_use]
pub fn whole_text(number: f64) -> String {
    let text = format!("{number:.0}");
    if text == "-0" { "0".to_owned() } else { text }
}

fn as_map<S: Serializer>(fields: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fields.iter().map(|(key, value)| (key, value)))
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Signed(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = sequence.next_element()? {
            elements.push(element);
        }
        Ok(Value::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(json: &str) -> String {
        serde_json::from_str::<Value>(json).unwrap().cell()
    }

    #[test]
    fn cells_read_as_python_prints_them() {
        // Each expected text was printed by `str(json.loads(text))` in Python 3.11, where `text` is
        // the JSON on the left.
        for (json, expected) in [
            ("null", ""),
            ("true", "True"),
            ("18446744073709551615", "18446744073709551615"),
            ("-3", "-3"),
            ("1.0", "1.0"),
            ("1e16", "1e+16"),
            ("1e-5", "1e-05"),
            ("292.5714416503906", "292.5714416503906"),
            (r#""a,b""#, "a,b"),
            (r#"[1, "a", null, false]"#, "[1, 'a', None, False]"),
            (r#"{"b": "it's", "a": {"c": "\"'"}}"#, r#"{'b': "it's", 'a': {'c': '"\''}}"#),
            (r#"["tab\t line\n \\ é \u0001"]"#, r"['tab\t line\n \\ é \x01']"),
            ("[]", "[]"),
        ] {
            assert_eq!(cell(json), expected, "{json}");
        }
    }

    #[test]
    fn shortest_digits_use_exponents_where_fmt_does() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-250.5, "-250.5"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e16, "1e+16"),
            (1.25e120, "1.25e+120"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
        ];
        for (value, expected) in cases {
            assert_eq!(shortest_float(value), expected);
        }
    }

    #[test]
    fn json_comes_back_as_it_was() {
        let json =
            r#"{"z":[1,-2,1.5,null,true,"a\"b"],"a":{"z":18446744073709551615,"b":{}},"z":1e300}"#;
        let value: Value = serde_json::from_str(json).unwrap();
        let again = value.json_or_text();
        assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), value);
        assert_eq!(again, json.replace("1e300", "1e+300"));
        assert_eq!(Value::Text("a \"b\"".into()).json_or_text(), "a \"b\"");
    }

    #[test]
    fn objects_keep_the_order_of_their_keys_and_the_last_of_repeated_ones() {
        let value: Value = serde_json::from_str(r#"{"z": 1, "a": 2, "z": 3}"#).unwrap();
        assert_eq!(value.get("z").and_then(Value::number), Some(3));
        assert_eq!(value.fields()[1].0, "a");
    }
}
