//! Lets a packet run through a firewall.
//!
//! What a rule asks of a packet beside interfaces, state and marks (addresses, ports) may hold or
//! not: both ways are gone, each with what was assumed on it, so that two packets can be compared
//! that differ in their interfaces alone. What the packet alone does not tell (a rate, a time, a match
//! that cannot be read) never counts as a reason to drop; nor does anything in a rule that names our
//! device: whom it lets through it is the operator's will.

use super::{
    Base, Chain, ChainName, Condition, Firewall, Hook, MarkOf, Network, Program, Property, State,
    Step, Test, Value, Verdict,
};

/// Runs of one packet, at most; a firewall that asks for more is not judged beyond them.
const MAX_RUNS: usize = 128;
/// Rules that one run may go through: chains may jump in circles.
const MAX_RULES: usize = 20_000;
/// Jumps into each other, at most (NFT_JUMP_STACK_SIZE).
const MAX_DEPTH: usize = 16;
/// Priority of our chain that marks.
const MARKING: i64 = -99;

/// A packet of a TCP connection, on its way through the forwarding host.
#[derive(Debug, Clone)]
pub(super) struct Packet<'a> {
    pub(super) input: &'a str,
    /// The VRF that `input` is in: what is forwarded seems to come from there.
    pub(super) vrf: Option<&'a str>,
    pub(super) output: &'a str,
    pub(super) ipv6: bool,
    pub(super) state: State,
    pub(super) reply: bool,
    /// Our devices.
    pub(super) tuns: [&'a str; 2],
    /// The mark that we give it, and its mask.
    pub(super) marked: Option<(u32, u32)>,
    /// What is looked at: chains that translate addresses, or those that filter.
    pub(super) nat: bool,
    /// Where its source may be, if that is known.
    pub(super) sources: Option<&'a [Network]>,
}

/// Something assumed about a packet, and whether it holds.
pub(super) type Assumption = (Property, bool);

/// What became of a packet, under assumptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The base chain that dropped it.
    pub(super) dropped: Option<ChainName>,
    /// The chain that translates its source.
    pub(super) translated: Option<ChainName>,
    /// Its mark behind prerouting, if that is known.
    pub(super) mark: Option<u32>,
    pub(super) assumed: Vec<Assumption>,
}

/// All that may become of `packet`, where `given` holds.
pub(super) fn explore(
    firewall: &Firewall,
    packet: &Packet<'_>,
    given: &[Assumption],
) -> Vec<Outcome> {
    let hooks = hooks(firewall);
    let mut outcomes = Vec::new();
    let mut tape = Vec::new();
    for _ in 0..MAX_RUNS {
        let mut run = Run {
            firewall,
            packet,
            assumed: given.to_vec(),
            given: given.len(),
            tape,
            mark: Some(0),
            connection_mark: (packet.state == State::New).then_some(0),
            translated: None,
            rules: 0,
        };
        let (dropped, mark) = run.cross(&hooks);
        outcomes.push(Outcome { dropped, translated: run.translated, mark, assumed: run.assumed });
        tape = run.tape;
        // The last choice that was not yet made the other way.
        while tape.pop_if(|choice| *choice).is_some() {}
        match tape.last_mut() {
            Some(choice) => *choice = true,
            None => break,
        }
    }
    outcomes
}

/// Base chains in the order in which a packet comes to them.
fn hooks(firewall: &Firewall) -> Vec<(Base, &ChainName, &Chain)> {
    let mut hooks: Vec<_> = firewall
        .chains
        .iter()
        .filter_map(|(name, chain)| Some((chain.base?, name, chain)))
        .collect();
    hooks.sort_by_key(|(base, ..)| (base.hook, base.priority));
    hooks
}

/// One way through the chains.
struct Run<'a> {
    firewall: &'a Firewall,
    packet: &'a Packet<'a>,
    assumed: Vec<Assumption>,
    given: usize,
    /// What was chosen, and is to be chosen again, of what is not given.
    tape: Vec<bool>,
    mark: Option<u32>,
    connection_mark: Option<u32>,
    translated: Option<ChainName>,
    rules: usize,
}

/// What a chain or a rule comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The next rule, or the one behind the jump.
    Next,
    /// Behind the jump that led here.
    Return,
    Accept,
    Drop,
}

impl Run<'_> {
    /// The base chain that drops the packet, and its mark when it is routed.
    fn cross(&mut self, hooks: &[(Base, &ChainName, &Chain)]) -> (Option<ChainName>, Option<u32>) {
        let mut routed = None;
        let mut marked = false;
        for (base, name, chain) in hooks {
            if base.hook > Hook::Prerouting || base.priority >= MARKING {
                if let Some((mark, mask)) = self.packet.marked.filter(|_| !marked) {
                    self.mark = self.mark.map(|old| old & !mask | mark);
                }
                marked = true;
            }
            if base.hook > Hook::Prerouting {
                routed.get_or_insert(self.mark);
            }
            let is_of_family = match name.family.as_str() {
                "ip" => !self.packet.ipv6,
                "ip6" => self.packet.ipv6,
                _ => true,
            };
            // Marks are set before routing, whatever is looked at.
            let is_asked =
                base.nat == self.packet.nat || !base.nat && base.hook == Hook::Prerouting;
            if !is_of_family || !is_asked {
                continue;
            }
            let end = self.chain(name, chain, base.hook, false, 0);
            if self.packet.nat {
                continue;
            }
            if end == End::Drop || end != End::Accept && !base.accepts {
                return (Some((*name).clone()), routed.unwrap_or(self.mark));
            }
        }
        (None, routed.unwrap_or(self.mark))
    }

    fn chain(
        &mut self,
        name: &ChainName,
        chain: &Chain,
        hook: Hook,
        named: bool,
        depth: usize,
    ) -> End {
        for rule in &chain.rules {
            self.rules += 1;
            if self.rules > MAX_RULES || depth > MAX_DEPTH {
                return End::Accept;
            }
            match self.rule(name, rule, hook, named, depth) {
                End::Next => {}
                End::Return => return End::Next,
                end => return end,
            }
        }
        End::Next
    }

    fn rule(
        &mut self,
        name: &ChainName,
        rule: &[Step],
        hook: Hook,
        named: bool,
        depth: usize,
    ) -> End {
        let conditions = || {
            rule.iter().filter_map(|step| match step {
                Step::When(condition) => Some(condition),
                _ => None,
            })
        };
        let named = named || conditions().any(|condition| self.is_named(condition));
        for step in rule {
            match step {
                Step::When(condition) => {
                    if !self.holds(condition, hook, named, kindly(rule)) {
                        return End::Next;
                    }
                }
                Step::SetMark(value) => self.mark = self.value(*value),
                Step::SaveMark(value) => self.connection_mark = self.value(*value),
                Step::Translate => {
                    self.translated.get_or_insert_with(|| name.clone());
                    return End::Accept;
                }
                Step::Decide(verdict) => return self.decide(name, verdict, hook, named, depth),
                Step::Map(entries) => {
                    let entry = entries.iter().find(|(conditions, verdict)| {
                        let kindly = *verdict != Verdict::Drop;
                        conditions.iter().all(|it| self.holds(it, hook, named, kindly))
                    });
                    let Some((conditions, verdict)) = entry else { return End::Next };
                    let named = named || conditions.iter().any(|it| self.is_named(it));
                    return self.decide(name, verdict, hook, named, depth);
                }
            }
        }
        End::Next
    }

    fn decide(
        &mut self,
        name: &ChainName,
        verdict: &Verdict,
        hook: Hook,
        named: bool,
        depth: usize,
    ) -> End {
        let target = match verdict {
            Verdict::Accept => return End::Accept,
            Verdict::Drop => return End::Drop,
            Verdict::Return => return End::Return,
            Verdict::Jump(target) | Verdict::Goto(target) => target,
        };
        let target = ChainName { chain: target.clone(), ..name.clone() };
        let firewall = self.firewall;
        let Some(chain) = firewall.chains.get(&target) else { return End::Next };
        match self.chain(&target, chain, hook, named, depth + 1) {
            End::Next if matches!(verdict, Verdict::Goto(_)) => End::Return,
            end => end,
        }
    }

    fn value(&self, value: Value) -> Option<u32> {
        let Value::Of { from, and, xor } = value else { return None };
        if and == 0 {
            return Some(xor);
        }
        let from = match from {
            MarkOf::Packet => self.mark,
            MarkOf::Connection => self.connection_mark,
        };
        from.map(|mark| mark & and ^ xor)
    }

    /// Whether the condition holds because the packet comes from one of our devices or goes to one.
    fn is_named(&self, condition: &Condition) -> bool {
        let Packet { input, output, tuns, .. } = *self.packet;
        let named = |test: &Test| match test {
            Test::In(pattern) => tuns.contains(&input) && pattern.matches(input),
            Test::Out(pattern) => tuns.contains(&output) && pattern.matches(output),
            _ => false,
        };
        !condition.negated && condition.any.iter().flatten().any(named)
    }

    /// `named`: it is in a rule for our devices; `kindly`: to hold is in our favour.
    fn holds(&mut self, condition: &Condition, hook: Hook, named: bool, kindly: bool) -> bool {
        let held = |run: &mut Self| {
            condition.any.iter().any(|tests| {
                // What is known first: it may settle the matter.
                let unlike = |test: &&Test| matches!(test, Test::Packet(_) | Test::Unknowable);
                tests.iter().filter(|it| !unlike(it)).all(|test| run.is_true(test, hook))
                    && tests.iter().filter(unlike).all(|test| match test {
                        Test::Packet(property) if !named => run.assume(property),
                        _ => kindly != condition.negated,
                    })
            })
        };
        held(self) != condition.negated
    }

    fn is_true(&mut self, test: &Test, hook: Hook) -> bool {
        let packet = self.packet;
        match test {
            Test::In(pattern) => {
                let vrf = packet.vrf.filter(|_| hook != Hook::Prerouting);
                pattern.matches(vrf.unwrap_or(packet.input))
            }
            // Before routing there is no output.
            Test::Out(pattern) => hook != Hook::Prerouting && pattern.matches(packet.output),
            Test::Ipv6(ipv6) => packet.ipv6 == *ipv6,
            Test::State(state) => packet.state == *state,
            Test::Reply(reply) => packet.reply == *reply,
            Test::Constant(constant) => *constant,
            Test::NoWayBack => packet.tuns.contains(&packet.input),
            Test::Mark { of, mask, from, to } => {
                let mark = match of {
                    MarkOf::Packet => self.mark,
                    MarkOf::Connection => self.connection_mark,
                };
                match mark {
                    Some(mark) => (*from..=*to).contains(&(mark & mask)),
                    None => self.assume(&Property {
                        text: format!("{of:?} mark & {mask:#x} {from:#x}-{to:#x}"),
                        quotable: false,
                        sources: None,
                    }),
                }
            }
            Test::Packet(_) | Test::Unknowable => true,
        }
    }

    /// Whether `property` holds on this way.
    fn assume(&mut self, property: &Property) -> bool {
        if let (Some(of), Some(there)) = (&property.sources, self.packet.sources)
            && !of.iter().any(|of| there.iter().any(|there| of.meets(there)))
        {
            return false;
        }
        if let Some((_, holds)) = self.assumed.iter().find(|(it, _)| it.text == property.text) {
            return *holds;
        }
        let made = self.assumed.len() - self.given;
        // First a packet that nothing special is to be said of.
        let holds = self.tape.get(made).copied().unwrap_or_else(|| {
            self.tape.push(false);
            false
        });
        self.assumed.push((property.clone(), holds));
        holds
    }
}

/// Whether it is in our favour if a rule's conditions hold: unless it drops, or leads elsewhere.
fn kindly(rule: &[Step]) -> bool {
    !matches!(rule.last(), Some(Step::Decide(Verdict::Drop | Verdict::Jump(_) | Verdict::Goto(_))))
}

impl Program {
    /// Whether a text is one that a rule of this program may be written with.
    pub(super) fn takes(self, property: &Property) -> bool {
        let dashed = property.text.starts_with('-');
        property.quotable && dashed == matches!(self, Program::Iptables(_))
    }
}
