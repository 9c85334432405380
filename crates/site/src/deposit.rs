//! Amounts of payments.

/// Smallest and largest payment, in US cents.
pub const DEPOSITS: std::ops::RangeInclusive<u32> = 100..=100_000;

/// Amounts that pages offer, in US dollars.
pub const PRESETS: [u32; 3] = [5, 10, 25];

/// The range of amounts as an instruction.
pub fn amount_rule() -> String {
    let dollars = |cents: u32| match cents / 100 {
        whole @ 1000.. => format!("${},{:03}", whole / 1000, whole % 1000),
        whole => format!("${whole}"),
    };
    format!("Enter an amount from {} to {}", dollars(*DEPOSITS.start()), dollars(*DEPOSITS.end()))
}

/// Parses dollars as cents: a plain decimal number with at most two decimals.
pub fn cents_of(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits =
        |text: &str| !text.is_empty() && text.len() <= 7 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 2 {
        return None;
    }
    let cents: u32 = format!("{decimals:0<2}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(cents)
}
