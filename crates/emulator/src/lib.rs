//! A link on real packets, in real time: its two directions between two devices, what is recorded
//! of them, how they are changed while they run, and a test of their lateness on this
//! machine; and the path to another host, measured so that a link can replay it.
#![forbid(unsafe_code)]

mod backlog;
mod bare_timer;
pub mod between;
pub mod changes;
mod datagram;
mod drop_notice;
pub mod duplex_link;
pub mod emulator;
mod forwarding;
pub mod lateness;
pub mod link_control;
mod link_tap;
pub mod links;
pub mod live;
pub mod netns_command;
pub mod netns_pair;
pub mod probing;
pub mod recording;
pub mod self_test;
pub mod summary;
pub mod too_long;
