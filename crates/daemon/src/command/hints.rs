//! What the flows that there are hint at: told in `status`.

use bentpipe_core::units::Bytes;
use bentpipe_gateway::{FlowView, LegView, Side};

/// So many times a segment must have timed out: what is lost by chance arrives before.
const TIMEOUTS: u64 = 3;
/// So many connections must be stuck.
const STUCK: usize = 2;
/// Less than any full segment (RFC 9293, 3.7.1).
const SMALL: Bytes = Bytes::new(536);

/// Sides towards which full segments seem to vanish: a router's MTU is smaller, and its "too big"
/// does not arrive (RFC 2923, 2.1). Handshakes and small segments pass.
pub(super) fn lines(flows: &[FlowView]) -> String {
    let mut lines = String::new();
    for side in [Side::Lan, Side::Satellite] {
        let legs = || {
            flows.iter().filter_map(|flow| flow.legs).flatten().filter(move |leg| leg.side == side)
        };
        let stuck = legs().filter(is_stuck).count();
        // Somebody's full segments arrive.
        if stuck < STUCK || legs().any(|leg| leg.delivered > SMALL && leg.timeouts == 0) {
            continue;
        }
        let name = side.name();
        lines += &format!(
            "hint: of {stuck} connections every full segment to the {name} side times out, though small ones \
             pass: an MTU on the way may be smaller than hosts are told. Try `mss = 1220` in [{name}]\n"
        );
    }
    lines
}

fn is_stuck(leg: &LegView) -> bool {
    leg.timeouts >= TIMEOUTS && leg.delivered < SMALL && leg.backlog >= SMALL
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::Duration;
    use bentpipe_core::units::Rate;
    use bentpipe_gateway::FlowState;

    fn flow(timeouts: u64, delivered: u64, backlog: u64) -> FlowView {
        let leg = |side, timeouts, delivered, backlog| LegView {
            side,
            srtt: Some(Duration::from_millis(600)),
            rttvar: Duration::ZERO,
            min_rtt: None,
            cwnd: Bytes::new(14_600),
            ssthresh: None,
            in_flight: Bytes::new(0),
            usable_window: Bytes::new(65_535),
            received: Bytes::new(0),
            delivered: Bytes::new(delivered),
            backlog: Bytes::new(backlog),
            retransmissions: timeouts,
            retransmitted: Bytes::new(0),
            timeouts,
            limiter: None,
            goodput: Rate::from_bits_per_sec(0),
        };
        FlowView {
            number: 1,
            opener: "10.0.0.1".parse().unwrap(),
            client: "10.0.0.1:4000".parse().unwrap(),
            server: "10.9.0.1:80".parse().unwrap(),
            state: FlowState::Open,
            age: Duration::from_secs(20),
            idle: Duration::ZERO,
            held: Bytes::new(backlog),
            remote: None,
            legs: Some([
                leg(Side::Lan, 0, 100, 0),
                leg(Side::Satellite, timeouts, delivered, backlog),
            ]),
        }
    }

    #[test]
    fn full_segments_that_vanish_are_told_with_the_key_that_helps() {
        let stuck = flow(4, 200, 50_000);
        let text = lines(&[stuck.clone(), stuck.clone(), flow(0, 300, 0)]);
        assert!(
            text.starts_with("hint: of 2 connections") && text.contains("in [satellite]"),
            "{text}"
        );
        assert_eq!(lines(std::slice::from_ref(&stuck)), "", "one may have another reason");
        assert_eq!(
            lines(&[stuck.clone(), stuck.clone(), flow(0, 1_000_000, 0)]),
            "",
            "others' arrive"
        );
        let lossy = flow(5, 90_000, 50_000);
        assert_eq!(lines(&[lossy.clone(), lossy]), "");
    }
}
