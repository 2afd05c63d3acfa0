//! Avro schemas: how values are written.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::document::Object;
use crate::fault::{Error, Result};

/// How a value is written.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Null,
    Boolean,
    /// Of 32 or 64 bits; the number of a symbol.
    Whole,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    /// A number in bytes, the highest first, which are written so.
    Decimal(Box<Shape>),
    Array(Box<Shape>),
    Map(Box<Shape>),
    Union(Vec<Shape>),
    /// A record, by its number.
    Record(usize),
}

/// The fields of a record: their ids, or -1, and how they are written.
pub(super) type Fields = Vec<(i32, Shape)>;

/// A schema.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    records: Vec<Fields>,
    named: BTreeMap<String, Shape>,
    root: usize,
}

impl Shapes {
    pub(super) fn parse(schema: &[u8]) -> Result<Shapes> {
        let wrong = |_| Error::damaged("its Avro schema is no JSON");
        let json: Json = serde_json::from_slice(schema).map_err(wrong)?;
        let mut shapes = Shapes::default();
        match shapes.shape(&json)? {
            Shape::Record(root) => shapes.root = root,
            _ => return Err(Error::damaged("its Avro schema is of no record")),
        }
        Ok(shapes)
    }

    /// The number of the outermost record.
    pub(super) fn root(&self) -> usize {
        self.root
    }

    pub(super) fn fields(&self, record: usize) -> &Fields {
        &self.records[record]
    }

    fn shape(&mut self, json: &Json) -> Result<Shape> {
        match json {
            Json::String(name) => self.of_name(name),
            Json::Array(branches) => {
                let branches = branches.iter().map(|branch| self.shape(branch));
                Ok(Shape::Union(branches.collect::<Result<Vec<_>>>()?))
            }
            other => self.of_object(Object::of(other, "an Avro type")?),
        }
    }

    fn of_name(&self, name: &str) -> Result<Shape> {
        Ok(match name {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "int" | "long" => Shape::Whole,
            "float" => Shape::Float,
            "double" => Shape::Double,
            "bytes" => Shape::Bytes,
            "string" => Shape::String,
            other => {
                let known = self.named.get(other.rsplit('.').next().unwrap_or(other)).cloned();
                return known.ok_or_else(|| Error::damaged(format!("no Avro type \"{other}\"")));
            }
        })
    }

    fn of_object(&mut self, object: Object<'_>) -> Result<Shape> {
        let json = object.get("type").ok_or_else(|| Error::damaged("an Avro type has no type"))?;
        let inner = |name: &str| {
            object.get(name).ok_or_else(|| Error::damaged(format!("an Avro type has no {name}")))
        };
        let is_decimal = object.get("logicalType").and_then(Json::as_str) == Some("decimal");
        match json.as_str() {
            Some("bytes") if is_decimal => Ok(Shape::Decimal(Box::new(Shape::Bytes))),
            Some("record") => self.record(object),
            Some("array") => Ok(Shape::Array(Box::new(self.shape(inner("items")?)?))),
            Some("map") => Ok(Shape::Map(Box::new(self.shape(inner("values")?)?))),
            Some("enum") => Ok(self.name(object, Shape::Whole)),
            Some("fixed") => {
                let size = usize::try_from(object.int("size")?);
                let size = size.map_err(|_| Error::damaged("an Avro type has a negative size"))?;
                Ok(self.name(
                    object,
                    match is_decimal {
                        true => Shape::Decimal(Box::new(Shape::Fixed(size))),
                        false => Shape::Fixed(size),
                    },
                ))
            }
            _ => self.shape(json),
        }
    }

    fn name(&mut self, object: Object<'_>, shape: Shape) -> Shape {
        let name = object.get("name").and_then(Json::as_str).unwrap_or_default();
        let name = name.rsplit('.').next().unwrap_or(name);
        self.named.insert(name.to_owned(), shape.clone());
        shape
    }

    fn record(&mut self, object: Object<'_>) -> Result<Shape> {
        let number = self.records.len();
        self.records.push(vec![]);
        // Its fields may be of its own type.
        let shape = self.name(object, Shape::Record(number));
        let mut fields = vec![];
        for field in object.objects("fields")? {
            let json = field.get("type").ok_or_else(|| Error::damaged("a field has no type"))?;
            fields.push((field.int_if("field-id")?.unwrap_or(-1), self.shape(json)?));
        }
        self.records[number] = fields;
        Ok(shape)
    }
}
