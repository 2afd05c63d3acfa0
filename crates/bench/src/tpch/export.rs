//! The generated rows as `.tbl` files, for other engines, and what makes their tables.

use std::fs::{self, File, create_dir_all};
use std::io::{BufWriter, Result, Write};
use std::path::Path;

use tpchgen::generators as g;

use super::generate::Table;
use super::schema::{INDEXES, TABLES};

/// Writes `<table>.tbl` for each table into `folder`: fields end with `|`, rows with a line feed.
/// `schema.sql` and `indexes.sql` beside them make the tables and their indexes.
pub fn export(scale: f64, folder: &Path) -> Result<()> {
    create_dir_all(folder)?;
    for table in &TABLES {
        let file = File::create(folder.join(format!("{}.tbl", table.name)))?;
        let mut out = BufWriter::new(file);
        write_rows(table.table, scale, &mut out)?;
        out.flush()?;
    }
    let script = |statements: Vec<&str>| statements.join(";\n\n") + ";\n";
    fs::write(folder.join("schema.sql"), script(TABLES.iter().map(|t| t.ddl).collect()))?;
    fs::write(folder.join("indexes.sql"), script(INDEXES.iter().map(|i| i.1).collect()))
}

fn write_rows(table: Table, scale: f64, out: &mut impl Write) -> Result<()> {
    macro_rules! all {
        ($generator:ident) => {
            for row in g::$generator::new(scale, 1, 1).iter() {
                writeln!(out, "{row}")?;
            }
        };
    }
    match table {
        Table::Region => all!(RegionGenerator),
        Table::Nation => all!(NationGenerator),
        Table::Supplier => all!(SupplierGenerator),
        Table::Customer => all!(CustomerGenerator),
        Table::Part => all!(PartGenerator),
        Table::PartSupp => all!(PartSuppGenerator),
        Table::Orders => all!(OrderGenerator),
        Table::LineItem => all!(LineItemGenerator),
    }
    Ok(())
}
