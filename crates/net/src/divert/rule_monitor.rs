//! Mends what others change of our rules, and looks again for what is in the way: firewalls are
//! reloaded while we run.
//!
//! On a thread of its own, as `nft` and `ip` take some time. It waits for the kernel's
//! [notices](super::notices), then for an end of the changes, and [looks](super::look) at what there
//! is. What is not ours to mend, and mending that does not last, is said in the log.

use super::budget::{Budget, Permit, Settling};
use super::finding::Finding;
use super::look::{self, Damage, Presence, Table, look};
use super::notices::{Heard, Notices};
use super::repairs::{Repair, Repairs, Teller, channels};
use super::settings::room_for;
use super::state::DivertState;
use super::{Divert, DivertConfig, DivertError, inspect};
use crate::command::run;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two readings of what was told: a flood of it wakes us no more often.
const PAUSE: Duration = Duration::from_millis(50);
/// From one look at the whole firewall to the next, however often it changes: rules may be many.
const FIREWALL: Duration = Duration::from_secs(15);
/// The same while nothing is diverted, and the operator is at work.
const FIREWALL_ASLEEP: Duration = Duration::from_secs(3);
/// How long packets are still diverted once something forbids it, for what is held to be delivered.
/// A SYN that is dropped meanwhile is retransmitted after one and three seconds (RFC 6298).
const GRACE: Duration = Duration::from_secs(2);
/// When nothing could be seen, or not be mended.
const AGAIN: Duration = Duration::from_secs(1);

/// Mends until dropped.
#[derive(Debug)]
pub struct RuleMonitor {
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl RuleMonitor {
    pub(super) fn start(divert: &Divert, every: Duration) -> io::Result<(RuleMonitor, Repairs)> {
        let Divert { config, findings, state, tracking, listing, flows, .. } = divert;
        let (config, tracking) = (config.clone(), *tracking);
        let (stopped, stop) = io::pipe()?;
        let notices = Notices::open(&config)
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of rules are not heard of, only seen every {every:?}");
            })
            .ok();
        let (teller, repairs) = channels(state.clone());
        let interfaces = look::presences(&config)?;
        let round = Round {
            config,
            tracking,
            listing: listing.clone(),
            known: findings.clone(),
            flows: *flows,
            state: state.clone(),
            sleeps: None,
            interfaces,
            teller,
            budget: Budget::new(),
            wakes: Budget::new(),
            every,
            inspected: Instant::now(),
            inspection: Instant::now() + every,
            // What has happened since the rules were made nobody has told us.
            again: Some(Instant::now()),
            broken: None,
        };
        let thread = thread::Builder::new()
            .name("rule-monitor".into())
            .spawn(move || go_round(round, notices.as_ref(), &stopped))?;
        Ok((RuleMonitor { stop: Some(stop), thread: Some(thread) }, repairs))
    }
}

impl Drop for RuleMonitor {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What goes on from look to look.
struct Round {
    config: DivertConfig,
    /// Our rules provide for connection tracking.
    tracking: bool,
    /// How our table was listed when it was made.
    listing: String,
    /// What has been said already.
    known: Vec<Finding>,
    /// The flows that are asked for.
    flows: Option<u64>,
    /// Whether anything is diverted.
    state: DivertState,
    /// When nothing is to be any more.
    sleeps: Option<Instant>,
    interfaces: Vec<(String, Presence)>,
    teller: Teller,
    /// Of mends.
    budget: Budget,
    /// Of beginning to divert again.
    wakes: Budget,
    every: Duration,
    /// When we last looked at the whole firewall.
    inspected: Instant,
    /// When to do so again.
    inspection: Instant,
    /// When to look at what is ours, even if nothing is heard.
    again: Option<Instant>,
    /// Since when packets may pass by.
    broken: Option<Instant>,
}

/// Waits and looks, until `stopped` is closed.
fn go_round(mut round: Round, notices: Option<&Notices>, stopped: &PipeReader) {
    loop {
        let due = round.again.map_or(round.inspection, |again| again.min(round.inspection));
        if is_stopped(stopped, notices, due.saturating_duration_since(Instant::now())) {
            return;
        }
        let began = Instant::now();
        let mut heard = notices.map(Notices::heard).unwrap_or_default();
        let mut last = began;
        let Settling { quiet, longest } = round.budget.settling(began);
        while heard.is_something() && last.elapsed() < quiet && began.elapsed() < longest {
            if is_stopped(stopped, None, PAUSE) {
                return;
            }
            let more = notices.map(Notices::heard).unwrap_or_default();
            if more.is_something() {
                last = Instant::now();
                heard.merge(more);
            }
        }
        round.attend(began, heard);
        // What does not concern us may come in a flood.
        if is_stopped(stopped, None, PAUSE) {
            return;
        }
    }
}

/// Waits for so long, or until the kernel tells something. Whether we are to stop.
fn is_stopped(stopped: &PipeReader, notices: Option<&Notices>, wait: Duration) -> bool {
    let poll_in = |fd| PollFd::new(fd, PollFlags::POLLIN);
    let mut fds = vec![poll_in(stopped.as_fd())];
    fds.extend(notices.into_iter().flat_map(Notices::descriptors).map(poll_in));
    // One more millisecond, lest we wake just before.
    let millis = u16::try_from(wait.as_millis() + 1).unwrap_or(u16::MAX);
    let _ = poll(&mut fds, PollTimeout::from(millis));
    fds[0].any() == Some(true)
}

impl Round {
    /// Does what has become due, or what has been `heard` of from `began` on asks for.
    fn attend(&mut self, began: Instant, heard: Heard) {
        let now = Instant::now();
        if heard.firewall {
            let pause = if self.state.is_asleep() { FIREWALL_ASLEEP } else { FIREWALL };
            self.inspection = self.inspection.min(self.inspected + pause);
        }
        let is_inspection = self.inspection <= now;
        if !is_inspection && !heard.ours && self.again.is_none_or(|at| at > now) {
            return;
        }
        // Where the loop hangs the kernel is to forward: the watchdog's affair.
        if !self.teller.turns() {
            self.again = Some(now + PAUSE);
            return;
        }
        self.again = None;
        self.watch_interfaces();
        self.heed();
        let mut damage = match look(&self.config, &self.listing) {
            Ok(damage) => damage,
            Err(error) => {
                tracing::debug!(%error, "cannot see what stands of our rules");
                self.again = Some(now + AGAIN);
                return;
            }
        };
        if is_inspection && self.inspect() && !self.tracking {
            damage.table.get_or_insert(Table::WithoutTracking);
        }
        self.heed();
        if damage.is_none() {
            self.broken = None;
            return;
        }
        let since = *self.broken.get_or_insert(began);
        match self.budget.ask(now) {
            Permit::Granted => self.mend(since, &damage),
            Permit::Refused { until, first } => {
                self.again = Some(until);
                if first {
                    let rest = until.saturating_duration_since(now);
                    tracing::error!(
                        "what was mended does not last (now: {}): somebody changes it again and again. It is left \
                         alone for {rest:?}; nothing new is split meanwhile, and the kernel forwards. Look for what \
                         changes the firewall or the routes of this host",
                        damage.describe(&self.config)
                    );
                }
            }
        }
    }

    /// Mends what is broken `since` then.
    fn mend(&mut self, since: Instant, damage: &Damage) {
        let what = damage.describe(&self.config);
        self.tracking |= damage.table == Some(Table::WithoutTracking);
        if let Err(error) = self.make(damage) {
            tracing::error!("changed by somebody, and not to be mended: {what}: {error}");
            self.again = Some(Instant::now() + AGAIN);
            return;
        }
        let lasting = since.elapsed();
        let millis = lasting.as_millis();
        if damage.lets_pass() {
            tracing::warn!(
                "changed by somebody, and mended after {millis} ms: {what}. Packets went by meanwhile"
            );
            self.teller.tell(Repair::Passed(Duration::from_millis(millis as u64)));
        } else {
            tracing::warn!("changed by somebody, and mended after {millis} ms: {what}");
        }
        // What comes to be while we mend, we also hear of.
        self.broken = None;
        // Whoever has removed the table may have brought connection tracking. Only now, as a large
        // firewall takes its time.
        let is_new = matches!(damage.table, Some(Table::Gone | Table::Altered));
        if is_new && self.inspect() && !self.tracking {
            let table = Some(Table::WithoutTracking);
            self.tracking = true;
            self.tracking = self.make(&Damage { table, ..Damage::default() }).is_ok();
        }
        self.heed();
    }

    /// Diverts nothing while something forbids it, and begins again when it is gone.
    fn heed(&mut self) {
        let now = Instant::now();
        let forbidden = self.known.iter().any(Finding::forbids_diversion);
        match (forbidden, self.state.is_asleep(), self.sleeps) {
            (true, false, None) => {
                tracing::warn!(
                    "nothing is split until that is out of the way: the kernel forwards. Connections that \
                     there are will be released"
                );
                self.teller.tell(Repair::FallingAsleep);
                self.sleeps = Some(now + GRACE);
            }
            (true, false, Some(at)) if at <= now => self.fall_asleep(),
            (false, false, _) => self.sleeps = None,
            (false, true, _) => self.wake(now),
            _ => {}
        }
        if let Some(at) = self.sleeps {
            self.again = Some(self.again.map_or(at, |again| again.min(at)));
        }
    }

    fn fall_asleep(&mut self) {
        // First, lest the watchdog enables what is disabled.
        self.state.set_asleep(true);
        match self.config.disable() {
            Ok(()) => self.sleeps = None,
            Err(error) => {
                tracing::error!(%error, "the gateway's rules could not be disabled");
                self.state.set_asleep(false);
                self.sleeps = Some(Instant::now() + AGAIN);
            }
        }
    }

    /// Unless what is in the way comes and goes: each turn costs the connections of the time.
    fn wake(&mut self, now: Instant) {
        if let Permit::Refused { until, .. } = self.wakes.ask(now) {
            self.again = Some(self.again.map_or(until, |again| again.min(until)));
            return;
        }
        match self.config.enable() {
            Ok(()) => {
                self.state.set_asleep(false);
                tracing::warn!("nothing is in the way any more: new connections are split");
            }
            Err(error) => {
                tracing::error!(%error, "the gateway's rules could not be enabled");
                self.again = Some(now + AGAIN);
            }
        }
    }

    /// Makes what is missing.
    fn make(&mut self, damage: &Damage) -> Result<(), DivertError> {
        let teller = &self.teller;
        let opened = |side, tun| teller.tell(Repair::Device { side, tun });
        self.config.mend_ways(damage, opened)?;
        if damage.table.is_some() {
            self.listing = self.config.make_table(self.tracking, self.state.is_asleep())?;
        }
        Ok(())
    }

    /// Looks at the whole firewall, and says what is new of what is in the way. Whether connections
    /// are tracked.
    fn inspect(&mut self) -> bool {
        self.inspected = Instant::now();
        self.inspection = self.inspected + self.every;
        // Without an answer there is nothing to say: the next one may come.
        let Ok(ruleset) = run("nft", &["-j", "list", "ruleset"], "") else { return false };
        let (mut findings, tracked) = inspect(ruleset, &self.config);
        findings.extend(self.flows.and_then(room_for).filter(|_| tracked));
        self.state.set_findings(&findings);
        for finding in news(&mut self.known, findings) {
            tracing::warn!("{finding}");
        }
        tracked
    }

    /// Says what has become of the configured interfaces: nobody but the operator brings one back.
    fn watch_interfaces(&mut self) {
        let Ok(now) = look::presences(&self.config) else { return };
        for ((name, before), (_, after)) in self.interfaces.iter().zip(&now) {
            match (before, after) {
                (before, after) if before == after => {}
                (_, Presence::Up) => {
                    tracing::warn!(
                        "interface {name} is back: what crosses it is split as soon as routes lead there"
                    );
                    // It may be set in another way than before.
                    self.inspection = Instant::now();
                }
                (_, Presence::Down) => tracing::warn!(
                    "interface {name} is down, and the routes over it are gone: what is held for \
                     its hosts waits, until their connections time out. Set it up, and its routes again"
                ),
                (_, Presence::Gone) => tracing::error!(
                    "interface {name} is gone: what is held for its hosts waits, until their \
                     connections time out. Make an interface of that name again, with its \
                     addresses and routes, or configure another one and restart {}",
                    self.config.service
                ),
            }
        }
        self.interfaces = now;
    }
}

/// What was not known before. What is no longer found may be news again.
fn news(known: &mut Vec<Finding>, findings: Vec<Finding>) -> Vec<Finding> {
    let new = findings.iter().filter(|finding| !known.contains(finding)).cloned().collect();
    *known = findings;
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_said_once_until_it_comes_back() {
        let one = || Finding::Ipv6Forwarding { advertised: Vec::new() };
        let other = || Finding::Mtu { lan: 1500, satellite: 1400 };
        let mut known = vec![one()];
        assert_eq!(news(&mut known, vec![one(), other()]), [other()]);
        assert_eq!(news(&mut known, vec![one(), other()]), []);
        assert_eq!(news(&mut known, vec![one()]), []);
        assert_eq!(news(&mut known, vec![one(), other()]), [other()]);
    }
}
