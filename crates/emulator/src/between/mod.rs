//! An emulated link between two interfaces of this host: what it forwards from one to the other is
//! taken where it is about to leave, behind routing, NAT and firewall, and leaves there when we
//! have written it.
//!
//! ```text
//!  a ─▶ routing, NAT, firewall ─▶ egress of b: take ─▶ tap0 ─read▶ we ─write▶ tap0 ─▶ give ─▶ b ─▶
//!  ◀─ a ◀─ give ◀─ tap1 ◀write─ we ◀read─ tap1 ◀─ take :egress of a ◀─ routing, NAT, firewall ◀─ b
//! ```
//!
//! Packets to this host, from it, and to or from other interfaces are left alone, and so are
//! bridges' other frames. Devices of ours have the frames that the interface has: a packet keeps
//! its own Ethernet header however long it is inside.

mod programs;

pub use bentpipe_linux::bpf::Attachment;

use bentpipe_linux::bpf::BpfError;
use bentpipe_linux::bpf::attach::{Attached, Hook};
use bentpipe_linux::bpf::program::Program;
use bentpipe_linux::command::CommandError;
use bentpipe_linux::instance::{Instance, InstanceError};
use bentpipe_linux::interface::{InterfaceError, L2, bridge, check_forwarding, l2, vrf};
use bentpipe_linux::older::remove_older_links;
use bentpipe_linux::own_device;
use bentpipe_linux::surroundings::{Finding, Side, Surroundings};
use bentpipe_linux::tun::{FRAME_LEN, Offload, Tun, TunError};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// At most one link between interfaces in a network namespace.
const SERVICE: &str = "bentpipe link";
/// Our devices: for what comes in by the first interface, and by the second.
const DEVICES: [&str; 2] = ["bp-link0", "bp-link1"];
/// The longest packet, so that the devices are not why one is refused.
const MTU: usize = 65_535;
/// Packets that wait in a device for us.
const WAITING: u32 = 5000;
/// From one look at the interfaces to the next: others delete them, and make them again, or set
/// ours down.
const LOOK: Duration = Duration::from_secs(1);
/// So many looks from one question for VRFs to the next: it takes a process.
const VRF_LOOKS: u32 = 30;

/// Why there is no such link. Nothing is left set up then.
#[derive(Debug, thiserror::Error)]
pub enum BetweenError {
    /// An interface does not exist, does not forward, or is of another kind.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Both are one.
    #[error("interface {0} is named twice")]
    Twice(String),
    /// There is one of us already.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A device of ours.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// `ip`.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A program.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// A thread.
    #[error("cannot look after the interfaces: {0}")]
    Thread(#[from] io::Error),
}

/// Packets are taken for as long as this lives. When it goes, however it does, they pass as without
/// it.
#[derive(Debug)]
pub struct Between {
    leftovers: Vec<String>,
    findings: Vec<Finding>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _instance: Instance,
}

impl Between {
    /// Takes what this host forwards between the two interfaces, with programs `attachment`. What
    /// comes in by the first one is read from the first device, and is written to the same.
    ///
    /// # Errors
    /// [`BetweenError`]; nothing is left set up.
    pub fn set_up(
        interfaces: &[String; 2],
        attachment: Attachment,
    ) -> Result<(Between, [Tun; 2]), BetweenError> {
        let [one, other] = interfaces;
        if one == other {
            return Err(BetweenError::Twice(one.clone()));
        }
        // Ports of one bridge need no routes.
        if bridge(one).ok().flatten().is_none_or(|it| bridge(other).ok().flatten() != Some(it)) {
            check_forwarding(interfaces)?;
        }
        let instance = Instance::lock(SERVICE)?;
        let leftovers = remove_older_links();
        let sides = DEVICES.map(str::to_owned);
        let side = |number: usize| Side {
            interfaces: vec![interfaces[number].clone()],
            tun: sides[number].clone(),
        };
        let findings = Surroundings::of([side(0), side(1)]).findings_of_a_link();
        // Last, since from here on packets come.
        let (first, there) = Direction::new(0, [one, other], attachment)?;
        let (second, back) = Direction::new(1, [other, one], attachment)?;
        let (stop, stopped) = channel();
        let mut directions = [first, second];
        let thread = thread::Builder::new().name("link-interfaces".into()).spawn(move || {
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                directions.iter_mut().for_each(Direction::look_after);
            }
        })?;
        let (stop, thread) = (Some(stop), Some(thread));
        let between = Between { leftovers, findings, stop, thread, _instance: instance };
        Ok((between, [there, back]))
    }

    /// What a killed link of an older version had left, which has been removed.
    pub fn leftovers(&self) -> &[String] {
        &self.leftovers
    }

    /// What on this host may be in the way, with the remedy.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What goes from one interface to the other.
#[derive(Debug)]
struct Direction {
    from: String,
    to: String,
    device: &'static str,
    attachment: Attachment,
    /// The numbers by which packets are told that have come in, and that of the interface by which
    /// they leave.
    numbers: Option<Numbers>,
    attached: Vec<Attached>,
    /// The VRF of the one where they come in, and how many looks ago that was asked.
    vrf: (Option<String>, u32),
    /// What could not be set right, which is said once.
    failed: Option<String>,
}

type Numbers = (Vec<u32>, u32);

impl Direction {
    fn new(
        number: usize,
        [from, to]: [&String; 2],
        attachment: Attachment,
    ) -> Result<(Direction, Tun), BetweenError> {
        let (device, offload) = (DEVICES[number], Offload::TcpAndUdp);
        let tun = match l2(to)? {
            L2::Ethernet => Tun::open_frames(device, offload)?,
            L2::Nothing => Tun::open(device, offload)?,
        };
        let (from, to) = (from.clone(), to.clone());
        let vrf = (vrf(&from)?, 0);
        let (numbers, attached, failed) = (None, Vec::new(), None);
        let mut direction =
            Direction { from, to, device, attachment, numbers, attached, vrf, failed };
        direction.set_up_device()?;
        let numbers = direction.numbers_now().map_err(|errno| direction.refused(errno))?;
        direction.attach(&numbers)?;
        direction.numbers = Some(numbers);
        Ok((direction, tun))
    }

    fn refused(&self, errno: Errno) -> BetweenError {
        BpfError::attach(&self.to, errno).into()
    }

    /// Of what the host says there, `keep` lets nothing through.
    fn set_up_device(&self) -> Result<(), CommandError> {
        own_device::set_up(self.device, MTU - FRAME_LEN, WAITING)
    }

    fn device_is_up(&self) -> bool {
        getifaddrs().is_ok_and(|mut all| {
            all.any(|it| {
                it.interface_name == self.device && it.flags.contains(InterfaceFlags::IFF_UP)
            })
        })
    }

    /// What comes in by an interface of a VRF has come in by that to the kernel.
    fn numbers_now(&self) -> Result<Numbers, Errno> {
        let from = [Some(&self.from), self.vrf.0.as_ref()].into_iter().flatten();
        let from = from.map(|name| if_nametoindex(name.as_str())).collect::<Result<_, _>>()?;
        Ok((from, if_nametoindex(self.to.as_str())?))
    }

    fn attach(&mut self, (from, to): &Numbers) -> Result<(), BetweenError> {
        self.attached.clear();
        let device = if_nametoindex(self.device).map_err(|errno| self.refused(errno))?;
        let attach = |name, program, at: &str, hook| -> Result<Attached, BpfError> {
            Attached::new(&Program::load(name, program)?, self.attachment, at, hook)
        };
        let (keep, give) = (programs::keep(), programs::give(*to));
        let take = |asks| {
            let program = programs::take(from, device, asks);
            attach("bentpipe_link_take", program, &self.to, Hook::Egress)
        };
        let take = match take(true) {
            // A kernel before 5.12 cannot tell whether our device is still there.
            Err(BpfError::Program { source: Errno::EINVAL, .. }) => take(false),
            taken => taken,
        };
        let attached = vec![
            // First what takes, so that it goes first as well.
            take?,
            attach("bentpipe_link_give", give, self.device, Hook::Ingress)?,
            attach("bentpipe_link_keep", keep, self.device, Hook::Egress)?,
        ];
        self.attached = attached;
        Ok(())
    }

    /// Sets right what others have changed.
    fn look_after(&mut self) {
        if !self.device_is_up() && self.set_up_device().is_ok() {
            tracing::warn!("{} was set down by somebody, and is up again", self.device);
        }
        self.vrf.1 += 1;
        if self.vrf.1 >= VRF_LOOKS {
            self.vrf = (vrf(&self.from).unwrap_or(self.vrf.0.take()), 0);
        }
        // One that is not there carries nothing.
        let Ok(numbers) = self.numbers_now() else { return };
        let stands = self.attached.iter().all(Attached::stands) && !self.attached.is_empty();
        if stands && self.numbers.as_ref() == Some(&numbers) {
            return;
        }
        match self.attach(&numbers) {
            Ok(()) => {
                tracing::warn!(
                    "{} or {} was changed by somebody, and packets between them went by: they cross the link again",
                    self.from,
                    self.to
                );
                (self.numbers, self.failed) = (Some(numbers), None);
            }
            Err(error) => {
                let error = error.to_string();
                if self.failed.as_ref() != Some(&error) {
                    tracing::error!("packets to {} do not cross the link: {error}", self.to);
                }
                self.failed = Some(error);
            }
        }
    }
}
