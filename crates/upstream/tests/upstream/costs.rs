//! What a vote cost, and where the figure comes from.

use ep_kernel::ports::{Abandon, Models as _};
use ep_polling::money::{Price, Spend, SpendBasis};
use ep_polling::roster::Member;
use ep_upstream::testing::{Action, Behaviour, Billing, Forms, Script};
use serde_json::json;

use super::{LONG, Rig, member, priced, view};

async fn spend_of(part: Behaviour, member: &Member) -> (i64, SpendBasis) {
    let rig = Rig::new(Script::default().with("m", part));
    let Spend { amount, basis } = rig.upstream().vote(member, &view(), LONG).await.spend;
    (amount.micro(), basis)
}

#[tokio::test]
async fn each_figure_has_its_basis() {
    let part = |billing| Behaviour::default().billed(billing);
    let free = Member { price: Some(Price::FREE), ..member("m") };
    for (billing, member, expected) in [
        (Billing::Cost(100, 10, 0.000_123_4), priced("m"), (124, SpendBasis::Reported)),
        (Billing::Cost(100, 10, 0.0), member("m"), (0, SpendBasis::Reported)),
        (Billing::Header(100, 10, 0.000_05), priced("m"), (50, SpendBasis::Reported)),
        (Billing::Tokens(100, 10), priced("m"), (120, SpendBasis::Priced)),
        (Billing::Tokens(100, 10), member("m"), (0, SpendBasis::Unknown)),
        (Billing::Silent, priced("m"), (0, SpendBasis::Unknown)),
        (Billing::Silent, free.clone(), (0, SpendBasis::Priced)),
        (Billing::Tokens(100, 10), free, (0, SpendBasis::Priced)),
        (
            Billing::Usage(json!({ "cost": -1, "prompt_tokens": 100, "completion_tokens": 10 })),
            priced("m"),
            (120, SpendBasis::Priced),
        ),
        (
            Billing::Usage(json!({ "cost": "many", "prompt_tokens": "lots" })),
            priced("m"),
            (0, SpendBasis::Unknown),
        ),
        (Billing::Usage(json!("free!")), priced("m"), (0, SpendBasis::Unknown)),
    ] {
        assert_eq!(spend_of(part(billing.clone()), &member).await, expected, "{billing:?}");
    }
}

#[tokio::test]
async fn every_attempt_is_on_the_bill() {
    let nonsense = Action::Says("I cannot decide.".into());
    let part = Behaviour::of([nonsense, Action::Obey(Forms::ALL)]).billed(Billing::Cost(100, 10, 0.001));
    assert_eq!(spend_of(part, &priced("m")).await, (2000, SpendBasis::Reported));
    // A failure that reports usage was charged; one that does not, was not.
    let charged = json!({ "error": { "message": "late" }, "usage": { "cost": 0.002 } }).to_string();
    let part = Behaviour::of([Action::Status(502, charged), Action::Obey(Forms::ALL)])
        .billed(Billing::Cost(1, 1, 0.001));
    assert_eq!(spend_of(part, &priced("m")).await, (3000, SpendBasis::Reported));
    let part = Behaviour::of([Action::Status(503, "{}".into()), Action::Obey(Forms::ALL)])
        .billed(Billing::Cost(1, 1, 0.001));
    assert_eq!(spend_of(part, &priced("m")).await, (1000, SpendBasis::Reported));
    let part = Behaviour::of([Action::Status(402, "{}".into())]);
    assert_eq!(spend_of(part, &priced("m")).await, (0, SpendBasis::Priced));
}

#[tokio::test]
async fn no_more_than_two_answers_are_ever_paid() {
    let charged = json!({ "error": { "message": "late" }, "usage": { "cost": 0.002 } }).to_string();
    let rig = Rig::new(Script::default().with("m", Behaviour::of([Action::Status(502, charged)])));
    rig.upstream().vote(&priced("m"), &view(), LONG).await;
    assert_eq!(rig.server.calls("m"), 2);
}

#[tokio::test]
async fn calls_are_drained_where_money_is_at_stake() {
    let rig = Rig::new(Script::default());
    let upstream = rig.upstream();
    assert_eq!(upstream.abandon(&priced("m")), Abandon::Drain);
    assert_eq!(upstream.abandon(&member("m")), Abandon::HangUp);
    assert_eq!(upstream.abandon(&Member { price: Some(Price::FREE), ..member("m") }), Abandon::HangUp);
}
