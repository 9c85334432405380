//! The levels of a bounded number.

use ep_polling::options::MAX_LEVELS;
use serde_json::{Map, Number, Value};

/// The reason why a bounded number has no levels that can be voted on, as the rest of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NoLevels {
    /// More levels than a score may have.
    TooMany(f64),
    /// Bounds or steps that no level meets.
    Invalid(&'static str),
}

/// Returns the levels of a number; none without bounds. Between 0 and 1, judges use tenths; on larger scales, whole numbers.
pub(super) fn levels(members: &Map<String, Value>, integer: bool) -> Result<Option<Vec<Value>>, NoLevels> {
    let bound = |name: &str| members.get(name).and_then(Value::as_f64);
    let (lower, upper) = (bound("exclusiveMinimum"), bound("exclusiveMaximum"));
    if !integer && (lower.is_some() || upper.is_some()) {
        return Ok(None);
    }
    let least = [bound("minimum"), lower.map(|bound| bound.floor() + 1.0)];
    let most = [bound("maximum"), upper.map(|bound| bound.ceil() - 1.0)];
    let least = least.into_iter().flatten().reduce(f64::max);
    let most = most.into_iter().flatten().reduce(f64::min);
    let Some((least, most)) = least.zip(most) else { return Ok(None) };
    let whole = |number: f64| number.fract() == 0.0 && number.abs() < 1e9;
    let multiple = bound("multipleOf");
    let step = match multiple {
        Some(step) if step > 0.0 => step,
        Some(_) => return Err(NoLevels::Invalid("has a multipleOf that is not positive")),
        None if integer => 1.0,
        None if (most - least - 1.0).abs() < 1e-9 => 0.1,
        None => 1.0,
    };
    if integer && !(whole(least) && whole(most) && whole(step)) {
        return Err(NoLevels::Invalid("has bounds that are not whole numbers"));
    }
    // Multiples are counted from 0, and other steps from the lowest level.
    let first = if multiple.is_some() { (least / step - 1e-9).ceil() * step } else { least };
    let count = ((most - first) / step + 1e-9).floor() + 1.0;
    if count < 1.0 {
        return Err(NoLevels::Invalid("has bounds that no number meets"));
    }
    if count > MAX_LEVELS as f64 {
        return Err(NoLevels::TooMany(count));
    }
    let mut values = Vec::new();
    for index in 0..count as u32 {
        let exact = step.mul_add(f64::from(index), first);
        // Tenths are not exact in binary.
        let level = ((exact * 1e6).round() / 1e6).clamp(least, most);
        let number = if whole(level) && (integer || step.fract() == 0.0) {
            Some(Number::from(level as i64))
        } else {
            Number::from_f64(level)
        };
        values.push(number.map_or(Value::Null, Value::Number));
    }
    Ok(Some(values))
}
