//! Connections that are forwarded and miss bytes that nobody has any more, and all that looks like
//! it.

use super::*;
use Side::{Lan, Satellite};
use bentpipe_core::wire::SackBlock;

/// What the client has had acknowledged, up to here.
const UNA: u64 = 5_001;
/// What the server expects.
const MISSING: u64 = 2_001;
/// What the server has had acknowledged, and the client expects.
const REPLY: u64 = 301;

/// A gateway that begins when the connection is under way.
fn begun_anew() -> Table {
    Table::new(Config::default())
}

fn data(seq: u64) -> TcpHeader {
    Table::segment(Lan, seq, REPLY, Flags::ACK)
}

fn answer(ack: u64) -> TcpHeader {
    Table::segment(Satellite, REPLY, ack, Flags::ACK)
}

/// A report of one block.
fn sacking(mut tcp: TcpHeader, left: u64, right: u64) -> TcpHeader {
    let (left, right) = (CLIENT_ISN + left, CLIENT_ISN + right);
    tcp.options.sack.push(SackBlock { left, right });
    tcp
}

impl Table {
    /// A segment that nobody here knows is forwarded; what is sent besides.
    #[allow(clippy::needless_pass_by_value)]
    pub(super) fn pass(&mut self, from: Side, tcp: TcpHeader, payload: &[u8]) -> Vec<Transmit> {
        let verdict = self.gateway.handle_packet(
            self.now,
            from,
            &Self::ip(from),
            &tcp,
            Payload::Bytes(payload),
        );
        assert_eq!(verdict, Disposition::Forward(Reason::UnknownFlow), "{tcp:?}");
        self.sent()
    }

    /// The client's timer expires again and again, doubled each time, and what is sent is answered.
    /// What the gateway sends, and when.
    fn time_out(
        &mut self,
        times: u32,
        mut send: impl FnMut(u32) -> TcpHeader,
        mut answer: impl FnMut(u32) -> Option<TcpHeader>,
    ) -> Vec<(Duration, Transmit)> {
        let mut sent = Vec::new();
        let began = self.now;
        for time in 0..times {
            let mut take = |now: Instant, out: Vec<Transmit>| {
                sent.extend(out.into_iter().map(|out| (now.saturating_since(began), out)));
            };
            let out = self.pass(Lan, send(time), &[7; 1000]);
            take(self.now, out);
            let out = self.wait(Duration::from_millis(600));
            take(self.now, out);
            if let Some(tcp) = answer(time) {
                let out = self.pass(Satellite, tcp, b"");
                take(self.now, out);
            }
            let out = self.wait(Duration::from_millis(3_200 << time) - Duration::from_millis(600));
            take(self.now, out);
        }
        sent
    }

    fn assert_untouched(&self, sent: &[(Duration, Transmit)]) {
        assert!(sent.is_empty(), "{sent:?}");
        assert_eq!(self.gateway.summary().forwarded_resets, 0);
    }
}

/// Where a gateway crashed that had acknowledged 3,000 bytes which the server has never seen.
#[test]
fn both_hosts_are_reset_just_where_they_expect_the_next_byte() {
    let mut table = begun_anew();
    let sent = table.time_out(4, |_| data(UNA), |_| Some(answer(MISSING)));
    let resets: Vec<_> = sent.iter().map(|(at, out)| (*at, out.to, &out.tcp)).collect();
    let [(at, Satellite, server), (_, Lan, client)] = resets[..2] else { panic!("{resets:?}") };
    assert_eq!((server.seq, client.seq), (CLIENT_ISN + MISSING, SERVER_ISN + REPLY));
    for tcp in [server, client] {
        assert!(tcp.has(Flags::RST) && !tcp.has(Flags::SYN), "{tcp:?}");
    }
    assert_eq!((server.src_port, server.dst_port), (4000, 80));
    assert_eq!((client.src_port, client.dst_port), (80, 4000));
    assert_eq!((sent[0].1.ip.src, sent[0].1.ip.dst), (Table::ip(Lan).src, Table::ip(Lan).dst));
    assert_eq!((sent[1].1.ip.src, sent[1].1.ip.dst), (Table::ip(Lan).dst, Table::ip(Lan).src));
    assert!(sent.iter().all(|(_, out)| out.ip.hop_limit == 60 && out.payload_len() == 0));
    // The third time after 9.6 s, the fourth after 22.4.
    assert!((17..25).contains(&at.as_secs()), "{at:?}");
    assert_eq!(table.gateway.summary().forwarded_resets, 1);
}

/// As resets may be lost, they are repeated, but not for ever.
#[test]
fn resets_follow_repetitions_a_few_times() {
    let mut table = begun_anew();
    let sent = table.time_out(8, |_| data(UNA), |_| Some(answer(MISSING)));
    assert_eq!(sent.len(), 2 * 3, "{sent:?}");
    assert_eq!(table.gateway.summary().forwarded_resets, 1);
}

/// Resets for a FIN alone behind `missing` bytes, repeated at 0, 4, 12, 28, … s.
fn resets_for_a_fin(missing: u64, times: u32) -> usize {
    let mut table = begun_anew();
    let fin = TcpHeader { flags: Flags::ACK | Flags::FIN, ..data(UNA) };
    let mut resets = 0;
    for time in 0..times {
        table.pass(Lan, fin.clone(), b"");
        resets += table.pass(Satellite, answer(UNA - missing), b"").len();
        table.wait(Duration::from_secs(4 << time));
    }
    resets
}

#[test]
fn a_fin_alone_is_repeated_like_data() {
    assert_eq!(resets_for_a_fin(400, 3), 0, "not after 12 s");
    assert_eq!(resets_for_a_fin(400, 4), 2, "but after 28");
}

/// A router may drop what is missing as too long, and its errors may be lost.
#[test]
fn what_is_longer_than_all_that_passes_may_still_be_sent() {
    assert_eq!(resets_for_a_fin(1227, 4), 0, "not after 28 s");
    assert_eq!(resets_for_a_fin(1227, 5), 2, "but after 60");
}

/// Both directions have lost bytes, so that neither host's number is what the other one expects.
#[test]
fn what_sack_reports_of_the_repeated_segment_is_an_answer() {
    let mut table = begun_anew();
    let far = Table::segment(Satellite, REPLY + 4_000, MISSING, Flags::ACK);
    let report = sacking(far.clone(), UNA, UNA + 1000);
    let sent = table.time_out(4, |_| data(UNA), |_| Some(report.clone()));
    assert_eq!(sent[0].1.tcp.seq, CLIENT_ISN + MISSING);
    assert_eq!(sent[1].1.tcp.seq, SERVER_ISN + REPLY, "as the client itself says");
    // Without it, or of another segment, it might be anybody's.
    let other = sacking(far.clone(), UNA + 1, UNA + 1000);
    for answer in [far, other] {
        let mut table = begun_anew();
        let sent = table.time_out(6, |_| data(UNA), |_| Some(answer.clone()));
        table.assert_untouched(&sent);
    }
}

/// Two times are not enough, nor is a short time, however often.
#[test]
fn it_takes_three_times_and_seventeen_seconds() {
    let mut table = begun_anew();
    for _ in 0..16 {
        assert!(table.pass(Lan, data(UNA), b"x").is_empty());
        table.wait(Duration::from_secs(1));
        assert!(table.pass(Satellite, answer(MISSING), b"").is_empty());
    }
    let mut table = begun_anew();
    for _ in 0..2 {
        assert!(table.pass(Lan, data(UNA), b"x").is_empty());
        assert!(table.pass(Satellite, answer(MISSING), b"").is_empty());
        table.wait(Duration::from_secs(20));
    }
}

/// A gateway that leaves the connection to its hosts still delivers what it holds, now and then
/// after a long fade. So does any other holder: it passes here.
#[test]
fn as_long_as_somebody_sends_what_is_missing_nothing_is_lost() {
    let mut table = begun_anew();
    for time in 0..40 {
        table.pass(Lan, data(UNA), &[7; 1000]);
        table.pass(Satellite, answer(MISSING), b"");
        table.wait(Duration::from_secs(3));
        if time % 3 == 0 {
            table.pass(Lan, data(MISSING), &[7; 1000]);
            table.pass(Satellite, answer(MISSING), b"");
        }
    }
    assert_eq!(table.gateway.summary().forwarded_resets, 0);
}

#[test]
fn as_long_as_the_receiver_makes_progress_nothing_is_lost() {
    let mut table = begun_anew();
    let sent = table.time_out(6, |_| data(UNA), |time| Some(answer(MISSING + u64::from(time / 2))));
    table.assert_untouched(&sent);
    // What comes with data counts for this, too.
    let mut table = begun_anew();
    for time in 0..6 {
        table.pass(Lan, data(UNA), &[7; 1000]);
        assert!(table.pass(Satellite, answer(MISSING), b"").is_empty());
        table.wait(Duration::from_secs(6));
        let more = Table::segment(Satellite, REPLY + 77, MISSING + time + 1, Flags::ACK);
        assert!(table.pass(Satellite, more, b"reply").is_empty());
        table.pass(Satellite, answer(MISSING), b"");
    }
    assert_eq!(table.gateway.summary().forwarded_resets, 0);
}

/// One who reads slowly has no room for what a leaving gateway holds for him.
#[test]
fn a_closed_window_is_no_gap() {
    let mut table = begun_anew();
    let closed = TcpHeader { window: 0, ..answer(MISSING) };
    let sent = table.time_out(6, |_| data(UNA), |_| Some(closed.clone()));
    table.assert_untouched(&sent);
    // It opens: from now on it counts.
    let sent = table.time_out(4, |_| data(UNA), |_| Some(answer(MISSING)));
    assert_eq!(sent.len(), 2);
}

/// RFC 1122, 4.2.3.6, and RFC 9293, 3.8.6.1: below what the receiver expects, or at it.
#[test]
fn keep_alives_and_probes_of_a_window_are_no_repetitions() {
    for (seq, len, ack) in [(UNA - 1, 0, UNA), (UNA - 1, 1, UNA), (UNA, 1, UNA)] {
        let mut table = begun_anew();
        for _ in 0..40 {
            table.pass(Lan, data(seq), &[7; 1][..len]);
            assert!(table.pass(Satellite, answer(ack), b"").is_empty());
            table.wait(Duration::from_secs(5));
        }
        assert_eq!(table.gateway.summary().forwarded_resets, 0);
    }
}

/// RFC 8985, 7: the last segment is sent once more when nothing has come, and then its timer
/// expires. RFC 2018, 8: so it does when a receiver has thrown away what it had reported.
#[test]
fn a_tail_loss_probe_and_reneging_are_followed_by_what_is_missing() {
    let mut table = begun_anew();
    for _ in 0..20 {
        table.pass(Lan, data(UNA), &[7; 1000]);
        table.pass(Satellite, sacking(answer(MISSING), UNA, UNA + 1000), b"");
        table.wait(Duration::from_secs(2));
        table.pass(Lan, data(UNA), &[7; 1000]);
        table.pass(Satellite, answer(MISSING), b"");
        table.wait(Duration::from_secs(7));
        table.pass(Lan, data(MISSING), &[7; 1000]);
    }
    assert_eq!(table.gateway.summary().forwarded_resets, 0);
}

#[test]
fn packets_that_come_twice_or_late_are_no_repetitions() {
    let mut table = begun_anew();
    for _ in 0..8 {
        table.pass(Lan, data(UNA), &[7; 1000]);
        table.pass(Satellite, answer(MISSING), b"");
    }
    // Long after that a copy of an acknowledgment.
    table.wait(Duration::from_secs(20));
    assert!(table.pass(Satellite, answer(MISSING), b"").is_empty());
    assert_eq!(table.gateway.summary().forwarded_resets, 0);
}

/// Fault seed 2869776: another gateway holds what is missing, and repeats it with all that follows.
/// Twice the first segments are lost, and once more behind an outage in which nobody is heard.
/// Fault seed 2082428: its timer had come to its longest time in the outage, and the first segments
/// are lost twice behind that.
#[test]
fn an_outage_is_no_time_in_which_nobody_has_sent_what_is_missing() {
    for (waits, on) in [([2, 17, 2], &[2, 4][..]), ([17, 2, 2], &[2, 4]), ([1, 15, 8], &[8])] {
        let mut table = begun_anew();
        let mut repeat = |wait| {
            let mut sent = table.pass(Lan, data(UNA), &[7; 1000]);
            sent.extend(table.pass(Satellite, answer(MISSING), b""));
            table.wait(Duration::from_secs(wait));
            sent.len()
        };
        assert_eq!(waits.map(&mut repeat), [0, 0, 0]);
        // It goes on without one.
        let resets: usize = on.iter().map(|wait| repeat(*wait)).sum();
        assert_eq!((resets, repeat(0)), (0, 2), "{waits:?}");
    }
}

/// One direction takes another path, from the beginning or from some moment on.
#[test]
fn who_sees_one_direction_resets_nobody() {
    let mut table = begun_anew();
    let sent = table.time_out(8, |_| data(UNA), |_| None);
    table.assert_untouched(&sent);
    let sent = table.time_out(2, |_| data(UNA), |_| Some(answer(MISSING)));
    table.assert_untouched(&sent);
    let sent = table.time_out(5, |_| data(UNA), |_| None);
    table.assert_untouched(&sent);
    // And the other one alone.
    let mut table = begun_anew();
    for _ in 0..50 {
        table.wait(Duration::from_secs(1));
        let sent = table.pass(Satellite, answer(MISSING), b"");
        assert!(sent.iter().all(|out| !out.tcp.has(Flags::RST)), "{sent:?}");
    }
}

/// The client's segments come through here, but its retransmissions of what is missing do not; what
/// the server says besides shows that it gets them.
#[test]
fn acknowledgments_that_are_overtaken_show_nothing() {
    let mut table = begun_anew();
    for time in 0..12 {
        table.pass(Lan, data(UNA), &[7; 1000]);
        table.pass(Satellite, answer(MISSING + 500 * (time % 2)), b"");
        table.wait(Duration::from_secs(4));
    }
    assert_eq!(table.gateway.summary().forwarded_resets, 0);
}

/// Fault seed 1373484: a gateway beyond this one holds what is missing, and the server's packets
/// pass it by. It takes what the client sends, and repeats what it takes for missing: the server
/// answers that, and says that it has it (RFC 2883).
#[test]
fn an_answer_to_what_somebody_else_has_sent_is_none() {
    let mut table = begun_anew();
    let duplicate = sacking(answer(MISSING), MISSING - 1_400, MISSING - 800);
    let sent = table.time_out(8, |_| data(UNA), |_| Some(duplicate.clone()));
    table.assert_untouched(&sent);
    // When it is heard no more, the time begins anew.
    let sent = table.time_out(4, |_| data(UNA), |_| Some(answer(MISSING)));
    let at: Vec<_> = sent.iter().map(|(at, _)| at.as_secs()).collect();
    assert!(matches!(at[..], [17..25, 17..25]), "{at:?}");
    // What has come twice itself lies above.
    let mut table = begun_anew();
    let twice = sacking(sacking(answer(MISSING), UNA, UNA + 1_000), UNA, UNA + 1_000);
    let sent = table.time_out(4, |_| data(UNA), |_| Some(twice.clone()));
    assert_eq!(sent.len(), 2);
}

/// RFC 5961: whoever does not see the traffic must not be able to end a connection by guessing a
/// window.
#[test]
fn forged_answers_to_a_client_that_waits_reset_nobody() {
    let mut table = begun_anew();
    // A fade: the client repeats what it has sent, and nobody answers but the attacker.
    let sent = table.time_out(
        8,
        |_| data(UNA),
        |time| Some(Table::segment(Satellite, REPLY + 1 + u64::from(time), MISSING, Flags::ACK)),
    );
    table.assert_untouched(&sent);
    let mut table = begun_anew();
    let sent = table.time_out(
        8,
        |_| data(UNA),
        |_| Some(sacking(Table::segment(Satellite, 1 << 30, MISSING, Flags::ACK), UNA - 1, UNA)),
    );
    table.assert_untouched(&sent);
}

/// The server answers whatever is sent to it in the client's name.
#[test]
fn forged_data_that_the_server_answers_resets_nobody() {
    let mut table = begun_anew();
    let forged = |_| Table::segment(Lan, UNA, REPLY - 1, Flags::ACK);
    let sent = table.time_out(8, forged, |_| Some(answer(MISSING)));
    table.assert_untouched(&sent);
}

#[test]
fn a_connection_that_begins_anew_has_nothing_to_do_with_the_former() {
    let mut table = begun_anew();
    for flags in [Flags::RST, Flags::RST | Flags::ACK, Flags::SYN | Flags::ACK] {
        let sent = table.time_out(2, |_| data(UNA), |_| Some(answer(MISSING)));
        table.assert_untouched(&sent);
        table.pass(Satellite, Table::segment(Satellite, REPLY, MISSING, flags), b"");
        let sent = table.time_out(2, |_| data(UNA), |_| Some(answer(MISSING)));
        table.assert_untouched(&sent);
        table.pass(Satellite, Table::segment(Satellite, REPLY, MISSING, flags), b"");
    }
}

/// What an operator has excluded is none of our business.
#[test]
fn the_policy_is_heeded_in_either_direction() {
    use crate::policy::{Action, Policy, Rule};
    let rule = |port: &str, action| {
        let port = vec![port.parse().unwrap()];
        Policy {
            rules: vec![Rule { port, action, ..Rule::default() }],
            observe: false,
            ..Policy::default()
        }
    };
    for (policy, resets) in [
        (rule("80", Action::Forward), 0),
        (rule("4000", Action::Forward), 0),
        (rule("80", Action::Observe), 0),
        (Policy { observe: true, ..Policy::default() }, 0),
        (rule("443", Action::Forward), 2),
    ] {
        let mut table = Table::new(Config { policy, ..Config::default() });
        let sent = table.time_out(4, |_| data(UNA), |_| Some(answer(MISSING)));
        assert_eq!(sent.len(), resets);
    }
}

/// Connections that make progress take no room, others only so much.
#[test]
fn what_is_kept_is_bounded_and_sound_connections_keep_nothing() {
    let mut table = begun_anew();
    let lan = Table::ip(Lan);
    let of = |host: u16, ip: IpHeader, src: bool| {
        let [high, low] = host.to_be_bytes();
        let client = IpAddr::from([10, 1, high, low]);
        if src { IpHeader { src: client, ..ip } } else { IpHeader { dst: client, ..ip } }
    };
    for host in 0..3_000 {
        table.give(Lan, &of(host, lan, true), &data(UNA), b"x");
        table.give(Satellite, &of(host, Table::ip(Satellite), false), &answer(UNA + 1), b"");
    }
    assert_eq!(table.gateway.kept_of_forwarded(), 0);
    // One that is stuck keeps its place in a flood.
    table.pass(Lan, data(UNA), b"x");
    table.pass(Satellite, answer(MISSING), b"");
    for second in 0..20 {
        for host in 0..3_000 {
            table.give(Lan, &of(host, lan, true), &data(u64::from(host)), b"x");
        }
        assert_eq!(table.gateway.kept_of_forwarded(), 2_048, "second {second}");
        table.wait(Duration::from_secs(1));
    }
    let sent = table.time_out(3, |_| data(UNA), |_| Some(answer(MISSING)));
    assert_eq!(sent.len(), 2);
}
