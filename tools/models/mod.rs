//! Models: who can vote.

mod list_models;

pub use list_models::ListModels;
