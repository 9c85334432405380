//! Rows of a file: CSV with a header, or JSON Lines.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::files::{input, regular_file};

/// The field that tells why an earlier run could not label a row. No part of the input.
pub(crate) const FAILURE: &str = "_failed";

/// A row of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its fields, by column.
    pub fields: Map<String, Value>,
}

/// A reader of rows, which holds one row at a time.
pub struct Table {
    rows: Rows,
    number: u64,
    path: PathBuf,
}

enum Rows {
    Csv { header: csv::StringRecord, records: csv::StringRecordsIntoIter<CheckedQuotes> },
    JsonLines(std::io::Lines<Box<dyn BufRead + Send>>),
}

impl Table {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            return Self::read(std::io::stdin(), path);
        }
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Self::read(file, path)
    }

    /// Opens a regular file, whose name may come from a record.
    pub(crate) fn of_file(path: &Path) -> anyhow::Result<Self> {
        let file = regular_file::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Self::read(file, path)
    }

    /// Begins to read rows. The first character decides the format: `{` begins JSON Lines.
    fn read(file: impl Read + Send + 'static, path: &Path) -> anyhow::Result<Self> {
        let mut reader = input::text(file, path)?;
        let start = reader.fill_buf().with_context(|| format!("cannot read {}", path.display()))?;
        let rows = match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[') => bail!("{} is a JSON array; write one object a line (JSON Lines)", path.display()),
            Some(b'{') => Rows::JsonLines(reader.lines()),
            _ => Rows::csv(reader, path)?,
        };
        Ok(Self { rows, number: 0, path: path.to_owned() })
    }
}

impl Rows {
    /// Begins to read CSV with a header. Spaces around the names of columns do not count.
    fn csv(reader: Box<dyn BufRead + Send>, path: &Path) -> anyhow::Result<Self> {
        let (separator, reader) = input::separated(reader, path)?;
        let mut records = csv::ReaderBuilder::new()
            .flexible(true)
            .delimiter(separator)
            .trim(csv::Trim::Headers)
            .from_reader(CheckedQuotes::new(reader, separator));
        let header = records.headers().map_err(|error| readable(error, path))?.clone();
        let mut names = BTreeSet::new();
        if let Some(name) = header.iter().find(|name| !names.insert(*name)) {
            bail!("two columns of {} are named {name:?}; rename one of them", path.display());
        }
        Ok(Self::Csv { header, records: records.into_records() })
    }
}

impl Iterator for Table {
    type Item = anyhow::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        let fields = match &mut self.rows {
            Rows::Csv { header, records } => {
                self.number += 1;
                match records.next()? {
                    // It names a line that was read ahead.
                    Err(error) if error.is_io_error() => return Some(Err(readable(error, &self.path))),
                    record => record
                        .map_err(|error| readable(error, &self.path))
                        .and_then(|record| of_csv(header, &record)),
                }
            }
            Rows::JsonLines(lines) => {
                let line = loop {
                    let line = lines.next()?;
                    self.number += 1;
                    if !matches!(&line, Ok(line) if line.trim().is_empty()) {
                        break line;
                    }
                };
                line.map_err(|error| unreadable(error, &self.path)).and_then(|line| of_json(&line))
            }
        };
        let number = self.number;
        let fields = fields.map(|mut fields| {
            // Written by an earlier run.
            fields.remove(FAILURE);
            fields
        });
        Some(fields.map(|fields| Row { number, fields }).with_context(|| format!("row {number}")))
    }
}

/// A reader that fails at a quote of CSV that nothing closes (RFC 4180). The parser would take the rows after it for text.
struct CheckedQuotes {
    inner: Box<dyn BufRead + Send>,
    separator: u8,
    place: Place,
    /// The current line, from 1, and that of the last opening quote.
    line: u64,
    opened: u64,
}

/// The place of the next byte of CSV.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// At the start of a field.
    Start,
    /// In a field without quotes.
    Plain,
    /// In quotes.
    Quoted,
    /// After a quote in quotes: the end of the field, or the first of two quotes that mean one.
    Closed,
}

impl CheckedQuotes {
    fn new(inner: Box<dyn BufRead + Send>, separator: u8) -> Self {
        Self { inner, separator, place: Place::Start, line: 1, opened: 1 }
    }

    /// Moves past a byte. Fails for text after a closing quote.
    fn step(&mut self, byte: u8) -> Result<(), String> {
        self.place = match (self.place, byte) {
            (Place::Start, b'"') => {
                self.opened = self.line;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::Closed,
            (Place::Quoted, _) | (Place::Closed, b'"') => Place::Quoted,
            (_, b'\r' | b'\n') => Place::Start,
            (_, byte) if byte == self.separator => Place::Start,
            (Place::Closed, _) => {
                return Err(format!(
                    "line {}: text follows a closing quote; the field begins in line {}: close its quote, and write two \
                     quotes for one inside it",
                    self.line, self.opened
                ));
            }
            (Place::Start | Place::Plain, _) => Place::Plain,
        };
        self.line += u64::from(byte == b'\n');
        Ok(())
    }
}

impl Read for CheckedQuotes {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = self.inner.read(into)?;
        let invalid = |text: String| std::io::Error::new(std::io::ErrorKind::InvalidData, text);
        for byte in into.iter().take(length) {
            self.step(*byte).map_err(invalid)?;
        }
        if length == 0 && !into.is_empty() && self.place == Place::Quoted {
            return Err(invalid(format!(
                "line {}: the quote that opens a field is never closed",
                self.opened
            )));
        }
        Ok(length)
    }
}

/// Returns the error for a file that is not CSV.
fn readable(error: csv::Error, path: &Path) -> anyhow::Error {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => not_utf_8(path),
        _ => anyhow::Error::from(error).context("the file is not valid CSV"),
    }
}

/// Returns the error for a line that cannot be read.
fn unreadable(error: std::io::Error, path: &Path) -> anyhow::Error {
    match error.kind() {
        std::io::ErrorKind::InvalidData => not_utf_8(path),
        _ => error.into(),
    }
}

fn not_utf_8(path: &Path) -> anyhow::Error {
    let path = path.display();
    anyhow!("{path} is not UTF-8; convert it, for example with iconv -f latin1 -t utf-8 {path}")
}

fn of_csv(header: &csv::StringRecord, record: &csv::StringRecord) -> anyhow::Result<Map<String, Value>> {
    if record.len() != header.len() {
        bail!("has {} fields, and the header has {}", record.len(), header.len());
    }
    Ok(header.iter().zip(record).map(|(name, field)| (name.to_owned(), field.into())).collect())
}

fn of_json(line: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str(line).context("is not a line of JSON")? {
        Value::Object(fields) => trimmed(fields),
        _ => bail!("must be a JSON object"),
    }
}

/// Removes the spaces around the names of fields, as in the header of CSV and in the question.
fn trimmed(fields: Map<String, Value>) -> anyhow::Result<Map<String, Value>> {
    if fields.keys().all(|name| name.trim() == name) {
        return Ok(fields);
    }
    let mut trimmed = Map::new();
    for (name, value) in fields {
        if trimmed.insert(name.trim().to_owned(), value).is_some() {
            bail!("two fields are named {:?}; rename one of them", name.trim());
        }
    }
    Ok(trimmed)
}

/// Returns the field with this name, or the field of an object in a field: `a.b`.
fn nested<'f>(fields: &'f Map<String, Value>, name: &str) -> Option<&'f Value> {
    let inner = |(at, _): (usize, &str)| nested(fields.get(&name[..at])?.as_object()?, &name[at + 1..]);
    fields.get(name).or_else(|| name.match_indices('.').find_map(inner))
}

/// Returns the columns of all rows, in their order, without these.
pub(crate) fn columns<R: Borrow<Row>>(
    rows: impl IntoIterator<Item = anyhow::Result<R>>,
    without: &[&str],
) -> anyhow::Result<Vec<String>> {
    let (mut columns, mut known) = (Vec::new(), BTreeSet::new());
    for row in rows {
        for column in row?.borrow().fields.keys() {
            if !known.contains(column) && !without.contains(&column.as_str()) {
                known.insert(column.clone());
                columns.push(column.clone());
            }
        }
    }
    Ok(columns)
}

/// Returns a field as text, which is the same for a number and its text. A null is empty.
pub(crate) fn text_of(field: &Value) -> String {
    match field {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl Row {
    /// True if it has the form of a line of a batch of OpenAI's API.
    pub(crate) fn is_batch_line(&self) -> bool {
        ["custom_id", "url"].iter().all(|name| self.fields.get(*name).is_some_and(Value::is_string))
            && self.fields.get("body").is_some_and(Value::is_object)
    }

    /// Returns the field of a column; `None` without the column. `a.b` is the field b in the field a, unless a column has that
    /// name.
    pub fn field(&self, column: &str) -> Option<&Value> {
        nested(&self.fields, column.trim())
    }

    /// Returns a field as text; `None` without the column.
    pub fn text(&self, column: &str) -> Option<String> {
        self.field(column).map(text_of)
    }

    /// Returns the error for a missing column, which lists the columns.
    pub(crate) fn no_column(&self, column: &str) -> anyhow::Error {
        let columns: Vec<&str> = self.fields.keys().map(String::as_str).collect();
        anyhow!("row {} has no column {column:?}; its columns are {}", self.number, columns.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use serde_json::json;

    fn rows(text: &str) -> Vec<anyhow::Result<Row>> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Table::open(file.path()).unwrap().collect()
    }

    #[test]
    fn quotes_that_nothing_closes_are_found() {
        let error = |text: &str| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let failed = Table::open(file.path()).and_then(Iterator::collect::<anyhow::Result<Vec<_>>>);
            failed.err().map(|error| format!("{error:#}")).unwrap_or_default()
        };
        let open = "id,text\n1,fine\n2,\"Great product, would buy again\n3,\"Nice\"\n";
        let text = "line 4: text follows a closing quote; the field begins in line 3: close its quote";
        assert!(error(open).contains(text), "{}", error(open));
        let last = "id,text\n1,\"Great product\n2,fine\n";
        assert!(
            error(last).contains("line 2: the quote that opens a field is never closed"),
            "{}",
            error(last)
        );
        assert!(error("\"id,text\n").contains("line 1: the quote that opens a field is never closed"));
        for fine in [
            "id,text\n1,5\" pipe\n",
            "id,text\r\n1,\"\"\r\n",
            "\"id\",\"text\"\n1,\"a\"\"b\"",
            "id,text\n1,\"a\n\"\"b\"\n",
        ] {
            assert_eq!(error(fine), "", "{fine}");
        }
    }

    #[test]
    fn csv_and_json_lines_are_rows() {
        let csv = rows("\u{feff}id,text\n1,\"a, \"\"b\"\"\nc\"\n2,ü\n");
        let fields: Vec<Value> = csv.into_iter().map(|row| Value::Object(row.unwrap().fields)).collect();
        assert_eq!(fields, [json!({ "id": "1", "text": "a, \"b\"\nc" }), json!({ "id": "2", "text": "ü" })]);
        let lines = rows("\n{\"id\": 1, \"tags\": [\"x\"], \"none\": null}\n\n{\"id\": 2}\n");
        let rows: Vec<Row> = lines.into_iter().map(Result::unwrap).collect();
        let text = |column: &str| rows[0].text(column);
        assert_eq!(rows.len(), 2);
        assert_eq!((text("id"), text("tags")), (Some("1".into()), Some("[\"x\"]".into())));
        assert_eq!((text("none"), text("other")), (Some(String::new()), None));
    }

    #[test]
    fn names_are_trimmed_and_nested_fields_are_read() {
        let row = rows(" id , text\n1, fine\n").remove(0).unwrap();
        assert_eq!((row.text("id"), row.text(" text ")), (Some("1".into()), Some(" fine".into())));
        let line = r#"{" id": 1, "a": {"b": {"c": "deep"}, "b.d": 2}, "a.e": "named", "x.y": {"z": 3}}"#;
        let row = rows(line).remove(0).unwrap();
        for (column, text) in [
            ("id", "1"),
            ("a.b.c", "deep"),
            ("a.b.d", "2"),
            ("a.e", "named"),
            ("x.y.z", "3"),
            ("a.b", "{\"c\":\"deep\"}"),
        ] {
            assert_eq!(row.text(column).as_deref(), Some(text), "{column}");
        }
        assert!(["b", "a.c", "a.", ".a", "a.b.c.d"].iter().all(|column| row.text(column).is_none()));
        assert!(rows(r#"{"id": 1, "id ": 2}"#).remove(0).is_err());
    }

    #[test]
    fn errors_name_the_row() {
        let error = |text: &str| {
            let found = rows(text).into_iter().find_map(Result::err).unwrap();
            format!("{found:#}")
        };
        assert_eq!(error("a,b\n1,2\n3\n"), "row 2: has 1 fields, and the header has 2");
        assert!(error("{\"a\": 1}\n{\"a\": \n").starts_with("row 2: is not a line of JSON"));
        assert_eq!(error("{\"a\": 1}\n[1]\n"), "row 2: must be a JSON object");
    }
}
