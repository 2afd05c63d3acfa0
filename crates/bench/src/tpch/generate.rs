//! Rows of the TPC-H tables as batches, from the `tpchgen` library.

use std::fmt::{Display, Write};
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators as g;

/// Rows of a generated batch.
const BATCH_ROWS: usize = 8192;

/// A TPC-H table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the specification's names
pub enum Table {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    PartSupp,
    Orders,
    LineItem,
}

/// Rows of a table at a scale factor; of `lineitem` about.
pub fn row_count(table: Table, scale: f64) -> u64 {
    let per_scale = match table {
        Table::Region => return 5,
        Table::Nation => return 25,
        Table::Supplier => 10_000.0,
        Table::Customer => 150_000.0,
        Table::Part => 200_000.0,
        Table::PartSupp => 800_000.0,
        Table::Orders => 1_500_000.0,
        Table::LineItem => 6_001_215.0,
    };
    (per_scale * scale) as u64
}

/// Part `part` (from 1) of `part_count` of a table's rows, a batch at a time, until `each` fails.
pub fn generate<E>(
    table: Table,
    scale: f64,
    (part, part_count): (i32, i32),
    schema: &SchemaRef,
    mut each: impl FnMut(RecordBatch) -> Result<(), E>,
) -> Result<(), E> {
    let mut rows = Rows::new(schema);
    macro_rules! feed {
        ($generator:ident) => {
            for row in g::$generator::new(scale, part, part_count).iter() {
                rows.push(&row);
                if rows.row_count == BATCH_ROWS {
                    each(rows.finish())?;
                }
            }
        };
    }
    match table {
        Table::Region => feed!(RegionGenerator),
        Table::Nation => feed!(NationGenerator),
        Table::Supplier => feed!(SupplierGenerator),
        Table::Customer => feed!(CustomerGenerator),
        Table::Part => feed!(PartGenerator),
        Table::PartSupp => feed!(PartSuppGenerator),
        Table::Orders => feed!(OrderGenerator),
        Table::LineItem => feed!(LineItemGenerator),
    }
    if rows.row_count > 0 { each(rows.finish()) } else { Ok(()) }
}

/// Columns under construction.
struct Rows {
    schema: SchemaRef,
    columns: Vec<Column>,
    row_count: usize,
    text: String,
}

enum Column {
    Int64(Vec<i64>),
    Int32(Vec<i32>),
    Decimal(Vec<i128>),
    Date(Vec<i32>),
    Text(StringViewBuilder),
}

/// A generated row: gives its fields in the order of the table's columns.
trait Row {
    fn fields(&self, fields: &mut Fields<'_>);
}

/// Takes the fields of one row.
struct Fields<'a> {
    columns: std::slice::IterMut<'a, Column>,
    text: &'a mut String,
}

impl Fields<'_> {
    fn next(&mut self) -> &mut Column {
        self.columns.next().expect("a row has as many fields as its table columns")
    }

    fn int(&mut self, value: i64) -> &mut Self {
        match self.next() {
            Column::Int64(values) => values.push(value),
            Column::Int32(values) => values.push(value as i32),
            _ => unreachable!("an integer column"),
        }
        self
    }

    fn decimal(&mut self, value: TPCHDecimal) -> &mut Self {
        let Column::Decimal(values) = self.next() else { unreachable!("a decimal column") };
        values.push(value.into_inner().into());
        self
    }

    fn date(&mut self, value: TPCHDate) -> &mut Self {
        let Column::Date(values) = self.next() else { unreachable!("a date column") };
        values.push(value.to_unix_epoch());
        self
    }

    fn text(&mut self, value: impl Display) -> &mut Self {
        self.text.clear();
        write!(self.text, "{value}").expect("writing to a string cannot fail");
        let Some(Column::Text(values)) = self.columns.next() else { unreachable!("a text column") };
        values.append_value(&self.text);
        self
    }
}

impl Rows {
    fn new(schema: &SchemaRef) -> Rows {
        let column = |field: &Arc<arrow_schema::Field>| match field.data_type() {
            DataType::Int64 => Column::Int64(vec![]),
            DataType::Int32 => Column::Int32(vec![]),
            DataType::Decimal128(..) => Column::Decimal(vec![]),
            DataType::Date32 => Column::Date(vec![]),
            DataType::Utf8View => Column::Text(StringViewBuilder::new()),
            other => unreachable!("TPC-H has no {other}"),
        };
        let columns = schema.fields().iter().map(column).collect();
        Rows { schema: schema.clone(), columns, row_count: 0, text: String::new() }
    }

    fn push(&mut self, row: &impl Row) {
        row.fields(&mut Fields { columns: self.columns.iter_mut(), text: &mut self.text });
        self.row_count += 1;
    }

    fn finish(&mut self) -> RecordBatch {
        self.row_count = 0;
        let array = |column: &mut Column| -> ArrayRef {
            match column {
                Column::Int64(values) => Arc::new(Int64Array::from(std::mem::take(values))),
                Column::Int32(values) => Arc::new(Int32Array::from(std::mem::take(values))),
                Column::Date(values) => Arc::new(Date32Array::from(std::mem::take(values))),
                Column::Text(values) => Arc::new(values.finish()),
                Column::Decimal(values) => {
                    let array = Decimal128Array::from(std::mem::take(values));
                    Arc::new(array.with_precision_and_scale(15, 2).expect("numeric(15,2)"))
                }
            }
        };
        let arrays = self.columns.iter_mut().map(array).collect();
        RecordBatch::try_new(self.schema.clone(), arrays).expect("columns follow the schema")
    }
}

impl Row for g::Region<'_> {
    fn fields(&self, f: &mut Fields<'_>) {
        f.int(self.r_regionkey).text(self.r_name).text(self.r_comment);
    }
}

impl Row for g::Nation<'_> {
    fn fields(&self, f: &mut Fields<'_>) {
        f.int(self.n_nationkey).text(self.n_name).int(self.n_regionkey).text(self.n_comment);
    }
}

impl Row for g::Supplier {
    fn fields(&self, f: &mut Fields<'_>) {
        f.int(self.s_suppkey).text(self.s_name).text(&self.s_address).int(self.s_nationkey);
        f.text(&self.s_phone).decimal(self.s_acctbal).text(&self.s_comment);
    }
}

impl Row for g::Customer<'_> {
    fn fields(&self, f: &mut Fields<'_>) {
        f.int(self.c_custkey).text(self.c_name).text(&self.c_address).int(self.c_nationkey);
        f.text(&self.c_phone).decimal(self.c_acctbal).text(self.c_mktsegment).text(self.c_comment);
    }
}

impl Row for g::Part<'_> {
    fn fields(&self, f: &mut Fields<'_>) {
        f.int(self.p_partkey).text(&self.p_name).text(self.p_mfgr).text(self.p_brand);
        f.text(self.p_type).int(self.p_size.into()).text(self.p_container);
        f.decimal(self.p_retailprice).text(self.p_comment);
    }
}

impl Row for g::PartSupp<'_> {
    fn fields(&self, f: &mut Fields<'_>) {
        f.int(self.ps_partkey).int(self.ps_suppkey).int(self.ps_availqty.into());
        f.decimal(self.ps_supplycost).text(self.ps_comment);
    }
}

impl Row for g::Order<'_> {
    fn fields(&self, f: &mut Fields<'_>) {
        f.int(self.o_orderkey).int(self.o_custkey).text(self.o_orderstatus);
        f.decimal(self.o_totalprice).date(self.o_orderdate).text(self.o_orderpriority);
        f.text(self.o_clerk).int(self.o_shippriority.into()).text(self.o_comment);
    }
}

impl Row for g::LineItem<'_> {
    fn fields(&self, f: &mut Fields<'_>) {
        f.int(self.l_orderkey).int(self.l_partkey).int(self.l_suppkey);
        f.int(self.l_linenumber.into()).decimal(TPCHDecimal(self.l_quantity * 100));
        f.decimal(self.l_extendedprice).decimal(self.l_discount).decimal(self.l_tax);
        f.text(self.l_returnflag).text(self.l_linestatus).date(self.l_shipdate);
        f.date(self.l_commitdate).date(self.l_receiptdate).text(self.l_shipinstruct);
        f.text(self.l_shipmode).text(self.l_comment);
    }
}
