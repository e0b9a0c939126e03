//! Reads what `iptables-save` writes (iptables-save(8), iptables-extensions(8)), which shows more of
//! the rules that `iptables-nft` has made than `nft` does.

use super::{
    Base, Chain, ChainName, Condition, Firewall, Hook, MarkOf, Network, Pattern, Program, Property,
    Rule, State, Step, Test, Value, Verdict,
};

/// The chains of all tables of one family. `program`: how they are changed.
pub(in super::super) fn read(saved: &str, family: &str, program: Program) -> Firewall {
    let mut firewall = Firewall::default();
    let mut table = String::new();
    let name = |table: &str, chain: &str| ChainName {
        program,
        family: family.into(),
        table: table.into(),
        chain: chain.into(),
    };
    for line in saved.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = name.trim().into();
        } else if let Some(chain) = line.strip_prefix(':') {
            let mut words = chain.split_ascii_whitespace();
            let (chain, policy) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            let base = base(&table, chain, policy == "ACCEPT");
            firewall.chains.insert(name(&table, chain), Chain { base, rules: Vec::new() });
        } else if let Some(rule) = line.strip_prefix("-A ") {
            let words = words(rule);
            let Some((chain, words)) = words.split_first() else { continue };
            if let Some(chain) = firewall.chains.get_mut(&name(&table, chain)) {
                chain.rules.push(read_rule(words));
            }
        }
    }
    firewall
}

/// Where a table's own chain is hooked in (linux/netfilter_ipv4.h).
fn base(table: &str, chain: &str, accepts: bool) -> Option<Base> {
    let hook = match chain {
        "PREROUTING" => Hook::Prerouting,
        "FORWARD" => Hook::Forward,
        "POSTROUTING" => Hook::Postrouting,
        _ => return None,
    };
    let priority = match (table, hook) {
        ("raw", _) => -300,
        ("mangle", _) => -150,
        ("nat", Hook::Prerouting) => -100,
        ("nat", _) => 100,
        ("security", _) => 50,
        _ => 0,
    };
    Some(Base { hook, nat: table == "nat", priority, accepts })
}

/// The words of a line, of which some are in quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted, mut begun) = (String::new(), false, false);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => (quoted, begun) = (!quoted, true),
            '\\' if quoted => word.extend(characters.next()),
            ' ' if !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => {
                word.push(character);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

/// Matches whose answer the packet alone does not tell.
const UNKNOWABLE: [&str; 9] =
    ["limit", "hashlimit", "connlimit", "connbytes", "recent", "statistic", "quota", "time", "cpu"];

/// What follows the chain's name.
fn read_rule(words: &[String]) -> Rule {
    let mut rule = Rule::new();
    let mut rest = words;
    // The match that an option belongs to, and those of its options that were read.
    let mut module = "";
    let mut negated = false;
    while let Some((option, after)) = rest.split_first() {
        // What belongs to it, up to the next option.
        let count = after.iter().take_while(|word| !word.starts_with('-') && *word != "!").count();
        let (values, after) = after.split_at(count);
        let value = values.first().map_or("", String::as_str);
        rest = after;
        if option == "!" {
            negated = true;
            continue;
        }
        let inverted = std::mem::take(&mut negated);
        let mut when = |test| rule.push(Step::When(Condition::one(test, inverted)));
        let property = |sources| Property {
            text: [std::slice::from_ref(option), values].concat().join(" "),
            quotable: ["-s", "-d", "--dport", "--sport"].contains(&option.as_str()),
            sources,
        };
        match option.as_str() {
            "-i" => when(Test::In(Pattern::of(value, '+'))),
            "-o" => when(Test::Out(Pattern::of(value, '+'))),
            "-p" => when(Test::Constant(["tcp", "6", "all"].contains(&value))),
            "-s" => when(Test::Packet(property(Network::parse(value).map(|it| vec![it])))),
            "-m" => {
                module = value;
                if UNKNOWABLE.contains(&module) {
                    when(Test::Unknowable);
                }
            }
            "--ctstate" | "--state" => rule.push(Step::When(Condition {
                any: value.split(',').map(|state| vec![state_test(state)]).collect(),
                negated: inverted,
            })),
            "--ctdir" => when(Test::Reply(value == "REPLY")),
            "--mark" => {
                let of = if module == "connmark" { MarkOf::Connection } else { MarkOf::Packet };
                match masked(value) {
                    Some((mark, mask)) => when(Test::Mark { of, mask, from: mark, to: mark }),
                    None => when(Test::Unknowable),
                }
            }
            // Of a first segment.
            "--tcp-flags" => when(Test::Constant(values.get(1).is_some_and(|it| it == "SYN"))),
            "-j" => {
                rule.extend(target(value, rest));
                break;
            }
            "-g" => {
                rule.push(Step::Decide(Verdict::Goto(value.into())));
                break;
            }
            "--comment" => {}
            _ if UNKNOWABLE.contains(&module) => {}
            _ => when(Test::Packet(property(None))),
        }
    }
    rule
}

fn state_test(state: &str) -> Test {
    match state {
        "NEW" => Test::State(State::New),
        "ESTABLISHED" => Test::State(State::Established),
        "INVALID" | "RELATED" | "UNTRACKED" => Test::State(State::Other),
        // SNAT and DNAT are no states of conntrack's.
        other => Test::Packet(Property {
            text: format!("--ctstate {other}"),
            quotable: false,
            sources: None,
        }),
    }
}

/// What `-j` does, with the target's options behind it.
fn target(name: &str, options: &[String]) -> Option<Step> {
    let of = |option: &str| {
        let at = options.iter().position(|word| word == option)?;
        options.get(at + 1).map(String::as_str)
    };
    Some(match name {
        "ACCEPT" | "NFQUEUE" => Step::Decide(Verdict::Accept),
        "DROP" | "REJECT" => Step::Decide(Verdict::Drop),
        "RETURN" => Step::Decide(Verdict::Return),
        "MASQUERADE" | "SNAT" | "NETMAP" => Step::Translate,
        // (mark & ~mask) ^ value
        "MARK" => Step::SetMark(of("--set-xmark").and_then(masked).map_or(
            Value::Unknown,
            |(mark, mask)| Value::Of { from: MarkOf::Packet, and: !mask, xor: mark },
        )),
        "CONNMARK" => {
            let has = |option: &str| options.iter().any(|word| word == option);
            let all =
                |option: &str| of(option).and_then(number).is_none_or(|mask| mask == u32::MAX);
            let whole = all("--nfmask") && all("--ctmask");
            if has("--restore-mark") {
                Step::SetMark(if whole { copy_of(MarkOf::Connection) } else { Value::Unknown })
            } else if has("--save-mark") {
                Step::SaveMark(if whole { copy_of(MarkOf::Packet) } else { Value::Unknown })
            } else {
                Step::SaveMark(of("--set-xmark").and_then(masked).map_or(
                    Value::Unknown,
                    |(mark, mask)| Value::Of { from: MarkOf::Connection, and: !mask, xor: mark },
                ))
            }
        }
        // Those in capitals are extensions, which decide nothing.
        extension if EXTENSIONS.contains(&extension) => return None,
        chain => Step::Decide(Verdict::Jump(chain.into())),
    })
}

/// Targets after which the next rule follows, or of which the kernel goes on by itself.
const EXTENSIONS: [&str; 17] = [
    "LOG",
    "NFLOG",
    "ULOG",
    "TCPMSS",
    "CT",
    "NOTRACK",
    "TRACE",
    "DSCP",
    "TOS",
    "TTL",
    "HL",
    "SET",
    "CLASSIFY",
    "CHECKSUM",
    "AUDIT",
    "TCPOPTSTRIP",
    "DNAT",
];

fn copy_of(from: MarkOf) -> Value {
    Value::Of { from, and: u32::MAX, xor: 0 }
}

/// `value` or `value/mask`.
fn masked(text: &str) -> Option<(u32, u32)> {
    match text.split_once('/') {
        Some((value, mask)) => Some((number(value)?, number(mask)?)),
        None => Some((number(text)?, u32::MAX)),
    }
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
