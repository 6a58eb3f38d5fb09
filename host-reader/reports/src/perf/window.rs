//! Selection of the rows between signposts.

use super::{op::duration_doubt, row::OpRow, spread::sum_of};

/// Signposts that limit the rows of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowOptions {
    /// Name of the signpost that starts the window. The window begins after the first signpost with
    /// this name.
    pub start_signpost: Option<String>,
    /// Name of the signpost that ends the window. The window ends before the first signpost with
    /// this name, or before the second one if `start_signpost` is the same name.
    pub end_signpost: Option<String>,
    /// True to use all rows and ignore signposts.
    pub ignores_signposts: bool,
    /// True to keep the signposts inside the window as rows.
    pub keeps_signposts: bool,
}

impl WindowOptions {
    /// Returns the options for all rows.
    ///
    /// ```
    /// assert!(reports::perf::WindowOptions::all_rows().ignores_signposts);
    /// ```
    #[must_use]
    pub fn all_rows() -> Self {
        Self { ignores_signposts: true, ..Self::default() }
    }

    /// Returns the options for the rows after one signpost and before another; for all rows, if
    /// neither is named.
    ///
    /// ```
    /// use reports::perf::WindowOptions;
    /// assert_eq!(WindowOptions::between(None, None), WindowOptions::all_rows());
    /// assert!(!WindowOptions::between(Some("decode"), None).ignores_signposts);
    /// ```
    #[must_use]
    pub fn between(start_signpost: Option<&str>, end_signpost: Option<&str>) -> Self {
        Self {
            start_signpost: start_signpost.map(str::to_owned),
            end_signpost: end_signpost.map(str::to_owned),
            ignores_signposts: start_signpost.is_none() && end_signpost.is_none(),
            keeps_signposts: false,
        }
    }
}

/// Reduces `rows`, which are in time order, to the window, and adds a note about it.
///
/// If no start and no end is given, the window begins after the first signpost that has the same
/// name as the last signpost, because programs usually set this signpost when their warm-up is
/// done. If no op follows it, all rows are used.
///
/// # Compatibility
/// The windows are those of tt-perf-report 1.4.1. With `is_upstream_exact`, a window that is empty
/// in tt-perf-report is also empty here.
pub(super) fn cut_window(
    rows: Vec<OpRow>,
    options: &WindowOptions,
    is_upstream_exact: bool,
    notes: &mut Vec<String>,
) -> Vec<OpRow> {
    if options.ignores_signposts {
        notes.push("Window: all rows, also those before and after signposts".to_owned());
        return rows;
    }
    let Some(last) = rows.iter().rev().find(|row| row.is_signpost()) else {
        notes.push("Window: all rows; there are no signposts".to_owned());
        // Adds a warning for each signpost in the options.
        named_bounds(&rows, options, notes);
        return rows;
    };
    let last = last.op_code.clone();
    let (start, end) = named_bounds(&rows, options, notes);
    let bounds = if start.is_none() && end.is_none() {
        default_bounds(&rows, &last, is_upstream_exact, notes)
    } else {
        notes.push(describe(&rows, start, end));
        (start.map_or(0, |at| at.saturating_add(1)), end.unwrap_or(rows.len()))
    };
    let length = bounds.1.saturating_sub(bounds.0);
    let window = rows.iter().skip(bounds.0).take(length);
    if let (Some(part), Some(note)) = (part_of(window, rows.iter()), notes.last_mut()) {
        let is_chosen = start.is_some() || end.is_some();
        let all = if is_chosen { "" } else { "; --ignore-signposts shows all" };
        note.push_str(&(part + all));
    }
    rows.into_iter().skip(bounds.0).take(length).collect()
}

/// Removes the signposts from the rows, unless they are to be kept, and returns their number.
pub(super) fn hide_signposts(rows: &mut Vec<OpRow>, options: &WindowOptions) -> u64 {
    let count = rows.len();
    rows.retain(|row| options.keeps_signposts || options.ignores_signposts || !row.is_signpost());
    count.saturating_sub(rows.len()) as u64
}

/// Returns a text about the device ops of a window, and their part of the kernels' time; `None` if the
/// window has all of them.
fn part_of<'a>(
    window: impl Iterator<Item = &'a OpRow> + Clone,
    all: impl Iterator<Item = &'a OpRow> + Clone,
) -> Option<String> {
    let count =
        |rows: &mut dyn Iterator<Item = &'a OpRow>| rows.filter(|row| row.is_device_op()).count();
    let [own, of] = [count(&mut window.clone()), count(&mut all.clone())];
    let time = |rows: &mut dyn Iterator<Item = &'a OpRow>| {
        let ops = rows.filter(|row| row.is_device_op() && duration_doubt(row, false).is_none());
        sum_of(ops.filter_map(|row| row.kernel_duration_ns))
    };
    let [own_ns, of_ns] = [time(&mut window.clone()), time(&mut all.clone())];
    let share = match of_ns > 0.0 {
        true => format!(", {:.1} % of the kernels' time", own_ns / of_ns * 100.0),
        false => String::new(),
    };
    (own < of).then(|| format!(": {own} of {of} device ops{share}"))
}

/// Returns the row indices of the start and end signposts; `None` if a signpost does not exist.
fn named_bounds(
    rows: &[OpRow],
    options: &WindowOptions,
    notes: &mut Vec<String>,
) -> (Option<usize>, Option<usize>) {
    let start = options.start_signpost.as_deref();
    let end = options.end_signpost.as_deref();
    let start_at = start.and_then(|name| find_signpost(rows, name, "start", 0, notes));
    let ordinal = usize::from(start_at.is_some() && start == end);
    let end_at = end.and_then(|name| find_signpost(rows, name, "end", ordinal, notes));
    (start_at, end_at)
}

/// Returns the row index of the signpost with this name and number. `ordinal` is 0 for the first
/// one.
fn find_signpost(
    rows: &[OpRow],
    name: &str,
    side: &str,
    ordinal: usize,
    notes: &mut Vec<String>,
) -> Option<usize> {
    let found = rows.iter().enumerate();
    let found = found.filter(|(_, row)| row.is_signpost() && &*row.op_code == name);
    let found: Vec<usize> = found.map(|(at, _)| at).collect();
    if ordinal == 1 && found.len() > 2 {
        notes.push(format!(
            "`{name}` begins and ends the window: its first two of {} signposts count",
            found.len()
        ));
    }
    let at = found.get(ordinal).copied();
    if at.is_none() {
        let which = if ordinal == 1 && !found.is_empty() { "second " } else { "" };
        notes.push(format!("Warning: there is no {which}{side} signpost `{name}`; it is ignored"));
    }
    at
}

/// Returns the bounds of the rows after the first signpost with the same name as the last one.
fn default_bounds(
    rows: &[OpRow],
    last: &str,
    is_upstream_exact: bool,
    notes: &mut Vec<String>,
) -> (usize, usize) {
    let first = rows.iter().position(|row| row.is_signpost() && &*row.op_code == last);
    let start = first.map_or(0, |at| at.saturating_add(1));
    let is_empty = rows.iter().skip(start).all(OpRow::is_signpost);
    if is_empty && !is_upstream_exact {
        if let Some((start, end)) = last_pair(rows, last) {
            let note = describe(rows, Some(start), Some(end));
            notes.push(format!("{note}, the last such pair"));
            return (start.saturating_add(1), end);
        }
        notes.push(format!(
            "Window: all rows; no op follows the last signpost `{last}`. \
             Choose others with --start-signpost and --end-signpost"
        ));
        return (0, rows.len());
    }
    notes.push(format!("Window: rows after the signpost `{last}`, whose name the last one has"));
    (start, rows.len())
}

/// Returns the indices of the last signpost, which ends a part of the program, and of the one that begins
/// the part: `iter_1_end` and `iter_1_start`. `None` if their names do not say so, or if no op lies between
/// them.
fn last_pair(rows: &[OpRow], last: &str) -> Option<(usize, usize)> {
    let signposts = || rows.iter().enumerate().filter(|(_, row)| row.is_signpost());
    let (end, _) = signposts().rev().find(|(_, row)| &*row.op_code == last)?;
    let begins = |row: &OpRow| {
        PAIRS.iter().any(|(begin, end)| {
            let part = |name: &str, word: &str| {
                let name = name.to_lowercase();
                name.rsplit_once(word).map(|(before, after)| format!("{before} {after}"))
            };
            part(&row.op_code, begin).is_some_and(|own| part(last, end) == Some(own))
        })
    };
    let (start, _) = signposts().rev().find(|(at, row)| *at < end && begins(row))?;
    let mut between = rows.iter().take(end).skip(start);
    between.any(|row| !row.is_signpost()).then_some((start, end))
}

/// Words by which pairs of signposts name the beginning and the end of a part.
const PAIRS: [(&str, &str); 4] =
    [("start", "end"), ("begin", "end"), ("start", "stop"), ("start", "finish")];

fn describe(rows: &[OpRow], start: Option<usize>, end: Option<usize>) -> String {
    let [start, end] =
        [start, end].map(|at| at.map(|at| rows.get(at).map_or("", |row| &*row.op_code)));
    match (start, end) {
        (Some(start), Some(end)) => format!("Window: rows from signpost `{start}` to `{end}`"),
        (Some(start), None) => format!("Window: rows after the signpost `{start}`"),
        (None, Some(end)) => format!("Window: rows before the signpost `{end}`"),
        (None, None) => "Window: all rows".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds rows from letters: capital letters are signposts, all others are ops.
    fn rows(text: &str) -> Vec<OpRow> {
        text.chars()
            .map(|c| OpRow {
                op_code: c.to_string().into(),
                op_type: if c.is_uppercase() { "signpost" } else { "tt_dnn_device" }.into(),
                ..OpRow::default()
            })
            .collect()
    }

    fn cut(text: &str, start: &str, end: &str, is_upstream_exact: bool) -> (String, Vec<String>) {
        let name = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let options = WindowOptions {
            start_signpost: name(start),
            end_signpost: name(end),
            ..WindowOptions::default()
        };
        let mut notes = Vec::new();
        let mut rows = cut_window(rows(text), &options, is_upstream_exact, &mut notes);
        hide_signposts(&mut rows, &options);
        (rows.iter().map(|row| &*row.op_code).collect(), notes)
    }

    #[test]
    fn windows_lie_between_the_first_signposts_of_their_names() {
        for (text, start, end, expected) in [
            ("aSbEcSdEe", "S", "E", "b"),
            ("aSbEcSdEe", "S", "", "bcde"),
            ("aSbEcSdEe", "", "E", "ab"),
            ("aSbScSd", "S", "S", "b"),
            ("aSbEc", "S", "X", "bc"),
            ("aSbEc", "X", "Y", "c"),
            ("aEbSc", "S", "E", ""),
            ("abc", "S", "E", "abc"),
        ] {
            assert_eq!(cut(text, start, end, false).0, expected, "{text} {start} {end}");
        }
    }

    #[test]
    fn without_names_rows_after_the_last_kind_of_signpost_count() {
        assert_eq!(cut("aSb", "", "", false).0, "b");
        assert_eq!(cut("aSbSc", "", "", false).0, "bc");
        assert_eq!(cut("abc", "", "", false).0, "abc");
    }

    #[test]
    fn a_window_says_how_much_it_leaves_out() {
        let timed = |text: &str| {
            let mut rows = rows(text);
            for row in rows.iter_mut().filter(|row| !row.is_signpost()) {
                row.device = Some(0);
                row.kernel_duration_ns = Some(if &*row.op_code == "a" { 30.0 } else { 10.0 });
            }
            let mut notes = Vec::new();
            cut_window(rows, &WindowOptions::default(), false, &mut notes);
            notes
        };
        let last = "Window: rows after the signpost `S`, whose name the last one has";
        let part = ": 1 of 2 device ops, 25.0 % of the kernels' time; --ignore-signposts shows all";
        assert_eq!(timed("aSb"), [format!("{last}{part}")]);
        assert_eq!(timed("Sba"), [last]);
    }

    #[test]
    fn a_closing_signpost_does_not_hide_the_model_as_it_does_upstream() {
        assert_eq!(cut("SaTbE", "", "", false).0, "ab");
        assert_eq!(cut("SaTbE", "", "", true).0, "");
    }

    #[test]
    fn the_last_pair_of_signposts_is_the_window_if_no_op_follows_it() {
        let row = |name: &str| OpRow {
            op_code: name.into(),
            op_type: if name.len() > 1 { "signpost" } else { "tt_dnn_device" }.into(),
            device: Some(0),
            ..OpRow::default()
        };
        let window = |names: &str| {
            let (options, mut notes) = (WindowOptions::default(), Vec::new());
            let rows = names.split(' ').map(row).collect();
            let mut rows = cut_window(rows, &options, false, &mut notes);
            hide_signposts(&mut rows, &options);
            (rows.iter().map(|row| &*row.op_code).collect::<String>(), notes.remove(0))
        };
        let (ops, note) = window("w iter_0_start a iter_0_end iter_1_start b c iter_1_end");
        assert_eq!(ops, "bc");
        assert_eq!(
            note,
            "Window: rows from signpost `iter_1_start` to `iter_1_end`, the last such pair: 2 of 4 \
             device ops; --ignore-signposts shows all"
        );
        assert_eq!(window("w Begin_run a End_run Begin_run b End_run").0, "b");
        assert_eq!(window("w start a stop").0, "a");
        assert_eq!(window("w iter_0_start a iter_1_end").0, "wa", "no pair");
        assert_eq!(window("w start end").0, "w", "an empty pair");
        assert_eq!(window("start a start b").0, "ab", "no end");
    }

    #[test]
    fn signposts_that_are_not_there_are_named() {
        let warnings = |start: &str, end: &str| {
            let (_, notes) = cut("aSb", start, end, false);
            notes.into_iter().filter(|note| note.starts_with("Warning")).collect::<Vec<_>>()
        };
        assert_eq!(warnings("X", ""), ["Warning: there is no start signpost `X`; it is ignored"]);
        let second = "Warning: there is no second end signpost `S`; it is ignored";
        assert_eq!(warnings("S", "S"), [second]);
    }
}
