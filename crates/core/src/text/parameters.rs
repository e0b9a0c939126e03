//! A name with its parameters.

use super::{Choice, TextError};

/// A text of the form `name:key=value,key=value`, taken apart; or a name and pairs that stood in a
/// table. What is not taken is an error.
#[derive(Debug)]
pub struct Parameters<'a> {
    name: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
    /// What was asked for: the keys that there are.
    asked: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    /// Of a text. Commas or semicolons part the pairs.
    pub fn read(text: &'a str) -> Parameters<'a> {
        let text = text.trim();
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let pairs = rest.split([',', ';']).filter(|pair| !pair.trim().is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Parameters::of(name, pairs.map(|(key, value)| (key.trim(), value.trim())))
    }

    /// Of a table.
    pub fn of(
        name: &'a str,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Parameters<'a> {
        Parameters { name, pairs: pairs.into_iter().collect(), asked: Vec::new() }
    }

    /// What stands before the parameters.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Which `what` the name stands for.
    ///
    /// # Errors
    /// [`TextError::Name`].
    pub fn kind<T: Choice>(&self, what: &'static str) -> Result<T, TextError> {
        T::read(what, self.name)
    }

    /// Whether `key` is there.
    pub fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(found, _)| *found == key)
    }

    /// The value of `key`, if it is there; `read` understands what `expected` describes.
    ///
    /// # Errors
    /// [`TextError::Value`] or [`TextError::Twice`].
    pub fn take<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, TextError> {
        self.asked.push(key);
        let Some(at) = self.pairs.iter().position(|(found, _)| *found == key) else {
            return Ok(None);
        };
        let (_, value) = self.pairs.remove(at);
        let name = || self.name.to_owned();
        if self.has(key) {
            return Err(TextError::Twice { name: name(), key: key.to_owned() });
        }
        let error = || {
            let (value, expected) = (value.to_owned(), expected.to_owned());
            TextError::Value { name: name(), key, value, expected }
        };
        read(value).map(Some).ok_or_else(error)
    }

    /// The same, of what must be there.
    ///
    /// # Errors
    /// [`TextError::Missing`] besides.
    pub fn need<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, TextError> {
        let name = self.name.to_owned();
        let missing = TextError::Missing { name, key, expected: expected.to_owned() };
        self.take(key, expected, read)?.ok_or(missing)
    }

    /// The value of `key` by its name, if it is there.
    ///
    /// # Errors
    /// [`TextError::Value`] or [`TextError::Twice`].
    pub fn choose<T: Choice>(&mut self, key: &'static str) -> Result<Option<T>, TextError> {
        self.take(key, &format!("one of {}", T::names()), T::named)
    }

    /// `made`, unless something is left that nobody has taken.
    ///
    /// # Errors
    /// [`TextError::Key`].
    pub fn finish<T>(self, made: T) -> Result<T, TextError> {
        let Some((key, _)) = self.pairs.first() else { return Ok(made) };
        let keys = if self.asked.is_empty() { "none".to_owned() } else { self.asked.join(", ") };
        Err(TextError::Key { name: self.name.to_owned(), key: (*key).to_owned(), keys })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{SWITCH, positive, switch};

    fn read(text: &str) -> Result<(Option<f64>, Option<bool>), TextError> {
        let mut given = Parameters::read(text);
        let a = given.take("a", "a number", positive)?;
        let b = given.take("min-threshold", SWITCH, switch)?;
        given.finish((a, b))
    }

    #[test]
    fn pairs_are_parted_by_commas_or_semicolons() {
        for text in ["x:a=1.5,min-threshold=on", " x:a=1.5 ; min-threshold= on,"] {
            assert_eq!(read(text), Ok((Some(1.5), Some(true))), "{text}");
        }
        assert_eq!(read("x"), Ok((None, None)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, message) in [
            ("x:c=1", "`x` has no parameter `c` (there are a, min-threshold)"),
            ("x:a=1,a=2", "`x` has its parameter `a` twice"),
            ("x:a=-1", "`-1` is no value for `x`'s `a` (expected a number)"),
            ("x:a", "`` is no value for `x`'s `a` (expected a number)"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
    }
}
