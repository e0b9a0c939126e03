//! The virtual-time world.
#![forbid(unsafe_code)]
