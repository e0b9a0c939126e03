//! A second look, again and again: firewalls are reloaded while we run.

use super::finding::Finding;
use super::{DivertConfig, checks, inspect};
use crate::command::run;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Looks until dropped. What is new goes to the log.
#[derive(Debug)]
pub struct Patrol {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Patrol {
    /// On a thread of its own, as a look takes some time. `known` has been said already; `tracking`
    /// is what our rules provide for.
    pub(super) fn start(
        config: DivertConfig,
        tracking: bool,
        mut known: Vec<Finding>,
        every: Duration,
    ) -> Patrol {
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // Without an answer there is nothing to say: the next one may come.
                let Ok(ruleset) = run("nft", &["-j", "list", "ruleset"], "") else { continue };
                let (mut findings, tracked) = inspect(&ruleset, &config);
                findings.extend(changes(&ruleset, &config, tracking, tracked));
                for finding in news(&mut known, findings) {
                    tracing::warn!("{finding}");
                }
            }
        });
        Patrol { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Patrol {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What our rules do not provide for any more.
fn changes(
    ruleset: &str,
    config: &DivertConfig,
    tracking: bool,
    tracked: bool,
) -> impl Iterator<Item = Finding> {
    let service = || config.service.clone();
    let began = (tracked && !tracking).then(|| Finding::TrackingBegan { service: service() });
    let gone = (!checks::has_table(ruleset, &config.nft_table))
        .then(|| Finding::RulesGone { service: service(), table: config.nft_table.clone() });
    began.into_iter().chain(gone)
}

/// What was not known before. What is no longer found may be news again.
fn news(known: &mut Vec<Finding>, findings: Vec<Finding>) -> Vec<Finding> {
    let new = findings.iter().filter(|finding| !known.contains(finding)).cloned().collect();
    *known = findings;
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_is_said_once_until_it_comes_back() {
        let one = || Finding::Ipv6Forwarding;
        let other = || Finding::Mtu { lan: 1500, satellite: 1400 };
        let mut known = vec![one()];
        assert_eq!(news(&mut known, vec![one(), other()]), [other()]);
        assert_eq!(news(&mut known, vec![one(), other()]), []);
        assert_eq!(news(&mut known, vec![one()]), []);
        assert_eq!(news(&mut known, vec![one(), other()]), [other()]);
    }

    #[test]
    fn tracking_that_begins_and_rules_that_go_are_changes() {
        let side = |tun: &str| super::super::Side { interfaces: Vec::new(), tun: tun.into() };
        let config = DivertConfig::gateway([side("bp-lan"), side("bp-sat")]);
        let table = json!({ "table": { "family": "inet", "name": "bentpipe-gateway" } });
        let with = json!({ "nftables": [table] }).to_string();
        let without = json!({ "nftables": [] }).to_string();
        let found = |ruleset: &str, tracking, tracked| -> Vec<String> {
            changes(ruleset, &config, tracking, tracked).map(|it| it.to_string()).collect()
        };
        assert!(found(&with, false, false).is_empty() && found(&with, true, false).is_empty());
        let began = found(&with, false, true);
        assert!(began.len() == 1 && began[0].contains("restart bentpipe gateway"), "{began:?}");
        let gone = found(&without, true, true);
        assert!(gone.len() == 1 && gone[0].contains("inet bentpipe-gateway is gone"), "{gone:?}");
    }
}
