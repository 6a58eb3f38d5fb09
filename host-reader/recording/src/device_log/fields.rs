//! Splitting of a line at its commas.

use super::header::MAX_COLUMNS;

/// The fields of one line, borrowed from its text.
#[derive(Clone)]
pub(super) struct Fields<'text> {
    fields: [&'text [u8]; MAX_COLUMNS],
    count: usize,
}

impl<'text> Fields<'text> {
    pub(super) const fn new() -> Self {
        Self { fields: [&[]; MAX_COLUMNS], count: 0 }
    }

    /// Splits `line`. Fields after the first `MAX_COLUMNS` fields are only counted.
    #[inline]
    pub(super) fn split(&mut self, line: &'text [u8]) {
        self.count = 0;
        let mut rest = line;
        while let Some(comma) = memchr::memchr(b',', rest)
            && let Some((field, after)) = rest.split_at_checked(comma)
        {
            self.push(field);
            rest = after.get(1..).unwrap_or(&[]);
        }
        self.push(rest);
    }

    /// Appends a field.
    #[inline]
    pub(super) fn push(&mut self, field: &'text [u8]) {
        if let Some(slot) = self.fields.get_mut(self.count) {
            *slot = field;
        }
        self.count = self.count.saturating_add(1);
    }

    /// Clears all fields.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Returns the number of fields in the line.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the length of the first `count` fields in bytes, including the comma after each
    /// field.
    ///
    /// The line must have at least `count` fields.
    pub(super) fn up_to(&self, count: usize) -> usize {
        let fields = self.fields.iter().take(count);
        fields.fold(0, |bytes: usize, field| bytes.saturating_add(field.len()).saturating_add(1))
    }

    /// Returns the field at `position`, or an empty field if there is none.
    #[inline]
    pub(super) fn at(&self, position: usize) -> &'text [u8] {
        self.fields.get(position).copied().unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_commas_has_one_field_more_than_commas() {
        let mut fields = Fields::new();
        for (line, expected) in [("", 1), (",", 2), ("a,b,", 3)] {
            fields.split(line.as_bytes());
            assert_eq!(fields.count(), expected, "{line}");
        }
        assert_eq!((fields.at(0), fields.at(1), fields.at(2)), (&b"a"[..], &b"b"[..], &b""[..]));
    }

    #[test]
    fn fields_beyond_the_largest_layout_are_counted() {
        let line = vec![b','; 1000];
        let mut fields = Fields::new();
        fields.split(&line);
        assert_eq!(fields.count(), 1001);
        assert_eq!(fields.at(999), b"");
    }
}
