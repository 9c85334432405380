//! Schemathesis calls every operation with valid and invalid requests; the responses must match the description.

use ep_polling::MicroUsd;
use ep_site::names::OPENAPI;
use tokio::process::Command;

use super::{folder, python, run_in};
use crate::deposits::PaymentSetup;
use crate::harness::{IdentityProvider, Service, Setup, Stripe};

/// A service with every feature: cards, deposits and an identity provider.
struct FullService {
    service: Service,
    _stripe: Stripe,
    _provider: IdentityProvider,
    _world: PaymentSetup,
}

impl FullService {
    async fn start() -> Self {
        let world = PaymentSetup::start().await;
        let (setup, url) = world.with_node(Setup::demo()).at_known_address();
        let stripe = Stripe::start(&url, &["whsec_new"]).await;
        let provider = IdentityProvider::start(&url, 0).await;
        let setup = setup
            .with("EP_STRIPE_SECRET_KEY", "sk_test_of_the_tests")
            .with("EP_STRIPE_WEBHOOK_SECRET", "whsec_new")
            .with("EP_STRIPE_API_URL", &stripe.api_url)
            .with("EP_AUTH_ISSUER_URL", &provider.issuer)
            .with("EP_AUTH_CLIENT_ID", "polls")
            .with("EP_AUTH_CLIENT_SECRET", "a secret of the client");
        Self { service: setup.boot().await, _stripe: stripe, _provider: provider, _world: world }
    }
}

/// `hooks.py` chooses the credential of each operation: a session or a key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_match_the_description() {
    let whole = FullService::start().await;
    let (user, client) = whole.service.user_with(MicroUsd::new(1_000_000_000)).await;
    let credentials = [("EP_KEY", client.key.unwrap()), ("EP_SESSION", whole.service.cookie(user).await)];
    let scratch = tempfile::tempdir().unwrap();
    let config = scratch.path().join("schemathesis.toml");
    let settings = std::fs::read_to_string(folder().join("schemathesis.toml")).unwrap();
    let hooks = format!("hooks = \"{}\"\n", folder().join("hooks.py").display());
    std::fs::write(&config, hooks + &settings).unwrap();
    let url = whole.service.app.ports.links.url(OPENAPI, &[]);
    let mut arguments = vec!["--config-file", config.to_str().unwrap(), "--no-color", "run", &url];
    arguments.extend([
        "--max-examples",
        "10",
        "--seed",
        "1",
        "--workers",
        "1",
        "--generation-database",
        "none",
    ]);
    arguments.extend(["--phases", "examples,coverage,fuzzing,stateful"]);
    let mut command = Command::new(python(".python", "schemathesis"));
    command.envs(credentials);
    let said = run_in(scratch.path(), command, &arguments).await;
    let numbers = |words: &str| -> Vec<usize> {
        let line = said.split(words).last().unwrap().lines().next().unwrap();
        line.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    let [selected, all] = numbers("Selected:")[..] else { panic!("{said}") };
    assert_eq!(selected, all, "{said}");
    let [followed, ..] = numbers("API Links:")[..] else { panic!("{said}") };
    assert!(followed >= 5, "{followed} links were followed: {said}");
    for phase in ["Examples", "Coverage", "Fuzzing", "Stateful"] {
        assert!(said.contains(&format!("✅ {phase}\n")), "{said}");
    }
}
