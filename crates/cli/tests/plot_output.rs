//! The forms that `bentpipe plot` writes, and its words where there is nothing to write.

use crate::plot::{captures, fails, installed, run, succeeds};
use std::fs;

/// The header of a pcap file of raw IP, and a packet's.
fn pcap() -> Vec<u8> {
    let words = [0xA1B2_C3D4_u32, 4 << 16 | 2, 0, 0, 65535, 101];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn packet(bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u32;
    let header = [0, 0, len, len].into_iter().flat_map(u32::to_le_bytes);
    header.chain(bytes.iter().copied()).collect()
}

/// From 10.0.0.1 to 10.0.0.2: a packet of UDP, or a SYN.
fn ip(protocol: u8) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([3, 232, 0, 80, 0, 0, 0, 9, 0, 0, 0, 0, 0x50, 2, 255, 255, 0, 0, 0, 0]);
    bytes
}

#[test]
fn a_file_without_tcp_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("header.pcap"), pcap()).unwrap();
    let said = fails(at, &["plot", "header.pcap"]);
    assert_eq!(said, "bentpipe: header.pcap: holds no packets\n");
    let mut cut = [pcap(), packet(&ip(17)), packet(&ip(17))].concat();
    cut.truncate(cut.len() - 3);
    fs::write(at.join("cut.pcap"), &cut).unwrap();
    let said = fails(at, &["plot", "cut.pcap"]);
    let expected = "cut.pcap: no TCP is found in its 1 packet: ends in the middle of packet 2\n";
    assert_eq!(said, format!("bentpipe: {expected}"));
}

#[test]
fn a_still_figure_says_what_there_is_none_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let name = format!("{}.pcap", "a-long-afternoon-".repeat(12));
    fs::write(at.join(&name), [pcap(), packet(&ip(6))].concat()).unwrap();
    succeeds(at, &["plot", &name, "-o", "x.svg"]);
    let svg = fs::read_to_string(at.join("x.svg")).unwrap();
    assert_eq!(svg.matches(">none</text>").count(), 3, "outstanding, throughput, round trip");
    assert!(svg.contains("#0: 10.0.0.1:1000 → 10.0.0.2:80</text>"), "{svg}");
}

#[test]
fn a_still_figure_has_the_lane_of_limiters() {
    let folder = captures();
    let at = folder.path();
    succeeds(at, &["plot", "server.pcapng", "--connection", "0", "-o", "x.svg"]);
    let svg = fs::read_to_string(at.join("x.svg")).unwrap();
    assert!(svg.contains("class=\"limiters\"") && svg.contains(">limited by: cwnd</text>"));
}

#[test]
fn segments_and_series_become_csv() {
    let folder = captures();
    let at = folder.path();
    let list = succeeds(at, &["plot", "--list", "--json", "server.pcapng"]);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let packets = |row: usize, end: usize| list[row]["packets"][end].as_u64().unwrap() as usize;
    let all = packets(0, 0) + packets(0, 1) + packets(1, 0) + packets(1, 1);
    let csv = succeeds(at, &["plot", "--csv", "server.pcapng"]);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let column = |name: &str| names.iter().position(|one| one == name).unwrap();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), all);
    let has = |name: &str, value: &str| rows.iter().any(|row| &row[column(name)] == value);
    assert!(
        has("kind", "retransmission") && has("cause", "ack-clock") && has("cause_by", "recorded")
    );
    // What the run has recorded comes with it: of the connection that is asked for, too.
    let of_run = "results/x/packets/point-0-run-0/server.pcapng";
    succeeds(at, &["plot", of_run, "--connection", "0", "-o", "points.csv"]);
    let one = fs::read_to_string(at.join("points.csv")).unwrap();
    let of = |text: &str| one.lines().filter(|line| line.ends_with(text)).count();
    assert!(of(",B") > 10 && one.contains(",cwnd,") && one.contains(",queue sat/forward,"));
    assert_eq!(
        one.lines().filter(|line| line.ends_with(",,")).count(),
        packets(0, 0) + packets(0, 1)
    );
}

#[test]
fn the_guide_has_each_column() {
    let guide = fs::read_to_string("../../docs/plot.md").unwrap();
    for (name, what) in bentpipe_capture::csv::COLUMNS {
        assert!(guide.contains(&format!("| `{name}` | {what} |\n")), "{name}");
    }
}

#[test]
fn graphs_for_xplot_fill_a_folder() {
    let folder = captures();
    let at = folder.path();
    let expected = |folder: &str, prefix: &str| -> String {
        let way =
            |number: usize, way: &str| format!("{folder}/{prefix}connection-{number}-{way}.xpl\n");
        [0, 1].into_iter().flat_map(|n| [way(n, "forward"), way(n, "backward")]).collect()
    };
    assert_eq!(succeeds(at, &["plot", "server.pcapng", "-o", "graphs/"]), expected("graphs", ""));
    assert_eq!(succeeds(at, &["plot", "server.pcapng", "-o", "y.xpl"]), expected("y", ""));
    let both = succeeds(at, &["plot", "server.pcapng", "client.pcapng", "-o", "both/"]);
    let names = ["server.pcapng-", "client.pcapng-"].map(|prefix| expected("both", prefix));
    assert_eq!(both, names.concat());
    let graph = fs::read_to_string(at.join("graphs/connection-0-backward.xpl")).unwrap();
    assert!(graph.starts_with("timeval double\n") && graph.ends_with("go\n"));
    let refused = fails(at, &["plot", "server.pcapng", "-o", "graphs/", "--format", "svg"]);
    assert!(refused.contains("graphs/ is a folder: only .xpl"), "{refused}");
    succeeds(at, &["plot", "server.pcapng", "-o", "picture", "--format", "svg"]);
    assert!(fs::read_to_string(at.join("picture")).unwrap().starts_with("<svg"));
}

#[test]
fn a_file_that_ends_too_early_is_compared_with_tshark() {
    if !installed("tshark") {
        return;
    }
    let folder = captures();
    let at = folder.path();
    let mut bytes = fs::read(at.join("server.pcapng")).unwrap();
    bytes.truncate(bytes.len() * 2 / 3 + 1);
    fs::write(at.join("cut.pcapng"), bytes).unwrap();
    let output = run(at, &["plot", "--compare-tshark", "--json", "cut.pcapng"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "[]");
    assert!(said.contains("ends in the middle of packet ") && said.lines().count() == 1, "{said}");
}
