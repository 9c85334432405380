//! Documents: pure functions of the table and of what people own.
//!
//! A document is a [`Document`]: its paths, its media type and a renderer. It is rendered once per base
//! URL, and served with an entity tag.

mod agent_card;
mod error_reference;
pub mod render;
mod serve;
mod tool_reference;

use ep_kernel::tool::Entry;

pub use serve::routes;

/// What renderers work from.
#[derive(Clone)]
pub struct Site {
    /// The public base URL, without a trailing slash.
    pub base_url: String,
    /// Every operation.
    pub tools: &'static [Entry],
}

impl Site {
    /// The service at this address.
    pub fn new(base_url: impl Into<String>, tools: &'static [Entry]) -> Self {
        Self { base_url: base_url.into(), tools }
    }
}

/// Something a crawler fetches.
pub struct Document {
    /// Where it is served.
    pub paths: &'static [&'static str],
    /// Its media type.
    pub media_type: &'static str,
    /// How long it may be kept, in seconds.
    pub max_age: u32,
    /// Renders it.
    pub render: fn(&Site) -> String,
    /// Another form, for some requests.
    pub variant: Option<Variant>,
}

/// Another form of a document, for requests with a header of this name whose value begins so.
pub struct Variant {
    /// The header.
    pub header: &'static str,
    /// How its value begins.
    pub prefix: &'static str,
    /// Renders it.
    pub render: fn(&Site) -> String,
}

/// Every document.
pub static DOCUMENTS: &[Document] = &[Document {
    paths: &["/.well-known/agent-card.json", "/.well-known/agent.json"],
    media_type: "application/json",
    max_age: 3600,
    render: agent_card::hybrid,
    variant: Some(Variant { header: "a2a-version", prefix: "1", render: agent_card::pure }),
}];
