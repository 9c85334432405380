//! `create_checkout`: opens a page to fund the account by card.

use ep_store::Cents;

use crate::prelude::*;

/// Opens a page to fund the account by card.
pub struct CreateCheckout;

/// The minimum payment, in cents.
const LEAST: u32 = 100;
/// The maximum payment, in cents.
const MOST: u32 = 100_000;

/// A request for a payment page.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CheckoutRequest {
    /// The amount in whole US cents: 100 is $1.00.
    #[schemars(range(min = LEAST, max = MOST))]
    pub amount_cents: u32,
}

/// A payment page.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckoutLink {
    /// The URL of the payment page, for a browser; valid for one hour.
    #[schemars(extend("format" = "uri"))]
    pub url: String,
}

impl ToolOutput for CheckoutLink {}

impl Tool for CreateCheckout {
    const SPEC: Spec = Spec {
        name: "create_checkout",
        title: "Fund the account by card",
        summary: "Opens a payment page for a card; the amount is credited to your account after the payment.",
        manual: include_str!("create_checkout.md"),
        example: r#"{ "amount_cents": 500 }"#,
        access: Access::COOKIE,
        effect: Effect::Write { idempotent: false },
        rest: Some(Rest::post("/api/checkout")),
        intents: &[
            "add funds by card",
            "top up",
            "top up my account",
            "add money to my account",
            "charge my card",
            "top up my balance",
            "pay by credit card",
            "buy credits for my account",
            "fund my account",
            "deposit money into my account",
            "I ran out of credits, how do I add more",
            "checkout link to pay with a card",
            "how do I pay",
        ],
        faults: &[Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = CheckoutRequest;
    type Output = CheckoutLink;

    async fn call(cx: &Ctx, input: CheckoutRequest) -> Result<CheckoutLink, Fault> {
        if !(LEAST..=MOST).contains(&input.amount_cents) {
            let rule = format!("must be a whole number of cents from {LEAST} to {MOST}");
            return Err(Fault::invalid("amount_cents", rule));
        }
        let page = cx.cards().begin(cx.account()?, Cents(input.amount_cents)).await?;
        Ok(CheckoutLink { url: page.url })
    }
}
