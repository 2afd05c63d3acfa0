//! What a row description tells of a column beyond its vector's type: which table it is of, and how
//! it was declared. It travels with the field of the result's schema.

use arrow_schema::Field;

use crate::logical::LogicalType;
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

/// The column that it is a copy of.
pub fn place(field: &Field) -> Option<Place> {
    Some(Place { relation: note(field, RELATION)?, column: note(field, COLUMN)? })
}

fn note<T: std::str::FromStr>(field: &Field, key: &str) -> Option<T> {
    field.metadata().get(key)?.parse().ok()
}
