//! The text form of an algorithm with parameters: `name` or `name:key=value,key=value`.

use std::str::FromStr;

/// Why an algorithm's text was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownControl {
    /// There is no algorithm of this name.
    #[error("no {what} is called `{name}` (there are {names})")]
    Name {
        /// What was looked for.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names that there are.
        names: String,
    },
    /// The algorithm has no such parameter, or it was given twice.
    #[error("`{name}` has no parameter `{key}`, or has it twice")]
    Key {
        /// The algorithm.
        name: String,
        /// The parameter.
        key: String,
    },
    /// The parameter cannot have this value.
    #[error("`{value}` is no value for `{name}`'s parameter `{key}`")]
    Value {
        /// The algorithm.
        name: String,
        /// The parameter.
        key: String,
        /// What was given.
        value: String,
    },
}

/// A text, taken apart.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    name: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Parameters<'a> {
    pub(super) fn read(text: &'a str) -> Parameters<'a> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let pairs = rest.split(',').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
        Parameters { name, pairs }
    }

    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// The value of `key`, or `default`, which `is_sound` must accept.
    pub(super) fn take<T: FromStr>(
        &mut self,
        key: &str,
        default: T,
        is_sound: impl Fn(&T) -> bool,
    ) -> Result<T, UnknownControl> {
        self.take_with(key, default, |text| text.parse().ok().filter(&is_sound))
    }

    /// The value of `key` as `read` understands it, or `default`.
    pub(super) fn take_with<T>(
        &mut self,
        key: &str,
        default: T,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, UnknownControl> {
        let Some(at) = self.pairs.iter().position(|(found, _)| *found == key) else {
            return Ok(default);
        };
        let (_, value) = self.pairs.remove(at);
        read(value.trim()).ok_or_else(|| UnknownControl::Value {
            name: self.name.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }

    /// `made`, unless parameters are left that nobody has taken.
    pub(super) fn finish<T>(self, made: T) -> Result<T, UnknownControl> {
        match self.pairs.first() {
            None => Ok(made),
            Some((key, _)) => {
                Err(UnknownControl::Key { name: self.name.to_owned(), key: (*key).to_owned() })
            }
        }
    }

    pub(super) fn unknown(&self, what: &'static str, names: &str) -> UnknownControl {
        UnknownControl::Name { what, name: self.name.to_owned(), names: names.to_owned() }
    }
}
