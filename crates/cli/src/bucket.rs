//! Databases that are opened from a bucket alone: tables that another database wrote, to be read.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use engine::{Database, Options, SqlError, SqlResult};
use types::SqlState;

/// What locations begin with, and what the environment has for them.
const KINDS: [(&str, &Environment); 2] = [
    (
        "s3://",
        &Environment {
            kind: "s3",
            options: &[
                ("key_id", "AWS_ACCESS_KEY_ID"),
                ("secret", "AWS_SECRET_ACCESS_KEY"),
                ("session_token", "AWS_SESSION_TOKEN"),
                ("region", "AWS_REGION"),
                ("endpoint", "AWS_ENDPOINT_URL"),
                ("encryption_key", "DOVETAIL_ENCRYPTION_KEY"),
            ],
            chain: &[
                "AWS_PROFILE",
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            ],
        },
    ),
    (
        "gs://",
        &Environment {
            kind: "gcs",
            options: &[
                ("session_token", "CLOUDSDK_AUTH_ACCESS_TOKEN"),
                ("endpoint", "STORAGE_EMULATOR_HOST"),
                ("encryption_key", "DOVETAIL_ENCRYPTION_KEY"),
            ],
            chain: &["GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST"],
        },
    ),
];

/// Which variables belong to the options of a secret.
struct Environment {
    /// The type of the secret.
    kind: &'static str,
    options: &'static [(&'static str, &'static str)],
    /// Variables that say where keys are found. Without any of them a bucket is asked without keys: nobody waits
    /// for a metadata service that is not there.
    chain: &'static [&'static str],
}

/// The location that a name of a database is, if it is one.
pub(crate) fn location_of(database: &Path) -> Option<&str> {
    let text = database.to_str()?;
    ["s3://", "gs://", "az://"].iter().any(|start| text.starts_with(start)).then_some(text)
}

/// A folder of this process for the file that has the headers of the tables, and the keys: nobody else looks into
/// it. It is removed at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    fn new() -> SqlResult<Scratch> {
        let path = std::env::temp_dir().join(format!("dovetail-bucket-{}", std::process::id()));
        // One that exists is somebody else's, whatever is in it.
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| {
            let message = format!("could not create folder \"{}\": {error}", path.display());
            SqlError::new(SqlState::IO_ERROR, message)
        })?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whoever cleans up the folder of temporary files removes what is left here.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Opens the tables of a location with the keys of the environment.
///
/// # Errors
/// Those of the folder and of the store; 58P01 where there are no tables.
pub(crate) fn open(location: &str, options: Options) -> SqlResult<(Database, Scratch)> {
    let scratch = Scratch::new()?;
    let db = Database::create(&scratch.0.join("bucket.dovetail"), options)?;
    if let Some((start, _)) = KINDS.iter().find(|(start, _)| location.starts_with(start)) {
        // The environment's keys are for all that its user reads.
        make_secret(&db, start)?;
    }
    db.session().attach_all(location)?;
    Ok((db, scratch))
}

/// Gives the database the keys of the environment for locations within a scope.
///
/// # Errors
/// Those of the statement.
pub(crate) fn make_secret(db: &Database, scope: &str) -> SqlResult<()> {
    let Some((_, environment)) = KINDS.iter().find(|(start, _)| scope.starts_with(start)) else {
        return Ok(());
    };
    let value = |variable| std::env::var(variable).ok().filter(|value| !value.is_empty());
    let given = environment.options.iter().filter_map(|(option, variable)| {
        Some(format!("{option} '{}'", value(variable)?.replace('\'', "''")))
    });
    let mut given: Vec<String> = given.collect();
    let has_keys =
        ["key_id", "session_token"].iter().any(|key| given.iter().any(|g| g.starts_with(key)));
    if !has_keys && environment.chain.iter().any(|variable| value(variable).is_some()) {
        given.push("provider 'credential_chain'".to_owned());
    }
    // A region alone says where, and not who.
    let says_who = given.iter().any(|option| !option.starts_with("region"));
    if !says_who {
        return Ok(());
    }
    let (kind, given, scope) = (environment.kind, given.join(", "), scope.replace('\'', "''"));
    db.session()
        .execute(&format!("create secret environment (type {kind}, scope '{scope}', {given})"))
        .map(drop)
}
