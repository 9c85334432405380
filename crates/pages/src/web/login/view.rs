//! The sign-in page.

use askama::Template;
use ep_kernel::Tool;
use ep_site::Site;
use ep_site::layout::Layout;
use ep_site::layout::return_to;
use ep_site::layout::{Renders, own};
use ep_site::names::{ASK_PATH, LOGIN, LOGIN_PAGE};
use ep_tools::wallets::{ChallengeWallet, VerifyWallet};

use crate::web::start::FREE;

/// The sign-in page.
#[derive(Template)]
#[template(path = "web/login/login.html")]
pub struct LoginPage<'a> {
    page: Layout<'a>,
    inner: Ways,
}

/// The available ways to sign in.
#[derive(Template)]
#[template(path = "web/login/login.md")]
struct Ways {
    /// URL that starts a sign-in at the identity provider, if one is configured.
    provider: Option<String>,
    /// The identity provider's host, which people recognize.
    host: String,
    /// URLs that issue a wallet's message and accept the signed message.
    wallet: Option<(String, String)>,
    /// Destination after the sign-in.
    return_to: String,
    /// True if a question waits for the sign-in.
    has_question: bool,
    /// URL of the form that asks the free models, with the question that waits.
    free: String,
}

impl Ways {
    /// Returns the class of the link to the free models: the page has one primary button.
    const fn free_class(&self) -> &'static str {
        if self.provider.is_some() { "quiet" } else { "button" }
    }
}

impl<'a> LoginPage<'a> {
    /// Creates the page for a visitor who wants to go to this path.
    pub fn new(site: &'a Site, requested: &str) -> Self {
        let address = |name: &str| site.url_of(name).map(|url| own(&url));
        let provider = address(LOGIN).filter(|_| site.settings.offer.sign_in);
        let issuer = site.settings.offer.issuer.as_deref().and_then(|issuer| url::Url::parse(issuer).ok());
        let host = issuer.as_ref().and_then(url::Url::host_str).unwrap_or("the identity provider").to_owned();
        let has_question = requested == ASK_PATH;
        let inner = Ways {
            host,
            provider: provider.map(|url| format!("{url}{}", return_to(requested))),
            wallet: address(ChallengeWallet::SPEC.name).zip(address(VerifyWallet::SPEC.name)),
            return_to: requested.to_owned(),
            has_question,
            free: if has_question { format!("{ASK_PATH}?who={FREE}") } else { "/".to_owned() },
        };
        let balance = if site.settings.offer.charges { "your balance, " } else { "" };
        let about = format!("Sign in to see {balance}your polls and your API keys.");
        let page = Layout::new(site, "Sign in".to_owned(), about);
        Self { page: Layout { canonical: site.url_of(LOGIN_PAGE), ..page }, inner }
    }
}

impl Renders for LoginPage<'_> {
    fn markdown(&self) -> askama::Result<String> {
        self.inner.render()
    }

    fn is_for_nobody(&self) -> bool {
        true
    }
}
