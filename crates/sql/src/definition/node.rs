//! Expressions with the types and conversions that PostgreSQL gives them.

use datafusion_sql::sqlparser::ast::{self, BinaryOperator, UnaryOperator, Value};
use types::parse::ColumnParser;
use types::text::format_value;
use types::{ANY_LENGTH, Column, LogicalType, Schema};

use crate::parse::column_type;
use crate::parse::object_name::identifier;

/// An expression whose types are known.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// With the name of its relation, where that is shown.
    Column {
        relation: Option<String>,
        name: String,
        ty: LogicalType,
    },
    /// A number as it is written, or text in quotes without a type of its own (`None`).
    Constant {
        text: String,
        ty: Option<LogicalType>,
    },
    Null,
    /// A conversion, which is written behind the value.
    Cast {
        value: Box<Node>,
        ty: LogicalType,
    },
    Operator {
        left: Box<Node>,
        name: &'static str,
        right: Box<Node>,
        ty: LogicalType,
    },
    Minus {
        value: Box<Node>,
        ty: LogicalType,
    },
    Not(Box<Node>),
    /// `AND` or `OR`.
    All {
        word: &'static str,
        parts: Vec<Node>,
    },
    /// `IS NULL` and its kin.
    Test {
        value: Box<Node>,
        words: &'static str,
    },
    /// `x = ANY (array)`, `x <> ALL (array)`.
    Listed {
        value: Box<Node>,
        words: &'static str,
        array: Box<Node>,
    },
    Array {
        items: Vec<Node>,
        element: LogicalType,
    },
    Call {
        name: String,
        arguments: Vec<Node>,
        ty: LogicalType,
    },
    /// A function without parentheses.
    Word {
        name: &'static str,
        ty: LogicalType,
    },
}

const TEXT: LogicalType = LogicalType::Text;
const BOOL: LogicalType = LogicalType::Bool;

/// A name that is no function's, but a word of the syntax.
pub(super) const COALESCE: &str = "COALESCE";

/// Text of a length that is compared as `text`.
fn is_varchar(ty: LogicalType) -> bool {
    matches!(ty, LogicalType::Varchar(_))
}

fn is_integer(ty: LogicalType) -> bool {
    matches!(ty, LogicalType::Int16 | LogicalType::Int32 | LogicalType::Int64)
}

fn is_decimal(ty: LogicalType) -> bool {
    matches!(ty, LogicalType::Decimal { .. })
}

/// A numeric without precision.
const NUMERIC: LogicalType = LogicalType::Decimal { precision: 38, scale: 0 };

impl Node {
    /// Its type; `None` of a literal that has none yet.
    pub(super) fn ty(&self) -> Option<LogicalType> {
        Some(match self {
            Node::Column { ty, .. }
            | Node::Cast { ty, .. }
            | Node::Operator { ty, .. }
            | Node::Minus { ty, .. }
            | Node::Call { ty, .. }
            | Node::Word { ty, .. } => *ty,
            Node::Constant { ty, .. } => return *ty,
            Node::Null => return None,
            Node::Not(_) | Node::All { .. } | Node::Test { .. } | Node::Listed { .. } => BOOL,
            Node::Array { element, .. } => element.array_of(),
        })
    }

    /// A literal of no type takes this one, or `text`; other nodes stay as they are.
    pub(super) fn settled(self, ty: Option<LogicalType>) -> Option<Node> {
        match self {
            Node::Constant { text, ty: None } => typed(text, ty.unwrap_or(TEXT)),
            other => Some(other),
        }
    }

    fn cast(self, ty: LogicalType) -> Node {
        Node::Cast { value: Box::new(self), ty }
    }

    /// As an operand or argument that is `text`.
    fn into_text(self) -> Option<Node> {
        match self.ty() {
            None => self.settled(Some(TEXT)),
            Some(LogicalType::Text) => Some(self),
            Some(ty) if is_varchar(ty) => Some(self.cast(TEXT)),
            Some(_) => None,
        }
    }
}

/// The literal as a constant of the type, in the form that the type's output has.
fn typed(text: String, ty: LogicalType) -> Option<Node> {
    let canonical = match ty {
        LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => text,
        LogicalType::Decimal { .. } => types::blanks::trimmed(&text).to_owned(),
        _ => {
            let mut parser =
                ColumnParser::new(&Column { name: String::new(), ty, nullable: false });
            parser.push(Some(&text)).ok()?;
            format_value(&parser.finish(), 0)?
        }
    };
    Some(Node::Constant { text: canonical, ty: Some(ty) })
}

/// Builds nodes over the columns of a table.
pub(super) struct Builder<'a> {
    pub(super) schema: &'a Schema,
    /// The name of the relation, where columns show it.
    pub(super) prefix: Option<&'a str>,
}

impl Builder<'_> {
    pub(super) fn build(&self, expr: &ast::Expr) -> Option<Node> {
        use ast::Expr;
        Some(match expr {
            Expr::Nested(inner) => self.build(inner)?,
            Expr::Identifier(name) => self.column(&identifier(name))?,
            Expr::CompoundIdentifier(parts) => self.column(&identifier(parts.last()?))?,
            Expr::Value(value) => constant(&value.value)?,
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => self.negative(expr)?,
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                Node::Not(Box::new(self.boolean(expr)?))
            }
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.joined("AND", left, right)?
            }
            Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
                self.joined("OR", left, right)?
            }
            Expr::BinaryOp { left, op, right } => {
                operator(self.build(left)?, op, self.build(right)?)?
            }
            Expr::IsNull(value) => self.test(value, "IS NULL")?,
            Expr::IsNotNull(value) => self.test(value, "IS NOT NULL")?,
            Expr::IsTrue(value) => self.test(value, "IS TRUE")?,
            Expr::IsNotTrue(value) => self.test(value, "IS NOT TRUE")?,
            Expr::IsFalse(value) => self.test(value, "IS FALSE")?,
            Expr::IsNotFalse(value) => self.test(value, "IS NOT FALSE")?,
            Expr::Between { expr, negated, low, high } => {
                self.between(expr, *negated, low, high)?
            }
            Expr::InList { expr, list, negated } => self.listed(expr, list, *negated)?,
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                let name = if *negated { "!~~" } else { "~~" };
                self.matched(expr, name, pattern)?
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char: None } => {
                let name = if *negated { "!~~*" } else { "~~*" };
                self.matched(expr, name, pattern)?
            }
            Expr::Cast {
                kind: ast::CastKind::DoubleColon | ast::CastKind::Cast,
                expr,
                data_type,
                ..
            } => self.converted(expr, data_type)?,
            Expr::Function(function) => self.call(function)?,
            _ => return None,
        })
    }

    pub(super) fn column(&self, name: &str) -> Option<Node> {
        let column = self.schema.columns.iter().find(|c| c.name == name)?;
        let relation = self.prefix.map(str::to_owned);
        Some(Node::Column { relation, name: column.name.clone(), ty: column.ty.plain() })
    }

    fn boolean(&self, expr: &ast::Expr) -> Option<Node> {
        let node = self.build(expr)?.settled(Some(BOOL))?;
        (node.ty() == Some(BOOL)).then_some(node)
    }

    /// A negative number is a constant.
    fn negative(&self, expr: &ast::Expr) -> Option<Node> {
        Some(match self.build(expr)? {
            Node::Constant { text, ty: Some(ty) } => {
                Node::Constant { text: format!("-{text}"), ty: Some(ty) }
            }
            value => {
                let ty = value.ty()?;
                Node::Minus { value: Box::new(value), ty }
            }
        })
    }

    /// What a chain of one word begins with is flat.
    fn joined(&self, word: &'static str, left: &ast::Expr, right: &ast::Expr) -> Option<Node> {
        let is_chain = matches!(plain(left), ast::Expr::BinaryOp { .. });
        let mut parts = match self.boolean(left)? {
            Node::All { word: inner, parts } if inner == word && is_chain => parts,
            other => vec![other],
        };
        parts.push(self.boolean(right)?);
        Some(Node::All { word, parts })
    }

    fn test(&self, value: &ast::Expr, words: &'static str) -> Option<Node> {
        let value = self.build(value)?.settled(None)?;
        Some(Node::Test { value: Box::new(value), words })
    }

    fn between(
        &self,
        value: &ast::Expr,
        negated: bool,
        low: &ast::Expr,
        high: &ast::Expr,
    ) -> Option<Node> {
        let (first, last, word) = match negated {
            false => (BinaryOperator::GtEq, BinaryOperator::LtEq, "AND"),
            true => (BinaryOperator::Lt, BinaryOperator::Gt, "OR"),
        };
        let value = self.build(value)?;
        let first = operator(value.clone(), &first, self.build(low)?)?;
        let last = operator(value, &last, self.build(high)?)?;
        Some(Node::All { word, parts: vec![first, last] })
    }

    fn listed(&self, value: &ast::Expr, list: &[ast::Expr], negated: bool) -> Option<Node> {
        let value = self.build(value)?;
        if let [one] = list {
            let op = if negated { BinaryOperator::NotEq } else { BinaryOperator::Eq };
            return operator(value, &op, self.build(one)?);
        }
        let ty = value.ty()?;
        let items = list.iter().map(|item| self.build(item)).collect::<Option<Vec<_>>>()?;
        let items = items.into_iter().map(|item| item.settled(Some(ty)));
        let items = items.collect::<Option<Vec<_>>>()?;
        let words = if negated { "<> ALL" } else { "= ANY" };
        let same = |node: &Node| match (node.ty(), ty) {
            (Some(LogicalType::Varchar(_)), LogicalType::Varchar(_)) => true,
            (Some(item), ty) => item == ty,
            (None, _) => false,
        };
        if !items.iter().all(same) || matches!(ty, LogicalType::Char(_)) {
            return None;
        }
        let array = Node::Array { items, element: ty };
        let (value, array) = match is_varchar(ty) {
            true => (value.cast(TEXT), array.cast(TEXT.array_of())),
            false => (value, array),
        };
        Some(Node::Listed { value: Box::new(value), words, array: Box::new(array) })
    }

    fn matched(&self, value: &ast::Expr, name: &'static str, pattern: &ast::Expr) -> Option<Node> {
        let (left, right) = (self.build(value)?.into_text()?, self.build(pattern)?.into_text()?);
        Some(Node::Operator { left: Box::new(left), name, right: Box::new(right), ty: BOOL })
    }

    /// A literal becomes a constant of the type; another value is converted.
    fn converted(&self, value: &ast::Expr, ty: &ast::DataType) -> Option<Node> {
        let ty = cast_type(ty)?;
        match self.build(value)? {
            Node::Constant { text, ty: None } => typed(text, ty),
            value if value.ty() == Some(ty) => Some(value),
            value => Some(value.cast(ty)),
        }
    }

    fn call(&self, function: &ast::Function) -> Option<Node> {
        let name = identifier(function.name.0.last()?.as_ident()?);
        let given = match &function.args {
            ast::FunctionArguments::None => return word(&name),
            ast::FunctionArguments::List(list) if list.clauses.is_empty() => &list.args,
            _ => return None,
        };
        let mut arguments = vec![];
        for argument in given {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument else {
                return None;
            };
            arguments.push(self.build(expr)?);
        }
        let ty = match (name.as_str(), arguments.len()) {
            ("length" | "char_length" | "character_length" | "octet_length", 1) => {
                LogicalType::Int32
            }
            ("lower" | "upper" | "md5", 1) => TEXT,
            ("now", 0) => LogicalType::TimestampTz,
            ("gen_random_uuid", 0) => LogicalType::Uuid,
            ("random", 0) => LogicalType::Float64,
            ("abs", 1) | ("coalesce", 1..) => arguments[0].ty()?,
            _ => return word(&name).filter(|_| arguments.is_empty()),
        };
        if name == "coalesce" {
            return coalesce(arguments);
        }
        if name != "abs" {
            arguments = arguments.into_iter().map(Node::into_text).collect::<Option<_>>()?;
        }
        Some(Node::Call { name, arguments, ty })
    }
}

/// `COALESCE`, which is written so, of arguments that have one type.
fn coalesce(arguments: Vec<Node>) -> Option<Node> {
    let ty = arguments.iter().find_map(Node::ty)?;
    let settled = arguments.into_iter().map(|argument| argument.settled(Some(ty)));
    let arguments = settled.collect::<Option<Vec<_>>>()?;
    let alike = arguments.iter().all(|argument| argument.ty() == Some(ty));
    alike.then(|| Node::Call { name: COALESCE.into(), arguments, ty })
}

/// Without the parentheses around it.
fn plain(expr: &ast::Expr) -> &ast::Expr {
    match expr {
        ast::Expr::Nested(inner) => plain(inner),
        other => other,
    }
}

/// The type of a cast; one with a length or precision is more than one conversion.
fn cast_type(ty: &ast::DataType) -> Option<LogicalType> {
    use ast::{DataType, ExactNumberInfo};
    match ty {
        DataType::Numeric(ExactNumberInfo::None) | DataType::Decimal(ExactNumberInfo::None) => {
            Some(NUMERIC)
        }
        DataType::Varchar(None) | DataType::CharacterVarying(None) => {
            Some(LogicalType::Varchar(ANY_LENGTH))
        }
        DataType::Char(_) | DataType::Character(_) => None,
        other => match column_type(other).ok()? {
            LogicalType::Varchar(_) | LogicalType::Decimal { .. } | LogicalType::Rounded(..) => {
                None
            }
            ty => Some(ty),
        },
    }
}

fn word(name: &str) -> Option<Node> {
    let (name, ty) = match name {
        "current_timestamp" => ("CURRENT_TIMESTAMP", LogicalType::TimestampTz),
        "current_date" => ("CURRENT_DATE", LogicalType::Date),
        "localtimestamp" => ("LOCALTIMESTAMP", LogicalType::Timestamp),
        "current_user" => ("CURRENT_USER", TEXT),
        "session_user" => ("SESSION_USER", TEXT),
        _ => return None,
    };
    Some(Node::Word { name, ty })
}

fn constant(value: &Value) -> Option<Node> {
    Some(match value {
        Value::Null => Node::Null,
        Value::Boolean(flag) => {
            Node::Constant { text: if *flag { "t" } else { "f" }.into(), ty: Some(BOOL) }
        }
        Value::SingleQuotedString(text) => Node::Constant { text: text.clone(), ty: None },
        Value::Number(text, _) => {
            let ty = match (text.parse::<i32>(), text.parse::<i64>()) {
                (Ok(_), _) => LogicalType::Int32,
                (_, Ok(_)) => LogicalType::Int64,
                _ => NUMERIC,
            };
            Node::Constant { text: text.clone(), ty: Some(ty) }
        }
        _ => return None,
    })
}

fn operator(left: Node, op: &BinaryOperator, right: Node) -> Option<Node> {
    let (name, compares) = match op {
        BinaryOperator::Eq => ("=", true),
        BinaryOperator::NotEq => ("<>", true),
        BinaryOperator::Lt => ("<", true),
        BinaryOperator::LtEq => ("<=", true),
        BinaryOperator::Gt => (">", true),
        BinaryOperator::GtEq => (">=", true),
        BinaryOperator::Plus => ("+", false),
        BinaryOperator::Minus => ("-", false),
        BinaryOperator::Multiply => ("*", false),
        BinaryOperator::Divide => ("/", false),
        BinaryOperator::Modulo => ("%", false),
        BinaryOperator::StringConcat => {
            let (left, right) = (Box::new(left.into_text()?), Box::new(right.into_text()?));
            return Some(Node::Operator { left, name: "||", right, ty: TEXT });
        }
        BinaryOperator::PGRegexMatch => {
            let (left, right) = (Box::new(left.into_text()?), Box::new(right.into_text()?));
            return Some(Node::Operator { left, name: "~", right, ty: BOOL });
        }
        _ => return None,
    };
    let (left, right, common) = alike(left, right)?;
    let ty = match compares {
        true => BOOL,
        false if is_integer(common) || is_decimal(common) || common == LogicalType::Float64 => {
            common
        }
        false => return None,
    };
    Some(Node::Operator { left: Box::new(left), name, right: Box::new(right), ty })
}

/// Both operands as an operator takes them, and the type that they have in common.
fn alike(left: Node, right: Node) -> Option<(Node, Node, LogicalType)> {
    let (left, right) = match (left.ty(), right.ty()) {
        (None, None) => return None,
        (None, Some(ty)) => (left.settled(Some(of_literal(ty)))?, right),
        (Some(ty), None) => {
            let right = right.settled(Some(of_literal(ty)))?;
            (left, right)
        }
        _ => (left, right),
    };
    let (l, r) = (left.ty()?, right.ty()?);
    if l == LogicalType::Text || r == LogicalType::Text || is_varchar(l) || is_varchar(r) {
        return Some((left.into_text()?, right.into_text()?, TEXT));
    }
    if l == r || is_decimal(l) && is_decimal(r) {
        return Some((left, right, l));
    }
    if let (LogicalType::Char(_), LogicalType::Char(_)) = (l, r) {
        return Some((left, right, l));
    }
    let rank = |ty: LogicalType| match ty {
        LogicalType::Int16 => Some(0),
        LogicalType::Int32 => Some(1),
        LogicalType::Int64 => Some(2),
        LogicalType::Decimal { .. } => Some(3),
        LogicalType::Float64 => Some(4),
        _ => None,
    };
    let common = if rank(l)? >= rank(r)? { l } else { r };
    if is_integer(common) {
        return Some((left, right, common));
    }
    let common = if is_decimal(common) { NUMERIC } else { common };
    let as_common = |node: Node, ty: LogicalType| match (ty, common) {
        (ty, common) if ty == common => node,
        (LogicalType::Decimal { .. }, LogicalType::Decimal { .. }) => node,
        _ => node.cast(common),
    };
    Some((as_common(left, l), as_common(right, r), common))
}

/// What a literal becomes beside an operand of this type.
fn of_literal(ty: LogicalType) -> LogicalType {
    if is_varchar(ty) { TEXT } else { ty }
}
