//! Which connections are split: an ordered list of rules over what a SYN shows, of which the first
//! that matches decides (bharadwaj-2001, 3.3: "the proxy can be configured to split only selected
//! TCP connections").
//!
//! What no rule names is split. A connection is judged once, by its first SYN.

mod share;
mod text;

pub use share::{Share, ShareError};
pub use text::{Dscp, Network, Ports, TextError};

use crate::Side;
use crate::segment::Segment;

/// What becomes of connections that a rule names.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Action {
    /// They are split.
    #[default]
    Split,
    /// They are forwarded.
    Forward,
    /// They are forwarded, and counted as what would have been split.
    Observe,
}

/// A rule. An empty list matches everything, as does None.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// The client's side.
    pub from: Option<Side>,
    /// Where the client is.
    pub client: Vec<Network>,
    /// Where the server is.
    pub server: Vec<Network>,
    /// The server's port.
    pub port: Vec<Ports>,
    /// The SYN's DSCP.
    pub dscp: Vec<Dscp>,
    /// What becomes of the connection.
    pub action: Action,
}

impl Rule {
    /// Whether it names nothing, so that it matches every connection.
    pub fn is_for_all(&self) -> bool {
        *self == Rule { action: self.action, ..Rule::default() }
    }

    fn matches(&self, syn: &Segment<'_>) -> bool {
        let (ip, port) = (syn.ip, syn.tcp.dst_port);
        fn any<T>(list: &[T], matches: impl FnMut(&T) -> bool) -> bool {
            list.is_empty() || list.iter().any(matches)
        }
        self.from.is_none_or(|side| side == syn.from)
            && any(&self.client, |network| network.contains(ip.src))
            && any(&self.server, |network| network.contains(ip.dst))
            && any(&self.port, |ports| ports.contains(port))
            && any(&self.dscp, |dscp| dscp.is_of(ip))
    }
}

/// All rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// The first one that matches decides.
    pub rules: Vec<Rule>,
    /// What would be split is counted, and nothing is split.
    pub observe: bool,
    /// The share of what would be split that is left unsplit on purpose, and measured.
    pub sample: Share,
}

impl Policy {
    /// What becomes of the connection that `syn` asks for.
    pub(crate) fn action(&self, syn: &Segment<'_>) -> Action {
        let rule = self.rule(syn).map(|number| &self.rules[number]);
        match rule.map_or(Action::Split, |rule| rule.action) {
            Action::Split if self.observe => Action::Observe,
            action => action,
        }
    }

    /// The rule that decides of it, by its place in the list.
    pub(crate) fn rule(&self, syn: &Segment<'_>) -> Option<usize> {
        self.rules.iter().position(|rule| rule.matches(syn))
    }
}
