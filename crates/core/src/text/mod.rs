//! The text form of everything that has parameters: `name`, or `name:key=value,key=value`.
//!
//! Congestion control, slow start, queues, losses and outages are read by [`Parameters`], and lists
//! of settings such as `linux,iw=4` by [`Settings`]. Within such a list a comma parts the settings,
//! so that a semicolon parts parameters as well: `linux,congestion=vegas:alpha=2;beta=4`.
//!
//! A [`Choice`] goes by a name: the enum declares the names.

mod choice;
mod parameters;
mod settings;
mod values;

pub use choice::Choice;
pub use parameters::Parameters;
pub use settings::{Setting, Settings};
pub use values::{
    BYTES, PROBABILITY, RATE, SPAN, SWITCH, bytes, positive, probability, rate, span, switch,
};

/// Why a text was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Nothing is called so.
    #[error("no {what} is called `{name}` (there are {names})")]
    Name {
        /// What was looked for.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The names that there are.
        names: String,
    },
    /// There is no such parameter here.
    #[error("`{name}` has no parameter `{key}` (there are {keys})")]
    Key {
        /// Of what.
        name: String,
        /// The parameter.
        key: String,
        /// The parameters that there are.
        keys: String,
    },
    /// A parameter was given more than once.
    #[error("`{name}` has its parameter `{key}` twice")]
    Twice {
        /// Of what.
        name: String,
        /// The parameter.
        key: String,
    },
    /// A parameter cannot have this value.
    #[error("`{value}` is no value for `{name}`'s `{key}` (expected {expected})")]
    Value {
        /// Of what.
        name: String,
        /// The parameter.
        key: &'static str,
        /// What was given.
        value: String,
        /// What would have been understood.
        expected: String,
    },
    /// A parameter is missing.
    #[error("`{name}` needs `{key}` (expected {expected})")]
    Missing {
        /// Of what.
        name: String,
        /// The parameter.
        key: &'static str,
        /// What would have been understood.
        expected: String,
    },
}

impl TextError {
    /// The parameter that is at fault, if it is one that was given.
    pub fn key(&self) -> Option<&str> {
        match self {
            TextError::Key { key, .. } | TextError::Twice { key, .. } => Some(key),
            TextError::Value { key, .. } => Some(key),
            TextError::Name { .. } | TextError::Missing { .. } => None,
        }
    }
}
