//! What a row description tells of a column beyond its vector's type: which table it is of, and how
//! it was declared. It travels with the field of the result's schema.

use arrow_schema::Field;

use crate::logical::{ANY_LENGTH, LogicalType};
use crate::oid::{self, WireType};

/// A column of a table or view: the oid of the relation, the column's number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The oid.
    pub relation: u32,
    /// The number.
    pub column: i16,
}

/// Where a result's column comes from, as far as that is one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The column that it is a copy of.
    pub place: Option<Place>,
    /// The type that was declared for it; `None` for what is computed.
    pub declared: Option<Declared>,
}

/// A declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// One of ours.
    Own(LogicalType),
    /// One that is another here and has a number of its own to clients: no length.
    Text(u32),
}

impl Declared {
    /// The type of a column that is made of it.
    pub fn column_type(self) -> Option<LogicalType> {
        let varchar = LogicalType::Varchar(ANY_LENGTH);
        match self {
            Declared::Own(ty) => Some(ty),
            Declared::Text(oid::VARCHAR) => Some(varchar),
            Declared::Text(array) if Some(array) == oid::array_of(oid::VARCHAR) => {
                Some(varchar.array_of())
            }
            Declared::Text(_) => None,
        }
    }
}

const RELATION: &str = "relation";
const COLUMN: &str = "column";
const TYPE: &str = "type";
const SIZE: &str = "size";
const MODIFIER: &str = "modifier";

impl Declared {
    fn wire(self) -> WireType {
        match self {
            Declared::Own(ty) => oid::of_logical(ty),
            Declared::Text(oid) => WireType { oid, size: oid::size(oid), modifier: -1 },
        }
    }
}

/// The field with its origin. Computed columns keep the type of their vectors, without a length.
pub fn with_origin(field: Field, origin: Origin) -> Field {
    let mut notes = field.metadata().clone();
    if let Some(place) = origin.place {
        notes.insert(RELATION.into(), place.relation.to_string());
        notes.insert(COLUMN.into(), place.column.to_string());
    }
    let own = oid::of(field.data_type());
    let ty = match origin.declared {
        Some(declared) => declared.wire(),
        None => WireType { modifier: -1, ..own },
    };
    if (ty.oid, ty.modifier) != (own.oid, own.modifier) {
        notes.insert(TYPE.into(), ty.oid.to_string());
        notes.insert(SIZE.into(), ty.size.to_string());
        notes.insert(MODIFIER.into(), ty.modifier.to_string());
    }
    field.with_metadata(notes)
}

/// The type of a column to clients.
pub fn wire_type(field: &Field) -> WireType {
    let own = oid::of(field.data_type());
    WireType {
        oid: note(field, TYPE).unwrap_or(own.oid),
        size: note(field, SIZE).unwrap_or(own.size),
        modifier: note(field, MODIFIER).unwrap_or(own.modifier),
    }
}

/// The type of a column that is made of a field of a result: with the length that was declared, if
/// it is text or an array of it.
pub fn column_type(field: &Field) -> LogicalType {
    let own = LogicalType::of_arrow(field.data_type()).unwrap_or(LogicalType::Text);
    let wire = wire_type(field);
    let text = |oid| match (oid, oid::characters(wire.modifier)) {
        (oid::VARCHAR, length) => Some(LogicalType::Varchar(length.unwrap_or(ANY_LENGTH))),
        (oid::BPCHAR, Some(length)) => Some(LogicalType::Char(length)),
        _ => None,
    };
    match own {
        LogicalType::Text => text(wire.oid).unwrap_or(own),
        LogicalType::Array(LogicalType::Text) => {
            let element = oid::element_of(wire.oid).and_then(text);
            element.map_or(own, LogicalType::array_of)
        }
        own => own,
    }
}

/// The column that it is a copy of.
pub fn place(field: &Field) -> Option<Place> {
    Some(Place { relation: note(field, RELATION)?, column: note(field, COLUMN)? })
}

fn note<T: std::str::FromStr>(field: &Field, key: &str) -> Option<T> {
    field.metadata().get(key)?.parse().ok()
}
