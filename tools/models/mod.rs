//! Models: the voters.

mod list_models;

pub use list_models::{ListModels, ModelQuery};
