//! Logs and metrics.

mod one_line;

use std::io::{self, IsTerminal};
use std::net::SocketAddr;

use anyhow::Context as _;
use axum::http::header::CONTENT_TYPE;
use ep_kernel::Tasks;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use ep_site::config::{LogFormat, Telemetry};
use one_line::OneLine;

use crate::payments::RAILS;

/// Histogram buckets for durations, in seconds: from instant reads to slow polls.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0,
];

/// True if the log is written as JSON.
pub fn is_json(format: LogFormat) -> bool {
    match format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !io::stderr().is_terminal(),
    }
}

/// Starts logging to standard error, because standard output belongs to the command. Does nothing if
/// a subscriber is already set.
pub fn start_logging(settings: &Telemetry) -> anyhow::Result<()> {
    let mut filter = EnvFilter::try_new(&settings.log)
        .with_context(|| format!("EP_LOG is not a list of filter directives: {}", settings.log))?;
    if !settings.log.contains("rmcp") {
        filter = filter.add_directive("rmcp=off".parse()?);
    }
    let json = is_json(settings.log_format);
    let registry = tracing_subscriber::registry().with(filter);
    let started = if json {
        registry
            .with(
                fmt::layer()
                    .json()
                    .with_current_span(true)
                    .with_span_list(false)
                    .with_writer(|| OneLine { to: io::stderr(), styled: false }),
            )
            .try_init()
    } else {
        let styled = io::stderr().is_terminal();
        let writer = move || OneLine { to: io::stderr(), styled };
        let mut layer = fmt::layer().with_target(false).with_writer(writer);
        if !styled {
            layer.set_ansi(false);
        }
        registry.with(layer).try_init()
    };
    if started.is_err() {
        tracing::debug!("logging is already set up");
    }
    Ok(())
}

/// Starts collecting metrics, in the Prometheus text format.
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
    counter!(
        "ep_requests_total",
        "Calls, by tool, surface and outcome code. The surface internal is rows of batches, and looks at batches"
    );
    histogram!("ep_request_duration_seconds", Unit::Seconds, "Time per call, by tool and surface");
    histogram!("ep_added_latency_seconds", Unit::Seconds, "Time per call beyond waiting for models");
    counter!("ep_polls_opened_total", "Polls opened, by preset");
    gauge!("ep_polls_running", "Polls running in this process, apart from those of batches");
    gauge!("ep_polls_waiting", "Polls waiting in the queue");
    gauge!("ep_batch_polls_running", "Polls of batches running in this process");
    gauge!("ep_batch_polls_waiting", "Polls of batches waiting for other polls of batches");
    counter!("ep_batch_rows_total", "Rows of batches that ended here, by outcome");
    counter!("ep_leases_lost_total", "Polls interrupted because their lease had expired");
    counter!("ep_polls_total", "Polls closed, by termination reason");
    histogram!(
        "ep_poll_duration_seconds",
        Unit::Seconds,
        "Time from a poll's first call to the last counted response"
    );
    counter!("ep_poll_cost_micro_usd_total", "Cost of counted responses, in millionths of a dollar");
    counter!(
        "ep_unused_calls_cost_micro_usd_total",
        "Cost of calls that were still in flight when their poll ended, in millionths of a dollar"
    );
    counter!(
        "ep_overcharged_calls_total",
        "Calls with a reported cost above their listed price: the operator pays the difference"
    );
    counter!(
        "ep_calls_saved_total",
        "Roster members without a recorded response when their poll closed, including calls still in flight"
    );
    counter!("ep_votes_total", "Model responses, by result");
    histogram!("ep_vote_duration_seconds", Unit::Seconds, "Time per model response");
    counter!("ep_model_list_fetches_total", "Attempts to fetch the upstream's model list, by result");
    counter!("ep_upstream_calls_total", "Requests to the upstream, by upstream and result");
    histogram!("ep_upstream_latency_seconds", Unit::Seconds, "Time per request to the upstream");
    counter!("ep_upstream_rungs_total", "Model responses, by upstream and fallback level of the request");
    counter!(
        "ep_upstream_second_requests_total",
        "Requests sent again in another form, by upstream and the reason for which the vote would be missing"
    );
    counter!("ep_upstream_pauses_total", "Pauses before a request is sent again, by upstream and cause");
    gauge!("ep_upstream_window", "Limit of requests in flight, by upstream");
    gauge!("ep_upstream_limited_models", "Models with a lower limit of their own, by upstream");
    gauge!("ep_upstream_calls_waiting", "Requests that wait for a place below these limits, by upstream");
    counter!(
        "ep_upstream_halvings_total",
        "Halvings of a limit of requests in flight after busy responses, by upstream and scope"
    );
    counter!("ep_notifications_total", "Attempts to deliver webhook notifications, by outcome");
    counter!("ep_agent_pushes_total", "Attempts to deliver A2A push notifications, by outcome");
    gauge!("ep_connections", "Open connections");
    counter!("ep_connections_refused_total", "Connections closed at once, by the limit they exceeded");
    counter!("ep_connections_silent_total", "Connections closed because no request came in time");
    // Counters without labels exist from the start, so that alerts see their first increase.
    for name in [
        "ep_leases_lost_total",
        "ep_poll_cost_micro_usd_total",
        "ep_unused_calls_cost_micro_usd_total",
        "ep_overcharged_calls_total",
        "ep_calls_saved_total",
        "ep_connections_silent_total",
    ] {
        metrics::counter!(name).increment(0);
    }
    for (name, description) in RAILS.iter().flat_map(|rail| rail.counters) {
        counter!(*name, *description);
        metrics::counter!(*name).increment(0);
    }
}

/// The media type of the Prometheus text format.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Opens a listener. An error contains the address and the setting to change.
pub async fn listen(address: SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8080));
                format!(
                    "stop the program that listens there, or set another address in {setting}, for example {other}"
                )
            }
            io::ErrorKind::PermissionDenied => {
                format!("choose a port from 1024 on in {setting}, or run with CAP_NET_BIND_SERVICE")
            }
            io::ErrorKind::AddrNotAvailable => format!("set {setting} to an address of this machine"),
            _ => format!("change {setting}"),
        };
        anyhow::anyhow!("cannot listen on {address}: {error}; {advice}")
    })
}

/// Serves the metrics at `/metrics` on their own listener until the service stops.
pub fn serve_metrics(listener: TcpListener, handle: PrometheusHandle, tasks: &Tasks) {
    let metrics = move || std::future::ready(([(CONTENT_TYPE, METRICS_TYPE)], handle.render()));
    let app = axum::Router::new().route("/metrics", axum::routing::get(metrics));
    let stop = tasks.token();
    tasks.spawn(async move {
        let served = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(error = %error, "the metrics listener failed");
        }
    });
}
