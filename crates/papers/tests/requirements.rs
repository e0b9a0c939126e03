//! What the papers require of parts, and no experiment shows.

use bentpipe_core::link::{Varying, loss_probability};
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::presets::PRESETS;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Probability, Rate};
use bentpipe_core::wire::TcpOptions;
use bentpipe_papers::catalogue::{Catalogue, Files};
use bentpipe_papers::live::LiveResults;
use bentpipe_scenario::Experiment;
use bentpipe_scenario::repeat::Repeat;
use std::collections::BTreeSet;

fn config(text: &str) -> ConnectionConfig {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// B-N-6: 2^30 bytes in a round trip, as the largest shift is 14; a larger one counts as 14 (RFC
/// 7323, 2.3).
#[test]
fn windows_are_scaled_by_fourteen_at_most() {
    let shift = |value: u8| TcpOptions::parse(&[3, 3, value]).unwrap().window_scale;
    assert_eq!(
        [shift(13), shift(14), shift(15), shift(255)],
        [Some(13), Some(14), Some(14), Some(14)]
    );
    let largest = 65_535_u64 << 14;
    assert!(largest < 1 << 30);
    let gigabits = (1_u64 << 30) as f64 * 8.0 / 0.56 / 1e9;
    assert!((gigabits - 15.3).abs() < 0.1, "{gigabits} Gbit/s");
}

/// B-D-2: what a gateway speaks over the satellite by default, and what hosts have had for twenty
/// years.
#[test]
fn gateways_and_hosts_have_large_windows_timestamps_and_sack() {
    let satellite = 8e6 * 0.5 / 8.0;
    for preset in ["gateway-satellite", "linux"] {
        let config = config(preset);
        assert!(config.sack && config.timestamps && config.window_scale.is_some(), "{preset}");
        let buffer = config.receive_buffer_max.unwrap_or(config.receive_buffer).count();
        assert!(buffer as f64 >= satellite, "{preset}: {buffer} bytes");
    }
}

/// S-D-2: every segment acknowledged, or every second one and after a time.
#[test]
fn receivers_acknowledge_every_segment_or_every_second() {
    assert_eq!(config("linux,ack=per-segment").ack_policy, AckPolicy::PerSegment);
    assert!(matches!(config("linux,ack=delayed:200ms").ack_policy, AckPolicy::Delayed(_)));
}

/// B-D-8 and S-3.7-g: from a coded channel's 1e-12 to rain's 1e-3, by a packet's length.
#[test]
fn bit_error_rates_of_clear_sky_and_of_rain_can_be_set() {
    for exponent in 3..=12 {
        let rate = 10_f64.powi(-exponent);
        let bits = Probability::new(rate).unwrap();
        for bytes in [40_u64, 576, 1500] {
            let lost = loss_probability(Probability::ZERO, bits, bytes);
            let exact = -(f64::ln_1p(-rate) * 8.0 * bytes as f64).exp_m1();
            assert!((lost / exact - 1.0).abs() < 1e-6, "{rate}, {bytes} bytes: {lost}");
        }
    }
}

/// B-D-1: by default, none of the presets takes a loss for anything but congestion; what does has
/// another name.
#[test]
fn no_preset_believes_that_losses_are_no_congestion() {
    for preset in PRESETS {
        for name in ["known-link", "tolerant", "bbr"] {
            assert!(!preset.text.contains(name), "{} has {name}", preset.name);
        }
    }
}

/// G99-F-2: what hosts of the time count of an acknowledgment in slow start.
#[test]
fn hosts_of_the_time_add_a_segment_for_each_acknowledgment() {
    for preset in ["windows-nt4", "windows-95", "bsd-reno-1997", "ns-1997"] {
        let sender = config(preset).sender;
        assert_eq!(sender.byte_limit, Some(1), "{preset}");
        assert_eq!(sender.initial_window.bytes(Bytes::new(1460)), Bytes::new(1460), "{preset}");
    }
}

/// B-11-c: whatever compares variants over a satellite has a curve of FACK, or says in its file why
/// not.
#[test]
fn comparisons_of_variants_have_fack() {
    let catalogue = Catalogue::read(Files::built_in()).unwrap();
    for figure in catalogue.papers.iter().flat_map(|paper| &paper.figures) {
        for name in figure.scenarios.keys() {
            let experiment = figure.experiment(catalogue.files(), name).unwrap();
            let values: Vec<String> = experiment
                .points()
                .flat_map(|point| point.values)
                .map(|(_, value)| value)
                .filter(|value| value.contains("recovery="))
                .collect();
            let compares = values.iter().any(|value| value.contains("sack"))
                && values.iter().any(|value| value.contains("reno"));
            let drawn = !experiment.figures.is_empty();
            let fack = values.iter().any(|value| value.contains("recovery=fack"));
            assert!(!compares || !drawn || fack, "{}, {name} compares without FACK", figure.id);
        }
    }
}

/// H-D-9: the senders that the papers compare, each by its name, and the satellite's legs of
/// gateways as well.
#[test]
fn every_variant_has_a_name() {
    let recoveries =
        ["reno", "newreno", "newreno-less-careful", "sack-reno", "sack", "tahoe", "fack"];
    let mut found: Vec<String> = recoveries
        .iter()
        .map(|name| config(&format!("recovery={name}")).sender.recovery.to_string())
        .collect();
    assert_eq!(found, recoveries);
    found.sort();
    found.dedup();
    assert_eq!(found.len(), recoveries.len());
    config("recovery=reno,congestion=vegas,sack=off");
}

/// H-F-12: min(4 · MSS, max(2 · MSS, 4380)) bytes (RFC 2414).
#[test]
fn four_kilobytes_are_three_large_segments_or_four_small_ones() {
    let initial = config("iw=rfc3390").sender.initial_window;
    for (mss, bytes) in [(1460, 4380), (500, 2000), (4000, 8000)] {
        assert_eq!(initial.bytes(Bytes::new(mss)), Bytes::new(bytes), "{mss}");
    }
}

/// H-D-7: 1.3 Mbit/s over a round trip of 600 ms, or of 40 to 400 ms, without errors.
#[test]
fn the_testbeds_satellites_have_names() {
    for (profile, delay, one_way) in [
        ("geo-henderson", "", 300),
        ("leo-henderson", "", 40),
        ("leo-henderson", "delay = \"20ms\"", 20),
        ("leo-henderson", "delay = \"200ms\"", 200),
    ] {
        let text = format!(
            "[run]\nduration = \"1s\"\n[host.s]\n[host.d]\n[link.sat]\nbetween = [\"s\", \"d\"]\n\
             profile = \"{profile}\"\n{delay}\n[flow.main]\nfrom = \"s\"\nto = \"d\"\n"
        );
        let none = |_: &str| Err("no other file".to_owned());
        let experiment = Experiment::parse(profile, &text, &none).unwrap();
        let point = experiment.point(0);
        let link = &point.scenario.links[0];
        for direction in [&link.forward, &link.back] {
            assert_eq!(direction.rate, Some(Varying::Constant(Rate::from_bits_per_sec(1_300_000))));
            assert_eq!(
                direction.delay,
                Varying::Constant(Duration::from_millis(one_way)),
                "{profile}"
            );
            assert_eq!(direction.bit_errors, Varying::Constant(Probability::ZERO));
        }
    }
}

/// G99-3-E: five sizes, three rates, two delays, five bit-error rates, end to end and with gateways
/// of three initial windows, three runs each: one file, which `bentpipe papers` runs unattended.
#[test]
fn the_matrix_of_transfers_is_one_experiment() {
    let catalogue = Catalogue::read(Files::built_in()).unwrap();
    let (_, figure) = catalogue.find("bharadwaj-2001/section-4-1-1")[0];
    let experiment = figure.experiment(catalogue.files(), "matrix").unwrap();
    let points: BTreeSet<Vec<(String, String)>> =
        experiment.points().map(|point| point.values).collect();
    assert_eq!(points.len(), 5 * 3 * 2 * 5 * 4);
    assert!(matches!(experiment.repeat, Repeat::Runs(3)));
    // Each of them is one of G99's: none of its combinations is left out.
    for bytes in ["10KB", "100KB", "1MB", "10MB", "100MB"] {
        for rate in ["384kbit/s", "1536kbit/s", "8Mbit/s"] {
            for delay in ["0ms", "250ms"] {
                for variant in ["end to end", "initial window 1"] {
                    let errors = points.iter().filter(|point| {
                        let has = |value: &str| point.iter().any(|(_, other)| other == value);
                        [bytes, rate, delay, variant].into_iter().all(has)
                    });
                    assert_eq!(errors.count(), 5, "{bytes}, {rate}, {delay}, {variant}");
                }
            }
        }
    }
}

/// G01-F-8: what is kept of figure 8 on real hosts has no page of 16 images that took less than
/// sixteen round trips.
#[test]
fn real_hosts_wait_for_sixteen_round_trips() {
    let kept = LiveResults::read(&crate::folder(), "bharadwaj-2001/fig-8").unwrap();
    let mut rates = BTreeSet::new();
    for point in &kept.points {
        let page = point.at["flow.main.page"].as_str();
        // One after the other, over the satellite, between hosts of the time.
        let serial = point.at.get("link.sat.delay").is_some_and(|delay| delay == "250ms");
        if page == "bharadwaj-2001-1" || !serial {
            continue;
        }
        let times = &point.flow["main"].columns["completion_mean_s"];
        assert!(times.iter().all(|time| *time >= 8.0), "{page} with {:?}: {times:?}", point.at);
        rates.insert((page, point.at["link.sat.rate"].as_str()));
    }
    assert_eq!(rates.len(), 6, "two pages at three rates: {rates:?}");
}
