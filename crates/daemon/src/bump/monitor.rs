//! Looks after the devices while the gateway runs, on a thread of its own, as the kernel may take
//! its time: when it tells of a change among interfaces, and now and then.

use super::carrying::Carrying;
use super::device_events::{DeviceEvent, DeviceEvents};
use super::state::DiversionState;
use super::wire::{Repair, Wire};
use super::wrong_interface::WrongInterfaceAlarm;
use bentpipe_linux::surroundings::{Finding, Presence, Surroundings};
use nix::errno::Errno;
use nix::net::if_::if_indextoname;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// From look to look if nothing is heard: what others attach and detach the kernel tells nobody.
const LOOK: Duration = Duration::from_secs(1);
/// Between two looks: a flood of changes wakes us no more often.
const PAUSE: Duration = Duration::from_millis(100);
/// From one look at what is around the devices to the next …
const INSPECTION: Duration = Duration::from_secs(60);
/// … and while nothing is taken, and the operator is at work.
const INSPECTION_ASLEEP: Duration = Duration::from_secs(3);
/// How long packets are still taken once something forbids it, for what is held to be delivered.
/// A SYN that is dropped meanwhile is retransmitted after one and three seconds (RFC 6298).
const GRACE: Duration = Duration::from_secs(2);

/// How long nothing is taken when what is given back does not come by, at first and at most: each
/// time twice as long.
const SILENT: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(3600)];
/// What has come by for so long is not held against it any more.
const FORGIVEN: Duration = Duration::from_secs(600);

/// rtnetlink's group of links.
const LINKS: u32 = 1;

/// Looks after the devices until dropped. Then packets are not taken any more.
#[derive(Debug)]
pub struct Monitor {
    stop: Option<PipeWriter>,
    /// It returns what it has looked after.
    thread: Option<JoinHandle<Wire>>,
}

impl Monitor {
    /// Looks around the devices, so that `state` says what is in the way, and then after them. What
    /// the loop must know, it is told.
    ///
    /// # Errors
    /// When no descriptor or thread is to be had.
    pub fn start(
        wire: Wire,
        surroundings: Surroundings,
        state: DiversionState,
    ) -> io::Result<(Monitor, DeviceEvents)> {
        let (stopped, stop) = io::pipe()?;
        let notices = hear_of_links()
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of interfaces are not heard of, only seen every {LOOK:?}");
            })
            .ok();
        let (sender, receiver) = channel();
        let mut round = Round {
            presences: surroundings.presences(),
            carrying: Carrying::default(),
            mtus: None,
            known: Vec::new(),
            inspected: None,
            sleeps: None,
            silent: None,
            silence: SILENT[0],
            silent_last: None,
            alarm: WrongInterfaceAlarm::default(),
            not_taken: Vec::new(),
            failed: None,
            state: state.clone(),
            wire,
            surroundings,
            sender,
        };
        round.inspect();
        state.set_asleep(round.known.iter().any(Finding::forbids_diversion));
        let thread = thread::Builder::new().name("bump-monitor".into()).spawn(move || {
            let mut changed = true;
            loop {
                round.look(changed);
                thread::sleep(PAUSE);
                if is_stopped(&stopped, notices.as_ref(), round.pause()) {
                    return round.wire;
                }
                changed = notices.as_ref().is_some_and(have_said_something);
            }
        })?;
        Ok((Monitor { stop: Some(stop), thread: Some(thread) }, DeviceEvents { receiver, state }))
    }

    /// Ends. Programs that cannot be taken off without loss stay for the gateway that takes this
    /// one's place.
    pub fn end_for_successor(mut self) {
        if let Some(wire) = self.end() {
            wire.end_for_successor();
        }
    }

    fn end(&mut self) -> Option<Wire> {
        self.stop.take();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end();
    }
}

/// A socket that can be read when something about interfaces has changed.
fn hear_of_links() -> Result<OwnedFd, Errno> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let protocol = SockProtocol::NetlinkRoute;
    let fd = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
    bind(fd.as_raw_fd(), &NetlinkAddr::new(0, LINKS))?;
    Ok(fd)
}

/// Waits for so long, or until the kernel tells something. Whether we are to stop.
fn is_stopped(stopped: &PipeReader, notices: Option<&OwnedFd>, wait: Duration) -> bool {
    let poll_in = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut fds = vec![poll_in(stopped.as_fd())];
    fds.extend(notices.map(|notices| poll_in(notices.as_fd())));
    let millis = u16::try_from(wait.as_millis() + 1).unwrap_or(u16::MAX);
    let _ = poll(&mut fds, PollTimeout::from(millis));
    fds[0].any() == Some(true)
}

/// Whether there is something to hear; what it says is looked up. That more was said than there is
/// room for is an error, and as good as a message.
fn have_said_something(notices: &OwnedFd) -> bool {
    let mut buffer = [0; 4096];
    let mut heard = false;
    while !matches!(
        recv(notices.as_raw_fd(), &mut buffer, MsgFlags::empty()),
        Err(Errno::EAGAIN | Errno::EBADF)
    ) {
        heard = true;
    }
    heard
}

/// The interface of this number, as far as there is one.
fn name_of(number: u32) -> Option<String> {
    if_indextoname(number).ok()?.into_string().ok()
}

/// What goes on from look to look.
struct Round {
    wire: Wire,
    surroundings: Surroundings,
    presences: Vec<(String, Presence)>,
    carrying: Carrying,
    /// The interfaces' MTUs, when the loop was told last.
    mtus: Option<[u16; 2]>,
    /// What has been said already.
    known: Vec<Finding>,
    /// When we last looked around; None to do so at once.
    inspected: Option<Instant>,
    /// When nothing is to be taken any more.
    sleeps: Option<Instant>,
    /// Until when nothing is taken, as what was given back did not come by, and how long that is
    /// next time.
    silent: Option<Instant>,
    silence: Duration,
    /// When that began last.
    silent_last: Option<Instant>,
    alarm: WrongInterfaceAlarm,
    /// What cannot be set right.
    not_taken: Vec<Finding>,
    /// Why the devices were not looked after, which is said once.
    failed: Option<String>,
    state: DiversionState,
    sender: Sender<DeviceEvent>,
}

impl Round {
    /// Until the next look.
    fn pause(&self) -> Duration {
        let due = self.sleeps.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()));
        due.min(LOOK)
    }

    fn look(&mut self, changed: bool) {
        let mut repairs = Vec::new();
        let outcome = self.wire.look_after(changed, &mut repairs);
        repairs.into_iter().for_each(|repair| self.tell_of(repair));
        let failed = outcome.err().map(|error| error.to_string());
        if let Some(error) = failed.as_ref().filter(|_| failed != self.failed) {
            tracing::error!("the devices are not looked after: {error}");
        }
        self.failed = failed;
        let not_taken = self.wire.findings();
        if not_taken != self.not_taken {
            self.not_taken = not_taken;
            self.inspected = None;
        }
        self.watch_interfaces();
        if changed {
            self.read_mtus();
        }
        if self.state.take_silence() {
            if self.silent_last.is_some_and(|at| at.elapsed() > self.silence + FORGIVEN) {
                self.silence = SILENT[0];
            }
            self.silent_last = Some(Instant::now());
            self.silent = Some(Instant::now() + self.silence);
            self.silence = (2 * self.silence).min(SILENT[1]);
            self.inspected = None;
        }
        if self.silent.is_some_and(|until| until <= Instant::now()) {
            self.silent = None;
            self.inspected = None;
        }
        if let Ok((begun, strange, from)) = self.wire.begun()
            && self.alarm.look(Instant::now(), (begun, strange), || name_of(from))
        {
            self.inspected = None;
        }
        let pause = if self.state.is_asleep() { INSPECTION_ASLEEP } else { INSPECTION };
        if self.inspected.is_none_or(|at| at.elapsed() >= pause) {
            self.inspect();
        }
        self.sleep_or_wake();
    }

    /// Tells the loop of MTUs that have changed: a PPP session sets its own after a while.
    fn read_mtus(&mut self) {
        let Ok(mtus) = self.surroundings.mtus() else { return };
        if self.mtus.replace(mtus) != Some(mtus) {
            let _ = self.sender.send(DeviceEvent::Mtus(mtus));
        }
    }

    fn tell_of(&self, repair: Repair) {
        // A loop that has ended needs to know nothing.
        let tell = |event| _ = self.sender.send(event);
        match repair {
            Repair::Tun(side, tun) => {
                let device = tun.name();
                tracing::warn!("changed by somebody, and repaired: device {device} (deleted)");
                tell(DeviceEvent::Replaced { side, tun });
                tell(DeviceEvent::PacketsMissed);
            }
            Repair::Down(device) => {
                tracing::warn!("changed by somebody, and repaired: device {device} (down)");
            }
            Repair::Program(device) => {
                tracing::warn!(
                    "changed by somebody, and repaired: programs on {device} (detached). Packets went by meanwhile"
                );
                tell(DeviceEvent::PacketsMissed);
            }
            Repair::Device(device) => {
                tracing::warn!("{device} is another device now, and its packets are taken");
                tell(DeviceEvent::PacketsMissed);
            }
            Repair::Failed(device) => {
                tracing::error!("changed by somebody, and not to be repaired: {device}");
                tell(DeviceEvent::PacketsMissed);
            }
        }
    }

    /// Takes nothing while something forbids it, and begins again when it is gone.
    fn sleep_or_wake(&mut self) {
        let now = Instant::now();
        let forbidden = self.known.iter().any(Finding::forbids_diversion);
        match (forbidden, self.state.is_asleep(), self.sleeps) {
            (true, false, None) => {
                tracing::warn!(
                    "nothing is split until that is out of the way: the kernel forwards. Connections that \
                     there are will be released"
                );
                let _ = self.sender.send(DeviceEvent::FallingAsleep);
                self.sleeps = Some(now + GRACE);
            }
            (true, false, Some(at)) if at <= now => {
                self.state.set_asleep(true);
                self.sleeps = None;
            }
            (false, false, _) => self.sleeps = None,
            (false, true, _) => {
                self.state.set_asleep(false);
                tracing::warn!("nothing is in the way any more: new connections are split");
            }
            _ => {}
        }
    }

    /// Looks around, and says what is new of what is in the way.
    fn inspect(&mut self) {
        let mut findings = self.surroundings.findings();
        if self.silent.is_some() {
            let interfaces = self.surroundings.satellite().to_vec();
            findings.push(Finding::NotReturned { interfaces });
        }
        findings.extend(self.not_taken.iter().cloned());
        findings.extend(self.alarm.finding().cloned());
        self.state.set_findings(&findings);
        for finding in findings.iter().filter(|finding| !self.known.contains(finding)) {
            tracing::warn!("{finding}");
        }
        self.known = findings;
        self.inspected = Some(Instant::now());
    }

    /// Says what has become of the configured interfaces: nobody but the operator brings one back.
    fn watch_interfaces(&mut self) {
        let now = self.surroundings.presences();
        let satellite = self.surroundings.satellite();
        let of_satellite = now.iter().filter(|(name, _)| satellite.contains(name));
        let of_satellite = of_satellite.map(|(_, presence)| *presence).collect();
        self.state.set_carries(self.carrying.look(Instant::now(), of_satellite));
        for ((name, before), (_, after)) in self.presences.iter().zip(&now) {
            match (before, after) {
                (before, after) if before == after => {}
                (_, Presence::Up) => {
                    tracing::warn!(
                        "interface {name} is back: what crosses it is split as soon as routes lead there"
                    );
                    // It may be set in another way than before.
                    self.inspected = None;
                }
                (_, Presence::Down) => tracing::warn!(
                    "interface {name} is down, and the routes over it are gone: what is held for \
                     its hosts waits, until their connections time out. Set it up, and its routes again"
                ),
                (_, Presence::Gone) => tracing::error!(
                    "interface {name} is gone: what is held for its hosts waits, until their \
                     connections time out. Make an interface of that name again, with its \
                     addresses and routes, or configure another one and restart the gateway"
                ),
            }
        }
        self.presences = now;
    }
}
