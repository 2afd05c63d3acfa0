//! Columns that directories tell: `year=2024/month=07/a.parquet`, as Apache Hive lays tables out.

use sql::FileCall;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::columns::{ColumnType, FileColumn, Origin};
use super::found::Found;

/// The name of a directory for rows that have no value.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// What the paths of the files of a call say.
#[derive(Default)]
pub(super) struct Partitions {
    names: Vec<String>,
    /// The values, for each file.
    values: Vec<Vec<Option<String>>>,
}

impl Partitions {
    /// What is said by directories with names such as `year=2024`. Unless the call says something else they
    /// count where all files have the same ones.
    ///
    /// # Errors
    /// 22P04 for files in different directories where the call wants their columns.
    pub(super) fn of(call: &FileCall, found: &[Found]) -> SqlResult<Partitions> {
        let wanted = super::options::flag(call, "hive_partitioning")?;
        let none = || Partitions { names: vec![], values: vec![vec![]; found.len()] };
        if wanted == Some(false) {
            return Ok(none());
        }
        let parts: Vec<_> = found.iter().map(|file| pairs(&file.path)).collect();
        let names_of = |pairs: &[(String, Option<String>)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        let names = parts.first().map(|pairs| names_of(pairs)).unwrap_or_default();
        let other = parts.iter().position(|pairs| names_of(pairs) != names);
        match (other, wanted) {
            (None, _) => {}
            (Some(other), Some(true)) => {
                let message = "files lie in directories of different columns";
                let (one, other) = (&found[0].path, &found[other].path);
                let detail = format!("One is \"{one}\", another one \"{other}\".");
                return Err(
                    SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_detail(detail)
                );
            }
            (Some(_), _) => return Ok(none()),
        }
        let values = parts.into_iter().map(|pairs| pairs.into_iter().map(|(_, v)| v).collect());
        Ok(Partitions { names, values: values.collect() })
    }

    /// The columns of files with these in them: what paths say stands last, and before what a file says
    /// under the same name.
    pub(super) fn columns(&self, stored: Vec<FileColumn>) -> Vec<FileColumn> {
        let mut columns = stored;
        columns.retain(|column| !self.names.contains(&column.name));
        columns.extend(self.names.iter().enumerate().map(|(number, name)| FileColumn {
            name: name.clone(),
            ty: ColumnType::Known(self.type_of(number)),
            origin: Origin::Path(number),
        }));
        columns
    }

    /// Numbers where all values are such.
    fn type_of(&self, number: usize) -> LogicalType {
        let mut values = self.values.iter().filter_map(|values| values[number].as_ref());
        match values.all(|value| value.parse::<i64>().is_ok()) {
            true => LogicalType::Int64,
            false => LogicalType::Text,
        }
    }

    /// What the path of each file says.
    pub(super) fn values(self) -> Vec<Vec<Option<String>>> {
        self.values
    }
}

/// The names and values of a path's directories.
fn pairs(path: &str) -> Vec<(String, Option<String>)> {
    let directories = path.rsplit_once('/').map_or("", |(directories, _)| directories);
    let pair = |directory: &str| {
        let (name, value) = directory.split_once('=').filter(|(name, _)| !name.is_empty())?;
        let value = decoded(value);
        Some((decoded(name), (value != NO_VALUE).then_some(value)))
    };
    directories.split('/').filter_map(pair).collect()
}

/// A text in which `%2F` stands for a slash, and so on.
fn decoded(text: &str) -> String {
    let (bytes, mut decoded, mut at) = (text.as_bytes(), vec![], 0);
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|_| bytes[at] == b'%') {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests;
