//! Asks the rows of batches: requests of OpenAI's endpoints by their dialects, and requests of operations by the operation
//! at their path.

use std::sync::Arc;

use async_trait::async_trait;
use ep_kernel::app::App;
use ep_kernel::batches::line::BatchLine;
use ep_kernel::dispatch::dispatch_internal;
use ep_kernel::reading;
use ep_kernel::{Entry, Fault, Kind, RowResponse, RowRunner};
use ep_polling::MicroUsd;
use ep_site::Site;
use ep_store::{BatchRecord, RequestId};
use ep_tools::batches::{answer_of, operation_of_rows, with_defaults};
use ep_tools::polls::reply::Costs;
use ep_tools::polls::usage_of;
use serde_json::Value;

use super::openai::rows::{AskedQuestion, ENDPOINTS, RowCall, RowEndpoint, error_body};

/// Asks rows in this process.
pub struct BatchRows {
    app: Arc<App>,
    site: Arc<Site>,
    tools: &'static [Entry],
}

/// Returns the paths of all requests that rows can be.
pub fn batch_endpoints() -> impl Iterator<Item = &'static str> {
    decision_endpoints().chain(ep_tools::batches::batch_endpoints())
}

/// Reads the questions of a request to an endpoint of OpenAI's API, without the aliases of models. `None` for another path.
pub fn asked_questions(path: &str, body: &Value) -> Option<Result<Vec<AskedQuestion>, Fault>> {
    let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.path == path)?;
    Some((endpoint.questions)(body))
}

/// Returns the paths of the endpoints of OpenAI's API whose requests are decisions.
pub fn decision_endpoints() -> impl Iterator<Item = &'static str> {
    ENDPOINTS.iter().map(|endpoint| endpoint.path)
}

impl BatchRows {
    /// Asks rows with these operations.
    pub const fn new(app: Arc<App>, site: Arc<Site>, tools: &'static [Entry]) -> Self {
        Self { app, site, tools }
    }

    fn call<'a>(&'a self, batch: &'a BatchRecord, row: &'a BatchLine, request: RequestId) -> RowCall<'a> {
        RowCall { app: &self.app, site: &self.site, tools: self.tools, batch, row, request }
    }
}

/// The code that asks the rows of a batch.
enum Asker {
    /// A dialect of OpenAI's API.
    Endpoint(&'static RowEndpoint),
    /// An operation.
    Operation(&'static Entry),
}

fn asker(batch: &BatchRecord) -> Result<Asker, Fault> {
    let path = batch.terms.endpoint.as_str();
    if let Some(endpoint) = ENDPOINTS.iter().find(|endpoint| endpoint.path == path) {
        return Ok(Asker::Endpoint(endpoint));
    }
    let operation = operation_of_rows(path).map(Asker::Operation);
    operation.ok_or_else(|| Fault::invalid("url", format!("{path} is no endpoint of batches any more")))
}

/// Returns the input of an operation for a row. Fails for unknown arguments: nobody reads a notice about each of many rows.
async fn input_of(entry: &'static Entry, batch: &BatchRecord, row: &BatchLine) -> Result<Value, Fault> {
    let defaults = batch.terms.defaults.clone();
    let read = move |mut own: Value| {
        if let Value::Object(fields) = &own {
            entry.refuse_unknown(fields, &[])?;
        }
        // Before the terms of the batch are added, which an empty value must not replace.
        entry.remove_empty(&mut own)?;
        let own = own.as_object_mut().map(std::mem::take).unwrap_or_default();
        Ok(Value::Object(with_defaults(defaults, own)))
    };
    reading::read_value(Value::Object(row.body.clone()), read).await?
}

#[async_trait]
impl RowRunner for BatchRows {
    async fn at_most(&self, batch: &BatchRecord, row: &BatchLine) -> Result<MicroUsd, Fault> {
        let call = self.call(batch, row, RequestId::from_random(self.app.ports.entropy.bytes()));
        match asker(batch)? {
            Asker::Endpoint(endpoint) => (endpoint.at_most)(call).await,
            Asker::Operation(entry) => {
                entry.at_most(call.context(), input_of(entry, batch, row).await?).await
            }
        }
    }

    async fn run(
        &self,
        batch: &BatchRecord,
        row: &BatchLine,
        reference: String,
        request: RequestId,
    ) -> Result<RowResponse, Fault> {
        let call = self.call(batch, row, request);
        let body = match asker(batch)? {
            Asker::Endpoint(endpoint) => (endpoint.run)(call, reference.clone()).await?,
            Asker::Operation(entry) => {
                let mut cx = call.context();
                cx.request_ref = Some(reference.clone());
                let output = dispatch_internal(entry, cx, input_of(entry, batch, row).await?).await?;
                if output.presentation.interim.is_some() {
                    // The row waits less than its poll takes.
                    return Err(Fault::new(Kind::PollFailed, "the poll of the row has not ended yet"));
                }
                output.value
            }
        };
        let polls = self.app.ports.polls.polls_of(&reference).await?;
        let answer = if let [poll] = &*polls { Some(answer_of(poll)) } else { None };
        Ok(RowResponse { body, answer, usage: usage_of(&polls) })
    }

    async fn cost(&self, reference: &str) -> Result<MicroUsd, Fault> {
        let polls = self.app.ports.polls.polls_of(reference).await?;
        let costs = polls.iter().filter_map(|poll| {
            let closing = poll.record.closing.as_ref()?;
            Some(Costs::new(poll, closing).total_estimated_cost.0)
        });
        Ok(costs.sum())
    }

    async fn has_begun(&self, reference: &str) -> Result<bool, Fault> {
        Ok(self.app.ports.polls.opened_by(reference).await?.is_some())
    }

    fn error(&self, batch: &BatchRecord, fault: &Fault, request: RequestId) -> Value {
        match asker(batch) {
            Ok(Asker::Operation(_)) => {
                let problem = fault.problem(&*self.app.ports.links, &request.to_string());
                serde_json::to_value(problem).unwrap_or_default()
            }
            _ => error_body(&self.app, fault, request),
        }
    }
}
