//! Background jobs: one table with the name, the period and the purpose of each.
//!
//! `docs/jobs.md` is rendered from the table. Jobs run on [`Tasks`](ep_kernel::tasks::Tasks): a failed run is logged
//! with the job's name, and the next one starts as usual.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::{BatchNotifications, Fault, executor, guard};
use ep_protocols::a2a;
use ep_protocols::batch_rows::BatchRows;
use ep_site::rail::RailJob;
use futures::FutureExt;
use metrics_exporter_prometheus::PrometheusHandle;

use super::assemble::{Assembled, store_key_uses};
use super::job::{HOUR, Job, MINUTE, Period, Run, Work};
use crate::payments::RAILS;

/// The jobs that are not of a payment rail.
static JOBS: [Job; 24] = [
    start(
        "share changes of polls",
        "Announces changes of polls to other processes, and follows theirs.",
        |on| {
            on.app.ports.polls.share_changes();
        },
    ),
    Job {
        period: Period::HalfLease,
        ..every("resume polls", 0, "Adopts and resumes polls with ended leases.", |on| {
            async move { on.app.ports.polls.resume().await.map(drop) }.boxed()
        })
    },
    start(
        "deliver webhook notifications",
        "Notifies webhooks of ended polls and batches, with retries for a day.",
        |on| {
            let (webhooks, batches) = (&on.app.ports.webhooks, &on.app.ports.batches);
            on.app.tasks.spawn(Arc::clone(webhooks).run(on.app.tasks.clone()));
            let notifications = BatchNotifications::new(Arc::clone(batches), Arc::clone(webhooks));
            on.app.tasks.spawn(notifications.run(on.app.tasks.clone()));
        },
    ),
    start(
        "deliver push notifications",
        "Notifies A2A clients of their tasks, with retries for a day.",
        |on| {
            on.app.tasks.spawn(a2a::send_pushes(Arc::clone(&on.app), on.site.tools, on.app.tasks.clone()));
        },
    ),
    start("work through batches", "Checks new batches, and asks the rows of open ones.", |on| {
        let rows = BatchRows::new(Arc::clone(&on.app), Arc::clone(&on.site), on.site.tools);
        on.app.tasks.spawn(Arc::clone(&on.app.ports.batches).work(Arc::new(rows), on.app.tasks.clone()));
    }),
    every("count ended polls", 5, "Adds ended polls to the sums of reputation.", |on| {
        async move { on.app.ports.reputation.count_polls().await }.boxed()
    }),
    every("record a heartbeat", 20, "Records that this process runs, from which uptime is computed.", |on| {
        async move { on.app.ports.reputation.beat().await }.boxed()
    }),
    every(
        "check the database",
        10,
        "Checks if the database responds, for `/readyz` and `/api/health`.",
        |on| async move { on.app.ports.health.check().await }.boxed(),
    ),
    every("store key uses", 15, "Stores the time of the last use of each API key.", |on| {
        async move { store_key_uses(&on.app).await }.boxed()
    }),
    every(
        "report suppressed failures",
        1,
        "Logs the number of failures that were not logged one by one.",
        |_| {
            guard::log_suppressed_failures();
            executor::log_suppressed_failures();
            std::future::ready(Ok(())).boxed()
        },
    ),
    every("remove idle callers", 10, "Frees the rate limits of callers that have stopped calling.", |on| {
        on.app.guard.limiter.sweep();
        std::future::ready(Ok(())).boxed()
    }),
    every(
        "summarise metrics",
        5,
        "Folds measured durations into the histograms of `/metrics`, if it is served.",
        |on| {
            if let Some(metrics) = &on.metrics {
                metrics.run_upkeep();
            }
            std::future::ready(Ok(())).boxed()
        },
    ),
    every(
        "refresh the issuer's keys",
        5 * MINUTE,
        "Fetches the signing keys of the identity provider, if one is configured.",
        |on| {
            async move {
                match &on.provider {
                    Some(provider) => provider.renew().await,
                    None => Ok(()),
                }
            }
            .boxed()
        },
    ),
    every(
        "delete expired idempotency records",
        10 * MINUTE,
        "Deletes the responses of expired keys.",
        |on| async move { on.app.idempotency.sweep().await }.boxed(),
    ),
    every(
        "delete ended sessions",
        10 * MINUTE,
        "Deletes expired sessions and nonces, and counts of starter credits before today.",
        |on| {
            async move {
                on.app.guard.sessions.sweep().await?;
                on.app.accounts.forget_starter_credits().await
            }
            .boxed()
        },
    ),
    every("delete old heartbeats", HOUR, "Deletes heartbeats that no figure needs.", |on| {
        async move { on.app.ports.reputation.sweep().await }.boxed()
    }),
    every(
        "delete old files",
        MINUTE,
        "Deletes files whose time is over, and those of uploads that stopped five minutes ago.",
        |on| async move { on.app.ports.batches.sweep_files().await }.boxed(),
    ),
    every("delete old batches", HOUR, "Deletes results of batches whose time is over.", |on| {
        async move { on.app.ports.batches.sweep().await }.boxed()
    }),
    every("delete old notifications", HOUR, "Deletes finished webhook notifications after a week.", |on| {
        async move { on.app.ports.webhooks.sweep().await }.boxed()
    }),
    every(
        "delete abandoned tasks",
        HOUR,
        "Deletes A2A tasks without a poll or a batch after a week.",
        |on| {
            async move {
                let before = on.app.ports.clock.now().before(KEEP_ABANDONED_TASKS);
                Ok(on.app.ports.store.delete_abandoned_tasks(before).await.map(drop)?)
            }
            .boxed()
        },
    ),
    every(
        "delete cancellations of ended polls",
        HOUR,
        "Deletes cancellation requests of settled polls.",
        |on| async move { Ok(on.runtime.delete_cancellations().await.map(drop)?) }.boxed(),
    ),
    every(
        "delete polls of deleted batches",
        MINUTE,
        "Deletes the private polls of batches that are deleted, or whose files have expired.",
        |on| async move { erase_polls_of_batches(&on).await }.boxed(),
    ),
    every("delete unused rosters", HOUR, "Deletes stored rosters without polls.", |on| {
        async move { Ok(on.runtime.delete_unused_rosters().await.map(drop)?) }.boxed()
    }),
    every(
        "delete old anonymous polls",
        HOUR,
        "Deletes polls without an account after their retention (`EP_KEEP_ANONYMOUS_DAYS`), if it is limited.",
        |on| async move { delete_anonymous_polls(&on).await }.boxed(),
    ),
];

/// Retention of agent tasks that never received a question.
const KEEP_ABANDONED_TASKS: Duration = Duration::from_hours(24 * 7);

const fn every(name: &'static str, seconds: u64, about: &'static str, run: fn(Arc<Assembled>) -> Run) -> Job {
    Job { name, period: Period::Every(Duration::from_secs(seconds)), about, work: Work::Run(run) }
}

const fn start(name: &'static str, about: &'static str, start: fn(&Assembled)) -> Job {
    Job { name, period: Period::Always, about, work: Work::Start(start) }
}

/// Returns every job: the table, and the jobs of each payment rail.
fn all() -> impl Iterator<Item = Job> {
    let of_rail = |job: &RailJob, work| {
        let RailJob { name, period, about } = *job;
        Job { name, period: Period::Every(period), about, work }
    };
    let rails = RAILS.into_iter().flat_map(move |rail| {
        let compare = rail.comparisons.iter();
        let compare = compare.map(move |each| of_rail(&each.job, Work::Compare(rail, each)));
        std::iter::once(of_rail(&rail.reconciliation, Work::Reconcile(rail))).chain(compare)
    });
    JOBS.into_iter().chain(rails)
}

/// Starts every job of a service. `metrics` summarises the metrics of this process, if they are served.
pub fn start_all(service: &Assembled, metrics: Option<&PrometheusHandle>) {
    let on = Arc::new(Assembled { metrics: metrics.cloned(), ..service.clone() });
    for job in all() {
        job.start(&on);
    }
}

/// Path of the rendered table in the repository.
pub const FILE: &str = "docs/jobs.md";

/// Returns the table as Markdown.
pub fn markdown() -> String {
    let mut text = "# Background jobs\n\n\
         For operators. Rendered by `ep render` from `src/app/jobs.rs` and `src/payments`.\n\n\
         Every process of the service runs these jobs. A failed run logs `background task failed` with the job's name in \
         the field `task`; the next run starts as usual.\n\n\
         | job | period | what it does |\n|---|---|---|\n"
        .to_owned();
    for Job { name, period, about, .. } in all() {
        let _ = writeln!(text, "| {name} | {period} | {about} |");
    }
    text
}

/// Deletes anonymous polls in small batches, so that other writers wait only briefly.
async fn delete_anonymous_polls(on: &Assembled) -> Result<(), Fault> {
    const AT_ONCE: u32 = 20;
    const AT_MOST: u64 = 10_000;
    let Some(keep) = on.keep_anonymous else { return Ok(()) };
    let before = on.app.ports.clock.now().before(keep);
    let mut deleted = 0;
    loop {
        let some = on.runtime.delete_anonymous_polls(before, AT_ONCE).await?;
        deleted += some;
        if some < u64::from(AT_ONCE) || deleted >= AT_MOST {
            break;
        }
    }
    if deleted > 0 {
        tracing::info!(deleted, "old anonymous polls deleted");
    }
    Ok(())
}

/// Deletes the private polls of deleted batches in small steps, so that other writers wait only briefly.
async fn erase_polls_of_batches(on: &Assembled) -> Result<(), Fault> {
    const AT_ONCE: u32 = 20;
    const AT_MOST: u64 = 10_000;
    let mut seen = 0;
    while seen < AT_MOST {
        match on.runtime.erase_polls_of_batches(on.app.ports.clock.now(), AT_ONCE).await? {
            None | Some(0) => break,
            Some(some) => seen += some,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn jobs_are_unique_and_described() {
        let mut seen = BTreeSet::new();
        for job in all() {
            assert!(seen.insert((job.name, job.about)), "{} is listed twice", job.name);
            assert!(job.about.ends_with('.') && !job.about.contains('|'), "{}", job.about);
        }
        assert!(seen.len() > 20, "{seen:?}");
    }
}
