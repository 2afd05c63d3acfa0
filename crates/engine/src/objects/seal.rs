//! Encryption of the objects of a table, by the key of a secret (`docs/format/remote.md`, section 5).

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use objectstore::{ChunkPlace, DataKey, FileId, FileOwner, Opener, Sealer};
use types::{SqlError, SqlResult, SqlState};

/// Bytes of the number of a table, and of the name of an object.
const ID_BYTES: usize = 16;

const MAGIC: &[u8; 4] = b"DVSL";
const VERSION: u32 = 1;
const TABLE_AT: usize = 8;
const FILE_AT: usize = TABLE_AT + ID_BYTES;
const SEALED_AT: usize = FILE_AT + 32;

/// The body of a chunk.
pub(crate) const BODY: ChunkPlace = ChunkPlace { kind: 1, group: 0, column: 0, ordinal: 0 };
const LIST: ChunkPlace = ChunkPlace { kind: 2, group: 0, column: 0, ordinal: 0 };

/// What encrypts the objects of one table.
#[derive(Clone)]
pub(crate) struct Seal {
    key: Arc<DataKey>,
    table: [u8; ID_BYTES],
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(..)")
    }
}

impl Seal {
    /// For the table of this number, in hexadecimal.
    ///
    /// # Errors
    /// XX001 for what is no number.
    pub(crate) fn new(key: &Arc<DataKey>, table: &str) -> SqlResult<Seal> {
        let bytes = bytes_of_hex(table).ok_or_else(|| {
            SqlError::new(SqlState::DATA_CORRUPTED, "an encrypted table has no number")
        })?;
        Ok(Seal { key: key.clone(), table: bytes })
    }

    fn owner(&self) -> FileOwner {
        FileOwner { database: self.table, table: 0 }
    }

    /// The file that is an object of this name: both were drawn by chance, and the name is used once.
    fn file(&self, name: &[u8; ID_BYTES]) -> FileId {
        let mut id = [0; 2 * ID_BYTES];
        id[..ID_BYTES].copy_from_slice(name);
        id[ID_BYTES..].copy_from_slice(&self.table);
        FileId(id)
    }

    /// Encrypts the only chunk of an object.
    ///
    /// # Errors
    /// 54000 for too many bytes.
    pub(crate) async fn seal_body(&self, name: &[u8; ID_BYTES], body: &[u8]) -> SqlResult<Vec<u8>> {
        let mut sealer = Sealer::with_id(&self.key, self.owner(), self.file(name));
        sealer.seal(BODY, body).await.map_err(too_large)
    }

    /// What opens parts of it.
    pub(crate) fn opener(&self, name: &[u8; ID_BYTES]) -> Opener {
        Opener::new(&self.key, self.owner(), self.file(name))
    }

    /// Encrypts a list.
    ///
    /// # Errors
    /// 54000 for too many bytes.
    pub(crate) async fn seal_list(&self, list: &[u8]) -> SqlResult<Vec<u8>> {
        let mut sealer = Sealer::new(&self.key, self.owner());
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend(self.table);
        out.extend(sealer.file_id().0);
        out.extend(sealer.seal(LIST, list).await.map_err(too_large)?);
        Ok(out)
    }
}

/// Whether a list is an encrypted one.
pub(crate) fn is_sealed(list: &[u8]) -> bool {
    list.starts_with(MAGIC)
}

/// Decrypts a list; its bytes, and the number of its table in hexadecimal.
///
/// # Errors
/// XX001 when it was encrypted with another key, or changed since.
pub(crate) async fn open_list(key: &Arc<DataKey>, list: &[u8]) -> SqlResult<(Vec<u8>, String)> {
    let damaged = |why: &str| {
        SqlError::new(SqlState::DATA_CORRUPTED, format!("the encrypted list of a table: {why}"))
    };
    let (head, sealed) =
        list.split_at_checked(SEALED_AT).ok_or_else(|| damaged("it is too short"))?;
    if head[MAGIC.len()..TABLE_AT] != VERSION.to_le_bytes() {
        return Err(damaged("its version is not known"));
    }
    let table: String = head[TABLE_AT..FILE_AT].iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = [0; 32];
    file.copy_from_slice(&head[FILE_AT..]);
    let seal = Seal::new(key, &table)?;
    let opened = Opener::new(key, seal.owner(), FileId(file)).open(LIST, sealed).await;
    let opened = opened.map_err(|_| {
        damaged("it cannot be decrypted")
            .with_detail("It was encrypted with another key, or changed since.")
    })?;
    Ok((opened, table))
}

fn too_large(error: objectstore::Error) -> SqlError {
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, error.to_string())
}

/// The key that a text stands for: 32 bytes, as 64 hexadecimal digits or in base 64.
pub(crate) fn key_of(text: &str) -> Option<DataKey> {
    let bytes = match bytes_of_hex(&text.to_ascii_lowercase()) {
        Some(bytes) => bytes,
        None => BASE64_STANDARD.decode(text).ok()?.try_into().ok()?,
    };
    Some(DataKey::new(bytes))
}

/// The bytes of so many pairs of hexadecimal digits in lower case.
pub(crate) fn bytes_of_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() != 2 * N || !digits.bytes().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}
