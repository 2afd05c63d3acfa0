//! Names of metadata files, and where things lie.

use crate::fault::{Error, Result};

const METADATA_ENDS: [&str; 3] = [".gz.metadata.json", ".metadata.json.gz", ".metadata.json"];

/// The version of a metadata file by its name: `v3.metadata.json` or `00003-<number>.metadata.json`; `None` for
/// another file.
pub fn version_of(name: &str) -> Option<u64> {
    let stem = METADATA_ENDS.iter().find_map(|end| name.strip_suffix(end))?;
    let digits = match stem.strip_prefix('v') {
        Some(digits) => digits,
        None => stem.split_once('-')?.0,
    };
    digits.parse().ok()
}

/// The names that a metadata file may have of which `version-hint.text` says this.
pub fn hinted(hint: &str) -> Vec<String> {
    let hint = hint.trim();
    match hint.parse::<u64>() {
        Ok(version) => METADATA_ENDS.iter().rev().map(|end| format!("v{version}{end}")).collect(),
        Err(_) if METADATA_ENDS.iter().any(|end| hint.ends_with(end)) => vec![hint.to_owned()],
        Err(_) => vec![format!("{hint}{}", METADATA_ENDS[2])],
    }
}

/// What metadata names, as a path of a file or the name of an object in the usual form: `s3a://` is `s3://`,
/// `abfss://container@account../path` is `az://container/path`, and `file:///path` is `/path`.
///
/// # Errors
/// Unsupported for other kinds of stores.
pub fn place(text: &str) -> Result<String> {
    if let Some(rest) = text.strip_prefix("file:") {
        let path = rest.strip_prefix("//").unwrap_or(rest);
        return match path.starts_with('/') {
            true => Ok(path.to_owned()),
            false => Err(Error::unsupported(format!("a file of another machine (\"{text}\")"))),
        };
    }
    let Some((scheme, rest)) = text.split_once("://") else { return Ok(text.to_owned()) };
    match scheme {
        "s3" | "gs" | "az" | "http" | "https" => Ok(text.to_owned()),
        "s3a" | "s3n" => Ok(format!("s3://{rest}")),
        "abfs" | "abfss" | "wasb" | "wasbs" => {
            let wrong = || Error::damaged(format!("\"{text}\" names no container"));
            let (container, path) = rest.split_once('@').ok_or_else(wrong)?;
            let (_, path) = path.split_once('/').ok_or_else(wrong)?;
            Ok(format!("az://{container}/{path}"))
        }
        other => Err(Error::unsupported(format!("a store of the kind \"{other}\""))),
    }
}

/// The path of a file of a table that lies at `root` now, and lay at `location` when its metadata was written;
/// `None` for what did not lie there.
pub fn moved(path: &str, location: &str, root: &str) -> Option<String> {
    let rest = path.strip_prefix(location.trim_end_matches('/'))?.strip_prefix('/')?;
    let climbs = rest.split('/').any(|part| part == "..");
    (!climbs).then(|| format!("{}/{rest}", root.trim_end_matches('/')))
}

#[cfg(test)]
mod tests;
