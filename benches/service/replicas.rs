//! Measures the gain from a second replica on the same PostgreSQL: polls per second of service CPU, the
//! capacity if each replica has its own processors. One and two replicas alternate under the same load.

use std::time::Duration;

use ep_store::testing::Postgres;
use reqwest::Client;

use crate::polls::{Poll, many, upstream};
use crate::process::{Server, ep_json_with, median};

const ROUNDS: usize = 6;

/// Measures replicas.
pub(crate) async fn run() {
    let database = Postgres::start().expect("a server").database().await.expect("a database");
    let (upstream, data) = (upstream(), tempfile::tempdir().expect("a folder"));
    let base_url = upstream.base_url();
    let variables = [
        ("EP_DATABASE_URL", database.url()),
        ("EP_UPSTREAM_URL", base_url.as_str()),
        ("EP_LOG", "warn,ensemble_poll=info"),
    ];
    let user = ["admin", "create-user", "--email", "bench@example.com", "--credit-usd", "1000", "--json"];
    let key = ep_json_with(&data, &user, &variables)["api_key"].as_str().expect("a key").to_owned();
    let client = Client::builder().tcp_nodelay(true).no_proxy().build().expect("a client");
    let mut per_poll = [const { Vec::new() }; 2];
    for round in 0..=ROUNDS {
        for (replicas, per_poll) in [1, 2].into_iter().zip(&mut per_poll) {
            let servers: Vec<Server> = (0..replicas).map(|_| Server::start(&data, &variables)).collect();
            let poll = |server: &Server| Poll {
                client: &client,
                url: format!("{}/api/poll", server.url),
                key: key.clone(),
            };
            let services: Vec<Poll<'_>> = servers.iter().map(poll).collect();
            let services: Vec<&Poll<'_>> = services.iter().collect();
            // The first call is a warm-up.
            many(&services).await;
            let used = || servers.iter().map(Server::cpu).sum::<Duration>();
            let before = used();
            let polls = many(&services).await.len() as u32;
            if round > 0 {
                per_poll.push(used().saturating_sub(before) / polls);
            }
        }
    }
    let audit = ep_json_with(&data, &["admin", "audit", "--json"], &variables);
    assert_eq!(audit["clean"], true, "{audit}");
    let [one, two] = per_poll.map(|times| median(times).as_secs_f64());
    println!(
        "\nreplicas on one PostgreSQL, CPU of the services per poll, median of {ROUNDS} rounds in turns"
    );
    println!(
        "  one                           {:>8.2} ms   {:>6.0} polls per second of CPU",
        one * 1e3,
        1.0 / one
    );
    println!(
        "  two                           {:>8.2} ms   {:>6.0}   ×{:.2}",
        two * 1e3,
        2.0 / two,
        2.0 * one / two
    );
}
