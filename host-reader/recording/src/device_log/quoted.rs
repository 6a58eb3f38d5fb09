//! Lines with quoted fields, as spreadsheets and data frames write them.
//!
//! TT-Metal never writes quotes, but a log edited by another program may contain them. A quote has
//! a special meaning only at the start of a field, so quotes inside JSON metadata are kept.

use super::{fields::Fields, header::MAX_COLUMNS};
use csv_core::{ReadRecordResult, Reader};

/// Returns true if any field of the line begins with a quote.
#[inline]
pub(super) fn has_quoted_field(line: &[u8]) -> bool {
    line.first() == Some(&b'"') || memchr::memmem::find(line, b",\"").is_some()
}

/// Buffer for the text of one line without its quotes.
pub(super) struct Unquoted {
    text: Vec<u8>,
    ends: [usize; MAX_COLUMNS + 1],
}

impl Unquoted {
    pub(super) const fn new() -> Self {
        Self { text: Vec::new(), ends: [0; MAX_COLUMNS + 1] }
    }

    /// Splits a quoted line into fields.
    ///
    /// Returns `None` if a quote is not closed or there are too many fields.
    pub(super) fn split(&mut self, line: &[u8]) -> Option<Fields<'_>> {
        self.text.resize(line.len().saturating_add(1), 0);
        let mut reader = Reader::new();
        let (_, consumed, written, in_line) =
            reader.read_record(line, &mut self.text, &mut self.ends);
        // A line end outside of quotes ends the record; a line end inside does not.
        let (result, _, _, at_end) =
            reader.read_record(b"\n", self.text.get_mut(written..)?, self.ends.get_mut(in_line..)?);
        let is_whole = consumed == line.len() && matches!(result, ReadRecordResult::Record);
        let ends = self.ends.get(..in_line.checked_add(at_end)?)?;
        is_whole.then(|| fields_of(&self.text, ends))
    }
}

fn fields_of<'text>(text: &'text [u8], ends: &[usize]) -> Fields<'text> {
    let mut fields = Fields::new();
    fields.clear();
    let mut start = 0;
    for &end in ends {
        fields.push(text.get(start..end).unwrap_or(&[]));
        start = end;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Option<Vec<String>> {
        let mut unquoted = Unquoted::new();
        let fields = unquoted.split(line.as_bytes())?;
        let text = |i| String::from_utf8(fields.at(i).to_vec()).unwrap();
        Some((0..fields.count()).map(text).collect())
    }

    #[test]
    fn quotes_protect_commas_and_double_quotes() {
        assert_eq!(texts(r#"0,"a,b","say ""x""","#).unwrap(), ["0", "a,b", r#"say "x""#, ""]);
        assert_eq!(texts(r#""only""#).unwrap(), ["only"]);
    }

    #[test]
    fn an_open_quote_and_a_flood_of_fields_are_refused() {
        assert_eq!(texts(r#"0,"never closed"#), None);
        assert_eq!(texts(&r#""a","#.repeat(40)), None);
    }

    #[test]
    fn json_in_the_last_field_is_not_a_quoted_field() {
        assert!(!has_quoted_field(br#"0,1,{"a":1;"b":2}"#));
        assert!(has_quoted_field(br#"0,"x""#));
        assert!(has_quoted_field(br#""x",1"#));
    }
}
