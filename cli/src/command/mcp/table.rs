//! Tables, and answers of bounded size with a part of a table.

use crate::failure::{Failure, failure};
use host_reader::tables::{self, Objects};
use rmcp::schemars;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{cmp::Ordering, collections::BTreeMap};

/// Version of the answer format. The version increases when a field or column is removed or gets
/// another meaning. Adding a field or column does not change the version.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// Maximum size of an answer in bytes.
pub(super) const ANSWER_BYTES: usize = 4096;

/// Maximum JSON bytes of a text from a file. The first limit is the default. If a row does not fit
/// into an answer, the texts of the row are shortened to the smaller limits.
const TEXT_BYTES: [usize; 3] = [480, 120, 24];

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    /// Meaning of null in the column; empty if it is never null.
    pub(super) if_null: &'static str,
}

/// Makes a table with a row for each item. A column has a name, an optional meaning of null, and an
/// expression for its cells.
///
/// The expressions may use values that `let` binds before the first column.
macro_rules! table {
    ($items:expr, |$item:pat_param| {
        $(let $name:pat_param = $value:expr;)*
        $($column:literal $(or $if_null:expr)? => $cell:expr,)*
    }) => {
        $crate::command::mcp::table::Table::new(
            vec![$($crate::command::mcp::table::Column {
                name: $column,
                if_null: [$($if_null,)? ""][0],
            }),*],
            $items,
            |$item| {
                $(let $name = $value;)*
                vec![$(serde_json::json!($cell)),*]
            },
        )
    };
}
pub(super) use table;

/// Direction of a sort; rows without a value come last in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "rmcp::schemars")]
pub(super) enum SortOrder {
    /// Largest first.
    #[default]
    Descending,
    /// Smallest first.
    Ascending,
}

/// Table whose rows are computed on demand.
pub(super) struct Table<'a> {
    columns: Vec<Column>,
    order: Vec<usize>,
    row: Box<dyn Fn(usize) -> Vec<Value> + 'a>,
    /// Notes about the table as a whole, by field name.
    notes: Map<String, Value>,
}

/// Part of a table as the text of an answer.
pub(super) struct Page {
    pub(super) text: String,
    /// First row of the next page.
    pub(super) next: Option<usize>,
}

/// Fields of an answer, in this order.
#[derive(Serialize)]
struct Answer<'a> {
    schema_version: u32,
    #[serde(flatten)]
    head: &'a Map<String, Value>,
    #[serde(flatten)]
    notes: &'a Map<String, Value>,
    row_count: usize,
    from: usize,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
    null_means: BTreeMap<&'static str, &'static str>,
    shortened_texts: usize,
    more: Option<&'a str>,
}

impl<'a> Table<'a> {
    /// Creates a table with a row for each item.
    pub(super) fn new<T: 'a>(
        columns: Vec<Column>,
        items: impl IntoIterator<Item = T>,
        row: impl Fn(&T) -> Vec<Value> + 'a,
    ) -> Self {
        let items: Vec<T> = items.into_iter().collect();
        Self {
            columns,
            order: (0..items.len()).collect(),
            row: Box::new(move |at| items.get(at).map(&row).unwrap_or_default()),
            notes: Map::new(),
        }
    }

    /// Creates a table from rows of the schema `T`, with those columns of `T` that belong to a
    /// summary.
    pub(super) fn from_rows<T: tables::Table>(rows: Vec<T::Row<'a>>) -> Self {
        Self::from_items::<T, _>(rows, |row, take| take(row))
    }

    /// Like [`Self::from_rows`], but makes the row of an item on demand.
    ///
    /// The function `row` is called with an item and a callback. It makes the item's row and calls
    /// the callback with that row.
    pub(super) fn from_items<T: tables::Table, I: 'a>(
        items: impl IntoIterator<Item = I>,
        row: impl Fn(&I, &mut dyn FnMut(&T::Row<'_>)) + 'a,
    ) -> Self {
        let columns = T::summary_columns().map(|column| Column {
            name: column.schema.name,
            if_null: column.schema.null_means.unwrap_or_default(),
        });
        Self::new(columns.collect(), items, move |item| {
            let mut cells = Vec::new();
            row(item, &mut |row| {
                let values = T::summary_columns().map(|column| column.value(row));
                cells.extend(values.map(|value| serde_json::json!(value)));
            });
            cells
        })
    }

    /// Creates a table from the objects of another output. `if_null` is the meaning of null in the
    /// columns that it names.
    pub(super) fn from_objects<T: 'a>(
        objects: Objects<T>,
        if_null: &[(&str, &'static str)],
    ) -> Self {
        let columns = objects.names().map(|name| {
            let meaning = if_null.iter().find(|(column, _)| *column == name);
            Column { name, if_null: meaning.map_or("", |(_, meaning)| meaning) }
        });
        let (columns, count) = (columns.collect(), objects.len());
        Self::new(columns, 0..count, move |&at| objects.values(at))
    }

    /// Adds a note about the table as a whole.
    pub(super) fn with_note(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.notes.insert(name.to_owned(), value.into());
        self
    }

    /// Sorts by a column, if one is given.
    ///
    /// # Errors
    /// If there is no such column.
    pub(super) fn sorted(mut self, by: Option<&str>, order: SortOrder) -> Result<Self, Failure> {
        let Some(by) = by else { return Ok(self) };
        let Some(column) = self.columns.iter().position(|column| column.name == by) else {
            let names: Vec<_> = self.columns.iter().map(|column| column.name).collect();
            return Err(failure!(
                "expected a column to sort by, one of {}, found `{by}`",
                names.join(", ")
            ));
        };
        let mut keyed: Vec<(Value, usize)> =
            self.order.iter().map(|&at| ((self.row)(at).swap_remove(column), at)).collect();
        keyed.sort_by(|(one, _), (other, _)| compare(one, other, order));
        self.order = keyed.into_iter().map(|(_, at)| at).collect();
        Ok(self)
    }

    /// Returns a page that begins with row `from` and has as many rows as fit, at least one. The
    /// page contains `handle`, which the client sends to request the remaining rows.
    pub(super) fn page(&self, head: &Map<String, Value>, from: usize, handle: &str) -> Page {
        let mut answer = Answer {
            schema_version: SCHEMA_VERSION,
            head,
            notes: &self.notes,
            row_count: self.order.len(),
            from,
            columns: self.columns.iter().map(|column| column.name).collect(),
            rows: Vec::new(),
            null_means: BTreeMap::new(),
            // A placeholder with the maximum number of digits. It reserves space until the real
            // number is known.
            shortened_texts: usize::MAX,
            more: Some(handle),
        };
        let mut room = ANSWER_BYTES.saturating_sub(text_of(&answer).len());
        let mut shortened = 0_usize;
        for &at in self.order.iter().skip(from) {
            let Some(row) = self.fitting(at, room, &answer) else { break };
            room = room.saturating_sub(row.bytes);
            shortened = shortened.saturating_add(row.shortened);
            answer.null_means.extend(row.null_means);
            answer.rows.push(row.cells);
        }
        answer.shortened_texts = shortened;
        let next = from.saturating_add(answer.rows.len());
        let next = (next < self.order.len()).then_some(next);
        answer.more = next.map(|_| handle);
        Page { text: text_of(&answer), next }
    }

    /// Returns a row if the row fits into the remaining bytes. If the row is the answer's first
    /// row, its texts are shortened until the row fits.
    fn fitting(&self, at: usize, room: usize, answer: &Answer<'_>) -> Option<Row> {
        let limits = if answer.rows.is_empty() { &TEXT_BYTES[..] } else { &TEXT_BYTES[..1] };
        let rows = limits.iter().map(|&limit| self.row(at, limit, &answer.null_means));
        rows.into_iter().find(|row| row.bytes <= room)
    }

    fn row(&self, at: usize, limit: usize, known: &BTreeMap<&str, &str>) -> Row {
        let mut cells = (self.row)(at);
        let shortened = cells.iter_mut().map(|cell| usize::from(shorten(cell, limit))).sum();
        let nulls = self.columns.iter().zip(&cells).filter(|(_, cell)| cell.is_null());
        let null_means: BTreeMap<_, _> = nulls
            .map(|(column, _)| (column.name, column.if_null))
            .filter(|(name, _)| !known.contains_key(name))
            .collect();
        // Bytes of each entry of `null_means`, with four quotes, a colon and a comma.
        let explained = null_means.iter().map(|(name, means)| name.len() + means.len() + 6);
        let bytes = text_of(&cells).len() + 1 + explained.sum::<usize>();
        Row { cells, null_means, shortened, bytes }
    }
}

/// A row as JSON values, the meanings of its null values, the number of shortened texts, and the
/// size in bytes.
struct Row {
    cells: Vec<Value>,
    null_means: BTreeMap<&'static str, &'static str>,
    shortened: usize,
    bytes: usize,
}

/// Returns a value as JSON text.
fn text_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Shortens a text whose JSON is longer than the limit; returns true if it was too long.
fn shorten(cell: &mut Value, limit: usize) -> bool {
    let Value::String(text) = cell else { return false };
    let short = shortened(text, limit);
    let is_cut = short.is_some();
    if let Some(short) = short {
        *text = short;
    }
    is_cut
}

/// Shortens a text if its JSON is longer than `limit` bytes. Returns `None` if the whole text fits.
pub(super) fn shortened(text: &str, limit: usize) -> Option<String> {
    // Most texts are short, and no character takes more than six bytes.
    if text.len().saturating_mul(6) <= limit || text_of(&text).len() <= limit {
        return None;
    }
    const QUOTES_AND_ELLIPSIS: usize = 5;
    let mut room = limit.saturating_sub(QUOTES_AND_ELLIPSIS);
    let mut kept = String::new();
    for character in text.chars() {
        let bytes = text_of(&character).len().saturating_sub(2);
        if bytes > room {
            break;
        }
        room = room.saturating_sub(bytes);
        kept.push(character);
    }
    kept.push('…');
    Some(kept)
}

/// Compares two cells; null is last in both orders.
fn compare(one: &Value, other: &Value, order: SortOrder) -> Ordering {
    let by_value = match (one, other) {
        (Value::Null, Value::Null) => return Ordering::Equal,
        (Value::Null, _) => return Ordering::Greater,
        (_, Value::Null) => return Ordering::Less,
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        _ => match (one.as_u64(), other.as_u64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => one.as_f64().unwrap_or(0.0).total_cmp(&other.as_f64().unwrap_or(0.0)),
        },
    };
    match order {
        SortOrder::Descending => by_value.reverse(),
        SortOrder::Ascending => by_value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Item = (u64, String, Option<u64>);

    fn table(items: Vec<Item>) -> Table<'static> {
        table!(items, |(number, text, figure)| {
            "number" => number,
            "text" => text,
            "figure" or "nobody measured it" => figure,
        })
    }

    fn parsed(page: &Page) -> Value {
        assert!(page.text.len() <= ANSWER_BYTES, "{} bytes", page.text.len());
        serde_json::from_str(&page.text).unwrap()
    }

    fn all_rows(table: &Table<'_>, head: &Map<String, Value>) -> (Vec<Value>, usize) {
        let (mut rows, mut from, mut pages) = (Vec::new(), 0, 0);
        loop {
            let page = table.page(head, from, "h18446744073709551615");
            let answer = parsed(&page);
            assert_eq!(
                (&answer["from"], answer["more"].is_null()),
                (&from.into(), page.next.is_none())
            );
            let found = answer["rows"].as_array().unwrap();
            assert!(!found.is_empty(), "a page that leads nowhere");
            let has_null = found.iter().any(|row| row[2].is_null());
            assert_eq!(answer["null_means"]["figure"] == "nobody measured it", has_null);
            rows.extend(found.iter().cloned());
            pages += 1;
            match page.next {
                Some(next) => from = next,
                None => return (rows, pages),
            }
        }
    }

    #[test]
    fn pages_hold_every_row_once_and_never_exceed_the_limit() {
        let texts = ["", "a", "\u{1}\u{2}\"\\", "🦀🦀🦀🦀", "name of a zone"];
        for size in [1_usize, 20, 79, 80, 81, 500] {
            let items: Vec<Item> = (0..300)
                .map(|number| {
                    let text = texts[number % texts.len()].repeat(size / 20);
                    (number as u64, text, (number % 7 == 0).then_some(number as u64))
                })
                .collect();
            let (rows, pages) = all_rows(&table(items), &Map::new());
            let numbers: Vec<u64> = rows.iter().map(|row| row[0].as_u64().unwrap()).collect();
            assert_eq!(numbers, (0..300).collect::<Vec<_>>());
            assert!(pages > 1);
        }
    }

    #[test]
    fn a_row_too_long_for_an_answer_is_cut_and_said_so() {
        let head: Map<String, Value> =
            [("note".to_owned(), Value::from("x".repeat(ANSWER_BYTES - 450)))]
                .into_iter()
                .collect();
        for text in ["\u{1}".repeat(5000), "🦀".repeat(5000), "a".repeat(5000)] {
            let page =
                table(vec![(1, text.clone(), Some(2)), (2, text, None)]).page(&head, 0, "h1");
            let answer = parsed(&page);
            let cut = answer["rows"][0][1].as_str().unwrap();
            assert!(cut.ends_with('…') && cut.chars().count() > 1, "{cut}");
            assert_eq!((&answer["shortened_texts"], page.next), (&1.into(), Some(1)));
        }
        let whole = table(vec![(1, "a".repeat(478), None)]).page(&Map::new(), 0, "h1");
        assert_eq!(parsed(&whole)["shortened_texts"], 0);
        let cut = table(vec![(1, "a".repeat(479), None)]).page(&Map::new(), 0, "h1");
        assert_eq!(parsed(&cut)["shortened_texts"], 1);
    }

    #[test]
    fn sorting_puts_what_is_not_known_last_in_both_directions() {
        let figures = [Some(3), None, Some(u64::MAX), Some(u64::MAX - 1), Some(0)];
        let items: Vec<Item> =
            (0..).zip(figures).map(|(number, figure)| (number, String::new(), figure)).collect();
        for (order, expected) in
            [(SortOrder::Descending, [2, 3, 0, 4, 1]), (SortOrder::Ascending, [4, 0, 3, 2, 1])]
        {
            let sorted = table(items.clone()).sorted(Some("figure"), order).unwrap();
            let (rows, _) = all_rows(&sorted, &Map::new());
            let found: Vec<u64> = rows.iter().map(|row| row[0].as_u64().unwrap()).collect();
            assert_eq!(found, expected);
        }
        let refused = table(items).sorted(Some("size"), SortOrder::Ascending).err().unwrap();
        let expected = "expected a column to sort by, one of number, text, figure, found `size`";
        assert_eq!(refused.to_string(), expected);
    }

    #[test]
    fn an_empty_table_is_an_answer() {
        let page = table(Vec::new()).with_note("reason", "none").page(&Map::new(), 0, "h1");
        let answer = parsed(&page);
        assert_eq!((&answer["row_count"], &answer["more"]), (&0.into(), &Value::Null));
        assert_eq!(answer["reason"], "none");
    }
}
