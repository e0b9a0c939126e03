//! Routers as they are set up in the field, each with and without a gateway: what passes without
//! one passes with it, by the same way, and what is said to be split is. What the router refuses
//! stays refused.
//!
//! Each set-up is a case. `make test-routers` runs all of them (`BENTPIPE_LIVE_TESTS=routers`), and
//! `make test` a share. Those that take devices which not every kernel has run in a virtual machine
//! (`BENTPIPE_LIVE_TESTS=routers-vm`, `scripts/routers-vm.sh`).

mod devices;
mod network;
mod setups;
mod traffic;
mod uplinks;

use std::net::IpAddr;

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::teardown::unique_name;

use crate::observation::ask;
use crate::stage::gateways_wanted;
use network::Network;
use setups::{SETUPS, Setup};
use traffic::Row;

/// The set-ups that `make test` runs, too.
const SHARE: [&str; 5] = ["default_drop", "fw4", "docker", "mwan3", "bridge_port_named"];

/// A set-up as a test.
#[derive(Clone, Copy)]
pub(crate) struct Case(&'static Setup);

impl Case {
    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Why this kernel cannot have it, if it cannot.
    pub(crate) fn lacks(self) -> Option<String> {
        if self.0.needs.is_empty() {
            return None;
        }
        let tried = Namespace::create(&unique_name()).and_then(|namespace| {
            namespace.output("sh", &["-c", &format!("set -e\n{}", self.0.needs)])
        });
        tried.err().map(|error| error.to_string().replace('\n', "; "))
    }

    pub(crate) fn run(self) {
        hold(self.0);
    }
}

/// All set-ups of this kernel.
pub(crate) fn cases() -> Vec<Case> {
    SETUPS.iter().map(Case).collect()
}

/// Those that the virtual machine's kernel can have.
pub(crate) fn cases_in_vm() -> Vec<Case> {
    devices::SETUPS.iter().map(Case).collect()
}

/// Those of them that all test runs have.
pub(crate) fn share() -> Vec<Case> {
    cases().into_iter().filter(|case| SHARE.contains(&case.name())).collect()
}

/// Runs all rows without a gateway and with one, and compares.
fn hold(setup: &Setup) {
    let mut network = Network::lay(setup);
    let rows = Row::all(&network);
    let without = traffic::run(&network, &rows, setup.refused);
    let unlike = |(row, result): (&Row, &Result<IpAddr, String>)| {
        let as_it_says = result.is_ok() != row.is_among(setup.refused);
        (!as_it_says).then(|| format!("{row}: {result:?}"))
    };
    let wrong: Vec<_> = rows.iter().zip(&without).filter_map(unlike).collect();
    assert!(wrong.is_empty(), "{}: not as it says without a gateway: {wrong:#?}", setup.name);

    if !gateways_wanted() {
        return;
    }
    let tracked = setup.is_tracked_once.then(|| network.tracked());
    let gateway = network.start_gateways(setup);
    let with = traffic::run(&network, &rows, setup.refused);
    let differs = |((row, without), with): ((&Row, &Result<_, _>), &Result<_, _>)| {
        let text = || format!("{row}: {without:?} without a gateway, {with:?} with one");
        (!alike(without, with)).then(text)
    };
    let wrong: Vec<_> = rows.iter().zip(&without).zip(&with).filter_map(differs).collect();
    assert!(wrong.is_empty(), "{}: {wrong:#?}\n{}", setup.name, gateway.stderr());

    if let Some(before) = tracked {
        let more = network.tracked() - before;
        assert!(more < before + before / 4, "{more} entries with a gateway, {before} without one");
    }
    let status = ask(network.router(), "status");
    let goes = |row: &&Row| !row.is_among(setup.refused) && !row.is_among(setup.unsplit);
    let expected: u64 = rows.iter().filter(goes).map(Row::connections).sum();
    let (split, diverting) = (&status["totals"]["split"], &status["diverting"]);
    let said = gateway.stderr();
    assert_eq!(
        (split, diverting),
        (&expected.into(), &true.into()),
        "{}: {status} {said}",
        setup.name
    );
}

/// Both passed and the server saw the same client, or neither passed.
fn alike(without: &Result<IpAddr, String>, with: &Result<IpAddr, String>) -> bool {
    match (without, with) {
        (Ok(without), Ok(with)) => without == with,
        (Err(_), Err(_)) => true,
        _ => false,
    }
}
