//! Logs and metrics.

use std::io::IsTerminal;
use std::net::SocketAddr;

use ep_kernel::tasks::Tasks;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{LogFormat, Telemetry};

/// Buckets for durations, in seconds: from instant reads to slow polls.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0,
];

/// Begins logging to standard error, so that standard output stays the program's own. Does nothing where
/// a subscriber is already set.
pub fn start_logging(settings: &Telemetry) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.log)?;
    let json = match settings.log_format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !std::io::stderr().is_terminal(),
    };
    let registry = tracing_subscriber::registry().with(filter);
    let started = if json {
        registry
            .with(
                fmt::layer()
                    .json()
                    .with_current_span(true)
                    .with_span_list(false)
                    .with_writer(std::io::stderr),
            )
            .try_init()
    } else {
        let mut layer = fmt::layer().with_target(false).with_writer(std::io::stderr);
        if !std::io::stderr().is_terminal() {
            layer.set_ansi(false);
        }
        registry.with(layer).try_init()
    };
    if started.is_err() {
        tracing::debug!("logging had already begun");
    }
    Ok(())
}

/// Begins to gather metrics, in the Prometheus text format.
pub fn start_metrics() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), SECONDS)?
        .install_recorder()?;
    describe();
    Ok(handle)
}

fn describe() {
    use metrics::{
        Unit, describe_counter as counter, describe_gauge as gauge, describe_histogram as histogram,
    };
    counter!("ep_requests_total", "Calls, by tool, surface and outcome code");
    histogram!("ep_request_duration_seconds", Unit::Seconds, "Time per call, by tool and surface");
    histogram!("ep_added_latency_seconds", Unit::Seconds, "Time per call beyond waiting for models");
    counter!("ep_polls_opened_total", "Polls opened, by preset");
    gauge!("ep_polls_running", "Polls that have a place in this process");
    gauge!("ep_polls_waiting", "Polls that wait for their turn");
    counter!("ep_leases_lost_total", "Polls that were interrupted because their lease had ended");
    counter!("ep_polls_total", "Polls closed, by what ended them");
    histogram!(
        "ep_poll_duration_seconds",
        Unit::Seconds,
        "From a poll's first call to the last answer that counted"
    );
    counter!("ep_poll_cost_micro_usd_total", "What counted answers cost, in millionths of a dollar");
    counter!(
        "ep_unused_calls_cost_micro_usd_total",
        "Cost of calls that were still in flight when their poll ended, in millionths of a dollar"
    );
    counter!(
        "ep_overcharged_calls_total",
        "Calls that claimed to cost more than their listed price allows: the operator pays the difference"
    );
    counter!(
        "ep_calls_saved_total",
        "Roster members without a recorded answer when their poll closed, including calls still in flight"
    );
    counter!("ep_votes_total", "Answers, by result");
    histogram!("ep_vote_duration_seconds", Unit::Seconds, "Time per answer");
    counter!("ep_model_list_fetches_total", "Attempts to fetch the upstream's model list, by result");
    gauge!("ep_connections", "Open connections");
    counter!("ep_connections_refused_total", "Connections closed at once, by the limit they exceeded");
    counter!("ep_connections_silent_total", "Connections closed because no request came in time");
}

/// Serves the metrics at `/metrics` of their own address until the service stops.
pub async fn serve_metrics(
    address: SocketAddr,
    handle: PrometheusHandle,
    tasks: &Tasks,
) -> anyhow::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let upkeep = handle.clone();
    tasks.every("summarise metrics", std::time::Duration::from_secs(5), move || {
        upkeep.run_upkeep();
        std::future::ready(Ok(()))
    });
    let app = axum::Router::new()
        .route("/metrics", axum::routing::get(move || std::future::ready(handle.render())));
    let stop = tasks.token();
    tasks.spawn(async move {
        let served = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(error = %error, "the metrics listener failed");
        }
    });
    Ok(bound)
}
