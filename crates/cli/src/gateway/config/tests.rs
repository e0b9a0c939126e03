//! What the file may say, and what is answered to mistakes.

mod bounds;

use super::*;
use bentpipe_core::units::Bytes;
use bentpipe_gateway::{AddOptions, Discard, MssLimit};

pub(super) fn read(text: &str) -> Result<Config, String> {
    setup(text).map(|setup| setup.config)
}

pub(super) fn setup(text: &str) -> Result<Setup, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gateway.toml");
    std::fs::write(&path, text).unwrap();
    File::read(&path)
        .map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
}

pub(super) const INTERFACES: &str = "[interfaces]\nlan = [\"a\"]\nsatellite = [\"b\"]\n";

#[test]
fn what_the_file_says_overrides_the_defaults() {
    let text = format!(
        "{INTERFACES}[satellite]\nrate = \"8Mbit/s\"\nround_trip = \"500ms\"\nadd_options = \"never\"\n[limits]\nmemory = \"64MiB\"\nhalf_open = 100\n"
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
    assert!(wrong.starts_with("FILE:5: ") && wrong.contains("immediate"), "{wrong}");
}

#[test]
fn each_side_may_discard_at_a_backlog() {
    let config = read(&format!("{INTERFACES}[lan]\ndiscard = \"single\"\n")).unwrap();
    assert_eq!((config.lan.discard, config.satellite.discard), (Discard::Single, Discard::Off));
    let wrong = read(&format!("{INTERFACES}[satellite]\ndiscard = \"red\"\n")).unwrap_err();
    assert!(wrong.starts_with("FILE:5: ") && wrong.contains("random-early"), "{wrong}");
}

#[test]
fn mistakes_are_named_with_their_line() {
    let unknown = read(&format!("{INTERFACES}[satellite]\nrat = \"8Mbit/s\"\n")).unwrap_err();
    assert!(unknown.starts_with("FILE:5: unknown field `rat`"), "{unknown}");
    let unit = read(&format!("{INTERFACES}[satellite]\nrate = \"8\"\n")).unwrap_err();
    assert!(unit.starts_with("FILE:5: ") && unit.contains("8Mbit/s"), "{unit}");
    let missing = read("[interfaces]\nlan = [\"a\"]\n").unwrap_err();
    assert!(missing.contains("missing field `satellite`"), "{missing}");
}

#[test]
fn metrics_are_for_this_host_alone() {
    let setup = |line: &str| read(&format!("{INTERFACES}[metrics]\nlisten = \"{line}\"\n"));
    assert!(setup("127.0.0.1:9464").is_ok() && setup("[::1]:9464").is_ok());
    for address in ["0.0.0.0:9464", "192.0.2.1:9464", "[::]:9464"] {
        let message = setup(address).unwrap_err();
        assert!(message.starts_with("FILE:5: ") && message.contains("loopback"), "{message}");
    }
    assert!(setup("localhost").unwrap_err().starts_with("FILE:5: "));
    let often = read(&format!("{INTERFACES}[log]\nevery = \"1ms\"\n")).unwrap_err();
    assert!(often.contains("1s to 24h"), "{often}");
    assert!(read(&format!("{INTERFACES}[log]\nevery = \"10min\"\n")).is_ok());
}

#[test]
fn each_side_chooses_its_tcp_by_name() {
    let text = format!(
        "{INTERFACES}[satellite]\nrecovery = \"fack\"\ncongestion = \"cubic\"\ninitial_window = 4\n\
         min_rto = \"2s\"\npacing = \"off\"\nack = \"thinned:8:200ms\"\ntcp = \"reduction=prr, recovery=rack\"\n\
         mss = 1360\n[lan]\ninitial_window = \"rfc3390\"\nmss = \"clamp\"\ntcp = \"linux,congestion=vegas:alpha=2;beta=4\"\n"
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
        ("initial_window = 0", ["iw: `0`", "rfc3390"]),
        ("initial_window = true", ["a number", "text"]),
        ("pacing = \"quick\"", ["`quick`", "8Mbit/s"]),
        ("min_rto = \"1\"", ["`1`", "200ms"]),
        ("ack = \"seldom\"", ["`seldom`", "thinned"]),
        ("mss = 100", ["`100`", "clamp"]),
        ("mss = \"low\"", ["`low`", "65495"]),
        ("tcp = \"solaris\"", ["`solaris`", "gateway-satellite"]),
        ("tcp = \"mss=1000\"", ["`mss`", "rto.min"]),
    ] {
        for side in ["satellite", "lan"] {
            let message = read(&format!("{INTERFACES}[{side}]\n{line}\n")).unwrap_err();
            assert!(message.starts_with("FILE:5: "), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
            for part in parts {
                assert!(message.contains(part), "{line}: {message}");
            }
        }
    }
}

#[test]
fn what_is_printed_as_an_example_is_taken() {
    let readme = include_str!("../../../../../README.md");
    let (_, example) = readme.split_once("```toml\n# gateway.toml\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    setup(example).unwrap();
    let command = clap::Command::new("gateway");
    let command = <crate::gateway::Arguments as clap::Args>::augment_args(command);
    let help = command.get_after_long_help().expect("an example").to_string();
    let (_, example) = help.split_once("gateway.toml:\n").expect("an example");
    let (example, _) = example.split_once("  bentpipe gateway flows").expect("its end");
    setup(example).unwrap();
}
