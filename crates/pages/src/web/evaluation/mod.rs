//! The page of an evaluation: accuracy against cost, the candidates, and the rows on which the panel and the person differ. Its
//! owner reads and changes it; others read it if it is shared.

mod view;

use ep_kernel::Kind;
use ep_kernel::guard::Admission;
use ep_kernel::schema::decode;
use ep_site::http::{AppState, Exchange, Form, HandlerFuture};
use ep_site::layout::own;
use ep_site::names::{DASHBOARD_PATH, EVALUATION_PAGE};
use ep_tools::evaluations::{DeleteEvaluation, GetEvaluation, ShareEvaluation};
use futures::FutureExt;
use serde_json::json;

use self::view::EvaluationPage;
use super::account::{Visitor, answered};
use super::operation::ask;
use super::owned_page::{sent, to_sign_in, with_own};

/// Kinds of error.
pub(super) const FAULTS: [Kind; 2] = [Kind::NotFound, Kind::Unavailable];

/// Serves the page.
pub(crate) fn show(exchange: Exchange, admission: Admission) -> HandlerFuture {
    async move {
        let Exchange { state, head, params, request, .. } = exchange;
        let id = params.ok().and_then(|params| params.iter().last().map(|(_, value)| value.to_owned()));
        let id = id.unwrap_or_default();
        let visitor = Visitor::of(&state, &head).await?;
        let input = decode(json!({ "evaluation_id": id }))?;
        let admission = visitor.as_ref().map_or(admission, |visitor| visitor.admission.clone());
        let found = ask::<GetEvaluation>(&state, &head, &admission, input).await;
        let found = match found {
            Err(fault) if fault.kind() == Kind::NotFound && visitor.is_none() => {
                return to_sign_in(&state, &page_of(&state, &id));
            }
            found => found.map_err(|fault| with_own(fault, &state, "evaluations"))?,
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
    sent(exchange, page_of_form, async |visitor: &Visitor<'_>, form: &Form, page: String| {
        let shared = form.text("shared") == "yes";
        let input = json!({ "evaluation_id": form.text("evaluation_id"), "shared": shared });
        visitor.change::<ShareEvaluation>(input, form).await?;
        Ok(page + "#sharing")
    })
    .boxed()
}

/// Deletes the evaluation.
pub(crate) fn delete(exchange: Exchange, _: Admission) -> HandlerFuture {
    sent(exchange, page_of_form, async |visitor: &Visitor<'_>, form: &Form, _: String| {
        let input = json!({ "evaluation_id": form.text("evaluation_id") });
        visitor.change::<DeleteEvaluation>(input, form).await?;
        Ok(DASHBOARD_PATH.to_owned())
    })
    .boxed()
}

fn page_of_form(state: &AppState, form: &Form) -> String {
    page_of(state, form.text("evaluation_id"))
}

fn page_of(state: &AppState, id: &str) -> String {
    own(&state.links().url(EVALUATION_PAGE, &[("evaluation_id", id)]))
}
