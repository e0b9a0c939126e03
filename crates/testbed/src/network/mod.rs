//! A scenario's network on real stacks: a network namespace for each node, Linux's own TCP in the
//! hosts, `bentpipe gateway` or a foreign proxy in the gateways, and for each link a process with
//! the emulator of `bentpipe link` between two TUN devices.
//!
//! ```text
//! host ── sat (TUN) ── link's process ── sat (TUN) ── gateway ── … ── host
//! ```
//!
//! It outlives the command that has made it: what there is stands in a directory of its own
//! ([`Folder`]), where the next command finds it, and `down` finds it after any kill. Devices
//! belong to their link's process and go with it; everything else goes with the namespaces.

mod daemon;
pub mod diversion;
mod down;
mod error;
mod gateway;
mod host_tcp;
mod layout;
mod line;
mod refused;
mod state;

pub use down::down;
pub use error::NetworkError;
pub use gateway::GatewayProgram;
pub use host_tcp::{HostTcp, SocketTcp};
pub use layout::{Layout, PlacedLink, PlacedNode, Role};
pub use line::{DirectionReport, LinkReport, carry};
pub use refused::{Refusal, Stack, Stacks, refusals, stack, unrecorded};
pub use state::{Daemon, Folder, Held, State, name_of, names};

use crate::proxy::ProxyCommand;
use bentpipe_linux::netns::Namespace;
use bentpipe_scenario::Experiment;
use daemon::Ready;
use line::Order;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// IP packets of the usual size; longer ones only where a host wants longer segments.
const MTU: u16 = 1500;
/// IPv4 and TCP headers without options.
const HEADERS: u16 = 40;
/// How often we look at what comes to an end.
const LOOK: Duration = Duration::from_millis(20);

/// What a testbed is made of.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Its name.
    pub name: &'a str,
    /// The scenario's file, as it was given.
    pub file: &'a str,
    /// The scenario.
    pub experiment: &'a Experiment,
    /// What is done about TCPs that Linux does not have.
    pub stacks: Stacks,
    /// The commands of foreign gateways.
    pub proxies: &'a [ProxyCommand],
    /// The program to be run in it.
    pub binary: &'a std::path::Path,
    /// Links go before ordinary programs, so that they are on time on a busy machine.
    pub realtime: bool,
}

/// A testbed that is up, and ours to change until this value is dropped. It stays.
#[derive(Debug)]
pub struct Network {
    folder: Folder,
    state: State,
    binary: PathBuf,
    realtime: bool,
    _held: Held,
}

impl Network {
    /// Brings the testbed up: the network of the scenario's first point, its links and programs.
    ///
    /// `gateways` has each gateway's node and program.
    ///
    /// # Errors
    /// [`NetworkError`], having removed what had been made.
    pub fn up(
        request: &Request<'_>,
        stack: &Stack,
        gateways: &[(usize, GatewayProgram)],
        stop: &AtomicBool,
    ) -> Result<Network, NetworkError> {
        let folder = Folder::of(request.name)?;
        let layout = Layout::of(&request.experiment.point(0).scenario, request.name);
        // Before the lock, so that `down` knows of whatever is there; and behind it, as `down` may
        // have removed it meanwhile.
        folder.create()?;
        let held = Held::take(request.name, &folder, Duration::ZERO)?;
        folder.create()?;
        held.sign()?;
        let state = State {
            name: request.name.to_owned(),
            file: request.file.to_owned(),
            any_stack: request.stacks == Stacks::Any,
            complete: false,
            layout,
            proxies: request.proxies.to_vec(),
            daemons: Vec::new(),
            diverted: BTreeSet::new(),
            routers: BTreeSet::new(),
        };
        let binary = request.binary.to_owned();
        let realtime = request.realtime;
        let mut network = Network { folder, state, binary, realtime, _held: held };
        let made = network.make(request.experiment, stack, gateways, stop);
        if let Err(error) = made {
            down::remove(&network.state.name, &network.folder);
            return Err(error);
        }
        Ok(network)
    }

    /// The testbed of this name, if it is up and whole.
    ///
    /// # Errors
    /// [`NetworkError`].
    pub fn open(name: &str, binary: PathBuf) -> Result<Network, NetworkError> {
        let folder = Folder::of(name)?;
        let held = Held::take(name, &folder, Duration::ZERO)?;
        let state = folder.state(name)?;
        // Gateways are started anew for each run.
        let mut missing = state.missing();
        missing.retain(|what| !what.starts_with("process of gateway "));
        if !missing.is_empty() {
            return Err(NetworkError::Broken {
                name: name.to_owned(),
                missing: missing.join(", "),
            });
        }
        held.sign()?;
        Ok(Network { folder, state, binary, realtime: false, _held: held })
    }

    /// What is known of it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Its directory.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    fn make(
        &mut self,
        experiment: &Experiment,
        stack: &Stack,
        gateways: &[(usize, GatewayProgram)],
        stop: &AtomicBool,
    ) -> Result<(), NetworkError> {
        let go_on = || match stop.load(Ordering::Relaxed) {
            true => Err(NetworkError::Interrupted),
            false => Ok(()),
        };
        self.folder.save(&self.state)?;
        self.folder.save_experiment(experiment)?;
        for node in &self.state.layout.nodes {
            go_on()?;
            let namespace = Namespace::create_lasting(&node.namespace)?;
            set_up_namespace(&namespace, node.role)?;
            namespace.ip(&format!("address add {}/32 dev lo\n", node.address))?;
        }
        for number in 0..self.state.layout.links.len() {
            go_on()?;
            self.start_link(number)?;
        }
        for number in 0..self.state.layout.nodes.len() {
            self.bring_devices_up(number)?;
        }
        self.set_hosts(stack)?;
        for (number, program) in gateways {
            go_on()?;
            self.start_gateway(*number, program)?;
        }
        self.state.complete = true;
        self.folder.save(&self.state)
    }

    /// The process of the link of this number.
    fn start_link(&mut self, number: usize) -> Result<(), NetworkError> {
        let link = &self.state.layout.links[number];
        let near = &self.state.layout.nodes[link.ends[0].0].namespace;
        let mut command = Namespace::existing(near).command(&self.binary);
        command.args(["testbed", "carry", "--link", &number.to_string(), "--directory"]);
        command.arg(self.folder.path()).args(self.realtime.then_some("--realtime"));
        let what = format!("link {}", link.name);
        self.start(what, &mut command, Ready::Says("bentpipe testbed carry: ready"))
    }

    fn start(
        &mut self,
        what: String,
        command: &mut std::process::Command,
        ready: Ready<'_>,
    ) -> Result<(), NetworkError> {
        let log = self.folder.log(&what);
        let process = daemon::start(&what, command, &log, ready)?;
        self.state.daemons.push(Daemon { what, process });
        self.folder.save(&self.state)
    }

    fn bring_devices_up(&self, number: usize) -> Result<(), NetworkError> {
        let layout = &self.state.layout;
        let mut lines = String::new();
        for (link, device) in layout.devices(number) {
            // A queue here is none of the scenario's: it must not be the one that drops.
            _ = writeln!(
                lines,
                "link set {device} mtu {} txqueuelen 10000 up",
                link.mtu.unwrap_or(MTU.into())
            );
        }
        Namespace::existing(&layout.nodes[number].namespace).ip(&lines)?;
        Ok(())
    }

    /// Gives all hosts their TCPs, and everybody the routes.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_hosts(&self, stack: &Stack) -> Result<(), NetworkError> {
        let layout = &self.state.layout;
        let longest = stack.flows.iter().flatten().map(|tcp| tcp.mss).max().unwrap_or(0);
        let mtu = MTU.max(longest.saturating_add(HEADERS));
        for (number, node) in layout.nodes.iter().enumerate() {
            let namespace = Namespace::existing(&node.namespace);
            let tcp = stack.hosts.get(number).cloned().flatten().unwrap_or_default();
            for (key, value) in &tcp.sysctls {
                namespace.sysctl(key, value)?;
            }
            let mut lines = String::new();
            for (link, device) in layout.devices(number) {
                // The kernel does what a router does with longer ones.
                let mtu = link.mtu.unwrap_or(mtu.into());
                _ = writeln!(lines, "link set {device} mtu {mtu}");
            }
            for (other, device) in &node.routes {
                let (to, own) = (layout.nodes[*other].address, node.address);
                _ = writeln!(lines, "route replace {to}/32 dev {device} src {own} {}", tcp.route);
            }
            namespace.ip(&lines)?;
        }
        Ok(())
    }

    /// Waits until hosts and foreign gateways have no connections left, at most `patience`.
    ///
    /// Connections of an earlier run would be in the next one's figures.
    ///
    /// # Errors
    /// A namespace cannot be entered.
    pub fn settle(&self, patience: Duration) -> Result<(), NetworkError> {
        let deadline = Instant::now() + patience;
        let nodes = self.state.layout.nodes.iter().enumerate();
        // A foreign gateway's connections are of its own namespace.
        let talks =
            |number: usize, role: Role| role == Role::Host || self.state.diverted.contains(&number);
        for (_, node) in nodes.filter(|(number, node)| talks(*number, node.role)) {
            let namespace = Namespace::existing(&node.namespace);
            let table = || fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default();
            while Instant::now() < deadline && is_talking(&namespace.run(table)?) {
                thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    /// All links begin anew, with the random numbers of this run of this point. The packets of one
    /// of them may be recorded, to [`Folder::capture`], up to the report.
    ///
    /// # Errors
    /// [`NetworkError::NoAnswer`].
    pub fn begin(&self, point: usize, run: u64, record: Option<usize>) -> Result<(), NetworkError> {
        self.each_link(|link| Order::Begin { point, run, record: record == Some(link) }).map(drop)
    }

    /// The warm-up ends: what links report begins now.
    ///
    /// # Errors
    /// [`NetworkError::NoAnswer`].
    pub fn mark(&self) -> Result<(), NetworkError> {
        self.each_link(|_| Order::Mark).map(drop)
    }

    /// What each link has done since then.
    ///
    /// # Errors
    /// [`NetworkError::NoAnswer`].
    pub fn report(&self) -> Result<Vec<LinkReport>, NetworkError> {
        let answers = self.each_link(|_| Order::Report)?;
        let links = self.state.layout.links.iter();
        let parse = |(link, text): (&PlacedLink, String)| {
            serde_json::from_str(&text).map_err(|error| NetworkError::NoAnswer {
                link: link.name.clone(),
                source: error.into(),
            })
        };
        links.zip(answers).map(parse).collect()
    }

    fn each_link(&self, order: impl Fn(usize) -> Order) -> Result<Vec<String>, NetworkError> {
        let links = self.state.layout.links.iter().enumerate();
        let tell = |(number, link): (usize, &PlacedLink)| {
            line::tell(&self.folder, number, order(number))
                .map_err(|source| NetworkError::NoAnswer { link: link.name.clone(), source })
        };
        links.map(tell).collect()
    }

    /// The namespace and the address of the node of this number.
    pub fn place(&self, number: usize) -> (Namespace, Ipv4Addr) {
        let node = &self.state.layout.nodes[number];
        (Namespace::existing(&node.namespace), node.address)
    }
}

/// Whether a table of sockets (proc_pid_net(5)) has some that may still send.
fn is_talking(table: &str) -> bool {
    // FIN-WAIT-2, TIME-WAIT, CLOSE and LISTEN say nothing of themselves.
    let silent = ["05", "06", "07", "0A"];
    let states = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3));
    states.into_iter().any(|state| !silent.contains(&state))
}

/// What is the same in every node's namespace, whatever its TCP.
fn set_up_namespace(namespace: &Namespace, role: Role) -> Result<(), NetworkError> {
    // No link-local addresses: nobody solicits routers over the links. Without IPv6 there are none.
    let _ = namespace.sysctl("net.ipv6.conf.default.addr_gen_mode", "1");
    for devices in ["all", "default"] {
        namespace.sysctl(&format!("net.ipv4.conf.{devices}.rp_filter"), "0")?;
    }
    // Pings of a flood are all answered.
    namespace.sysctl("net.ipv4.icmp_ratelimit", "0")?;
    // A namespace begins with the machine's own.
    namespace.sysctl("net.ipv4.ip_forward", if role == Role::Host { "0" } else { "1" })?;
    if role != Role::Host {
        let _ = namespace.sysctl("net.ipv6.conf.all.forwarding", "1");
    }
    Ok(())
}
