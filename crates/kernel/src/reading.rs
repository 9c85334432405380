//! Reading of outside text: a budget of work, and threads for long texts.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use serde_json::Value;
use tokio::sync::{Semaphore, oneshot};

use crate::fault::{Fault, Result};

/// Units of work for each byte of the text. A unit is a value that is visited, or a byte that is hashed or compared.
const UNITS_PER_BYTE: usize = 4;
/// Units of work for a short text.
const LEAST: usize = 16 << 10;

/// The work that is left for reading a text, so that no text costs more than its length.
#[derive(Debug)]
pub struct Work {
    limit: usize,
    used: usize,
}

/// The text would take more work than its length allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

impl Work {
    /// Creates the budget for a text of this length, in bytes.
    pub fn of(bytes: usize) -> Self {
        Self { limit: bytes.saturating_mul(UNITS_PER_BYTE).max(LEAST), used: 0 }
    }

    /// Sets the length of the text, in bytes, after it was measured.
    pub fn extend(&mut self, bytes: usize) {
        self.limit = self.limit.max(Self::of(bytes).limit);
    }

    /// Spends units. Call it before the work.
    pub fn spend(&mut self, units: usize) -> Result<(), Exhausted> {
        match self.used.checked_add(units) {
            Some(used) if used <= self.limit => {
                self.used = used;
                Ok(())
            }
            _ => Err(Exhausted),
        }
    }

    /// Gives back units that were spent on work that was not needed.
    pub const fn refund(&mut self, units: usize) {
        self.used = self.used.saturating_sub(units);
    }

    /// Returns the units that were spent.
    pub const fn used(&self) -> usize {
        self.used
    }
}

/// Maximum length of a text that is read where it is received, in bytes.
pub const MAX_READ_HERE: usize = 16 << 10;
/// Permits to read longer texts: one for each core.
static READERS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get)));

/// Reads a text of this length, in bytes. A long one takes milliseconds, so it is read on a thread that may block, by a
/// few at once.
pub async fn read<T: Send + 'static>(length: usize, read: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    if length <= MAX_READ_HERE {
        return Ok(read());
    }
    let (sender, receiver) = oneshot::channel();
    // A text that is no longer waited for has no receiver.
    beside(Box::new(move || drop(sender.send(read())))).await?;
    receiver.await.map_err(Fault::internal)
}

/// Reads a value as [`read`] does, by its length as JSON.
pub async fn read_value<T: Send + 'static>(
    value: Value,
    read_it: impl FnOnce(Value) -> T + Send + 'static,
) -> Result<T> {
    let length = if is_long(&value) { usize::MAX } else { 0 };
    read(length, move || read_it(value)).await
}

/// Runs a reader beside the async workers.
async fn beside(reader: Box<dyn FnOnce() + Send>) -> Result<()> {
    let permit = READERS.acquire().await.map_err(Fault::internal)?;
    let running = tokio::task::spawn_blocking(move || {
        // A reader whose text is no longer waited for keeps its permit until it ends.
        let _permit = permit;
        reader();
    });
    running.await.map_err(Fault::internal)
}

/// True if a value is longer than [`MAX_READ_HERE`] as JSON. Visits no more of it.
pub fn is_long(value: &Value) -> bool {
    rest_after(value, MAX_READ_HERE).is_none()
}

/// Returns the bytes that are left after a value; `None` if it is longer.
fn rest_after(value: &Value, rest: usize) -> Option<usize> {
    match value {
        Value::Null | Value::Bool(_) => rest.checked_sub(4),
        Value::Number(_) => rest.checked_sub(1),
        Value::String(text) => rest.checked_sub(text.len() + 2),
        Value::Array(items) => {
            items.iter().try_fold(rest.checked_sub(2)?, |rest, item| rest_after(item, rest.checked_sub(1)?))
        }
        Value::Object(members) => members.iter().try_fold(rest.checked_sub(2)?, |rest, (name, member)| {
            rest_after(member, rest.checked_sub(name.len() + 4)?)
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_are_recognised() {
        let text = |length: usize| json!({ "text": "x".repeat(length) });
        assert!(!is_long(&text(MAX_READ_HERE - 100)) && is_long(&text(MAX_READ_HERE)));
        let nulls = |count: usize| json!(vec![Value::Null; count]);
        assert!(!is_long(&nulls(3000)) && is_long(&nulls(4000)));
        assert!(!is_long(&Value::Null) && is_long(&json!(vec![vec![0; 100]; 100])));
    }

    #[tokio::test]
    async fn long_texts_are_read_on_another_thread() {
        let reader = |length: usize| read(length, || thread::current().id());
        assert_eq!(reader(MAX_READ_HERE).await.unwrap(), thread::current().id());
        assert_ne!(reader(MAX_READ_HERE + 1).await.unwrap(), thread::current().id());
        let long = json!("x".repeat(MAX_READ_HERE));
        assert_ne!(read_value(long, |_| thread::current().id()).await.unwrap(), thread::current().id());
        assert_eq!(read_value(json!({}), |_| thread::current().id()).await.unwrap(), thread::current().id());
    }

    /// A reader that panics fails its own request only.
    #[tokio::test]
    async fn a_reader_that_panics_gives_its_permit_back() {
        for _ in 0..100 {
            assert!(read::<()>(usize::MAX, || panic!("a wrong reader")).await.is_err());
        }
        assert!(read(usize::MAX, || ()).await.is_ok());
    }
}
