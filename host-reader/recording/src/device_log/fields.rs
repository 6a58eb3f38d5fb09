//! Splitting of a line at its commas.

use super::{
    header::{Column, Layout, MAX_COLUMNS},
    text::{packet_kind, trimmed},
};

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

    /// Splits a line into the columns of its log. TT-Metal quotes nothing, so names of zones and of
    /// files and the meta data may hold commas. The kind of a record ends a zone's name, and the brace
    /// that opens the meta data, or else the number of columns, ends a file's.
    #[inline]
    pub(super) fn split_columns(&mut self, line: &'text [u8], layout: &Layout) {
        self.split(line);
        if self.count > layout.column_count() {
            self.join_names(line, layout);
        }
    }

    /// Joins the fields of the line's names; does nothing if the fields would not be its columns.
    #[cold]
    fn join_names(&mut self, line: &'text [u8], layout: &Layout) {
        let surplus = self.count.saturating_sub(layout.column_count());
        let [name, kind, file] = [Column::ZoneName, Column::Kind, Column::SourceFile]
            .map(|column| layout.position(column).unwrap_or(usize::MAX));
        let data = file.saturating_add(1);
        let has_data = layout.position(Column::Metadata).is_none_or(|position| position == data);
        if name.checked_add(1) != Some(kind) || file < kind || !has_data {
            return;
        }
        let fields = |first| line.split(|&byte| byte == b',').skip(first);
        let mut kinds = fields(kind).take(surplus.saturating_add(1));
        let Some(in_name) = kinds.position(|field| packet_kind(field).is_some()) else { return };
        let others = surplus.saturating_sub(in_name);
        let mut data_begins = fields(data.saturating_add(in_name)).take(others);
        let in_file =
            data_begins.position(|field| trimmed(field).starts_with(b"{")).unwrap_or(others);
        self.count = 0;
        let mut rest = line;
        while self.count < layout.column_count() {
            let joined = match self.count {
                position if position == name => in_name,
                position if position == file => in_file,
                position if position == data => others.saturating_sub(in_file),
                _ => 0,
            };
            let end = memchr::memchr_iter(b',', rest).nth(joined).unwrap_or(rest.len());
            self.push(rest.get(..end).unwrap_or(&[]));
            rest = rest.get(end.saturating_add(1)..).unwrap_or(&[]);
        }
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
    fn commas_in_names_belong_to_the_names() {
        let titles = b"PCIe slot, core_x, core_y, RISC processor type, timer_id, \
            time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, \
            source line, source file, meta data";
        let layout = Layout::parse(titles).unwrap();
        let start = "0,1,2,BRISC,7,100,0,1,,,";
        let names = ["A", "A<1, 2>", "A<1,2,3>"];
        let files = ["", "/a.cpp", "/k,1/a.cpp", "/k,1,2.cpp"];
        let data = ["", "{\"a\":1}", "{\"a\":1,\"b\":[2,3]}"];
        for (name, (file, data)) in names.iter().flat_map(|name| {
            files.iter().flat_map(move |file| data.map(|data| (name, (file, data))))
        }) {
            let line = format!("{start}{name},ZONE_END,12,{file},{data}");
            let mut fields = Fields::new();
            fields.split_columns(line.as_bytes(), &layout);
            assert_eq!(fields.count(), 15, "{line}");
            let found: Vec<_> = (10..15).map(|index| fields.at(index)).collect();
            let expected = [name, "ZONE_END", "12", file, data].map(str::as_bytes);
            assert_eq!(found, expected, "{line}");
            assert_eq!(fields.up_to(15), line.len() + 1);
        }
        // No kind where one may be.
        let line = format!("{start}A,ZONE,12,/a,b.cpp,");
        let mut fields = Fields::new();
        fields.split_columns(line.as_bytes(), &layout);
        assert_eq!(fields.count(), 16);
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
