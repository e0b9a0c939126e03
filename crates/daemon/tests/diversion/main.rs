//! What is taken off its way through this host's kernel, and put back, on real packets: h1 – m –
//! h2, network namespaces.
//!
//! They need root that may make namespaces; without it they say so and pass. Without a program that
//! they run (`ip`, `nft`, `ping`, `sysctl`, `tc`) they fail at once, and say what installs it.

mod link;
mod monitor;
mod network;
mod passing;
mod router;
mod wire;
