//! Ensemble Poll.
