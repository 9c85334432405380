//! Files of rows: their forms, their columns, and the files that are written beside them.

mod input;
pub(crate) mod regular_file;
pub mod replacement;
pub mod sample;
pub mod table;
pub mod template;
