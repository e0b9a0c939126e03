//! What is taken off its way through this host's kernel, and put back, on real packets: h1 – m –
//! h2, network namespaces.
//!
//! They need root that may make namespaces, `ip`, `nft` and `ping`; without it they say so and
//! pass.

mod link;
mod network;
mod passing;
mod router;
mod wire;
