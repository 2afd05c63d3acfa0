//! Notes on fields: the types that clients are told.

use types::oid;

/// The note of a cast to a type that is `text` here and another one to clients.
pub(crate) const CAST: &str = "cast";

/// The target of a cast, with the number of the type that clients are told.
pub(crate) fn told(field: arrow_schema::Field, oid: u32) -> arrow_schema::Field {
    field.with_metadata([(CAST.to_owned(), oid.to_string())].into())
}

/// The number of a field's type, as it is told or as its vectors have it; that of what is unknown.
pub(crate) fn told_oid(field: &arrow_schema::Field) -> u32 {
    let told = field.metadata().get(CAST).and_then(|oid| oid.parse().ok());
    told.unwrap_or_else(|| match field.data_type() {
        arrow_schema::DataType::Null => oid::UNKNOWN,
        ty => oid::of(ty).oid,
    })
}
