//! The votes of a panel on many rows.

/// The option that a member chose, by its index; `None` without a vote.
pub type Vote = Option<u16>;

/// Complete panels: for each row, one vote of each member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Votes {
    members: usize,
    cells: Vec<Vote>,
}

impl Votes {
    /// Creates an empty table for this many members.
    pub const fn new(members: usize) -> Self {
        Self { members, cells: Vec::new() }
    }

    /// Adds a row. Missing votes at its end are filled with `None`, and votes beyond the last member are ignored.
    pub fn push(&mut self, row: &[Vote]) {
        let votes = row.iter().copied().chain(std::iter::repeat(None));
        self.cells.extend(votes.take(self.members));
    }

    /// Returns the rows at these places, in this order. Places beyond the last row are left out.
    #[must_use]
    pub fn select(&self, places: &[usize]) -> Self {
        let mut selected = Self::new(self.members);
        for row in places.iter().filter_map(|&place| self.rows().nth(place)) {
            selected.push(row);
        }
        selected
    }

    /// Returns the number of members.
    pub const fn members(&self) -> usize {
        self.members
    }

    /// Returns the number of rows.
    pub const fn len(&self) -> usize {
        match self.cells.len().checked_div(self.members) {
            Some(rows) => rows,
            None => 0,
        }
    }

    /// True if there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows, each with the votes in the order of the members.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[Vote]> + Clone {
        self.cells.chunks_exact(self.members.max(1))
    }
}
