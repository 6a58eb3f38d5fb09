//! Text of a C++ file that defines constants.

use std::fmt::Write as _;

/// C++ file under construction.
pub(super) struct Source(String);

impl Source {
    /// Starts a file with a comment of these lines.
    pub(super) fn new(about: &[&str]) -> Self {
        let mut text = String::from("/// \\file\n");
        for line in about {
            writeln!(text, "/// {line}").unwrap();
        }
        text.push_str(
            "///\n/// Written by `wire/tests/cpp_constants.rs`; `BLESS=1` rewrites it.\n\n\
             #pragma once\n\n#include <stdint.h>\n",
        );
        Self(text)
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> String {
        self.0.clone()
    }

    /// Adds an empty line and a comment.
    pub(super) fn comment(&mut self, text: &str) {
        writeln!(self.0, "\n/// {text}").unwrap();
    }

    /// Adds a line without changing it.
    pub(super) fn line(&mut self, line: &str) {
        writeln!(self.0, "{line}").unwrap();
    }

    pub(super) fn open_namespace(&mut self, name: &str) {
        writeln!(self.0, "\nnamespace {name} {{").unwrap();
    }

    pub(super) fn close_namespace(&mut self, name: &str) {
        writeln!(self.0, "\n}}  // namespace {name}").unwrap();
    }

    /// Adds constants.
    pub(super) fn constants(&mut self, constants: &[(&str, u32)]) {
        for (name, value) in constants {
            writeln!(self.0, "constexpr uint32_t {name} = {value};").unwrap();
        }
    }

    /// Adds constants, written in hexadecimal.
    pub(super) fn masks(&mut self, constants: &[(&str, u32)]) {
        for (name, value) in constants {
            writeln!(self.0, "constexpr uint32_t {name} = {value:#X};").unwrap();
        }
    }

    /// Adds a set of numbers below 64 as a bit mask.
    pub(super) fn set(&mut self, name: &str, numbers: impl IntoIterator<Item = u8>) {
        let bits = numbers.into_iter().fold(0_u64, |bits, number| bits | 1 << number);
        writeln!(self.0, "constexpr uint64_t {name} = {bits:#X};").unwrap();
    }

    /// Adds an enumeration; `head` is the text before the brace.
    pub(super) fn enumeration(&mut self, head: &str, entries: &[(&str, u32)]) {
        writeln!(self.0, "{head} {{").unwrap();
        for (name, value) in entries {
            writeln!(self.0, "    {name} = {value},").unwrap();
        }
        writeln!(self.0, "}};").unwrap();
    }
}
