//! The forms of the page of a batch: review of a row, sharing, cancellation.

use ep_kernel::Fault;
use ep_kernel::guard::Admission;
use ep_site::http::{AppState, Exchange, Form, HandlerFuture};
use ep_tools::batches::{CancelBatch, ReviewBatchRow, ShareBatch};
use futures::FutureExt;
use serde_json::json;

use super::page_of;
use super::view::after;
use crate::web::account::Visitor;
use crate::web::owned_page::sent;

/// Stores the choice for a row, and shows the next one.
pub(crate) fn review(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, page, async |visitor: &Visitor<'_>, form: &Form, page: String| {
        let row: Option<u32> = form.text("row").parse().ok();
        if form.text("option").is_empty() {
            return Err(Fault::invalid("option", "choose one of the options"));
        }
        let input = json!({ "batch_id": form.text("batch_id"), "row": row, "option": form.text("option") });
        visitor.change::<ReviewBatchRow>(input, form).await?;
        let cursor = Some(form.text("cursor")).filter(|cursor| !cursor.is_empty());
        Ok(format!("{page}{}#review", cursor.map(after).unwrap_or_default()))
    })
    .boxed()
}

/// Shares the batch, or not any more.
pub(crate) fn share(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, page, async |visitor: &Visitor<'_>, form: &Form, page: String| {
        let input = json!({ "batch_id": form.text("batch_id"), "shared": form.text("shared") == "yes" });
        visitor.change::<ShareBatch>(input, form).await?;
        Ok(page + "#sharing")
    })
    .boxed()
}

/// Cancels the batch.
pub(crate) fn cancel(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, page, async |visitor: &Visitor<'_>, form: &Form, page: String| {
        visitor.change::<CancelBatch>(json!({ "batch_id": form.text("batch_id") }), form).await?;
        Ok(page)
    })
    .boxed()
}

/// Returns the page of the batch that a form names.
fn page(state: &AppState, form: &Form) -> String {
    page_of(state, form.text("batch_id"))
}
