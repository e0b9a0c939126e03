//! Uploads at full speed between hosts that are both near by.

use super::*;

const MSS: u16 = 1_460;
/// The longest super-segment of such segments, in bytes.
const BURST: u64 = 44 * 1_460;
/// What both hosts scale their windows by.
const SHIFT: u8 = 7;

/// A client that sends whatever the gateway's window lets it, and a server that acknowledges all.
struct Upload {
    table: Table,
    /// The offset up to which the client has sent, and up to which it may.
    sent: u64,
    edge: u64,
    /// How many bytes the client lets be in flight.
    congestion: u64,
    /// The offset up to which the gateway has acknowledged.
    acknowledged: u64,
    /// How the gateway scales what it says to the client.
    shift: u8,
    /// Bare acknowledgments to the client.
    acknowledgments: usize,
}

impl Upload {
    /// With `others` open flows beside it.
    fn beside(others: u16) -> Upload {
        let mut table = Table::new(Config::default());
        let scaled = Some(SHIFT);
        table.options = TcpOptions { mss: Some(MSS), window_scale: scaled, ..table.options };
        for port in 0..others {
            let options = table.options.clone();
            let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
            let syn = TcpHeader { src_port: 10_000 + port, options: options.clone(), ..syn };
            table.send(Side::Lan, syn, b"");
            let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
            let synack = TcpHeader { dst_port: 10_000 + port, options, ..synack };
            table.send(Side::Satellite, synack, b"");
            let ack = Table::segment(Side::Lan, 1, 1, Flags::ACK);
            table.send(Side::Lan, TcpHeader { src_port: 10_000 + port, ..ack }, b"");
        }
        let options = table.options.clone();
        let syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
        table.send(Side::Lan, TcpHeader { options: options.clone(), ..syn }, b"");
        table.now += Duration::from_micros(20);
        let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        let sent = table.send(Side::Satellite, TcpHeader { options, ..synack }, b"");
        let shift = sent[0].tcp.options.window_scale.expect("agreed on");
        table.now += Duration::from_micros(20);
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), b"");
        Upload {
            table,
            sent: 1,
            edge: 40_000,
            congestion: u64::MAX,
            acknowledged: 1,
            shift,
            acknowledgments: 0,
        }
    }

    /// A round of `span`: the client fills its window, and the server acknowledges at its end.
    fn round(&mut self, span: Duration) {
        let mut delivered = 0;
        let edge = self.edge.min(self.acknowledged.saturating_add(self.congestion));
        while self.sent < edge {
            let len = BURST.min(edge - self.sent);
            let data = Table::segment(Side::Lan, self.sent, 1, Flags::ACK);
            self.sent += len;
            let sent = self.table.send(Side::Lan, data, &vec![7; len as usize]);
            delivered = delivered.max(self.hear(&sent));
        }
        let sent = self.table.wait(span);
        delivered = delivered.max(self.hear(&sent));
        while delivered > 0 {
            let ack = Table::segment(Side::Satellite, 1, delivered, Flags::ACK);
            let sent = self.table.send(Side::Satellite, ack, b"");
            delivered = self.hear(&sent);
        }
    }

    /// Both hosts get what was sent: one past the last byte that the server has, if it got any.
    fn hear(&mut self, sent: &[Transmit]) -> u64 {
        let mut delivered = 0;
        for sent in sent {
            if sent.to == Side::Satellite && sent.payload_len() > 0 {
                let end = sent.tcp.seq + sent.payload_len() as u64;
                delivered = delivered.max(offset(end));
            } else if sent.to == Side::Lan {
                let next = offset(sent.tcp.ack);
                self.edge = self.edge.max(next + (u64::from(sent.tcp.window) << self.shift));
                self.acknowledged = self.acknowledged.max(next);
                self.acknowledgments += 1;
            }
        }
        delivered
    }

    fn window(&self) -> u64 {
        self.edge - self.sent
    }
}

/// Where in the client's stream it stands.
fn offset(seq: SeqNum) -> u64 {
    u64::from(seq.0.wrapping_sub(CLIENT_ISN.0))
}

#[test]
fn a_window_opens_by_whole_super_segments() {
    let mut upload = Upload::beside(0);
    for _ in 0..40 {
        upload.round(Duration::from_micros(50));
    }
    let (before, acknowledged) = (upload.sent, upload.acknowledgments);
    for _ in 0..10 {
        upload.round(Duration::from_micros(50));
        // The field's unit rounds it up.
        let beyond = (upload.edge - 1) % BURST;
        assert!(beyond < 1 << upload.shift, "{beyond} bytes behind the last whole one");
    }
    let bursts = (upload.sent - before) / BURST;
    assert!(bursts >= 20, "{bursts}");
    // An acknowledgment for two, or for what the window has opened by.
    let acknowledgments = (upload.acknowledgments - acknowledged) as u64;
    assert!(acknowledgments <= bursts, "{acknowledgments} for {bursts}");
}

#[test]
fn a_small_congestion_window_is_acknowledged_as_a_whole() {
    let mut upload = Upload::beside(63);
    upload.congestion = 24 * u64::from(MSS);
    for _ in 0..100 {
        upload.round(Duration::from_millis(1));
    }
    // As many segments at a time as it lets be in flight, each time with one acknowledgment.
    let sent = upload.sent / upload.congestion;
    assert!(sent >= 90, "{sent} times in 100 ms");
    assert!(upload.acknowledgments as u64 <= sent + 10, "{} for {sent}", upload.acknowledgments);
}

#[test]
fn many_flows_share_what_hosts_near_by_are_promised() {
    let window = |others, span| {
        let mut upload = Upload::beside(others);
        (0..60).for_each(|_| upload.round(span));
        upload.window()
    };
    let near = Duration::from_micros(50);
    let [alone, shared] = [0, 100].map(|others| window(others, near));
    assert!(alone > 1 << 20, "{alone}");
    assert!((BURST..=136 << 10).contains(&shared), "{shared}");
    let far = window(100, Duration::from_millis(100));
    assert!(far > 1 << 20, "a link's window is its own matter: {far}");
}
