//! The deterministic form as text: from a predicate to an expression, or to nothing when it is plain language.

use super::value::{Operation, Relation, Value};

/// How deep an expression may nest, and how long a predicate of this form may be.
const MAX_DEPTH: usize = 64;
const MAX_LENGTH: usize = 2_000;

/// An expression over names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Literal(Value),
    /// A dotted name, part by part.
    Name(Vec<String>),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Compare(Relation, Box<Self>, Box<Self>),
    Compute(Operation, Box<Self>, Box<Self>),
    /// Whether a value is there.
    Present(Box<Self>),
    /// Whether a value is one of several.
    Among(Box<Self>, Vec<Self>),
    Call(Function, Vec<Self>),
}

/// The functions there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Sum,
    Count,
    Min,
    Max,
    Abs,
    Round,
}

impl Function {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Self::Sum,
            "count" => Self::Count,
            "min" => Self::Min,
            "max" => Self::Max,
            "abs" => Self::Abs,
            "round" => Self::Round,
            _ => return None,
        })
    }
}

/// Reads a predicate; `None` when it is not of the deterministic form.
pub(crate) fn predicate(text: &str) -> Option<Expression> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        place: 0,
        depth: 0,
    };
    let expression = parser.any()?;
    (parser.place == parser.tokens.len()).then_some(expression)
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    /// A bare word, or a name in back quotes.
    Word(String),
    Quoted(String),
    Sign(&'static str),
}

/// Signs, the longer of two that start alike first.
const SIGNS: [(&str, &str); 20] = [
    ("==", "=="),
    ("!=", "!="),
    ("<>", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("\u{2264}", "<="),
    ("\u{2265}", ">="),
    ("\u{2260}", "!="),
    ("=", "=="),
    ("<", "<"),
    (">", ">"),
    ("+", "+"),
    ("-", "-"),
    ("\u{2212}", "-"),
    ("*", "*"),
    ("/", "/"),
    ("(", "("),
    (")", ")"),
    (",", ","),
    (".", "."),
];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, left) = match first {
            '"' | '\'' => {
                let (inside, left) = enclosed(rest, first)?;
                (Token::Text(inside), left)
            }
            '`' => {
                let (inside, left) = enclosed(rest, first)?;
                (Token::Quoted(inside), left)
            }
            '0'..='9' => {
                let end = rest
                    .find(|c: char| !c.is_ascii_digit() && c != '.')
                    .unwrap_or(rest.len());
                let (number, left) = rest.split_at(end);
                (Token::Number(number.parse().ok()?), left)
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                let (word, left) = rest.split_at(end);
                (Token::Word(word.to_owned()), left)
            }
            _ => {
                let (sign, meaning) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign))?;
                (Token::Sign(meaning), rest.strip_prefix(sign)?)
            }
        };
        tokens.push(token);
        rest = left.trim_start();
    }
    Some(tokens)
}

fn enclosed(text: &str, mark: char) -> Option<(String, &str)> {
    let (inside, left) = text.strip_prefix(mark)?.split_once(mark)?;
    Some((inside.to_owned(), left))
}

struct Parser {
    tokens: Vec<Token>,
    place: usize,
    depth: usize,
}

impl Parser {
    fn any(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut left = self.all()?;
        while self.word("or") {
            left = Expression::Or(Box::new(left), Box::new(self.all()?));
        }
        self.depth -= 1;
        Some(left)
    }

    fn all(&mut self) -> Option<Expression> {
        let mut left = self.negated()?;
        while self.word("and") {
            left = Expression::And(Box::new(left), Box::new(self.negated()?));
        }
        Some(left)
    }

    fn negated(&mut self) -> Option<Expression> {
        let mut times = 0;
        while self.word("not") {
            times += 1;
        }
        let inside = self.comparison()?;
        Some(if times % 2 == 1 {
            Expression::Not(Box::new(inside))
        } else {
            inside
        })
    }

    fn comparison(&mut self) -> Option<Expression> {
        let left = self.terms()?;
        if self.word("is") {
            let negated = self.word("not");
            let present = match self.next_word()?.as_str() {
                "present" => !negated,
                "missing" | "empty" => negated,
                _ => return None,
            };
            let there = Expression::Present(Box::new(left));
            return Some(if present {
                there
            } else {
                Expression::Not(Box::new(there))
            });
        }
        if self.word("between") {
            let low = self.terms()?;
            if !self.word("and") {
                return None;
            }
            let high = self.terms()?;
            let value = Box::new(left);
            let above = Expression::Compare(Relation::GreaterOrEqual, value.clone(), Box::new(low));
            let below = Expression::Compare(Relation::LessOrEqual, value, Box::new(high));
            return Some(Expression::And(Box::new(above), Box::new(below)));
        }
        let negated = self.word("not");
        if self.word("in") {
            let among = Expression::Among(Box::new(left), self.list()?);
            return Some(if negated {
                Expression::Not(Box::new(among))
            } else {
                among
            });
        }
        if negated {
            return None;
        }
        let Some(relation) = self.relation() else {
            return Some(left);
        };
        let right = self.terms()?;
        Some(Expression::Compare(
            relation,
            Box::new(left),
            Box::new(right),
        ))
    }

    fn relation(&mut self) -> Option<Relation> {
        let relation = match self.tokens.get(self.place)? {
            Token::Sign("==") => Relation::Equal,
            Token::Sign("!=") => Relation::NotEqual,
            Token::Sign("<") => Relation::Less,
            Token::Sign("<=") => Relation::LessOrEqual,
            Token::Sign(">") => Relation::Greater,
            Token::Sign(">=") => Relation::GreaterOrEqual,
            _ => return None,
        };
        self.place += 1;
        Some(relation)
    }

    fn terms(&mut self) -> Option<Expression> {
        let mut left = self.factors()?;
        loop {
            let operation = if self.sign("+") {
                Operation::Add
            } else if self.sign("-") {
                Operation::Subtract
            } else {
                return Some(left);
            };
            left = Expression::Compute(operation, Box::new(left), Box::new(self.factors()?));
        }
    }

    fn factors(&mut self) -> Option<Expression> {
        let mut left = self.signed()?;
        loop {
            let operation = if self.sign("*") {
                Operation::Multiply
            } else if self.sign("/") {
                Operation::Divide
            } else {
                return Some(left);
            };
            left = Expression::Compute(operation, Box::new(left), Box::new(self.signed()?));
        }
    }

    fn signed(&mut self) -> Option<Expression> {
        if !self.sign("-") {
            return self.primary();
        }
        let zero = Expression::Literal(Value::Number(0.0));
        let inside = Box::new(self.primary()?);
        Some(Expression::Compute(
            Operation::Subtract,
            Box::new(zero),
            inside,
        ))
    }

    fn primary(&mut self) -> Option<Expression> {
        let token = self.tokens.get(self.place)?.clone();
        self.place += 1;
        match token {
            Token::Number(number) => Some(Expression::Literal(Value::Number(number))),
            Token::Text(text) => Some(Expression::Literal(Value::of_text(&text))),
            Token::Sign("(") => {
                let inside = self.any()?;
                self.sign(")").then_some(inside)
            }
            Token::Sign(_) => None,
            Token::Word(word) => match word.as_str() {
                "true" => Some(Expression::Literal(Value::Flag(true))),
                "false" => Some(Expression::Literal(Value::Flag(false))),
                "and" | "or" | "not" | "is" | "in" | "between" => None,
                "exists" if self.is_call() => {
                    let mut arguments = self.list()?;
                    let only = arguments.pop().filter(|_| arguments.is_empty())?;
                    Some(Expression::Present(Box::new(only)))
                }
                name if self.is_call() => {
                    let function = Function::of(name)?;
                    Some(Expression::Call(function, self.list()?))
                }
                _ => self.name(word),
            },
            Token::Quoted(word) => self.name(word),
        }
    }

    fn name(&mut self, first: String) -> Option<Expression> {
        let mut parts = vec![first];
        while self.sign(".") {
            match self.tokens.get(self.place)?.clone() {
                Token::Word(word) | Token::Quoted(word) => parts.push(word),
                Token::Number(_) | Token::Text(_) | Token::Sign(_) => return None,
            }
            self.place += 1;
        }
        Some(Expression::Name(parts))
    }

    fn list(&mut self) -> Option<Vec<Expression>> {
        if !self.sign("(") {
            return None;
        }
        let mut items = vec![self.any()?];
        while self.sign(",") {
            items.push(self.any()?);
        }
        self.sign(")").then_some(items)
    }

    fn is_call(&self) -> bool {
        self.tokens.get(self.place) == Some(&Token::Sign("("))
    }

    fn sign(&mut self, wanted: &'static str) -> bool {
        let found = self.tokens.get(self.place) == Some(&Token::Sign(wanted));
        self.place += usize::from(found);
        found
    }

    fn word(&mut self, wanted: &str) -> bool {
        let found = match self.tokens.get(self.place) {
            Some(Token::Word(word)) => word.eq_ignore_ascii_case(wanted),
            _ => false,
        };
        self.place += usize::from(found);
        found
    }

    fn next_word(&mut self) -> Option<String> {
        let Token::Word(word) = self.tokens.get(self.place)? else {
            return None;
        };
        let word = word.to_lowercase();
        self.place += 1;
        Some(word)
    }
}
