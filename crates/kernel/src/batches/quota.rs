//! The storage of an account, by its balance: storing costs nothing, so accounts with little money store little.

use ep_polling::MicroUsd;

use crate::fault::{Fault, Kind};
use ep_store::StoreError;

/// The most that an account may store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quota {
    /// The balance from which it applies.
    from: MicroUsd,
    /// Bytes of files, together.
    pub(super) files: u64,
    /// Bytes of results, together.
    pub(super) results: u64,
}

/// The quotas, by balance. `docs/openai.md` has the same table.
const STEPS: [Quota; 3] = [
    Quota { from: MicroUsd::ZERO, files: 8 << 20, results: 64 << 20 },
    Quota { from: MicroUsd::new(1_000_000), files: 40 << 20, results: 512 << 20 },
    Quota { from: MicroUsd::new(5_000_000), files: 200 << 20, results: 4 << 30 },
];

impl Quota {
    /// The quota of every account of a service that charges nothing.
    pub(super) const WITHOUT_BILLING: Self = Self { from: MicroUsd::ZERO, files: 1 << 30, results: 4 << 30 };

    /// Returns the quota at this balance, what is set aside included.
    pub(super) fn of(balance: MicroUsd) -> Self {
        let [first, ..] = STEPS;
        STEPS.into_iter().rfind(|quota| quota.from <= balance).unwrap_or(first)
    }
}

/// Returns the fault of storing a part of a file. If the quota is used up, it names the higher ones.
pub(super) fn fault(error: StoreError) -> Fault {
    let StoreError::FilesQuota(bytes) = error else { return error.into() };
    let higher: Vec<String> = STEPS
        .iter()
        .filter(|quota| quota.files > bytes)
        .map(|quota| format!("{} MiB from a balance of {}", quota.files >> 20, quota.from))
        .collect();
    let funds = if higher.is_empty() {
        String::new()
    } else {
        format!(", or add funds before you upload: {}", higher.join(", "))
    };
    let message = format!(
        "the files of the account, uploads in progress included, would take more than {} MiB; delete files that you do not \
         need{funds}",
        bytes >> 20
    );
    Fault::new(Kind::Conflict, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_follow_the_balance() {
        let files = |micro| Quota::of(MicroUsd::new(micro)).files >> 20;
        assert_eq!([-1, 0, 999_999, 1_000_000, 4_999_999, 5_000_000].map(files), [8, 8, 8, 40, 40, 200]);
        assert_eq!(Quota::of(MicroUsd::MAX).files >> 20, 200);
    }

    #[test]
    fn a_refusal_names_the_higher_quotas() {
        let message = |mebibytes: u64| fault(StoreError::FilesQuota(mebibytes << 20)).message().to_owned();
        assert!(message(8).contains("more than 8 MiB"), "{}", message(8));
        assert!(message(8).contains("200 MiB from a balance of $5"), "{}", message(8));
        assert!(!message(200).contains("add funds"), "{}", message(200));
    }
}
