//! One flight of segments and another behind it over a path that loses one segment in a hundred,
//! played once in virtual time and written down, so that either half can be replayed alone.
//!
//! The sender begins with a window of `flight` segments, which makes that many be in flight, and
//! has twice as many to send. The path has a bottleneck that carries a flight in a round trip;
//! what is retransmitted arrives. So recovery is done once in each episode, and it ends.

use bentpipe_core::tcp::receiver::{AckPolicy, Receiver, ReceiverConfig};
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::sender::{Ack, InitialWindow, Sender, SenderConfig};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;
use std::ops::Range;

const SMSS: u64 = 1448;
const ROUND_TRIP: Duration = Duration::from_millis(500);
const LOSS: f64 = 0.01;

/// What happens to the sender.
#[derive(Debug)]
enum Happening {
    /// An acknowledgment comes: its number and SACK blocks.
    Ack(u64, Vec<Range<Offset>>),
    /// A timer expires.
    Timer,
}

/// Both halves' input, in the order in which it came.
#[derive(Debug)]
pub(crate) struct Episode {
    algorithm: RecoveryAlgorithm,
    flight: u64,
    sender: Vec<(Instant, Happening)>,
    receiver: Vec<(Instant, Range<Offset>)>,
    /// Segments sent, those retransmitted included.
    pub(crate) sent: u64,
}

impl Episode {
    /// Plays an episode with `flight` segments in flight.
    pub(crate) fn play(algorithm: RecoveryAlgorithm, flight: u64, seed: u64) -> Episode {
        let mut episode =
            Episode { algorithm, flight, sender: Vec::new(), receiver: Vec::new(), sent: 0 };
        let (mut sender, mut receiver) = (episode.fresh_sender(), episode.fresh_receiver());
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let spacing = ROUND_TRIP / u32::try_from(flight).expect("a flight is no larger");
        let (mut now, mut line_free) = (Instant::ZERO, Instant::ZERO);
        let mut data: VecDeque<(Instant, Range<Offset>)> = VecDeque::new();
        let mut acks: VecDeque<(Instant, u64, Vec<Range<Offset>>)> = VecDeque::new();
        loop {
            while let Ok(sent) = sender.poll_transmit(now) {
                line_free = line_free.max(now) + spacing;
                if sent.retransmission || !rng.random_bool(LOSS) {
                    data.push_back((line_free + ROUND_TRIP / 2, sent.range));
                }
            }
            if sender.is_done() {
                break;
            }
            let at = |moment: Option<Instant>| moment.unwrap_or(Instant::FAR_FUTURE);
            let arrival = at(data.front().map(|(at, _)| *at));
            let ack = at(acks.front().map(|(at, ..)| *at));
            let timer = at(sender.poll_timer());
            now = arrival.min(ack).min(timer);
            if arrival == now {
                let (_, range) = data.pop_front().expect("just seen");
                let blocks = receive(&mut receiver, now, range.clone());
                episode.receiver.push((now, range));
                acks.push_back((now + ROUND_TRIP / 2, receiver.ack_offset().get(), blocks));
            } else if ack == now {
                let (_, number, blocks) = acks.pop_front().expect("just seen");
                acknowledge(&mut sender, now, number, &blocks);
                episode.sender.push((now, Happening::Ack(number, blocks)));
            } else {
                assert!(timer < Instant::FAR_FUTURE, "nothing will ever happen");
                sender.on_timer(now);
                episode.sender.push((now, Happening::Timer));
            }
        }
        episode.sent = sender.stats().segments;
        episode
    }

    /// A sender before the episode.
    pub(crate) fn fresh_sender(&self) -> Sender {
        let config = SenderConfig {
            smss: Bytes::new(SMSS),
            max_burst: Bytes::new(SMSS),
            recovery: self.algorithm,
            initial_window: InitialWindow::Bytes(Bytes::new(self.flight * SMSS)),
            ..SenderConfig::default()
        };
        let mut sender = Sender::new(config, Offset::FIRST, Bytes::new(1 << 40), Some(ROUND_TRIP));
        sender.extend(Offset::new(1 + 2 * self.flight * SMSS));
        sender
    }

    /// A receiver before the episode.
    pub(crate) fn fresh_receiver(&self) -> Receiver {
        let config = ReceiverConfig {
            rmss: Bytes::new(SMSS),
            window_shift: 14,
            sack: true,
            hold_fin: false,
            delay_at_full_window: false,
        };
        Receiver::new(
            config,
            AckPolicy::PerSegment,
            Offset::FIRST,
            Offset::new(1 + 2 * self.flight * SMSS),
        )
    }

    /// The sender's part again.
    pub(crate) fn replay_sender(&self, sender: &mut Sender) {
        let mut sent = 0;
        let mut drain = |sender: &mut Sender, now| {
            while sender.poll_transmit(now).is_ok() {
                sent += 1;
            }
        };
        drain(sender, Instant::ZERO);
        for (now, happening) in &self.sender {
            match happening {
                Happening::Ack(number, blocks) => acknowledge(sender, *now, *number, blocks),
                Happening::Timer => sender.on_timer(*now),
            }
            drain(sender, *now);
        }
        assert_eq!(sent, self.sent, "a replay is the episode again");
    }

    /// The receiver's part again.
    pub(crate) fn replay_receiver(&self, receiver: &mut Receiver) {
        for (now, range) in &self.receiver {
            std::hint::black_box(receive_again(receiver, *now, range.clone()));
        }
        assert_eq!(receiver.rcv_nxt(), Offset::new(1 + 2 * self.flight * SMSS), "all has arrived");
    }
}

fn acknowledge(sender: &mut Sender, now: Instant, ack: u64, sack: &[Range<Offset>]) {
    sender.on_ack(
        now,
        &Ack {
            segment: Offset::FIRST,
            ack: Offset::new(ack),
            window: Bytes::new(1 << 40),
            sack,
            echoed: None,
            occupies: false,
        },
    );
}

fn receive(receiver: &mut Receiver, now: Instant, range: Range<Offset>) -> Vec<Range<Offset>> {
    receive_again(receiver, now, range).into_iter().collect()
}

/// Takes a segment and says what the acknowledgment of it says.
fn receive_again(
    receiver: &mut Receiver,
    now: Instant,
    range: Range<Offset>,
) -> impl IntoIterator<Item = Range<Offset>> + use<> {
    receiver.on_data(now, range, false);
    receiver.set_limit(Offset::new(1 << 40));
    assert!(receiver.ack_due(now), "each segment is acknowledged");
    let blocks = receiver.sack_blocks(3);
    receiver.acknowledge();
    blocks
}
