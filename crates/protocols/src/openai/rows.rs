//! Rows of batches: requests of the endpoints that decide, without a connection.

use std::sync::Arc;

use ep_kernel::app::App;
use ep_kernel::batches::line::BatchLine;
use ep_kernel::dispatch::dispatch_internal;
use ep_kernel::reading;
use ep_kernel::{Caller, Ctx, Entry, Fault};
use ep_polling::MicroUsd;
use ep_site::Site;
use ep_store::{BatchRecord, RequestId};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::decide::{Decided, Dialect, input, located, operation};
use super::decisions::open_ai::DecisionRequest;
use super::refusal::error;
use super::request::ChatRequest;
use super::responses::ResponseRequest;

/// A row on its way to the operation that decides it.
pub struct RowCall<'a> {
    /// The service.
    pub app: &'a Arc<App>,
    /// The settings.
    pub site: &'a Arc<Site>,
    /// All operations.
    pub tools: &'static [Entry],
    /// The batch.
    pub batch: &'a BatchRecord,
    /// The row.
    pub row: &'a BatchLine,
    /// The id of the request in logs.
    pub request: RequestId,
}

/// A question that a request decides.
pub struct AskedQuestion {
    /// The text that voters read.
    pub text: String,
    /// The options, as texts.
    pub options: Vec<String>,
}

/// An endpoint whose requests can be rows.
pub struct RowEndpoint {
    /// The path.
    pub path: &'static str,
    /// Reads the questions of the body of a request.
    pub questions: fn(&Value) -> Result<Vec<AskedQuestion>, Fault>,
    /// Returns the maximum cost of a row.
    pub at_most: for<'a> fn(RowCall<'a>) -> BoxFuture<'a, Result<MicroUsd, Fault>>,
    /// Asks a row. The same reference opens the same polls.
    pub run: for<'a> fn(RowCall<'a>, String) -> BoxFuture<'a, Result<Value, Fault>>,
}

/// Every endpoint whose requests can be rows.
pub static ENDPOINTS: [RowEndpoint; 3] = [
    endpoint::<ChatRequest>("/v1/chat/completions"),
    endpoint::<ResponseRequest>("/v1/responses"),
    endpoint::<DecisionRequest>("/v1/decisions"),
];

const fn endpoint<D: Dialect>(path: &'static str) -> RowEndpoint {
    RowEndpoint { path, questions: questions::<D>, at_most: at_most::<D>, run: run::<D> }
}

fn questions<D: Dialect>(body: &Value) -> Result<Vec<AskedQuestion>, Fault> {
    let request = D::read(body, &[])?;
    let asked = request.questions().iter().map(|question| AskedQuestion {
        text: question.text.clone(),
        options: question.field.texts().to_vec(),
    });
    Ok(asked.collect())
}

fn at_most<D: Dialect>(call: RowCall<'_>) -> BoxFuture<'_, Result<MicroUsd, Fault>> {
    async move {
        let (_, input) = call.read::<D>().await?;
        let (entry, cx) = call.operation()?;
        entry.at_most(cx, input).await
    }
    .boxed()
}

fn run<D: Dialect>(call: RowCall<'_>, reference: String) -> BoxFuture<'_, Result<Value, Fault>> {
    async move {
        let (request, input) = call.read::<D>().await?;
        let (entry, mut cx) = call.operation()?;
        cx.request_ref = Some(reference);
        let output =
            dispatch_internal(entry, cx, input).await.map_err(|fault| located(fault, request.questions()))?;
        request.whole(&Decided::of(output, request.questions())?)
    }
    .boxed()
}

impl RowCall<'_> {
    /// Reads the row, and builds the input of the operation.
    async fn read<D: Dialect>(&self) -> Result<(D, Value), Fault> {
        let (body, site) = (Value::Object(self.row.body.clone()), Arc::clone(self.site));
        let read = move |body: Value| D::read(&body, &site.settings.model_aliases);
        let request = reading::read_value(body, read).await??;
        let terms = self.batch.terms.defaults.clone();
        let input = input(self.app, self.site, &request, Some(terms))?;
        Ok((request, input))
    }

    /// Returns the operation, and the context of its call.
    fn operation(&self) -> Result<(&'static Entry, Ctx), Fault> {
        let cx = self.context();
        Ok((operation(self.tools, &cx.caller)?, cx))
    }

    /// Returns the context of a call for the row.
    pub fn context(&self) -> Ctx {
        let caller = Caller::Batch { user: self.batch.user, batch: self.batch.id };
        let mut cx = Ctx::new(Arc::clone(&self.app.ports), caller, self.request);
        // The endpoints show no single votes.
        cx.without_votes = true;
        cx
    }
}

/// Returns the body of the response to a row that failed.
pub fn error_body(app: &App, fault: &Fault, request: RequestId) -> Value {
    error(fault, &fault.problem(&*app.ports.links, &request.to_string()))
}
