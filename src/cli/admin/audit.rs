//! `ep admin audit`: checks the database, the ledger and the deposits.

use std::time::Duration;

use ep_kernel::{Accounts, ChainComparison, Fault};
use ep_polling::Usd;
use ep_polling::counted::counted;
use ep_store::{DatabaseSize, FreePages, IntegrityCheck};
use serde_json::json;

use super::show;
use crate::cli::End;
use crate::payments::Rails;

pub(super) async fn audit(
    accounts: &Accounts,
    payments: &Rails,
    settled_within: Duration,
    check: IntegrityCheck,
    json: bool,
) -> anyhow::Result<End> {
    // Sums over a damaged database are meaningless.
    let damage = accounts.treasury.check_integrity(check).await.map_err(Fault::from)?;
    if !damage.is_empty() {
        show(json, &json!({ "clean": false, "damaged": damage }), || {
            let advice = "the database is damaged: restore a backup; the ledger was not checked";
            let lines = damage.iter().map(|found| format!("damaged: {found}"));
            std::iter::once(advice.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
        })?;
        return Ok(End::Code(1));
    }
    let audit = accounts.treasury.audit(settled_within).await.map_err(Fault::from)?;
    let mut compared = Vec::new();
    for running in payments.all() {
        if let Some(deposits) = running.deposits()
            && let Some(comparison) = deposits.compare_all().await?
        {
            compared.push((running.rail().id, comparison));
        }
    }
    let is_clean = audit.is_clean() && compared.iter().all(|(_, comparison)| comparison.is_clean());
    let mut shown =
        json!({ "clean": is_clean, "accounts": audit.accounts, "transfers": audit.transfers, "damaged": [] });
    let size = accounts.treasury.database_size().await.map_err(Fault::from)?;
    shown["database_bytes"] = json!(size.bytes);
    shown["free_pages"] = json!(size.free.map(|free| free.pages));
    shown["free_bytes"] = json!(size.free.map(|free| free.bytes));
    for (name, _, found) in audit.findings() {
        shown[name] = json!(found);
    }
    for (rail, compared) in &compared {
        shown[*rail] = json!({
            "deposits": compared.deposits,
            "settled_usd": Usd(compared.settled),
            "on_chain_usd": Usd(compared.on_chain),
            "missing_deposits": compared.missing,
            "unchecked_deposits": compared.unchecked,
        });
    }
    show(json, &shown, || {
        let verdict = if is_clean { "the ledger is consistent" } else { "the check found errors" };
        let mut lines = vec![format!(
            "{verdict}: {}, {}",
            counted(audit.accounts, "account"),
            counted(audit.transfers, "transfer")
        )];
        lines.push(storage_line(size));
        for (_, description, found) in audit.findings() {
            lines.extend(found.iter().map(|id| format!("{description}: {id}")));
        }
        lines.extend(compared.iter().flat_map(|(_, comparison)| chain_lines(comparison)));
        lines.join("\n")
    })?;
    Ok(if is_clean { End::Done } else { End::Code(1) })
}

/// Describes the size of the database.
fn storage_line(DatabaseSize { bytes, free }: DatabaseSize) -> String {
    let mib = |bytes: u64| format!("{}.{} MiB", bytes >> 20, (bytes >> 10) % 1024 * 10 / 1024);
    match free {
        Some(FreePages { pages, bytes: free }) => format!(
            "the database takes {}; {pages} pages of it ({}) are free, and new data fills them",
            mib(bytes),
            mib(free)
        ),
        None => format!("the database takes {}", mib(bytes)),
    }
}

/// Describes the comparison of settled deposits with the chain.
pub(super) fn chain_lines(compared: &ChainComparison) -> Vec<String> {
    let ChainComparison { deposits, settled, on_chain, missing, unchecked } = compared;
    let mut lines =
        vec![format!("{}: {settled} settled, {on_chain} on the chain", counted(*deposits, "USDC deposit"))];
    lines.extend(missing.iter().map(|id| format!("settled deposit not found on the chain: {id}")));
    lines.extend(unchecked.iter().map(|id| format!("settled deposit that the node cannot look up: {id}")));
    lines
}
