//! Carries one poll through, from the first call to the decision.
