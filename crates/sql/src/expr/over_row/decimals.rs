//! Sums, differences and products of decimals over a row.

use arrow_schema::{DataType, Schema};
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr};
use plan::expr::{DecimalResult, DecimalSide, Operation, RowExpr};
use types::cells::is_word;

use super::{Node, over_row};
use crate::expr::library::as_node;

/// A side with its scale.
struct Side {
    side: DecimalSide,
    scale: i8,
}

/// Arithmetic of decimals whose result is of this type.
pub(super) fn arithmetic(
    binary: &BinaryExpr,
    operation: Operation,
    ty: &DataType,
    input: &Schema,
) -> Option<RowExpr> {
    let DataType::Decimal128(precision, scale) = *ty else { return None };
    let (mut left, mut right) = (Side::of(binary.left(), input)?, Side::of(binary.right(), input)?);
    let has_scale = match operation {
        Operation::Add | Operation::Subtract => {
            left.widen(scale)?;
            right.widen(scale)?;
            true
        }
        Operation::Multiply => left.scale.checked_add(right.scale)? == scale,
        Operation::Divide | Operation::Remainder => false,
    };
    let sides = [left.side, right.side];
    let result = DecimalResult { operation, sides, precision, is_word: is_word(ty) };
    has_scale.then(|| RowExpr::Decimal(Box::new(result)))
}

impl Side {
    fn of(node: &Node, input: &Schema) -> Option<Side> {
        let ty = node.data_type(input).ok()?;
        let DataType::Decimal128(precision, scale) = ty else { return None };
        if let Some(cast) = as_node::<CastExpr>(node) {
            return Side::of_cast(cast, (precision, scale), input);
        }
        Some(Side { side: DecimalSide { expr: over_row(node, input)?, power: 0 }, scale })
    }

    /// A cast that no value fails.
    fn of_cast(cast: &CastExpr, (precision, scale): (u8, i8), input: &Schema) -> Option<Side> {
        let (digits, own_scale) = match cast.expr().data_type(input).ok()? {
            DataType::Int16 => (5, 0),
            DataType::Int32 => (10, 0),
            DataType::Int64 => (19, 0),
            DataType::Decimal128(precision, scale) => (precision.checked_sub_signed(scale)?, scale),
            _ => return None,
        };
        if precision.checked_sub_signed(scale)? < digits {
            return None;
        }
        let side = DecimalSide { expr: over_row(cast.expr(), input)?, power: 0 };
        let mut side = Side { side, scale: own_scale };
        side.widen(scale)?;
        Some(side)
    }

    /// Gives it a larger scale; `None` where it is larger already.
    fn widen(&mut self, scale: i8) -> Option<()> {
        let more = u32::try_from(scale.checked_sub(self.scale)?).ok()?;
        (self.side.power, self.scale) = (self.side.power + more, scale);
        Some(())
    }
}
