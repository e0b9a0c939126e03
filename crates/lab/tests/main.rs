//! Whole experiments: what they write, draw and keep.

mod experiments;
mod figures;
mod memory;
mod packets;
mod qlog;
