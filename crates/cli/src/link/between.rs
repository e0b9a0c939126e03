//! `bentpipe link --between`: two interfaces of this host, or of a network namespace, or two
//! namespaces.

use super::{Arguments, Error, told};
use bentpipe_emulator::between::{Attachment, Between as Taken};
use bentpipe_emulator::emulator::{Emulator, Exit};
use bentpipe_emulator::netns_pair::{self, End};
use bentpipe_emulator::too_long::LengthLimit;
use bentpipe_links::{Directions, LiveLink};
use bentpipe_linux::processor_times::ProcessorTimes;
use bentpipe_linux::signals::Signals;
use bentpipe_linux::tun::Tun;
use std::io::{self, Write};
use std::process::ExitCode;

/// IPv6 needs so much (RFC 8200, section 5).
const IPV6_MTU: u32 = 1280;

/// What the link is between.
#[derive(Debug, PartialEq, Eq)]
enum Between {
    /// Two interfaces of a host that forwards: this one, or a namespace.
    Interfaces(Option<String>, [String; 2]),
    /// Two namespaces, in each of which it makes an interface.
    Namespaces([End; 2]),
}

impl Between {
    /// From `eth1` and `eth2`, or from `NETNS:eth1` and `NETNS:eth2`.
    fn parse(ends: &[String]) -> Result<Between, Error> {
        let [a, b] = ends else { return Err(Error::Between) };
        match (a.split_once(':'), b.split_once(':')) {
            (None, None) => Ok(Between::Interfaces(None, [a.clone(), b.clone()])),
            (Some((one, a)), Some((other, b))) if one == other => {
                Ok(Between::Interfaces(Some(one.to_owned()), [a, b].map(str::to_owned)))
            }
            (Some(a), Some(b)) => Ok(Between::Namespaces([a, b].map(|(namespace, interface)| {
                End { namespace: namespace.to_owned(), interface: interface.to_owned() }
            }))),
            _ => Err(Error::Between),
        }
    }
}

/// Runs until a signal comes.
pub(super) fn run(
    arguments: &Arguments,
    link: &LiveLink,
    name: String,
    signals: &Signals,
) -> Result<ExitCode, Error> {
    if let Some(mtu) = link.mtu.filter(|mtu| *mtu < IPV6_MTU) {
        tracing::warn!(
            "an MTU of {mtu} bytes: IPv6 needs {IPV6_MTU}, its packets do not cross the link"
        );
    }
    match Between::parse(&arguments.between)? {
        Between::Interfaces(namespace, [a, b]) => {
            if let Some(namespace) = namespace {
                netns_pair::enter(&namespace)?;
            }
            let ends = [a, b];
            let (taken, tuns) = Taken::set_up(&ends, Attachment::of_this_kernel())?;
            told(taken.leftovers());
            for finding in taken.findings() {
                let remedy = finding.remedy().unwrap_or_default();
                tracing::warn!("{}; run: {remedy}", finding.cause());
            }
            let limit = link.mtu.map(|mtu| LengthLimit::between(&ends, mtu)).transpose()?;
            let devices = Devices { tuns, exit: Exit::Same, ends, limit };
            carry(arguments, link, name, signals, devices, move || drop(taken))
        }
        Between::Namespaces(ends) => {
            let tuns = netns_pair::open(&ends, link.mtu)?;
            let ends = ends.map(|End { namespace, interface }| format!("{namespace}:{interface}"));
            let devices = Devices { tuns, exit: Exit::Other, ends, limit: None };
            carry(arguments, link, name, signals, devices, || {})
        }
    }
}

/// The devices of a link.
struct Devices {
    tuns: [Tun; 2],
    exit: Exit,
    ends: [String; 2],
    limit: Option<LengthLimit>,
}

/// Carries packets until a signal comes; then `take_down`.
fn carry(
    arguments: &Arguments,
    link: &LiveLink,
    name: String,
    signals: &Signals,
    devices: Devices,
    take_down: impl FnOnce(),
) -> Result<ExitCode, Error> {
    let Devices { tuns, exit, ends: [a, b], limit } = devices;
    let recording = arguments.record.begin([&a, &b])?;
    let before = ProcessorTimes::now();
    let mut emulator = Emulator::new(tuns, exit, link);
    limit.into_iter().for_each(|limit| emulator.limit_length(limit));
    recording.into_iter().for_each(|recording| emulator.record(recording));
    let names = [format!("{a} to {b}"), format!("{b} to {a}")];
    let _server = arguments.answer(
        &mut emulator,
        (name, &names),
        [Directions::Forward, Directions::Back],
        before,
    )?;
    arguments.prioritise()?;
    writeln!(io::stdout(), "bentpipe link: ready")?;
    let result = emulator.run(signals, None);
    take_down();
    arguments.record.end(&mut emulator);
    let in_time = arguments.report(&emulator, &names, before, &mut io::stdout().lock())?;
    result?;
    Ok(if in_time { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_interfaces_or_namespaces() {
        let parse = |ends: &[&str]| {
            Between::parse(&ends.iter().map(|end| (*end).to_owned()).collect::<Vec<_>>())
        };
        let interfaces = ["a", "b"].map(str::to_owned);
        assert_eq!(parse(&["a", "b"]).unwrap(), Between::Interfaces(None, interfaces.clone()));
        assert_eq!(
            parse(&["x:a", "x:b"]).unwrap(),
            Between::Interfaces(Some("x".to_owned()), interfaces)
        );
        assert!(matches!(parse(&["x:a", "y:a"]).unwrap(), Between::Namespaces(_)));
        for wrong in [&["a"][..], &["x:a", "b"], &["a", "b", "c"], &[]] {
            assert!(matches!(parse(wrong), Err(Error::Between)), "{wrong:?}");
        }
    }
}
