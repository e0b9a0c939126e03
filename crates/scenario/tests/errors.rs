//! Every mistake is one line that points at its place and says what was expected.

use bentpipe_scenario::Experiment;

/// A sound scenario, to be spoilt.
const SOUND: &str = r#"
[run]
duration = "10s"
[host.server]
tcp = "linux"
[host.client]
[router.r1]
[gateway.g1]
lan-links = "lan"
[link.lan]
between = ["server", "g1"]
[link.sat]
between = ["g1", "r1"]
rate = "8Mbit/s"
delay = "250ms"
queue = "60packets"
[link.last]
between = ["r1", "client"]
[middlebox.thin]
kind = "ack-filter"
at = "r1"
link = "sat"
[flow.main]
from = "server"
to = "client"
bytes = "1MB"
[fault.rain]
kind = "link-down"
link = "sat"
at = "3s"
[record]
flow = ["cwnd"]
"#;

fn complaint(text: &str) -> String {
    let read = |path: &str| match path {
        "bad.csv" => Ok("time,rate\n0s,1Mbit/s\n1s,fast\n".to_owned()),
        "falls.csv" => Ok("time,delay\n1s,10ms\n0s,9ms\n".to_owned()),
        "head.csv" => Ok("a,b\n1,2\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    match Experiment::parse("s.toml", text, &read) {
        Ok(_) => panic!("nothing is wrong with\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// `SOUND` with one line put for another; the complaint must point at `place` and say `parts`.
#[track_caller]
fn spoilt(line: &str, with: &str, place: &str, parts: &[&str]) {
    assert!(SOUND.contains(line), "{line}");
    let found = complaint(&SOUND.replacen(line, with, 1));
    assert!(found.starts_with(&format!("s.toml:{place}: ")), "{found}");
    assert!(!found.contains('\n'), "{found}");
    for part in parts {
        assert!(found.contains(part), "`{part}` is not in: {found}");
    }
}

#[test]
fn the_sound_one_is_sound() {
    Experiment::parse("s.toml", SOUND, &|_: &str| Err(String::new())).unwrap();
}

#[test]
fn unknown_keys_have_near_ones() {
    spoilt("rate = ", "rat = ", "14:1", &["unknown key `rat` in [link.sat]", "mean `rate`"]);
    spoilt("[record]", "[recrod]", "31:2", &["unknown key `recrod`", "`record`"]);
    spoilt("bytes = ", "reply = ", "26:1", &["unknown key `reply` in [flow.main]"]);
    spoilt("\"linux\"", "{ preset = \"linux\", iv = 4 }", "5:27", &["`iv`", "`iw`"]);
    spoilt("\"linux\"", "{ rto.mix = \"1s\" }", "5:13", &["`rto.mix`", "rto.m"]);
}

#[test]
fn values_say_what_was_expected() {
    spoilt("\"8Mbit/s\"", "8", "14:8", &["found the number 8", "a rate such as"]);
    spoilt("\"8Mbit/s\"", "\"8\"", "14:8", &["`8` has no known unit", "8Mbit/s"]);
    spoilt("\"250ms\"", "250", "15:9", &["found the number 250", "\"250ms\""]);
    spoilt("\"60packets\"", "\"sixty\"", "16:9", &["no queue is called `sixty`", "420packets"]);
    spoilt("\"60packets\"", "\"0packets\"", "16:9", &["`0packets`", "420packets"]);
    spoilt("\"linux\"", "\"solaris\"", "5:7", &["no preset is called `solaris`", "linux"]);
    spoilt("\"linux\"", "\"linux,iw=none\"", "5:7", &["iw", "none"]);
    spoilt("\"1MB\"", "true", "26:9", &["found true", "bytes"]);
    spoilt("[\"cwnd\"]", "[\"cwdn\"]", "32:9", &["`cwdn`", "did you mean `cwnd`?"]);
    spoilt("\"10s\"", "\"0s\"", "3:12", &["no length"]);
    spoilt(
        "\"60packets\"",
        "{ kind = \"red\", min-threshold = 20, max-threshold = 15 }",
        "16:61",
        &["`15`", "above `min-threshold`, 20"],
    );
    let policer = "{ kind = \"policer\", rate = \"8Mbit/s\", burst = \"0B\" }";
    spoilt("\"60packets\"", policer, "16:55", &["`0B`", "`burst`", "30KB"]);
    let no_burst = "{ kind = \"policer\", rate = \"8Mbit/s\" }";
    spoilt("\"60packets\"", no_burst, "16:9", &["`policer` needs `burst`", "30KB"]);
    spoilt("\"60packets\"", "{ kind = \"rde\" }", "16:18", &["no queue is called `rde`", "`red`"]);
    spoilt("bytes = \"1MB\"", "workload = \"bulky\"", "26:12", &["`bulky`", "`bulk`"]);
    spoilt("bytes = \"1MB\"", "start = { uniform = [\"5s\", \"1s\"] }", "26:21", &["the minimum"]);
    spoilt("bytes = \"1MB\"", "start = { normal = \"5s\" }", "26:11", &["`normal`"]);
    spoilt("delay = \"250ms\"", "loss = 1.5", "15:8", &["1.5", "a probability"]);
    spoilt("\"10s\"", "\"10s\"\nwarm-up = \"10s\"", "4:11", &["shorter than duration"]);
}

#[test]
fn a_word_with_an_underscore_is_answered_with_the_key() {
    spoilt("\"10s\"", "\"10s\"\nwarm_up = \"1s\"", "4:1", &["`warm_up`", "`warm-up`"]);
}

#[test]
fn what_is_missing_is_named() {
    spoilt("duration = \"10s\"", "", "2:1", &["[run] has no `duration`", "a time"]);
    spoilt("to = \"client\"", "", "23:1", &["[flow.main] has no `to`", "a host"]);
    spoilt("at = \"3s\"", "", "27:1", &["[fault.rain] has no `at`"]);
    spoilt("lan-links = \"lan\"", "", "8:1", &["[gateway.g1] has no `lan-links`"]);
    let text = "[host.a]\n[host.b]\n";
    assert!(complaint(text).contains("the file has no `run`"), "{}", complaint(text));
}

#[test]
fn names_must_exist() {
    spoilt("from = \"server\"", "from = \"sever\"", "24:8", &["`sever`", "mean `server`?"]);
    spoilt("[\"g1\", \"r1\"]", "[\"g1\", \"r2\"]", "13:18", &["`r2`", "`r1`"]);
    spoilt("link = \"sat\"\n[flow", "link = \"sta\"\n[flow", "22:8", &["no link", "`sta`"]);
    spoilt("lan-links = \"lan\"", "lan-links = \"lna\"", "9:13", &["no link is called `lna`"]);
}

#[test]
fn the_network_must_hold_together() {
    spoilt("[\"g1\", \"r1\"]", "[\"g1\", \"g1\"]", "13:18", &["between `g1` and itself"]);
    spoilt("[\"g1\", \"r1\"]", "[\"g1\"]", "13:11", &["two ends, found 1"]);
    spoilt("to = \"client\"", "to = \"server\"", "25:6", &["from `server` to itself"]);
    spoilt("to = \"client\"", "to = \"r1\"", "25:6", &["`r1` is no host"]);
    spoilt(
        "[\"r1\", \"client\"]",
        "[\"r1\", \"server\"]",
        "25:6",
        &["no way", "`server` to `client`"],
    );
    spoilt(
        "lan-links = \"lan\"",
        "lan-links = \"last\"",
        "9:13",
        &["does not end at gateway `g1`"],
    );
    spoilt(
        "lan-links = \"lan\"",
        "lan-links = [\"lan\", \"sat\"]",
        "9:13",
        &["no link on its satellite side"],
    );
    spoilt("at = \"r1\"", "at = \"client\"", "22:8", &["`sat` does not end at `client`"]);
    spoilt("[router.r1]", "[router.client]", "7:1", &["another node called `client`"]);
    spoilt(
        "kind = \"link-down\"\nlink = \"sat\"",
        "kind = \"gateway-crash\"\ngateway = \"r1\"",
        "29:11",
        &["`r1` is no gateway"],
    );
    spoilt("kind = \"link-down\"", "kind = \"gateway-crash\"", "29:8", &["has no `link`"]);
}

#[test]
fn hosts_do_not_forward() {
    let text = r#"
run = { duration = "1s" }
[host]
a = {}
b = {}
c = {}
[link]
ab = { between = ["a", "b"] }
bc = { between = ["b", "c"] }
[flow]
f = { from = "a", to = "c" }
"#;
    assert!(complaint(text).contains("no way leads from `a` to `c`"), "{}", complaint(text));
}

#[test]
fn orbits_need_places_in_sight() {
    let orbit = "orbit = { kind = \"geo\", longitude = \"19.2E\" }";
    spoilt("delay = \"250ms\"", orbit, "15:9", &["`g1` has no `position`"]);
    spoilt("delay = \"250ms\"", &format!("delay = \"1s\"\n{orbit}"), "15:9", &["exclude"]);
    let text = SOUND
        .replace("delay = \"250ms\"", orbit)
        .replace("[router.r1]", "[router.r1]\nposition = \"40.7N 74.0W\"")
        .replace("lan-links = \"lan\"", "lan-links = \"lan\"\nposition = \"50.1N 8.7E\"");
    assert!(complaint(&text).contains("below the horizon of `r1`"), "{}", complaint(&text));
    let text = text.replace("50.1N 8.7E", "50.1 8.7");
    assert!(complaint(&text).contains("`50.1 8.7` is no position"), "{}", complaint(&text));
}

#[test]
fn files_of_element_sets_are_placed_too() {
    let orbit = |keys: &str| format!("orbit = {{ kind = \"tle\", {keys} }}");
    let wrong = |keys: &str, why: &[&str]| spoilt("delay = \"250ms\"", &orbit(keys), "15:9", why);
    wrong("slot = \"1s\"", &["`file`"]);
    let spoilt_at = |keys: &str, at: &str, why: &[&str]| {
        spoilt("delay = \"250ms\"", &orbit(keys), at, why);
    };
    spoilt_at("file = \"no.tle\"", "15:32", &["cannot read `no.tle`: no such file"]);
    spoilt_at("file = \"bad.csv\"", "15:32", &["bad.csv, line 1", "two-line element set"]);
}

#[test]
fn trace_files_are_placed_too() {
    let trace = |file: &str| format!("trace = \"{file}\"");
    spoilt("delay = \"250ms\"", &trace("no.csv"), "15:9", &["cannot read `no.csv`: no such file"]);
    spoilt("delay = \"250ms\"", &trace("bad.csv"), "15:9", &["bad.csv, line 3", "`fast`"]);
    let falls = ["falls.csv, line 3", "before that of line 2"];
    spoilt("delay = \"250ms\"", &trace("falls.csv"), "15:9", &falls);
    spoilt("delay = \"250ms\"", &trace("head.csv"), "15:9", &["`a,b`", "`time_s,rate_Mbit/s"]);
}

#[test]
fn what_a_trace_has_too_much_is_noted_once() {
    let text = SOUND.replace("delay = \"250ms\"", "trace = \"noted.csv\"");
    let read = |_: &str| Ok("time_s,rate_mbps,x,y\n5,8,1,1\n6,9,1,1\n".to_owned());
    let experiment = Experiment::parse("s.toml", &text, &read).unwrap();
    let expected = [
        "noted.csv: time_s, rate_mbps taken, left out: x, y",
        "noted.csv: it begins at 5 (line 2), which is 0 s of the trace",
    ];
    assert_eq!(experiment.notes(), expected);
}

#[test]
fn loads_need_a_link_on_the_way_with_a_rate() {
    let web = |of: &str| format!("workload = \"web\"\nload = \"10%\"\nof = \"{of}\"");
    spoilt("bytes = \"1MB\"", &web("lan"), "28:6", &["`lan` has no `rate`"]);
    spoilt("bytes = \"1MB\"", &web("nal"), "28:6", &["no link is called `nal`"]);
    spoilt("bytes = \"1MB\"", "workload = \"web\"\nload = \"ten\"", "27:8", &["a share such as"]);
}

#[test]
fn captures_need_a_host_or_a_gateway() {
    let packets = "packets = true\nlinks = [\"far\"]\nflow = []";
    let far = "[router.r2]\n[link.far]\nbetween = [\"r1\", \"r2\"]";
    let text = format!("{packets}\n{far}");
    spoilt("flow = [\"cwnd\"]", &text, "33:9", &["no host or gateway", "links"]);
}

#[test]
fn repetitions_are_checked() {
    let repeat = |text: &str| format!("[repeat]\n{text}\n[record]");
    spoilt("[record]", &repeat("until = \"sd\""), "32:9", &["no stopping rule", "`sd 5%`"]);
    spoilt("[record]", &repeat("runs = 0"), "32:8", &["out of range"]);
    spoilt("[record]", &repeat("runs = 2\nuntil = \"sd 5%\""), "32:8", &["exclude each other"]);
    spoilt("[record]", &repeat("max = 3"), "32:7", &["without `until`"]);
}

#[test]
fn sweeps_are_checked_and_point_at_their_lines() {
    let sweep = |text: &str| format!("[sweep]\n{text}\n[record]");
    let is = |text: &str, place: &str, parts: &[&str]| {
        spoilt("[record]", &sweep(text), place, parts);
    };
    is("\"link.sta.delay\" = [\"1s\"]", "32:1", &["no `link.sta`", "did you mean `sat`?"]);
    is("\"link.sat.dealy\" = [\"1s\"]", "32:1", &["unknown key `dealy`", "`delay`"]);
    is("\"link.sat.delay\" = [\"1s\", 250]", "32:27", &["found the number 250"]);
    is("\"flow.main.tcp.recovery\" = [\"sack\", \"fast\"]", "32:37", &["`fast`"]);
    is("\"flow.main.from.x\" = [1]", "32:1", &["`flow.main.from` is no table"]);
    is("\"link.sat\" = [1]", "32:1", &["expected a field of it"]);
    is("\"repeat.runs\" = [1]", "32:1", &["cannot be swept"]);
    is("\"link.sat.delay\" = \"1s\"", "32:20", &["a list of values, or a range"]);
    is("\"link.sat.delay\" = []", "32:20", &["no points"]);
    is("\"link.sat.delay\" = { from = \"1s\", to = 3, steps = 4 }", "32:40", &["not of one kind"]);
    is("\"link.sat.delay\" = { from = \"1s\", to = \"3s\" }", "32:20", &["no `steps`"]);
    let two = "\"link.sat.delay\" = [\"1s\"]\n\"link.sat.rate\" = [\"1Mbit/s\", \"2Mbit/s\"]\n";
    is(
        &format!("{two}zip = [[\"link.sat.delay\", \"link.sat.rate\"]]"),
        "34:27",
        &["2 values, its group 1"],
    );
    is(
        &format!("{two}zip = [[\"link.sat.dealy\"]]"),
        "34:9",
        &["not swept alone", "`link.sat.delay`"],
    );
    let many = "{ from = 0.0, to = 0.5, steps = 10000 }";
    is(
        &format!("\"link.sat.loss\" = {many}\n\"link.lan.loss\" = {many}"),
        "31:1",
        &["more than 1000000"],
    );
}

#[test]
fn a_mistake_of_one_point_names_the_point() {
    let sweep = "[sweep]\n\"link.sat.queue.max-threshold\" = [30, 10]\n[record]";
    let red = "{ kind = \"red\", min-threshold = 20, max-threshold = 40 }";
    let text = SOUND.replace("\"60packets\"", red).replace("[record]", sweep);
    let found = complaint(&text);
    assert!(found.contains("`10` is no value for `red`'s `max-threshold`"), "{found}");
    assert!(found.ends_with(" (at max-threshold=10)"), "{found}");
}
