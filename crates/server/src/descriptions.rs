//! Row descriptions, which a statement that runs again has each time.

use arrow_schema::{Schema, SchemaRef};
use types::described;

use crate::message::format_at;
use crate::output::string;

/// Descriptions that a connection keeps.
const KEPT_MAX: usize = 8;

/// Bytes of the longest that it keeps.
const BYTES_MAX: usize = 4 << 10;

/// The bodies of the last row descriptions of a connection.
#[derive(Default)]
pub(crate) struct Descriptions(Vec<Kept>);

struct Kept {
    /// Held, so that no other schema has its address.
    schema: SchemaRef,
    formats: Vec<i16>,
    body: Vec<u8>,
}

impl Descriptions {
    /// Writes the description of rows of `schema`.
    pub(crate) fn write(&mut self, to: &mut Vec<u8>, schema: &SchemaRef, formats: &[i16]) {
        let is_it =
            |kept: &Kept| SchemaRef::ptr_eq(&kept.schema, schema) && kept.formats == formats;
        if let Some(kept) = self.0.iter().find(|kept| is_it(kept)) {
            to.extend_from_slice(&kept.body);
            return;
        }
        let begin = to.len();
        write(to, schema, formats);
        let body = &to[begin..];
        if body.len() > BYTES_MAX {
            return;
        }
        if self.0.len() >= KEPT_MAX {
            self.0.remove(0);
        }
        let (schema, formats, body) = (schema.clone(), formats.to_vec(), body.to_vec());
        self.0.push(Kept { schema, formats, body });
    }
}

fn write(body: &mut Vec<u8>, schema: &Schema, formats: &[i16]) {
    body.extend_from_slice(&(schema.fields().len() as i16).to_be_bytes());
    for (index, field) in schema.fields().iter().enumerate() {
        string(body, field.name());
        let ty = described::wire_type(field);
        let place = described::place(field);
        let (relation, number) = place.map_or((0, 0), |p| (p.relation, p.column));
        body.extend_from_slice(&relation.to_be_bytes());
        body.extend_from_slice(&number.to_be_bytes());
        body.extend_from_slice(&ty.oid.to_be_bytes());
        body.extend_from_slice(&ty.size.to_be_bytes());
        body.extend_from_slice(&ty.modifier.to_be_bytes());
        body.extend_from_slice(&format_at(formats, index).to_be_bytes());
    }
}
