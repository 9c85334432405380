//! The question of a row: a text with the names of columns in braces.

use std::fmt::Write;

use ep_kernel::{Fault, Kind};
use serde::{Deserialize, Serialize};

use crate::files::table::Row;

/// A question in which `{column}` stands for a field. `{{` and `}}` are braces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Column(String),
}

ep_polling::checked!(Template: String, anyhow::Error, |text| Self::parse(&text), |template| template.text);

/// Creates the error of a wrong question.
fn wrong(message: &str) -> anyhow::Error {
    Fault::new(Kind::InvalidInput, message.to_owned()).into()
}

impl Template {
    /// Parses a template.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                plain.push_str(&from[..1]);
                rest = after;
            } else if let Some((column, after)) = from.strip_prefix('{').and_then(|from| from.split_once('}'))
            {
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts.push(Part::Column(column.trim().to_owned()));
                rest = after;
            } else {
                return Err(wrong(
                    "the question has a single brace: write {{ or }} for a brace, and {column} for a field",
                ));
            }
        }
        plain.push_str(rest);
        if parts.is_empty() {
            return Err(wrong(
                "the question names no column: write {column} where the text of a row belongs",
            ));
        }
        parts.push(Part::Text(plain));
        Ok(Self { text: text.to_owned(), parts })
    }

    /// Returns the columns that the question names, each time it names them.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(column) => Some(column.as_str()),
            Part::Text(_) => None,
        })
    }

    /// True if the row has no text in any of the columns that the question names.
    pub(crate) fn is_empty_for(&self, row: &Row) -> bool {
        self.columns().all(|column| row.text(column).is_some_and(|text| text.trim().is_empty()))
    }

    /// Returns the question of a row.
    pub(crate) fn fill(&self, row: &Row) -> anyhow::Result<String> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Column(column) => {
                    let field = row.text(column).ok_or_else(|| row.no_column(column))?;
                    write!(filled, "{field}")?;
                }
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_filled_in() {
        let fields = json!({ "text": "Fine {x}", "n": 3 }).as_object().unwrap().clone();
        let row = Row { number: 7, fields };
        let fill = |template: &str| Template::parse(template).unwrap().fill(&row);
        assert_eq!(fill("{text}: good? {{n}} is { n }").unwrap(), "Fine {x}: good? {n} is 3");
        let error = fill("{txt}?").unwrap_err().to_string();
        assert_eq!(error, "row 7 has no column \"txt\"; its columns are text, n");
        for wrong in ["{text", "a } b", "Nothing", "{{text}}"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
