//! `bentpipe link` besides what it does to packets: asked and changed from another shell, killed,
//! with NAT, and one within another.

use std::process::Output;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::probe::Emulated;
use crate::stage::{BENTPIPE, build};
use crate::toolbox::{PATIENCE, await_said, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("link_is_shown_and_changed_while_it_runs", shown_and_changed),
    ("killed_link_is_cleaned_up_by_the_next", killed_between),
    ("killed_link_around_a_command_is_cleaned_up_by_the_next", killed_around),
    ("link_with_nat_reaches_what_the_host_does", nat),
    ("links_in_a_row_add_up", nested),
    ("link_joins_two_namespaces", namespaces),
    ("link_has_real_time_priority", realtime),
    ("link_without_its_priority_runs_no_command", realtime_refused),
];

/// What this host is set to.
const SWITCHES: [&str; 2] = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"];

/// `bentpipe link` with these arguments, not in the link's namespace: what it says, or complains
/// of.
pub(crate) fn ask(arguments: &[&str]) -> Result<String, String> {
    let mut command = std::process::Command::new(BENTPIPE);
    let output = command.arg("link").args(arguments).output().expect("bentpipe");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

fn shown_and_changed() {
    let mut emulated = Emulated::new();
    let name = format!("changed_{}", std::process::id());
    emulated.link(&[
        "--name",
        &name,
        "--rate",
        "4Mbit/s",
        "--delay",
        "30ms",
        "--queue",
        "unlimited",
    ]);
    emulated.send(true, 50, 1222, Duration::ZERO);
    let show = || -> Value {
        let text = ask(&["show", "--json", "--link", &name]).expect("an answer");
        serde_json::from_str(&text).expect("JSON")
    };
    let before = show();
    assert_eq!(before["name"], name.as_str(), "{before}");
    let offered = &before["directions"][0]["offered"]["packets"];
    assert!((50..60).contains(&offered.as_u64().unwrap_or(0)), "{before}");
    assert_eq!(before["directions"][0]["queued"]["packets"], 0, "{before}");
    assert!(before["released_packets"].as_u64() >= Some(50), "{before}");
    let pid = before["pid"].as_u64().expect("a process").to_string();
    let text = ask(&["show", "--link", &pid]).expect("an answer");
    assert!(text.contains(&name) && text.contains("in the queue"), "{text}");

    ask(&["set", "--link", &name, "delay=60ms", "--down", "rate=1Mbit/s"]).expect("changed");
    for (down, rate) in [(true, 1e6), (false, 4e6)] {
        emulated.assert_no_faster(down, rate, 0.060);
    }
    ask(&["set", "--link", &name, "--up", "loss=100%"]).expect("changed");
    assert_eq!(emulated.send(false, 20, 100, Duration::ZERO).len(), 0);
    assert_eq!(emulated.send(true, 20, 100, Duration::ZERO).len(), 20);

    for (settings, why) in [
        ("queue=10packets", "`queue` cannot change while the link runs"),
        ("rate=fast", "`fast` does not begin with a number"),
        ("rat=1Mbit/s", "`rat` cannot"),
    ] {
        let said = ask(&["set", "--link", &name, settings]).expect_err("refused");
        assert!(said.contains(why), "{said}");
    }
    assert!(ask(&["show", "--link", "nobody"]).expect_err("nobody").contains("no link `nobody`"));
    emulated.end();
    assert!(ask(&["show", "--link", &name]).is_err());
}

/// What of a link stands in a namespace.
fn standing(namespace: &Namespace) -> String {
    let ruleset = namespace.output("nft", &["list", "tables"]).expect("tables");
    let rules = namespace.output("ip", &["rule"]).expect("rules");
    let ours = |line: &&str| line.contains("bentpipe") || line.contains("2520");
    (ruleset + &rules).lines().filter(ours).collect::<Vec<_>>().join("\n")
}

/// A link that is killed lets pass what it carried, at once. What one of an older version left is
/// removed.
fn killed_between() {
    let testbed = build(TestbedConfig::default());
    let start = || {
        let mut command = testbed.sat.command(BENTPIPE);
        command.args(["link", "--between", "ground1,ground2", "--delay", "100ms"]);
        let mut process = Process::start("bentpipe link", &mut command).expect("start");
        process.wait_for_line("bentpipe link: ready", PATIENCE).expect("ready");
        process
    };
    let address = Testbed::H2_V4.to_string();
    let longest = || {
        let ping = ["-c", "3", "-i", "0.2", "-w", "120", &address];
        longest_round_trip(&testbed.h1.output("ping", &ping).expect("ping"))
    };
    let devices = || testbed.sat.output("ip", &["-br", "link"]).expect("interfaces");
    let mut first = start();
    let pid = first.id();
    assert!(!first.stderr().contains("nft table"), "{}", first.stderr());
    assert!(longest() >= 199.0);
    first.kill();
    // With nobody there a round trip may be of any length on a busy machine, but it ends.
    longest();
    wait_until("its devices are gone", || match devices() {
        there if there.contains("bp-link") => Err(there),
        _ => Ok(()),
    });
    let older = "nft add table inet bentpipe-link; for family in -4 -6; do \
                 ip $family rule add priority 253 fwmark 0x04000000/0x0c000000 lookup 25202; done";
    testbed.sat.output("sh", &["-c", older]).expect("an older version");
    let mut second = start();
    wait_until("it says what it has removed", || {
        let said = second.stderr();
        let all = ["nft table inet bentpipe-link", "IPv4 rules", "IPv6 rules"];
        all.iter().all(|what| said.contains(what)).then_some(()).ok_or(said)
    });
    assert!(longest() >= 199.0);
    second.stop();
    assert_eq!(standing(&testbed.sat), "");
    assert_eq!(left_by(pid), Vec::<String>::new());
}

/// Names of the files of a link's process.
fn left_by(pid: u32) -> Vec<String> {
    let files = std::fs::read_dir("/run/bentpipe").into_iter().flatten().filter_map(Result::ok);
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    names.filter(|name| name.contains(&format!("-process-{pid}-"))).collect()
}

/// A host that does not forward.
fn host(testbed: &Testbed) -> &Namespace {
    for switch in SWITCHES {
        testbed.h1.sysctl(&switch.replace('/', "."), "0").expect("sysctl");
    }
    &testbed.h1
}

fn switches(host: &Namespace) -> [String; 2] {
    let read = |switch| std::fs::read_to_string(format!("/proc/sys/{switch}")).expect("sysctl");
    host.run(|| SWITCHES.map(|switch| read(switch).trim().to_owned())).expect("namespace")
}

fn killed_around() {
    let testbed = build(TestbedConfig::default());
    let host = host(&testbed);
    let mut command = host.command(BENTPIPE);
    command.args([
        "link",
        "--nat",
        "--delay",
        "5ms",
        "--",
        "sh",
        "-c",
        "echo runs $$; exec sleep 600",
    ]);
    let mut first = Process::start("bentpipe link", &mut command).expect("start");
    first.wait_for_line("runs", PATIENCE).expect("its command");
    let said = first.stdout();
    let inner = said.split_whitespace().nth(1).and_then(|pid| pid.parse().ok()).expect("a process");
    assert_eq!(switches(host), ["1", "1"]);
    first.kill();
    // What runs there has no network any more, and nothing else to do.
    let _ = kill(Pid::from_raw(inner), Signal::SIGKILL);
    assert!(standing(host).contains("bentpipe-enclosed-0"), "{}", standing(host));
    let second = link(host, &["--delay", "5ms", "--", "true"]);
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains("nft table inet bentpipe-enclosed-0"), "{said}");
    assert!(said.contains("forwarding by this host"), "{said}");
    assert_eq!((standing(host), switches(host)), (String::new(), ["0", "0"].map(str::to_owned)));
}

/// Runs `bentpipe link` to its end.
fn link(host: &Namespace, arguments: &[&str]) -> Output {
    let output = host.command(BENTPIPE).arg("link").args(arguments).output().expect("bentpipe");
    assert!(output.status.success(), "{output:?}");
    output
}

fn nat() {
    let testbed = build(TestbedConfig::default());
    let host = host(&testbed);
    let (four, six) = (Testbed::H2_V4.to_string(), Testbed::H2_V6.to_string());
    for (family, address) in [("-4", &four), ("-6", &six)] {
        let ping = format!(
            "for i in 1 2 3 4 5 6 7 8 9 10; do ping {family} -c 1 -w 30 {address} && exit 0; done; exit 1"
        );
        link(host, &["--nat", "--delay", "20ms", "--", "sh", "-c", &ping]);
        assert_eq!(switches(host), ["0", "0"], "restored");
    }
    assert_eq!(standing(host), "");
}

/// The longest round trip of several, by what ping says, in milliseconds. It takes the wall clock,
/// which is slewed by half a millisecond in a second at most; and were it set meanwhile, one of
/// them would be wrong.
fn longest_round_trip(said: &str) -> f64 {
    let times = said.lines().find_map(|line| line.split_once("min/avg/max")?.1.split('/').nth(3));
    times.and_then(|text| text.trim().parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

fn nested() {
    let testbed = build(TestbedConfig::default());
    let host = host(&testbed);
    let address = Testbed::H2_V4.to_string();
    let inner = [
        "link", "--delay", "30ms", "--rate", "8Mbit/s", "--", "ping", "-c", "4", "-i", "0.3", "-w",
        "120", &address,
    ];
    let outer = ["--nat", "--delay", "20ms", "--", BENTPIPE];
    let output = link(host, &[&outer[..], &inner].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let longest = longest_round_trip(&said);
    assert!(longest >= 99.0, "{said}");
    assert_eq!((standing(host), switches(host)), (String::new(), ["0", "0"].map(str::to_owned)));
}

/// A link from H1 to H2 beside the testbed's, H-D-7's GEO: its devices are gone however it ends,
/// and the next start removes what was left.
fn namespaces() {
    let testbed = build(TestbedConfig::default());
    let (h1, h2) = (&testbed.h1, &testbed.h2);
    let ends = format!("{}:sat9,{}:sat9", h1.name(), h2.name());
    let start = || {
        let mut command = std::process::Command::new(BENTPIPE);
        command.args(["link", "--between", &ends, "--profile", "geo-henderson", "--mtu", "1000"]);
        let mut process = Process::start("bentpipe link", &mut command).expect("start");
        process.wait_for_line("bentpipe link: ready", PATIENCE).expect("ready");
        process
    };
    let is_there = |host: &Namespace| host.output("ip", &["link", "show", "sat9"]).is_ok();
    let mut first = start();
    let pid = first.id();
    await_said(&first, "IPv6 needs 1280", 1);
    for (host, number) in [(h1, 1), (h2, 2)] {
        host.ip(&format!("address add 10.99.0.{number}/24 dev sat9\n")).expect("address");
    }
    let ping = ["-c", "5", "-i", "0.2", "-w", "120", "10.99.0.2"];
    let output = h1.command("ping").args(ping).output().expect("ping");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let longest = longest_round_trip(&said);
    assert!(longest >= 599.0 && said.contains(" 5 received"), "{said}");
    first.kill();
    wait_until("its devices are gone", || {
        if is_there(h1) || is_there(h2) { Err("there".to_owned()) } else { Ok(()) }
    });
    let mut second = start();
    // By this one, or by another link that has begun on this machine meanwhile.
    assert_eq!(left_by(pid), Vec::<String>::new());
    second.stop();
    assert!(!is_there(h1) && !is_there(h2));

    let refused = |between: &str| ask(&["--between", between, "--delay", "5ms"]).expect_err("no");
    for (between, why) in [
        ("nowhere:sat9,there:sat9", "cannot enter network namespace nowhere"),
        (&format!("{}:sat9,sat9", h1.name()), "--between takes two interfaces"),
        (&format!("{}:lo,{}:sat9", h1.name(), h2.name()), "an interface named lo already exists"),
    ] {
        let said = refused(between);
        assert!(said.contains(why) && said.trim().lines().count() == 1, "{between}: {said}");
    }
}

fn realtime_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark");
    let mut command = std::process::Command::new("setpriv");
    command.args(["--bounding-set", "-sys_nice", BENTPIPE, "link", "--realtime", "--delay", "5ms"]);
    let output = command.args(["--", "touch"]).arg(&mark).output().expect("setpriv");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(!output.status.success() && said.contains("--realtime: "), "{said}");
    assert!(!mark.exists(), "the command has run");
}

/// As the kernel says, where it lets a process have it.
fn realtime() {
    const ROUND_ROBIN: &str = "2";
    let testbed = build(TestbedConfig::default());
    let mut command = testbed.sat.command(BENTPIPE);
    command.args(["link", "--realtime", "--between", "ground1,ground2", "--delay", "5ms"]);
    let mut link = Process::start("bentpipe link", &mut command).expect("start");
    if let Err(error) = link.wait_for_line("bentpipe link: ready", PATIENCE) {
        assert!(error.to_string().contains("--realtime: "), "{error}");
        return println!("not here: {error}");
    }
    wait_until("a thread has it", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", link.id())).expect("threads");
        let stats = tasks
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        // The policy is field 41 (proc(5)); what is in front of the third may contain anything.
        let policy =
            |stat: &String| Some(stat.rsplit_once(')')?.1.split_whitespace().nth(38)?.to_owned());
        let policies: Vec<Option<String>> = stats.map(|stat| policy(&stat)).collect();
        match policies.iter().flatten().any(|policy| policy == ROUND_ROBIN) {
            true => Ok(()),
            false => Err(format!("{policies:?}")),
        }
    });
    link.stop();
}
