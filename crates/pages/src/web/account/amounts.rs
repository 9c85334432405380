//! Amounts of money on the account page.

use ep_tools::account::BalanceReply;

/// Returns the amount held for running polls, or `None` if it is zero.
pub(crate) fn held(balance: &BalanceReply) -> Option<String> {
    Some(balance.held_cents).filter(|cents| *cents > 0).map(dollars)
}

/// Formats cents as dollars.
pub(super) fn dollars(cents: i64) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Formats an amount in dollars: cents, and for small amounts up to four decimals.
pub(in crate::web) fn figure(amount: f64) -> String {
    if amount == 0.0 || amount >= 0.1 {
        return format!("${amount:.2}");
    }
    if amount < 0.000_05 {
        return "under $0.0001".to_owned();
    }
    let text = format!("${amount:.4}");
    let least = "$0.00".len();
    let length = text.trim_end_matches('0').len().max(least);
    text[..length].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_have_more_decimals() {
        let shown = [0.0, 0.000_01, 0.0004, 0.004, 0.05, 0.126, 12.5].map(figure);
        assert_eq!(shown, ["$0.00", "under $0.0001", "$0.0004", "$0.004", "$0.05", "$0.13", "$12.50"]);
    }
}
