//! The batches of a file that have not been read to their ends. They are on disk beside the labels before a service gets
//! them, so that a run that was killed finds them again.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ep_kernel::batches::line::MAX_CUSTOM_ID;
use ep_polling::counted::counted_with;
use ep_polling::{TieRule, Usd};
use ep_store::BatchId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::entry::Key;
use crate::files::replacement::{Replacement, beside};
use crate::question::{RowQuestion, digest};
use crate::settings::Panel;

/// The label of a batch with its reference.
pub(crate) const LABEL: &str = "ep_label";

/// A batch that a service works on, or may work on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpenBatch {
    /// The URL of the service.
    server: String,
    /// The Idempotency-Key of its creation, which is also one of its labels.
    pub(crate) reference: String,
    /// Its id; none until the service has accepted it.
    pub(crate) batch_id: Option<BatchId>,
    pub(crate) panel: Panel,
    pub(crate) on_tie: TieRule,
    /// The most to spend for all rows.
    max_cost_usd: Option<Usd>,
    /// Its name on the service: that of the file of rows.
    #[serde(default)]
    name: Option<String>,
    pub(crate) rows: Vec<SentRow>,
}

/// A row of a batch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SentRow {
    /// The earlier attempts to ask about the row.
    pub(crate) attempts: u32,
    /// The models to ask, if they are not those of the panel.
    pub(crate) panel: Option<Panel>,
    /// The most to spend.
    pub(crate) max_cost_usd: Usd,
    pub(crate) question: RowQuestion,
}

impl SentRow {
    /// Returns the name of the row in a batch: its id, if a batch takes that, or a digest of what is asked.
    fn name(&self) -> String {
        let id = self.question.id_text();
        if (1..=MAX_CUSTOM_ID).contains(&id.len()) { id } else { String::from(self.question.key) }
    }

    /// Returns the row as the operation takes it.
    pub(crate) fn request(&self) -> Value {
        let Self { panel, max_cost_usd, question, .. } = self;
        let row = json!({
            "id": self.name(),
            "question": question.question,
            "options": question.options,
            "max_cost_usd": max_cost_usd,
        });
        let Value::Object(mut row) = row else { return Value::Null };
        if let Some(panel) = panel {
            panel.add_to(&mut row);
        }
        Value::Object(row)
    }

    /// True if this is the name of the row in a batch.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.name() == name
    }
}

impl OpenBatch {
    /// Creates a batch. `repetition` counts the batches with the same request.
    pub(crate) fn new(
        server: &str,
        name: Option<String>,
        rule: (&Panel, TieRule),
        max_cost_usd: Option<Usd>,
        rows: Vec<SentRow>,
        mut repetition: impl FnMut(Key) -> u32,
    ) -> Self {
        let mut batch = Self {
            server: server.to_owned(),
            reference: String::new(),
            batch_id: None,
            panel: rule.0.clone(),
            on_tie: rule.1,
            max_cost_usd,
            name,
            rows,
        };
        // The digests of the rows tell rounds and attempts apart.
        let rows = batch.rows.iter().map(|row| json!([row.question.key, row.attempts]));
        let request = digest(&json!([batch.request(), rows.collect::<Vec<Value>>()]));
        batch.reference = format!("label-{}-{}", String::from(request), repetition(request));
        batch
    }

    /// Returns the request that creates it.
    pub(crate) fn request(&self) -> Value {
        let mut request = Map::new();
        request.insert("rows".to_owned(), self.rows.iter().map(SentRow::request).collect());
        request.insert("complete".to_owned(), true.into());
        request.insert("private".to_owned(), true.into());
        self.panel.add_with_order(&mut request);
        if let Some(most) = self.max_cost_usd {
            request.insert("max_cost_usd".to_owned(), json!(most));
        }
        if !self.reference.is_empty() {
            let mut metadata = json!({ LABEL: self.reference });
            if let Some(name) = &self.name {
                metadata["name"] = json!(name);
            }
            request.insert("metadata".to_owned(), metadata);
        }
        Value::Object(request)
    }

    /// Returns the most that it can cost.
    pub(crate) fn at_most(&self) -> Usd {
        self.max_cost_usd.unwrap_or_default()
    }
}

/// The file of open batches: for `labels.jsonl`, `labels.batches.jsonl`.
pub struct OpenBatchFile {
    path: PathBuf,
    open: Vec<OpenBatch>,
}

impl OpenBatchFile {
    /// Reads the batches of earlier runs. Fails if they are not at this server: their rows would be paid twice.
    pub(crate) fn read(out: &Path, server: Option<&str>) -> anyhow::Result<Self> {
        let path = beside(out, "batches.jsonl");
        let name = path.display();
        let file = match File::open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
        };
        let lines = file.into_iter().flat_map(|file| BufReader::new(file).lines());
        let open = lines.map(|line| anyhow::Ok(serde_json::from_str::<OpenBatch>(&line?)?));
        let open = open.collect::<anyhow::Result<Vec<OpenBatch>>>();
        let open = open.with_context(|| {
            format!("{name} cannot be read; if you remove it, its rows are asked and paid again")
        })?;
        if let Some(other) = open.iter().find(|batch| Some(batch.server.as_str()) != server) {
            bail!(
                "{} in batches of {}; add --server with this URL to read the results. If you remove {name}, the rows are \
                 asked and paid again",
                counted_with(open.iter().map(|batch| batch.rows.len()).sum::<usize>(), "row", ["is", "are"]),
                other.server
            );
        }
        Ok(Self { path, open })
    }

    /// Returns the number of rows in batches of earlier runs.
    pub fn rows(&self) -> usize {
        self.open.iter().map(|batch| batch.rows.len()).sum()
    }

    /// Takes the batches of earlier runs. They stay in the file until it is written.
    pub(crate) fn take(&mut self) -> Vec<OpenBatch> {
        std::mem::take(&mut self.open)
    }

    /// Replaces the batches in the file, which is removed without any. They are on disk when this returns.
    pub(crate) fn write<'b>(&self, open: impl Iterator<Item = &'b OpenBatch>) -> anyhow::Result<()> {
        let unwritable = || format!("cannot write {}", self.path.display());
        let mut open = open.peekable();
        if open.peek().is_none() {
            return match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error).with_context(unwritable),
                _ => Ok(()),
            };
        }
        let mut file = Replacement::new(&self.path).with_context(unwritable)?;
        for batch in open {
            serde_json::to_writer(&mut file, batch)?;
            file.write_all(b"\n").with_context(unwritable)?;
        }
        file.finish().map(drop).with_context(unwritable)
    }

    /// Returns the name of the file.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }
}
