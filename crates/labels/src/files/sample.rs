//! Random rows of a file, to be labelled by hand.

use std::collections::{BinaryHeap, HashMap};

use sha2::{Digest, Sha256};

use crate::files::table::{Row, Table, columns};

/// The column for labels by hand.
pub const GOLD: &str = "gold";

/// Draws the rows with the lowest seeded digests of their content, in the order of the file. The draw is random, the same
/// for the same rows and seed, and another one after a change of any row in it.
pub fn draw(rows: Table, size: usize, seed: u64) -> anyhow::Result<Vec<Row>> {
    // Memory for the drawn rows only.
    let mut lowest: BinaryHeap<([u8; 32], u64)> = BinaryHeap::new();
    let mut drawn: HashMap<u64, Row> = HashMap::new();
    for row in rows {
        let row = row?;
        let place = (digest(&row, seed), row.number);
        if lowest.len() == size && lowest.peek().is_none_or(|highest| place > *highest) {
            continue;
        }
        drawn.insert(row.number, row);
        lowest.push(place);
        if lowest.len() > size
            && let Some((_, number)) = lowest.pop()
        {
            drawn.remove(&number);
        }
    }
    let mut drawn: Vec<Row> = drawn.into_values().collect();
    drawn.sort_by_key(|row| row.number);
    Ok(drawn)
}

fn digest(row: &Row, seed: u64) -> [u8; 32] {
    let mut columns: Vec<&String> = row.fields.keys().collect();
    columns.sort_unstable();
    let mut digest = Sha256::new().chain_update(seed.to_be_bytes());
    for name in columns {
        let text = row.text(name).unwrap_or_default();
        for part in [name, &text] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    }
    digest.finalize().into()
}

/// Returns rows as CSV with a column for the label.
pub fn to_csv(drawn: &[Row]) -> anyhow::Result<String> {
    let columns = columns(drawn.iter().map(Ok), &[GOLD])?;
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(columns.iter().map(String::as_str).chain([GOLD]))?;
    for row in drawn {
        let fields = columns.iter().map(|column| row.text(column).unwrap_or_default());
        csv.write_record(fields.chain([row.text(GOLD).unwrap_or_default()]))?;
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
}
