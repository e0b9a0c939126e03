//! What a file says is what the model says.

use bentpipe_core::link::{LossKind, PolicerConfig, QueueKind, QueueLimit, Varying};
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Rate};
use bentpipe_gateway::{AddOptions, FinMode, Handshake};
use bentpipe_links::{Distribution, Outages};
use bentpipe_scenario::{
    Arrivals, Experiment, FaultKind, Http, HttpVersion, LinkIndex, Load, MiddleboxKind, NodeKind,
    PingPace, Reuse, Scenario, Workload,
};

const NETWORK: &str = r#"
run = { duration = "10s" }
tcp = "ns-1997"
[host]
server = { tcp = "recovery=tahoe,iw=2" }
client = {}
[router.r]
[gateway.g]
lan-links = "a"
splitting = { handshake = "downstream-first", fin = "immediate" }
limits.memory = "1MiB"
satellite = { add-options = "always", rate = "8Mbit/s", round-trip = "500ms", tcp = "ack=per-segment", mtu = 1500 }
[link.a]
between = ["server", "g"]
[link.b]
between = ["g", "r"]
rate = "1.5Mbit/s"
delay = "250ms"
loss = "1%"
back = { rate = "9600bit/s", queue = "3packets" }
[link.c]
between = ["r", "client"]
rate = "10Mbit/s"
"#;

fn scenario(more: &str) -> Scenario {
    Scenario::parse(&format!("{NETWORK}{more}")).unwrap_or_else(|error| panic!("{error}"))
}

fn workload(keys: &str) -> Workload {
    let text = format!("[flow.f]\nfrom = \"server\"\nto = \"client\"\n{keys}");
    scenario(&text).flows.remove(0).workload
}

#[test]
fn back_is_as_forward_but_for_what_it_says() {
    let link = &scenario("").links[1];
    let (forward, back) = (&link.forward, &link.back);
    let rate = |bits| Some(Varying::Constant(Rate::from_bits_per_sec(bits)));
    assert_eq!((&forward.rate, &back.rate), (&rate(1_500_000), &rate(9600)));
    assert_eq!((&forward.delay, &forward.loss), (&back.delay, &back.loss));
    // One bandwidth-delay product is the default.
    let whole = QueueLimit::Bytes(Bytes::new(93_750));
    assert_eq!(forward.queue, QueueKind::DropTail(whole));
    assert_eq!(back.queue, QueueKind::DropTail(QueueLimit::Packets(3)));
    // Without a rate nothing waits.
    let ideal = &scenario("").links[0].forward;
    assert_eq!(ideal.queue, QueueKind::DropTail(QueueLimit::Unlimited));
}

#[test]
fn a_policer_has_a_rate_a_burst_and_a_queue_of_its_line() {
    let queue = "{ kind = \"policer\", rate = \"2Mbit/s\", burst = \"20KB\", limit = \"1bdp\" }";
    let text = format!(
        "[host.x]\n[link.x]\nbetween = [\"x\", \"r\"]\nrate = \"8Mbit/s\"\ndelay = \"250ms\"\nqueue = {queue}\n"
    );
    let expected = PolicerConfig {
        rate: Rate::from_bits_per_sec(2_000_000),
        burst: Bytes::new(20_000),
        // Of the line's rate.
        limit: QueueLimit::Bytes(Bytes::new(500_000)),
    };
    let queue = scenario(&text).links.last().unwrap().forward.queue;
    assert_eq!(queue, QueueKind::Policer(expected));
}

#[test]
fn a_link_with_hardly_any_delay_has_an_interfaces_queue_unless_it_says_another() {
    let queue = |keys: &str| {
        let rate = if keys.contains("rate") { "" } else { "rate = \"10Mbit/s\"\n" };
        let text = format!("[host.x]\n[link.x]\nbetween = [\"x\", \"r\"]\n{rate}{keys}\n");
        match &scenario(&text).links.last().unwrap().forward.queue {
            QueueKind::DropTail(QueueLimit::Bytes(bytes)) => bytes.count(),
            QueueKind::CoDel(codel) => match codel.limit {
                QueueLimit::Bytes(bytes) => bytes.count(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(queue(""), 1_500_000);
    assert_eq!(queue("delay = \"5ms\""), 1_500_000);
    assert_eq!(queue("delay = \"5ms\"\nqueue = { kind = \"codel\" }"), 1_500_000);
    // What is more than that stays.
    assert_eq!(queue("delay = \"5ms\"\nrate = \"8Gbit/s\""), 10_000_000);
    // Any other link's is one product, and so is what asks for it.
    assert_eq!(queue("delay = \"5001us\""), 15_000);
    assert_eq!(queue("delay = \"250ms\""), 625_000);
    assert_eq!(queue("queue = \"1bdp\""), 15_000);
    assert_eq!(queue("delay = \"5ms\"\nqueue = \"2bdp\""), 30_000);
}

#[test]
fn what_back_says_itself_is_not_overridden_by_the_trace_of_both() {
    let text = NETWORK.replace("loss = \"1%\"", "trace = \"t.csv\"");
    let read = |_: &str| Ok("time,rate,loss\n0s,1Mbit/s,0\n5s,2Mbit/s,0.1\n".to_owned());
    let scenario = Experiment::parse("s.toml", &text, &read).unwrap().point(0).scenario;
    let link = &scenario.links[1];
    assert!(matches!(link.forward.rate, Some(Varying::Scheduled(_))));
    assert!(matches!(link.back.rate, Some(Varying::Constant(_))));
    assert_eq!(link.back.loss, link.forward.loss);
    let LossKind::Independent(loss) = &link.back.loss else { panic!("independent") };
    assert_eq!(loss.at(Instant::from_millis(6000)).value(), 0.1);
}

#[test]
fn tcp_settings_are_layered() {
    let flow = "[flow.f]\nfrom = \"server\"\nto = \"client\"\n";
    let plain = &scenario(flow).flows[0];
    let ns = "ns-1997".parse().unwrap();
    assert_eq!(plain.tcp_from, "ns-1997,recovery=tahoe,iw=2".parse().unwrap());
    assert_eq!(plain.tcp_to, ns);
    let keys = "tcp = { iw = 4, nagle = true, rto.min = \"1s\" }\ntcp-to = \"linux\"";
    let changed = &scenario(&format!("{flow}{keys}")).flows[0];
    let text = "ns-1997,recovery=tahoe,iw=4,nagle=on,rto.min=1s";
    assert_eq!(changed.tcp_from, text.parse().unwrap());
    assert_eq!(changed.tcp_to, "linux".parse().unwrap());
}

#[test]
fn gateways_have_the_deployed_codes_parameters() {
    let scenario = scenario("");
    let NodeKind::Gateway(gateway) = &scenario.nodes[3].kind else { panic!("g is a gateway") };
    assert_eq!(gateway.lan, [LinkIndex(0)]);
    let config = &gateway.config;
    assert_eq!((config.memory, config.add_options), (Bytes::new(1 << 20), AddOptions::Always));
    assert_eq!((config.handshake, config.fin), (Handshake::DownstreamFirst, FinMode::Immediate));
    assert_eq!((config.satellite.mtu, config.lan.mtu), (1500, u16::MAX));
    assert_eq!(config.satellite.ack_policy, AckPolicy::PerSegment);
    assert_eq!(config.satellite.bandwidth_delay_product(), Some(500_000));
    assert!(!config.super_segments);
}

#[test]
fn workloads_have_their_defaults_and_their_keys() {
    assert!(matches!(workload(""), Workload::Bulk { bytes: None, .. }));
    let asking = workload("workload = \"request-response\"\nreply = \"2KB\"\nconnection = \"new\"");
    let Workload::RequestResponse { request, connection: Reuse::New, .. } = asking else {
        panic!("{asking:?}")
    };
    assert_eq!(request.mean_bytes(), 400.0);
    let page = workload("workload = \"http/1.1-pipelined\"\npage = \"bharadwaj-2001-3\"");
    let Workload::Http(Http { version: HttpVersion::Pipelined, connections: 1, page, .. }) = page
    else {
        panic!("{page:?}")
    };
    assert_eq!((page.objects.len(), page.total()), (16, Bytes::new(263_600)));
    let own = "page = { document = \"1KB\", objects = [\"2KB\", \"3KB\"] }";
    let Workload::Http(http) = workload(&format!("workload = \"http/1.0\"\n{own}")) else {
        panic!("http")
    };
    assert_eq!((http.page.total(), http.connections), (Bytes::new(6000), 4));
    let ping = workload("workload = \"ping\"\nevery = \"flood\"");
    assert!(matches!(ping, Workload::Ping { pace: PingPace::Flood, .. }));
    let voice = workload("workload = \"udp\"\narrivals = \"on-off\"\nrate = \"64kbit/s\"");
    let Workload::Udp { arrivals: Arrivals::OnOff { on, .. }, .. } = voice else {
        panic!("{voice:?}")
    };
    assert_eq!(on.0, Distribution::Exponential(0.5));
    let Workload::Telnet { between, .. } = workload("workload = \"telnet\"") else {
        panic!("telnet")
    };
    assert!((1.0..1.25).contains(&between.mean_seconds()));
}

#[test]
fn loads_are_shares_of_the_direction_that_the_flow_takes() {
    let Workload::Web { load, .. } = workload("workload = \"web\"\nload = \"10%\"\nof = \"b\"")
    else {
        panic!("web")
    };
    let Load::Share { rate, .. } = load else { panic!("{load:?}") };
    assert_eq!(rate, Rate::from_bits_per_sec(150_000));
    let pages = load.per_second(Workload::mah_page_bytes());
    assert!((0.5..2.0).contains(&pages), "{pages} pages of some 20 KB a second");
    let text =
        "[flow.f]\nworkload = \"web\"\nfrom = \"client\"\nto = \"server\"\nload = 0.5\nof = \"b\"";
    let back = scenario(text).flows.remove(0);
    let Workload::Web { load: Load::Share { rate, .. }, .. } = back.workload else { panic!("web") };
    assert_eq!(rate, Rate::from_bits_per_sec(4800));
    assert!(back.background);
}

#[test]
fn middleboxes_faults_and_losses_are_read() {
    let more = r#"
[middlebox.spacer]
kind = "ack-spacer"
at = "r"
link = "b"
rate = "1.5Mbit/s"
[middlebox.cache]
kind = "web-cache"
at = "r"
link = "b"
hits = 0.4
[fault.route]
kind = "route-change"
link = "b"
at = "1s"
lasting = "2s"
[fault.crash]
kind = "gateway-crash"
gateway = "g"
at = "3s"
[link.d]
between = ["g", "r"]
cost = 10
gilbert-elliott = { good-to-bad = 0.01, bad-to-good = 0.19 }
outages = [{ at = "1s", lasting = "1s" }, { at = "4s", lasting = "1s" }]
"#;
    let scenario = scenario(more);
    let spacer = MiddleboxKind::AckSpacer { rate: Some(Rate::from_bits_per_sec(1_500_000)) };
    assert_eq!(scenario.middleboxes[0].kind, spacer);
    let MiddleboxKind::WebCache { hits, tcp } = &scenario.middleboxes[1].kind else {
        panic!("a cache")
    };
    let NodeKind::Host { tcp: of_the_file, .. } = &scenario.nodes[1].kind else { panic!("a host") };
    assert_eq!((*hits, tcp), (0.4, of_the_file));
    assert_eq!(scenario.faults[0].kind, FaultKind::RouteChange { link: LinkIndex(1), cost: None });
    assert!(matches!(scenario.faults[1].kind, FaultKind::GatewayCrash(_)));
    let direction = &scenario.links[3].back;
    let LossKind::GilbertElliott(bursts) = direction.loss else { panic!("bursts") };
    assert!((bursts.mean_loss() - 0.05).abs() < 1e-12);
    let second = Duration::from_secs(1);
    let spans = vec![(second, second), (4 * second, second)];
    assert_eq!(direction.outages, [Outages::Planned(spans)]);
}

#[test]
fn several_flows_of_a_kind_have_names_of_their_own() {
    let text = "[flow.f]\nfrom = \"server\"\nto = \"client\"\ncount = 3\n[flow.g]\nfrom = \"server\"\nto = \"client\"\n";
    let flows = scenario(text).flows;
    assert_eq!(flows[0].instances().collect::<Vec<_>>(), ["f.1", "f.2", "f.3"]);
    assert_eq!(flows[1].instances().collect::<Vec<_>>(), ["g"]);
}

#[test]
fn waiting_for_flows_needs_one_to_wait_for() {
    let text = NETWORK.replace("\"10s\" }", "\"10s\", until = \"flows-done\" }");
    let error = Scenario::parse(&text).unwrap_err().to_string();
    assert!(error.starts_with("scenario.toml:2:35: no flow but background"), "{error}");
}

#[test]
fn bursts_on_the_way_back_replace_losses_of_both() {
    let back = "back = { gilbert-elliott = { mean-good = \"9s\", mean-bad = \"1s\" }, ";
    let link = Scenario::parse(&NETWORK.replace("back = {", back)).unwrap().links.remove(1);
    assert!(matches!(link.forward.loss, LossKind::Independent(_)));
    let LossKind::GilbertElliott(bursts) = link.back.loss else { panic!("bursts") };
    assert!((bursts.mean_loss() - 0.1).abs() < 1e-12);
}

#[test]
fn outages_by_chance_are_in_order_and_reproducible() {
    let text = NETWORK.replace(
        "loss = \"1%\"",
        "outages = { every = { exponential = \"1s\" }, lasting = { exponential = \"500ms\" } }",
    );
    let scenario = Scenario::parse(&text).unwrap();
    let direction = &scenario.links[1].forward;
    let spans = |run| {
        let mut rng = scenario.seeds(run).rng("link.b/forward/outages");
        direction.outage_spans(&mut rng, Duration::from_secs(1000))
    };
    let found = spans(0);
    assert!(found.windows(2).all(|w| w[0].0 + w[0].1 < w[1].0));
    // A third of the time: 500 ms out of 1.5 s.
    let out: Duration = found.iter().map(|(_, length)| *length).sum();
    assert!((out.as_secs_f64() / 1000.0 - 1.0 / 3.0).abs() < 0.05, "{out:?}");
    assert_eq!(found, spans(0));
    assert_ne!(found, spans(1));
}

/// Whatever is cut, doubled or put elsewhere: an error, never a panic.
#[test]
fn spoilt_files_are_complained_about() {
    let all: Vec<String> =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"))
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
    let words: Vec<&str> = all.iter().flat_map(|text| text.split_inclusive([' ', '\n'])).collect();
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut sound = 0;
    for _ in 0..3000 {
        let text = &all[draw(all.len())];
        let mut parts: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
        for _ in 0..=draw(3) {
            let at = draw(parts.len());
            match draw(3) {
                0 => drop(parts.remove(at)),
                1 => parts[at] = words[draw(words.len())],
                _ => {
                    let other = draw(parts.len());
                    parts.swap(at, other);
                }
            }
        }
        // Long LEO runs take their time: these are not the point here.
        let text = parts.concat().replace("step", "stop");
        if text.contains("\"leo\"") {
            continue;
        }
        let read = |_: &str| Ok("time,rate\n0s,1Mbit/s\n".to_owned());
        match Experiment::parse("s.toml", &text, &read) {
            Ok(_) => sound += 1,
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
    assert!(sound > 100, "{sound}");
}
