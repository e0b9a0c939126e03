//! A defect in one flow: it ends, and the others go on.

use super::*;
use bentpipe_core::tcp::buffer::{Buffer, Chunks};
use bentpipe_core::units::{Bytes, Offset};
use std::cell::Cell;
use std::ops::Range;

/// Real bytes, and a mine: who has stored [`MINE`] panics at the n-th use after it, whatever that
/// is.
#[derive(Debug, Default)]
struct Mined {
    chunks: Chunks,
    left: Cell<Option<u32>>,
}

/// Then comes a byte that says how many uses there are before the panic.
const MINE: &[u8] = b"here be dragons";

impl Mined {
    fn step(&self) {
        match self.left.get() {
            None => {}
            Some(0) => panic!("a planted defect"),
            Some(left) => self.left.set(Some(left - 1)),
        }
    }
}

impl Buffer for Mined {
    fn write(&mut self, at: Offset, payload: Payload<'_>) {
        self.step();
        if let Payload::Bytes(bytes) = payload
            && let Some(rest) = bytes.strip_prefix(MINE)
        {
            self.left.set(Some(u32::from(rest[0])));
            self.step();
        }
        self.chunks.write(at, payload);
    }

    fn read(&self, range: Range<Offset>, visit: impl FnMut(Payload<'_>)) {
        self.chunks.read(range, visit);
    }

    fn release(&mut self, offset: Offset) {
        self.step();
        self.chunks.release(offset);
    }

    fn held(&self) -> usize {
        self.step();
        self.chunks.held()
    }

    const UNIT: Bytes = Chunks::UNIT;

    fn held_from(&self, offset: Offset) -> usize {
        self.step();
        self.chunks.held_from(offset)
    }

    fn growth(&self, range: Range<Offset>) -> usize {
        self.step();
        self.chunks.growth(range)
    }
}

/// Three clients and their server, which takes what it is sent.
struct Mines {
    gateway: Gateway<Mined>,
    now: Instant,
    /// By port: what the server has been sent.
    served: [Vec<u8>; 4],
    /// Resets, by the side to which they go and the client's port.
    resets: Vec<(Side, u16)>,
}

const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);

impl Mines {
    fn new(config: Config) -> Mines {
        let gateway = Gateway::new(config);
        let mut mines =
            Mines { gateway, now: Instant::ZERO, served: Default::default(), resets: Vec::new() };
        for port in [1, 2, 3] {
            mines.open(port);
        }
        assert_eq!(mines.gateway.summary().split, 3);
        mines
    }

    fn open(&mut self, port: u16) {
        let options = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        let synack = Table::segment(Side::Satellite, 0, 1, SYN_ACK);
        self.give(port, Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
        self.give(port, Side::Satellite, TcpHeader { options, ..synack }, b"");
        self.give(port, Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
    }

    fn give(&mut self, port: u16, from: Side, tcp: TcpHeader, payload: &[u8]) -> Disposition {
        let tcp = match from {
            Side::Lan => TcpHeader { src_port: port, ..tcp },
            Side::Satellite => TcpHeader { dst_port: port, ..tcp },
        };
        let payload = Payload::Bytes(payload);
        let verdict = self.gateway.handle_packet(self.now, from, &Table::ip(from), &tcp, payload);
        self.drain();
        verdict
    }

    /// What the gateway sends; the server acknowledges what comes in order.
    fn drain(&mut self) {
        let mut acks = Vec::new();
        while let Some(sent) = self.gateway.poll_transmit(self.now) {
            let port = sent.tcp.src_port.min(sent.tcp.dst_port);
            let port = if port == 80 { sent.tcp.src_port.max(sent.tcp.dst_port) } else { port };
            if sent.tcp.has(Flags::RST) {
                self.resets.push((sent.to, port));
            }
            if sent.to == Side::Satellite && sent.payload_len() > 0 {
                let served = &mut self.served[usize::from(port)];
                let at = sent.tcp.seq.distance_from(CLIENT_ISN) as usize - 1;
                if at == served.len() {
                    self.gateway.payload(&sent, |piece| match piece {
                        Payload::Bytes(bytes) => served.extend_from_slice(bytes),
                        Payload::Pattern { .. } => unreachable!("real bytes"),
                    });
                }
                acks.push((port, 1 + served.len() as u64));
            }
        }
        self.gateway.check_sums();
        for (port, ack) in acks {
            let ack = Table::segment(Side::Satellite, 1, ack, Flags::ACK);
            self.give(port, Side::Satellite, ack, b"");
        }
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.gateway.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.gateway.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    /// The next bytes of a client, of whom `sent` were there before.
    fn say(&mut self, port: u16, sent: usize, payload: &[u8]) -> Disposition {
        self.give(
            port,
            Side::Lan,
            Table::segment(Side::Lan, 1 + sent as u64, 1, Flags::ACK),
            payload,
        )
    }
}

#[test]
fn a_panic_ends_one_flow_and_the_others_go_on() {
    let mut happened = 0;
    for uses in 0..40 {
        let mut mines = Mines::new(Config::default());
        for port in [1, 2, 3] {
            mines.say(port, 0, b"before ");
        }
        let mine = [MINE, &[uses], b" and more"].concat();
        mines.say(2, 7, &mine);
        for round in 0..3 {
            for port in [1, 2, 3] {
                let sent = 7 + 6 * round + if port == 2 { mine.len() } else { 0 };
                mines.say(port, sent, b"after ");
            }
            mines.wait(Duration::from_secs(1));
        }
        let panicked = mines.gateway.summary().panicked;
        assert!(panicked <= 1, "it is over with the first one");
        happened += panicked;
        for port in [1, 3] {
            assert_eq!(mines.served[port], b"before after after after ", "after {uses} uses");
            assert!(mines.resets.iter().all(|(_, reset)| usize::from(*reset) != port));
        }
        if panicked == 0 {
            assert_eq!(mines.served[2].len(), 25 + mine.len());
            continue;
        }
        let first: Vec<_> = mines.resets.iter().take(2).collect();
        assert_eq!(first, [&(Side::Lan, 2), &(Side::Satellite, 2)], "after {uses} uses");
        let summary = mines.gateway.summary();
        assert_eq!((summary.reset, summary.split), (1, 3));
        assert_eq!(mines.gateway.held(), 0);
        assert_eq!(mines.gateway.flow_views(mines.now).count(), 3);
        // A host that has not taken its reset is told again, for a while.
        mines.resets.clear();
        assert_eq!(mines.say(2, 90, b"still there"), Disposition::Consumed);
        let ack = Table::segment(Side::Satellite, 1, 5, Flags::ACK);
        mines.give(2, Side::Satellite, ack, b"");
        assert_eq!(mines.resets, [(Side::Lan, 2), (Side::Satellite, 2)]);
        // Its ports can be used again.
        mines.open(2);
        assert_eq!(mines.gateway.summary().split, 4);
        mines.wait(Duration::from_secs(60));
        assert_eq!(mines.gateway.flows(), 3);
    }
    assert!(happened >= 20, "{happened} of 40 mines have gone off");
}

/// Whatever calls upon the flow: a packet, a timer, an operator, a drain.
#[test]
fn a_panic_may_come_from_anywhere() {
    for uses in 1..30 {
        for ends in [0, 1, 2] {
            let mut mines =
                Mines::new(Config { hibernate_after: Duration::ZERO, ..Config::default() });
            mines.say(2, 0, &[MINE, &[uses], b"!"].concat());
            match ends {
                0 => mines.gateway.drain(mines.now),
                1 => mines.gateway.release_all(mines.now),
                _ => mines.gateway.reset_all(mines.now),
            }
            mines.drain();
            let states = mines.gateway.flow_views(mines.now).count();
            assert!(states <= 3);
            mines.wait(Duration::from_secs(3 * 7200));
            assert_eq!((mines.gateway.flows(), mines.gateway.held()), (0, 0));
        }
    }
}

#[test]
fn a_flow_that_a_panic_has_ended_is_forgotten_after_a_while() {
    let mut mines = Mines::new(Config::default());
    mines.say(2, 0, &[MINE, &[0]].concat());
    assert_eq!(mines.gateway.summary().panicked, 1);
    assert_eq!(mines.gateway.flows(), 3);
    mines.wait(Duration::from_secs(16));
    assert_eq!(mines.gateway.flows(), 2);
    let late = mines.say(2, 16, b"late");
    assert_eq!(late, Disposition::Forward(Reason::UnknownFlow));
}
