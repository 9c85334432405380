//! Names of routes that documents, pages and protocols link to.

/// The start page.
pub const HOME: &str = "home";
/// The sign-in page.
pub const LOGIN_PAGE: &str = "login_page";
/// The page of an account.
pub const DASHBOARD: &str = "dashboard";
/// The fragment of the account page where the account is funded.
pub const FUNDS: &str = "#funds";
/// The target of the start page's form.
pub const ASK: &str = "ask";
/// The page of a poll.
pub const RESULT_PAGE: &str = "result_page";
/// The page of a poll for frames on other websites.
pub const EMBED: &str = "embedded_result";
/// The oEmbed description of that frame.
pub const OEMBED: &str = "oembed";
/// The page of the models.
pub const MODELS_PAGE: &str = "models_page";
/// The page of the models in Markdown.
pub const MODELS_MARKDOWN: &str = "models_markdown";
/// The page about the MCP endpoint.
pub const MCP_PAGE: &str = "mcp_page";

/// The redirect to the identity provider.
pub const LOGIN: &str = "login";
/// The redirect back from the identity provider.
pub const CALLBACK: &str = "login_callback";
/// The route that signs a browser out.
pub const LOGOUT: &str = "logout";

/// Targets of the forms on the account page.
pub const ACCOUNT_FORMS: AccountForms = AccountForms {
    keys: "account_keys",
    revocation: "account_key_revocation",
    checkout: "account_checkout",
    cancellation: "account_cancellation",
    poll_deletion: "account_poll_deletion",
    export: "account_export",
    deletion: "account_deletion",
};

/// See [`ACCOUNT_FORMS`].
pub struct AccountForms {
    /// Creation of a key.
    pub keys: &'static str,
    /// Revocation of a key.
    pub revocation: &'static str,
    /// Payment by card.
    pub checkout: &'static str,
    /// Cancellation of a poll.
    pub cancellation: &'static str,
    /// Deletion of a poll.
    pub poll_deletion: &'static str,
    /// Copy of the account's data.
    pub export: &'static str,
    /// Deletion of the account.
    pub deletion: &'static str,
}

/// Pages with one address that everyone may read.
pub const LISTED_PAGES: [&str; 2] = [HOME, MODELS_PAGE];
/// Path of the account page: the default destination of visitors who sign in.
pub const DASHBOARD_PATH: &str = "/dashboard";
/// Path of the sign-in page.
pub const LOGIN_PATH: &str = "/login";
/// Path prefix of sign-in routes. Browsers send the cookie of a sign-in to no other path.
pub const SIGN_IN_PREFIX: &str = "/api/auth";
