//! What `gateway.toml` may say, and what is answered to mistakes.

mod bounds;
mod changes;
mod policy;

use bentpipe_config::gateway::GatewayFile;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::{AddOptions, Config, Discard, FinMode, Handshake, MssLimit};

/// Of a host that a gateway could run on.
const MEMORY: u64 = 64 << 30;

fn read(text: &str) -> Result<Config, String> {
    setup(text).map(|file| file.config)
}

fn setup(text: &str) -> Result<GatewayFile, String> {
    GatewayFile::parse("FILE", text, MEMORY).map_err(|error| error.to_string())
}

const INTERFACES: &str = "[interfaces]\nlan = [\"a\"]\nsatellite = [\"b\"]\n";

#[test]
fn what_the_file_says_overrides_the_defaults() {
    let text = format!(
        "{INTERFACES}[satellite]\nrate = \"8Mbit/s\"\nround-trip = \"500ms\"\nadd-options = \"never\"\n[limits]\nmemory = \"64MiB\"\nhalf-open = 100\n"
    );
    let config = read(&text).unwrap();
    assert_eq!(config.satellite.bandwidth_delay_product(), Some(500_000));
    assert_eq!(config.memory, Bytes::new(64 << 20));
    assert_eq!(config.max_half_open, 100);
    assert_eq!(config.add_options, AddOptions::Never);
    assert_eq!(config.max_stream, None);
}

#[test]
fn what_is_end_to_end_can_be_chosen() {
    let config = read(INTERFACES).unwrap();
    assert_eq!((config.handshake, config.fin), (Handshake::EndToEnd, FinMode::EndToEnd));
    let table = "[splitting]\nhandshake = \"downstream-first\"\nfin = \"immediate\"\n";
    let config = read(&format!("{INTERFACES}{table}")).unwrap();
    let chosen = (Handshake::DownstreamFirst, FinMode::Immediate);
    assert_eq!((config.handshake, config.fin), chosen);
    let wrong = read(&format!("{INTERFACES}[splitting]\nfin = \"never\"\n")).unwrap_err();
    assert!(wrong.starts_with("FILE:5:") && wrong.contains("immediate"), "{wrong}");
}

#[test]
fn what_scenarios_could_say_alone_can_be_said_here() {
    let limits = "[limits]\nguaranteed = \"64KiB\"\nreset-drain = \"5s\"\n";
    let splitting = "[splitting]\nfin-hold = \"3s\"\nannounce = false\n";
    let config = read(&format!("{INTERFACES}{limits}{splitting}")).unwrap();
    assert_eq!(config.guaranteed, Bytes::new(64 << 10));
    assert_eq!(config.reset_drain, Duration::from_secs(5));
    assert_eq!((config.fin_hold, config.announce), (Duration::from_secs(3), false));
}

#[test]
fn each_side_may_discard_at_a_backlog() {
    let config = read(&format!("{INTERFACES}[lan]\ndiscard = \"single\"\n")).unwrap();
    assert_eq!((config.lan.discard, config.satellite.discard), (Discard::Single, Discard::Off));
    let wrong = read(&format!("{INTERFACES}[satellite]\ndiscard = \"red\"\n")).unwrap_err();
    assert!(wrong.starts_with("FILE:5:") && wrong.contains("random-early"), "{wrong}");
}

#[test]
fn mistakes_are_named_with_their_line() {
    let unknown = read(&format!("{INTERFACES}[satellite]\nrat = \"8Mbit/s\"\n")).unwrap_err();
    assert!(unknown.starts_with("FILE:5:1: unknown key `rat`"), "{unknown}");
    let unit = read(&format!("{INTERFACES}[satellite]\nrate = \"8\"\n")).unwrap_err();
    assert!(unit.starts_with("FILE:5:") && unit.contains("8Mbit/s"), "{unit}");
    let missing = read("[interfaces]\nlan = [\"a\"]\n").unwrap_err();
    assert!(missing.contains("[interfaces] has no `satellite`"), "{missing}");
}

#[test]
fn metrics_are_for_this_host_alone() {
    let setup = |line: &str| read(&format!("{INTERFACES}[metrics]\nlisten = \"{line}\"\n"));
    assert!(setup("127.0.0.1:9464").is_ok() && setup("[::1]:9464").is_ok());
    for address in ["0.0.0.0:9464", "192.0.2.1:9464", "[::]:9464"] {
        let message = setup(address).unwrap_err();
        assert!(message.starts_with("FILE:5:") && message.contains("loopback"), "{message}");
    }
    assert!(setup("localhost").unwrap_err().starts_with("FILE:5:"));
    let often = read(&format!("{INTERFACES}[log]\nevery = \"1ms\"\n")).unwrap_err();
    assert!(often.contains("1s to 24h"), "{often}");
    assert!(read(&format!("{INTERFACES}[log]\nevery = \"10min\"\n")).is_ok());
}

#[test]
fn each_side_chooses_its_tcp_by_name() {
    let text = format!(
        "{INTERFACES}[satellite]\nrecovery = \"fack\"\ncongestion = \"cubic\"\niw = 4\n\
         rto.min = \"2s\"\npacing = \"off\"\nack = \"thinned:8:200ms\"\ntcp = \"reduction=prr, recovery=rack\"\n\
         mss = 1360\n[lan]\niw = \"rfc3390\"\nmss = \"clamp\"\ntcp = \"linux,congestion=vegas:alpha=2;beta=4\"\n"
    );
    let config = read(&text).unwrap();
    let mut satellite = Config::default().satellite;
    let keys = "recovery=fack,congestion=cubic,iw=4,rto.min=2s,pacing=off,ack=thinned:8:200ms,\
                reduction=prr";
    satellite.set_all(keys).unwrap();
    satellite.mss = MssLimit::At(1360);
    assert_eq!(config.satellite, satellite);
    let mut lan = Config::default().lan;
    lan.set_all("linux,iw=rfc3390,congestion=vegas:alpha=2;beta=4").unwrap();
    lan.mss = MssLimit::Clamp;
    assert_eq!(config.lan, lan);
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    for (line, parts) in [
        ("recovery = \"hope\"", ["no loss recovery", "newreno"]),
        ("congestion = \"haste\"", ["`haste`", "increase-by-k"]),
        ("iw = 0", ["iw: `0`", "rfc3390"]),
        ("iw = true", ["`on`", "rfc3390"]),
        ("pacing = \"quick\"", ["`quick`", "8Mbit/s"]),
        ("rto.min = \"1\"", ["`1`", "200ms"]),
        ("ack = \"seldom\"", ["`seldom`", "thinned"]),
        ("mss = 100", ["`100`", "clamp"]),
        ("mss = \"low\"", ["`low`", "65495"]),
        ("tcp = \"solaris\"", ["`solaris`", "gateway-satellite"]),
        ("tcp = \"mss=1000\"", ["`mss`", "rto.min"]),
        ("control = \"bbr\"", ["`control`", "congestion"]),
        ("initial_window = 4", ["`initial_window`", "iw"]),
        ("min_rto = \"1s\"", ["`min_rto`", "rto.min"]),
        ("rto = { mix = \"1s\" }", ["`rto.mix`", "`rto.min`"]),
    ] {
        for side in ["satellite", "lan"] {
            let message = read(&format!("{INTERFACES}[{side}]\n{line}\n")).unwrap_err();
            assert!(message.starts_with("FILE:5:"), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
            for part in parts {
                assert!(message.contains(part), "{line}: {message}");
            }
        }
    }
}

/// What the reference says of defaults is what holds: a key that is given its default changes
/// nothing.
#[test]
fn the_defaults_that_are_declared_are_those_that_hold() {
    let (mut compared, usual) = (0, setup(INTERFACES).unwrap());
    for section in bentpipe_config::gateway::SECTIONS {
        let (_, rest) = section.path.split_once("gateway.").unwrap_or(("", ""));
        let table = match rest {
            "NAME.satellite" => "satellite",
            "NAME.satellite, gateway.NAME.lan" => "lan",
            "NAME.splitting" => "splitting",
            "NAME.limits" | "toml, limits" => "limits",
            "NAME.policy" | "toml, policy" => "policy",
            _ => continue,
        };
        for field in section.fields {
            let default = field.default();
            let default = default.trim_matches('`');
            let value = match default {
                "true" | "false" | "[]" => default.to_owned(),
                number if number.parse::<u64>().is_ok() => default.to_owned(),
                text => format!("\"{text}\""),
            };
            // Those that are described follow from something else, and interfaces say the MTU.
            let described =
                default.is_empty() || default.contains([' ', ';']) || default == "unknown";
            if described || field.key == "mtu" {
                continue;
            }
            let file = setup(&format!("{INTERFACES}[{table}]\n{} = {value}\n", field.key));
            let file = file.unwrap_or_else(|error| panic!("{} = {value}: {error}", field.key));
            assert_eq!(file, usual, "{} = {value}", field.key);
            compared += 1;
        }
    }
    assert!(compared >= 17, "{compared}");
}
