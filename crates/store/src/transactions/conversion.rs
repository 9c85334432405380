//! Conversion of polls of the first form to the second, which takes less space.
//!
//! Settled polls are converted in the background, and running ones when they are adopted. A poll stays as it is
//! if its ballots name other models or option orders than its plan.

use ep_kernel::ports::{Epoch, StoreError};
use ep_polling::plan::{Plan, PollForm};
use ep_polling::poll_id::PollId;
use futures::FutureExt;

use super::{Database, plans};
use crate::engine::{Connection, Durability, Engine};
use crate::error::failed;
use crate::rows::{self, DerivedRow, IdRow, OldPlanRow};
use crate::statements as sql;
use crate::value::values;

/// No lease has this epoch, so only settled polls are converted.
const SETTLED: Epoch = Epoch::new(0);

/// Converts settled polls of the first form, up to `limit` in one transaction. They follow the poll `after` in
/// the order of ids. Returns the last one, or `None` if there are no more.
pub(crate) async fn convert_settled<E: Engine>(
    Database(engine, _): &Database<E>,
    after: Option<PollId>,
    limit: u32,
) -> Result<Option<PollId>, StoreError> {
    engine
        .transact(Durability::ProcessCrash, move |db| {
            async move {
                let last = after.as_ref().map_or("", PollId::as_str);
                let polls: Vec<IdRow> = db.fetch_all(sql::OLD_POLLS, values![last, limit]).await?;
                let mut last = None;
                for poll in polls {
                    let poll = rows::poll_id(&poll.id)?;
                    convert(db, &poll, SETTLED).await?;
                    last = Some(poll);
                }
                Ok(last)
            }
            .boxed()
        })
        .await
}

impl<E: Engine> Database<E> {
    /// Converts a running poll that this process has leased in this epoch. Returns `false` if it keeps its form.
    pub(super) async fn convert_adopted(&self, poll: &PollId, epoch: Epoch) -> Result<bool, StoreError> {
        let poll = poll.clone();
        self.0
            .transact(Durability::ProcessCrash, move |db| {
                async move { convert(db, &poll, epoch).await }.boxed()
            })
            .await
    }
}

async fn convert<C: Connection>(db: &mut C, poll: &PollId, epoch: Epoch) -> Result<bool, StoreError> {
    let Some(OldPlanRow { plan }) = db.fetch_optional(sql::LOCK_OLD_PLAN, values![poll, epoch]).await? else {
        return Ok(false);
    };
    let plan: Plan = serde_json::from_str(&plan).map_err(failed)?;
    let ballots: Vec<DerivedRow> = db.fetch_all(sql::DERIVED_COLUMNS, values![poll]).await?;
    for ballot in ballots {
        if !follows_from(&plan, &ballot)? {
            tracing::warn!(%poll, "a poll keeps its old form, because its ballots differ from its plan");
            return Ok(false);
        }
    }
    let members = plan.roster.in_registry_order(plan.seed);
    let hash = plans::hash(&plans::json(&members)?);
    let number = plans::add(db, &plan, &members, &hash).await?;
    db.execute(sql::MOVE_BALLOTS, values![poll, number]).await?;
    db.execute(sql::DELETE_OLD_BALLOTS, values![poll]).await?;
    super::exactly_one(db.execute(sql::SET_PLAN, values![poll, number, PollForm::Slim.number()]).await?)?;
    Ok(true)
}

/// True if the model and the option order of a ballot are those of the plan.
fn follows_from(plan: &Plan, ballot: &DerivedRow) -> Result<bool, StoreError> {
    let position = usize::try_from(ballot.position).map_err(failed)?;
    let order: Vec<usize> = serde_json::from_str(&ballot.option_order).map_err(failed)?;
    Ok(plan.roster.get(position).is_some_and(|member| member.model.as_str() == ballot.model)
        && plan.seed.option_order(position, plan.options.len()) == order)
}
