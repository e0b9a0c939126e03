//! What a segment costs the TCP core, and a packet a link: `cargo bench -p bentpipe-benches`. A
//! crate of its own, as criterion would be built for every test of core otherwise.
#![forbid(unsafe_code)]

pub mod contention;
