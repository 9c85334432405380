//! A background job: its period, its work, and its start.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::Fault;
use ep_site::Rail;
use ep_site::rail::Comparison;
use futures::future::BoxFuture;

use super::assemble::Assembled;
use crate::payments::PaymentRail;

/// Seconds in a minute.
pub(super) const MINUTE: u64 = 60;
/// Seconds in an hour.
pub(super) const HOUR: u64 = 60 * MINUTE;

/// A background job.
#[derive(Clone, Copy)]
pub struct Job {
    /// Name in logs.
    pub name: &'static str,
    /// Time between two runs.
    pub period: Period,
    /// Purpose in one sentence.
    pub about: &'static str,
    pub(super) work: Work,
}

/// Time between two runs of a job.
#[derive(Debug, Clone, Copy)]
pub enum Period {
    /// A fixed time.
    Every(Duration),
    /// Half of the time for which a process leases its polls (`EP_LEASE_MS`).
    HalfLease,
    /// None: the job runs until the service stops, and waits for work.
    Always,
}

/// Work of a job.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Runs once per period.
    Run(fn(Arc<Assembled>) -> Run),
    /// Resolves payments of a rail with unknown outcome.
    Reconcile(&'static Rail),
    /// Compares settled payments of a rail with the chain.
    Compare(&'static Rail, &'static Comparison),
    /// Starts tasks that run until the service stops.
    Start(fn(&Assembled)),
}

pub(super) type Run = BoxFuture<'static, Result<(), Fault>>;

impl Job {
    pub(super) fn start(self, on: &Arc<Assembled>) {
        let Self { name, period, work, .. } = self;
        let period = match period {
            Period::Every(period) => period,
            Period::HalfLease => on.lease / 2,
            Period::Always => Duration::MAX,
        };
        match work {
            Work::Start(start) => start(on),
            Work::Run(run) => {
                let on = Arc::clone(on);
                on.app.tasks.clone().every(name, period, move || run(Arc::clone(&on)));
            }
            Work::Reconcile(rail) => {
                let payments = on.payments.clone();
                on.app.tasks.every(name, period, move || {
                    let payments = payments.clone();
                    async move {
                        match payments.of(rail) {
                            Some(running) => running.reconcile().await.map(drop),
                            None => Ok(()),
                        }
                    }
                });
            }
            Work::Compare(rail, Comparison { past, .. }) => {
                let deposits = on.payments.of(rail).and_then(PaymentRail::deposits).cloned();
                let Some(deposits) = deposits else { return };
                on.app.tasks.every(name, period, move || {
                    let deposits = Arc::clone(&deposits);
                    async move { deposits.compare_recent(*past).await.map(drop) }
                });
            }
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = |f: &mut fmt::Formatter<'_>, number: u64, unit: &str| {
            write!(f, "{number} {unit}{}", if number == 1 { "" } else { "s" })
        };
        match self {
            Self::Every(period) => match period.as_secs() {
                seconds if seconds % HOUR == 0 => unit(f, seconds / HOUR, "hour"),
                seconds if seconds % MINUTE == 0 => unit(f, seconds / MINUTE, "minute"),
                seconds => unit(f, seconds, "second"),
            },
            Self::HalfLease => f.write_str("half of `EP_LEASE_MS`"),
            Self::Always => f.write_str("always"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn periods_are_shown_in_the_largest_unit() {
        let shown = [1, 90, 300, 3600, 86_400].map(|s| Period::Every(Duration::from_secs(s)).to_string());
        assert_eq!(shown, ["1 second", "90 seconds", "5 minutes", "1 hour", "24 hours"]);
    }
}
