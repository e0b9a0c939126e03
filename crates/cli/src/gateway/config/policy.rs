//! `[policy]`: which connections are split.

use super::{Place, Scalar, Wrong};
use bentpipe_gateway::Side;
use bentpipe_gateway::policy::{self, Network, Policy};
use serde::Deserialize;
use std::fmt::Display;
use std::str::FromStr;
use toml::Spanned;

/// The table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Table {
    observe: bool,
    pub(super) reject_quic: bool,
    rule: Vec<Spanned<Rule>>,
}

/// A rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    action: Action,
    from: Option<From>,
    client: Option<Spanned<List>>,
    server: Option<Spanned<List>>,
    port: Option<Spanned<List>>,
    dscp: Option<Spanned<List>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Split,
    Forward,
    Observe,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum From {
    Lan,
    Satellite,
}

/// What may be said once or several times.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number, a text in quotes, or a list of these")]
enum List {
    One(Scalar),
    Several(Vec<Scalar>),
}

impl Table {
    /// What the table says. No rule is out of reach of every connection.
    pub(super) fn policy(&self, place: &Place<'_>) -> Result<Policy, Wrong> {
        let mut rules = Vec::with_capacity(self.rule.len());
        let mut for_all: Option<&Spanned<Rule>> = None;
        for rule in &self.rule {
            if let Some(before) = for_all {
                let line = place.line(before.span().start);
                let error = format!("the rule on line {line} is for all connections: none is left");
                return Err(Wrong::at(rule, &error));
            }
            let read = rule.get_ref().read()?;
            if read.is_for_all() {
                for_all = Some(rule);
            }
            rules.push(read);
        }
        Ok(Policy { rules, observe: self.observe })
    }
}

impl Rule {
    fn read(&self) -> Result<policy::Rule, Wrong> {
        let client: Vec<Network> = items(self.client.as_ref())?;
        let server: Vec<Network> = items(self.server.as_ref())?;
        if let (Some(place), Some(first)) = (&self.server, server.first()) {
            let apart = |network: &Network| network.is_ipv4() != first.is_ipv4();
            let one_family = server.iter().all(|network| !apart(network));
            if one_family && !client.is_empty() && client.iter().all(apart) {
                let error =
                    "clients and servers of one connection are both of IPv4 or both of IPv6";
                return Err(Wrong::at(place, &error));
            }
        }
        Ok(policy::Rule {
            from: self.from.map(|side| match side {
                From::Lan => Side::Lan,
                From::Satellite => Side::Satellite,
            }),
            client,
            server,
            port: items(self.port.as_ref())?,
            dscp: items(self.dscp.as_ref())?,
            action: match self.action {
                Action::Split => policy::Action::Split,
                Action::Forward => policy::Action::Forward,
                Action::Observe => policy::Action::Observe,
            },
        })
    }
}

/// The items of a list, read one by one. A list that is there has some: an empty one could be
/// meant to match everything or nothing.
fn items<T: FromStr<Err: Display>>(list: Option<&Spanned<List>>) -> Result<Vec<T>, Wrong> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let texts = match list.get_ref() {
        List::One(one) => std::slice::from_ref(one),
        List::Several(several) => several,
    };
    if texts.is_empty() {
        return Err(Wrong::at(list, &"an empty list: leave it out to match everything"));
    }
    let read = |text: &Scalar| text.to_string().parse().map_err(|error| Wrong::at(list, &error));
    texts.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{INTERFACES, read, setup};
    use super::*;

    #[test]
    fn rules_are_read_in_their_order() {
        let text = format!(
            "{INTERFACES}[policy]\nobserve = true\n\
             [[policy.rule]]\naction = \"split\"\nport = [22, \"8000-8999\"]\nfrom = \"satellite\"\n\
             [[policy.rule]]\naction = \"forward\"\nclient = \"10.0.0.0/8\"\n\
             server = [\"192.0.2.1\", \"2001:db8::/32\"]\ndscp = [\"ef\", 8]\n"
        );
        let expected = Policy {
            observe: true,
            rules: vec![
                policy::Rule {
                    from: Some(Side::Satellite),
                    port: vec!["22".parse().unwrap(), "8000-8999".parse().unwrap()],
                    action: policy::Action::Split,
                    ..policy::Rule::default()
                },
                policy::Rule {
                    client: vec!["10.0.0.0/8".parse().unwrap()],
                    server: vec!["192.0.2.1".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
                    dscp: vec!["ef".parse().unwrap(), "cs1".parse().unwrap()],
                    action: policy::Action::Forward,
                    ..policy::Rule::default()
                },
            ],
        };
        assert_eq!(read(&text).unwrap().policy, expected);
        assert_eq!(read(INTERFACES).unwrap().policy, Policy::default());
    }

    #[test]
    fn quic_is_rejected_only_if_that_is_asked_for() {
        let text = format!("{INTERFACES}[policy]\nreject_quic = true\n");
        assert!(setup(&text).unwrap().reject_quic);
        assert!(!setup(INTERFACES).unwrap().reject_quic);
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_what_was_expected() {
        for (line, parts) in [
            ("client = \"10.0.0\"", ["`10.0.0`", "10.0.0.0/8"]),
            ("server = [\"::/0\", \"example.org\"]", ["`example.org`", "2001:db8::/32"]),
            ("port = [80, 70000]", ["`70000`", "8000-8999"]),
            ("port = -1", ["a number", "list"]),
            ("dscp = \"bulk\"", ["`bulk`", "af43"]),
            ("client = []", ["empty", "leave it out"]),
            ("from = \"wan\"", ["`wan`", "`satellite`"]),
            ("ports = 80", ["`ports`", "`port`"]),
            ("observe = true", ["`observe`", "`action`"]),
        ] {
            let text = format!("{INTERFACES}[[policy.rule]]\naction = \"forward\"\n{line}\n");
            let message = read(&text).unwrap_err();
            assert!(message.starts_with("FILE:6: "), "{line}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
            for part in parts {
                assert!(message.contains(part), "{line}: {message}");
            }
        }
        let message = read(&format!("{INTERFACES}[[policy.rule]]\nport = 80\n")).unwrap_err();
        assert!(message.contains("missing field `action`"), "{message}");
        let message = read(&format!("{INTERFACES}[[policy.rule]]\naction = \"drop\"\n"));
        let message = message.unwrap_err();
        assert!(message.starts_with("FILE:5: ") && message.contains("`observe`"), "{message}");
    }
}
