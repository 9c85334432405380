//! Random rows of a file, to be labelled by hand.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::table::{Row, Table};

/// The column for labels by hand.
pub(super) const GOLD: &str = "gold";

/// Draws rows at random, in their order; each set of rows is equally likely. The same rows and seed give the same ones.
pub(super) fn draw(rows: Table, size: usize, seed: u64) -> anyhow::Result<Vec<Row>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn: Vec<Row> = Vec::new();
    // Vitter's reservoir (ACM TOMS 11, 1985): memory for the drawn rows only.
    for (count, row) in rows.enumerate() {
        let row = row?;
        if drawn.len() < size {
            drawn.push(row);
        } else if let Some(place) = drawn.get_mut(random.random_range(0..=count)) {
            *place = row;
        }
    }
    drawn.sort_by_key(|row| row.number);
    Ok(drawn)
}

/// Returns rows as CSV with a column for the label.
pub(super) fn to_csv(drawn: &[Row]) -> anyhow::Result<String> {
    let mut columns: Vec<&String> = Vec::new();
    let mut known = BTreeSet::new();
    for column in drawn.iter().flat_map(|row| row.fields.keys()) {
        if column != GOLD && known.insert(column) {
            columns.push(column);
        }
    }
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(columns.iter().map(|column| column.as_str()).chain([GOLD]))?;
    for row in drawn {
        let fields = columns.iter().map(|column| row.text(column).unwrap_or_default());
        csv.write_record(fields.chain([row.text(GOLD).unwrap_or_default()]))?;
    }
    Ok(String::from_utf8(csv.into_inner()?)?)
}
