//! Parameters that nothing writes once they are given.

use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// Parameters to be read only: what changes later is state, and a field of the part that owns it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fixed<T>(T);

impl<T> From<T> for Fixed<T> {
    fn from(parameters: T) -> Fixed<T> {
        Fixed(parameters)
    }
}

impl<T> Deref for Fixed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
