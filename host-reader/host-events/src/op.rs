//! The host's metadata of ops.

use std::sync::Arc;
use wire::RunHostId;

/// The host's metadata of one op.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpMetadata {
    /// Id of the chip that ran the op.
    pub chip_id: u32,
    /// Id that the host assigned to the runs of the op's program. Reports show the same id.
    pub run_host_id: RunHostId,
    /// Keys and values in their original order. The value of the key `name` is the op's name.
    ///
    /// If the op's program was taken from the program cache, these are the fields of the first op
    /// that ran the program.
    pub fields: Arc<[(String, String)]>,
}

impl OpMetadata {
    /// Key of an op's name.
    pub const NAME: &'static str = "name";
    /// Key of the path of the module that called an op, such as `Model.layers.0.attention`.
    pub const MODULE: &'static str = "module";
    /// Key of the function that called an op.
    pub const CALL_FUNCTION: &'static str = "call_function";
    /// Key of the file and line of an op's call, such as `model.py:12`.
    pub const CALL_LOCATION: &'static str = "call_location";

    /// Returns the first value with this key.
    ///
    /// ```
    /// use host_events::OpMetadata;
    /// let fields = [("name".to_owned(), "Matmul".to_owned())].into();
    /// let op = OpMetadata { fields, ..OpMetadata::default() };
    /// assert_eq!(op.value(OpMetadata::NAME), Some("Matmul"));
    /// ```
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Returns the op's name, and where the program called it.
    #[must_use]
    pub fn texts(&self) -> OpTexts<'_> {
        OpTexts {
            name: self.value(Self::NAME),
            module: self.value(Self::MODULE),
            call_function: self.value(Self::CALL_FUNCTION),
            call_location: self.value(Self::CALL_LOCATION),
        }
    }
}

/// The name that the host gave to an op, and where the program called it; `None` where it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTexts<'a> {
    /// Name.
    pub name: Option<&'a str>,
    /// Path of the module of the model.
    pub module: Option<&'a str>,
    /// Function that called the op.
    pub call_function: Option<&'a str>,
    /// File and line of the call.
    pub call_location: Option<&'a str>,
}

/// Column titles of `tracy_ops_times.csv`, the file from which tt-metal's scripts read the host's
/// zones.
pub const OP_TIMES_TITLES: [&str; 9] = [
    "name",
    "src_file",
    "src_line",
    "zone_name",
    "zone_text",
    "ns_since_start",
    "exec_time_ns",
    "thread",
    "special_parent_text",
];
/// Column titles of `tracy_ops_data.csv`, the file from which tt-metal's scripts read the host's
/// messages.
pub const OP_MESSAGES_TITLES: [&str; 2] = ["MessageName", "total_ns"];
