//! Reputation: performance figures of the service, its models and its panels, from past polls.

mod get_calibration;
mod get_reputation;
mod list_model_reputation;

pub use get_calibration::{Calibration, GetCalibration, LevelCalibration};
pub use get_reputation::GetReputation;
pub use list_model_reputation::{ListModelReputation, ModelReputation, ModelReputations};

use ep_polling::reputation::WHOLE;

/// Returns a mean or share, rounded to six decimal places, or `None` if the count is zero.
fn mean(sum: i64, count: i64) -> Option<f64> {
    (count > 0).then(|| rounded(sum as f64 / count as f64))
}

/// Returns a mean of micro-USD, in USD.
fn mean_usd(sum: i64, count: i64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64 / WHOLE as f64)
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
