//! Forms that export or delete an account's data.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, ToolPorts};
use ep_site::http::{AppState, Exchange, Form, HandlerFuture, protect};
use ep_store::UserId;
use ep_tools::account::{DeleteAccount, ExportAccount, export_page};
use ep_tools::polls::DeletePoll;
use futures::{FutureExt, stream};
use serde_json::{Value, json};

use super::{Done, Visitor, sent};
use crate::web::ACCOUNT_FORMS;

/// Number of entries per page of an export.
const PAGE: u32 = 100;
/// Response header with the name of the downloaded file.
const ATTACHMENT: &str = "attachment; filename=\"ensemble-poll-data.json\"";

/// Deletes a poll. The form explains the consequences first and requires the poll's id.
pub(crate) fn delete_poll(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, ACCOUNT_FORMS.poll_deletion, async |visitor: &Visitor<'_>, form: &Form| {
        let input = json!({ "poll_id": form.text("poll_id"), "confirm": form.text("confirm") });
        visitor.change::<DeletePoll>(input, form).await?;
        Ok(Done::Elsewhere("?done=deleted#polls"))
    })
    .boxed()
}

/// Deletes the account after its visitor has entered its name.
pub(crate) fn delete_account(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, ACCOUNT_FORMS.deletion, async |visitor: &Visitor<'_>, form: &Form| {
        let forfeit_balance = form.text("forfeit_balance") == "yes";
        let input = json!({ "confirm": form.text("confirm"), "forfeit_balance": forfeit_balance });
        visitor.change::<DeleteAccount>(input, form).await?;
        Ok(Done::Gone)
    })
    .boxed()
}

/// Downloads all data stored about the visitor's account.
pub(crate) fn export(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, ACCOUNT_FORMS.export, async |visitor: &Visitor<'_>, _: &Form| {
        let first = visitor.json_of::<ExportAccount>(json!({ "limit": PAGE })).await?;
        Ok(Done::Export(visitor.account()?, first))
    })
    .boxed()
}

/// The next step of a download.
enum ExportStep {
    /// The first page, already loaded.
    First(Value),
    /// The page at this cursor.
    Next(String),
    /// The end of the JSON array.
    End,
    /// The download is complete.
    Done,
}

/// Streams an export as a file: an array of the pages of `export_account`. Pages are loaded at the speed of the
/// download, so an account with many polls needs little memory.
pub(crate) fn download(state: &AppState, user: UserId, first: Value) -> Response<Body> {
    let ports = Arc::clone(&state.app.ports);
    let pages = stream::try_unfold((ports, ExportStep::First(first)), move |(ports, step)| async move {
        let (text, next) = write(&ports, user, step).await?;
        Ok::<_, Fault>(text.map(|text| (Bytes::from(text), (ports, next))))
    });
    let mut response = Response::new(Body::from_stream(pages));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(ATTACHMENT));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    protect(headers);
    response
}

async fn write(
    ports: &ToolPorts,
    user: UserId,
    step: ExportStep,
) -> Result<(Option<String>, ExportStep), Fault> {
    let (before, page) = match step {
        ExportStep::First(page) => ("[", page),
        ExportStep::Next(cursor) => {
            let page = export_page(ports, user, Some(&cursor), PAGE).await?;
            (",\n", serde_json::to_value(page).map_err(Fault::internal)?)
        }
        ExportStep::End => return Ok((Some("]\n".to_owned()), ExportStep::Done)),
        ExportStep::Done => return Ok((None, ExportStep::Done)),
    };
    let next =
        page["next_cursor"].as_str().map_or(ExportStep::End, |cursor| ExportStep::Next(cursor.to_owned()));
    Ok((Some(format!("{before}{page:#}")), next))
}
