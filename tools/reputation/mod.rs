//! Reputation: what polls tell about the service and its models.

mod get_reputation;
mod list_model_reputation;

pub use get_reputation::GetReputation;
pub use list_model_reputation::ListModelReputation;

use ep_polling::reputation::WHOLE;

/// A share, or a mean, rounded to six digits after the point; `None` of nothing.
fn mean(sum: i64, count: i64) -> Option<f64> {
    (count > 0).then(|| rounded(sum as f64 / count as f64))
}

/// Micro-USD on average, in USD.
fn mean_usd(sum: i64, count: i64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64 / WHOLE as f64)
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
