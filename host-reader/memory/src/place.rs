//! Places of calls in the user's program.

use serde::Serialize;
use std::{collections::BTreeMap, fmt};

/// Place of a call in the user's program.
///
/// ```
/// use memory::CallPlace;
/// let (module, location) = (Some("Model.mlp".to_owned()), Some("model.py:12".to_owned()));
/// assert_eq!(CallPlace { module, location }.to_string(), "model.py:12, Model.mlp");
/// assert_eq!(CallPlace::default().to_string(), "");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CallPlace {
    /// Path of the innermost module of the model that was active; `None` if there was none, or if
    /// calls were not recorded.
    pub module: Option<String>,
    /// File and line of the call; `None` if unknown.
    pub location: Option<String>,
}

/// Places of calls by their names in a recording.
pub type CallPlaces = BTreeMap<String, CallPlace>;

impl CallPlace {
    /// Returns true if nothing is known of the place.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.module.is_none() && self.location.is_none()
    }
}

impl fmt::Display for CallPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.location, &self.module];
        let known: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        f.write_str(&known.join(", "))
    }
}
