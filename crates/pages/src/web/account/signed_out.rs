//! Pages that follow a form of an account's page: payment, account deletion, and signing in again.

use askama::Template;
use ep_kernel::Fault;
use ep_site::Site;
use ep_site::http::Form;
use ep_site::layout::{Layout, Renders, Text, message, own, text};
use ep_site::names::{DASHBOARD, LOGIN_PAGE};
use ep_site::rail::CheckoutForm;

use super::amounts::dollars;

/// A page that keeps the values of a form that was rejected by an expired session or a rate limit.
#[derive(Template)]
#[template(path = "web/account/signed_out.html")]
pub struct SignedOutPage<'a> {
    page: Layout<'a>,
    login: String,
    /// Seconds to wait and the reason, if the session has not expired.
    wait: Option<(u64, String)>,
    action: String,
    fields: Vec<(String, String)>,
}

impl<'a> SignedOutPage<'a> {
    /// Creates the page for the form with this name. `refused` is the fault, or `None` if the session has expired.
    pub fn new(site: &'a Site, name: &str, form: &Form, refused: Option<&Fault>) -> Self {
        let fields = form.fields().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let about = "The form was not submitted. Your entries are still here.".to_owned();
        let title = refused.map_or("Your session has ended", |fault| fault.kind().row().title).to_owned();
        Self {
            page: Layout { noindex: true, ..Layout::new(site, title, about) },
            login: own(&site.links.url(LOGIN_PAGE, &[])),
            action: own(&site.links.url(name, &[])),
            fields: fields.collect(),
            wait: refused.map(|fault| (fault.retry_after_seconds().unwrap_or(1), message(fault))),
        }
    }
}

impl Renders for SignedOutPage<'_> {
    fn markdown(&self) -> askama::Result<String> {
        Ok(match &self.wait {
            Some((seconds, why)) => {
                format!("# Try again later\n\n{why}\n\nSubmit the form again in {seconds} seconds.\n")
            }
            None => format!(
                "# Your session has ended\n\nThe form was not submitted. Sign in at <{}>, and submit the form again.\n",
                self.login
            ),
        })
    }

    fn is_for_nobody(&self) -> bool {
        self.wait.is_none()
    }
}

/// The page after the deletion of an account.
#[derive(Template)]
#[template(path = "layout/article.html")]
pub struct AccountGonePage<'a> {
    page: Layout<'a>,
    text: Text,
}

/// The text of that page in Markdown.
const GONE: &str = "# Your account is deleted\n\nYou are signed out, and your keys no longer work. Polls that you did not \
                    delete stay readable under their addresses, without your name.\n\n[To the start page](/)\n";

impl<'a> AccountGonePage<'a> {
    /// Creates the page.
    pub fn new(site: &'a Site) -> Self {
        let about = "You are signed out, and your keys no longer work.".to_owned();
        let page = Layout { noindex: true, ..Layout::new(site, "Your account is deleted".to_owned(), about) };
        Self { page, text: text(GONE, &site.settings.base_url) }
    }
}

impl Renders for AccountGonePage<'_> {
    fn markdown(&self) -> askama::Result<String> {
        Ok(GONE.to_owned())
    }

    fn is_for_nobody(&self) -> bool {
        true
    }
}

/// A page that links to the processor's page.
#[derive(Template)]
#[template(path = "web/account/checkout.html")]
pub struct CheckoutPage<'a> {
    page: Layout<'a>,
    form: &'static CheckoutForm,
    url: String,
    host: String,
    amount: String,
    back: String,
}

impl<'a> CheckoutPage<'a> {
    /// Creates the page for a payment at this URL.
    pub fn new(site: &'a Site, form: &'static CheckoutForm, url: String, cents: u32) -> Self {
        let host = url::Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let about = format!("{} {}.", form.entry, form.processor);
        Self {
            page: Layout { noindex: true, ..Layout::new(site, form.title.to_owned(), about) },
            form,
            host: host.unwrap_or_default(),
            url,
            amount: dollars(i64::from(cents)),
            back: own(&site.links.url(DASHBOARD, &[])),
        }
    }
}

impl Renders for CheckoutPage<'_> {
    fn markdown(&self) -> askama::Result<String> {
        Ok(format!("# {}\n\n{} is paid at <{}>\n", self.form.title, self.amount, self.url))
    }
}
