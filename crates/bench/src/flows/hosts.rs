//! Three hosts on one machine: client, router and server, each a network namespace.
//!
//! ```text
//!   client ─────────── router ─────────── server
//!   eth0            lan0   sat0            eth0
//!   .2   10.92.1     .1     .1   10.92.2    .2
//! ```
//!
//! Client and server are Linux as it is, with a congestion control. No link is emulated.

use super::error::FlowsError;
use bentpipe_linux::netns::teardown::{RunDirectory, unique_name};
use bentpipe_linux::netns::{Namespace, NetnsError, join_by_veth};
use std::net::Ipv4Addr;
use std::path::Path;

/// The router's devices towards the client and towards the server.
pub(super) const DEVICES: [&str; 2] = ["lan0", "sat0"];

/// The server's address.
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 92, 2, 2);

/// The three namespaces. They go with this value.
#[derive(Debug)]
pub(super) struct Hosts {
    pub(super) client: Namespace,
    pub(super) router: Namespace,
    pub(super) server: Namespace,
    files: RunDirectory,
}

impl Hosts {
    /// Builds them, of which both ends use the kernel's `congestion` control of that name.
    ///
    /// # Errors
    /// [`FlowsError`]; what had been made is removed.
    pub(super) fn build(congestion: &str) -> Result<Hosts, FlowsError> {
        let name = unique_name();
        let host = |host: &str| Namespace::create(&format!("{name}-{host}"));
        let files = RunDirectory::create(&name).map_err(FlowsError::Files)?;
        let hosts = Hosts {
            client: host("client")?,
            router: host("router")?,
            server: host("server")?,
            files,
        };
        hosts.set_up(congestion)?;
        Ok(hosts)
    }

    /// A directory for the forwarders' configurations.
    pub(super) fn files(&self) -> &Path {
        self.files.path()
    }

    fn set_up(&self, congestion: &str) -> Result<(), NetnsError> {
        let Hosts { client, router, server, files: _ } = self;
        for key in ["all", "default"] {
            router.sysctl(&format!("net.ipv4.conf.{key}.rp_filter"), "0")?;
        }
        router.sysctl("net.ipv4.ip_forward", "1")?;
        let [lan, sat] = DEVICES;
        join_by_veth((client, "eth0"), (router, lan))?;
        join_by_veth((server, "eth0"), (router, sat))?;
        router.ip(&format!(
            "address add 10.92.1.1/24 dev {lan}\naddress add 10.92.2.1/24 dev {sat}\n"
        ))?;
        for (host, network) in [(client, 1), (server, 2)] {
            // A measurement does not begin with what the one before has learnt.
            host.sysctl("net.ipv4.tcp_no_metrics_save", "1")?;
            host.sysctl("net.core.somaxconn", "16384")?;
            host.sysctl("net.ipv4.tcp_max_syn_backlog", "16384")?;
            host.ip(&format!(
                "address add 10.92.{network}.2/24 dev eth0\n\
                 route add default via 10.92.{network}.1 congctl {congestion}\n"
            ))?;
        }
        // Many idle connections, and connections that have just ended, all have ports.
        client.sysctl("net.ipv4.ip_local_port_range", "10000 65535")
    }
}
