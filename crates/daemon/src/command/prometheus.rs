//! The totals in Prometheus' text format (its "Exposition formats", text version 0.0.4), named by
//! its "Metric and label naming": base units, counters end in `_total`.
//!
//! Single flows are no metrics: each would be a time series of its own, thousands a minute.

use super::condition::Condition;
use crate::bump::passed::{Class, DIRECTIONS};
use crate::control::Totals;
use bentpipe_gateway::benefit::Transfers;
use bentpipe_gateway::{Reason, Release, Side, Traffic};
use std::fmt::{Display, Write};

const SIDES: [Side; 2] = [Side::Lan, Side::Satellite];

/// All metrics.
pub(super) fn text(totals: &Totals, transfers: &Transfers, condition: &Condition) -> String {
    let mut page = Page(String::new());
    let summary = &totals.summary;
    let version = env!("CARGO_PKG_VERSION");
    page.family("build_info", "gauge", "The version that runs");
    page.sample("build_info", &[("version", version)], 1);
    page.alone(
        "uptime_seconds",
        "gauge",
        "Time since the gateway began",
        totals.uptime.as_secs_f64(),
    );

    let help = "Whether packets come to the gateway: nothing in the way forbids it";
    page.alone("diverting", "gauge", help, u8::from(!condition.diversion.is_asleep()));

    page.family("flows", "gauge", "Flows in the table");
    for (state, count) in totals.flows {
        page.sample("flows", &[("state", state.name())], count);
    }
    page.alone("held_bytes", "gauge", "Bytes held by all streams", totals.held.count());
    page.alone("memory_limit_bytes", "gauge", "Bytes that they may hold", totals.memory.count());
    let help = "Whether it splits nothing, and counts what it would split";
    page.alone("observes", "gauge", help, u8::from(totals.observes));
    let known = u8::from(totals.peer_known);
    page.alone("peer_known", "gauge", "Whether another gateway has answered on the link", known);

    let help = "Whether losses are believed as the link carried less than half of what it was sent";
    let broken = u8::from(totals.satellite_link.circuit_broken);
    page.alone("circuit_broken", "gauge", help, broken);

    page.alone("flows_split_total", "counter", "Flows split", summary.split);
    let help = "Of those, connections that were split in mid-life";
    page.alone("flows_adopted_total", "counter", help, summary.adopted);
    page.alone("flows_closed_total", "counter", "Split flows that ended in order", summary.closed);
    page.alone("flows_reset_total", "counter", "Split flows that ended in a reset", summary.reset);
    let help = "Flows that a defect of the gateway has ended";
    page.alone("flows_panicked_total", "counter", help, summary.panicked);
    let help = "Split flows that went on unsplit, all that was held delivered";
    page.family("flows_released_total", "counter", help);
    for why in Release::ALL {
        let count = summary.released(why);
        page.sample("flows_released_total", &[("reason", why.name())], count);
    }
    let help = "Flows whose route was seen to have changed";
    page.alone("route_changes_total", "counter", help, summary.route_changes);
    let help =
        "Bytes acknowledged to their sender that could not be delivered; their flows were reset";
    page.alone("lost_bytes_total", "counter", help, summary.lost_bytes);
    let help = "Forwarded connections that were reset, as another gateway had lost bytes of theirs";
    page.alone("forwarded_resets_total", "counter", help, summary.forwarded_resets);
    let help = "SYNs and SYN-ACKs of gateways whose pair-key is not ours";
    page.alone("foreign_announcements_total", "counter", help, summary.foreign_announcements);

    let help = "Packets that came in and were dealt with as handshakes and segments of split flows";
    page.alone("split_packets_total", "counter", help, summary.split_traffic.packets);
    let help = "Their bytes, headers included";
    page.alone("split_bytes_total", "counter", help, summary.split_traffic.bytes);
    let mut by_reason = |name: &str, help: &str, count: &dyn Fn(Reason) -> u64| {
        page.family(name, "counter", help);
        for reason in Reason::ALL {
            page.sample(name, &[("reason", reason.name())], count(reason));
        }
    };
    by_reason("forwarded_flows_total", "Connections that were not split", &|reason| {
        summary.forwarded_flows(reason)
    });
    by_reason("forwarded_packets_total", "Packets forwarded unchanged", &|reason| {
        summary.forwarded(reason).packets
    });
    by_reason("forwarded_bytes_total", "Their bytes, headers included", &|reason| {
        summary.forwarded(reason).bytes
    });

    let mut by_class = |name: &str, help: &str, count: &dyn Fn(Traffic) -> u64| {
        page.family(name, "counter", help);
        for class in Class::ALL {
            for (direction, traffic) in DIRECTIONS.iter().zip(totals.crossed.passed[class as usize])
            {
                let labels = [("class", class.name()), ("direction", direction)];
                page.sample(name, &labels, count(traffic));
            }
        }
    };
    by_class("passed_packets_total", "Packets over the satellite that were not taken", &|some| {
        some.packets
    });
    by_class("passed_bytes_total", "Their bytes, IP headers included", &|some| some.bytes);
    let mut taken = |name: &str, help: &str, count: &dyn Fn(Traffic) -> u64| {
        page.family(name, "counter", help);
        for (direction, traffic) in DIRECTIONS.iter().zip(totals.crossed.taken) {
            page.sample(name, &[("direction", direction)], count(traffic));
        }
    };
    taken("taken_packets_total", "Packets over the satellite that were", &|some| some.packets);
    taken("taken_bytes_total", "Their bytes, IP headers included", &|some| some.bytes);

    transfer_seconds(&mut page, transfers);

    let mut by_side = |name: &str, help: &str, count: &dyn Fn(Side) -> u64| {
        page.family(name, "counter", help);
        for side in SIDES {
            page.sample(name, &[("side", side.name())], count(side));
        }
    };
    by_side("received_bytes_total", "Payload received in order from a side", &|side| {
        summary.side(side).received_bytes
    });
    by_side("delivered_bytes_total", "Payload that a side has acknowledged", &|side| {
        summary.side(side).delivered_bytes
    });
    by_side("retransmitted_segments_total", "Segments retransmitted to a side", &|side| {
        summary.side(side).retransmissions
    });
    by_side("retransmitted_bytes_total", "Bytes retransmitted to a side", &|side| {
        summary.side(side).retransmitted_bytes
    });
    by_side("retransmission_timeouts_total", "Retransmission timeouts towards a side", &|side| {
        summary.side(side).timeouts
    });
    by_side("fast_recoveries_total", "Episodes of fast recovery towards a side", &|side| {
        summary.side(side).recoveries
    });
    by_side("window_reductions_total", "Congestion windows reduced towards a side", &|side| {
        summary.side(side).reductions
    });
    by_side("discarded_segments_total", "Segments from a side discarded at a backlog", &|side| {
        summary.side(side).discarded
    });
    let help = "Packets that the kernel did not take";
    page.alone("refused_packets_total", "counter", help, totals.work.refused());
    let help = "Lines of the log that could not be written";
    page.alone("log_lost_lines_total", "counter", help, condition.lost_lines());
    page.0
}

/// From one bucket of the histograms to the next: a factor of four.
const BUCKETS: usize = 4;

/// Durations of transfers that have ended.
fn transfer_seconds(page: &mut Page, transfers: &Transfers) {
    const NAME: &str = "transfer_seconds";
    let help = "Durations of ended connections that were split, what the model says for them unsplit, and of those left \
                unsplit as a sample";
    page.family(NAME, "histogram", help);
    for (class, times) in transfers.times() {
        for (how, histogram) in
            [("split", &times.split), ("model", &times.model), ("sample", &times.sample)]
        {
            let labels = [("size", class.name()), ("how", how)];
            let mut below = 0;
            for (at, (end, count)) in histogram.buckets().enumerate() {
                below += u64::from(count);
                if at % BUCKETS == BUCKETS - 1 {
                    let end = (end / 1e3).to_string();
                    let labels = [labels[0], labels[1], ("le", &end)];
                    page.sample("transfer_seconds_bucket", &labels, below);
                }
            }
            let all = [labels[0], labels[1], ("le", "+Inf")];
            page.sample("transfer_seconds_bucket", &all, below);
            page.sample("transfer_seconds_sum", &labels, histogram.sum() as f64 / 1e3);
            page.sample("transfer_seconds_count", &labels, below);
        }
    }
}

/// The text so far.
struct Page(String);

impl Page {
    /// The head of the samples of one name.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP bentpipe_{name} {help}.");
        let _ = writeln!(self.0, "# TYPE bentpipe_{name} {kind}");
    }

    /// One sample. Our labels' values need no escapes: they are words.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "bentpipe_{name}{labels} {value}");
    }

    /// A family with one sample.
    fn alone(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::reload::LastReload;
    use super::super::report::tests::totals;
    use super::*;
    use crate::bump::DiversionState;
    use bentpipe_linux::output::Lost;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    fn condition() -> Condition {
        Condition {
            diversion: DiversionState::default(),
            lost: Arc::new(|| Lost { lines: 3, why: "a full disk".into() }),
            reload: LastReload::default(),
        }
    }

    #[test]
    fn every_sample_stands_under_its_head_and_none_comes_twice() {
        let text = text(&totals(), &Transfers::default(), &condition());
        let mut family = String::new();
        let parts = ["", "_bucket", "_sum", "_count"];
        let mut seen = BTreeSet::new();
        for line in text.lines() {
            if let Some(head) = line.strip_prefix("# TYPE ") {
                let (name, kind) = head.split_once(' ').unwrap();
                assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
                assert!(text.contains(&format!("# HELP {name} ")), "{name}");
                name.clone_into(&mut family);
            } else if !line.starts_with('#') {
                let (sample, value) = line.rsplit_once(' ').unwrap();
                let name = sample.split('{').next().unwrap();
                assert!(parts.iter().any(|part| name == format!("{family}{part}")), "{sample}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
                assert!(seen.insert(sample), "twice: {sample}");
            }
        }
        assert!(seen.contains("bentpipe_flows{state=\"half-closed\"}"));
        assert!(seen.contains("bentpipe_forwarded_bytes_total{reason=\"options\"}"));
    }

    #[test]
    fn figures_are_those_of_the_totals() {
        let text = text(&totals(), &Transfers::default(), &condition());
        for line in [
            "bentpipe_uptime_seconds 3725.5",
            "bentpipe_flows{state=\"open\"} 12",
            "bentpipe_held_bytes 32768",
            "bentpipe_passed_bytes_total{class=\"quic\",direction=\"in\"} 190000",
            "bentpipe_taken_packets_total{direction=\"out\"} 100",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
    }

    /// What a package brings for those who watch.
    #[test]
    fn alerts_and_the_board_name_metrics_that_there_are() {
        let text = text(&totals(), &Transfers::default(), &condition());
        let known: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .collect();
        for file in [
            include_str!("../../../../packaging/prometheus/bentpipe-alerts.yml"),
            include_str!("../../../../packaging/grafana/bentpipe.json"),
        ] {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let named: BTreeSet<&str> =
                file.split(|c| !word(c)).filter(|name| name.starts_with("bentpipe_")).collect();
            assert!(named.len() > 5, "{named:?}");
            let unknown: Vec<_> = named.difference(&known).collect();
            assert!(unknown.is_empty(), "{unknown:?}");
        }
        let board = include_str!("../../../../packaging/grafana/bentpipe.json");
        assert!(serde_json::from_str::<serde_json::Value>(board).is_ok());
    }
}
