//! Errors of wrong arguments, for which a command ends with 2.

use ep_kernel::fault::{Fault, Kind};

/// Creates the error of a wrong argument.
pub(super) fn wrong(message: impl Into<String>) -> anyhow::Error {
    Fault::new(Kind::InvalidInput, message.into()).into()
}

/// Returns two parts of the arguments. If both are wrong, the error names both mistakes.
pub(super) fn both<A, B>(first: anyhow::Result<A>, second: anyhow::Result<B>) -> anyhow::Result<(A, B)> {
    let is_wrong = |error: &anyhow::Error| {
        error.downcast_ref::<Fault>().is_some_and(|fault| fault.kind() == Kind::InvalidInput)
    };
    match (first, second) {
        (Err(first), Err(second)) if is_wrong(&first) && is_wrong(&second) => {
            Err(wrong(format!("{first}; {second}")))
        }
        (first, second) => Ok((first?, second?)),
    }
}
