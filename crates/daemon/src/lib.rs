//! The gateway on real packets: its loop, how packets are taken and given back, its watchdog, its
//! answers to questions, what it records, what it leaves to the next one; and the command line of
//! all that.
#![forbid(unsafe_code)]

pub mod bump;
pub mod command;
pub mod control;
mod events;
pub mod gateway;
pub mod invocation;
pub mod link_memory;
mod origin;
pub mod own_file;
mod package;
pub mod routes;
pub mod session_records;
pub mod tap;
pub mod watchdog;
pub mod work;
