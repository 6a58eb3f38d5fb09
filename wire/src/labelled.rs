//! Enums with a label for each variant.

/// Defines an enum without fields, the list of its variants and their labels.
///
/// ```
/// wire::labelled! {
///     /// Direction of a transfer.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub enum Direction {
///         /// To the core.
///         In = "in",
///         /// From the core.
///         Out = "out",
///     }
/// }
/// assert_eq!(Direction::ALL.map(Direction::label), ["in", "out"]);
/// ```
#[macro_export]
macro_rules! labelled {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $label:expr,)*
        }
    ) => {
        $(#[$attribute])*
        $visibility enum $name {
            $($(#[$of_variant])* $variant,)*
        }

        impl $name {
            /// All variants, in the order of their definition.
            $visibility const ALL: [Self; [$($label),*].len()] = [$(Self::$variant),*];

            /// Returns the text for the variant in tables and messages.
            #[must_use]
            $visibility const fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)*
                }
            }
        }
    };
}
