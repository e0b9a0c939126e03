//! Flows that are released while they live: routes that change, and a gateway that is stopped.

use super::*;
use bentpipe_core::units::Bytes;
use std::collections::BTreeSet;

impl Table {
    /// An open flow of hosts with timestamps, and `bytes` from the client that the server has not
    /// acknowledged.
    fn with_backlog(bytes: &[u8]) -> Table {
        Table::holding(bytes, Config::default())
    }

    fn holding(bytes: &[u8], config: Config) -> Table {
        let mut table = Table::new(config);
        table.options = Table::stamped();
        table.open();
        let data = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 502);
        table.send(Side::Lan, data, bytes);
        assert!(table.gateway.held() >= bytes.len());
        table
    }

    /// What becomes of a packet; nothing is sent meanwhile.
    fn fate(&mut self, from: Side, tcp: &TcpHeader, payload: &[u8]) -> Disposition {
        let payload = Payload::Bytes(payload);
        self.gateway.handle_packet(self.now, from, &Self::ip(from), tcp, payload)
    }

    /// A segment that echoes `echo`.
    fn echoing(from: Side, seq: u64, ack: u64, value: u32, echo: u32) -> TcpHeader {
        let mut tcp = Self::segment(from, seq, ack, Flags::ACK);
        tcp.options.timestamps = Some(Timestamps { value, echo });
        tcp
    }
}

fn data_to(side: Side, sent: &[Transmit]) -> Vec<(u32, usize)> {
    let base = if side == Side::Satellite { CLIENT_ISN } else { SERVER_ISN };
    sent.iter()
        .filter(|transmit| transmit.to == side && transmit.payload_len() > 0)
        .map(|transmit| (transmit.tcp.seq.distance_from(base) as u32, transmit.payload_len()))
        .collect()
}

fn resets_to(side: Side, sent: &[Transmit]) -> Vec<SeqNum> {
    sent.iter()
        .filter(|transmit| transmit.to == side && transmit.tcp.has(Flags::RST))
        .map(|transmit| transmit.tcp.seq)
        .collect()
}

/// G01-W-3 and G01-D-19: the other direction's packets show a change of route. Nothing is held: the
/// hosts go on between themselves at once.
#[test]
fn a_flow_that_holds_nothing_is_released_when_its_route_changes() {
    let mut table = Table::new(Config::default());
    table.options = Table::stamped();
    table.open();
    // The client echoes what the server can only have sent on another path.
    for value in 503..505 {
        let ack = Table::echoing(Side::Lan, 1, 1, value, 9_000);
        assert_eq!(table.fate(Side::Lan, &ack, b""), Disposition::Consumed);
    }
    assert_eq!(table.gateway.flows(), 0);
    assert_eq!(table.gateway.summary().route_changes, 1);
    assert_eq!(table.gateway.summary().released(Release::Route), 1);
    let next = Table::echoing(Side::Lan, 1, 1, 506, 9_001);
    let verdict = table.fate(Side::Lan, &next, b"more");
    assert_eq!(verdict, Disposition::Forward(Reason::UnknownFlow));
}

/// G01-W-7: data is held when the route from the server changes. It is sent without waiting for
/// acknowledgments, and what the client sends meanwhile is forwarded.
#[test]
fn what_is_held_is_sent_blindly_after_a_one_way_change() {
    let mut table = with_backlog_and_another_route();
    let held = table.gateway.held();
    let new = Table::echoing(Side::Lan, 5001, 1, 506, 9_000);
    assert_eq!(table.fate(Side::Lan, &new, b"new"), Disposition::Forward(Reason::Route));
    assert_eq!(table.gateway.held(), held, "what is forwarded is not held");
    let sent = data_to(Side::Satellite, &table.wait(Duration::from_secs(20)));
    for offset in [1, 1449, 2897, 4345] {
        let times = sent.iter().filter(|(seq, _)| *seq == offset).count();
        assert!((2..=5).contains(&times), "{offset} sent {times} times: {sent:?}");
    }
    assert_eq!(table.gateway.flows(), 1, "nobody knows whether it arrived");
    // The server has acknowledged all to the client, and opened its window beyond our promise.
    let far = Table::echoing(Side::Lan, 100_000, 1, 507, 9_500);
    table.fate(Side::Lan, &far, b"x");
    assert_eq!((table.gateway.flows(), table.gateway.held()), (0, 0));
    assert_eq!(table.gateway.summary().lost_bytes, 0);
}

/// Fault seed 40623429: the server was believed to be heard on another path, and is heard here. It
/// has little room, and is sent the rest for as long as it takes some.
#[test]
fn a_host_that_is_heard_after_all_is_sent_what_it_misses_until_it_has_it() {
    let mut table = with_backlog_and_another_route();
    let mut missing = vec![1, 1449, 2897, 4345];
    for (count, ack) in [1449, 2897, 4345, 5001].into_iter().enumerate() {
        // All rounds are over by then; without a word from the server nothing more is sent.
        table.wait(Duration::from_secs(50));
        assert_eq!(data_to(Side::Satellite, &table.wait(Duration::from_secs(5))), []);
        assert_eq!(table.gateway.flows(), 1);
        let said = 7_000 + count as u32;
        let mut sent =
            table.send(Side::Satellite, Table::echoing(Side::Satellite, 1, ack, said, 502), b"");
        sent.extend(table.wait(Duration::from_secs(4)));
        missing.remove(0);
        let sent: BTreeSet<u32> =
            data_to(Side::Satellite, &sent).iter().map(|(seq, _)| *seq).collect();
        assert_eq!(sent.into_iter().collect::<Vec<_>>(), missing);
    }
    assert_eq!((table.gateway.flows(), table.gateway.held()), (0, 0));
    assert_eq!(table.gateway.summary().lost_bytes, 0);
}

/// Fault seed 90393624: the server is heard after all, and what lets the client go on beyond all
/// that was promised to it is the window of the server's that has passed here. It still misses
/// bytes, and is owed them.
#[test]
fn a_window_that_passes_says_nothing_of_what_arrived() {
    for (heard, owed) in [(true, 1), (false, 0)] {
        let config = Config { max_stream: Some(Bytes::new(60_000)), ..Config::default() };
        let mut table = Table::holding(&[7; 5000], config);
        for value in 503..505 {
            table.send(Side::Lan, Table::echoing(Side::Lan, 5001, 1, value, 9_000), b"");
        }
        if heard {
            let room = Table::echoing(Side::Satellite, 1, 1449, 7_000, 502);
            table.send(Side::Satellite, TcpHeader { window: u16::MAX, ..room }, b"");
        }
        // Behind all that was promised to it, and not behind what the server has room for.
        let next = Table::echoing(Side::Lan, 66_500, 1, 506, 9_001);
        table.fate(Side::Lan, &next, b"more");
        assert_eq!(table.gateway.flows(), owed, "{heard}");
    }
}

/// Fault seed 90515275: the peer gateway has not heard that its SYN-ACK came, and repeats it. The
/// client has ended, and would reset what is still brought for it.
#[test]
fn a_repeated_synack_is_answered_during_a_release() {
    let mut table = Table::with_backlog(&[7; 5000]);
    table.gateway.drain(table.now);
    let mut synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    synack.options = table.options.clone();
    assert_eq!(table.fate(Side::Satellite, &synack, b""), Disposition::Consumed);
    let answers = table.sent();
    assert!(answers.iter().any(|answer| answer.to == Side::Satellite), "{answers:?}");
    assert!(answers.iter().all(|answer| answer.to != Side::Lan), "{answers:?}");
}

/// Fault seed 90501727: another gateway that is left as this one is repeats what it holds, in the
/// server's name, on its timer. That is no answer to what is repeated here, which comes the more
/// seldom the longer nothing is heard.
#[test]
fn what_another_gateway_repeats_does_not_end_a_back_off() {
    let mut table = Table::with_backlog(&[7; 5000]);
    table.gateway.drain(table.now);
    let mut times = 0;
    for second in 0..50 {
        let again = Table::echoing(Side::Satellite, 1, 1, 7_000 + second, 502);
        times += data_to(Side::Satellite, &table.send(Side::Satellite, again, b"again")).len();
        times += data_to(Side::Satellite, &table.wait(Duration::from_secs(1))).len();
    }
    assert!((3..10).contains(&times), "{times} segments in 50 s");
}

/// Fault seed 107627986: the server goes on sending, so the path works again after an outage.
#[test]
fn what_a_host_has_not_sent_before_ends_a_back_off() {
    let mut table = Table::with_backlog(&[7; 5000]);
    table.gateway.drain(table.now);
    table.wait(Duration::from_secs(8));
    for (seq, hastens) in [(1, true), (1, false), (4, true)] {
        let tcp = Table::echoing(Side::Satellite, seq, 1, 7_000 + seq as u32, 502);
        let mut sent = table.send(Side::Satellite, tcp, b"new");
        sent.extend(table.wait(Duration::from_secs(2)));
        assert_eq!(data_to(Side::Satellite, &sent).contains(&(1, 1448)), hastens, "{sent:?}");
        // It backs off again.
        table.wait(Duration::from_secs(8));
    }
}

/// 5,000 bytes are held for the server, whose packets do not come through here any more.
fn with_backlog_and_another_route() -> Table {
    let mut table = Table::with_backlog(&[7; 5000]);
    for value in 503..505 {
        table.send(Side::Lan, Table::echoing(Side::Lan, 5001, 1, value, 9_000), b"");
    }
    table
}

/// Packets went past the gateway. A flow that shows so itself has begun to leave before the gateway
/// is told; it delivers what it holds like any other.
#[test]
fn a_flow_that_is_being_released_is_not_reset_when_all_are() {
    let mut table = with_backlog_and_another_route();
    let held = table.gateway.held();
    table.gateway.release_all(table.now);
    assert_eq!((table.gateway.held(), table.gateway.summary().lost_bytes), (held, 0));
    let sent = table.wait(Duration::from_secs(20));
    assert!(!data_to(Side::Satellite, &sent).is_empty());
    assert!(resets_to(Side::Satellite, &sent).is_empty() && resets_to(Side::Lan, &sent).is_empty());
}

/// G01-W-4: nothing shows that the bytes arrived. The server is reset where bytes are missing, and
/// only there; the client, whose connection may be sound, is not.
#[test]
fn unconfirmed_bytes_are_followed_by_resets_that_only_a_gap_takes() {
    let mut table = with_backlog_and_another_route();
    let sent = table.wait(Duration::from_secs(61));
    let resets = resets_to(Side::Satellite, &sent);
    assert_eq!(resets, [1, 1449, 2897, 4345].map(|at| CLIENT_ISN + at));
    assert_eq!(resets_to(Side::Lan, &sent), []);
    assert_eq!(table.gateway.summary().lost_bytes, 5000);
    assert_eq!((table.gateway.flows(), table.gateway.held()), (0, 0));
}

/// Fault seed 162690817: all that was sent blindly fell into an outage, and the server was heard
/// afterwards. What it repeats says nothing.
#[test]
fn what_a_host_has_not_sent_before_renews_what_is_sent_blindly() {
    let mut table = with_backlog_and_another_route();
    let blindly = table.wait(Duration::from_secs(30));
    assert!(data_to(Side::Satellite, &blindly).contains(&(1, 1448)), "{blindly:?}");
    for (seq, renews) in [(1, true), (1, false), (4, true)] {
        let tcp = Table::echoing(Side::Satellite, seq, 1, 7_000 + seq as u32, 502);
        let mut sent = table.send(Side::Satellite, tcp, b"new");
        sent.extend(table.wait(Duration::from_secs(8)));
        assert_eq!(data_to(Side::Satellite, &sent).contains(&(1, 1448)), renews, "{sent:?}");
    }
}

#[test]
fn an_acknowledgment_of_what_was_never_sent_shows_a_change() {
    let mut table = Table::new(Config::default());
    table.open();
    // The client has got 700 bytes of the server's that did not come through here.
    for _ in 0..2 {
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 701, Flags::ACK), b"");
    }
    assert_eq!(table.gateway.summary().route_changes, 1);
    assert_eq!(table.gateway.flows(), 0);
}

#[test]
fn a_guess_far_away_shows_nothing() {
    let mut table = Table::new(Config::default());
    table.open();
    for ack in [1 << 24, 1 << 30, 3 << 30] {
        table.send(Side::Lan, Table::segment(Side::Lan, 1, ack, Flags::ACK), b"");
        table.send(Side::Lan, Table::segment(Side::Lan, 1 << 29, 701, Flags::ACK), b"");
    }
    assert_eq!(table.gateway.summary().route_changes, 0);
    assert_eq!(table.gateway.flows(), 1);
}

/// The way back is as it was: what is held is acknowledged through us, and then the flow is gone.
#[test]
fn a_drained_flow_is_gone_when_what_it_holds_has_arrived() {
    let mut table = Table::with_backlog(&[7; 3000]);
    table.gateway.drain(table.now);
    assert!(!table.gateway.is_drained());
    let more = Table::echoing(Side::Lan, 3001, 1, 503, 500);
    assert_eq!(table.fate(Side::Lan, &more, b"new"), Disposition::Forward(Reason::Draining));
    // Part of it is lost, and retransmitted.
    let ack = Table::echoing(Side::Satellite, 1, 1449, 600, 502);
    // The client has heard of that, and might have closed: it would answer with a reset.
    assert_eq!(table.fate(Side::Satellite, &ack, b""), Disposition::Consumed);
    let again = data_to(Side::Satellite, &table.wait(Duration::from_secs(5)));
    assert!(again.iter().any(|(seq, _)| *seq == 1449), "{again:?}");
    let all = Table::echoing(Side::Satellite, 1, 3004, 601, 503);
    table.fate(Side::Satellite, &all, b"");
    assert!(table.gateway.is_drained());
    assert_eq!((table.gateway.flows(), table.gateway.held()), (0, 0));
    assert_eq!(table.gateway.summary().released(Release::Drain), 1);
}

/// The client has filled the window that we had left to it. Its server's is open, and says so to
/// nobody but us.
#[test]
fn a_client_hears_that_the_window_is_open_when_its_flow_is_released() {
    let config = Config { max_stream: Some(Bytes::new(4_000)), ..Config::default() };
    let mut table = Table::new(config);
    table.options = Table::stamped();
    table.open();
    let data = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 502);
    let mut sent = table.send(Side::Lan, data, &[7; 3000]);
    sent.extend(table.wait(Duration::from_millis(100)));
    let told = sent.iter().rfind(|one| one.to == Side::Lan).expect("acknowledged").tcp.clone();
    assert_eq!(told.ack, CLIENT_ISN + 3001);
    table.gateway.drain(table.now);
    let part = Table::echoing(Side::Satellite, 1, 1001, 600, 502);
    assert_eq!(table.fate(Side::Satellite, &part, b""), Disposition::Consumed, "not yet");
    let all = Table::echoing(Side::Satellite, 1, 3001, 601, 502);
    assert!(all.window > told.window, "{told:?}");
    assert_eq!(table.fate(Side::Satellite, &all, b""), Disposition::Forward(Reason::Draining));
    assert!(table.gateway.is_drained());
}

#[test]
fn a_drain_has_a_limit_and_says_what_was_lost() {
    let mut table = Table::with_backlog(&[7; 3000]);
    table.gateway.drain(table.now);
    let sent = table.wait(Duration::from_millis(60_500));
    assert!(table.gateway.is_drained());
    assert_eq!(table.gateway.summary().lost_bytes, 3000);
    assert_eq!(resets_to(Side::Lan, &sent).len(), 1);
    assert_eq!(resets_to(Side::Satellite, &sent).len(), 1);
}

/// The limit is for a host that takes nothing. One that is slow, as one beyond the satellite whose
/// gateway has gone, gets all.
#[test]
fn a_drain_goes_on_while_a_host_takes_something() {
    let mut table = Table::with_backlog(&[7; 3000]);
    table.gateway.drain(table.now);
    table.wait(Duration::from_secs(50));
    let part = Table::echoing(Side::Satellite, 1, 1449, 600, 502);
    table.fate(Side::Satellite, &part, b"");
    // What it says once more is no progress.
    table.wait(Duration::from_secs(50));
    let same = Table::echoing(Side::Satellite, 1, 1449, 601, 502);
    table.fate(Side::Satellite, &same, b"");
    assert_eq!((table.gateway.is_drained(), table.gateway.summary().lost_bytes), (false, 0));
    table.wait(Duration::from_millis(10_500));
    assert!(table.gateway.is_drained());
    assert_eq!(table.gateway.summary().lost_bytes, 3000 - 1448);
}

/// Fault seed 297010: the other gateway leaves too, and the acknowledgment of what its host has
/// sent past us is lost. The server repeats it from beyond what we still hold. Where that is too
/// far ahead for the client we say it in its place; where it is not, the client may have come there
/// by what was forwarded, and takes nothing from where we are (fault seed 93119985).
#[test]
fn a_lost_acknowledgment_of_what_passed_by_is_repeated() {
    let forwarded = Disposition::Forward(Reason::Draining);
    for (window, again, says_again) in [(2000, Disposition::Consumed, 1), (3000, forwarded, 0)] {
        let mut table = Table::new(Config::default());
        table.options = Table::stamped();
        table.open();
        let room = table.stamp(Table::segment(Side::Lan, 1, 1, Flags::ACK), 502);
        table.send(Side::Lan, TcpHeader { window, ..room.clone() }, b"");
        let data = table.stamp(Table::segment(Side::Satellite, 1, 1, Flags::ACK), 502);
        table.send(Side::Satellite, data, &[7; 3000]);
        table.gateway.drain(table.now);
        let ack = Table::echoing(Side::Satellite, 3001, 4, 600, 503);
        for (fate, says) in [(forwarded, 0), (again, says_again)] {
            let new = Table::echoing(Side::Lan, 1, 1, 503, 500);
            let new = TcpHeader { window, ..new };
            assert!(matches!(table.fate(Side::Lan, &new, b"new"), Disposition::RewriteAck(..)));
            assert_eq!(table.fate(Side::Satellite, &ack, b""), fate, "{window}");
            let sent = table.sent();
            let says_it = |transmit: &&Transmit| {
                transmit.to == Side::Lan && transmit.tcp.ack == CLIENT_ISN + 4
            };
            assert_eq!(sent.iter().filter(says_it).count(), says, "{window}");
            // We repeat the server's data, and that in it.
            table.wait(Duration::from_secs(2));
        }
    }
}

/// Fault seed 94574627: the server has all that is held from another gateway, and has gone on since
/// by more than its window was when we heard it.
#[test]
fn what_is_acknowledged_far_ahead_has_arrived() {
    let mut table = Table::with_backlog(&[7; 5000]);
    table.gateway.drain(table.now);
    // A segment without timestamps is believed no such thing.
    let ahead = Table::echoing(Side::Satellite, 1, 5001 + 70_000, 7_000, 502);
    let forged = TcpHeader { options: TcpOptions::default(), ..ahead.clone() };
    table.fate(Side::Satellite, &forged, b"");
    assert!(table.gateway.held() >= 5000);
    assert_eq!(table.fate(Side::Satellite, &ahead, b""), Disposition::Forward(Reason::Draining));
    assert_eq!((table.gateway.flows(), table.gateway.held()), (0, 0));
    assert_eq!(table.gateway.summary().lost_bytes, 0);
}

/// Fault seed 92147917: what the server says comes through us, and what it hears of the client goes
/// another way for the most part. When it is heard again after an outage, what it misses is not
/// awaited until the timer has run out that has doubled all the time.
#[test]
fn the_first_word_after_an_outage_ends_the_back_off() {
    let mut table = Table::with_backlog(&[7; 5000]);
    let outage = data_to(Side::Satellite, &table.wait(Duration::from_secs(20)));
    assert!((3..16).contains(&outage.len()), "{outage:?}");
    let word = Table::echoing(Side::Satellite, 1, 1, 7_000, 502);
    let mut sent = table.send(Side::Satellite, word.clone(), b"");
    sent.extend(table.wait(Duration::from_secs(3)));
    assert!(data_to(Side::Satellite, &sent).contains(&(1, 1448)), "{sent:?}");
    // One that says so again and again is not answered with as many, nor where the flow is released
    // (fault seed 144293586).
    for leaves in [false, true] {
        if leaves {
            table.gateway.drain(table.now);
        }
        let mut again = 0;
        for _ in 0..50 {
            let answer = table.send(Side::Satellite, word.clone(), b"");
            again += data_to(Side::Satellite, &answer).len();
            again += data_to(Side::Satellite, &table.wait(Duration::from_millis(400))).len();
        }
        assert!(again < 20, "{again} segments in 20 s, {leaves}");
    }
}

/// A gateway that hangs, goes on, and hangs again; or hangs while it is being stopped. What it
/// holds is still delivered.
#[test]
fn a_hang_does_not_cut_what_leaves_or_ends_already() {
    type Act = fn(&mut Table);
    let first: [(&str, Act); 3] = [
        ("a hang", |table| table.gateway.release_all(table.now)),
        ("a drain", |table| table.gateway.drain(table.now)),
        ("a reset", |table| {
            let reset = table.stamp(Table::segment(Side::Lan, 3001, 1, Flags::RST), 503);
            table.send(Side::Lan, reset, b"");
        }),
    ];
    for (name, first) in first {
        let mut table = Table::with_backlog(&[7; 3000]);
        first(&mut table);
        table.wait(Duration::from_millis(300));
        table.gateway.release_all(table.now);
        assert_eq!(table.gateway.summary().lost_bytes, 0, "{name}");
        let sent = table.wait(Duration::from_secs(3));
        assert_eq!(resets_to(Side::Satellite, &sent), [], "{name}");
        assert!(!data_to(Side::Satellite, &sent).is_empty(), "{name}");
        let all = Table::echoing(Side::Satellite, 1, 3001, 600, 502);
        table.send(Side::Satellite, all, b"");
        assert_eq!((table.gateway.held(), table.gateway.summary().lost_bytes), (0, 0), "{name}");
    }
}

/// After a hang nobody knows whether what was held has arrived. If nothing shows it within a
/// minute, both hosts are reset, and the bytes are counted.
#[test]
fn what_a_hang_leaves_unacknowledged_ends_after_a_minute() {
    let mut table = Table::with_backlog(&[7; 3000]);
    table.gateway.release_all(table.now);
    let sent = table.wait(Duration::from_secs(59));
    let resets =
        |sent: &[Transmit]| [Side::Lan, Side::Satellite].map(|side| resets_to(side, sent).len());
    assert_eq!((resets(&sent), table.gateway.flows()), ([0, 0], 1));
    let sent = table.wait(Duration::from_millis(1500));
    assert_eq!((resets(&sent), table.gateway.summary().lost_bytes), ([1, 1], 3000));
}

#[test]
fn a_drained_gateway_splits_nothing_more() {
    let mut table = Table::new(Config::default());
    table.gateway.drain(table.now);
    assert!(table.gateway.is_drained());
    let mut syn = Table::segment(Side::Lan, 0, 0, Flags::SYN);
    syn.options = table.options.clone();
    assert_eq!(table.fate(Side::Lan, &syn, b""), Disposition::Forward(Reason::Draining));
}

/// What a dead server leaves unanswered does not hold up a stop, but where we have added options.
#[test]
fn a_drained_gateway_does_not_wait_for_servers_that_do_not_answer() {
    for (add_options, waits) in [(AddOptions::Never, false), (AddOptions::Always, true)] {
        let mut table = Table::new(Config { add_options, ..Config::default() });
        table.options = Table::stamped();
        table.send(Side::Lan, Table::segment(Side::Lan, 0, 0, Flags::SYN), b"");
        table.gateway.drain(table.now);
        assert_eq!((table.gateway.is_drained(), table.gateway.flows()), (!waits, waits.into()));
        let mut synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
        synack.options = Table::stamped();
        let fate = table.fate(Side::Satellite, &synack, b"");
        assert_eq!(fate == Disposition::Consumed, waits);
    }
}

/// Both hosts fall silent: what is owed is sent once more without waiting, should the server hear
/// us and we not it; then the ordinary retransmissions go on.
#[test]
fn silence_on_both_sides_sends_what_is_held_once() {
    let mut table = Table::with_backlog(&[7; 50_000]);
    let sent = data_to(Side::Satellite, &table.wait(Duration::from_secs(40)));
    for offset in (1..50_000).step_by(1448) {
        assert!(sent.iter().any(|(seq, _)| *seq == offset), "{offset} was never sent: {sent:?}");
    }
    assert_eq!(table.gateway.flows(), 1, "an outage ends no flow");
    assert!(table.gateway.held() >= 50_000);
}

/// The near host is there, and probes the window that we have closed: that says nothing of the far
/// one.
#[test]
fn a_far_host_that_falls_silent_is_sent_what_is_held_whatever_the_near_one_says() {
    let mut table = Table::with_backlog(&[7; 50_000]);
    let mut sent = Vec::new();
    for value in 503..513 {
        sent.extend(table.wait(Duration::from_secs(1)));
        // A probe, and an acknowledgment of what is new to nobody.
        for at in [50_000, 50_001] {
            let segment = Table::echoing(Side::Lan, at, 1, value, 500);
            sent.extend(table.send(Side::Lan, segment, b""));
        }
    }
    let sent = data_to(Side::Satellite, &sent);
    for offset in (1..50_000).step_by(1448) {
        assert!(sent.iter().any(|(seq, _)| *seq == offset), "{offset} was never sent: {sent:?}");
    }
}

/// Fault seed 30013819: it goes on with the server by itself, past what is held, and resets there.
/// It may use its port again, and must not meet the flow then.
#[test]
fn a_host_that_resets_where_its_peer_has_come_to_ends_the_release() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, Flags::ACK), b"owed");
    table.gateway.drain(table.now);
    let past = Table::segment(Side::Lan, 1, 1, Flags::ACK);
    assert!(matches!(table.fate(Side::Lan, &past, &[7; 500]), Disposition::Forward(_)));
    let heard = Table::segment(Side::Satellite, 5, 501, Flags::ACK);
    table.fate(Side::Satellite, &heard, b"");
    // Far from it, in front of it, and there.
    for (seq, ends) in [(900, false), (500, false), (501, true)] {
        let reset = Table::segment(Side::Lan, seq, 0, Flags::RST);
        assert!(matches!(table.fate(Side::Lan, &reset, b""), Disposition::Forward(_)), "{seq}");
        assert_eq!((table.gateway.held() == 0, table.gateway.flows() == 0), (ends, ends), "{seq}");
    }
    assert_eq!(table.gateway.summary().lost_bytes, 0, "nothing of what it has sent");
}

/// The peer gateway has forgotten the flow: what comes has no timestamps, as only the two gateways
/// had agreed on them. A forged segment among others shows nothing.
#[test]
fn bare_segments_are_believed_when_no_others_come() {
    let mut table = Table::with_backlog(&[7; 3000]);
    let bare = Table::segment(Side::Satellite, 1, 1, Flags::ACK);
    for _ in 0..3 {
        assert_eq!(table.fate(Side::Satellite, &bare, b""), Disposition::Consumed);
    }
    assert!(table.gateway.held() > 0);
    table.wait(Duration::from_secs(4));
    table.send(Side::Satellite, bare.clone(), b"");
    table.send(Side::Satellite, bare.clone(), b"");
    let all = Table::segment(Side::Satellite, 1, 3001, Flags::ACK);
    assert_eq!(table.fate(Side::Satellite, &all, b""), Disposition::Consumed);
    assert_eq!((table.gateway.flows(), table.gateway.held()), (0, 0));
    assert_eq!(table.gateway.summary().released(Release::Peer), 1);
}

/// Fault seed 1502478: the peer gateway has left, and its last acknowledgment never reached its
/// host, which repeats what we have long had. Or it is idle, and asks whether the other one is
/// still there.
#[test]
fn bare_segments_that_are_repeated_are_believed_too() {
    for (seq, payload, forwarded) in
        [(1, &b"220 ready"[..], true), (9, b"", true), (1 << 30, b"x", false)]
    {
        let mut table = Table::new(Config::default());
        table.options = Table::stamped();
        table.open();
        let line = table.stamp(Table::segment(Side::Satellite, 1, 1, Flags::ACK), 502);
        table.send(Side::Satellite, line, b"220 ready");
        table.send(Side::Lan, Table::echoing(Side::Lan, 1, 10, 502, 502), b"");
        table.wait(Duration::from_secs(4));
        let mut bare = Table::segment(Side::Satellite, 1, 1, Flags::ACK);
        bare.seq = SERVER_ISN + seq;
        for _ in 0..2 {
            assert_eq!(table.fate(Side::Satellite, &bare, payload), Disposition::Consumed);
        }
        let left = table.fate(Side::Satellite, &bare, payload) != Disposition::Consumed;
        assert_eq!(left, forwarded, "{bare:?}");
        assert_eq!(table.gateway.flows(), usize::from(!forwarded));
    }
}

/// The server has yet to hear what the client was told in its name. What it sends meanwhile must
/// not look too old to the client (RFC 5961, section 5).
#[test]
fn what_is_forwarded_acknowledges_no_less_than_we_have() {
    let mut table = Table::with_backlog(&[7; 5000]);
    // The client has been told of all of them.
    table.gateway.drain(table.now);
    let mut data = table.stamp(Table::segment(Side::Satellite, 1, 1, Flags::ACK), 600);
    let rewritten = |window| {
        let ack = CLIENT_ISN + 5001;
        Disposition::RewriteAck(Reason::Draining, AckRewrite { ack, window })
    };
    assert_eq!(table.fate(Side::Satellite, &data, b"new"), rewritten(55_000));
    // Its window ends where it did, and not before what it is made to acknowledge.
    data.window = 4000;
    assert_eq!(table.fate(Side::Satellite, &data, b"new"), rewritten(0));
    let unchanged = Disposition::Forward(Reason::Draining);
    data.window = 60_000;
    // A guess that the client would not have taken stays one.
    for guess in [SeqNum(CLIENT_ISN.0.wrapping_sub(70_000)), CLIENT_ISN + (3 << 30)] {
        let forged = TcpHeader { ack: guess, ..data.clone() };
        assert_eq!(table.fate(Side::Satellite, &forged, b"new"), unchanged);
    }
    let bare = TcpHeader { flags: Flags::PSH, ..data.clone() };
    assert_eq!(table.fate(Side::Satellite, &bare, b"new"), unchanged);
    // What it says by itself when it has heard more.
    let later = TcpHeader { ack: CLIENT_ISN + 5004, ..data.clone() };
    assert_eq!(
        table.fate(Side::Lan, &Table::echoing(Side::Lan, 5001, 1, 503, 500), b"new"),
        unchanged
    );
    assert_eq!(table.fate(Side::Satellite, &later, b"new"), unchanged);
}

/// Fault seed 1071827: a segment just where the next byte is expected, with an acknowledgment of
/// what nobody has sent, or none at all. A host drops it (RFC 5961, section 5), so what it says
/// reaches nobody in our words: what we still send would look too new, and all that the client
/// sends by itself too old.
#[test]
fn what_a_host_would_not_take_says_nothing_of_a_leaving_flow() {
    for (flags, seq, ack) in [
        (Flags::ACK, 5001, 1 << 30),
        (Flags::ACK | Flags::FIN, 5001, 1 << 30),
        (Flags::ACK, 5001, 3 << 30),
        (Flags::SYN, 20_000, 1),
        (Flags::PSH, 5001, 1),
    ] {
        let mut table = Table::with_backlog(&[7; 5000]);
        table.gateway.drain(table.now);
        let mut forged = Table::echoing(Side::Lan, seq, ack, 1 << 30, 500);
        forged.flags = flags;
        table.send(Side::Lan, forged.clone(), b"forged");
        let sent = table.wait(Duration::from_secs(5));
        let stamps: Vec<_> = sent
            .iter()
            .filter(|sent| sent.to == Side::Satellite && sent.payload_len() > 0)
            .map(|sent| (sent.tcp.options.timestamps.map(|ts| ts.value), sent.tcp.ack))
            .collect();
        assert!(!stamps.is_empty());
        let sound = (Some(502), SERVER_ISN + 1);
        assert!(stamps.iter().all(|stamp| *stamp == sound), "{forged:?}: {stamps:?}");
    }
}

/// Fault seed 140645466: what lies before all that the server has acknowledged it drops, whatever
/// that acknowledges: its FIN, of which the client has yet to hear.
#[test]
fn what_a_host_has_long_had_says_nothing_of_a_leaving_flow() {
    for (seq, flows) in [(101, 1), (5001, 0)] {
        let mut table = Table::with_backlog(&[7; 5000]);
        let all = Table::echoing(Side::Satellite, 1, 5001, 502, 502);
        table.send(Side::Satellite, all, b"");
        let mut fin = Table::echoing(Side::Satellite, 1, 5001, 503, 502);
        fin.flags = Flags::ACK | Flags::FIN;
        table.send(Side::Satellite, fin, &[7; 100]);
        table.gateway.drain(table.now);
        // Behind the FIN: from where the client is, all is over.
        table.send(Side::Lan, Table::echoing(Side::Lan, seq, 102, 600, 503), b"");
        table.wait(Duration::from_millis(10));
        // A RST that is not exact is challenged in the client's name.
        let guess = TcpHeader { window: 0, ..Table::segment(Side::Satellite, 900, 0, Flags::RST) };
        let sent = table.send(Side::Satellite, guess, b"");
        let acked: Vec<SeqNum> = sent.iter().map(|sent| sent.tcp.ack).collect();
        let expected = if flows == 0 { vec![] } else { vec![SERVER_ISN + 101] };
        assert_eq!((table.gateway.flows(), acked), (flows, expected), "{seq}");
    }
}

/// Fault seed 156326968: another gateway may have acknowledged in the server's name what the client
/// retransmits. The server then takes that, and drops what we still hold if it looks older.
#[test]
fn what_is_held_looks_no_older_than_a_retransmission_that_passes() {
    let mut table = Table::with_backlog(&[7; 5000]);
    let answer = Table::echoing(Side::Satellite, 1, 1449, 503, 502);
    table.send(Side::Satellite, answer, &[7; 100]);
    table.gateway.drain(table.now);
    let retransmission = Table::echoing(Side::Lan, 1, 101, 600, 503);
    let fate = table.fate(Side::Lan, &retransmission, &[7; 1448]);
    assert!(matches!(fate, Disposition::Forward(_)), "{fate:?}");
    let sent = table.wait(Duration::from_secs(5));
    let held = sent.iter().filter(|sent| sent.to == Side::Satellite && sent.payload_len() > 0);
    let stamps: BTreeSet<_> = held.map(|sent| sent.tcp.options.timestamps.unwrap().value).collect();
    assert_eq!(stamps, BTreeSet::from([600]));
}

/// Fault seed 156370737: another gateway has acknowledged in the client's name more than a window
/// of the client's beyond what the client has itself. The server takes what the client sends, and
/// drops what we still hold if it looks older.
#[test]
fn what_is_held_looks_no_older_than_what_its_host_sends_a_window_behind() {
    let small = |tcp: TcpHeader| TcpHeader { window: 1000, ..tcp };
    let mut table = Table::new(Config::default());
    table.options = Table::stamped();
    let syn = small(Table::segment(Side::Lan, 0, 0, Flags::SYN));
    table.send(Side::Lan, TcpHeader { options: Table::stamped(), ..syn }, b"");
    let synack = Table::segment(Side::Satellite, 0, 1, Flags::SYN | Flags::ACK);
    table.send(Side::Satellite, TcpHeader { options: Table::stamped(), ..synack }, b"");
    table.send(Side::Lan, small(Table::echoing(Side::Lan, 1, 1, 501, 500)), b"");
    table.send(Side::Satellite, Table::echoing(Side::Satellite, 1, 1, 503, 501), &[7; 3000]);
    for ack in [1001, 2001] {
        table.wait(Duration::from_millis(100));
        table.send(Side::Lan, small(Table::echoing(Side::Lan, 1, ack, 502, 503)), b"");
    }
    table.send(Side::Lan, small(Table::echoing(Side::Lan, 1, 2001, 502, 503)), &[7; 5000]);
    table.gateway.drain(table.now);
    let behind = small(Table::echoing(Side::Lan, 5001, 1, 600, 500));
    let fate = table.fate(Side::Lan, &behind, &[7; 1000]);
    assert!(matches!(fate, Disposition::Forward(_)), "{fate:?}");
    let sent = table.wait(Duration::from_secs(5));
    let held = sent.iter().filter(|sent| sent.to == Side::Satellite && sent.payload_len() > 0);
    let stamps: BTreeSet<_> = held.map(|sent| sent.tcp.options.timestamps.unwrap().value).collect();
    assert_eq!(stamps, BTreeSet::from([600]));
}

/// A segment without data is acceptable where the next byte is expected (RFC 9293, 3.10.7.4), so
/// the server takes what it acknowledges, though the client has been told of more.
#[test]
fn a_bare_acknowledgment_counts_where_its_receiver_stands() {
    for (seq, followed) in [(100, 101), (101, 201)] {
        let mut table = Table::with_backlog(&[7; 5000]);
        let answer = |seq| Table::echoing(Side::Satellite, seq, 101, 503, 502);
        table.send(Side::Satellite, answer(1), &[7; 100]);
        table.gateway.drain(table.now);
        table.send(Side::Satellite, answer(101), &[7; 100]);
        table.send(Side::Lan, Table::echoing(Side::Lan, seq, 201, 600, 503), b"");
        let sent = table.wait(Duration::from_secs(5));
        let held = sent.iter().filter(|sent| sent.to == Side::Satellite && sent.payload_len() > 0);
        let acked: BTreeSet<_> = held.map(|sent| sent.tcp.ack.0).collect();
        assert_eq!(acked, BTreeSet::from([(SERVER_ISN + followed).0]), "{seq}");
    }
}

/// While bytes of the one are held, the other may send many windows past us.
#[test]
fn the_newest_acknowledgment_is_followed_however_much_has_passed() {
    let mut table = Table::with_backlog(&[7; 5000]);
    table.gateway.drain(table.now);
    let mut seen = 0;
    for step in 1..50 {
        let (at, value) = (1 + 50_000 * step, 502 + step as u32);
        table.send(Side::Lan, Table::echoing(Side::Lan, 5001, at, value, 500), b"");
        let sent = table.wait(Duration::from_millis(1500));
        let data = sent.iter().rfind(|sent| sent.to == Side::Satellite && sent.payload_len() > 0);
        let Some(Transmit { tcp, .. }) = data else { continue };
        let said = (tcp.ack, tcp.options.timestamps.map(|ts| ts.value));
        assert_eq!(said, (SERVER_ISN + at, Some(value)));
        seen += 1;
    }
    assert!(seen > 2, "{seen}");
}

/// The way from the server changes while nothing is held, which nobody sees. Then the client sends
/// more than the server's last window, and waits for the answer: the server has long opened its
/// window.
#[test]
fn a_burst_behind_an_unseen_change_goes_out_beyond_the_window() {
    let mut table = Table::new(Config::default());
    table.open();
    let opened = TcpHeader { window: 5000, ..Table::segment(Side::Satellite, 1, 1, Flags::ACK) };
    table.send(Side::Satellite, opened, b"");
    let burst = Table::segment(Side::Lan, 1, 1, Flags::ACK | Flags::FIN);
    let mut sent = table.send(Side::Lan, burst, &[7; 20_000]);
    let within = |(seq, len): &(u32, usize)| *seq as usize + len <= 5001;
    assert!(data_to(Side::Satellite, &sent).iter().all(within));
    sent.extend(table.wait(Duration::from_secs(30)));
    let data = data_to(Side::Satellite, &sent);
    for offset in (1..20_001).step_by(1460) {
        assert!(data.iter().any(|(seq, _)| *seq == offset), "{offset} was never sent: {data:?}");
    }
    let fins = sent.iter().filter(|sent| sent.to == Side::Satellite && sent.tcp.has(Flags::FIN));
    assert!(fins.count() > 0);
    // The server was there all the time, and has read nothing: what it has no room for waits again.
    let closed = TcpHeader { window: 0, ..Table::segment(Side::Satellite, 1, 5001, Flags::ACK) };
    let mut sent = table.send(Side::Satellite, closed.clone(), b"data");
    sent.extend(table.wait(Duration::from_millis(100)));
    // The acknowledgment must not stand where the server would drop it.
    let acked = |sent: &&Transmit| sent.to == Side::Satellite && sent.tcp.ack == SERVER_ISN + 5;
    let answer = sent.iter().find(acked).expect("an acknowledgment");
    assert_eq!((answer.payload_len(), answer.tcp.seq), (0, CLIENT_ISN + 5001));
    let closed = TcpHeader { window: 0, ..Table::segment(Side::Satellite, 5, 5001, Flags::ACK) };
    sent.clear();
    for _ in 0..20 {
        sent.extend(table.send(Side::Satellite, closed.clone(), b""));
        sent.extend(table.wait(Duration::from_secs(1)));
    }
    let data = data_to(Side::Satellite, &sent);
    assert!(data.len() < 20 && data.iter().all(|(seq, _)| *seq == 5001), "{data:?}");
    let open = TcpHeader { window: 60_000, ..Table::segment(Side::Satellite, 5, 5001, Flags::ACK) };
    let mut sent = table.send(Side::Satellite, open, b"");
    for at in [8000, 11_000, 15_000, 20_002] {
        sent.extend(table.wait(Duration::from_secs(10)));
        sent.extend(table.send(
            Side::Satellite,
            Table::segment(Side::Satellite, 5, at, Flags::ACK),
            b"",
        ));
    }
    table.send(Side::Lan, Table::segment(Side::Lan, 20_002, 5, Flags::ACK), b"");
    assert_eq!(table.gateway.held(), 0);
    assert_eq!(table.gateway.summary().route_changes, 0);
}

/// Fault seed 5076025: in an outage both gateways have sent beyond the windows that they knew, and
/// each has taken what came. Each one's acknowledgments stand at the end of the other one's window
/// as it was known before.
#[test]
fn two_that_have_sent_beyond_each_others_windows_hear_each_other() {
    let mut table = Table::new(Config::default());
    table.open();
    let small = TcpHeader { window: 5000, ..Table::segment(Side::Satellite, 1, 1, Flags::ACK) };
    table.send(Side::Satellite, small.clone(), b"");
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 20_000]);
    table.wait(Duration::from_secs(30));
    table.send(Side::Satellite, small, &[8; 3000]);
    table.send(Side::Lan, Table::segment(Side::Lan, 20_001, 3001, Flags::ACK), b"");
    assert!(table.gateway.held() >= 20_000);
    let old = Table::segment(Side::Satellite, 2001, 20_001, Flags::ACK);
    table.send(Side::Satellite, old.clone(), b"forged");
    table.send(Side::Satellite, TcpHeader { seq: old.seq + (3 << 30), ..old.clone() }, b"");
    assert!(table.gateway.held() >= 20_000, "neither data nor what is far off");
    table.send(Side::Satellite, old.clone(), b"");
    assert_eq!(table.gateway.held(), 0);
    // Now its window is known, and the answer stands where it is expected.
    table.wait(Duration::from_secs(1));
    let sent = table.send(Side::Satellite, old, b"");
    assert_eq!(sent.last().map(|sent| sent.tcp.seq), Some(CLIENT_ISN + 20_001), "{sent:?}");
}

/// Fault seed 50123251: the peer gateway has left, and the server's own window is smaller than that
/// gateway's was. The same has happened to the server, which stands where the client's window ends
/// by now, below what has come from it.
#[test]
fn a_host_whose_window_is_smaller_than_its_gateways_is_heard() {
    let mut table = Table::new(Config::default());
    table.open();
    table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 3580]);
    let small = TcpHeader { window: 2000, ..Table::segment(Side::Satellite, 1, 1, Flags::ACK) };
    table.send(Side::Satellite, small, &[8; 3000]);
    let old = Table::segment(Side::Satellite, 2001, 3581, Flags::ACK);
    table.send(Side::Satellite, old.clone(), b"forged");
    table.send(Side::Lan, Table::segment(Side::Lan, 3581, 3001, Flags::ACK), b"");
    assert!(table.gateway.held() >= 3580, "data there is not new");
    table.send(Side::Satellite, old.clone(), b"");
    table.send(Side::Lan, Table::segment(Side::Lan, 3581, 3001, Flags::ACK), b"");
    assert_eq!(table.gateway.held(), 0);
    table.wait(Duration::from_secs(1));
    let sent = table.send(Side::Satellite, old, b"");
    assert_eq!(sent.last().map(|sent| sent.tcp.seq), Some(CLIENT_ISN + 3581), "{sent:?}");
}

/// Fault seed 50547550: the hosts have another connection between the same ports by now, whose
/// handshake has passed. What is held of the old one is nobody's any more, and the other one is not
/// told by its numbers. Seed 70293152: nor is it reset because a host has reset the old one
/// meanwhile.
#[test]
fn another_connection_of_its_ports_ends_a_release() {
    let number = |base: SeqNum| base + 0x7000_0000;
    let (isn, answer) = (number(CLIENT_ISN), number(SERVER_ISN));
    let syn = TcpHeader { seq: isn, ..Table::segment(Side::Lan, 0, 0, Flags::SYN) };
    let synack = TcpHeader {
        seq: answer,
        ack: isn + 1,
        ..Table::segment(Side::Satellite, 0, 0, Flags::SYN | Flags::ACK)
    };
    let ack =
        TcpHeader { seq: isn + 1, ack: answer + 1, ..Table::segment(Side::Lan, 0, 0, Flags::ACK) };
    let forward = Disposition::Forward(Reason::Draining);
    let wrong = TcpHeader { ack: answer + 0x2_0000, ..ack.clone() };
    let other = TcpHeader { ack: isn + 2, ..synack.clone() };
    for (synack, ack, ends) in
        [(&synack, &ack, true), (&synack, &wrong, false), (&other, &ack, false)]
    {
        let mut table = Table::new(Config::default());
        table.open();
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, Flags::ACK), &[7; 5000]);
        table.gateway.drain(table.now);
        assert_eq!(table.fate(Side::Lan, &syn, b""), forward);
        assert_eq!(table.fate(Side::Satellite, synack, b""), forward);
        assert_eq!(table.fate(Side::Lan, ack, b""), forward);
        let lost = table.gateway.summary().lost_bytes;
        let expected = if ends { (0, 5000) } else { (1, 0) };
        assert_eq!((table.gateway.flows(), lost), expected, "{synack:?} {ack:?}");
    }
    // What is owed to the server is nobody's once that has answered.
    let rst = Table::segment(Side::Lan, 1, 0, Flags::RST);
    let forward_unknown = Disposition::Forward(Reason::UnknownFlow);
    for (owed, fin, answered, left) in [
        (5000, false, true, 0),
        (5000, false, false, 1),
        (0, false, false, 0),
        // Fault seed 140071379: its end is owed as its bytes are.
        (0, true, false, 1),
        (0, true, true, 0),
    ] {
        let mut table = Table::new(Config::default());
        table.open();
        table.send(Side::Satellite, Table::segment(Side::Satellite, 1, 1, Flags::ACK), &[7; 3000]);
        let flags = if fin { Flags::ACK | Flags::FIN } else { Flags::ACK };
        table.send(Side::Lan, Table::segment(Side::Lan, 1, 1, flags), &[7; 5000][..owed]);
        table.gateway.drain(table.now);
        assert_eq!(table.fate(Side::Lan, &syn, b""), forward);
        if answered {
            assert_eq!(table.fate(Side::Satellite, &synack, b""), forward);
        }
        let rst = TcpHeader { seq: rst.seq + owed as u64 + u64::from(fin), ..rst.clone() };
        table.fate(Side::Lan, &rst, b"");
        assert_eq!(table.gateway.flows(), left, "{owed} {fin} {answered}");
        // It is no segment of a connection that has ended, which would be reset.
        if answered {
            assert_eq!(table.fate(Side::Lan, &ack, b""), forward_unknown);
        }
    }
}
