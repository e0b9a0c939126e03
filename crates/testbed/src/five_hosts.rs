//! The papers' five hosts on one machine: H1 – G1 – SAT – G2 – H2, each a network namespace.
//!
//! ```text
//!   H1 ───────────── G1 ───────────── SAT ───────────── G2 ───────────── H2
//!   eth0         lan0  sat0     ground1 ground2     sat0  lan0         eth0
//!   .2   10.91.1  .1    .1 10.91.2 .2     .2 10.91.3 .1    .1   10.91.4  .2
//! ```
//!
//! H1 and H2 are the hosts of Henderson and Katz and of Bharadwaj et al.; G1 and G2 the
//! gateways at the ends of the satellite link, which forward as plain routers until
//! `bentpipe gateway` runs there; SAT is the satellite, which forwards as a plain router
//! until `bentpipe link` gives it a rate, a delay and a queue. The hosts' TCP is Linux's with
//! CUBIC; all else is as the kernel has it.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

use bentpipe_core::units::Probability;

use bentpipe_linux::netns::process::Process;
use bentpipe_linux::netns::teardown::{RunDirectory, unique_name};
use bentpipe_linux::netns::{Namespace, NetnsError, join_by_veth};

mod link;
mod programs;
pub mod web;

pub use link::SatelliteLink;
pub use programs::Programs;

/// How long an emulator or a gateway may take to set itself up, on a machine that is busy.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Why a testbed could not be built.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A namespace or something in it could not be made.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// The directory for configurations could not be written.
    #[error("cannot write the testbed's files: {0}")]
    Files(#[from] io::Error),
}

/// The kernel's check of a packet's source address against the route back (RFC 3704), in the
/// gateways' namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReversePath {
    /// `rp_filter=0`.
    #[default]
    Unchecked,
    /// `rp_filter=1`: the interface must be the one on which we would answer.
    Strict,
}

/// Packet filtering in the gateways' namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Firewall {
    /// Everything passes.
    #[default]
    None,
    /// A forward chain that drops by default and keeps state: what is invalid for conntrack is
    /// dropped, what belongs to a connection passes, and new connections may come from anywhere.
    Stateful,
    /// The same, but new connections may only come through the devices that were there when the
    /// firewall was set up.
    StatefulByDevice,
}

/// What the gateways are told about the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Told {
    /// Its rate and round trip, if there is an emulated link.
    #[default]
    Link,
    /// Nothing.
    Nothing,
}

/// What to build.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TestbedConfig {
    /// The emulated link; without it, SAT is a plain router.
    pub link: Option<SatelliteLink>,
    /// What gateways are told about it.
    pub told: Told,
    /// Reverse-path filtering in G1 and G2.
    pub reverse_path: ReversePath,
    /// A firewall in G1 and G2.
    pub firewall: Firewall,
    /// More keys of the gateways' table `[satellite]`, a line each.
    pub satellite: &'static str,
    /// Gateways leave records of their connections to the next ones, and read them.
    pub soft_state: bool,
    /// Seed of the emulated link's losses.
    pub seed: u64,
}

/// One of the two gateways' positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GatewayPosition {
    /// G1, beside the client H1.
    Near,
    /// G2, beside the server H2.
    Far,
}

/// Both positions.
pub const BOTH: [GatewayPosition; 2] = [GatewayPosition::Near, GatewayPosition::Far];

/// The five namespaces with what runs in them. Dropping it removes it all.
#[derive(Debug)]
pub struct Testbed {
    // Dropped in this order: processes before the namespaces in which they run.
    gateways: [Option<Process>; 2],
    emulator: Option<Process>,
    /// The client's host.
    pub h1: Namespace,
    /// The gateway beside H1.
    pub g1: Namespace,
    /// The satellite.
    pub sat: Namespace,
    /// The gateway beside H2.
    pub g2: Namespace,
    /// The server's host.
    pub h2: Namespace,
    files: RunDirectory,
    programs: Programs,
    plan: TestbedConfig,
}

impl Testbed {
    /// Where the gateways, each in its namespace, show their metrics.
    pub const METRICS: &str = "127.0.0.1:9464";
    /// H1's address in IPv4.
    pub const H1_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 91, 1, 2));
    /// H2's address in IPv4.
    pub const H2_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 91, 4, 2));
    /// H1's address in IPv6.
    pub const H1_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0x91, 0, 1, 0, 0, 0, 2));
    /// H2's address in IPv6.
    pub const H2_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0x91, 0, 4, 0, 0, 0, 2));

    /// Builds the five hosts, and starts the emulator if the plan has a link. Gateways are started
    /// by [`Testbed::start_gateway`].
    ///
    /// # Errors
    /// [`TestbedError`], having removed what had been made.
    pub fn build(programs: Programs, plan: TestbedConfig) -> Result<Testbed, TestbedError> {
        let name = unique_name();
        let files = RunDirectory::create(&name)?;
        let host = |host: &str| Namespace::create(&format!("{name}-{host}"));
        let mut testbed = Testbed {
            gateways: [None, None],
            emulator: None,
            h1: host("h1")?,
            g1: host("g1")?,
            sat: host("sat")?,
            g2: host("g2")?,
            h2: host("h2")?,
            files,
            programs,
            plan,
        };
        testbed.lay_network()?;
        testbed.set_up_hosts()?;
        testbed.set_up_gateways()?;
        if let Some(link) = plan.link {
            testbed.emulator = Some(testbed.start_emulator(link)?);
        }
        Ok(testbed)
    }

    /// A directory for files of this testbed; it goes when the testbed does.
    pub fn files(&self) -> &Path {
        self.files.path()
    }

    /// Starts `bentpipe gateway` at `position` as [`Testbed::run_gateway`] does, and keeps it until
    /// the testbed goes.
    ///
    /// # Errors
    /// As [`Testbed::run_gateway`].
    pub fn start_gateway(&mut self, position: GatewayPosition) -> Result<(), TestbedError> {
        self.gateways[position as usize] = Some(self.run_gateway(position)?);
        Ok(())
    }

    /// Starts `bentpipe gateway` at `position`, configured with the link's rate and round trip if
    /// there is one and the plan does not forbid it, and waits until it is ready. It ends when what
    /// is returned is dropped.
    ///
    /// # Errors
    /// [`NetnsError::NotReady`] with what it wrote, if it does not come up.
    pub fn run_gateway(&self, position: GatewayPosition) -> Result<Process, TestbedError> {
        let mut config = format!(
            "[interfaces]\nlan = [\"lan0\"]\nsatellite = [\"sat0\"]\n[metrics]\nlisten = \"{}\"\n",
            Self::METRICS
        );
        config.push_str("[satellite]\n");
        if let (Some(link), Told::Link) = (self.plan.link, self.plan.told) {
            let round_trip = (2 * link.delay).as_millis();
            _ = write!(config, "rate = \"{}\"\nround-trip = \"{round_trip}ms\"\n", link.rate);
        }
        config.push_str(self.plan.satellite);
        if self.plan.soft_state {
            config.push_str("[splitting]\nsoft-state = true\n");
        }
        let (name, namespace) = self.gateway_at(position);
        let path = self.files().join(format!("{name}.toml"));
        fs::write(&path, config)?;
        let (mut command, program) = self.programs.gateway(namespace);
        command.arg("--config").arg(&path);
        let mut gateway = Process::start(&format!("{program} in {name}"), &mut command)?;
        gateway.wait_for_line(&format!("{program}: ready"), READY_WITHIN)?;
        Ok(gateway)
    }

    /// Starts both gateways.
    ///
    /// # Errors
    /// As [`Testbed::start_gateway`].
    pub fn start_gateways(&mut self) -> Result<(), TestbedError> {
        BOTH.into_iter().try_for_each(|position| self.start_gateway(position))
    }

    /// The running gateway at `position`.
    pub fn gateway(&mut self, position: GatewayPosition) -> Option<&mut Process> {
        self.gateways[position as usize].as_mut()
    }

    /// Takes the gateway at `position` out of the testbed's hands, to stop or kill it.
    pub fn take_gateway(&mut self, position: GatewayPosition) -> Option<Process> {
        self.gateways[position as usize].take()
    }

    /// The running emulator.
    pub fn emulator(&mut self) -> Option<&mut Process> {
        self.emulator.as_mut()
    }

    /// The name and namespace of the gateway at `position`.
    pub fn gateway_at(&self, position: GatewayPosition) -> (&'static str, &Namespace) {
        match position {
            GatewayPosition::Near => ("G1", &self.g1),
            GatewayPosition::Far => ("G2", &self.g2),
        }
    }

    /// Cables, addresses and static routes.
    fn lay_network(&self) -> Result<(), NetnsError> {
        for host in [&self.h1, &self.g1, &self.sat, &self.g2, &self.h2] {
            // Nobody else is on these cables: link-local addresses need no search for duplicates,
            // which would go on for a second or two after everything else stands.
            for devices in ["all", "default"] {
                host.sysctl(&format!("net.ipv6.conf.{devices}.accept_dad"), "0")?;
            }
        }
        join_by_veth((&self.h1, "eth0"), (&self.g1, "lan0"))?;
        join_by_veth((&self.g1, "sat0"), (&self.sat, "ground1"))?;
        join_by_veth((&self.g2, "sat0"), (&self.sat, "ground2"))?;
        join_by_veth((&self.h2, "eth0"), (&self.g2, "lan0"))?;

        // (host, device, network, host part)
        let addresses = [
            (&self.h1, "eth0", 1, 2),
            (&self.g1, "lan0", 1, 1),
            (&self.g1, "sat0", 2, 1),
            (&self.sat, "ground1", 2, 2),
            (&self.sat, "ground2", 3, 2),
            (&self.g2, "sat0", 3, 1),
            (&self.g2, "lan0", 4, 1),
            (&self.h2, "eth0", 4, 2),
        ];
        for (host, device, network, part) in addresses {
            // nodad: an IPv6 address is otherwise not usable for its first second or two.
            host.ip(&format!(
                "address add 10.91.{network}.{part}/24 dev {device}\n\
                 address add fd00:91:0:{network}::{part}/64 dev {device} nodad\n"
            ))?;
        }

        // (host, destination or 0 for everything, next hop's network, its host part)
        let routes = [
            (&self.h1, 0, 1, 1),
            (&self.g1, 0, 2, 2),
            (&self.sat, 1, 2, 1),
            (&self.sat, 4, 3, 1),
            (&self.g2, 0, 3, 2),
            (&self.h2, 0, 4, 1),
        ];
        for (host, destination, network, part) in routes {
            let (v4, v6) = match destination {
                0 => ("default".to_owned(), "default".to_owned()),
                n => (format!("10.91.{n}.0/24"), format!("fd00:91:0:{n}::/64")),
            };
            // The hosts' congestion control goes with the route: a namespace inherits the
            // machine's default, which may be anything, and its sysctl may only be set to what
            // `tcp_allowed_congestion_control` of the whole machine allows.
            let control = if destination == 0 { "congctl cubic" } else { "" };
            host.ip(&format!(
                "route add {v4} via 10.91.{network}.{part} {control}\n\
                 route add {v6} via fd00:91:0:{network}::{part} {control}\n"
            ))?;
        }
        Ok(())
    }

    fn set_up_hosts(&self) -> Result<(), NetnsError> {
        for host in [&self.h1, &self.h2] {
            // Each connection starts afresh, not with what an earlier one has learnt.
            host.sysctl("net.ipv4.tcp_no_metrics_save", "1")?;
        }
        Ok(())
    }

    fn set_up_gateways(&self) -> Result<(), NetnsError> {
        for router in [&self.g1, &self.sat, &self.g2] {
            router.sysctl("net.ipv4.ip_forward", "1")?;
            router.sysctl("net.ipv6.conf.all.forwarding", "1")?;
            // The kernel limits how many "destination unreachable" it sends to one host; a test
            // that provokes some is not a flood.
            router.sysctl("net.ipv4.icmp_ratelimit", "0")?;
            router.sysctl("net.ipv6.icmp.ratelimit", "0")?;
        }
        for gateway in [&self.g1, &self.g2] {
            let strict = match self.plan.reverse_path {
                ReversePath::Unchecked => "0",
                ReversePath::Strict => "1",
            };
            // The stricter of `all` and the device's own counts; `default` is for devices to come.
            for devices in ["all", "default", "lan0", "sat0"] {
                gateway.sysctl(&format!("net.ipv4.conf.{devices}.rp_filter"), strict)?;
            }
            match self.plan.firewall {
                Firewall::None => {}
                Firewall::Stateful => gateway.nft(&stateful_firewall(""))?,
                Firewall::StatefulByDevice => {
                    gateway.nft(&stateful_firewall("iifname { \"lan0\", \"sat0\" }"))?;
                }
            }
        }
        Ok(())
    }

    fn start_emulator(&self, link: SatelliteLink) -> Result<Process, NetnsError> {
        let mut command = self.sat.command(&self.programs.bentpipe);
        command.args(["link", "--between", "ground1,ground2"]);
        command.args(["--rate", &link.rate.to_string()]);
        command.args(["--delay", &format!("{}us", link.delay.as_micros())]);
        command.args(["--queue", &link.queue.to_string()]);
        command.args(["--seed", &self.plan.seed.to_string()]);
        if link.loss != Probability::ZERO {
            command.args(["--loss", &link.loss.to_string()]);
        }
        let mut emulator = Process::start("bentpipe link in SAT", &mut command)?;
        emulator.wait_for_line("bentpipe link: ready", READY_WITHIN)?;
        Ok(emulator)
    }
}

/// A forward chain as an administrator of a careful site would write it, before bentpipe came;
/// new connections pass if `who` matches.
fn stateful_firewall(who: &str) -> String {
    format!(
        "table inet site {{\n\
         chain forward {{\n\
         type filter hook forward priority filter; policy drop;\n\
         ct state invalid counter drop\n\
         ct state established,related accept\n\
         {who} ct state new accept\n\
         }}\n}}\n"
    )
}
