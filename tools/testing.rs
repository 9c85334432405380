//! An in-memory service for tests: operations run against the real poll executor, a temporary database and
//! the demo roster.

use std::sync::Arc;
use std::time::Duration;

use ep_kernel::batches;
use ep_kernel::dispatch::dispatch_internal;
use ep_kernel::executor;
use ep_kernel::testing::{ManualClock, SeededEntropy};
use ep_kernel::{
    AccountData, Accounts, BatchSettings, Batches, CallOutput, Caller, Cards, ChallengeNonces, Clock, Ctx,
    DatabaseHealth, Entropy, Fault, Keys, Lifetimes, Links, Models, Pepper, PollExecutor, PollLimits,
    Proposals, Reputation, Sealer, Sessions, Settings, SignUps, StarterCredit, Tasks, Tool, ToolPorts,
    WalletParts, WebhookParts, WebhookSecrets,
};
use ep_outgoing::{HttpClients, HttpWebhooks, PublicTargets};
use ep_outside::identity::{Siwe, SiweSite};
use ep_polling::MicroUsd;
use ep_store::{KeyScope, RequestId, StarterCreditLimits, StoreOptions, UserId};
use ep_upstream::{Demo, DemoConfig};
use serde_json::Value;

use crate::batches::batch_endpoints;
use crate::entry_of;

/// A service without HTTP, MCP or other surfaces.
pub struct Service {
    ports: Arc<ToolPorts>,
    accounts: Accounts,
    entropy: Arc<dyn Entropy>,
}

impl Service {
    /// Starts a service with sixty simulated models that respond at once.
    pub async fn start() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(1));
        let url = "sqlite::memory:".parse().unwrap();
        let ep_store::OpenDatabase { store, treasury, vault, runtime } =
            ep_store::connect(&url, StoreOptions::default()).await.unwrap();
        let demo = DemoConfig { latency_scale: 0.0, presets_path: None };
        let models: Arc<dyn Models> = Arc::new(Demo::new(&demo, Arc::clone(&clock)).unwrap());
        let executor = executor::Ports {
            polls: runtime.polls(),
            changes: None,
            models: Arc::clone(&models),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            tasks: Tasks::default(),
        };
        let deadline = Duration::from_mins(1);
        let accounts = Accounts {
            treasury: treasury.clone(),
            store: store.clone(),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
        };
        let secret = b"test";
        let keys = Keys::new(vault.clone(), Arc::clone(&clock), Arc::clone(&entropy), Pepper::derive(secret));
        let keys = Arc::new(keys);
        let lifetimes = Lifetimes { idle: Duration::from_hours(1), absolute: Duration::from_hours(24) };
        let sealer = Sealer::derive(secret, "sessions");
        let sessions =
            Sessions::new(vault.clone(), Arc::clone(&clock), Arc::clone(&entropy), sealer, lifetimes);
        let limits = StarterCreditLimits { per_day: 0, per_network_and_day: 0, per_address_and_day: 0 };
        let starter_credit = StarterCredit { amount: MicroUsd::STARTER_CREDIT, limits };
        let sign_ups = SignUps::new(
            treasury.clone(),
            Arc::clone(&keys),
            Arc::clone(&clock),
            Arc::clone(&entropy),
            starter_credit,
        );
        let cards = Cards::new(None, treasury.clone(), Arc::clone(&clock), Arc::clone(&entropy));
        let site = SiweSite { base_url: "https://polls.example.com".parse().unwrap(), chain_id: 8453 };
        let wallets = WalletParts {
            messages: Arc::new(Siwe::new(site, None)),
            nonces: ChallengeNonces::derive(secret, "polls.example.com"),
            vault: vault.clone(),
            treasury: treasury.clone(),
            sign_ups: Arc::new(sign_ups),
            sessions: Arc::new(sessions),
            keys: Arc::clone(&keys),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
        };
        let routes = crate::TOOLS.iter().flat_map(|entry| {
            entry.bindings().map(|rest| (entry.spec.name.to_owned(), rest.method, rest.path.to_owned()))
        });
        let polls = PollExecutor::new(executor, Duration::from_secs(30), deadline, PollLimits::default());
        let targets = PublicTargets::new(Vec::new());
        let webhooks = WebhookParts {
            vault: vault.clone(),
            sender: Arc::new(HttpWebhooks::new(targets, &HttpClients::default()).unwrap()),
            polls: polls.clone(),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            secrets: WebhookSecrets::derive(secret),
            describe: Box::new(|_| None),
        };
        let batches = batches::Ports {
            store: store.clone(),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            ended_tasks: polls.ended_tasks(),
            tasks: Tasks::default(),
        };
        let batch_settings = BatchSettings {
            billing: true,
            worker: polls.worker().to_owned(),
            lease: Duration::from_secs(30),
            at_once: 4,
            max_stored: 1 << 30,
            endpoints: batch_endpoints().collect(),
        };
        let batches = Batches::new(batches, batch_settings);
        let ports = Arc::new(ToolPorts {
            settings: Arc::new(Settings {
                billing: true,
                poll_deadline: deadline,
                mcp_wait: deadline,
                reserved_names: Vec::new(),
                version: "1.2.3",
                commit: None,
            }),
            proposals: Proposals::new(Arc::clone(&models), Arc::clone(&clock), Arc::clone(&entropy)),
            account_data: AccountData { store: store.clone(), clock: Arc::clone(&clock) },
            reputation: Reputation::new(runtime.clone(), Arc::clone(&clock)),
            links: Arc::new(Links::new("https://polls.example.com", routes)),
            clock,
            entropy: Arc::clone(&entropy),
            models,
            store: store.clone(),
            webhooks: Arc::new(webhooks.into()),
            batches: Arc::new(batches),
            polls,
            wallets: Arc::new(wallets.into()),
            cards: Arc::new(cards),
            keys,
            health: DatabaseHealth::new(runtime.polls()),
        });
        Self { ports, accounts, entropy }
    }

    /// Creates a user with a balance of one dollar.
    pub async fn user(&self) -> Caller {
        Caller::Session { user: self.account().await }
    }

    /// Creates an account, and returns a program that may do everything with it.
    pub async fn program(&self) -> Caller {
        Caller::Token { user: self.account().await, scope: Some(KeyScope::All) }
    }

    async fn account(&self) -> UserId {
        let name = hex::encode(self.entropy.bytes::<8>());
        let email = format!("{name}@example.com").parse().unwrap();
        self.accounts.create_user(email, MicroUsd::STARTER_CREDIT).await.unwrap()
    }

    /// Returns a caller without credentials.
    pub fn anonymous() -> Caller {
        Caller::Anonymous { address: [127, 0, 0, 1].into() }
    }

    /// Calls an operation.
    pub async fn call<T: Tool>(&self, caller: &Caller, input: Value) -> Result<CallOutput, Fault> {
        let request_id = RequestId::from_random(self.entropy.bytes());
        let entry = entry_of::<T>()?;
        let mut input = input;
        entry.remove_empty(&mut input)?;
        dispatch_internal(entry, Ctx::new(Arc::clone(&self.ports), caller.clone(), request_id), input).await
    }
}
