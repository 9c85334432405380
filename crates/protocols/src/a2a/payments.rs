//! The payments of a task.

use ep_outside::payments::Usdc;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Metadata key of a payment's status.
pub(super) const STATUS: &str = "x402.payment.status";
const RECEIPTS: &str = "x402.payment.receipts";

/// The payments of a task, as stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Payments {
    /// Amount due before the poll is opened, in cents.
    due: Option<u32>,
    /// Receipts of all payments.
    receipts: Vec<Value>,
    /// True if the client has declined to pay.
    rejected: bool,
}

impl Payments {
    /// True if no payment was ever requested.
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_none() && self.receipts.is_empty() && !self.rejected
    }

    /// Returns the amount due before the poll is opened, in cents.
    pub(super) const fn due(&self) -> Option<u32> {
        self.due
    }

    /// True if the poll waits for a payment.
    pub(super) fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Clears the amount due after the poll has been opened.
    pub(super) fn settle(&mut self) {
        self.due = None;
    }

    /// Returns a payment request, as text and as metadata for programs.
    pub(super) fn ask(&mut self, usdc: Option<&Usdc>, cents: u32) -> Option<(String, Value)> {
        self.due = Some(cents);
        let text = format!(
            "The balance is too low: pay ${}.{:02} in USDC with a message to this task.",
            cents / 100,
            cents % 100
        );
        let metadata = self.required(usdc, "payment-required", &text)?;
        Some((text, metadata))
    }

    /// Returns the failure of a payment and a new payment request.
    pub(super) fn failed(&self, usdc: Option<&Usdc>, code: &str, why: &str) -> Option<(String, Value)> {
        let mut metadata = self.required(usdc, "payment-failed", why)?;
        metadata["x402.payment.error"] = code.into();
        Some((format!("The payment failed: {why}. You may send another one."), metadata))
    }

    fn required(&self, usdc: Option<&Usdc>, status: &str, why: &str) -> Option<Value> {
        let offer = usdc?.x402.offer(self.due?, why).earliest();
        let mut metadata = json!({ STATUS: status, "x402.payment.required": offer });
        if !self.receipts.is_empty() {
            metadata[RECEIPTS] = self.receipts.clone().into();
        }
        Some(metadata)
    }

    /// Returns payment metadata for the status of a task that no longer waits for a payment.
    pub(super) fn metadata(&self) -> Option<Value> {
        let paid = self.receipts.iter().any(|receipt| receipt["success"] == true);
        let status = match (self.rejected, paid) {
            (true, _) => "payment-rejected",
            (false, true) => "payment-completed",
            (false, false) if self.receipts.is_empty() => return None,
            (false, false) => "payment-failed",
        };
        Some(json!({ STATUS: status, RECEIPTS: self.receipts }))
    }

    /// Records that the client has declined to pay.
    pub(super) fn decline(&mut self) {
        (self.rejected, self.due) = (true, None);
    }

    /// Records the receipt of a credited payment, once.
    pub(super) fn credit(&mut self, receipt: Value) {
        if !self.receipts.contains(&receipt) {
            self.receipts.push(receipt);
        }
    }

    /// Records a failed payment.
    pub(super) fn fail(&mut self, why: &str, network: &str) {
        let receipt = json!({ "success": false, "errorReason": why, "network": network, "transaction": "" });
        self.receipts.push(receipt);
    }
}
