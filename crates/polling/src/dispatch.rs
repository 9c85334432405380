//! The members of a poll in dispatch order.

use std::ops::Index;
use std::sync::Arc;

use super::order::Seed;
use super::roster::Member;

/// The members of a poll in dispatch order: members in registry order, which polls share, and the order drawn
/// for this poll.
#[derive(Debug, Clone)]
pub struct DispatchOrder {
    members: Arc<[Member]>,
    /// The index in `members` for each position.
    order: Box<[u8]>,
}

impl DispatchOrder {
    /// Draws the dispatch order of these members, which are in registry order.
    pub fn draw(members: Arc<[Member]>, seed: Seed) -> Self {
        let mut order = identity(members.len());
        seed.shuffle(&mut order);
        Self { members, order }
    }

    /// Returns the members in registry order, given the seed of the poll.
    pub fn in_registry_order(&self, seed: Seed) -> Arc<[Member]> {
        let drawn = Self::draw(Arc::clone(&self.members), seed);
        if drawn.order == self.order {
            return drawn.members;
        }
        let mut members: Vec<(u8, &Member)> = drawn.order.iter().copied().zip(self.iter()).collect();
        members.sort_unstable_by_key(|(index, _)| *index);
        members.into_iter().map(|(_, member)| member.clone()).collect()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True if there is no member.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns the member at this position.
    pub fn get(&self, position: usize) -> Option<&Member> {
        self.members.get(usize::from(*self.order.get(position)?))
    }

    /// Returns the place in registry order of the member at this position. A panel's members are there in the order of
    /// their strength.
    pub fn rank(&self, position: usize) -> Option<usize> {
        self.order.get(position).copied().map(usize::from)
    }

    /// Returns the members in dispatch order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Member> + ExactSizeIterator {
        self.order.iter().map(|index| &self.members[usize::from(*index)])
    }
}

/// Polls are equal if they ask the same members in the same order, however these are stored.
impl PartialEq for DispatchOrder {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Index<usize> for DispatchOrder {
    type Output = Member;
    fn index(&self, position: usize) -> &Member {
        &self.members[usize::from(self.order[position])]
    }
}

/// Collects members that are already in dispatch order.
impl FromIterator<Member> for DispatchOrder {
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Self {
        let members: Arc<[Member]> = members.into_iter().collect();
        Self { order: identity(members.len()), members }
    }
}

/// A roster has at most [`MAX_ROSTER`](super::stopping::MAX_ROSTER) members, so an index fits a byte.
fn identity(members: usize) -> Box<[u8]> {
    (0..members).map(|index| index as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::ModelId;
    use crate::stopping::MAX_ROSTER;

    fn members(count: usize) -> Arc<[Member]> {
        let member = |number: usize| Member {
            model: ModelId::new(number.to_string()),
            family: String::new(),
            price: None,
            output_tokens: 1,
        };
        (0..count).map(member).collect()
    }

    #[test]
    fn registry_order_follows_from_the_dispatch_order_and_the_seed() {
        const { assert!(MAX_ROSTER <= 1 + u8::MAX as usize) };
        let (seed, registry) = (Seed::new([5; 32]), members(MAX_ROSTER));
        let drawn = DispatchOrder::draw(Arc::clone(&registry), seed);
        let stored: DispatchOrder = drawn.iter().cloned().collect();
        assert_eq!(stored, drawn);
        for order in [&drawn, &stored] {
            assert_eq!(order.in_registry_order(seed), registry);
        }
        let mut shuffled = registry.to_vec();
        seed.shuffle(&mut shuffled);
        assert!(drawn.iter().eq(&shuffled), "members are dispatched as earlier releases dispatched them");
        assert_eq!((&drawn[149], drawn.get(150)), (&shuffled[149], None));
    }
}
