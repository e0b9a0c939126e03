//! What a firewall does to connections because they come through us.
//!
//! A connection that a router forwards from `lan0` to `sat0` crosses the forward hook as `lan0` →
//! `sat0`, and with us as `lan0` → `bp-lan` and `bp-lan` → `sat0`; its answers likewise. A leg that is
//! dropped where the direct way is accepted is our fault. Where the direct way is dropped as well,
//! that is the firewall's will, and nothing to speak of.

use super::super::DivertConfig;
use super::remedy::{Fault, Faults, Interfaces, insert};
use super::trial::{Assumption, Packet, explore};
use super::{ChainName, Firewall, Hook, Network, State};
use std::collections::{BTreeMap, BTreeSet};

/// Pairs of interfaces that are tried, at most.
const MAX_PAIRS: usize = 16;

/// What else is known of the two sides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in super::super) struct Sides {
    /// By side: networks to which routes lead over its interfaces. None: not known.
    pub(in super::super) networks: [Option<Vec<Network>>; 2],
    /// By side: the VRF that it is in.
    pub(in super::super) vrfs: [Option<String>; 2],
}

/// A chain that drops what comes through us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Dropped {
    pub(in super::super) chain: ChainName,
    /// The legs that it drops, as interfaces from and to.
    pub(in super::super) legs: Vec<(String, String)>,
    /// Commands that let them through.
    pub(in super::super) remedy: Vec<String>,
    /// They let more through than the firewall does now.
    pub(in super::super) is_broad: bool,
}

/// Chains that drop what comes through us.
pub(in super::super) fn dropped(
    firewall: &Firewall,
    config: &DivertConfig,
    sides: &Sides,
) -> Vec<Dropped> {
    let mut found: BTreeMap<ChainName, Faults> = BTreeMap::new();
    for opener in [0, 1] {
        for (from, to) in pairs(config, opener) {
            for ipv6 in [false, true] {
                let trial = Trial { firewall, config, sides, opener, from, to, ipv6 };
                trial.blame(&mut found);
            }
        }
    }
    found.into_iter().map(|(chain, faults)| faults.into_dropped(chain, config)).collect()
}

/// Chains that would give packets another source on their way into our devices.
pub(in super::super) fn translated(
    firewall: &Firewall,
    config: &DivertConfig,
    sides: &Sides,
) -> Vec<(ChainName, Vec<String>)> {
    let mut found = BTreeSet::new();
    for opener in [0, 1] {
        for (from, to) in pairs(config, opener) {
            for ipv6 in [false, true] {
                let trial = Trial { firewall, config, sides, opener, from, to, ipv6 };
                let [into, _] = trial.legs(false, State::New);
                let outcomes = explore(firewall, &Packet { nat: true, ..into }, &[]);
                found.extend(outcomes.into_iter().filter_map(|outcome| outcome.translated));
            }
        }
    }
    // Rules stand in chains that base chains jump to; the remedy stands in front of all.
    let bases = found.into_iter().map(|chain| base_of(firewall, &chain)).collect::<BTreeSet<_>>();
    let tuns = config.sides.each_ref().map(|side| side.tun.as_str());
    bases
        .into_iter()
        .map(|chain| {
            let remedy = insert(&chain, Interfaces { into: &[], out: &tuns }, "", &[]);
            (chain, remedy)
        })
        .collect()
}

/// The marks that packets bear when they are routed, each with what was assumed: of a packet from
/// `from`, and of what we write in its stead. What cannot be known is left out.
pub(in super::super) fn marks(
    firewall: &Firewall,
    config: &DivertConfig,
    sides: &Sides,
) -> Vec<[u32; 2]> {
    let mut found = BTreeSet::new();
    for opener in [0, 1] {
        for (from, to) in pairs(config, opener) {
            for ipv6 in [false, true] {
                let trial = Trial { firewall, config, sides, opener, from, to, ipv6 };
                let direct = trial.direct(false, State::New);
                let [_, out] = trial.legs(false, State::New);
                for outcome in explore(firewall, &direct, &[]) {
                    let written = explore(firewall, &out, &outcome.assumed);
                    let marks = written.iter().filter_map(|it| Some([outcome.mark?, it.mark?]));
                    found.extend(marks);
                }
            }
        }
    }
    found.into_iter().collect()
}

/// Pairs of interfaces between which connections may be opened from `opener`.
fn pairs(config: &DivertConfig, opener: usize) -> Vec<(&str, &str)> {
    let [from, to] = [opener, 1 - opener].map(|side| &config.sides[side].interfaces);
    let pairs = from.iter().flat_map(|from| to.iter().map(move |to| (from.as_str(), to.as_str())));
    pairs.take(MAX_PAIRS).collect()
}

/// The chain that jumps, at last, to `chain`.
fn base_of(firewall: &Firewall, chain: &ChainName) -> ChainName {
    if firewall.chains.get(chain).is_some_and(|it| it.base.is_some()) {
        return chain.clone();
    }
    let mut bases = firewall.chains.iter().filter(|(name, it)| {
        let table = (name.program, &name.family, &name.table);
        table == (chain.program, &chain.family, &chain.table)
            && it.base.is_some_and(|base| base.nat && base.hook == Hook::Postrouting)
    });
    bases.next().map_or_else(|| chain.clone(), |(name, _)| name.clone())
}

/// Connections that `opener` opens, between two interfaces.
struct Trial<'a> {
    firewall: &'a Firewall,
    config: &'a DivertConfig,
    sides: &'a Sides,
    opener: usize,
    from: &'a str,
    to: &'a str,
    ipv6: bool,
}

impl<'a> Trial<'a> {
    fn packet(
        &self,
        side: usize,
        input: &'a str,
        output: &'a str,
        reply: bool,
        state: State,
    ) -> Packet<'a> {
        Packet {
            input,
            vrf: self.sides.vrfs[side].as_deref(),
            output,
            ipv6: self.ipv6,
            state,
            reply,
            tuns: self.config.sides.each_ref().map(|side| side.tun.as_str()),
            marked: None,
            nat: false,
            sources: self.sides.networks[side].as_deref(),
        }
    }

    /// Where a packet comes from and goes to, of the opener or (`reply`) of the other host.
    fn way(&self, reply: bool) -> (usize, &'a str, &'a str) {
        if reply {
            (1 - self.opener, self.to, self.from)
        } else {
            (self.opener, self.from, self.to)
        }
    }

    /// Without us.
    fn direct(&self, reply: bool, state: State) -> Packet<'a> {
        let (side, from, to) = self.way(reply);
        self.packet(side, from, to, reply, state)
    }

    /// Into our device, and out of it.
    fn legs(&self, reply: bool, state: State) -> [Packet<'a>; 2] {
        let (side, from, to) = self.way(reply);
        let tun = self.config.sides[side].tun.as_str();
        let marked = Some((self.config.marks[side], self.config.mark_mask));
        [
            Packet { marked, ..self.packet(side, from, tun, reply, state) },
            self.packet(side, tun, to, reply, state),
        ]
    }

    /// Adds what is dropped of a connection that passes without us.
    fn blame(&self, found: &mut BTreeMap<ChainName, Faults>) {
        let first = self.direct(false, State::New);
        let passes = |packet: &Packet<'_>, given: &[Assumption]| {
            explore(self.firewall, packet, given).iter().any(|outcome| outcome.dropped.is_none())
        };
        if !passes(&first, &[]) {
            return;
        }
        let parts = [(false, State::New), (true, State::Established), (false, State::Established)];
        for (reply, state) in parts {
            let direct = self.direct(reply, state);
            for (number, leg) in self.legs(reply, state).iter().enumerate() {
                for outcome in explore(self.firewall, leg, &[]) {
                    let Some(chain) = outcome.dropped else { continue };
                    if !passes(&direct, &outcome.assumed) {
                        continue;
                    }
                    let ways = explore(self.firewall, &direct, &[]);
                    let ways = ways.into_iter().filter(|way| way.dropped.is_none());
                    let fault = Fault {
                        leg: (leg.input.to_owned(), leg.output.to_owned()),
                        is_into: number == 0,
                        ipv6: self.ipv6,
                        new: state == State::New,
                        ways: join(ways.map(|way| way.assumed).collect()),
                    };
                    found.entry(chain).or_default().0.insert(fault);
                }
            }
        }
    }
}

/// The same ways in fewer words: where something may hold or not, it does not matter.
fn join(mut ways: Vec<Vec<Assumption>>) -> Vec<Vec<Assumption>> {
    loop {
        let pair = ways.iter().enumerate().find_map(|(at, way)| {
            let ((property, holds), rest) = way.split_last()?;
            let is_other = |other: &Vec<Assumption>| match other.split_last() {
                Some(((of, other_holds), other_rest)) => {
                    of == property && other_holds != holds && other_rest == rest
                }
                None => false,
            };
            Some((at, ways.iter().position(is_other)?))
        });
        let Some((one, other)) = pair else { return ways };
        ways[one].pop();
        ways.remove(other);
    }
}
