//! An account's page with its money, polls and keys, and the pages that follow its forms.

use askama::Template;
use ep_site::Site;
use ep_site::deposit::{DEPOSITS, PRESETS, amount_rule};
use ep_site::layout::{HeaderVisitor, Layout};
use ep_site::layout::{Renders, own};
use ep_site::names::{ACCOUNT_FORMS, BATCH_PAGE, DASHBOARD, EVALUATION_PAGE, LOGOUT, RESULT_PAGE};
use ep_store::{KeyLabel, PastPoll};
use ep_tools::account::BalanceReply;

use super::amounts;
use super::batches::BatchRow;
use super::chart::Chart;
use super::evaluations::EvaluationRow;
use super::keys::Keys;
use super::links::{Contact, WayToPay};
use super::new_key::NewKeyView;
use super::notices::{Notice, notices, outcome};
use super::page_data::{AccountData, AccountView};
use super::payments::PaymentRow;
use super::polls::PollRow;
use super::refusal::{FormRejection, RejectionContext};
use super::spending::Spending;

/// An account's page.
#[derive(Template)]
#[template(path = "web/account/account.html")]
pub struct AccountPage<'a> {
    page: Layout<'a>,
    inner: Account,
}

#[derive(Template)]
#[template(path = "web/account/account.md")]
struct Account {
    who: String,
    short_name: String,
    notices: Vec<Notice>,
    /// The outcome of a form and the section that shows it.
    done: Option<(&'static str, &'static str)>,
    created: Option<NewKeyView>,
    refused: Option<FormRejection>,
    balance: BalanceReply,
    spending: Spending,
    chart: Option<Chart>,
    running: Vec<PollRow>,
    past: Vec<PollRow>,
    batches: Vec<BatchRow>,
    newest_batches: Option<String>,
    older_batches: Option<String>,
    evaluations: Vec<EvaluationRow>,
    payments: Vec<PaymentRow>,
    search: String,
    number: u32,
    newer: Option<String>,
    older: Option<String>,
    keys: Keys,
    charges: bool,
    ways_to_pay: Vec<WayToPay>,
    /// Amounts to choose from, the chosen one, and the range of other amounts as an instruction.
    presets: [u32; 3],
    preset: u32,
    amount_rule: String,
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
}

impl Account {
    fn held(&self) -> Option<String> {
        amounts::held(&self.balance)
    }
}

impl<'a> AccountPage<'a> {
    /// Creates the page for this request.
    pub fn new(site: &'a Site, view: AccountView<'_>, data: AccountData) -> Self {
        let AccountData { now, user, balance, spending, running, mut past, listed, keys, .. } = data;
        let email = user.email;
        let address = |name: &str| own(&site.links.url(name, &[]));
        let path = address(DASHBOARD);
        let more = past.len() > listed;
        past.truncate(listed);
        let index = |number: u32| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            if !view.search.is_empty() {
                query.append_pair("search", view.search);
            }
            format!("{path}?{}#polls", query.append_pair("page", &number.to_string()).finish())
        };
        let (newer, older) =
            ((view.page > 1).then(|| index(view.page - 1)), more.then(|| index(view.page + 1)));
        let typed = |form: &str, name: &str| {
            let of_this = view.refused.is_some_and(|(refused, _)| refused == form);
            view.typed.filter(|_| of_this).map(|typed| typed.text(name).to_owned()).unwrap_or_default()
        };
        let name = email.strip_suffix(WALLETS).unwrap_or(&email).to_owned();
        let keys = Keys::new(keys, now);
        let revoked_key = typed(ACCOUNT_FORMS.revocation, "key_id");
        let known = RejectionContext {
            name: &name,
            is_deleted_poll: data.is_deleted_poll,
            is_revoked_key: keys.revoked.iter().any(|key| key.id.to_string() == revoked_key),
            has_balance: balance.balance_cents != 0,
        };
        let page_of = |id: &str| own(&site.links.url(RESULT_PAGE, &[("poll_id", id)]));
        let batch_page = |id: &str| own(&site.links.url(BATCH_PAGE, &[("batch_id", id)]));
        let evaluation_page = |id: &str| own(&site.links.url(EVALUATION_PAGE, &[("evaluation_id", id)]));
        let evaluation = |stored| EvaluationRow::new(stored, now, evaluation_page);
        let batches_after = |cursor: String| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            format!("{path}?{}#batches", query.append_pair("batches", &cursor).finish())
        };
        let older_batches = data.batches.next_cursor.map(batches_after);
        let newest_batches = (!view.batches.is_empty()).then(|| format!("{path}#batches"));
        let batches = data.batches.batches;
        let listed =
            |polls: Vec<PastPoll>| polls.into_iter().map(|poll| PollRow::new(poll, now, page_of)).collect();
        let payment = |transfer| PaymentRow::new(transfer, user.user_id, &site.settings.offer, now);
        let charges = site.settings.offer.charges;
        let visitor = HeaderVisitor::new(&email, charges.then(|| balance.balance.clone()));
        let spending = Spending(spending);
        let preset = typed(ACCOUNT_FORMS.checkout, "preset").parse().ok();
        let inner = Account {
            who: who(&email),
            short_name: short_name(&email),
            notices: notices(&view, data.funded.as_ref(), &path),
            created: view.created.map(|created| NewKeyView::new(site, created, &data.mcp_config)),
            done: outcome(view.done),
            refused: view.refused.map(|(form, fault)| FormRejection::new(form, fault, view.typed, &known)),
            balance,
            chart: Chart::of(spending.days()),
            spending,
            running: listed(running),
            past: listed(past),
            evaluations: data.evaluations.into_iter().map(evaluation).collect(),
            batches: batches.into_iter().map(|batch| BatchRow::new(batch, now, batch_page)).collect(),
            newest_batches,
            older_batches,
            payments: data.payments.iter().map(payment).collect(),
            search: view.search.to_owned(),
            number: view.page,
            newer,
            older,
            keys,
            charges,
            ways_to_pay: site.settings.offer.rails().map(|rail| WayToPay::new(rail, address)).collect(),
            presets: PRESETS,
            preset: PRESETS.into_iter().find(|known| Some(*known) == preset).unwrap_or(PRESETS[1]),
            amount_rule: amount_rule(),
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
        };
        let about = "Balance, polls and API keys of your account.".to_owned();
        let page = Layout::new(site, "Your account".to_owned(), about);
        Self { page: Layout { noindex: true, visitor: Some(visitor), ..page }, inner }
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
}

impl Renders for AccountPage<'_> {
    fn markdown(&self) -> askama::Result<String> {
        self.inner.render()
    }
}

/// Suffix of the placeholder address of a wallet's account.
const WALLETS: &str = "@wallet.invalid";

/// Names the signed-in account: an email address, or the wallet it belongs to.
fn who(email: &str) -> String {
    let wallet = email.strip_suffix(WALLETS);
    wallet.map_or_else(|| email.to_owned(), |wallet| format!("wallet {wallet}"))
}

/// Names it in one line of a phone: the beginning and the end identify a wallet.
fn short_name(email: &str) -> String {
    match email.strip_suffix(WALLETS) {
        Some(wallet) if wallet.is_ascii() && wallet.len() > 12 => {
            format!("wallet {}…{}", &wallet[..6], &wallet[wallet.len() - 4..])
        }
        _ => who(email),
    }
}
