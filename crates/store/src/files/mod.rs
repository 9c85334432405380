//! Files of lines that accounts store: the rows of batches.

mod chunks;
mod records;
pub(crate) mod transactions;

pub use self::records::{
    BegunFile, EarlierFile, FileContent, FileDeletion, FileRecord, ListPosition, NewFile,
};
