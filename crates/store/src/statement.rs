//! SQL texts that may differ between the engines.

/// Concatenates the parts of a statement. A part in parentheses has a text for SQLite and one for PostgreSQL.
macro_rules! statement {
    (@ [$($sqlite:expr),*] [$($postgres:expr),*]) => {
        $crate::statement::Statement { sqlite: concat!($($sqlite),*), postgres: concat!($($postgres),*) }
    };
    (@ [$($sqlite:expr),*] [$($postgres:expr),*] ($on_sqlite:expr, $on_postgres:expr) $(, $($rest:tt)*)?) => {
        statement!(@ [$($sqlite,)* $on_sqlite] [$($postgres,)* $on_postgres] $($($rest)*)?)
    };
    (@ [$($sqlite:expr),*] [$($postgres:expr),*] $part:expr $(, $($rest:tt)*)?) => {
        statement!(@ [$($sqlite,)* $part] [$($postgres,)* $part] $($($rest)*)?)
    };
    ($($parts:tt)*) => {
        statement!(@ [] [] $($parts)*)
    };
}
pub(crate) use statement;

/// A statement, with its text on each engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl From<&'static str> for Statement {
    fn from(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }
}
