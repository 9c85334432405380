//! The questions of polls that cost nothing: without a limit, an account without money could fill the database.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ep_polling::{Plan, Timestamp};

use crate::fault::{Fault, Kind, Result};
use ep_store::UserId;

/// Maximum number of bytes of questions and options that an account may send in a day for polls that cost nothing.
const MOST: usize = 32 << 20;
/// Maximum number of accounts that are counted. Beyond it, the counts begin again.
const MOST_ACCOUNTS: usize = 100_000;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// The bytes of today's questions, by account.
#[derive(Default)]
pub(super) struct FreeQuestions(Mutex<Today>);

#[derive(Default)]
struct Today {
    /// Days since 1970, in UTC.
    day: i64,
    bytes: HashMap<UserId, usize>,
}

impl FreeQuestions {
    /// Counts a poll that costs nothing. [`Kind::RateLimited`] if the account has sent too much today.
    pub(super) fn count(&self, user: UserId, plan: &Plan, now: Timestamp) -> Result<()> {
        let bytes = plan.question.len() + plan.options.iter().map(String::len).sum::<usize>();
        let mut today = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let day = now.millis() / DAY_MILLIS;
        if today.day != day || today.bytes.len() >= MOST_ACCOUNTS {
            *today = Today { day, bytes: HashMap::new() };
        }
        let sent = today.bytes.entry(user).or_default();
        if *sent + bytes > MOST {
            let left = Duration::from_millis((DAY_MILLIS - now.millis() % DAY_MILLIS).unsigned_abs());
            let text = format!(
                "polls that cost nothing have up to {} MiB of questions a day; ask models that charge, or wait until 00:00 UTC",
                MOST >> 20
            );
            return Err(Fault::new(Kind::RateLimited, text).retry_after(left));
        }
        *sent += bytes;
        Ok(())
    }
}
