//! The cost of a vote, and the source of the figure.

use ep_kernel::AbandonPolicy;
use ep_kernel::ports::Models as _;
use ep_polling::{Member, Price, Spend, SpendBasis};
use ep_upstream::testing::{Action, Behaviour, Billing, Forms, Script};
use serde_json::json;

use super::{Fixture, LONG, member, priced, view};

async fn spend_of(behaviour: Behaviour, member: &Member) -> (i64, SpendBasis) {
    let fixture = Fixture::new(Script::default().with("m", behaviour));
    let Spend { amount, basis } = fixture.upstream().vote(member, &view(), LONG.into()).await.spend;
    (amount.micro(), basis)
}

#[tokio::test]
async fn every_cost_has_the_basis_of_its_source() {
    let behaviour = |billing| Behaviour::default().billed(billing);
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
        assert_eq!(spend_of(behaviour(billing.clone()), &member).await, expected, "{billing:?}");
    }
}

#[tokio::test]
async fn every_request_is_counted() {
    let unusable = Action::Says("I cannot decide.".into());
    let behaviour = Behaviour::of([unusable, Action::Obey(Forms::ALL)]).billed(Billing::Cost(100, 10, 0.001));
    assert_eq!(spend_of(behaviour, &priced("m")).await, (2000, SpendBasis::Reported));
    // A failure that reports usage was charged; other failures were not.
    let charged = json!({ "error": { "message": "late" }, "usage": { "cost": 0.002 } }).to_string();
    let behaviour = Behaviour::of([Action::Status(502, charged), Action::Obey(Forms::ALL)])
        .billed(Billing::Cost(1, 1, 0.001));
    assert_eq!(spend_of(behaviour, &priced("m")).await, (3000, SpendBasis::Reported));
    let behaviour = Behaviour::of([Action::Status(503, "{}".into()), Action::Obey(Forms::ALL)])
        .billed(Billing::Cost(1, 1, 0.001));
    assert_eq!(spend_of(behaviour, &priced("m")).await, (1000, SpendBasis::Reported));
    let behaviour = Behaviour::of([Action::Status(402, "{}".into())]);
    assert_eq!(spend_of(behaviour, &priced("m")).await, (0, SpendBasis::Priced));
}

#[tokio::test]
async fn at_most_two_responses_are_paid() {
    let charged = json!({ "error": { "message": "late" }, "usage": { "cost": 0.002 } }).to_string();
    let fixture = Fixture::new(Script::default().with("m", Behaviour::of([Action::Status(502, charged)])));
    fixture.upstream().vote(&priced("m"), &view(), LONG.into()).await;
    assert_eq!(fixture.server.calls("m"), 2);
}

#[tokio::test]
async fn calls_to_paid_models_are_drained() {
    let fixture = Fixture::new(Script::default());
    let upstream = fixture.upstream();
    assert_eq!(upstream.abandon(&priced("m")), AbandonPolicy::Drain);
    assert_eq!(upstream.abandon(&member("m")), AbandonPolicy::Cancel);
    assert_eq!(upstream.abandon(&Member { price: Some(Price::FREE), ..member("m") }), AbandonPolicy::Cancel);
}
