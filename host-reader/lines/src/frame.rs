//! Frames: the function at an address, and the functions into which it is inlined.

use crate::code_file::file_name;
use std::fmt;
use tables::LineRow;

/// A function, and the place in it that is executed or that contains the inlined call.
///
/// ```
/// let frame = lines::Frame { function: Some("main".into()), file: Some("a/b.cpp".into()), line: Some(7) };
/// assert_eq!(frame.to_string(), "main at a/b.cpp:7");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Name of the function.
    pub function: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in the file.
    pub line: Option<u32>,
}

impl Frame {
    /// Returns the function with the file's name and the line.
    pub(crate) fn short(&self) -> String {
        let file = self.file.as_deref().map(|file| file_name(file).to_owned());
        Self { file, ..self.clone() }.to_string()
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function.as_deref().unwrap_or("?"))?;
        if let Some(file) = &self.file {
            write!(f, " at {file}")?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
        }
        Ok(())
    }
}

/// Functions of the program that called a row's op, from the outermost one; empty if no call of the
/// recording is known.
pub type Callers<'a> = dyn Fn(&LineRow) -> &'a [Frame] + 'a;

/// Text between frames; no path or function of a compiler contains it.
const SEPARATOR: &str = " < ";

/// Returns frames as one text.
pub(crate) fn joined(frames: &[Frame]) -> String {
    frames.iter().map(ToString::to_string).collect::<Vec<_>>().join(SEPARATOR)
}

/// Returns the frames of a row, innermost first.
#[must_use]
pub fn frames(row: &LineRow) -> Vec<Frame> {
    let first = Frame { function: row.function.clone(), file: row.file.clone(), line: row.line };
    let outer = row.inlined_into.iter().flat_map(|text| text.split(SEPARATOR)).map(parsed);
    std::iter::once(first).chain(outer).collect()
}

/// Returns the frame of a text that [`Frame`]'s `Display` has written.
fn parsed(text: &str) -> Frame {
    let (function, place) = match text.rsplit_once(" at ") {
        Some((function, place)) => (function, Some(place)),
        None => (text, None),
    };
    let function = Some(function.to_owned()).filter(|function| function != "?");
    let Some(place) = place else { return Frame { function, file: None, line: None } };
    let numbered = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    match numbered {
        Some((file, line)) => Frame { function, file: Some(file.to_owned()), line: Some(line) },
        None => Frame { function, file: Some(place.to_owned()), line: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_the_same_after_a_table() {
        let frame = |function: &str, file: Option<&str>, line| Frame {
            function: Some(function.to_owned()),
            file: file.map(str::to_owned),
            line,
        };
        let all = [
            frame("noc_async_read_barrier(unsigned char)", Some("/a b/dataflow_api.h"), Some(87)),
            frame("f<g(int)>", Some("kernel.cpp"), None),
            frame("main", None, None),
        ];
        let row = LineRow {
            function: all[0].function.clone(),
            file: all[0].file.clone(),
            line: all[0].line,
            inlined_into: Some(joined(&all[1..])),
            ..LineRow::default()
        };
        assert_eq!(frames(&row), all);
        assert_eq!(all[0].short(), "noc_async_read_barrier(unsigned char) at dataflow_api.h:87");
    }
}
