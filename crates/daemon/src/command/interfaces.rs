//! The configured interfaces, some of which may come later than the gateway.
//!
//! A tunnel, a modem and a VLAN are made by other programs.

use super::{Error, config};
use crate::invocation;
use bentpipe_config::gateway::{GatewayFile, Interface};
use bentpipe_linux::interface::{InterfaceError, check_forwarding};
use bentpipe_linux::poll::is_readable;
use bentpipe_linux::service_manager::ServiceManager;
use bentpipe_linux::signals::{Signal, Signals};
use bentpipe_linux::surroundings::{Side, Surroundings};
use nix::net::if_::if_nametoindex;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// From look to look.
const LOOK: Duration = Duration::from_millis(200);

/// How long those that are missing are waited for where each side has one.
const PATIENCE: Duration = Duration::from_secs(60);

/// The names of a side's interfaces.
pub(super) fn names(side: &[Interface]) -> Vec<String> {
    side.iter().map(|interface| interface.name.clone()).collect()
}

/// The surroundings of the interfaces of both sides.
pub(super) fn surroundings_of(lan: &[String], satellite: &[String]) -> Surroundings {
    let side = |interfaces: &[String], tun: &str| Side {
        interfaces: interfaces.to_vec(),
        tun: tun.into(),
    };
    let [inner, outer] = invocation::tuns();
    Surroundings::of([side(lan, &inner), side(satellite, &outer)])
}

/// The interfaces of both sides that are there.
#[derive(Debug)]
struct Interfaces {
    lan: Vec<String>,
    satellite: Vec<String>,
    missing: Vec<String>,
}

impl Interfaces {
    fn look(file: &GatewayFile) -> Interfaces {
        let is_there = |name: &String| if_nametoindex(name.as_str()).is_ok();
        let (lan, lost): (Vec<_>, Vec<_>) = names(&file.lan).into_iter().partition(is_there);
        let (satellite, more) = names(&file.satellite).into_iter().partition(is_there);
        Interfaces { lan, satellite, missing: [lost, more].concat() }
    }

    fn has_both_sides(&self) -> bool {
        !self.lan.is_empty() && !self.satellite.is_empty()
    }
}

/// All of them, which must be there and forward.
pub(super) fn all(file: &GatewayFile) -> Result<(), Error> {
    let all =
        Interfaces { lan: names(&file.lan), satellite: names(&file.satellite), missing: vec![] };
    check(file, &all)
}

fn check(file: &GatewayFile, interfaces: &Interfaces) -> Result<(), Error> {
    let all = [&interfaces.lan[..], &interfaces.satellite].concat();
    check_forwarding(&all).map_err(|error| match &error {
        InterfaceError::Unknown(name) => config::at_interface(file, name, &error).into(),
        _ => Error::from(error),
    })
}

/// Waits for them, and says for which: for all of them for a minute, then for one of each side.
/// SIGHUP reads the file at `path` again. False if a signal ends it.
pub(super) fn wait(
    path: &Path,
    file: &mut GatewayFile,
    signals: &Signals,
    manager: &ServiceManager,
) -> Result<bool, Error> {
    let (began, mut said) = (Instant::now(), Vec::new());
    loop {
        let found = Interfaces::look(file);
        let is_late = began.elapsed() >= PATIENCE;
        if found.missing.is_empty() || is_late && found.has_both_sides() {
            if let [_, ..] = &found.missing[..] {
                tracing::warn!(
                    "{} not there: it begins without, and takes their packets as soon as they come",
                    found.missing.join(", ")
                );
            }
            check(file, &found)?;
            return Ok(true);
        }
        if said != found.missing {
            let line = format!("waits for {}, not there yet", found.missing.join(", "));
            tracing::info!("{line}");
            manager.ready(&line);
            said = found.missing;
        }
        manager.beat();
        thread::sleep(LOOK);
        if !is_readable(signals) {
            continue;
        }
        match signals.received() {
            Some(Signal::Hangup) => match config::read(path) {
                Ok(new) => *file = new,
                Err(error) => tracing::error!("{error}: nothing is changed"),
            },
            Some(Signal::Meaningless(_)) | None => {}
            Some(Signal::Interrupt | Signal::Terminate | Signal::Quit | Signal::Restart) => {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lan: &str, satellite: &str) -> (GatewayFile, Interfaces) {
        let text = format!("[interfaces]\nlan = [{lan}]\nsatellite = [{satellite}]\n");
        let file = GatewayFile::parse("FILE", &text, 1 << 40).unwrap();
        let found = Interfaces::look(&file);
        (file, found)
    }

    #[test]
    fn what_is_missing_is_named() {
        let (_, found) = of("\"bp-none-1\"", "\"bp-none-2\"");
        assert_eq!(found.missing, ["bp-none-1", "bp-none-2"]);
        assert!(!found.has_both_sides());
    }

    #[test]
    fn one_that_must_be_there_is_refused_with_its_place() {
        let (file, _) = of("\"bp-none-1\"", "\"bp-none-2\"");
        let error = all(&file).unwrap_err().to_string();
        assert!(error.starts_with("FILE:2:") && error.contains("bp-none-1"), "{error}");
    }
}
