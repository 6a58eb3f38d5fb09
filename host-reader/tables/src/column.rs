//! Columns and their values in a row.

use crate::{ColumnKind, ColumnSchema, Scope, Table};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// Column of a table: its description, and the function that reads its value from a row.
pub struct Column<T: Table> {
    /// Description of the column: its name, type and meaning, and the outputs in which it is shown.
    pub schema: ColumnSchema,
    getter: Getter<T>,
}

/// Value of one column in one row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'r> {
    /// No value. [`ColumnSchema::null_means`] describes the reason.
    Null,
    /// Value of a [`ColumnKind::Unsigned32`] column.
    Unsigned32(u32),
    /// Value of a [`ColumnKind::Unsigned64`] column.
    Unsigned64(u64),
    /// Value of a [`ColumnKind::Signed64`] column.
    Signed64(i64),
    /// Value of a [`ColumnKind::Flag`] column.
    Flag(bool),
    /// Value of a [`ColumnKind::Real`] column.
    Real(f64),
    /// Value of a [`ColumnKind::Text`] column.
    Text(Cow<'r, str>),
}

type Get<T, V> = for<'r, 'a> fn(&'r <T as Table>::Row<'a>) -> V;
type GetText<T> = for<'r, 'a> fn(&'r <T as Table>::Row<'a>) -> Cow<'r, str>;
type GetOptionalText<T> = for<'r, 'a> fn(&'r <T as Table>::Row<'a>) -> Option<Cow<'r, str>>;

/// Function that reads a column's value from a row, with one variant for each type of value. Only
/// the variants with `Optional` in their names can return null.
enum Getter<T: Table> {
    Unsigned32(Get<T, u32>),
    OptionalUnsigned32(Get<T, Option<u32>>),
    Unsigned64(Get<T, u64>),
    OptionalUnsigned64(Get<T, Option<u64>>),
    Signed64(Get<T, i64>),
    OptionalSigned64(Get<T, Option<i64>>),
    Flag(Get<T, bool>),
    OptionalFlag(Get<T, Option<bool>>),
    OptionalReal(Get<T, Option<f64>>),
    Text(GetText<T>),
    OptionalText(GetOptionalText<T>),
}

/// Defines constructors of columns, one for each variant of [`Getter`].
macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident $kind:ident $getter:ident($type:ty) $(, $null:ident)?;)*) => {
        impl<T: Table> Column<T> {
            $($(#[$doc])*
            pub(crate) const fn $name(
                name: &'static str,
                meaning: &'static str,
                $($null: &'static str,)?
                get: $type,
            ) -> Self {
                let null_means = constructors!(@null $($null)?);
                Self::new(name, ColumnKind::$kind, meaning, null_means, Getter::$getter(get))
            })*
        }
    };
    (@null) => { None };
    (@null $null:ident) => { Some($null) };
}

constructors! {
    /// A column of unsigned 32-bit numbers.
    small Unsigned32 Unsigned32(Get<T, u32>);
    /// A nullable column of unsigned 32-bit numbers.
    optional_small Unsigned32 OptionalUnsigned32(Get<T, Option<u32>>), null_means;
    /// A column of unsigned 64-bit numbers.
    number Unsigned64 Unsigned64(Get<T, u64>);
    /// A nullable column of unsigned 64-bit numbers.
    optional_number Unsigned64 OptionalUnsigned64(Get<T, Option<u64>>), null_means;
    /// A column of signed 64-bit numbers.
    signed Signed64 Signed64(Get<T, i64>);
    /// A nullable column of signed 64-bit numbers.
    optional_signed Signed64 OptionalSigned64(Get<T, Option<i64>>), null_means;
    /// A column of flags.
    flag Flag Flag(Get<T, bool>);
    /// A nullable column of flags.
    optional_flag Flag OptionalFlag(Get<T, Option<bool>>), null_means;
    /// A nullable column of floating-point numbers.
    optional_real Real OptionalReal(Get<T, Option<f64>>), null_means;
    /// A column of text.
    text Text Text(GetText<T>);
    /// A nullable column of text.
    optional_text Text OptionalText(GetOptionalText<T>), null_means;
}

impl<T: Table> Column<T> {
    const fn new(
        name: &'static str,
        kind: ColumnKind,
        meaning: &'static str,
        null_means: Option<&'static str>,
        getter: Getter<T>,
    ) -> Self {
        let schema = ColumnSchema {
            name,
            kind,
            meaning,
            null_means,
            scope: Scope::Report,
            title: None,
            is_hidden_if_empty: false,
            is_bounded: false,
        };
        Self { schema, getter }
    }

    /// Shows the column in every output. `title` is the column's header in the terminal.
    pub(crate) const fn titled(mut self, title: &'static str) -> Self {
        self.schema.title = Some(title);
        self.in_summary()
    }

    /// Does the same as `titled`, but the terminal hides the column if its value is null in all
    /// rows.
    pub(crate) const fn titled_if_any(mut self, title: &'static str) -> Self {
        self.schema.is_hidden_if_empty = true;
        self.titled(title)
    }

    /// Marks the column's values in the terminal as lower bounds, in rows where the column
    /// `is_lower_bound` is true.
    pub(crate) const fn bounded(mut self) -> Self {
        self.schema.is_bounded = true;
        self
    }

    /// Shows the column in every output except the terminal. The answers of the MCP server show the
    /// column, too.
    pub(crate) const fn in_summary(mut self) -> Self {
        self.schema.scope = Scope::Summary;
        self
    }

    /// Shows the column only in Parquet datasets.
    pub(crate) const fn in_dataset(mut self) -> Self {
        self.schema.scope = Scope::Dataset;
        self
    }

    /// Reads the value of the column in a row.
    #[must_use]
    pub fn value<'r>(&self, row: &'r T::Row<'_>) -> Value<'r> {
        match self.getter {
            Getter::Unsigned32(get) => Value::Unsigned32(get(row)),
            Getter::OptionalUnsigned32(get) => get(row).map_or(Value::Null, Value::Unsigned32),
            Getter::Unsigned64(get) => Value::Unsigned64(get(row)),
            Getter::OptionalUnsigned64(get) => get(row).map_or(Value::Null, Value::Unsigned64),
            Getter::Signed64(get) => Value::Signed64(get(row)),
            Getter::OptionalSigned64(get) => get(row).map_or(Value::Null, Value::Signed64),
            Getter::Flag(get) => Value::Flag(get(row)),
            Getter::OptionalFlag(get) => get(row).map_or(Value::Null, Value::Flag),
            Getter::OptionalReal(get) => get(row).map_or(Value::Null, Value::Real),
            Getter::Text(get) => Value::Text(get(row)),
            Getter::OptionalText(get) => get(row).map_or(Value::Null, Value::Text),
        }
    }
}

impl Value<'_> {
    /// Returns the value as a non-negative number. Flags are 1 or 0; other values return `None`.
    ///
    /// ```
    /// use tables::Value;
    /// assert_eq!(Value::Unsigned32(4).number(), Some(4));
    /// assert_eq!(Value::Null.number(), None);
    /// ```
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match *self {
            Self::Unsigned32(number) => Some(number.into()),
            Self::Unsigned64(number) => Some(number),
            Self::Signed64(number) => number.try_into().ok(),
            Self::Flag(flag) => Some(flag.into()),
            Self::Null | Self::Real(_) | Self::Text(_) => None,
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => out.serialize_none(),
            Self::Unsigned32(number) => out.serialize_u32(*number),
            Self::Unsigned64(number) => out.serialize_u64(*number),
            Self::Signed64(number) => out.serialize_i64(*number),
            Self::Flag(flag) => out.serialize_bool(*flag),
            Self::Real(number) => out.serialize_f64(*number),
            Self::Text(text) => out.serialize_str(text),
        }
    }
}
