//! Documents: pure functions of the site, which contains the operations, the routes and the settings.
//!
//! A [`Document`] is served, committed to the repository as a file, or both. Each module renders one or a few of
//! them; the table lists all.

mod agent_card;
mod ai_catalog;
mod ai_plugin;
mod api_catalog;
mod api_reference;
mod assets;
mod asyncapi;
mod auth_guide;
mod committed;
mod docs;
mod error_reference;
mod guides;
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

use crate::site::Document;

pub use agent_card::extended as extended_agent_card;
pub use committed::{EXAMPLE_URL, committed_files, stale, write};
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
    assets::SEARCH,
    assets::MODELS,
    assets::HOW_SURE,
    assets::ACCOUNT,
    assets::WALLET,
    docs::DOCUMENT,
    docs::MARKDOWN,
    guides::START.page,
    guides::START.text,
    guides::CONNECT.page,
    guides::CONNECT.text,
    guides::ACCOUNTS.page,
    guides::ACCOUNTS.text,
    guides::OAUTH.page,
    guides::OAUTH.text,
    guides::FUNDING.page,
    guides::FUNDING.text,
    guides::WEBHOOKS.page,
    guides::WEBHOOKS.text,
    guides::PACE.page,
    guides::PACE.text,
    guides::ERRORS.page,
    guides::ERRORS.text,
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
    api_reference::DOCUMENT,
    api_reference::MARKDOWN,
    tool_reference::DOCUMENT,
    error_reference::DOCUMENT,
];
