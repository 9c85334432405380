//! Where people sign in.

use askama::Template;
use ep_kernel::tool::Tool;
use ep_tools::wallets::{ChallengeWallet, VerifyWallet};

use super::Layout;
use super::fault::return_to;
use super::layout::{Renders, own};
use crate::documents::Site;
use crate::site::names::LOGIN;

/// The page where people sign in.
#[derive(Template)]
#[template(path = "login.html")]
pub struct LoginPage<'a> {
    page: Layout<'a>,
    inner: Ways,
}

/// The same in Markdown.
#[derive(Template)]
#[template(path = "login.md")]
struct LoginText<'a> {
    inner: &'a Ways,
}

/// The ways to sign in.
struct Ways {
    /// Where the identity provider is asked, where one is configured.
    provider: Option<String>,
    /// Where a wallet gets its message, and where the signed one is sent.
    wallet: Option<(String, String)>,
    /// Where the visitor goes on to.
    return_to: String,
}

impl<'a> LoginPage<'a> {
    /// The page for somebody who wants to go to this path.
    pub fn new(site: &'a Site, wanted: &str) -> Self {
        let address = |name: &str| site.url_of(name).map(|url| own(&url));
        let provider = address(LOGIN).filter(|_| site.settings.offer.sign_in);
        let inner = Ways {
            provider: provider.map(|url| format!("{url}{}", return_to(wanted))),
            wallet: address(ChallengeWallet::SPEC.name).zip(address(VerifyWallet::SPEC.name)),
            return_to: wanted.to_owned(),
        };
        let balance = if site.settings.offer.charges { "your balance, " } else { "" };
        let about = format!("Sign in to see {balance}your polls and your API keys.");
        Self { page: Layout { noindex: true, ..Layout::new(site, "Sign in".to_owned(), about) }, inner }
    }
}

impl Renders for LoginPage<'_> {
    fn html(&self) -> askama::Result<String> {
        self.render()
    }

    fn markdown(&self) -> askama::Result<String> {
        LoginText { inner: &self.inner }.render()
    }

    fn is_for_nobody(&self) -> bool {
        true
    }
}
