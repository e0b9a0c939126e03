//! The network around the router under test.
//!
//! ```text
//!                 D ─────────────────────────── H
//!                 │ eth0, alt0                  │ eth0, alt0
//!                 │ dmz0                        │ lan0
//!   C ─────lan0── G1 ──sat0── SAT ──────sat0── G2
//! ```
//!
//! C, G1, SAT, G2 and H are those of `Testbed`. D is a host on a third interface of the router, and
//! a second way to H; or a guest (a container, a virtual machine) on the router.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bentpipe_linux::netns::process::Process;
use bentpipe_linux::netns::teardown::unique_name;
use bentpipe_linux::netns::{Namespace, join_by_veth};
use bentpipe_testbed::five_hosts::{GatewayPosition, Testbed, TestbedConfig};

use super::setups::{Setup, SetupHost};
use crate::stage::{Family, GATEWAY, build, fast_link, gateway_by};

/// Where a connection begins, or a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    Lan,
    Router,
    Third,
    Far,
}

/// Where a connection goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Lan,
    /// The router's address in the LAN.
    Router,
    /// The router's address at the satellite, for a port that leads inside.
    Published,
    Third,
    Far,
}

impl Target {
    /// The host that has the address.
    pub(super) fn host(self) -> Host {
        match self {
            Target::Lan | Target::Published => Host::Lan,
            Target::Router => Host::Router,
            Target::Third => Host::Third,
            Target::Far => Host::Far,
        }
    }
}

impl From<Host> for Target {
    fn from(host: Host) -> Target {
        match host {
            Host::Lan => Target::Lan,
            Host::Router => Target::Router,
            Host::Third => Target::Third,
            Host::Far => Target::Far,
        }
    }
}

/// All hosts. What is dropped first is above.
pub(super) struct Network {
    third: Namespace,
    /// Behind C, where the LAN has a narrow hop.
    inner: Option<Namespace>,
    guest: Option<Ipv4Addr>,
    testbed: Testbed,
}

impl Network {
    /// The network, with this set-up in its router.
    pub(super) fn lay(setup: &Setup) -> Network {
        let testbed = build(TestbedConfig {
            link: setup.is_emulated.then(fast_link),
            satellite: setup.keys,
            ..TestbedConfig::default()
        });
        let name = unique_name();
        let third = Namespace::create(&format!("{name}-d")).expect("a namespace");
        let inner =
            setup.narrow_hop.then(|| Namespace::create(&format!("{name}-i")).expect("a namespace"));
        let network = Network { third, inner, guest: setup.guest, testbed };
        network.join_third();
        if let Some(inner) = &network.inner {
            network.join_inner(inner);
        }
        network.set_up(setup);
        network
    }

    pub(super) fn has_guest(&self) -> bool {
        self.guest.is_some()
    }

    pub(super) fn router(&self) -> &Namespace {
        &self.testbed.g1
    }

    pub(super) fn namespace(&self, host: Host) -> &Namespace {
        match host {
            Host::Lan => self.inner.as_ref().unwrap_or(&self.testbed.h1),
            Host::Router => &self.testbed.g1,
            Host::Third => &self.third,
            Host::Far => &self.testbed.h2,
        }
    }

    pub(super) fn address(&self, target: Target, family: Family) -> IpAddr {
        let (network, part) = match target {
            Target::Lan if self.inner.is_some() => (7, 2),
            Target::Lan => (1, 2),
            Target::Router => (1, 1),
            Target::Published => (2, 1),
            Target::Third => (5, 2),
            Target::Far => (4, 2),
        };
        match (family, self.guest) {
            (Family::V4, Some(guest)) if target == Target::Third => guest.into(),
            (Family::V4, _) => Ipv4Addr::new(10, 91, network, part).into(),
            (Family::V6, _) => {
                Ipv6Addr::new(0xfd00, 0x91, 0, network.into(), 0, 0, 0, part.into()).into()
            }
        }
    }

    /// Starts the gateways; that of the router under test is returned.
    pub(super) fn start_gateways(&mut self, setup: &Setup) -> Process {
        self.testbed.start_gateway(GatewayPosition::Far).expect("the far gateway");
        let told = setup.is_told.then(|| self.interface_told(setup));
        let lan = told.as_deref().map_or(setup.lan.to_vec(), |interface| vec![interface]);
        gateway_by(&self.testbed, &self.file(setup, &lan))
    }

    /// What `bentpipe gateway check` says that is to be configured for the LAN instead.
    fn interface_told(&self, setup: &Setup) -> String {
        let path = self.testbed.files().join("check.toml");
        fs::write(&path, self.file(setup, setup.lan)).expect("a file");
        let mut command = self.router().command(GATEWAY);
        let output = command.arg("check").arg(&path).output().expect("bentpipe");
        let said = String::from_utf8_lossy(&output.stdout);
        let (_, told) = said.split_once("configure ").unwrap_or_else(|| panic!("{said}"));
        told.split_whitespace().next().expect("an interface").to_owned()
    }

    /// The entries of connection tracking in the router.
    pub(super) fn tracked(&self) -> u64 {
        let count = ["/proc/sys/net/netfilter/nf_conntrack_count"];
        let count = self.router().output("cat", &count).expect("connection tracking");
        count.trim().parse().expect("a number")
    }

    fn file(&self, setup: &Setup, lan: &[&str]) -> String {
        let satellite = setup.satellite;
        format!(
            "[interfaces]\nlan = {lan:?}\nsatellite = [\"{satellite}\"]\n[satellite]\n{}\n",
            setup.keys
        )
    }

    /// D at the router, and D's own cable to H.
    fn join_third(&self) {
        let Testbed { g1, h2, .. } = &self.testbed;
        join_by_veth((&self.third, "eth0"), (g1, "dmz0")).expect("a cable");
        join_by_veth((&self.third, "alt0"), (h2, "alt0")).expect("a cable");
        let addresses = [
            (g1, "dmz0", 5, 1),
            (&self.third, "eth0", 5, 2),
            (&self.third, "alt0", 6, 1),
            (h2, "alt0", 6, 2),
        ];
        addresses.into_iter().for_each(|(host, device, network, part)| {
            assign(host, device, network, part);
        });
        forward(&self.third);
        route(&self.third, 4, 6, 2);
        route(h2, 5, 6, 1);
        route(&self.third, 1, 5, 1);
    }

    /// A host behind C, whose link to it carries 1300 bytes, which its host does not know: it says
    /// that it takes long segments.
    fn join_inner(&self, inner: &Namespace) {
        let Testbed { h1, g1, sat, .. } = &self.testbed;
        join_by_veth((inner, "eth0"), (h1, "inner0")).expect("a cable");
        h1.ip("link set inner0 mtu 1300\n").expect("a narrow hop");
        inner.ip("link set eth0 mtu 1300\n").expect("a narrow hop");
        assign(h1, "inner0", 7, 1);
        assign(inner, "eth0", 7, 2);
        forward(h1);
        inner
            .ip("route add default via 10.91.7.1 advmss 1460\n\
                 route add default via fd00:91:0:7::1 advmss 1440\n")
            .expect("routes");
        route(g1, 7, 1, 2);
        route(sat, 7, 2, 1);
        route(&self.third, 7, 5, 1);
    }

    fn set_up(&self, setup: &Setup) {
        let Testbed { g1, sat, g2, h1, h2, .. } = &self.testbed;
        let sh = |host: &Namespace, commands: &str| {
            let commands = format!("set -e\n{commands}");
            host.output("sh", &["-c", &commands]).expect(setup.name);
        };
        for (host, commands) in setup.commands {
            let host = match host {
                SetupHost::Router => g1,
                SetupHost::Satellite => sat,
                SetupHost::Lan => h1,
                SetupHost::Third => &self.third,
                SetupHost::FarRouter => g2,
                SetupHost::Far => h2,
            };
            sh(host, commands);
        }
        for (number, (load, rules)) in setup.rules.iter().enumerate() {
            let path = self.testbed.files().join(format!("rules-{number}"));
            fs::write(&path, rules).expect("a file");
            sh(g1, &format!("{load} < {}", path.display()));
        }
    }
}

fn assign(host: &Namespace, device: &str, network: u8, part: u8) {
    host.ip(&format!(
        "address add 10.91.{network}.{part}/24 dev {device}\n\
         address add fd00:91:0:{network}::{part}/64 dev {device} nodad\n"
    ))
    .expect("addresses");
}

fn route(host: &Namespace, to: u8, network: u8, part: u8) {
    host.ip(&format!(
        "route add 10.91.{to}.0/24 via 10.91.{network}.{part}\n\
         route add fd00:91:0:{to}::/64 via fd00:91:0:{network}::{part}\n"
    ))
    .expect("routes");
}

fn forward(host: &Namespace) {
    for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
        host.sysctl(key, "1").expect("forwarding");
    }
}
