//! Arbitrary segments at arbitrary times: into one connection, and between two that talk to each
//! other. No panic, no endless sending, no growth beyond the buffers; and who cannot guess the
//! exact sequence number neither resets a connection nor gets a byte into it (RFC 5961).

use bentpipe_core::tcp::buffer::{Chunks, Pattern, Payload};
use bentpipe_core::tcp::connection::{Connection, ConnectionConfig, Event, State};
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::sender::SenderConfig;
use bentpipe_core::tcp::transaction::{ActiveOpen, Lesson, PassiveOpen, TaoCache};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{Flags, SackBlock, SeqNum, TcpHeader, TcpOptions, Timestamps};
use bolero::TypeGenerator;
use std::collections::VecDeque;
use std::net::IpAddr;

const BUFFER: u64 = 100_000;
/// T/TCP's counts of the two ends.
const COUNTS: [u32; 2] = [u32::MAX, 1 << 30];
const ISN: [SeqNum; 2] = [SeqNum(u32::MAX - 5_000), SeqNum(77)];

/// A number near one that matters.
#[derive(Debug, Clone, Copy, TypeGenerator)]
enum Near {
    Exactly,
    Below(u16),
    Above(u16),
    Anywhere(u32),
}

impl Near {
    fn of(self, number: SeqNum) -> SeqNum {
        match self {
            Near::Exactly => number,
            Near::Below(by) => SeqNum(number.0.wrapping_sub(u32::from(by))),
            Near::Above(by) => number + u64::from(by),
            Near::Anywhere(any) => SeqNum(any),
        }
    }
}

/// A segment that somebody makes up.
#[derive(Debug, Clone, TypeGenerator)]
struct Forgery {
    /// Bits of the header; see [`Forgery::flags`].
    flags: u8,
    seq: Near,
    ack: Near,
    window: u16,
    len: u16,
    sack: Vec<(Near, Near)>,
    timestamps: Option<(Near, u32)>,
    mss: Option<u16>,
    shift: Option<u8>,
}

impl Forgery {
    /// An acknowledgment in most cases, so that sequences get far.
    fn flags(&self) -> Flags {
        match self.flags {
            0..160 => Flags::ACK,
            160..190 => Flags::ACK | Flags::FIN,
            190..200 => Flags::RST,
            200..210 => Flags::SYN,
            210..220 => Flags::SYN | Flags::ACK,
            any => Flags(any.rotate_left(3)),
        }
    }

    /// The segment, near what its receiver expects, and in most cases of its peer's `count`.
    fn header(&self, seq: SeqNum, ack: SeqNum, count: Option<u32>) -> TcpHeader {
        let mut options = TcpOptions { mss: self.mss, ..TcpOptions::default() };
        options.cc = count.filter(|_| self.mss.is_none_or(|mss| mss % 4 > 0));
        options.cc_echo = self.mss.filter(|mss| mss % 8 == 1).map(|_| COUNTS[0]);
        options.window_scale = self.shift.map(|shift| shift.min(14));
        options.sack_permitted = self.shift.is_some();
        options.timestamps = self
            .timestamps
            .map(|(value, echo)| Timestamps { value: value.of(SeqNum(1000)).0, echo });
        for (left, right) in self.sack.iter().take(3) {
            options.sack.push(SackBlock { left: left.of(ack), right: right.of(ack) });
        }
        TcpHeader {
            seq: self.seq.of(seq),
            ack: self.ack.of(ack),
            flags: self.flags(),
            window: self.window,
            options,
            ..TcpHeader::default()
        }
    }
}

/// What the first byte of an input says besides the algorithm: whether both speak T/TCP, and
/// whether the server takes the data of a SYN at once.
fn speaks(algorithm: u8) -> (bool, bool) {
    (algorithm >= 128, algorithm % 128 >= 64)
}

/// One thing that happens.
#[derive(Debug, Clone, TypeGenerator)]
enum Step {
    Forge(Forgery),
    /// A segment that claims to come from the peer, but whose numbers are guessed.
    Blind(bool, Forgery),
    Write(bool, u16),
    Read(bool, u16),
    Close(bool),
    Wait(u16),
}

fn config(choice: u8) -> ConnectionConfig {
    let recovery = RecoveryAlgorithm::ALL[usize::from(choice % 64) % RecoveryAlgorithm::ALL.len()];
    let sender = SenderConfig { recovery, undo: true, ..SenderConfig::default() };
    ConnectionConfig {
        send_buffer: Bytes::new(BUFFER),
        receive_buffer: Bytes::new(BUFFER),
        sender,
        transactions: speaks(choice).0,
        ..ConnectionConfig::default()
    }
}

/// Takes all that the connection has to send.
fn drain(connection: &mut Connection<Chunks>, now: Instant) -> Vec<(TcpHeader, Vec<u8>)> {
    let mut sent = Vec::new();
    while let Ok(out) = connection.poll_transmit(now) {
        let mut payload = Vec::new();
        connection.payload(out.data.clone(), |piece| match piece {
            Payload::Bytes(bytes) => payload.extend_from_slice(bytes),
            Payload::Pattern { .. } => unreachable!("chunks hold bytes"),
        });
        assert_eq!(
            payload.len() as u64,
            (out.data.end - out.data.start).count(),
            "the bytes are there"
        );
        assert!(out.tcp.options.fits());
        sent.push((out.tcp, payload));
        assert!(sent.len() < 10_000, "sends without end");
    }
    sent
}

/// Expires what is due now, and checks what then holds.
fn check(connection: &mut Connection<Chunks>, now: Instant) {
    if connection.poll_timeout().is_some_and(|at| at <= now) {
        connection.handle_timeout(now);
        drain(connection, now);
    }
    if let Some(at) = connection.poll_timeout() {
        assert!(at > now, "a deadline in the past: {at:?} at {now:?}");
    }
    let Some(tcb) = connection.tcb() else { return };
    let (sender, receiver) = (&tcb.sender, &tcb.receiver);
    assert!(sender.cwnd() >= sender.smss());
    assert!(sender.snd_una() <= sender.snd_nxt());
    assert!(
        sender.snd_nxt() - sender.snd_una() <= Bytes::new(BUFFER + 1),
        "outstanding beyond the buffer"
    );
    assert!(receiver.out_of_order().len() <= 4096, "ranges without end");
    let held = connection.readable() + receiver.out_of_order().covered();
    assert!(held < Bytes::new(BUFFER + 128), "holds {held}");
}

/// Expires what is due until `end`.
fn wait(connection: &mut Connection<Chunks>, now: &mut Instant, end: Instant) {
    let mut turns = 0;
    while let Some(at) = connection.poll_timeout().filter(|at| *at <= end) {
        *now = at.max(*now);
        connection.handle_timeout(*now);
        drain(connection, *now);
        turns += 1;
        assert!(turns < 10_000, "a timer spins");
    }
    *now = end;
}

fn pattern(from: u64, len: u16) -> Vec<u8> {
    (from..from + u64::from(len)).map(Pattern::byte).collect()
}

#[test]
fn one_connection() {
    bolero::check!(name = "one_connection")
        .with_test_time(super::BUDGET)
        .with_max_len(4096)
        .with_type::<(u8, bool, Vec<Step>)>()
        .for_each(|(algorithm, active, steps)| alone(*algorithm, *active, steps));
}

/// A connection whose peer says anything.
fn alone(algorithm: u8, active: bool, steps: &[Step]) {
    let (config, mut now) = (config(algorithm), Instant::ZERO);
    let (transactions, at_once) = speaks(algorithm);
    let theirs = transactions.then_some(COUNTS[1]);
    let options = TcpOptions { cc: theirs, ..TcpOptions::default() };
    let flags = Flags::SYN;
    let syn = TcpHeader { seq: ISN[1], flags, window: 60_000, options, ..TcpHeader::default() };
    let mut connection = if active {
        let open = ActiveOpen { count: COUNTS[0], new: at_once, mss: Some(1460) };
        let mut connection = Connection::<Chunks>::connect_transaction(now, config, ISN[0], open);
        if transactions {
            connection.write(Payload::Bytes(&[0; 700]));
        }
        connection
    } else {
        let open = PassiveOpen { count: COUNTS[0], accelerated: at_once };
        let payload = Payload::Bytes(&[0; 700]);
        Connection::accept_transaction(now, config, ISN[0], &syn, payload, Some(open))
            .expect("a SYN")
    };
    drain(&mut connection, now);
    let flags = if active { Flags::SYN | Flags::ACK } else { Flags::ACK };
    let mut answer = TcpHeader { seq: ISN[1] + u64::from(!active), ack: ISN[0] + 1, flags, ..syn };
    answer.options.cc_echo = theirs.filter(|_| active).map(|_| COUNTS[0]);
    // Some sequences meet a handshake, most an open connection.
    if !matches!(steps.first(), Some(Step::Read(true, _))) {
        connection.handle_segment(now, &answer, Payload::EMPTY);
    }
    let zeros = vec![0; usize::from(u16::MAX)];
    for step in steps.iter().take(200) {
        match step {
            Step::Forge(forgery) | Step::Blind(_, forgery) => {
                let (seq, ack) = expected(&connection, [1, 0]);
                let tcp = forgery.header(seq, ack, theirs);
                let payload = Payload::Bytes(&zeros[..usize::from(forgery.len)]);
                connection.handle_segment(now, &tcp, payload);
            }
            Step::Write(_, len) => {
                connection.write(Payload::Bytes(&zeros[..usize::from(*len)]));
            }
            Step::Read(_, len) => {
                connection.read(Bytes::from(*len), |_| {});
            }
            Step::Close(_) => connection.close(),
            Step::Wait(millis) => {
                let end = now + Duration::from_millis(u64::from(*millis));
                wait(&mut connection, &mut now, end);
            }
        }
        drain(&mut connection, now);
        check(&mut connection, now);
    }
}

/// What the connection expects next, and what it has sent: numbers in the streams of the peer
/// and of itself, whose initial numbers `ends` name.
fn expected(connection: &Connection<Chunks>, ends: [usize; 2]) -> (SeqNum, SeqNum) {
    let (rcv_nxt, snd_nxt) = connection
        .tcb()
        .map_or((1, 1), |tcb| (tcb.receiver.ack_offset().get(), tcb.sender.snd_nxt().get()));
    (ISN[ends[0]] + rcv_nxt, ISN[ends[1]] + snd_nxt)
}

#[test]
fn two_connections_and_a_third_party() {
    bolero::check!(name = "two_connections_and_a_third_party")
        .with_test_time(super::BUDGET)
        .with_max_len(4096)
        .with_type::<(u8, Vec<Step>)>()
        .for_each(|(algorithm, steps)| Pair::new(*algorithm).play(steps));
}

/// Two connections over a line without loss, and somebody off the path who guesses.
struct Pair {
    now: Instant,
    ends: [Connection<Chunks>; 2],
    written: [u64; 2],
    read: [u64; 2],
}

impl Pair {
    fn new(algorithm: u8) -> Pair {
        let (config, now) = (config(algorithm), Instant::ZERO);
        let (transactions, known) = speaks(algorithm);
        let (peer, mut caches) = (IpAddr::from([10, 0, 0, 1]), COUNTS.map(|c| TaoCache::new(c, 4)));
        if known {
            caches[0].learn(peer, Lesson::Echoed { count: COUNTS[0], mss: 1460 });
            caches[1].learn(peer, Lesson::Validated { count: COUNTS[0] });
        }
        let open = caches[0].active(peer);
        let mut active = Connection::connect_transaction(now, config, ISN[0], open);
        let mut written = [0; 2];
        if transactions {
            written[0] = active.write(Payload::Bytes(&pattern(0, 700))) as u64;
        }
        let (syn, data) = drain(&mut active, now).remove(0);
        let (open, payload) = (caches[1].passive(peer, &syn), Payload::Bytes(&data));
        let passive = Connection::accept_transaction(now, config, ISN[1], &syn, payload, open);
        let mut ends = [active, passive.expect("a SYN")];
        assert_eq!(ends[1].readable() > Bytes::ZERO, transactions && known);
        // The SYN comes twice, its data shall not.
        ends[1].handle_segment(now, &syn, payload);
        let mut pair = Pair { now, ends, written, read: [0; 2] };
        pair.exchange();
        pair
    }

    fn play(mut self, steps: &[Step]) {
        for step in steps.iter().take(200) {
            self.step(step);
            self.exchange();
            for end in &mut self.ends {
                check(end, self.now);
            }
        }
        // The third party has broken nothing: all that was written arrives.
        for _ in 0..200 {
            self.now += Duration::from_secs(2);
            for end in &mut self.ends {
                end.handle_timeout(self.now);
            }
            self.exchange();
            self.read(0, u64::MAX);
            self.read(1, u64::MAX);
            self.exchange();
        }
        assert_eq!(self.read, [self.written[1], self.written[0]], "bytes are missing");
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Forge(forgery) => self.blind(usize::from(forgery.len % 2), forgery),
            Step::Blind(end, forgery) => self.blind(usize::from(*end), forgery),
            Step::Write(end, len) => {
                let end = usize::from(*end);
                let bytes = pattern(self.written[end], *len);
                self.written[end] += self.ends[end].write(Payload::Bytes(&bytes)) as u64;
            }
            Step::Read(end, len) => self.read(usize::from(*end), u64::from(*len)),
            Step::Close(end) => self.ends[usize::from(*end)].close(),
            Step::Wait(millis) => {
                self.now += Duration::from_millis(u64::from(*millis % 2_000));
                for end in &mut self.ends {
                    end.handle_timeout(self.now);
                }
            }
        }
    }

    /// A segment from off the path. It may hit the window (that takes only patience), but not
    /// the exact number that a RST needs, nor with data an acknowledgment within the last window
    /// (RFC 5961, 3.2, 4.2 and 5.2): such guesses are left out, as 5961 does not withstand them.
    fn blind(&mut self, end: usize, forgery: &Forgery) {
        let (seq, ack) = expected(&self.ends[end], [1 - end, end]);
        let tcp = forgery.header(seq, ack, None);
        let resets = tcp.has(Flags::RST);
        if resets && (tcp.seq == seq || tcp.seq == seq + 1) {
            return;
        }
        // An acknowledgment between the oldest that is let pass and SND.NXT is a hit.
        let hit = (-(1 << 24)..=0).contains(&tcp.ack.distance_from(ack));
        if !resets && !tcp.has(Flags::SYN) && (hit || !tcp.has(Flags::ACK)) {
            return;
        }
        let before = self.ends[end].state();
        let zeros = vec![0xEE; usize::from(forgery.len)];
        self.ends[end].handle_segment(self.now, &tcp, Payload::Bytes(&zeros));
        assert_eq!(self.ends[end].state(), before, "{tcp:?} changed the state");
        while let Some(event) = self.ends[end].poll_event() {
            assert_ne!(event, Event::Reset, "{tcp:?} reset the connection");
        }
    }

    fn read(&mut self, end: usize, limit: u64) {
        let mut at = self.read[end];
        self.ends[end].read(Bytes::new(limit), |piece| {
            let Payload::Bytes(bytes) = piece else { unreachable!("chunks hold bytes") };
            for byte in bytes {
                assert_eq!(*byte, Pattern::byte(at), "byte {at} was injected");
                at += 1;
            }
        });
        self.read[end] = at;
    }

    /// Carries segments until neither has one to send.
    fn exchange(&mut self) {
        let mut carried = 0;
        loop {
            let mut line: VecDeque<(usize, TcpHeader, Vec<u8>)> = VecDeque::new();
            for end in 0..2 {
                let sent = drain(&mut self.ends[end], self.now);
                line.extend(sent.into_iter().map(|(tcp, payload)| (1 - end, tcp, payload)));
            }
            if line.is_empty() {
                return;
            }
            carried += line.len();
            assert!(carried < 20_000, "the two answer each other without end");
            for (to, tcp, payload) in line {
                if self.ends[to].state() != State::Closed {
                    self.ends[to].handle_segment(self.now, &tcp, Payload::Bytes(&payload));
                }
            }
        }
    }
}
