//! Source locations of events.

use std::borrow::Cow;

/// Name and source location of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostSource {
    /// Name; empty for messages.
    pub name: Cow<'static, str>,
    /// Function or module that contains the source location.
    pub function: Cow<'static, str>,
    /// Source file.
    pub file: Cow<'static, str>,
    /// Source line, from 1; 0 if unknown.
    pub line: u32,
}

impl HostSource {
    /// Creates a source location whose texts are static, as in the macros.
    #[must_use]
    pub const fn new(
        name: &'static str,
        function: &'static str,
        file: &'static str,
        line: u32,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            function: Cow::Borrowed(function),
            file: Cow::Borrowed(file),
            line,
        }
    }

    /// Creates a source with a name but without a location. The name may be created at run time.
    #[must_use]
    pub fn from_name(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}
