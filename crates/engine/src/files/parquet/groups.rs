//! Row groups that a condition excludes, by the bounds that the file states for its columns.

use arrow_array::{Array, ArrayRef};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::SortOrder;
use parquet::file::statistics::Statistics;
use plan::{RestrictionTest, ScalarValue};
use types::LogicalType;

use super::super::convert;
use super::super::restrict::{Bounds, excludes};
use super::footer::ParquetFile;

/// Whether no row of a group can fulfil a test of a column, which is given by its number in the first
/// file. What the file does not say excludes nothing.
pub(crate) fn is_skipped(
    file: &ParquetFile,
    group: usize,
    column: (usize, LogicalType),
    test: &RestrictionTest,
) -> bool {
    bounds(file, group, column).is_some_and(|bounds| excludes(test, &bounds))
}

fn bounds(file: &ParquetFile, group: usize, (number, ty): (usize, LogicalType)) -> Option<Bounds> {
    // Bounds of floats leave out what is no number, which is the largest value here.
    if matches!(ty, LogicalType::Float32 | LogicalType::Float64) {
        return None;
    }
    let place = file.places[number];
    let field = &file.fields()[place];
    let leaf = (0..file.schema().num_columns())
        .find(|leaf| file.schema().get_column_root_idx(*leaf) == place)?;
    let metadata = &file.groups()[group];
    let statistics: &Statistics = metadata.column(leaf).statistics()?;
    let order = file.schema().column(leaf).sort_order();
    // Old writers have compared everything with signs.
    let is_ordered = match statistics.is_min_max_deprecated() {
        true => order == SortOrder::SIGNED,
        false => order != SortOrder::UNDEFINED,
    };
    if !is_ordered {
        return None;
    }
    let converter = StatisticsConverter::from_column_index(leaf, field, file.schema()).ok()?;
    let bound = |array: ArrayRef| {
        let array = convert::converted(&array, ty).ok().filter(|array| array.is_valid(0))?;
        ScalarValue::try_from_array(&array, 0).ok()
    };
    Some(Bounds {
        min: converter.row_group_mins([metadata]).ok().and_then(bound),
        max: converter.row_group_maxes([metadata]).ok().and_then(bound),
        null_count: statistics.null_count_opt(),
        row_count: u64::try_from(metadata.num_rows()).ok()?,
    })
}
