//! Documents: pure functions of the site, which contains the operations, the routes and the settings.
//!
//! A [`Document`] is served, committed to the repository as a file, or both. Each module renders one or a few of
//! them; the table lists all.

mod agent_card;
mod ai_catalog;
mod ai_plugin;
mod api_catalog;
mod assets;
mod asyncapi;
mod auth_guide;
mod committed;
mod docs;
mod error_reference;
mod home;
mod how_sure;
mod intents;
mod json;
mod llms;
mod logo;
mod mcp_card;
mod mcp_page;
mod node_spec;
mod openapi;
mod operator_pages;
mod page;
mod price;
mod prose;
mod protected_resource;
mod robots;
mod routing_descriptions;
mod schemas;
mod security;
mod sitemap;
mod skills;
mod surfaces;
mod tool_reference;
mod unified_card;

use docs::guide_pages;
use ep_site::Document;

pub use agent_card::extended as extended_agent_card;
pub use committed::{EXAMPLE_URL, committed_files, stale, write};
pub use docs::{SearchIndex, find_operation, operation_page, search_page};
pub use home::{AskMethod, links as home_links, ways};
pub use how_sure::{SamplePoll, page as how_sure_page};

/// Every document. Each is declared next to its renderer.
pub static DOCUMENTS: &[Document] = &[
    agent_card::DOCUMENT,
    agent_card::KEYS,
    protected_resource::API,
    protected_resource::MCP,
    protected_resource::A2A,
    home::MARKDOWN,
    how_sure::DOCUMENT,
    how_sure::MARKDOWN,
    operator_pages::ABOUT,
    operator_pages::ABOUT_MARKDOWN,
    operator_pages::PRIVACY,
    operator_pages::PRIVACY_MARKDOWN,
    operator_pages::TERMS,
    operator_pages::TERMS_MARKDOWN,
    unified_card::DOCUMENT,
    routing_descriptions::DOCUMENT,
    api_catalog::DOCUMENT,
    mcp_card::CARD,
    mcp_card::CATALOG,
    mcp_card::REGISTRY,
    mcp_page::DOCUMENT,
    mcp_page::MARKDOWN,
    ai_catalog::DOCUMENT,
    ai_plugin::DOCUMENT,
    robots::DOCUMENT,
    sitemap::DOCUMENT,
    security::DOCUMENT,
    logo::DOCUMENT,
    logo::FAVICON,
    logo::TOUCH_ICON,
    logo::LARGE_ICON,
    logo::MANIFEST,
    assets::STYLE,
    assets::SERIF,
    assets::SANS,
    assets::THEME,
    assets::RESULT,
    assets::ASK,
    assets::MODELS,
    assets::HOW_SURE,
    assets::DOCS,
    assets::ACCOUNT,
    assets::BATCH,
    assets::WALLET,
    docs::index::DOCUMENT,
    docs::index::MARKDOWN,
    guide_pages::START.page,
    guide_pages::START.text,
    guide_pages::CLIENTS.page,
    guide_pages::CLIENTS.text,
    guide_pages::A2A.page,
    guide_pages::A2A.text,
    guide_pages::ACCOUNTS.page,
    guide_pages::ACCOUNTS.text,
    guide_pages::FUNDING.page,
    guide_pages::FUNDING.text,
    guide_pages::SHARING.page,
    guide_pages::SHARING.text,
    guide_pages::OPENAI.page,
    guide_pages::OPENAI.text,
    guide_pages::OPENAI_CLIENTS.page,
    guide_pages::OPENAI_CLIENTS.text,
    guide_pages::WEBHOOKS.page,
    guide_pages::WEBHOOKS.text,
    guide_pages::LABELS.page,
    guide_pages::LABELS.text,
    guide_pages::PACE.page,
    guide_pages::PACE.text,
    guide_pages::OAUTH.page,
    guide_pages::OAUTH.text,
    guide_pages::FRAMEWORKS.page,
    guide_pages::FRAMEWORKS.text,
    guide_pages::ERRORS.page,
    guide_pages::ERRORS.text,
    skills::FILE,
    skills::INDEX,
    skills::BUNDLE,
    skills::INSTRUCTIONS,
    llms::INDEX,
    llms::FULL,
    auth_guide::DOCUMENT,
    intents::DOCUMENT,
    node_spec::DOCUMENT,
    surfaces::DOCUMENT,
    openapi::DOCUMENT,
    asyncapi::DOCUMENT,
    docs::reference::DOCUMENT,
    docs::reference::MARKDOWN,
    tool_reference::DOCUMENT,
    error_reference::DOCUMENT,
];
