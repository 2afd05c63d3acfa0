//! The certificate of a server and its private key.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use engine::{Configuration, SqlError, SqlResult, SqlState};
use server::Tls;

/// The certificate that the configuration names; `None` when it names none.
///
/// # Errors
/// F0000 for one without a key or a key without one, for files that cannot be read, that hold
/// something else, or a key that others may read.
pub fn read(configuration: &Configuration) -> SqlResult<Option<Tls>> {
    let (certificate, key) = (configuration.text("tls_cert"), configuration.text("tls_key"));
    let (certificate, key) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => return Err(error("tls_cert needs tls_key".to_owned())),
        (None, Some(_)) => return Err(error("tls_key needs tls_cert".to_owned())),
    };
    check_access(&key)?;
    let chain = bytes("server certificate", &certificate)?;
    let tls = Tls::new(&chain, &bytes("private key", &key)?);
    tls.map(Some).map_err(|why| {
        error(format!("could not load server certificate file \"{certificate}\": {why}"))
    })
}

fn error(message: String) -> SqlError {
    SqlError::new(SqlState("F0000"), message)
}

fn bytes(what: &str, path: &str) -> SqlResult<Vec<u8>> {
    std::fs::read(path)
        .map_err(|why| error(format!("could not load {what} file \"{path}\": {why}")))
}

/// As PostgreSQL: a key is for its owner, or for a group when it is the system's.
fn check_access(path: &str) -> SqlResult<()> {
    let metadata = std::fs::metadata(path)
        .map_err(|why| error(format!("could not access private key file \"{path}\": {why}")))?;
    let forbidden = if metadata.uid() == 0 { 0o027 } else { 0o077 };
    if metadata.permissions().mode() & forbidden == 0 {
        return Ok(());
    }
    let message = format!("private key file \"{path}\" has group or world access");
    Err(error(message).with_detail(
        "File must have permissions u=rw (0600) or less if owned by the database user, or \
         permissions u=rw,g=r (0640) or less if owned by root.",
    ))
}
