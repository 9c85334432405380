//! Examples: programs that use the service, with its URLs filled in.

mod get_example;
mod language;
mod list_examples;

pub use get_example::GetExample;
pub use language::Language;
pub use list_examples::ListExamples;
