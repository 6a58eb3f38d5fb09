//! Readable errors: one sentence that includes the causes.

use std::error::Error;

/// Returns the message of an error, followed by the messages of its causes.
///
/// ```
/// use host_reader::sentence::from_error;
///
/// #[derive(Debug)]
/// struct Unreadable(std::io::Error);
/// impl std::fmt::Display for Unreadable {
///     fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         out.write_str("log.csv cannot be read")
///     }
/// }
/// impl std::error::Error for Unreadable {
///     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
///         Some(&self.0)
///     }
/// }
/// let error = Unreadable(std::io::Error::other("the disk is gone"));
/// assert_eq!(from_error(&error), "log.csv cannot be read: the disk is gone");
/// ```
#[must_use]
pub fn from_error(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let sentence = error.to_string();
        // A transparent error repeats the message of its source.
        if !text.contains(&sentence) {
            text.push_str(": ");
            text.push_str(&sentence);
        }
        cause = error.source();
    }
    text
}
