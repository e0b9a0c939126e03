//! A congestion control that a program brings along, in hosts and in gateways.

use bentpipe_core::tcp::congestion::{
    AckEvent, Congestion, External, ExternalControl, Response, SlowStart, SlowStartConfig,
};
use bentpipe_core::units::Bytes;
use bentpipe_results::{RunResults, Sinks};
use bentpipe_scenario::Experiment;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// Always so many segments.
#[derive(Debug, Serialize)]
struct Steady {
    slow_start: SlowStart,
    segments: u64,
}

impl Congestion for Steady {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.slow_start.set_window(self.segments * ack.smss);
        Response::default()
    }
}

struct Factory {
    name: &'static str,
    segments: u64,
    begun: AtomicU64,
}

impl ExternalControl for Factory {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        "Steady"
    }

    fn digest(&self) -> &str {
        "0123"
    }

    fn with(&self, parameters: &str) -> Result<External, String> {
        match parameters {
            "segments=40" => Ok(External::new(&FORTY)),
            _ => Err(format!("`{parameters}` is not segments=40")),
        }
    }

    fn begin(&self, slow_start: SlowStartConfig, smss: Bytes) -> Box<dyn Congestion> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let segments = self.segments;
        Box::new(Steady { slow_start: SlowStart::new(slow_start, smss), segments })
    }
}

static TWENTY: Factory = Factory { name: "steady", segments: 20, begun: AtomicU64::new(0) };
static FORTY: Factory =
    Factory { name: "steady:segments=40", segments: 40, begun: AtomicU64::new(0) };

fn run(text: &str) -> RunResults {
    let none = |_: &str| Err("no files".to_owned());
    let controls = [External::new(&TWENTY)];
    let experiment = Experiment::parse_with("x.toml", text, &[], &none, &controls).unwrap();
    // A point is read again for its runs.
    let scenario = experiment.point(0).scenario;
    bentpipe_sim::run_into(&scenario, 0, Sinks::default(), &mut |_| true).unwrap()
}

const HOSTS: &str = r#"
    run.duration = "40s"
    [host.a]
    tcp = "linux,congestion=CONTROL"
    [host.b]
    [link.l]
    between = ["a", "b"]
    rate = "100Mbit/s"
    delay = "50ms"
    [flow.main]
    from = "a"
    to = "b"
"#;

#[test]
fn a_hosts_window_is_what_the_control_says() {
    for (control, segments) in [("steady", 20.0), ("steady:segments=40", 40.0)] {
        let results = run(&HOSTS.replace("CONTROL", control));
        let goodput = results.flows[0].goodput;
        let expected = segments * 1448.0 * 8.0 / 0.1;
        assert!((goodput / expected - 1.0).abs() < 0.02, "{control}: {goodput} of {expected}");
    }
}

#[test]
fn parameters_and_names_that_it_does_not_have_are_refused() {
    let none = |_: &str| Err("no files".to_owned());
    for (control, why) in [
        ("steady:segments=4", "`segments=4` is not segments=40"),
        ("stead", "of your own there are steady"),
    ] {
        let text = HOSTS.replace("CONTROL", control);
        let controls = [External::new(&TWENTY)];
        let error = Experiment::parse_with("x.toml", &text, &[], &none, &controls).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let text = format!("{HOSTS}\n[control.steady]\nclass = \"Steady\"\ndigest = \"0123\"\n");
    let text = text.replace("CONTROL", "cubic");
    let error = Experiment::parse("x.toml", &text, &none).unwrap_err();
    assert!(error.to_string().contains("it runs from Python"), "{error}");
    let other = text.replace("0123", "4567");
    let controls = [External::new(&TWENTY)];
    let error = Experiment::parse_with("x.toml", &other, &[], &none, &controls).unwrap_err();
    assert!(error.to_string().contains("another version of Steady"), "{error}");
    Experiment::parse_with("x.toml", &text, &[], &none, &controls).unwrap();
}

#[test]
fn a_gateway_that_has_one_does_not_hibernate_its_flow() {
    let before = TWENTY.begun.load(Ordering::Relaxed);
    // The pauses are longer than `hibernate-after`.
    let results = run(r#"
        run.duration = "60s"
        tcp = "linux"
        [host.a]
        [host.b]
        [gateway.g]
        lan-links = "lan"
        satellite = { congestion = "steady" }
        [link.lan]
        between = ["a", "g"]
        rate = "100Mbit/s"
        [link.l]
        between = ["g", "b"]
        rate = "100Mbit/s"
        delay = "50ms"
        [flow.main]
        from = "a"
        to = "b"
        workload = "request-response"
        request = "10KB"
        reply = "1KB"
        requests = 5
        think = "10s"
    "#);
    assert!(TWENTY.begun.load(Ordering::Relaxed) > before);
    assert_eq!(results.flows[0].completed, 5);
}
