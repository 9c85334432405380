//! The page of an evaluation: accuracy against cost, the candidates, and the rows on which the panel and the person differ. Its
//! owner reads and changes it; others read it if it is shared.

mod view;

use axum::body::Body;
use axum::http::Response;
use ep_kernel::dispatch::{Call, dispatch_typed};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use ep_tools::entry_of;
use ep_tools::evaluations::{DeleteEvaluation, GetEvaluation, ShareEvaluation};
use futures::FutureExt;
use serde_json::json;

use self::view::EvaluationPage;
use super::account::{Visitor, answered};
use super::see_other;
use crate::http::{AppState, Exchange, Form, HandlerFuture};
use crate::layout::{own, return_to};
use crate::site::names::{DASHBOARD_PATH, EVALUATION_PAGE, LOGIN_PAGE};

/// Kinds of error.
pub(super) const FAULTS: [Kind; 2] = [Kind::NotFound, Kind::Unavailable];

/// Serves the page.
pub(crate) fn show(exchange: Exchange, admission: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, params, request, .. } = exchange;
        let id = params.ok().and_then(|params| params.iter().last().map(|(_, value)| value.to_owned()));
        let id = id.unwrap_or_default();
        let visitor = Visitor::of(&state, &head).await?;
        let input = json!({ "evaluation_id": id });
        let found = if let Some(visitor) = &visitor {
            visitor.ask::<GetEvaluation>(input).await
        } else {
            let call = Call::new(head.admitted("web", admission));
            let entry = entry_of::<GetEvaluation>()?;
            dispatch_typed::<GetEvaluation>(&state.app, entry, call, input).await.map(|done| done.output)
        };
        let found = match found {
            Err(fault) if fault.kind() == Kind::NotFound && visitor.is_none() => {
                return to_sign_in(&state, &id);
            }
            found => found?,
        };
        let (header, nonce) = match &visitor {
            Some(visitor) => (Some(visitor.header().await?), visitor.nonce()),
            None => (None, String::new()),
        };
        let page = EvaluationPage::new(&state.site, found, header, nonce, state.app.ports.clock.now());
        answered(&page, request.headers(), &head, &state)
    }
    .boxed()
}

/// Shares the evaluation, or not any more.
pub(crate) fn share(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, async |visitor: &Visitor<'_>, form: &Form| {
        let shared = form.text("shared") == "yes";
        let input = json!({ "evaluation_id": form.text("evaluation_id"), "shared": shared });
        visitor.change::<ShareEvaluation>(input, form).await?;
        Ok(None)
    })
    .boxed()
}

/// Deletes the evaluation.
pub(crate) fn delete(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, async |visitor: &Visitor<'_>, form: &Form| {
        let input = json!({ "evaluation_id": form.text("evaluation_id") });
        visitor.change::<DeleteEvaluation>(input, form).await?;
        Ok(Some(DASHBOARD_PATH))
    })
    .boxed()
}

/// Runs a form, and redirects to the address that `run` returns, or to the page.
async fn sent(
    exchange: Exchange,
    run: impl AsyncFnOnce(&Visitor<'_>, &Form) -> Result<Option<&'static str>, Fault>,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let form = Form::read(&parts.headers, body, max_body).await?;
    let id = form.text("evaluation_id");
    let Some(visitor) = Visitor::of(&state, &head).await? else { return to_sign_in(&state, id) };
    match run(&visitor, &form).await? {
        Some(path) => see_other(path),
        None => see_other(&format!("{}#sharing", page_of(&state, id))),
    }
}

fn page_of(state: &AppState, id: &str) -> String {
    own(&state.links().url(EVALUATION_PAGE, &[("evaluation_id", id)]))
}

/// Redirects to the sign-in page, which leads back.
fn to_sign_in(state: &AppState, id: &str) -> Result<Response<Body>, Fault> {
    let login = own(&state.links().url(LOGIN_PAGE, &[]));
    see_other(&format!("{login}{}", return_to(&page_of(state, id))))
}
