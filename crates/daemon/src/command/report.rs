//! What the gateway has done: told at its end, and to whoever asks before.

mod json;

use super::flows::span;
use crate::control::Totals;
use bentpipe_core::units::Rate;
use bentpipe_gateway::{LinkView, Reason, Side, Summary, TakenFor, Traffic};
use std::fmt::{self, Write};

/// The gateway's totals.
pub(super) struct Report {
    pub(super) totals: Totals,
}

/// What the gateway has done since it began, for people.
impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = &self.totals.summary;
        let Summary {
            split,
            closed,
            reset,
            panicked,
            route_changes,
            path_mtu_falls,
            lost_bytes,
            ..
        } = *summary;
        let (forwarded_resets, adopted) = (summary.forwarded_resets, summary.adopted);
        let released = summary.all_released();
        writeln!(
            out,
            "flows split: {split} ({closed} closed, {reset} reset, {released} released)"
        )?;
        if adopted > 0 {
            writeln!(out, "flows split in mid-life: {adopted}")?;
        }
        if panicked > 0 {
            writeln!(out, "flows ended by a defect of the gateway (see its log): {panicked}")?;
        }
        if route_changes > 0 {
            writeln!(out, "flows whose route changed: {route_changes}")?;
        }
        if forwarded_resets > 0 {
            writeln!(out, "connections reset for bytes lost elsewhere: {forwarded_resets}")?;
        }
        if summary.foreign_announcements > 0 {
            let count = summary.foreign_announcements;
            writeln!(out, "announcements of gateways whose pair-key is not ours: {count}")?;
        }
        if path_mtu_falls > 0 {
            writeln!(out, "legs told of a smaller path MTU: {path_mtu_falls}")?;
        }
        let reasons: Vec<String> = Reason::ALL
            .into_iter()
            .filter(|reason| summary.forwarded_flows(*reason) > 0)
            .map(|reason| format!("{}: {}", reason.name(), summary.forwarded_flows(reason)))
            .collect();
        let why = if reasons.is_empty() { "none".into() } else { reasons.join(", ") };
        writeln!(out, "flows forwarded: {why}")?;
        self.not_split(out)?;
        for (from, to) in [(Side::Lan, Side::Satellite), (Side::Satellite, Side::Lan)] {
            let (came, went) = (summary.side(from), summary.side(to));
            writeln!(
                out,
                "{} to {}: {} bytes taken, {} delivered, {} segments ({} bytes) retransmitted, \
                 {} timeouts",
                from.name(),
                to.name(),
                came.received_bytes,
                went.delivered_bytes,
                went.retransmissions,
                went.retransmitted_bytes,
                went.timeouts,
            )?;
        }
        for side in [Side::Lan, Side::Satellite] {
            let discarded = summary.side(side).discarded;
            if discarded > 0 {
                writeln!(out, "from {}: {discarded} segments discarded at a backlog", side.name())?;
            }
        }
        if lost_bytes > 0 {
            writeln!(out, "acknowledged but not delivered, flows reset: {lost_bytes} bytes")?;
        }
        if self.totals.work.refused() > 0 {
            writeln!(out, "packets that the kernel did not take: {}", self.totals.work.refused())?;
        }
        Ok(())
    }
}

impl Report {
    /// The share of the TCP traffic that was forwarded, and why.
    fn not_split(&self, out: &mut impl Write) -> fmt::Result {
        let summary = &self.totals.summary;
        let Traffic { packets, bytes } = summary.all_forwarded();
        if packets == 0 {
            return Ok(());
        }
        let percent = |share: Option<f64>| 100.0 * share.unwrap_or(0.0);
        let Shares { of_packets, of_bytes, of_flows } = Shares::of(summary);
        let reasons: Vec<String> = Reason::ALL
            .into_iter()
            .map(|reason| (reason.name(), summary.forwarded(reason)))
            .filter(|(_, some)| some.packets > 0)
            .map(|(name, some)| format!("{name}: {} packets, {} bytes", some.packets, some.bytes))
            .collect();
        writeln!(
            out,
            "not split: {:.2} % of bytes ({bytes}), {:.2} % of packets ({packets}), {:.2} % of \
             flows; {}",
            percent(of_bytes),
            percent(of_packets),
            percent(of_flows),
            reasons.join("; ")
        )
    }

    /// How the gateway stands, and what it has done, for people.
    pub(super) fn status(&self) -> String {
        let Totals { uptime, held, memory, peer_known, .. } = self.totals;
        let flows: Vec<String> = self
            .totals
            .flows
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(state, count)| format!("{} {}", count, state.name()))
            .collect();
        let flows = if flows.is_empty() { "none".into() } else { flows.join(", ") };
        let (uptime, peer) = (span(uptime), if peer_known { "known" } else { "not seen" });
        format!(
            "running for {uptime}, peer gateway {peer}\n{}\nflows now: {flows}\n\
             held: {} of {} bytes\nacknowledgments over the satellite: {}\n{self}",
            satellite_link(&self.totals.satellite_link),
            held.count(),
            memory.count(),
            self.totals.acknowledgments
        )
    }
}

/// The satellite link in a line.
fn satellite_link(link: &LinkView) -> String {
    let losses = match link.losses {
        TakenFor::Link => "the link's own",
        TakenFor::ToldApart => "told from congestion by the queue",
        TakenFor::Believed => "congestion",
    };
    let mut line = format!("satellite link: losses are {losses}");
    if link.circuit_broken {
        line += ", since it carried less than half of what it was sent (circuit breaker)";
    }
    let megabits = |rate: Rate| rate.bits_per_sec() as f64 / 1e6;
    if let Some(rate) = link.rate.filter(|_| link.told) {
        _ = write!(line, "; {:.3} Mbit/s, as the other gateway says", megabits(rate));
    }
    _ = match (link.used_at, link.rate) {
        (Some(used_at), Some(rate)) if used_at < rate => {
            let [used_at, rate] = [used_at, rate].map(megabits);
            write!(line, "; used at {used_at:.3} of {rate:.3} Mbit/s, as it carries less")
        }
        (Some(used_at), None) => {
            write!(
                line,
                "; used at {:.3} Mbit/s, as much as it was found to carry",
                megabits(used_at)
            )
        }
        _ => Ok(()),
    };
    if let Some(theirs) = link.contradiction {
        _ = write!(
            line,
            "; the other gateway says something else than is configured here: {theirs}"
        );
    }
    line
}

/// What was forwarded, as a share of all TCP that came in; none before anything has.
struct Shares {
    of_packets: Option<f64>,
    of_bytes: Option<f64>,
    of_flows: Option<f64>,
}

impl Shares {
    fn of(summary: &Summary) -> Shares {
        let share = |forwarded: u64, split: u64| {
            let all = forwarded + split;
            (all > 0).then(|| forwarded as f64 / all as f64)
        };
        let (forwarded, split_traffic) = (summary.all_forwarded(), summary.split_traffic);
        Shares {
            of_packets: share(forwarded.packets, split_traffic.packets),
            of_bytes: share(forwarded.bytes, split_traffic.bytes),
            of_flows: share(summary.all_forwarded_flows(), summary.split),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::work::Work;
    use bentpipe_core::time::Duration;
    use bentpipe_core::units::Bytes;
    use bentpipe_gateway::{Config, FlowState, Gateway, RemoteName, RemoteView, ToldLink};
    use bentpipe_linux::process_usage::ProcessUsage;
    use serde_json::{Value, json};

    /// Totals of a gateway that three packets of no flow have crossed, 1000 bytes each.
    pub(in super::super) fn totals() -> Totals {
        let mut gateway: Gateway = Gateway::new(Config::default());
        for _ in 0..3 {
            gateway.count_foreign(1_000);
        }
        let mut summary = gateway.summary();
        summary.split = 4;
        summary.split_traffic = Traffic { packets: 9, bytes: 5_000 };
        Totals {
            uptime: Duration::from_millis(3_725_500),
            summary,
            work: Work::default(),
            usage: ProcessUsage::default(),
            crossed: super::super::passed::tests::crossed(),
            flows: FlowState::ALL.map(|s| (s, if s == FlowState::Open { 12 } else { 0 })),
            held: Bytes::new(32_768),
            memory: Bytes::new(1 << 20),
            observes: false,
            trial_left: None,
            peer_known: true,
            satellite_link: LinkView {
                losses: TakenFor::Link,
                circuit_broken: false,
                rate: Some(Rate::from_bits_per_sec(8_000_000)),
                told: false,
                contradiction: None,
                used_at: Some(Rate::from_bits_per_sec(6_150_000)),
            },
            remotes: vec![RemoteView {
                name: RemoteName::Gateway(0x2a),
                flows: 3,
                used_at: Some(Rate::from_bits_per_sec(6_150_000)),
                window: None,
            }],
            acknowledgments: "thinned:8:200ms".into(),
        }
    }

    #[test]
    fn shares_are_of_all_that_came_in() {
        let report = Report { totals: totals() };
        let share = &report.json()["forwarded_share"];
        assert_eq!((&share["packets"], &share["bytes"]), (&json!(0.25), &json!(0.375)));
        assert_eq!(share["flows"], 0.0);
        let text = report.status();
        assert!(
            text.contains(
                "not split: 37.50 % of bytes (3000), 25.00 % of packets (3), 0.00 % of flows; \
                 not-tcp: 3 packets, 3000 bytes\n"
            ),
            "{text}"
        );
        let head = "running for 1h02min, peer gateway known\n\
                    satellite link: losses are the link's own; used at 6.150 of 8.000 Mbit/s, as it \
                    carries less\nflows now: 12 open\n";
        assert!(text.starts_with(head), "{text}");
        let idle = Totals { summary: Summary::default(), ..totals() };
        let idle = Report { totals: idle };
        assert_eq!(idle.json()["forwarded_share"]["bytes"], Value::Null);
        assert!(!idle.status().contains("not split"));
    }

    #[test]
    fn status_has_what_the_end_will_tell() {
        let report = Report { totals: totals() };
        let status = report.status_json();
        assert_eq!(status["totals"], report.json());
        assert_eq!((&status["flows"]["open"], &status["held_bytes"]), (&json!(12), &json!(32_768)));
        let link = &status["satellite_link"];
        assert_eq!((&link["losses"], &link["circuit_broken"]), (&json!("link"), &json!(false)));
        assert_eq!(
            (&link["rate_bps"], &link["used_at_bps"]),
            (&json!(8_000_000), &json!(6_150_000))
        );
        let remote = json!({
            "name": "0000002a", "flows": 3, "used_at_bps": 6_150_000, "window_bytes": null,
        });
        assert_eq!(status["remotes"], json!([remote]));
        assert_eq!(status["satellite_acknowledgments"], "thinned:8:200ms");
        let text = report.status();
        assert!(text.contains("\nacknowledgments over the satellite: thinned:8:200ms\n"), "{text}");
    }

    fn configured(rate: Option<Rate>) -> LinkView {
        LinkView {
            losses: TakenFor::ToldApart,
            circuit_broken: false,
            rate,
            told: false,
            contradiction: None,
            used_at: rate,
        }
    }

    #[test]
    fn what_the_other_gateway_says_is_told() {
        let rate = Some(Rate::from_bits_per_sec(8_000_000));
        let line = satellite_link(&LinkView { told: true, ..configured(rate) });
        assert!(line.ends_with("; 8.000 Mbit/s, as the other gateway says"), "{line}");
        let contradiction = Some(ToldLink { rate, ..ToldLink::default() });
        let line = satellite_link(&LinkView { contradiction, ..configured(None) });
        assert!(line.ends_with("than is configured here: rate=8Mbit/s"), "{line}");
    }

    #[test]
    fn a_broken_circuit_is_told() {
        let rate = Some(Rate::from_bits_per_sec(8_000_000));
        let view = |losses, circuit_broken| {
            satellite_link(&LinkView { losses, circuit_broken, used_at: rate, ..configured(rate) })
        };
        let line = view(TakenFor::Believed, true);
        assert!(line.contains("congestion, since") && !line.contains("used at"), "{line}");
        assert_eq!(view(TakenFor::Believed, false), "satellite link: losses are congestion");
        assert!(view(TakenFor::ToldApart, false).ends_with("told from congestion by the queue"));
    }

    #[test]
    fn a_rate_that_was_found_is_told() {
        let used_at = Some(Rate::from_bits_per_sec(38_000_000));
        let line = satellite_link(&LinkView { used_at, ..configured(None) });
        assert!(
            line.ends_with("; used at 38.000 Mbit/s, as much as it was found to carry"),
            "{line}"
        );
    }
}
