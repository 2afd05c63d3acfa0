//! Files as relations: `read_parquet(..)`, `read_csv(..)`, `iceberg_scan(..)`, and a file's name in the place of a table's.
//!
//! The parser makes each of them a relation of the schema [`FILES_SCHEMA`], whose name says all of the
//! call, and is one that no statement can spell. So they are bound as tables are, and only the engine,
//! which gives the relations, reads files.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{ObjectName, Visitor};

use crate::parse::object_name::last_name;
use crate::parse::statement::query::Query;
use crate::quote::unspelled::{meaning, unspelled};
use crate::walk::Walk;

/// The schema of the relations that stand for files.
pub const FILES_SCHEMA: &str = "pg_files";

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Values between commas, or another character.
    Csv,
    /// The Parquet files that the metadata of an Apache Iceberg table names.
    Iceberg,
}

impl FileFormat {
    /// The function that reads such files.
    pub fn function(self) -> &'static str {
        match self {
            FileFormat::Parquet => "read_parquet",
            FileFormat::Csv => "read_csv",
            FileFormat::Iceberg => "iceberg_scan",
        }
    }

    pub(crate) fn of_function(name: &str) -> Option<FileFormat> {
        let all = [FileFormat::Parquet, FileFormat::Csv, FileFormat::Iceberg];
        all.into_iter().find(|format| format.function() == name)
    }

    /// The format that the end of a file's name stands for.
    pub(crate) fn of_path(path: &str) -> Option<FileFormat> {
        match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "parquet" => Some(FileFormat::Parquet),
            "csv" | "tsv" => Some(FileFormat::Csv),
            _ => None,
        }
    }
}

/// Files that a query reads as one relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCall {
    /// How they are written.
    pub format: FileFormat,
    /// Their paths, which may have wildcards.
    pub paths: Vec<String>,
    /// How they are to be read: names in lower case, with values as texts.
    pub options: Vec<(String, String)>,
}

impl FileCall {
    /// The name of the relation that stands for them.
    pub fn relation_name(&self) -> String {
        let FileCall { format, paths, options } = self;
        unspelled(&serde_json::json!([format.function(), paths, options]).to_string())
    }

    /// The call that a relation of this name stands for.
    pub fn of_relation(name: &str) -> Option<FileCall> {
        let (function, paths, options): (String, _, _) =
            serde_json::from_str(meaning(name)?).ok()?;
        Some(FileCall { format: FileFormat::of_function(&function)?, paths, options })
    }
}

impl Query {
    /// The files that it reads, each call once.
    pub fn files(&self) -> Vec<FileCall> {
        let mut found = Found::default();
        // The visit itself never stops.
        let _ = self.ast.walk(&mut found);
        found.0
    }
}

/// The calls that stand in a syntax tree.
#[derive(Default)]
struct Found(Vec<FileCall>);

impl Visitor for Found {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let call = is_of_files(relation).then(|| FileCall::of_relation(&last_name(relation)));
        if let Some(call) = call.flatten()
            && !self.0.contains(&call)
        {
            self.0.push(call);
        }
        ControlFlow::Continue(())
    }
}

fn is_of_files(relation: &ObjectName) -> bool {
    let schema = relation.0.len().checked_sub(2).and_then(|at| relation.0[at].as_ident());
    schema.is_some_and(|schema| schema.value == FILES_SCHEMA)
}

/// Whether a syntax tree reads files.
pub(crate) fn reads_files(tree: &impl Walk) -> bool {
    let mut found = Found::default();
    // The visit itself never stops.
    let _ = tree.walk(&mut found);
    !found.0.is_empty()
}
