//! Errors of wrong arguments, for which a command ends with 2.

use ep_kernel::{Fault, Kind};

/// Creates the error of a wrong argument.
pub(super) fn wrong(message: impl Into<String>) -> anyhow::Error {
    Fault::new(Kind::InvalidInput, message.into()).into()
}

/// Returns two parts of the arguments. If both are wrong, the error names both mistakes.
pub(super) fn both<A, B>(first: anyhow::Result<A>, second: anyhow::Result<B>) -> anyhow::Result<(A, B)> {
    match (first, second) {
        (Err(first), Err(second)) => Err(match (mistake(&first), mistake(&second)) {
            (Some(first), Some(second)) => first.clone().and(second.clone()).into(),
            _ => first,
        }),
        (first, second) => Ok((first?, second?)),
    }
}

fn mistake(error: &anyhow::Error) -> Option<&Fault> {
    error.downcast_ref().filter(|fault: &&Fault| fault.kind() == Kind::InvalidInput)
}
