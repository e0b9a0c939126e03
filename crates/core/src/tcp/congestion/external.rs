//! Congestion controls from outside the core, which the program that runs it brings along.
//!
//! The core knows of them only that they begin. A configuration is copied with each connection, so
//! it holds a reference. A program has few of them, and keeps each for as long as it runs.

use super::{Congestion, SlowStartConfig};
use crate::units::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ptr;

/// A congestion control that a program brings along.
pub trait ExternalControl: Sync {
    /// Its name in TCP settings, with its parameters.
    fn name(&self) -> &str;

    /// What it is, in words: a class in Python, say.
    fn about(&self) -> &str;

    /// What distinguishes it from another one of the same name.
    fn digest(&self) -> &str;

    /// The same with parameters, such as `delta=0.5,fast=on`.
    ///
    /// # Errors
    /// It has no such parameter, or refuses the value.
    fn with(&self, parameters: &str) -> Result<External, String>;

    /// A fresh instance for segments of `smss` bytes.
    fn begin(&self, slow_start: SlowStartConfig, smss: Bytes) -> Box<dyn Congestion>;
}

/// A reference to one.
#[derive(Clone, Copy)]
pub struct External(&'static dyn ExternalControl);

impl External {
    /// To this one.
    pub fn new(control: &'static dyn ExternalControl) -> External {
        External(control)
    }
}

impl std::ops::Deref for External {
    type Target = dyn ExternalControl;

    fn deref(&self) -> &(dyn ExternalControl + 'static) {
        self.0
    }
}

impl PartialEq for External {
    fn eq(&self, other: &External) -> bool {
        ptr::addr_eq(self.0, other.0)
    }
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("External").field(&self.name()).finish()
    }
}

impl Serialize for External {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(to)
    }
}

/// A connection that has one is not written into a snapshot (`Tcb::snapshot`).
impl<'de> Deserialize<'de> for External {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<External, D::Error> {
        Err(serde::de::Error::custom("a congestion control from outside is in no snapshot"))
    }
}
