//! JSON for tables that only one output has, built from their items.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// A field: its name, and its value in an item.
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

struct BorrowedObject<'t, T> {
    item: &'t T,
    fields: &'t [Field<T>],
}

struct Array<'t, T> {
    items: &'t [T],
    value: fn(&T) -> Value,
}

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
        let Self { items, fields } = self;
        out.collect_seq(items.iter().map(|item| BorrowedObject { item, fields }))
    }
}

impl<T> Serialize for Object<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        BorrowedObject { item: &self.item, fields: &self.fields }.serialize(out)
    }
}

impl<T> Serialize for BorrowedObject<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.fields.iter().map(|(name, value)| (name, value(self.item))))
    }
}

impl<T> Serialize for Arrays<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Objects { items, fields } = &self.0;
        let mut map = out.serialize_map(Some(fields.len()))?;
        for &(name, value) in fields {
            map.serialize_entry(name, &Array { items, value })?;
        }
        map.end()
    }
}

impl<T> Serialize for Array<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.items.iter().map(self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields that are not ordered by name.
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
