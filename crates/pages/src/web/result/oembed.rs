//! The oEmbed description of a poll's frame (oEmbed 1.0).

use ep_kernel::guard::{Admission, Credential};
use ep_kernel::{Fault, Kind};
use ep_polling::PollId;
use ep_site::QueryParameter;
use ep_site::http::{Exchange, HandlerFuture, Rendered, protect};
use ep_site::names::RESULT_PAGE;
use futures::FutureExt;
use serde::Deserialize;

use super::page::ResultFormat;
use super::{headers_of, page_of, read, read_request};
use crate::web::public_page::with_headers;

/// Query parameters of an oEmbed request (oEmbed 1.0, section 2.2).
pub(in crate::web) const OEMBED_QUERY: [QueryParameter; 4] = [
    QueryParameter { required: true, ..QueryParameter::text("url", "The page of a poll.") },
    QueryParameter {
        schema: PIXELS,
        ..QueryParameter::text("maxwidth", "Maximum width of the frame, in pixels.")
    },
    QueryParameter {
        schema: PIXELS,
        ..QueryParameter::text("maxheight", "Maximum height of the frame, in pixels.")
    },
    QueryParameter {
        schema: r#"{ "type": "string", "enum": ["json"] }"#,
        ..QueryParameter::text("format", "The format: json.")
    },
];

const PIXELS: &str = r#"{ "type": "integer", "minimum": 0, "maximum": 65535 }"#;

#[derive(Default, Deserialize)]
struct OembedQuery {
    url: Option<String>,
    maxwidth: Option<u16>,
    maxheight: Option<u16>,
    format: Option<String>,
}

/// Serves the oEmbed description of a poll's frame (oEmbed 1.0).
pub(crate) fn oembed(exchange: Exchange, admission: Admission) -> HandlerFuture {
    async move {
        let (state, head, parts, _) = read_request(exchange);
        let asked = axum::extract::Query::<OembedQuery>::try_from_uri(&parts.uri);
        let asked =
            asked.map_err(|_| Fault::invalid("maxwidth", "must be a number of pixels, like maxheight"))?.0;
        if asked.format.is_some_and(|format| format != "json") {
            return Err(Fault::invalid("format", "must be json"));
        }
        let pages = state.links().url(RESULT_PAGE, &[("poll_id", "")]);
        let url = asked.url.ok_or_else(|| {
            Fault::invalid("url", format!("url is missing: add the URL of a poll's page, below {pages}"))
        })?;
        let nothing = || {
            let text = format!("this URL is not the page of a poll; send a URL below {pages}");
            Fault::new(Kind::NotFound, text)
        };
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let (id, _) = ResultFormat::of(path.strip_prefix(&pages).ok_or_else(nothing)?);
        let id: PollId = id.parse().map_err(|_| Fault::no_such_poll(id))?;
        let read = read(&state, Credential::None, &head, &admission, id.as_str()).await?;
        let settled = read.is_settled;
        let described =
            page_of(&state, read, "").oembed(asked.maxwidth.map(u32::from), asked.maxheight.map(u32::from));
        let (bytes, headers) =
            (described.to_string().into(), headers_of("application/json", settled, protect));
        Ok(if settled {
            Rendered::new(bytes, headers).respond_plainly(&parts.headers)
        } else {
            with_headers(bytes, headers)
        })
    }
    .boxed()
}
