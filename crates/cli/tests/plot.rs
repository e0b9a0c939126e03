//! `bentpipe plot` as users run it, on captures of the simulator.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = r#"
[run]
duration = "20s"
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
rate = "5Mbit/s"
delay = "30ms"
loss = 0.02
[flow.first]
from = "server"
to = "client"
bytes = "300KB"
[flow.second]
from = "client"
to = "server"
bytes = "100KB"
[record]
packets = true
flow = ["cwnd"]
link = ["queue"]
"#;

pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

pub(crate) fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Why it fails: one line.
pub(crate) fn fails(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(!output.status.success(), "{arguments:?} succeeds");
    let why = String::from_utf8(output.stderr).unwrap();
    assert_eq!(why.lines().count(), 1, "{why}");
    why
}

/// A folder with server.pcapng and client.pcapng.
pub(crate) fn captures() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), SCENARIO).unwrap();
    succeeds(folder.path(), &["sim", "x.toml"]);
    let run = folder.path().join("results/x/packets/point-0-run-0");
    for name in ["server.pcapng", "client.pcapng"] {
        fs::copy(run.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

pub(crate) fn installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

#[test]
fn connections_are_listed_and_chosen() {
    let folder = captures();
    let list = succeeds(folder.path(), &["plot", "--list", "server.pcapng"]);
    assert_eq!(list.lines().count(), 3, "{list}");
    let json =
        succeeds(folder.path(), &["plot", "--list", "--json", "server.pcapng", "client.pcapng"]);
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let bytes: Vec<u64> =
            row["bytes"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
        assert!(bytes.iter().any(|&bytes| bytes >= 90_000), "{row}");
        assert_eq!((&row["syn"], &row["rst"]), (&true.into(), &false.into()), "{row}");
    }
    let port = rows[1]["ends"][1].as_str().unwrap().rsplit_once(':').unwrap().1;
    let source = rows[1]["ends"][0].as_str().unwrap().rsplit_once(':').unwrap().1;
    let filter = format!("port {port} and port {source} and host {}", "10.0.0.1");
    let list = succeeds(folder.path(), &["plot", "--filter", &filter, "server.pcapng"]);
    assert!(list.lines().count() >= 2, "{list}");
}

#[test]
fn what_cannot_be_drawn_is_said_in_a_line() {
    let folder = captures();
    let at = folder.path();
    fs::write(at.join("text.pcap"), "no capture at all, but long enough for a header").unwrap();
    assert!(
        fails(at, &["plot", "text.pcap"]).contains("text.pcap: neither pcap nor pcapng nor qlog")
    );
    assert!(fails(at, &["plot", "none.pcap"]).contains("No such file"));
    let missing = fails(at, &["plot", "server.pcapng", "--connection", "7"]);
    assert!(missing.contains("its connections are 0 to 1"), "{missing}");
    assert!(fails(at, &["plot", "server.pcapng", "-o", "x.gif"]).contains(".html, .svg"));
    assert!(
        fails(at, &["plot", "server.pcapng", "--filter", "prot 3"]).contains("--filter: `prot`")
    );
}

#[test]
fn still_figures_have_the_panels_and_the_marks() {
    let folder = captures();
    let at = folder.path();
    for name in ["x.svg", "x.png", "x.xpl"] {
        succeeds(at, &["plot", "server.pcapng", "--connection", "0", "-o", name]);
    }
    let svg = fs::read_to_string(at.join("x.svg")).unwrap();
    for class in ["sequence", "outstanding", "throughput", "round-trip", "retransmitted", "legend"]
    {
        assert!(svg.contains(&format!("class=\"{class}\"")), "{class}");
    }
    assert!(svg.contains(">R</text>") && svg.contains("sequence (kB)"));
    assert!(fs::read(at.join("x.png")).unwrap().starts_with(b"\x89PNG"));
    let xpl = fs::read_to_string(at.join("x.xpl")).unwrap();
    assert!(xpl.starts_with("timeval double\n") && xpl.ends_with("go\n") && xpl.contains("\nR\n"));
}

#[test]
fn marks_agree_with_tshark() {
    if !installed("tshark") {
        return;
    }
    let folder = captures();
    for file in ["server.pcapng", "client.pcapng"] {
        let said = succeeds(folder.path(), &["plot", "--compare-tshark", file]);
        assert!(said.starts_with("0 of "), "{said}");
    }
}

/// Opens a page in a browser, with a script behind its own; returns what the script says, and the
/// page's text.
fn browse(at: &Path, page: &str, size: &str, script: &str) -> (String, String) {
    let text = fs::read_to_string(at.join(page)).unwrap();
    let watch = "<script>window.page_errors = []; \
                 onerror = (why, file, line) => window.page_errors.push(why + ' in line ' + line);</script>";
    let text = text.replacen("<head>", &format!("<head>{watch}"), 1);
    let tested = at.join(format!("tested-{page}"));
    fs::write(&tested, format!("{text}<script>{script}</script>")).unwrap();
    let mut command = Command::new("chromium-headless-shell");
    command.args(["--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]);
    command.arg(format!("--window-size={size}"));
    command.arg(format!("--user-data-dir={}", at.join("browser").display()));
    let output = command.arg(format!("file://{}", tested.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = dom.split("data-result=\"").nth(1).and_then(|rest| rest.split('"').next());
    let said = said.map_or_else(|| String::from_utf8_lossy(&output.stderr).into(), str::to_owned);
    (said, dom)
}

#[test]
fn the_page_does_what_a_person_does_with_it() {
    if !installed("chromium-headless-shell") {
        return;
    }
    let folder = captures();
    let at = folder.path();
    succeeds(at, &["plot", "server.pcapng", "client.pcapng", "-o", "x.html"]);
    for size in ["1280,800", "390,844"] {
        let (said, dom) = browse(at, "x.html", size, include_str!("page.js"));
        assert_eq!(said, "all as expected", "{size}");
        // The last statement of the script sets it.
        assert!(dom.contains("data-ready=\"yes\""));
        assert!(dom.contains("Side by side") && dom.contains("ACK clock"));
    }
}

/// Of each connection on a page: its window over time, as encoded, and its label.
fn windows(page: &str) -> Vec<(String, String)> {
    let begin = page.find("{\"marks\":[").unwrap();
    let end = page[begin..].find("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(&page[begin..begin + end]).unwrap();
    let graphs = data["graphs"].as_array().unwrap().iter();
    let graphs = graphs.map(|graph| {
        let mut series = graph["series"].as_array().unwrap().iter();
        let cwnd = series.find(|one| one["name"] == "cwnd").unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        (text(&cwnd["values"]), text(&graph["label"]))
    });
    graphs.collect()
}

/// Through two gateways: their legs are drawn and told from their recordings and their captures.
#[test]
fn a_simulated_gateways_legs_are_drawn_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let record = ["--set", "record.qlog=true", "--set", "record.packets=true", "--output", "out"];
    let sim =
        ["sim", "geo-gateways", "--no-figures", "--point", "2", "--set", "link.sat.loss=0.01"];
    succeeds(at, &[&sim[..], &["--set", "record.flow=[\"cwnd\"]"], &record].concat());
    let run = "out/packets/point-2-run-0";
    let text = succeeds(at, &["plot", "--explain", &format!("{run}/g1.qlog")]);
    assert!(text.contains("its causes are recorded") && text.contains("limited by: "), "{text}");
    let listed = succeeds(at, &["plot", "--list", "--json", &format!("{run}/g1.qlog")]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let legs: Vec<&str> =
        listed.as_array().unwrap().iter().map(|one| one["leg"].as_str().unwrap()).collect();
    assert!(legs.len() == 2 && legs.contains(&"lan") && legs.contains(&"satellite"), "{legs:?}");
    succeeds(at, &["plot", &format!("{run}/g1.qlog"), "-o", "legs.html"]);
    let page = fs::read_to_string(at.join("legs.html")).unwrap();
    assert!(
        page.contains("\"label\":\"leg satellite\"")
            && page.contains("\"panel\":1,\"name\":\"cwnd\"")
    );
    // The flow's windows are those of its server: not of the gateways, nor of the leg that the
    // client hears.
    for (capture, has) in [("server", true), ("g1@satellite", false), ("client", false)] {
        succeeds(at, &["plot", &format!("{run}/{capture}.pcapng"), "-o", "x.html"]);
        let page = fs::read_to_string(at.join("x.html")).unwrap();
        assert!(page.contains("\"label\":\"flow download\""), "{capture}");
        assert_eq!(page.contains("\"panel\":1,\"name\":\"cwnd\""), has, "{capture}");
    }
}

/// Two runs beside each other: over the same axes in a still figure, and so from the beginning on a
/// page.
#[test]
fn two_runs_are_drawn_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (name, delay) in [("land", "10ms"), ("satellite", "250ms")] {
        let text = SCENARIO.replace("[flow.second]", "[flow.second]\nstart = \"19s\"");
        fs::write(at.join(format!("{name}.toml")), text.replace("30ms", delay)).unwrap();
        succeeds(at, &["sim", "--no-figures", &format!("{name}.toml")]);
    }
    let of = |name: &str| format!("results/{name}/packets/point-0-run-0/server.pcapng");
    let (land, satellite) = (of("land"), of("satellite"));
    let plot = ["plot", &land, &satellite, "--filter", "host 10.0.0.1 and port 5001"];
    succeeds(at, &[&plot[..], &["--connection", "0", "-o", "both.svg"]].concat());
    let picture = fs::read_to_string(at.join("both.svg")).unwrap();
    for name in ["land/…/server.pcapng", "satellite/…/server.pcapng"] {
        assert!(picture.contains(name), "{name}");
    }
    assert_eq!(picture.matches("class=\"sequence\"").count(), 2, "{}", &picture[..600]);
    for (option, beside) in [(None, "false"), (Some("--side-by-side"), "true")] {
        let arguments = plot.iter().copied().chain(["-o", "both.html"]).chain(option);
        succeeds(at, &arguments.collect::<Vec<_>>());
        let page = fs::read_to_string(at.join("both.html")).unwrap();
        assert!(page.contains(&format!("\"beside\":{beside},")), "{option:?}");
    }
}

#[test]
fn a_runs_series_are_beside_its_packets() {
    let folder = captures();
    let at = folder.path();
    let one = SCENARIO.replace("[record]", "[record]\nflows = [\"first\"]");
    fs::write(at.join("one.toml"), one).unwrap();
    succeeds(at, &["sim", "--no-figures", "one.toml"]);
    let explained = |name: &str| {
        let readme = fs::read_to_string(at.join("results").join(name).join("README.md")).unwrap();
        readme.contains("`index.html`")
    };
    assert_eq!((explained("x"), explained("one")), (true, false), "--no-figures");
    let beside = |name: &str| format!("results/{name}/packets/point-0-run-0/server.pcapng");
    for (capture, queues, windows) in [
        (beside("one"), true, true),
        (beside("x"), true, true),
        ("server.pcapng".into(), false, false),
    ] {
        succeeds(at, &["plot", &capture, "-o", "x.html"]);
        let page = fs::read_to_string(at.join("x.html")).unwrap();
        let has = |panel: u8, name: &str| {
            page.contains(&format!("\"panel\":{panel},\"name\":\"{name}\""))
        };
        assert_eq!((has(4, "queue sat/forward"), has(1, "cwnd")), (queues, windows), "{capture}");
    }
    // Of two flows each connection has its own.
    let listed = succeeds(at, &["plot", "--list", "--json", &beside("x")]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let number = |flow: &str| {
        let mut all = listed.as_array().unwrap().iter();
        all.find(|one| one["flow"] == flow).unwrap()["connection"].as_u64().unwrap()
    };
    succeeds(at, &["plot", &beside("x"), "-o", "x.html"]);
    let both = windows(&fs::read_to_string(at.join("x.html")).unwrap());
    let [first, second] = ["first", "second"].map(|flow| both[number(flow) as usize].clone());
    assert!(first.1 == "flow first" && second.1 == "flow second", "{both:?}");
    assert!(first.0.len() > 40 && second.0.len() > 40 && first.0 != second.0, "{both:?}");
    // The folder's own page links a page of each run.
    let said = succeeds(at, &["plot", "results/one"]);
    assert!(said.contains("results/one/graphs/point-0-run-0.html\n"), "{said}");
    let graph = fs::read_to_string(at.join("results/one/graphs/point-0-run-0.html")).unwrap();
    assert!(
        graph.contains("\"file\":\"server.pcapng\"")
            && graph.contains("\"file\":\"client.pcapng\"")
    );
    let index = fs::read_to_string(at.join("results/one/index.html")).unwrap();
    assert!(index.contains("<a href=\"graphs/point-0-run-0.html\">point 0 run 0</a>"), "{index}");
}

#[test]
fn the_story_tells_causes_triggers_and_limiters() {
    let folder = captures();
    let at = folder.path();
    let text = succeeds(at, &["plot", "--explain", "server.pcapng", "--connection", "0"]);
    assert!(text.contains("sends; its causes are recorded"), "{text}");
    assert!(text.contains("new data: an ACK made room in cwnd"));
    assert!(
        text.contains("fast retransmit: the first hole of the episode; upon packet "),
        "{text}"
    );
    assert!(text.contains(", limited by: cwnd\n"), "{text}");
    let json = succeeds(at, &["plot", "--explain", "--json", "client.pcapng"]);
    let told: serde_json::Value = serde_json::from_str(&json).unwrap();
    let directions = |number: usize| &told["connections"][number]["directions"][0];
    // This file's host has sent the second flow's data, whose SYN was here first, and heard the
    // first flow's.
    assert_eq!(directions(0)["recorded"], true);
    assert_eq!(directions(1)["recorded"], false);
    let events = directions(0)["events"].as_array().unwrap();
    let bytes: u64 = events.iter().filter_map(|event| event["bytes"].as_u64()).sum();
    assert!(bytes >= 100_000, "{bytes}");
    let mut last = 0.0;
    for event in events {
        let begin = event["begin_s"].as_f64().unwrap();
        assert!(begin >= last && event["end_s"].as_f64().unwrap() >= begin, "{event}");
        last = begin;
    }
    let acks = directions(1)["acks"].as_object().unwrap();
    assert!(acks.contains_key("ACK of segments") && acks.contains_key("duplicate ACK"), "{acks:?}");
}

#[test]
fn a_recording_in_qlog_is_drawn_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let header = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","serialization_format":"application/qlog+json-seq","trace":{}}"#;
    let event = |time: f64, name: &str, data: &str| {
        format!(
            r#"{{"time":{time:?},"name":"tcp:{name}","group_id":"10.0.0.1:80-10.0.0.2:9","data":{data}}}"#
        )
    };
    let sent = |seq: u32, cause: &str| {
        format!(
            r#"{{"seq":{seq},"length":1000,"ack":1,"flags":["ack"],"window":65535,"cause":"{cause}"}}"#
        )
    };
    let texts = [
        header.to_owned(),
        event(1.0, "segment_sent", &sent(1, "written")),
        event(1.0, "metrics_updated", r#"{"cwnd":10000,"rto":1000.0}"#),
        event(1.0, "limiter_updated", r#"{"new":"pacer"}"#),
        event(51.0, "segment_sent", &sent(1001, "paced")),
    ];
    let mut file: String = texts.iter().map(|text| format!("\u{1e}{text}\n")).collect();
    fs::write(at.join("x.qlog"), &file).unwrap();
    let text = succeeds(at, &["plot", "--explain", "x.qlog"]);
    assert!(text.contains("silence of 0.050000 s, limited by: pacer\n"), "{text}");
    succeeds(at, &["plot", "x.qlog", "-o", "x.svg"]);
    succeeds(at, &["plot", "x.qlog", "-o", "x.html"]);
    let page = fs::read_to_string(at.join("x.html")).unwrap();
    assert!(page.contains("\"panel\":1,\"name\":\"cwnd\"") && page.contains("\"name\":\"rto\""));
    if installed("chromium-headless-shell") {
        let script = "window.bentpipe.draw(); document.documentElement.dataset.result = window.page_errors.join() + \
                      document.getElementById('legend').textContent;";
        let (said, _) = browse(at, "x.html", "1280,800", script);
        assert!(said.contains("limited by: pacer") && said.contains("cwnd"), "{said}");
    }
    file.push_str("\u{1e}{\"time\":1}\n");
    fs::write(at.join("spoilt.qlog"), &file).unwrap();
    assert!(
        fails(at, &["plot", "spoilt.qlog"])
            .contains("JSON text 6 cannot be read: missing field `name`")
    );
}
