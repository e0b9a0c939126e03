//! RFC 1644's transactions (2.2 and 2.3): which segments cross, and in which states they leave the
//! two ends.

use super::*;
use crate::tcp::transaction::TaoCache;
use std::net::IpAddr;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Two hosts' caches, and the segments that have crossed between them, `>` from the client.
struct Pair {
    config: ConnectionConfig,
    client: TaoCache,
    server: TaoCache,
    seen: Vec<String>,
}

fn said(way: char, tcp: &TcpHeader, len: usize) -> String {
    let mut text = format!("{way} {:?}", tcp.flags.without(Flags::PSH));
    if len > 0 {
        text += &format!(" data {len}");
    }
    let options = &tcp.options;
    for (name, count) in [("CC", options.cc), ("NEW", options.cc_new), ("ECHO", options.cc_echo)] {
        if let Some(count) = count {
            text += &format!(" {name}={count}");
        }
    }
    text
}

impl Pair {
    fn new() -> Pair {
        let config = ConnectionConfig { transactions: true, ..Default::default() };
        let (client, server) = (TaoCache::new(100, 8), TaoCache::new(500, 8));
        Pair { config, client, server, seen: Vec::new() }
    }

    fn call(&mut self, request: &[u8]) -> Host {
        let open = self.client.active(IpAddr::from(SERVER));
        let mut host = Host::connect_transaction(at(0), self.config, SeqNum(9000), open);
        host.write(Payload::Bytes(request));
        host.close();
        host
    }

    fn accept(&mut self, syn: &TcpHeader, payload: &[u8]) -> Host {
        let open = self.server.passive(IpAddr::from(CLIENT), syn);
        let payload = Payload::Bytes(payload);
        Host::accept_transaction(at(0), self.config, SeqNum(77), syn, payload, open).unwrap()
    }

    /// All that one host sends, noted.
    fn sends(&mut self, way: char, host: &mut Host, now: Instant) -> Vec<(TcpHeader, Vec<u8>)> {
        let sent = drain(host, now);
        self.seen.extend(sent.iter().map(|(tcp, bytes)| said(way, tcp, bytes.len())));
        sent
    }

    /// The server answers a request as soon as it has it, and closes.
    fn serve(&mut self, server: &mut Host, reply: &[u8]) {
        if server.readable() > Bytes::ZERO && server.at_end_of_request() {
            read_all(server);
            server.write(Payload::Bytes(reply));
            server.close();
        }
        if let Some(lesson) = server.poll_lesson() {
            self.server.learn(IpAddr::from(CLIENT), lesson);
        }
    }

    /// A whole transaction; the two ends after it, and the trips that the reply took.
    fn transact(&mut self, request: &[u8], reply: &[u8]) -> (Host, Host, u32) {
        let mut client = self.call(request);
        let (syn, payload) = self.sends('>', &mut client, at(0)).pop().unwrap();
        let mut server = self.accept(&syn, &payload);
        let (mut trips, mut replied) = (1, None);
        loop {
            self.serve(&mut server, reply);
            let back = self.sends('<', &mut server, at(trips));
            for (tcp, bytes) in &back {
                client.handle_segment(at(trips), tcp, Payload::Bytes(bytes));
            }
            if client.readable() == Bytes::of_len(reply.len()) {
                replied.get_or_insert(trips as u32 + 1);
            }
            if let Some(lesson) = client.poll_lesson() {
                self.client.learn(IpAddr::from(SERVER), lesson);
            }
            let on = self.sends('>', &mut client, at(trips + 1));
            if back.is_empty() && on.is_empty() {
                return (client, server, replied.expect("a reply"));
            }
            for (tcp, bytes) in &on {
                server.handle_segment(at(trips + 1), tcp, Payload::Bytes(bytes));
            }
            trips += 2;
        }
    }

    fn take_seen(&mut self) -> Vec<String> {
        std::mem::take(&mut self.seen)
    }
}

impl Host {
    fn at_end_of_request(&self) -> bool {
        self.first_to_close.is_some()
    }
}

/// A pair whose caches know each other: the first transaction was with a handshake.
fn acquainted() -> Pair {
    let mut pair = Pair::new();
    let (client, server, trips) = pair.transact(b"request", b"reply");
    assert_eq!((client.state(), server.state()), (State::TimeWait, State::Closed));
    assert_eq!(trips, 4, "the first one takes two round trips");
    assert_eq!(
        pair.take_seen(),
        [
            "> FIN|SYN data 7 NEW=101",
            "< SYN|ACK CC=501 ECHO=101",
            "> ACK CC=101",
            "< FIN|ACK data 5 CC=501",
            "> ACK CC=101",
        ]
    );
    pair
}

#[test]
fn a_minimal_transaction_takes_three_segments() {
    let mut pair = acquainted();
    let (client, server, trips) = pair.transact(b"request", b"reply");
    assert_eq!(trips, 2, "one round trip");
    assert_eq!(
        pair.take_seen(),
        ["> FIN|SYN data 7 CC=102", "< FIN|SYN|ACK data 5 CC=502 ECHO=102", "> ACK CC=102"]
    );
    assert_eq!((client.state(), server.state()), (State::TimeWait, State::Closed));
}

#[test]
fn states_are_half_synchronised_meanwhile() {
    let mut pair = acquainted();
    let mut client = pair.call(b"request");
    assert_eq!((client.state(), client.sends_fin()), (State::SynSent, true));
    let (syn, payload) = drain(&mut client, at(0)).pop().unwrap();
    let mut server = pair.accept(&syn, &payload);
    assert_eq!((server.state(), server.sends_syn()), (State::CloseWait, true));
    assert_eq!(server.poll_event(), Some(Event::Connected));
    assert_eq!(read_all(&mut server), b"request");
    assert!(server.at_end());
    server.write(Payload::Bytes(b"reply"));
    server.close();
    assert_eq!((server.state(), server.sends_syn()), (State::LastAck, true));
    // The SYN is retransmitted with all that went with it.
    let first = drain(&mut server, at(1));
    let timeout = server.poll_timeout().unwrap();
    server.handle_timeout(timeout);
    let mut again = drain(&mut server, timeout);
    again[0].0.options.timestamps = first[0].0.options.timestamps;
    assert_eq!(again, first);
    client.handle_segment(at(2000), &again[0].0, Payload::Bytes(&again[0].1));
    assert_eq!(client.state(), State::TimeWait);
    let (ack, _) = drain(&mut client, at(2000)).pop().unwrap();
    server.handle_segment(at(2001), &ack, Payload::EMPTY);
    assert_eq!((server.state(), server.sends_syn()), (State::Closed, false));
}

#[test]
fn a_client_that_has_lost_its_cache_sends_cc_new() {
    let mut pair = acquainted();
    pair.client = TaoCache::new(7, 8);
    let (_, _, trips) = pair.transact(b"request", b"reply");
    assert_eq!(trips, 4);
    let seen = pair.take_seen();
    assert_eq!(seen[..2], ["> FIN|SYN data 7 NEW=8", "< SYN|ACK CC=502 ECHO=8"]);
    // After that both agree on the lower counts.
    assert_eq!(pair.transact(b"request", b"reply").2, 2);
}

#[test]
fn a_server_whose_cache_is_empty_or_ahead_asks_by_a_handshake() {
    for stale in [None, Some(1000)] {
        let mut pair = acquainted();
        pair.server = TaoCache::new(900, 8);
        if let Some(count) = stale {
            pair.server.learn(IpAddr::from(CLIENT), Lesson::Validated { count });
        }
        assert_eq!(pair.transact(b"request", b"reply").2, 4);
        assert_eq!(
            pair.take_seen()[..3],
            ["> FIN|SYN data 7 CC=102", "< SYN|ACK CC=901 ECHO=102", "> ACK CC=102"]
        );
        assert_eq!(pair.transact(b"request", b"reply").2, if stale.is_some() { 4 } else { 2 });
    }
}

#[test]
fn an_old_duplicate_syn_delivers_nothing() {
    let mut pair = acquainted();
    let mut client = pair.call(b"request");
    let (old, payload) = drain(&mut client, at(0)).pop().unwrap();
    let mut first = pair.accept(&old, &payload);
    assert_eq!(read_all(&mut first), b"request");
    // The same SYN once more, after the server has forgotten the connection.
    let mut ghost = pair.accept(&old, &payload);
    assert_eq!((ghost.state(), ghost.readable()), (State::SynReceived, Bytes::ZERO));
    let (answer, _) = drain(&mut ghost, at(5)).pop().unwrap();
    assert_eq!(said('<', &answer, 0), "< SYN|ACK CC=503 ECHO=102");
    // The client has another connection on these ports by now: it does not answer a former one's
    // SYN-ACK, and its own SYN, when it comes, would be the proof.
    let mut next = pair.call(b"request");
    drain(&mut next, at(5));
    next.handle_segment(at(6), &answer, Payload::EMPTY);
    assert!(drain(&mut next, at(6)).is_empty());
    assert_eq!(next.state(), State::SynSent);
    // And if it has crashed, it refuses.
    pair.client = TaoCache::new(1, 8);
    let mut fresh = pair.call(b"request");
    drain(&mut fresh, at(5));
    fresh.handle_segment(at(6), &answer, Payload::EMPTY);
    let (reset, _) = drain(&mut fresh, at(6)).pop().unwrap();
    assert!(reset.has(Flags::RST));
    ghost.handle_segment(at(7), &reset, Payload::EMPTY);
    assert_eq!((ghost.state(), ghost.readable()), (State::Closed, Bytes::ZERO));
}

#[test]
fn peers_without_it_are_spoken_to_plainly() {
    let mut pair = Pair::new();
    let mut client = pair.call(b"request");
    let (syn, _) = drain(&mut client, at(0)).pop().unwrap();
    let mut server = Host::accept(at(0), ConnectionConfig::default(), SeqNum(5), &syn).unwrap();
    exchange(&mut client, &mut server, at(1));
    assert_eq!(read_all(&mut server), b"request");
    server.write(Payload::Bytes(b"reply"));
    server.close();
    exchange(&mut client, &mut server, at(2));
    assert_eq!(read_all(&mut client), b"reply");
    assert_eq!(client.poll_lesson(), None);
    // A client without it, too.
    let mut client = Host::connect(at(0), ConnectionConfig::default(), SeqNum(1));
    let (syn, payload) = drain(&mut client, at(0)).pop().unwrap();
    let mut server = pair.accept(&syn, &payload);
    exchange(&mut client, &mut server, at(1));
    assert_eq!((client.state(), server.state()), (State::Established, State::Established));
    assert_eq!((client.tcb().unwrap().counts(), server.tcb().unwrap().counts()), (None, None));
}

#[test]
fn what_nobody_answers_goes_plainly_in_the_end() {
    let mut pair = acquainted();
    let mut client = pair.call(b"request");
    let mut sent = Vec::new();
    for _ in 0..3 {
        let deadline = client.poll_timeout().unwrap();
        sent.extend(drain(&mut client, at(0)).iter().map(|(tcp, data)| said('>', tcp, data.len())));
        client.handle_timeout(deadline);
    }
    assert_eq!(sent, ["> FIN|SYN data 7 CC=102", "> FIN|SYN data 7 CC=102", "> SYN"]);
}

#[test]
fn long_requests_and_replies_go_on_behind_the_syn() {
    let mut pair = acquainted();
    let (request, reply) = (vec![1; 10_000], vec![2; 8_000]);
    let (client, server, _) = pair.transact(&request, &reply);
    assert_eq!((client.state(), server.state()), (State::TimeWait, State::Closed));
    let seen = pair.take_seen();
    // The MSS is known: 1460 less 36 bytes of options; those of later segments take 20.
    assert_eq!(seen[0], "> SYN data 1432 CC=102");
    assert_eq!(seen[1], "< SYN|ACK CC=502 ECHO=102");
    assert_eq!(seen[2], "> ACK data 1440 CC=102");
    // A reply in one flight: what does not fit behind the SYN follows.
    pair.transact(b"request", &reply);
    let seen = pair.take_seen();
    assert_eq!(seen[1], "< SYN|ACK data 1424 CC=503 ECHO=103");
    assert_eq!(seen.iter().filter(|said| said.starts_with("< ")).count(), 7);
    assert!(seen[8].starts_with("> "), "all before the client's first acknowledgment: {seen:?}");
}

#[test]
fn time_wait_is_short_and_gives_way() {
    let mut pair = acquainted();
    let (mut client, _, _) = pair.transact(b"request", b"reply");
    let rto = client.tcb().unwrap().sender.rtt().rto();
    assert_eq!(client.poll_timeout(), Some(at(1) + rto * 8));
    // The next transaction from the same port: by its count the server knows it for new.
    let mut host = pair.call(b"again");
    let (syn, payload) = drain(&mut host, at(10)).pop().unwrap();
    let mut server = pair.accept(&syn, &payload);
    read_all(&mut server);
    server.close();
    drain(&mut server, at(11));
    assert_eq!(server.state(), State::LastAck);
    assert!(!server.yields_to(at(12), &syn), "that is its own SYN");
    let mut host = pair.call(b"once more");
    let (next, _) = drain(&mut host, at(12)).pop().unwrap();
    assert!(server.yields_to(at(12), &next));
    assert!(!server.yields_to(at(31_000), &next), "counts may have wrapped");
    client.handle_timeout(at(1) + rto * 8);
    assert_eq!(client.state(), State::Closed);
}

#[test]
fn segments_of_another_count_are_dropped() {
    let mut pair = acquainted();
    let open = pair.client.active(IpAddr::from(SERVER));
    let mut client = Host::connect_transaction(at(0), pair.config, SeqNum(1), open);
    client.write(Payload::Bytes(b"hello"));
    let (syn, payload) = drain(&mut client, at(0)).pop().unwrap();
    let mut server = pair.accept(&syn, &payload);
    exchange(&mut client, &mut server, at(1));
    assert_eq!(read_all(&mut server), b"hello");
    client.write(Payload::Bytes(b"world"));
    let (mut data, bytes) = drain(&mut client, at(2)).pop().unwrap();
    let right = data.options.cc;
    for wrong in [None, Some(7)] {
        data.options.cc = wrong;
        server.handle_segment(at(3), &data, Payload::Bytes(&bytes));
        assert_eq!(server.readable(), Bytes::ZERO);
    }
    data.options.cc = right;
    server.handle_segment(at(4), &data, Payload::Bytes(&bytes));
    assert_eq!(read_all(&mut server), b"world");
}
