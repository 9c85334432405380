//! Shared by all HTTP surfaces: the request head extractor, the layer that finishes responses, and conversions of
//! outputs and faults.

mod address;
mod body;
mod body_room;
mod challenge;
mod compression;
mod cookies;
mod documents;
mod etag;
mod form;
mod head;
mod layer;
mod own_pages;
mod protection;
mod rate_limit;
mod rendered;
mod response;
mod spliced;
mod state;
mod stream;
mod web_access;

pub use body::{malformed as malformed_body, parse as parse_body, read as read_body, read_bytes, read_json};
pub use body_room::BodyRoom;
pub use compression::{layer as compression, reads_gzip, weaken_tag};
pub use cookies::{read_cookie, session_cookie, write_cookie};
pub use documents::DocumentResponses;
pub use etag::EntityTag;
pub use form::Form;
pub use head::{ErrorStyle, RequestHead};
pub use layer::{finish_response, panicked};
pub use protection::{protect, protect_embedded, protection};
pub use rendered::Rendered;
pub use response::{
    Embedded, PUBLIC_RESULT, bytes_of, counted, fault, formatted_fault, json, replayed, set, status,
};
pub use spliced::Spliced;
pub use state::{AppState, Exchange, Handler, HandlerFuture, PathParams, Stopping};
pub use stream::{CallStep, Steps, event_stream, received};
pub use web_access::WebAccess;
