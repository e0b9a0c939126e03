//! A connection that is restored from its snapshot after whatever happens to it does, segment for
//! segment, what it does otherwise.

use crate::kept::kept;
use bentpipe_core::snapshot::{Reader, Writer};
use bentpipe_core::tcp::congestion::{CongestionAlgorithm, Growth};
use bentpipe_core::tcp::receiver::{AckPolicy, Receiver, ReceiverConfig};
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::sender::{Reduction, Sender, SenderConfig};
use bentpipe_core::tcp::tcb::{
    Admission, HandshakeNumbers, Outgoing, Tcb, TimestampClock, TimestampState,
};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use bentpipe_core::wire::{SeqNum, TcpHeader};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

const ISN: [SeqNum; 2] = [SeqNum(7), SeqNum(u32::MAX - 40_000)];
const WINDOW: u64 = 200_000;

/// Two connections, a channel between them, and what happens to them.
struct Run {
    now: Instant,
    rng: Pcg64Mcg,
    tcbs: [Tcb; 2],
    written: [u64; 2],
    event_queue: BTreeMap<(Instant, usize), Happening>,
    /// All that was sent, by whom and when.
    sent: Vec<(Instant, usize, Outgoing)>,
}

enum Happening {
    Write(usize, u64),
    Arrival(usize, TcpHeader, usize),
}

#[derive(Debug, Clone, Copy)]
struct Setup {
    seed: u64,
    loss: f64,
    sender: SenderConfig,
    sack: bool,
    timestamps: bool,
    ecn: bool,
}

impl Setup {
    fn tcb(&self, side: usize) -> Tcb {
        let timestamps = self.timestamps.then_some(TimestampState {
            clock: TimestampClock::Own(5),
            recent: 5,
            recent_at: Instant::ZERO,
        });
        let (snd_isn, rcv_isn) = (ISN[side], ISN[1 - side]);
        let handshake = HandshakeNumbers { snd_isn, rcv_isn, snd_shift: 2, timestamps };
        let receiver = ReceiverConfig {
            rmss: Bytes::new(1000),
            window_shift: 2,
            sack: self.sack,
            hold_fin: side == 1,
            delay_at_full_window: side == 1,
        };
        let acks = AckPolicy::Delayed(Duration::from_millis(40));
        let rtt = Some(Duration::from_millis(80));
        let sender = Sender::new(self.sender, Offset::FIRST, Bytes::new(WINDOW), rtt);
        let mut tcb = Tcb::new(
            handshake,
            sender,
            Receiver::new(receiver, acks, Offset::FIRST, Offset::new(1 + WINDOW)),
        );
        if self.ecn {
            tcb.enable_ecn();
        }
        tcb
    }

    /// All that is sent, if connections are restored from their snapshots after each event, or
    /// never.
    fn play(&self, restoring: bool) -> Vec<(Instant, usize, Outgoing)> {
        let mut rng = Pcg64Mcg::seed_from_u64(self.seed);
        // Bursts, silences of some round trips, and silences of seconds.
        let (mut event_queue, mut at) = (BTreeMap::new(), Instant::ZERO);
        for number in 0..12 {
            let happening = Happening::Write(rng.random_range(0..2), rng.random_range(1..60_000));
            event_queue.insert((at, number), happening);
            let pause = if rng.random() { rng.random_range(0..9_000) } else { 60 };
            at += Duration::from_millis(pause);
        }
        let tcbs = [0, 1].map(|side| self.tcb(side));
        let (now, written, sent) = (Instant::ZERO, [1; 2], Vec::new());
        let mut run = Run { now, rng, tcbs, written, event_queue, sent };
        while run.step(self) {
            if restoring {
                let common = SenderConfig { nagle: !self.sender.nagle, ..self.sender };
                run.tcbs[0] = snapshot_and_restored(&run.tcbs[0], &self.sender);
                run.tcbs[1] = snapshot_and_restored(&run.tcbs[1], &common);
            }
        }
        run.sent
    }
}

fn snapshot_and_restored(tcb: &Tcb, common: &SenderConfig) -> Tcb {
    let snapshot = |tcb: &Tcb| {
        let mut writer = Writer::default();
        assert!(tcb.snapshot(common, &mut writer));
        writer.finish()
    };
    let bytes = snapshot(tcb);
    let mut reader = Reader::new(&bytes);
    let restored = Tcb::restore(&mut reader, common);
    assert!(reader.is_at_end());
    assert_eq!(snapshot(&restored), bytes);
    restored
}

impl Run {
    fn step(&mut self, setup: &Setup) -> bool {
        let timer = self.tcbs.iter().filter_map(Tcb::poll_timer).min();
        let event = self.event_queue.first_key_value().map(|(&(at, _), _)| at);
        let Some(next) = timer.into_iter().chain(event).min() else { return false };
        self.now = self.now.max(next);
        if event == Some(next) {
            match self.event_queue.pop_first().expect("just seen").1 {
                Happening::Write(side, bytes) => {
                    self.written[side] += bytes;
                    self.tcbs[side].sender.extend(Offset::new(self.written[side]));
                }
                Happening::Arrival(side, tcp, len) => {
                    let tcb = &mut self.tcbs[side];
                    if setup.ecn && self.rng.random_bool(setup.loss) {
                        tcb.mark_congestion_experienced();
                    }
                    tcb.on_segment(self.now, &tcp, len, Admission::Accept);
                    tcb.receiver.set_limit(tcb.receiver.rcv_nxt() + Bytes::new(WINDOW));
                }
            }
        }
        for side in 0..2 {
            self.tcbs[side].on_timer(self.now);
            while let Ok(out) = self.tcbs[side].poll_transmit(self.now) {
                self.send(setup, side, out);
            }
        }
        self.sent.len() < 1_000
    }

    fn send(&mut self, setup: &Setup, side: usize, out: Outgoing) {
        let number = 100 + self.sent.len();
        if !self.rng.random_bool(setup.loss) {
            let late = if self.rng.random_bool(setup.loss) { 15 } else { 0 };
            let at = self.now + Duration::from_millis(40 + late);
            let len = (out.data.end - out.data.start).as_len();
            self.event_queue
                .insert((at, number), Happening::Arrival(1 - side, out.tcp.clone(), len));
        }
        self.sent.push((self.now, side, out));
    }
}

prop_compose! {
    fn setups()(
        seed in any::<u64>(),
        loss in prop_oneof![Just(0.0), 0.0..0.2],
        recovery in proptest::sample::select(RecoveryAlgorithm::ALL),
        congestion in proptest::sample::select(CongestionAlgorithm::ALL.to_vec()),
        slow_start in proptest::sample::select(Growth::ALL.to_vec()),
        (prr, undo, sack, timestamps, ecn) in any::<(bool, bool, bool, bool, bool)>(),
    ) -> Setup {
        let reduction = if prr { Reduction::Prr } else { Reduction::Plain };
        let sender = SenderConfig {
            smss: Bytes::new(1000), max_burst: Bytes::new(1000), recovery, congestion, slow_start, reduction, undo,
            ..SenderConfig::default()
        };
        Setup { seed, loss, sender, sack, timestamps, ecn }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..kept("proptest-regressions/snapshot.txt") })]

    #[test]
    fn a_restored_connection_goes_on_as_one_that_never_was_a_snapshot(setup in setups()) {
        let (never, always) = (setup.play(false), setup.play(true));
        prop_assert!(never.len() > 12);
        prop_assert_eq!(never, always);
    }
}
