//! Databases that are opened from a bucket alone: tables that another database wrote, to be read.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use engine::{Database, Options, SqlError, SqlResult};
use types::SqlState;

/// What locations begin with that the keys of the environment are for.
const S3: &str = "s3://";

/// The location that a name of a database is, if it is one.
pub(crate) fn location_of(database: &Path) -> Option<&str> {
    let text = database.to_str()?;
    [S3, "gs://", "az://"].iter().any(|start| text.starts_with(start)).then_some(text)
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

/// Variables that say where keys are found. Without any of them a bucket is asked without keys: nobody waits
/// for a metadata service that is not there.
const CHAIN: [&str; 4] = [
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// Opens the tables of a location with the keys of the environment.
///
/// # Errors
/// Those of the folder and of the store; 58P01 where there are no tables.
pub(crate) fn open(location: &str, options: Options) -> SqlResult<(Database, Scratch)> {
    let scratch = Scratch::new()?;
    let db = Database::create(&scratch.0.join("bucket.dovetail"), options)?;
    if location.starts_with(S3) {
        // The environment's keys are for all that its user reads.
        make_secret(&db, S3)?;
    }
    db.session().attach_all(location)?;
    Ok((db, scratch))
}

/// Gives the database the keys of the environment for locations within a scope.
///
/// # Errors
/// Those of the statement.
pub(crate) fn make_secret(db: &Database, scope: &str) -> SqlResult<()> {
    let options = [
        ("key_id", "AWS_ACCESS_KEY_ID"),
        ("secret", "AWS_SECRET_ACCESS_KEY"),
        ("session_token", "AWS_SESSION_TOKEN"),
        ("region", "AWS_REGION"),
        ("endpoint", "AWS_ENDPOINT_URL"),
        ("encryption_key", "DOVETAIL_ENCRYPTION_KEY"),
    ];
    let given = options.iter().filter_map(|(option, variable)| {
        let value = std::env::var(variable).ok().filter(|value| !value.is_empty())?;
        Some(format!("{option} '{}'", value.replace('\'', "''")))
    });
    let mut given: Vec<String> = given.collect();
    let is_set = |variable: &&str| std::env::var(variable).is_ok_and(|value| !value.is_empty());
    let has_keys =
        ["key_id", "session_token"].iter().any(|key| given.iter().any(|g| g.starts_with(key)));
    if !has_keys && CHAIN.iter().any(is_set) {
        given.push("provider 'credential_chain'".to_owned());
    }
    // A region alone says where, and not who.
    let says_who = given.iter().any(|option| !option.starts_with("region"));
    if !says_who {
        return Ok(());
    }
    let (given, scope) = (given.join(", "), scope.replace('\'', "''"));
    db.session()
        .execute(&format!("create secret environment (type s3, scope '{scope}', {given})"))
        .map(drop)
}
