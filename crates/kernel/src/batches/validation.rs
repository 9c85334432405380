//! The check of a batch before its first row is asked: its lines and its cost.

use std::collections::HashSet;

use ep_polling::{Hold, MicroUsd};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Batches;
use super::line;
use super::runner::RowRunner;
use crate::fault::{Fault, Kind, Result};
use ep_store::{BatchError, BatchMoney, BatchRecord, CheckedRows, StoreError};

/// Maximum number of rows of a batch.
pub const MAX_ROWS: u32 = 100_000;
/// Maximum number of errors of a batch that are reported.
const MAX_ERRORS: usize = 100;
/// Maximum number of rows of a batch that are refused before they are asked. Their errors cost nothing and are stored.
const MAX_REFUSED: u32 = 1_000;
/// Maximum length of a model's name that a batch shows, in bytes.
const MAX_MODEL: usize = 256;
/// Lines that are read together.
const READ_TOGETHER: u32 = 200;

/// The sums of the rows of a batch.
#[derive(Default)]
struct Sums {
    lines: u32,
    rows: u32,
    at_most: MicroUsd,
    dearest: MicroUsd,
    /// The first two different models that rows name; one if all rows name the same.
    models: Vec<Option<String>>,
    errors: Vec<BatchError>,
    /// The number of rows that will be refused, and the errors of the first ones.
    refused: u32,
    refusals: Vec<BatchError>,
}

impl Sums {
    fn add_model(&mut self, row: &line::BatchLine) {
        // Other texts name no model: such a row is refused when it is its turn.
        let is_name = |text: &&str| text.len() <= MAX_MODEL && !text.contains(char::is_control);
        let model = row.body.get("model").and_then(Value::as_str).filter(is_name);
        if self.models.len() < 2 && !self.models.iter().any(|known| known.as_deref() == model) {
            self.models.push(model.map(str::to_owned));
        }
    }
}

impl Batches {
    /// Checks and prices the rows of a batch, and starts it, or ends it with its errors.
    pub(super) async fn validate(&self, batch: &BatchRecord, runner: &dyn RowRunner) -> Result<()> {
        let Some(mut sums) = self.read_rows(batch, runner).await? else { return Ok(()) };
        if sums.errors.is_empty() && sums.rows == 0 {
            sums.errors.push(whole("empty_file", "The file has no rows: send one request on each line."));
        }
        let most = batch.terms.max_cost.unwrap_or(MicroUsd::MAX);
        if most < sums.dearest {
            let message = format!(
                "The most expensive row can cost up to {}, more than the maximum for the whole batch. Raise the maximum, or choose \
                 cheaper models.",
                sums.dearest
            );
            sums.errors.push(whole("max_cost_too_low", &message));
        }
        let now = self.ports.clock.now();
        if sums.errors.is_empty() {
            let at_most = sums.at_most.min(most);
            let money = if self.settings.billing {
                BatchMoney::Hold(Hold { at_least: sums.dearest, at_most })
            } else {
                BatchMoney::Budget(batch.terms.max_cost)
            };
            let model = if let [one] = &mut *sums.models { one.take() } else { None };
            let rows = CheckedRows { lines: sums.lines, total: sums.rows, model };
            match self.ports.store.start_batch(batch.id, rows, money, now).await {
                Ok(_) => return Ok(()),
                Err(
                    error @ (StoreError::InsufficientBalance { .. }
                    | StoreError::CapReached { .. }
                    | StoreError::Frozen),
                ) => {
                    let fault = Fault::from(error);
                    sums.errors.push(whole(fault.kind().row().code, fault.message()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.ports.store.fail_batch(batch.id, &sums.errors, now).await?;
        self.has_ended();
        Ok(())
    }

    /// Reads and prices the rows. Returns `None` if the batch is not being validated by this process any more.
    async fn read_rows(&self, batch: &BatchRecord, runner: &dyn RowRunner) -> Result<Option<Sums>> {
        let mut sums = Sums::default();
        // Half of a digest each, so that 100,000 names take two megabytes.
        let mut seen: HashSet<[u8; 16]> = HashSet::new();
        loop {
            if self.ports.clock.now() >= batch.expires_at {
                sums.errors =
                    vec![whole("batch_expired", "The time of the batch was over before it was checked.")];
                return Ok(Some(sums));
            }
            if !self.ports.store.renew_validation(batch.id, &self.lease()).await? {
                return Ok(None);
            }
            let lines = self.ports.store.lines(batch.file, sums.lines, READ_TOGETHER).await?;
            let Some((last, _)) = lines.last() else { return Ok(Some(sums)) };
            sums.lines = *last;
            for (number, text) in lines {
                if text.trim().is_empty() {
                    continue;
                }
                sums.rows += 1;
                if sums.rows > MAX_ROWS {
                    let message = format!("A batch has at most {MAX_ROWS} rows; split the file.");
                    sums.errors.push(whole("too_many_tasks", &message));
                    return Ok(Some(sums));
                }
                let error = match line::read_beside(text, &batch.terms.endpoint).await? {
                    Err(error) => Some(error),
                    Ok(row) => {
                        let mut name = [0; 16];
                        name.copy_from_slice(&Sha256::digest(row.custom_id.as_bytes())[..16]);
                        sums.add_model(&row);
                        if seen.insert(name) {
                            self.add_price(&mut sums, batch, (number, &row), runner).await?;
                            if sums.refused > MAX_REFUSED {
                                sums.errors.append(&mut sums.refusals);
                                return Ok(Some(sums));
                            }
                            None
                        } else {
                            Some(BatchError {
                                code: "duplicate_custom_id".to_owned(),
                                line: None,
                                message: format!(
                                    "The custom_id {:?} is on an earlier line, too.",
                                    row.custom_id
                                ),
                                param: Some("custom_id".to_owned()),
                            })
                        }
                    }
                };
                if let Some(error) = error {
                    sums.errors.push(BatchError { line: Some(number), ..error });
                    if sums.errors.len() >= MAX_ERRORS {
                        return Ok(Some(sums));
                    }
                }
            }
        }
    }

    async fn add_price(
        &self,
        sums: &mut Sums,
        batch: &BatchRecord,
        (number, row): (u32, &line::BatchLine),
        runner: &dyn RowRunner,
    ) -> Result<()> {
        match runner.at_most(batch, row).await {
            Ok(cost) => {
                sums.at_most = sums.at_most.plus(cost);
                sums.dearest = sums.dearest.max(cost);
                Ok(())
            }
            Err(fault) if is_temporary(fault.kind()) => Err(fault),
            // The row costs nothing: its request is refused when it is its turn.
            Err(fault) => {
                sums.refused += 1;
                if sums.refusals.len() < MAX_ERRORS {
                    let code = fault.kind().row().code;
                    sums.refusals.push(BatchError { line: Some(number), ..whole(code, fault.message()) });
                }
                Ok(())
            }
        }
    }
}

/// True for a fault of the service, which another attempt can overcome.
pub(super) const fn is_temporary(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Busy
            | Kind::Unavailable
            | Kind::RateLimited
            | Kind::InProgress
            | Kind::PollFailed
            | Kind::DeadlineExceeded
    )
}

fn whole(code: &str, message: &str) -> BatchError {
    BatchError { code: code.to_owned(), line: None, message: message.to_owned(), param: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn models(names: &[&str]) -> Vec<Option<String>> {
        let mut sums = Sums::default();
        for name in names {
            let body = json!({ "model": name }).as_object().cloned().unwrap_or_default();
            sums.add_model(&line::BatchLine { custom_id: "r".to_owned(), body });
        }
        sums.models
    }

    #[test]
    fn texts_that_name_no_model_are_not_stored() {
        assert_eq!(models(&["trio", "trio"]), [Some("trio".to_owned())]);
        assert_eq!(models(&["trio", "quintet", "budget"]).len(), 2);
        // PostgreSQL stores no NUL, and a list of batches has a hundred names.
        for text in ["a\u{0}b", &"m".repeat(MAX_MODEL + 1)] {
            assert_eq!(models(&[text, text]), [None]);
        }
    }
}
