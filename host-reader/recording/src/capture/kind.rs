//! Kinds of sections, by number and name.

/// Kind of a section's payload, as the number stored in the capture. Sections of kinds that this
/// library does not know are skipped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionKind(pub u16);

impl std::fmt::Display for SectionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.label() {
            Some(label) => f.pad(label),
            None => f.pad(&format!("kind {}", self.0)),
        }
    }
}
