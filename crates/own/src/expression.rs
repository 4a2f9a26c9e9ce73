//! Arithmetic in `op.toml`: sizes, work and conditions over axes and attributes.

use std::fmt;
use std::str::FromStr;

/// An expression of whole numbers: `2 * rows * (cols / g)`, `cols % g == 0`, `min(rows, 8)`.
///
/// Its operators are those of C, with C's precedence: `* / %`, `+ -`, comparisons, `&&`, `||`. A
/// comparison is 1 or 0. Functions are `min`, `max` and `ceil_div`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Number(i64),
    Name(String),
    Binary(Operator, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Min,
    Max,
    CeilDivide,
}

/// The binary operators by their text and precedence. A longer text stands before its beginning.
const OPERATORS: &[(&str, u8, Operator)] = &[
    ("||", 1, Operator::Or),
    ("&&", 2, Operator::And),
    ("==", 3, Operator::Equal),
    ("!=", 3, Operator::Unequal),
    ("<=", 4, Operator::LessOrEqual),
    (">=", 4, Operator::GreaterOrEqual),
    ("<", 4, Operator::Less),
    (">", 4, Operator::Greater),
    ("+", 5, Operator::Add),
    ("-", 5, Operator::Subtract),
    ("*", 6, Operator::Multiply),
    ("/", 6, Operator::Divide),
    ("%", 6, Operator::Remainder),
];

const FUNCTIONS: &[(&str, Operator)] =
    &[("min", Operator::Min), ("max", Operator::Max), ("ceil_div", Operator::CeilDivide)];

/// Parentheses deeper than this are refused, so that no text overflows the stack.
const DEEPEST: usize = 64;

/// Why a text is no expression, or an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The text does not follow the grammar.
    #[error("`{text}` is no expression: expected {expected} at `{rest}`")]
    Syntax {
        /// The whole text.
        text: String,
        /// What could stand there.
        expected: &'static str,
        /// The rest of the text from there.
        rest: String,
    },
    /// A name is no axis and no attribute.
    #[error("`{text}` names `{name}`, which is no axis and no attribute with a whole number")]
    Unknown {
        /// The whole text.
        text: String,
        /// The name.
        name: String,
    },
    /// A division by zero, or a result beyond 64 bits.
    #[error("`{0}` divides by zero or exceeds 64 bits for these sizes")]
    Range(String),
}

impl Expression {
    /// A whole number.
    pub fn number(value: i64) -> Expression {
        Expression { text: value.to_string(), root: Node::Number(value) }
    }

    /// The value of a name.
    pub fn name(name: &str) -> Expression {
        Expression { text: name.to_owned(), root: Node::Name(name.to_owned()) }
    }

    /// Whether it uses a name.
    pub fn uses(&self, name: &str) -> bool {
        self.root.uses(name)
    }

    /// Its value where `value_of` tells the value of a name.
    ///
    /// # Errors
    /// If a name has no value, or the result has none.
    pub fn value(&self, value_of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, ExpressionError> {
        self.root.value(value_of).map_err(|error| match error {
            Valueless::Name(name) => ExpressionError::Unknown { text: self.text.clone(), name },
            Valueless::Range => ExpressionError::Range(self.text.clone()),
        })
    }
}

enum Valueless {
    Name(String),
    Range,
}

impl Node {
    fn uses(&self, wanted: &str) -> bool {
        match self {
            Node::Number(_) => false,
            Node::Name(name) => name == wanted,
            Node::Binary(_, left, right) => left.uses(wanted) || right.uses(wanted),
        }
    }

    fn value(&self, value_of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, Valueless> {
        let (operator, left, right) = match self {
            Node::Number(number) => return Ok(*number),
            Node::Name(name) => {
                return value_of(name).ok_or_else(|| Valueless::Name(name.clone()));
            }
            Node::Binary(operator, left, right) => (operator, left, right),
        };
        let (left, right) = (left.value(value_of)?, right.value(value_of)?);
        let value = match operator {
            Operator::Or => Some(i64::from(left != 0 || right != 0)),
            Operator::And => Some(i64::from(left != 0 && right != 0)),
            Operator::Equal => Some(i64::from(left == right)),
            Operator::Unequal => Some(i64::from(left != right)),
            Operator::Less => Some(i64::from(left < right)),
            Operator::LessOrEqual => Some(i64::from(left <= right)),
            Operator::Greater => Some(i64::from(left > right)),
            Operator::GreaterOrEqual => Some(i64::from(left >= right)),
            Operator::Add => left.checked_add(right),
            Operator::Subtract => left.checked_sub(right),
            Operator::Multiply => left.checked_mul(right),
            Operator::Divide => left.checked_div(right),
            Operator::Remainder => left.checked_rem(right),
            Operator::Min => Some(left.min(right)),
            Operator::Max => Some(left.max(right)),
            Operator::CeilDivide => match right > 0 {
                true => Some(left.div_euclid(right) + i64::from(left.rem_euclid(right) > 0)),
                false => None,
            },
        };
        value.ok_or(Valueless::Range)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Expression, ExpressionError> {
        let text = text.trim();
        let mut parser = Parser { rest: text, depth: 0 };
        let root = parser.binary(1).and_then(|root| {
            parser.skip_blanks();
            if parser.rest.is_empty() { Ok(root) } else { Err("an operator or the end") }
        });
        let syntax = |expected| ExpressionError::Syntax {
            text: text.to_owned(),
            expected,
            rest: parser.rest.to_owned(),
        };
        root.map(|root| Expression { text: text.to_owned(), root }).map_err(syntax)
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Operators of at least this precedence.
    fn binary(&mut self, least: u8) -> Result<Node, &'static str> {
        let mut left = self.operand()?;
        loop {
            self.skip_blanks();
            let found = OPERATORS.iter().find(|(word, _, _)| self.rest.starts_with(word));
            let Some(&(word, precedence, operator)) = found.filter(|found| found.1 >= least) else {
                return Ok(left);
            };
            self.rest = &self.rest[word.len()..];
            let right = self.binary(precedence + 1)?;
            left = Node::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn operand(&mut self) -> Result<Node, &'static str> {
        const EXPECTED: &str = "a number, a name or `(`";
        if self.eat("(") {
            return self.nested().and_then(|inner| self.close(inner));
        }
        if self.eat("-") {
            self.depth += 1;
            let operand = if self.depth > DEEPEST { Err("fewer signs") } else { self.operand() };
            self.depth -= 1;
            let (zero, operand) = (Box::new(Node::Number(0)), Box::new(operand?));
            return Ok(Node::Binary(Operator::Subtract, zero, operand));
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse().map_err(|_| "a whole number of 64 bits")?;
            self.rest = rest;
            return Ok(Node::Number(number));
        }
        if word.is_empty() {
            return Err(EXPECTED);
        }
        self.rest = rest;
        if !self.eat("(") {
            return Ok(Node::Name(word.to_owned()));
        }
        let found = FUNCTIONS.iter().find(|(name, _)| *name == word);
        let operator = found.ok_or("one of the functions min, max, ceil_div")?.1;
        let left = self.nested()?;
        if !self.eat(",") {
            return Err("`,` and a second argument");
        }
        let right = self.nested()?;
        self.close(Node::Binary(operator, Box::new(left), Box::new(right)))
    }

    fn nested(&mut self) -> Result<Node, &'static str> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("fewer parentheses");
        }
        let inner = self.binary(1);
        self.depth -= 1;
        inner
    }

    fn close(&mut self, inner: Node) -> Result<Node, &'static str> {
        if self.eat(")") { Ok(inner) } else { Err("`)`") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, ExpressionError> {
        let names = [("rows", 6), ("cols", 20), ("g", 8)];
        let of = |name: &str| names.iter().find(|(known, _)| *known == name).map(|found| found.1);
        text.parse::<Expression>()?.value(&of)
    }

    #[test]
    fn operators_have_the_precedence_of_c() {
        assert_eq!(value("2 + 3 * 4 - 1"), Ok(13));
        assert_eq!(value("(2 + 3) * 4 % 7"), Ok(6));
        assert_eq!(value("10 - 4 - 3"), Ok(3));
        assert_eq!(value("-rows * 2 - -1"), Ok(-11));
        assert_eq!(value("cols % g == 4 && rows != cols"), Ok(1));
        assert_eq!(value("rows >= 6 && rows > 6"), Ok(0));
        assert_eq!(value("ceil_div(cols, g) * max(rows, min(g, 7))"), Ok(21));
    }

    #[test]
    fn a_text_that_is_no_expression_is_refused_where_it_ends_to_be_one() {
        let refused = |text| value(text).unwrap_err().to_string();
        assert!(refused("rows +").contains("expected a number, a name or `(`"));
        assert!(refused("rows cols").contains("an operator or the end at `cols`"));
        assert!(refused("sin(rows, 1)").contains("min, max, ceil_div"));
        assert!(refused("depth * 2").contains("`depth`, which is no axis"));
        assert!(refused("1 / (rows - 6)").contains("divides by zero"));
        assert!(value(&"(".repeat(9999)).unwrap_err().to_string().contains("fewer parentheses"));
        assert!(refused("9223372036854775807 + rows").contains("64 bits"));
    }
}
