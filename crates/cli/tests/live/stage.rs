//! The stages on which cases play: testbeds that many cases share, one for each set of
//! conditions, built when the first case wants one.

use std::fmt;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bentpipe_core::units::{Probability, Rate};
use bentpipe_daemon::bump;
use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_linux::netns::teardown::unique_name;
use bentpipe_linux::tun::{Offload, Tun};
use bentpipe_testbed::five_hosts::{
    Firewall, Programs, ReversePath, SatelliteLink, Testbed, TestbedConfig,
};
use libtest_mimic::Failed;
use socket2::{Domain, Protocol, Socket, Type};

use crate::toolbox::{PATIENCE, limited};

/// The `bentpipe` under test.
pub(crate) const BENTPIPE: &str = env!("CARGO_BIN_EXE_bentpipe");

/// The `bentpipe-gateway` under test, which is what routers get, in the same folder.
pub(crate) const GATEWAY: &str = concat!(env!("CARGO_BIN_EXE_bentpipe"), "-gateway");

/// Both.
fn programs() -> Programs {
    Programs { bentpipe: BENTPIPE.into(), gateway: Some(GATEWAY.into()) }
}

/// Under what conditions the gateways work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conditions {
    /// Plain routers' settings.
    Plain,
    /// `rp_filter=1` in the gateways' namespaces.
    StrictReversePath,
    /// A stateful firewall in the gateways' namespaces.
    Firewall,
    /// A link that loses one packet in a hundred.
    Lossy,
}

impl Conditions {
    /// Those under which TCP sees every packet arrive.
    pub(crate) const LOSSLESS: &[Conditions] =
        &[Self::Plain, Self::StrictReversePath, Self::Firewall];

    /// Those under which no packet is dropped for what connection tracking thinks of it.
    pub(crate) const WITHOUT_FIREWALL: &[Conditions] =
        &[Self::Plain, Self::StrictReversePath, Self::Lossy];

    fn plan(self) -> TestbedConfig {
        let mut plan = TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() };
        match self {
            Conditions::Plain => {}
            Conditions::StrictReversePath => plan.reverse_path = ReversePath::Strict,
            Conditions::Firewall => plan.firewall = Firewall::Stateful,
            Conditions::Lossy => {
                let loss = Probability::new(0.01).expect("a probability");
                plan.link = Some(fast_link().with_loss(loss));
            }
        }
        plan
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Conditions::Plain => "plain",
            Conditions::StrictReversePath => "rp_filter",
            Conditions::Firewall => "firewall",
            Conditions::Lossy => "lossy",
        })
    }
}

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

pub(crate) const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

impl Family {
    pub(crate) fn h1(self) -> IpAddr {
        if self == Family::V4 { Testbed::H1_V4 } else { Testbed::H1_V6 }
    }

    pub(crate) fn h2(self) -> IpAddr {
        if self == Family::V4 { Testbed::H2_V4 } else { Testbed::H2_V6 }
    }

    /// An address in H2's network at which nobody is, and for which nobody has looked yet: what
    /// G2's kernel remembers of an earlier search would change how long the next one takes.
    pub(crate) fn dead(self) -> IpAddr {
        static ASKED: AtomicU8 = AtomicU8::new(100);
        let part = ASKED.fetch_add(1, Ordering::Relaxed);
        match self.h2() {
            IpAddr::V4(h2) => {
                let [a, b, c, _] = h2.octets();
                [a, b, c, part].into()
            }
            IpAddr::V6(h2) => {
                let mut octets = h2.octets();
                octets[15] = part;
                octets.into()
            }
        }
    }

    pub(crate) fn domain(self) -> Domain {
        if self == Family::V4 { Domain::IPV4 } else { Domain::IPV6 }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Family::V4 { "ipv4" } else { "ipv6" })
    }
}

/// A link on which a case takes a moment: 100 Mbit/s, 10 ms each way.
pub(crate) fn fast_link() -> SatelliteLink {
    let rate = Rate::from_bits_per_sec(100_000_000);
    SatelliteLink::with_bdp_queue(rate, Duration::from_millis(10))
}

/// A link that is full after a moment: 10 Mbit/s, 100 ms each way.
pub(crate) fn narrow_link() -> SatelliteLink {
    let rate = Rate::from_bits_per_sec(10_000_000);
    SatelliteLink::with_bdp_queue(rate, Duration::from_millis(100))
}

/// A gateway in G1 by a file of this text.
pub(crate) fn gateway_by(testbed: &Testbed, text: &str) -> Process {
    gateway_in(&testbed.g1, &testbed.files().join("gateway.toml"), text)
}

/// A gateway in this namespace by a file of this text, which is to be at `path`.
pub(crate) fn gateway_in(namespace: &Namespace, path: &Path, text: &str) -> Process {
    fs::write(path, text).expect("a file");
    let mut command = namespace.command(GATEWAY);
    command.arg("--config").arg(path);
    let mut gateway = Process::start("bentpipe-gateway", &mut command).expect("a gateway");
    gateway.wait_for_line("bentpipe-gateway: ready", PATIENCE).expect("ready");
    gateway
}

/// A geostationary link: 8 Mbit/s, 250 ms each way.
pub(crate) fn geo_link() -> SatelliteLink {
    let rate = Rate::from_bits_per_sec(8_000_000);
    SatelliteLink::with_bdp_queue(rate, Duration::from_millis(250))
}

/// Whether the gateways run, or plain routers in their place.
pub(crate) fn gateways_wanted() -> bool {
    std::env::var("BENTPIPE_LIVE_GATEWAYS").as_deref() != Ok("none")
}

/// Why the tests cannot run here, if they cannot.
pub(crate) fn obstacle() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("they need root (network namespaces): run `sudo make test`".into());
    }
    if let Some(missing) = missing(&["ip", "nft", "nginx", "curl", "ping", "setpriv"]) {
        return Some(missing);
    }
    // Root of a container may do less.
    let tried = Namespace::create(&unique_name()).map(|namespace| {
        namespace.run(|| Tun::open("bp-try", Offload::None).map_err(|error| error.to_string()))
    });
    let why = match tried {
        Ok(Ok(Ok(_))) => return bump::try_it().err().map(|error| error.to_string()),
        Ok(Ok(Err(tun))) => tun,
        Ok(Err(error)) | Err(error) => error.to_string(),
    };
    Some(format!("no network namespace with a TUN device ({why}): in a container, `--privileged`"))
}

/// Which of these programs are not installed.
pub(crate) fn missing(programs: &[&str]) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).exists());
    let missing: Vec<_> = programs.iter().copied().filter(|program| !is_there(program)).collect();
    (!missing.is_empty()).then(|| format!("missing programs: {}", missing.join(", ")))
}

/// Builds a testbed without gateways.
pub(crate) fn build(plan: TestbedConfig) -> Testbed {
    Testbed::build(programs(), plan).expect("testbed")
}

/// Starts the gateways, unless plain routers are wanted.
pub(crate) fn start_gateways(testbed: &mut Testbed) {
    if gateways_wanted() {
        testbed.start_gateways().expect("gateways");
    }
}

/// A testbed that cases share, or why there is none.
type Stage = Result<Arc<Testbed>, String>;

/// All shared stages.
#[derive(Default)]
pub(crate) struct Stages {
    built: Mutex<Vec<(Option<Conditions>, Stage)>>,
}

impl Stages {
    /// Both ends of the stage under `conditions`.
    pub(crate) fn ends(
        &'static self,
        conditions: Conditions,
        family: Family,
    ) -> Result<StageEnds, Failed> {
        let testbed = self.stage(Some(conditions))?;
        Ok(StageEnds { testbed, family, stages: Some(self) })
    }

    /// The stage under `conditions`; the one for `None` never has gateways.
    fn stage(&self, conditions: Option<Conditions>) -> Result<Arc<Testbed>, Failed> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let known = built.iter().position(|(of, _)| *of == conditions);
        let index = known.unwrap_or_else(|| {
            let plan = conditions.unwrap_or(Conditions::Plain).plan();
            let testbed = Testbed::build(programs(), plan).and_then(|mut testbed| {
                if conditions.is_some() && gateways_wanted() {
                    testbed.start_gateways()?;
                }
                Ok(Arc::new(testbed))
            });
            built.push((conditions, testbed.map_err(|error| error.to_string())));
            built.len() - 1
        });
        built[index].1.clone().map_err(Failed::from)
    }

    /// Removes every stage.
    pub(crate) fn take_down(&self) {
        self.built.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The two hosts of a stage, in one family of addresses.
#[derive(Clone)]
pub(crate) struct StageEnds {
    pub(crate) testbed: Arc<Testbed>,
    pub(crate) family: Family,
    stages: Option<&'static Stages>,
}

impl StageEnds {
    /// The ends of a testbed of the case's own.
    pub(crate) fn of(testbed: &Arc<Testbed>, family: Family) -> StageEnds {
        StageEnds { testbed: Arc::clone(testbed), family, stages: None }
    }

    /// The same ends on a stage without gateways.
    pub(crate) fn without_gateways(&self) -> StageEnds {
        let stages = self.stages.expect("a shared stage");
        let testbed = stages.stage(None).expect("a stage without gateways");
        StageEnds { testbed, family: self.family, stages: self.stages }
    }

    /// A server's socket in H2, and where to find it.
    pub(crate) fn listen(&self) -> (TcpListener, SocketAddr) {
        self.listen_with(|_| ())
    }

    /// The same, with options set before it listens.
    pub(crate) fn listen_with(
        &self,
        options: impl Fn(&Socket) + Sync,
    ) -> (TcpListener, SocketAddr) {
        let address = SocketAddr::new(self.family.h2(), 0);
        let listener = self.testbed.h2.run(|| {
            let socket = self.tcp_socket();
            options(&socket);
            socket.bind(&address.into()).expect("bind");
            socket.listen(256).expect("listen");
            TcpListener::from(socket)
        });
        let listener = listener.expect("H2");
        let address = listener.local_addr().expect("an address");
        (listener, address)
    }

    /// A connection from H1.
    pub(crate) fn connect(&self, server: SocketAddr) -> TcpStream {
        self.try_connect(server, |_| ()).expect("connect")
    }

    /// A connection from H1, with options set before its SYN, or why there is none.
    pub(crate) fn try_connect(
        &self,
        server: SocketAddr,
        options: impl Fn(&Socket) + Sync,
    ) -> std::io::Result<TcpStream> {
        let connected = self.testbed.h1.run(|| {
            let socket = self.tcp_socket();
            options(&socket);
            // No time limit of ours: a case wants to see the kernel's own error.
            socket.connect(&server.into()).map(|()| limited(socket.into()))
        });
        connected.expect("H1")
    }

    /// A TCP socket in the namespace of the calling thread that never waits for ever.
    fn tcp_socket(&self) -> Socket {
        let socket = Socket::new(self.family.domain(), Type::STREAM, Some(Protocol::TCP));
        let socket = socket.expect("socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("timeout");
        if self.family == Family::V6 {
            socket.set_only_v6(true).expect("only IPv6");
        }
        socket
    }
}
