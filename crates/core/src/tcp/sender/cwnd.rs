//! The congestion window: what congestion control makes of the network's signs, and how the window
//! comes down when there is one. Recovery does not see the window and congestion control sees no
//! sequence numbers: this is where the two meet.

use super::account::{Account, BoundCount};
use super::flight::Flight;
use super::reduction::{RateReduction, Reduction, Step};
use super::snapshot::no_congestion;
use super::undo::{Needless, Undo};
use super::{Ack, InitialWindow, SenderConfig};
use crate::snapshot::Writer;
use crate::tcp::congestion::{
    AckEvent, Congestion, CongestionAlgorithm, CongestionEvent, Departed, LinkReport, Lost,
    PacingBasis, Response, SlowStart, ThresholdEstimate,
};
use crate::tcp::ledger::Ledger;
use crate::tcp::pacing::Pacing;
use crate::tcp::prr::Prr;
use crate::tcp::recovery::{AckSummary, Episode};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset, Rate};
use serde::{Deserialize, Serialize};
use std::mem;
use std::ops::Range;

/// What may be in flight.
///
/// Invariant: congestion control hears once of every byte that is delivered or lost. A proportional
/// reduction is under way only in fast recovery. What may be undone is what congestion control was
/// told to remember before it reduced the window; and of each reduction the peer is to hear.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CongestionWindow {
    // Written apart: see `snapshot`.
    #[serde(skip, default = "no_congestion")]
    congestion: Box<dyn Congestion>,
    // Written apart: mostly it is what follows from the rest.
    #[serde(skip)]
    account: Account,
    rate_reduction: RateReduction,
    undo: Undo,
    /// SND.NXT when the retransmission timer last expired, until so much is acknowledged.
    timeout_until: Option<Offset>,
    /// Whether the window kept back the last segment that was asked for (RFC 7661).
    full: bool,
    /// The window was reduced, which the peer is to hear of (RFC 3168, 6.1.2).
    reduced: bool,
    last_sent: Option<Instant>,
}

impl CongestionWindow {
    /// The initial window.
    pub(super) fn new(config: &SenderConfig) -> CongestionWindow {
        CongestionWindow::with(config.congestion(), config)
    }

    /// The same, with a congestion control that `config` does not name.
    pub(super) fn with(congestion: Box<dyn Congestion>, config: &SenderConfig) -> CongestionWindow {
        CongestionWindow {
            congestion,
            account: Account::of(config, (Bytes::ZERO, Bytes::ZERO)),
            rate_reduction: RateReduction::default(),
            undo: Undo::default(),
            timeout_until: None,
            full: false,
            reduced: false,
            last_sent: None,
        }
    }

    /// Writes what its [`Serialize`] leaves out.
    pub(super) fn snapshot(&self, ledger: &Ledger, config: &SenderConfig, into: &mut Writer) {
        self.account.snapshot(ledger, config, into);
        self.congestion.snapshot(into);
    }

    /// What was written so comes back.
    pub(super) fn restore(&mut self, account: Account, congestion: Box<dyn Congestion>) {
        (self.account, self.congestion) = (account, congestion);
    }

    /// Another congestion control from now on, which begins with a window of so many bytes, and
    /// with slow start below a threshold or up to any window.
    pub(super) fn choose(
        &mut self,
        algorithm: CongestionAlgorithm,
        window: Bytes,
        initial_ssthresh: Option<Bytes>,
        smss: Bytes,
        config: &SenderConfig,
    ) {
        let config = SenderConfig {
            smss,
            congestion: algorithm,
            initial_window: InitialWindow::Bytes(window),
            initial_ssthresh,
            ssthresh_estimate: ThresholdEstimate::Off,
            ..*config
        };
        self.replace(config.congestion());
        self.account =
            Account { bound: self.account.bound, ..Account::of(&config, self.account.told) };
    }

    /// Which congestion control it is.
    pub(super) fn algorithm(&self) -> CongestionAlgorithm {
        self.account.algorithm
    }

    /// The window with which it began, for segments of `smss` bytes.
    pub(super) fn initial_window(&self, smss: Bytes) -> Bytes {
        self.account.initial_window.bytes(smss)
    }

    /// Another congestion control from now on. It knows nothing of what goes on.
    pub(super) fn replace(&mut self, congestion: Box<dyn Congestion>) {
        self.congestion = congestion;
        self.account.report = LinkReport::default();
        self.rate_reduction.end();
        self.undo.end();
    }

    /// The window, in bytes.
    pub(super) fn bytes(&self) -> Bytes {
        self.congestion.window()
    }

    /// The slow start threshold, in bytes.
    pub(super) fn ssthresh(&self) -> Bytes {
        self.congestion.ssthresh()
    }

    /// Sets window and threshold, by what other connections know.
    pub(super) fn set(&mut self, window: Bytes, ssthresh: Bytes) {
        self.congestion.slow_start_mut().set(window, ssthresh);
    }

    /// The slow start that the congestion control goes by.
    pub(super) fn slow_start(&self) -> &SlowStart {
        self.congestion.slow_start()
    }

    /// The same, to be changed.
    pub(super) fn slow_start_mut(&mut self) -> &mut SlowStart {
        self.congestion.slow_start_mut()
    }

    /// Whether a proportional reduction is under way.
    pub(super) fn reduces_proportionally(&self) -> bool {
        self.rate_reduction.is_proportional()
    }

    /// Whether it kept back the last segment that was asked for.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// A segment was asked for, and the window has kept it back or not.
    pub(super) fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    /// How much more may be sent now, with `in_flight` bytes in flight.
    pub(super) fn room(&self, in_flight: Bytes) -> Bytes {
        let plain = || self.congestion.window().saturating_sub(in_flight);
        self.rate_reduction.allowance().unwrap_or_else(plain)
    }

    /// How fast that is to leave, headers counted; none: as fast as it can.
    pub(super) fn pacing_rate(
        &self,
        config: &SenderConfig,
        smss: Bytes,
        srtt: Option<Duration>,
    ) -> Option<Rate> {
        let cap = match config.pacing {
            Pacing::Window { cap } => cap,
            Pacing::Off if self.congestion.needs_pacing() => None,
            Pacing::Off => return None,
        };
        // Headers are paced along.
        let with_headers = |payload: Rate| {
            let overhead = 1.0 + config.overhead.as_f64() / smss.as_f64();
            Rate::from_bits_per_sec((payload.bits_per_sec() as f64 * overhead) as u64)
        };
        let rate = match self.congestion.pacing() {
            PacingBasis::Window { gain } => self.window_rate(gain, srtt),
            PacingBasis::WindowUpTo { gain, rate } => {
                let rate = with_headers(rate);
                Some(self.window_rate(gain, srtt).map_or(rate, |window| window.min(rate)))
            }
            PacingBasis::Rate(payload) => payload.map(with_headers),
        };
        match (rate, cap) {
            (Some(rate), Some(cap)) => Some(rate.min(cap)),
            (rate, cap) => rate.or(cap),
        }
    }

    /// `gain` windows each smoothed round trip.
    fn window_rate(&self, gain: f64, srtt: Option<Duration>) -> Option<Rate> {
        let srtt = srtt.filter(|srtt| !srtt.is_zero())?;
        let bytes = self.congestion.window().as_f64() * gain;
        Some(Rate::from_bits_per_sec((bytes * 8.0 / srtt.as_secs_f64()) as u64))
    }

    /// A segment has left.
    pub(super) fn sent(&mut self, departed: &Departed) {
        self.last_sent = Some(departed.now);
        self.rate_reduction.sent(departed.bytes);
        self.congestion.on_sent(departed);
    }

    /// A segment left at `at`, before there was a window.
    pub(super) fn sent_before(&mut self, at: Instant) {
        self.last_sent = Some(at);
    }

    /// `range` is about to be retransmitted.
    pub(super) fn retransmits(&mut self, now: Instant, range: &Range<Offset>, ledger: &Ledger) {
        self.undo.retransmits(now, range, ledger);
    }

    /// Nothing is outstanding and something is to be sent: slow start begins anew if nothing was
    /// for longer than `rto` (RFC 5681, 4.1).
    pub(super) fn restart_if_idle(&mut self, now: Instant, rto: Duration) {
        if self.last_sent.is_some_and(|at| now.saturating_since(at) > rto) {
            self.congestion.on_idle();
        }
    }

    /// A segment is marked lost.
    pub(super) fn lost(&mut self, lost: &Lost) {
        self.congestion.on_lost(lost);
    }

    /// Recovery has judged an acknowledgment, or a timer of its own.
    pub(super) fn on_episode(
        &mut self,
        episode: Episode,
        event: &CongestionEvent,
        flight: &Flight,
        config: &SenderConfig,
    ) {
        let smss = event.smss;
        self.reduced |= matches!(
            episode,
            Episode::Enter | Episode::Restart | Episode::Repaired | Episode::LostAgain
        );
        match episode {
            Episode::Enter => {
                self.watch(flight.snd_nxt(), false, config);
                self.congestion.on_loss(event);
                self.begin_reduction(flight.ledger(), config.reduction);
            }
            Episode::Restart => {
                self.rate_reduction.end();
                self.watch(flight.snd_nxt(), true, config);
                self.timeout_until = Some(flight.snd_nxt());
                self.congestion.on_timeout(event, false);
            }
            Episode::Repaired => {
                self.undo.end();
                self.congestion.on_loss(event);
                self.congestion.on_recovered(flight.size(), smss);
            }
            // A proportional reduction answers by itself, as less is in flight.
            Episode::LostAgain if self.rate_reduction.is_proportional() => {}
            Episode::LostAgain => self.congestion.on_loss(event),
            Episode::Exit => {
                // RFC 9937, 6.2: the window ends at ssthresh, as what is in flight does.
                let proportional = self.rate_reduction.end();
                let left = if proportional { self.congestion.ssthresh() } else { flight.size() };
                self.congestion.on_recovered(left, smss);
            }
            // As if all of ssthresh were outstanding.
            Episode::Deflate => {
                self.rate_reduction.end();
                let left = flight.size().max(self.congestion.ssthresh());
                self.congestion.on_recovered(left, smss);
            }
            Episode::Unchanged => {}
        }
    }

    /// The window is about to be reduced, as far as is known for a reason.
    pub(super) fn watch(&mut self, snd_nxt: Offset, timeout: bool, config: &SenderConfig) {
        if config.undo {
            self.congestion.save_undo();
            self.undo.begin(snd_nxt, timeout);
        }
    }

    /// Fast recovery begins. The acknowledgment that begins it is yet to be taken.
    fn begin_reduction(&mut self, ledger: &Ledger, reduction: Reduction) {
        let newly = ledger.delivered() - self.account.told.0;
        let outstanding = ledger.flight_size() - ledger.sacked().covered();
        let prr = Prr::new(outstanding + newly);
        let prr = match reduction {
            Reduction::Plain | Reduction::OfWindow => None,
            Reduction::Prr => Some(prr),
            Reduction::PrrAsLinux => Some(prr.unbounded()),
        };
        self.rate_reduction.begin(prr.filter(|_| self.congestion.reduces_proportionally()));
    }

    /// The retransmission timer has expired; `again` if it is not the first time for this data.
    pub(super) fn on_timeout(&mut self, event: &CongestionEvent, snd_nxt: Offset, again: bool) {
        self.reduced = true;
        self.timeout_until = Some(snd_nxt);
        self.congestion.on_timeout(event, again);
        self.rate_reduction.end();
    }

    /// The peer reports congestion by ECN: the last reduction stands.
    pub(super) fn marked(&mut self) {
        self.undo.end();
        self.reduced = true;
    }

    /// The window is reduced as for a loss, without one (RFC 3168, 6.1.2).
    pub(super) fn on_ecn(&mut self, event: &CongestionEvent) {
        self.congestion.on_ecn(event);
    }

    /// Whether the window was reduced, for whatever reason, since this was last asked.
    pub(super) fn take_reduced(&mut self) -> bool {
        mem::take(&mut self.reduced)
    }

    /// Takes an acknowledgment (none: recovery's timer), after recovery has judged it, and whether
    /// that has shown a `loss`. Congestion control has yet to hear of what it delivers.
    pub(super) fn step(
        &mut self,
        ack: Option<&AckSummary>,
        loss: bool,
        flight: &Flight,
        selective: bool,
        smss: Bytes,
    ) {
        self.rate_reduction.step(&Step {
            acked: ack.map_or(Bytes::ZERO, |ack| ack.delivered.acked),
            duplicate: ack.is_some_and(|ack| ack.duplicate),
            loss,
            delivered: flight.ledger().delivered() - self.account.told.0,
            selective,
            in_flight: flight.in_flight(),
            outstanding: flight.ledger().flight_size(),
            ssthresh: self.congestion.ssthresh(),
            smss,
        });
    }

    /// Bytes delivered and marked lost of which congestion control has not heard: they count as
    /// told.
    pub(super) fn take_news(&mut self, ledger: &Ledger) -> (Bytes, Bytes) {
        let (delivered, lost) = (ledger.delivered(), ledger.lost_bytes());
        let (delivered_before, lost_before) =
            mem::replace(&mut self.account.told, (delivered, lost));
        (delivered - delivered_before, lost - lost_before)
    }

    /// Whether what was outstanding when the retransmission timer last expired is not all
    /// acknowledged.
    pub(super) fn is_after_timeout(&mut self, snd_una: Offset) -> bool {
        self.timeout_until.take_if(|until| snd_una >= *until);
        self.timeout_until.is_some()
    }

    /// The same, at a look from outside.
    pub(super) fn repairs_timeout(&self, snd_una: Offset) -> bool {
        self.timeout_until.is_some_and(|until| snd_una < until)
    }

    /// Congestion control takes an acknowledgment.
    pub(super) fn on_ack(&mut self, ack: &AckEvent) -> Response {
        let response = self.congestion.on_ack(ack);
        if !response.report.is_empty() {
            self.account.report = self.account.report.and(response.report);
        }
        if let Some(bound) = response.bound {
            self.account.bound.acks += 1;
            self.account.bound.bound += u64::from(bound);
        }
        response
    }

    /// Takes an acknowledgment of `acked` new bytes that the ledger has taken, whereupon
    /// `outstanding` is left. The last reduction, if that shows that nothing had been lost.
    pub(super) fn needless(
        &mut self,
        ack: &Ack<'_>,
        acked: Bytes,
        outstanding: &Range<Offset>,
    ) -> Option<Needless> {
        self.undo.on_ack(ack, acked, outstanding)
    }

    /// The last reduction is undone, for now to at most `max` bytes (RFC 4015, steps 8 to 10).
    pub(super) fn undo(&mut self, max: Bytes) {
        self.rate_reduction.end();
        self.congestion.undo(max);
        self.timeout_until = None;
    }

    /// How often an increase was held to one segment.
    pub(super) fn bound_count(&self) -> BoundCount {
        self.account.bound
    }

    /// What the flow has seen of its link since this was last asked.
    pub(super) fn take_report(&mut self) -> LinkReport {
        mem::take(&mut self.account.report)
    }
}
