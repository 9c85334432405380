//! Values that are checked as they are read.

/// Implements the conversions of a checked value for `serde(try_from, into)`: from its form in JSON, with the error and the
/// check, and back to it.
///
/// ```
/// #[derive(Debug, PartialEq, serde::Deserialize)]
/// #[serde(try_from = "u32")]
/// struct Even(u32);
///
/// ep_polling::checked!(Even: u32, &'static str, |number| {
///     if number % 2 == 0 { Ok(Self(number)) } else { Err("must be even") }
/// });
///
/// assert_eq!(serde_json::from_str::<Even>("4")?, Even(4));
/// assert!(serde_json::from_str::<Even>("5").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[macro_export]
macro_rules! checked {
    ($name:ident: $form:ty, $error:ty, $check:expr $(, $back:expr)?) => {
        impl TryFrom<$form> for $name {
            type Error = $error;

            fn try_from(form: $form) -> Result<Self, Self::Error> {
                let check: fn($form) -> Result<Self, $error> = $check;
                check(form)
            }
        }

        $(impl From<$name> for $form {
            fn from(value: $name) -> Self {
                let back: fn($name) -> $form = $back;
                back(value)
            }
        })?
    };
}
