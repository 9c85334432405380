//! An account's page with its money, polls and keys, and the pages that follow its forms.

use askama::Template;
use ep_kernel::fault::Fault;
use ep_kernel::key_label::KeyLabel;
use ep_kernel::tool::Tool;
use ep_tools::account::{BalanceReply, CurrentUser, GetBalance};
use ep_tools::keys::{CreatedKey, ListedKey};
use ep_tools::results::HistoryResult;
use serde_json::Value;

use super::parts;
use super::parts::{Keys, ListedPollRow, Spending};
use super::refusal::{FormRejection, RejectionContext};
use crate::documents;
use crate::documents::AskMethod;
use crate::http::Form;
use crate::layout::Layout;
use crate::layout::{Renders, own};
use crate::site::Rail;
use crate::site::Site;
use crate::site::deposit::DEPOSITS;
use crate::site::names::{ACCOUNT_FORMS, DASHBOARD, LOGOUT, RESULT_PAGE};

/// Placeholders for the API key in the examples.
const KEY_VARIABLES: [&str; 2] = ["${EP_API_KEY}", "$EP_API_KEY"];

/// Data of a request for an account's page.
#[derive(Default)]
pub struct AccountView<'a> {
    /// Page number of the poll list, from 1.
    pub page: u32,
    /// Search words for questions.
    pub search: &'a str,
    /// The payment that the browser returns from; `no` if it was abandoned.
    pub funded: &'a str,
    /// Notice from the sign-in.
    pub notice: &'a str,
    /// Outcome of a form.
    pub done: &'a str,
    /// A newly created key.
    pub created: Option<CreatedKey>,
    /// The rejected form and its fault.
    pub refused: Option<(&'static str, &'a Fault)>,
    /// The submitted values of the rejected form.
    pub typed: Option<&'a Form>,
}

/// Outputs of the operations.
pub struct AccountData {
    /// The account.
    pub user: CurrentUser,
    /// The balance.
    pub balance: BalanceReply,
    /// Spending by day.
    pub spending: ep_tools::account::Spending,
    /// The running polls.
    pub running: Vec<HistoryResult>,
    /// One page of all polls, with one extra entry if another page follows.
    pub past: Vec<HistoryResult>,
    /// Number of polls per page.
    pub listed: usize,
    /// The API keys.
    pub keys: Vec<ListedKey>,
    /// The configuration of an MCP client.
    pub mcp_config: String,
    /// Idempotency key of the forms on this page: submitting one twice runs it once.
    pub nonce: String,
    /// True if the refused form names a poll that was deleted recently.
    pub is_deleted_poll: bool,
}

/// An account's page.
#[derive(Template)]
#[template(path = "web/account/account.html")]
pub struct AccountPage<'a> {
    page: Layout<'a>,
    inner: Account,
}

/// An account's page in Markdown.
#[derive(Template)]
#[template(path = "web/account/account.md")]
struct AccountText<'a> {
    inner: &'a Account,
}

struct Account {
    who: String,
    notices: Vec<String>,
    /// The outcome of a form and the section that shows it.
    done: Option<(&'static str, &'static str)>,
    created: Option<NewKeyView>,
    refused: Option<FormRejection>,
    balance: BalanceReply,
    spending: Spending,
    running: Vec<ListedPollRow>,
    past: Vec<ListedPollRow>,
    search: String,
    number: u32,
    newer: Option<String>,
    older: Option<String>,
    keys: Keys,
    charges: bool,
    ways_to_pay: Vec<WayToPay>,
    /// The minimum and the maximum payment, in dollars.
    least: u32,
    most: u32,
    nonce: String,
    /// Maximum length of a key's label, in characters.
    longest_label: usize,
    /// The operator's contact address, if configured.
    contact: Option<Contact>,
    label: String,
    scope: String,
    amount: String,
    /// The confirmation text of a deletion, and the submitted text.
    name: String,
    confirm: String,
    forms: Addresses,
}

/// URLs of the forms, and URLs that scripts fetch.
struct Addresses {
    page: String,
    keys: String,
    revocation: String,
    cancellation: String,
    poll_deletion: String,
    export: String,
    deletion: String,
    balance: String,
    logout: String,
}

/// A payment rail with the URL to which its form or its script pays.
struct WayToPay {
    rail: &'static Rail,
    url: String,
}

impl WayToPay {
    fn new(rail: &'static Rail, address: impl Fn(&str) -> String) -> Self {
        let to = rail.page.checkout().map_or(rail.begins, |form| form.form);
        Self { rail, url: address(to) }
    }
}

/// A new key with instructions.
struct NewKeyView {
    key: String,
    label: String,
    mcp_config: String,
    ways: Vec<AskMethod>,
}

/// The operator's contact address as a link.
struct Contact {
    text: String,
    url: String,
}

impl Contact {
    /// Links to a mailbox or a page; returns `None` if no contact is configured.
    fn of(contact: &str) -> Option<Self> {
        let text = contact.strip_prefix("mailto:").unwrap_or(contact);
        let url = if text.contains("://") { text.to_owned() } else { format!("mailto:{text}") };
        (!text.is_empty()).then(|| Self { text: text.to_owned(), url })
    }
}

impl Account {
    fn held(&self) -> Option<String> {
        parts::held(&self.balance)
    }
}

impl<'a> AccountPage<'a> {
    /// Creates the page for this request.
    pub fn new(site: &'a Site, view: AccountView<'_>, data: AccountData) -> Self {
        let AccountData { user, balance, spending, running, mut past, listed, keys, .. } = data;
        let email = user.email;
        let address = |name: &str| own(&site.links.url(name, &[]));
        let forms = Addresses {
            page: address(DASHBOARD),
            keys: address(ACCOUNT_FORMS.keys),
            revocation: address(ACCOUNT_FORMS.revocation),
            cancellation: address(ACCOUNT_FORMS.cancellation),
            poll_deletion: address(ACCOUNT_FORMS.poll_deletion),
            export: address(ACCOUNT_FORMS.export),
            deletion: address(ACCOUNT_FORMS.deletion),
            balance: address(GetBalance::SPEC.name),
            logout: address(LOGOUT),
        };
        let more = past.len() > listed;
        past.truncate(listed);
        let index = |number: u32| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            if !view.search.is_empty() {
                query.append_pair("search", view.search);
            }
            format!("{}?{}#polls", forms.page, query.append_pair("page", &number.to_string()).finish())
        };
        let (newer, older) =
            ((view.page > 1).then(|| index(view.page - 1)), more.then(|| index(view.page + 1)));
        let typed = |form: &str, name: &str| {
            let of_this = view.refused.is_some_and(|(refused, _)| refused == form);
            view.typed.filter(|_| of_this).map(|typed| typed.text(name).to_owned()).unwrap_or_default()
        };
        let name = email.strip_suffix(WALLETS).unwrap_or(&email).to_owned();
        let keys = Keys::new(keys);
        let revoked_key = typed(ACCOUNT_FORMS.revocation, "key_id");
        let known = RejectionContext {
            name: &name,
            is_deleted_poll: data.is_deleted_poll,
            is_revoked_key: keys.revoked.iter().any(|key| key.id.to_string() == revoked_key),
            has_balance: balance.balance_cents != 0,
        };
        let page_of = |id: &str| own(&site.links.url(RESULT_PAGE, &[("poll_id", id)]));
        let listed = |polls: Vec<HistoryResult>| {
            polls.into_iter().map(|poll| ListedPollRow::new(poll, page_of)).collect()
        };
        let inner = Account {
            who: who(&email),
            notices: notices(&view),
            created: view.created.map(|created| NewKeyView::new(site, created, &data.mcp_config)),
            done: outcome(view.done),
            refused: view.refused.map(|(form, fault)| FormRejection::new(form, fault, view.typed, &known)),
            balance,
            spending: Spending(spending),
            running: listed(running),
            past: listed(past),
            search: view.search.to_owned(),
            number: view.page,
            newer,
            older,
            keys,
            charges: site.settings.offer.charges,
            ways_to_pay: site.settings.offer.rails().map(|rail| WayToPay::new(rail, address)).collect(),
            least: *DEPOSITS.start() / 100,
            most: *DEPOSITS.end() / 100,
            nonce: data.nonce,
            longest_label: KeyLabel::MAX_CHARS,
            contact: Contact::of(&site.settings.operator.contact),
            label: typed(ACCOUNT_FORMS.keys, "label"),
            scope: typed(ACCOUNT_FORMS.keys, "scope"),
            amount: typed(ACCOUNT_FORMS.checkout, "amount"),
            name,
            confirm: typed(ACCOUNT_FORMS.deletion, "confirm"),
            forms,
        };
        let about = "Balance, polls and API keys of your account.".to_owned();
        Self { page: Layout { noindex: true, ..Layout::new(site, "Your account".to_owned(), about) }, inner }
    }

    /// Returns the rejection of this form.
    fn refused(&self, form: &str) -> Option<&FormRejection> {
        self.inner.refused.as_ref().filter(|refused| refused.form == form)
    }

    /// True if a rejection concerns this field.
    fn is_wrong(&self, field: &str) -> bool {
        self.inner.refused.as_ref().is_some_and(|refused| refused.field.as_deref() == Some(field))
    }

    /// Returns the outcome of a form in this section.
    fn done(&self, section: &str) -> Option<&'static str> {
        self.inner.done.filter(|(concerned, _)| *concerned == section).map(|(_, text)| text)
    }

    fn keys(&self) -> Option<&FormRejection> {
        self.refused(ACCOUNT_FORMS.keys)
    }

    fn revocation(&self) -> Option<&FormRejection> {
        self.refused(ACCOUNT_FORMS.revocation)
    }

    fn cancellation(&self) -> Option<&FormRejection> {
        self.refused(ACCOUNT_FORMS.cancellation)
    }

    fn poll_deletion(&self) -> Option<&FormRejection> {
        self.refused(ACCOUNT_FORMS.poll_deletion)
    }

    fn export(&self) -> Option<&FormRejection> {
        self.refused(ACCOUNT_FORMS.export)
    }

    fn deletion(&self) -> Option<&FormRejection> {
        self.refused(ACCOUNT_FORMS.deletion)
    }
}

impl Renders for AccountPage<'_> {
    fn html(&self) -> askama::Result<String> {
        self.render()
    }

    fn markdown(&self) -> askama::Result<String> {
        AccountText { inner: &self.inner }.render()
    }
}

impl NewKeyView {
    fn new(site: &Site, created: CreatedKey, mcp_config: &str) -> Self {
        let CreatedKey { key, label, .. } = created;
        let with_key =
            |text: &str| KEY_VARIABLES.iter().fold(text.to_owned(), |text, name| text.replace(name, &key));
        let ways = documents::ways(site)
            .into_iter()
            .filter(|way| KEY_VARIABLES.iter().any(|name| way.command.contains(name)));
        let ways = ways.map(|way| AskMethod { command: with_key(&way.command), ..way });
        Self { mcp_config: with_key(&remote_servers(mcp_config)), ways: ways.collect(), label, key }
    }
}

/// Removes local servers from an MCP client's configuration, because a key is for this service only.
fn remote_servers(mcp_config: &str) -> String {
    let Ok(mut config) = serde_json::from_str::<Value>(mcp_config) else { return mcp_config.to_owned() };
    if let Some(servers) = config["mcpServers"].as_object_mut() {
        servers.retain(|_, server| server.get("url").is_some());
    }
    format!("{config:#}")
}

/// Suffix of the placeholder address of a wallet's account.
const WALLETS: &str = "@wallet.invalid";

/// Names the signed-in account: an email address, or the wallet it belongs to.
fn who(email: &str) -> String {
    let wallet = email.strip_suffix(WALLETS);
    wallet.map_or_else(|| email.to_owned(), |wallet| format!("wallet {wallet}"))
}

/// Returns the notices at the top of the page.
fn notices(view: &AccountView<'_>) -> Vec<String> {
    let funded = match view.funded {
        "" => None,
        "no" => Some("The payment was not made, and nothing was charged."),
        _ => Some(
            "Thank you. The payment is credited as soon as its processor reports it, which takes seconds.",
        ),
    };
    let notice = (view.notice == "no_starter_credit")
        .then_some("No starter credit was given: today's allowance is used up. Everything else works.");
    [funded, notice].into_iter().flatten().map(str::to_owned).collect()
}

/// Returns the outcome of a form and the section that shows it.
fn outcome(done: &str) -> Option<(&'static str, &'static str)> {
    match done {
        "revoked" => Some(("keys", "The key is revoked. Programs that send it are refused.")),
        "cancelled" => Some(("polls", "The poll has ended with the votes so far.")),
        "deleted" => Some((
            "polls",
            "The poll is deleted. Its page answers \"not found\" from now on. Caches outside this service can show it \
             for up to a day.",
        )),
        _ => None,
    }
}
