//! Enums whose values are words.

/// Defines an enum with a word for each value: its name in JSON and in `as_str`. `ALL` has all values in order.
///
/// ```
/// ep_polling::words! {
///     /// A colour.
///     #[derive(serde::Serialize)]
///     pub enum Colour {
///         /// Like the sky.
///         LightBlue = "light_blue",
///     }
/// }
///
/// assert_eq!(Colour::LightBlue.as_str(), "light_blue");
/// assert_eq!(serde_json::to_string(&Colour::ALL)?, r#"["light_blue"]"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$of_enum:meta])* pub enum $name:ident { $($(#[$of_value:meta])* $value:ident = $word:literal,)* }) => {
        $(#[$of_enum])*
        pub enum $name {
            $($(#[$of_value])* #[serde(rename = $word)] $value,)*
        }

        impl $name {
            /// All values, in order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$value),*];

            /// Returns the stable name, as in JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)*
                }
            }
        }
    };
}
