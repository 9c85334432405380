//! The forms of the page of a batch: review of a row, sharing, cancellation.

use axum::body::Body;
use axum::http::Response;
use ep_kernel::fault::Fault;
use ep_kernel::guard::Admission;
use ep_tools::batches::{CancelBatch, ReviewBatchRow, ShareBatch};
use futures::FutureExt;
use serde_json::json;

use super::to_sign_in;
use super::view::after;
use crate::http::{Exchange, Form, HandlerFuture};
use crate::layout::own;
use crate::site::names::BATCH_PAGE;
use crate::web::account::Visitor;
use crate::web::see_other;

/// Stores the choice for a row, and shows the next one.
pub(crate) fn review(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, async |visitor: &Visitor<'_>, form: &Form| {
        let row: Option<u32> = form.text("row").parse().ok();
        if form.text("option").is_empty() {
            return Err(Fault::invalid("option", "choose one of the options"));
        }
        let input = json!({ "batch_id": form.text("batch_id"), "row": row, "option": form.text("option") });
        visitor.change::<ReviewBatchRow>(input, form).await?;
        Ok("#review")
    })
    .boxed()
}

/// Shares the batch, or not any more.
pub(crate) fn share(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, async |visitor: &Visitor<'_>, form: &Form| {
        let input = json!({ "batch_id": form.text("batch_id"), "shared": form.text("shared") == "yes" });
        visitor.change::<ShareBatch>(input, form).await?;
        Ok("#sharing")
    })
    .boxed()
}

/// Cancels the batch.
pub(crate) fn cancel(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, async |visitor: &Visitor<'_>, form: &Form| {
        visitor.change::<CancelBatch>(json!({ "batch_id": form.text("batch_id") }), form).await?;
        Ok("")
    })
    .boxed()
}

/// Runs a form, and redirects to the page of its batch at the fragment that `run` returns.
async fn sent(
    exchange: Exchange,
    run: impl AsyncFnOnce(&Visitor<'_>, &Form) -> Result<&'static str, Fault>,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let form = Form::read(&parts.headers, body, max_body).await?;
    let id = form.text("batch_id");
    let Some(visitor) = Visitor::of(&state, &head).await? else { return to_sign_in(&state, id) };
    let fragment = run(&visitor, &form).await?;
    let page = own(&state.links().url(BATCH_PAGE, &[("batch_id", id)]));
    let query = Some(form.text("cursor")).filter(|cursor| !cursor.is_empty()).map(after);
    let query = query.unwrap_or_default();
    see_other(&format!("{page}{query}{fragment}"))
}
