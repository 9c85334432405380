//! Interruptions before or after an operation of the database: a statement, a transaction or a snapshot.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::store_error::{Result, StoreError};

/// The effect of an [`Interruption`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The operation waits until it is released.
    Wait,
    /// The operation fails. After it, the database has changed nevertheless.
    Fail,
}

/// Interrupts one operation, once: before it at an even point, after it at an odd one.
#[derive(Debug)]
pub struct Interruption {
    /// Twice the number of the operation, and 1 for the point after it.
    at: usize,
    effect: Effect,
    operations: AtomicUsize,
    reached: Notify,
    released: Notify,
}

impl Interruption {
    /// Stops the operation until [`release`](Self::release).
    pub fn waiting(at: usize) -> Self {
        Self::new(at, Effect::Wait)
    }

    /// Lets the operation fail.
    pub fn failing(at: usize) -> Self {
        Self::new(at, Effect::Fail)
    }

    fn new(at: usize, effect: Effect) -> Self {
        let (reached, released) = (Notify::new(), Notify::new());
        Self { at, effect, operations: AtomicUsize::new(0), reached, released }
    }

    /// Interrupts no operation, and counts them.
    pub fn none() -> Self {
        Self::waiting(usize::MAX)
    }

    /// Returns the number of operations that have begun.
    pub fn operations(&self) -> usize {
        self.operations.load(Ordering::SeqCst)
    }

    /// Waits until the point is reached.
    pub async fn reached(&self) {
        self.reached.notified().await;
    }

    /// Continues the operation that waits, or will wait.
    pub fn release(&self) {
        self.released.notify_one();
    }

    pub(crate) async fn around<T>(&self, operation: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let before = self.operations.fetch_add(1, Ordering::SeqCst) * 2;
        self.interrupt(before).await?;
        let result = operation.await;
        self.interrupt(before + 1).await?;
        result
    }

    async fn interrupt(&self, point: usize) -> Result<()> {
        if point != self.at {
            return Ok(());
        }
        self.reached.notify_one();
        match self.effect {
            Effect::Wait => {
                self.released.notified().await;
                Ok(())
            }
            Effect::Fail => Err(StoreError::Failed("a test lets this operation fail".into())),
        }
    }
}
