//! Names of routes, documents, cookies and events that documents, pages and protocols share.

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
/// Path of the start page's form. Browsers send the cookie of a waiting form to no other path.
pub const ASK_PATH: &str = "/ask";
/// The page of a poll.
pub const RESULT_PAGE: &str = "result_page";
/// The page of a batch.
pub use ep_tools::batches::BATCH_PAGE;
/// The page of an evaluation.
pub use ep_tools::evaluations::EVALUATION_PAGE;
/// Targets of the forms on the page of an evaluation: sharing and deletion.
pub const EVALUATION_FORMS: (&str, &str) = ("evaluation_sharing", "evaluation_deletion");
/// Targets of the forms on the page of a batch.
pub const BATCH_FORMS: BatchForms =
    BatchForms { review: "batch_review", sharing: "batch_sharing", cancellation: "batch_cancellation" };
/// The page that opens a result by its link.
pub const RESULTS: &str = "results_page";
/// The page about the confidence of a result.
pub const HOW_SURE: &str = "how_sure";
/// The page of a poll for frames on other websites.
pub const EMBED: &str = "embedded_result";
/// The oEmbed description of that frame.
pub const OEMBED: &str = "oembed";
/// The page of the models.
pub const MODELS_PAGE: &str = "models_page";
/// The page of the models in Markdown.
pub const MODELS_MARKDOWN: &str = "models_markdown";
/// The page that compares agreement with people's judgements.
pub const CALIBRATION_PAGE: &str = "calibration_page";
/// The same page in Markdown.
pub const CALIBRATION_MARKDOWN: &str = "calibration_markdown";
/// The page about the MCP endpoint.
pub const MCP_PAGE: &str = "mcp_page";
/// The metadata of the MCP endpoint as a protected resource.
pub const MCP_RESOURCE: &str = "protected_resource_mcp";
/// The metadata of the A2A endpoint as a protected resource.
pub const A2A_RESOURCE: &str = "protected_resource_a2a";

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

/// See [`BATCH_FORMS`].
pub struct BatchForms {
    /// The choice for a row.
    pub review: &'static str,
    /// Sharing of the batch.
    pub sharing: &'static str,
    /// Cancellation of the batch.
    pub cancellation: &'static str,
}

/// Pages with one address that everyone may read.
pub const LISTED_PAGES: [&str; 4] = [HOME, MODELS_PAGE, CALIBRATION_PAGE, RESULTS];
/// Path of the account page: the default destination of visitors who sign in.
pub const DASHBOARD_PATH: &str = "/dashboard";
/// Path of the sign-in page.
pub const LOGIN_PATH: &str = "/login";
/// Path prefix of sign-in routes. Browsers send the cookie of a sign-in to no other path.
pub const SIGN_IN_PREFIX: &str = "/api/auth";

/// The name of the agent card.
pub const AGENT_CARD: &str = "agent_card";
/// The name of the keys that verify the agent card.
pub const JWKS: &str = "jwks";
/// The name of the API catalogue.
pub const API_CATALOG: &str = "api_catalog";
/// The name of the logo.
pub const LOGO: &str = "logo";
/// The name of the documentation page.
pub const DOCS: &str = "docs";
/// The guide to labels.
pub const LABELS_GUIDE: &str = "guide_labels";
/// The page of an operation.
pub const OPERATION_PAGE: &str = "operation_page";
/// The name of the list of operations.
pub const API_REFERENCE: &str = "api_reference";
/// The name of the AsyncAPI description of the event streams.
pub const ASYNCAPI: &str = "asyncapi";
/// The name of the OpenAPI description of the routes.
pub const OPENAPI: &str = "openapi";
/// The name of the start page in Markdown.
pub const HOME_MARKDOWN: &str = "home_markdown";
/// The name of the service as an MCP server and in catalogues of AI artefacts.
pub const SERVER: &str = "ensemble-poll";

/// The name of the session cookie.
pub const SESSION_COOKIE: &str = "ep_session";
/// The name of the cookie with a form of the start page that waits for a sign-in.
pub const WAITING_FORM_COOKIE: &str = "ep_question";
/// The lifetime of that cookie, in minutes.
pub const WAITING_FORM_MINUTES: u64 = 30;
/// Path of an issuer's metadata (OpenID Connect Discovery 1.0 §4).
pub const OPENID_PATH: &str = "/.well-known/openid-configuration";

/// Last event of a stream with a final result.
pub const COMPLETE_EVENT: &str = "complete";
/// Last event of a stream with an intermediate result.
pub const RUNNING_EVENT: &str = "running";
/// Last event of a stream whose call failed.
pub const ERROR_EVENT: &str = "error";
