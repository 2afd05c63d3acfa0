//! Schemas: columns that are known by their ids, whatever they are called.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::document::Object;
use crate::fault::{Error, Result};

/// The field that a position delete file names data files in.
pub const DELETED_PATH_FIELD: i32 = 2_147_483_546;

/// The field that has the positions of deleted rows in their data file.
pub const DELETED_POSITION_FIELD: i32 = 2_147_483_545;

/// Digits of a decimal at most.
const PRECISION_MAX: u8 = 38;

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// True or false.
    Boolean,
    /// 32 bits.
    Int,
    /// 64 bits.
    Long,
    /// 32 bits.
    Float,
    /// 64 bits.
    Double,
    /// Digits, and those behind the point.
    Decimal {
        /// Digits.
        precision: u8,
        /// Those behind the point.
        scale: u8,
    },
    /// A day.
    Date,
    /// A time of day in microseconds.
    Time,
    /// Microseconds without a zone.
    Timestamp,
    /// Microseconds in UTC.
    TimestampTz,
    /// Text in UTF-8.
    String,
    /// 16 bytes.
    Uuid,
    /// So many bytes.
    Fixed(u32),
    /// Bytes.
    Binary,
    /// A type that cannot be read, by its name: a nested one, or one of a later version.
    Unreadable(String),
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it is known by, under all names that it ever had.
    pub id: i32,
    /// Its name in this schema.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// The columns of a table, at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Its number.
    pub id: i32,
    /// Columns in their order.
    pub fields: Vec<Field>,
}

/// The ids of columns by their names, for files that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMapping(BTreeMap<String, i32>);

impl Type {
    /// Reads a type as schemas name it.
    ///
    /// # Errors
    /// Damaged for a type of no sense; unknown ones are [`Type::Unreadable`].
    pub(crate) fn parse(json: &Json) -> Result<Type> {
        let Some(name) = json.as_str() else {
            let nested = Object::of(json, "a type")?.text("type")?;
            return Ok(Type::Unreadable(nested.to_owned()));
        };
        let wrong = || Error::damaged(format!("\"{name}\" is no type"));
        if let Some(digits) = within(name, "decimal(") {
            let (precision, scale) = digits.split_once(',').ok_or_else(wrong)?;
            let precision = precision.trim().parse().map_err(|_| wrong())?;
            let scale = scale.trim().parse().map_err(|_| wrong())?;
            let fits = (1..=PRECISION_MAX).contains(&precision) && scale <= precision;
            return if fits { Ok(Type::Decimal { precision, scale }) } else { Err(wrong()) };
        }
        if let Some(length) = within(name, "fixed[") {
            return Ok(Type::Fixed(length.trim().parse().map_err(|_| wrong())?));
        }
        Ok(match name {
            "boolean" => Type::Boolean,
            "int" => Type::Int,
            "long" => Type::Long,
            "float" => Type::Float,
            "double" => Type::Double,
            "date" => Type::Date,
            "time" => Type::Time,
            "timestamp" => Type::Timestamp,
            "timestamptz" => Type::TimestampTz,
            "string" => Type::String,
            "uuid" => Type::Uuid,
            "binary" => Type::Binary,
            other => Type::Unreadable(other.to_owned()),
        })
    }
}

/// What stands in the brackets of a type.
fn within<'a>(name: &'a str, start: &str) -> Option<&'a str> {
    name.strip_prefix(start)?.strip_suffix([')', ']'])
}

impl Field {
    fn parse(object: Object<'_>) -> Result<Field> {
        let json = object.get("type").ok_or_else(|| Error::damaged("a column has no type"))?;
        let ty = match object.get("initial-default") {
            // Rows of older files have it, which is of version 3.
            Some(_) => Type::Unreadable("with an initial default".to_owned()),
            None => Type::parse(json)?,
        };
        Ok(Field { id: object.int("id")?, name: object.text("name")?.to_owned(), ty })
    }
}

impl Schema {
    pub(crate) fn parse(object: Object<'_>) -> Result<Schema> {
        let fields = object.objects("fields")?.into_iter().map(Field::parse);
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let mut ids: Vec<i32> = fields.iter().map(|field| field.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::damaged("two columns have the same id"));
        }
        Ok(Schema { id: object.int_if("schema-id")?.unwrap_or(0), fields })
    }

    /// The column of an id.
    pub fn field(&self, id: i32) -> Option<&Field> {
        self.fields.iter().find(|field| field.id == id)
    }
}

impl NameMapping {
    /// Reads the table property `schema.name-mapping.default`. Names within others are left out.
    ///
    /// # Errors
    /// Damaged for what is no mapping.
    pub(crate) fn parse(text: &str) -> Result<NameMapping> {
        let wrong = |_| Error::damaged("the name mapping is no JSON");
        let json: Json = serde_json::from_str(text).map_err(wrong)?;
        let list = json.as_array().ok_or_else(|| Error::damaged("the name mapping is no list"))?;
        let mut ids = BTreeMap::new();
        for entry in list {
            let entry = Object::of(entry, "an entry of the name mapping")?;
            let Some(id) = entry.int_if("field-id")? else { continue };
            for name in entry.list("names")? {
                ids.extend(name.as_str().map(|name| (name.to_owned(), id)));
            }
        }
        Ok(NameMapping(ids))
    }

    /// The id of the column that files call so.
    pub fn id(&self, name: &str) -> Option<i32> {
        self.0.get(name).copied()
    }
}
