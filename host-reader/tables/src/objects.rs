//! JSON objects and arrays for tables that exist in only one output.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// Field of a JSON object: its name, and the function that returns its value for an item.
pub type Field<T> = (&'static str, fn(&T) -> Value);

/// An item as a JSON object.
pub struct Object<T> {
    item: T,
    fields: Vec<Field<T>>,
}

/// Items as a JSON list, with one object for each item.
pub struct Objects<T> {
    items: Vec<T>,
    fields: Vec<Field<T>>,
}

/// Items as one JSON object, with one array for each field.
pub struct Arrays<T>(Objects<T>);

impl<T> Object<T> {
    /// Creates the object of an item from its fields.
    pub fn new<const COUNT: usize>(item: T, fields: [Field<T>; COUNT]) -> Self {
        Self { item, fields: fields.into() }
    }
}

impl<T> Objects<T> {
    /// Creates the objects of items. All items have the same fields.
    pub fn new<const COUNT: usize>(
        items: impl IntoIterator<Item = T>,
        fields: [Field<T>; COUNT],
    ) -> Self {
        Self { items: items.into_iter().collect(), fields: fields.into() }
    }

    /// Returns the names of the fields, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.fields.iter().map(|(name, _)| *name)
    }

    /// Returns the number of items.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there are no items.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the values of an item in the order of the fields; none if there is no such item.
    #[must_use]
    pub fn values(&self, index: usize) -> Vec<Value> {
        let item = self.items.get(index).into_iter();
        item.flat_map(|item| self.fields.iter().map(move |(_, value)| value(item))).collect()
    }
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { items: Vec::new(), fields: Vec::new() }
    }
}

impl<T> Arrays<T> {
    /// Creates the arrays of items. All items have the same fields.
    pub fn new<const COUNT: usize>(
        items: impl IntoIterator<Item = T>,
        fields: [Field<T>; COUNT],
    ) -> Self {
        Self(Objects::new(items, fields))
    }
}

impl<T> Serialize for Objects<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.items.iter().map(|item| {
            Entries(move || self.fields.iter().map(move |(name, value)| (name, value(item))))
        }))
    }
}

impl<T> Serialize for Object<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.fields.iter().map(|(name, value)| (name, value(&self.item))))
    }
}

impl<T> Serialize for Arrays<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Objects { items, fields } = &self.0;
        out.collect_map(
            fields.iter().map(|(name, value)| (name, List(move || items.iter().map(*value)))),
        )
    }
}

/// JSON list of an iterator's items. The field is a function that returns a new iterator; it is
/// called each time the list is serialized.
pub(crate) struct List<F>(pub(crate) F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq((self.0)())
    }
}

/// JSON object of an iterator's names and values. The field is a function that returns a new
/// iterator; it is called each time the object is serialized.
pub(crate) struct Entries<F>(pub(crate) F);

impl<K: Serialize, V: Serialize, I: Iterator<Item = (K, V)>, F: Fn() -> I> Serialize
    for Entries<F>
{
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map((self.0)())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields that are not in alphabetical order. Tests use them to show that the JSON object keeps
    /// the order of this list.
    const FIELDS: [Field<(u32, Option<&str>)>; 2] =
        [("size_bytes", |item| item.0.into()), ("name", |item| item.1.into())];

    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).expect("values of JSON")
    }

    #[test]
    fn fields_stand_in_the_order_given_and_an_unknown_value_is_null() {
        let items = [(64, Some("cb_in")), (0, None)];
        assert_eq!(json(&Object::new(items[0], FIELDS)), r#"{"size_bytes":64,"name":"cb_in"}"#);
        assert_eq!(
            json(&Objects::new(items, FIELDS)),
            r#"[{"size_bytes":64,"name":"cb_in"},{"size_bytes":0,"name":null}]"#
        );
        assert_eq!(
            json(&Arrays::new(items, FIELDS)),
            r#"{"size_bytes":[64,0],"name":["cb_in",null]}"#
        );
    }
}
