//! Values that go by a name.

use super::TextError;
use strum::VariantArray;

/// One of a few values, each with a name. The enum is the only declaration: `strum` derives the
/// names from its variants, so that none can be forgotten.
///
/// ```
/// use bentpipe_core::text::Choice;
///
/// #[derive(Debug, Clone, Copy, PartialEq, strum::VariantArray, strum::IntoStaticStr)]
/// #[strum(serialize_all = "kebab-case")]
/// enum Order {
///     Kept,
///     ByArrival,
/// }
/// assert_eq!(Order::named("by-arrival"), Some(Order::ByArrival));
/// assert_eq!(Order::names(), "kept, by-arrival");
/// ```
pub trait Choice: Copy + PartialEq + Into<&'static str> + VariantArray {
    /// Its name in texts.
    fn name(self) -> &'static str {
        self.into()
    }

    /// The value of this name.
    fn named(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|value| value.name() == name)
    }

    /// All names, parted by commas.
    fn names() -> String {
        let names: Vec<&str> = Self::VARIANTS.iter().map(|value| value.name()).collect();
        names.join(", ")
    }

    /// The value of this name, or what to say of it: no `what` is called so.
    ///
    /// # Errors
    /// [`TextError::Name`].
    fn read(what: &'static str, name: &str) -> Result<Self, TextError> {
        let unknown = || TextError::Name { what, name: name.to_owned(), names: Self::names() };
        Self::named(name).ok_or_else(unknown)
    }
}

impl<T: Copy + PartialEq + Into<&'static str> + VariantArray> Choice for T {}
