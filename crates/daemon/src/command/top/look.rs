//! One look at a gateway: its answers to `status`, `flows` and `flows --forwarded`.
//!
//! Its program may be older or newer than this one. So what an answer lacks is absent here, and
//! what this program does not know is passed over.

use bentpipe_linux::serve::ClientError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;

/// A question to the gateway, each answered in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Totals, and the link.
    Status,
    /// Each flow.
    Flows,
    /// The last connections that were not split.
    Unsplit,
}

/// A function that asks the gateway of this network namespace.
pub(crate) type Ask = fn(Question) -> Result<Vec<u8>, ClientError>;

/// Why there was nothing to see.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The gateway was not asked, or did not answer.
    #[error(transparent)]
    Ask(#[from] ClientError),
    /// The gateway's program is another one.
    #[error("the gateway's answer has another form than this program knows: {0}")]
    Form(#[from] serde_json::Error),
}

/// The most characters of a [`Word`].
const WORD: usize = 400;

/// A word or a line of the gateway's that a terminal can show: without control characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(from = "String")]
pub(crate) struct Word(Box<str>);

impl From<String> for Word {
    fn from(text: String) -> Word {
        let text = text.chars().filter(|character| !character.is_control()).take(WORD);
        Word(text.collect())
    }
}

impl Deref for Word {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Word {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The answer to `status --json`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) uptime_s: f64,
    pub(crate) peer_known: bool,
    pub(crate) observes: bool,
    pub(crate) trial_left_s: Option<f64>,
    pub(crate) diverting: Option<bool>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) satellite_link: SatelliteLink,
    pub(crate) remotes: Vec<Remote>,
    pub(crate) flows: BTreeMap<String, u64>,
    pub(crate) held_bytes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) totals: Totals,
    /// Traffic over the satellite that is not taken, by class and direction.
    pub(crate) passed: BTreeMap<String, BTreeMap<String, Traffic>>,
}

/// Packets, and their bytes.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Traffic {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

/// Something on the gateway's host that is in its way.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Finding {
    pub(crate) forbids_diversion: bool,
    pub(crate) cause: Word,
    pub(crate) remedy: Word,
}

/// The link as the gateway sees it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SatelliteLink {
    pub(crate) losses: Word,
    pub(crate) circuit_broken: bool,
    pub(crate) rate_bps: Option<u64>,
    pub(crate) rate_told: bool,
    pub(crate) used_at_bps: Option<u64>,
}

/// A remote that has a link of its own.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Remote {
    pub(crate) name: Word,
    pub(crate) used_at_bps: Option<u64>,
    pub(crate) window_bytes: Option<u64>,
}

/// Counters since the gateway began.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Totals {
    pub(crate) legs: Sides,
    pub(crate) forwarded_flows: BTreeMap<String, u64>,
    pub(crate) forwarded_packets: BTreeMap<String, u64>,
    pub(crate) forwarded_bytes: BTreeMap<String, u64>,
}

/// Of these, those of each side.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Sides {
    pub(crate) satellite: SideTotals,
}

/// Those of a side.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SideTotals {
    pub(crate) received_bytes: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) retransmitted_bytes: u64,
}

/// An element of the answer to `flows --json`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Flow {
    pub(crate) number: usize,
    pub(crate) opener: IpAddr,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) state: Word,
    pub(crate) age_s: f64,
    #[serde(default)]
    pub(crate) idle_s: f64,
    #[serde(default)]
    pub(crate) held_bytes: u64,
    #[serde(default)]
    pub(crate) remote: Option<Word>,
    #[serde(default)]
    pub(crate) legs: Option<Legs>,
}

/// Its legs.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Legs {
    pub(crate) client: Leg,
    pub(crate) server: Leg,
}

/// A leg, which sends towards the host that it is named by.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Leg {
    pub(crate) side: Word,
    pub(crate) srtt_s: Option<f64>,
    pub(crate) rttvar_s: Option<f64>,
    pub(crate) min_rtt_s: Option<f64>,
    pub(crate) cwnd_bytes: u64,
    pub(crate) ssthresh_bytes: Option<u64>,
    pub(crate) in_flight_bytes: u64,
    pub(crate) usable_window_bytes: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) backlog_bytes: u64,
    pub(crate) retransmissions: u64,
    pub(crate) retransmitted_bytes: u64,
    pub(crate) timeouts: u64,
    pub(crate) limiter: Option<Word>,
}

/// An element of the answer to `flows --forwarded --json`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct Unsplit {
    pub(crate) number: Word,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) opener: IpAddr,
    pub(crate) reason: Word,
    pub(crate) times: u64,
    pub(crate) ago_s: f64,
}

/// All answers of a moment.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) status: Status,
    pub(crate) flows: Vec<Flow>,
    /// None if it was not asked for.
    pub(crate) unsplit: Option<Vec<Unsplit>>,
}

impl Look {
    /// Asks the gateway; for connections that were not split only if they are wanted.
    ///
    /// # Errors
    /// [`LookError`].
    pub(crate) fn take(ask: Ask, with_unsplit: bool) -> Result<Look, LookError> {
        let status = serde_json::from_slice(&ask(Question::Status)?)?;
        let flows = serde_json::from_slice(&ask(Question::Flows)?)?;
        let unsplit = with_unsplit.then(|| ask(Question::Unsplit)).transpose()?;
        let unsplit = unsplit.map(|answer| serde_json::from_slice(&answer)).transpose()?;
        Ok(Look { status, flows, unsplit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_lack_what_this_program_knows_and_have_more() {
        let status: Status = serde_json::from_str(r#"{"uptime_s": 3, "passed": {}}"#).unwrap();
        assert_eq!((status.uptime_s, status.diverting), (3.0, None));
        let text = r#"{"number": 1, "opener": "10.0.0.1", "client": "10.0.0.1:4", "server": "[::1]:5",
            "state": "op\u001b[2Jen", "age_s": 1.5, "legs": {"client": {}, "server": {"new": 1}}}"#;
        let flow: Flow = serde_json::from_str(text).unwrap();
        assert_eq!((&*flow.state, flow.held_bytes), ("op[2Jen", 0));
        assert_eq!(flow.legs.unwrap().client.limiter, None);
    }

    #[test]
    fn words_are_short_and_have_no_control_characters() {
        let word = Word::from(format!("a\n\t\u{9b}b{}", "c".repeat(9_999)));
        assert!(word.starts_with("abc"));
        assert_eq!(word.len(), WORD);
    }
}
