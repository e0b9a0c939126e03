//! The `gateway.toml` that a package brings: every key with what it says, commented out.
//!
//! It names no interfaces, which nobody but the operator knows: until then nothing runs. And it
//! observes: until the operator takes that out, nothing is split.

use super::example::{INTERFACES, RULE, TCP_SETTINGS};
use super::key::{Configured, Key, example_value};
use super::{deployment, leg, limits, policy, satellite, splitting};

/// Where a comment is broken, with its `# `.
const WIDTH: usize = 78;

const HEAD: &str = "\
# The gateway of this host: see gateway.toml(5), bentpipe-gateway(8).
# Name the interfaces, then: systemctl restart bentpipe-gateway
# It observes. To split for five minutes, and then to go back:
#   bentpipe-gateway enable --try 5min
# To split for good, take `observe = true` out, and: systemctl reload bentpipe-gateway

# The interfaces towards the near hosts, and towards the satellite.
";

/// The file's text.
pub fn commented() -> String {
    let tables = [
        HEAD.to_owned() + &out(INTERFACES),
        "# TCP towards the satellite, and what is known of the link.\n[satellite]\n".to_owned()
            + &keys(satellite::KEYS)
            + &keys(leg::KEYS)
            + &out(TCP_SETTINGS),
        "# TCP towards the near hosts: the same keys but those of the link.\n[lan]\n#recovery = \"sack\"\n"
            .to_owned(),
        "# What of the hosts' connections is end to end.\n[splitting]\n".to_owned()
            + &keys(splitting::KEYS),
        "# How much it may hold, and for how long.\n[limits]\n".to_owned()
            + &keys(limits::KEYS)
            + &keys(limits::DEPLOYED_KEYS),
        "# Which connections are split.\n[policy]\n".to_owned()
            + &keys(policy::KEYS).replace("#observe = false", "observe = true")
            + &keys(policy::DEPLOYED_KEYS),
        "# One such table for each rule; the first that matches a SYN decides.\n".to_owned()
            + &out(RULE),
        "# For Prometheus, at /metrics.\n[metrics]\n".to_owned()
            + &keys(deployment::METRICS_KEYS),
        "# What is told while it runs.\n[log]\n".to_owned() + &keys(deployment::LOG_KEYS),
    ];
    tables.join("\n")
}

/// Each key with its meaning above it.
fn keys<C: Configured>(keys: &[Key<C>]) -> String {
    keys.iter().map(|key| commented_key(key, &example_value(key))).collect()
}

/// Nothing where it takes more than a line.
fn commented_key<C>(key: &Key<C>, value: &str) -> String {
    if value.is_empty() {
        return String::new();
    }
    let field = &key.field;
    let default = field.default();
    let default = if default.is_empty() { default } else { format!("; default {default}") };
    let about = format!("{} ({}{default}).", field.about, field.takes()).replace('`', "");
    let (first, rest) = about.split_at(about.chars().next().map_or(0, char::len_utf8));
    format!("{}#{} = {value}\n", wrapped(&(first.to_uppercase() + rest)), field.key)
}

/// The same lines, but as comments; headers of tables stay.
fn out(lines: &str) -> String {
    let commented = |line: &str| match line.starts_with('[') && !line.starts_with("[[") {
        true => format!("{line}\n"),
        false => format!("#{line}\n"),
    };
    lines.lines().map(commented).collect()
}

fn wrapped(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("the first is there");
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("#   {word}"));
        } else {
            *line += &format!(" {word}");
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::GatewayFile;

    const MEMORY: u64 = 64 << 30;

    #[test]
    fn it_is_taken_once_interfaces_are_named_and_then_it_observes() {
        let text = commented();
        let error = GatewayFile::parse("gateway.toml", &text, MEMORY).unwrap_err().to_string();
        assert!(error.contains("lan"), "{error}");
        let text = text.replace("#lan = [", "lan = [").replace("#satellite = [", "satellite = [");
        let file = GatewayFile::parse("gateway.toml", &text, MEMORY).unwrap();
        assert!(file.config.policy.observe);
    }

    /// Of those that exclude each other the example has one.
    #[test]
    fn every_key_can_be_taken_in_alone() {
        let text =
            commented().replace("#lan = [", "lan = [").replace("#satellite = [", "satellite = [");
        let lines: Vec<&str> = text.lines().collect();
        let is_key =
            |line: &str| line.starts_with('#') && !line.starts_with("# ") && line.contains(" = ");
        let (mut taken, mut in_rule) = (0, false);
        for (i, line) in lines.iter().enumerate() {
            in_rule = (in_rule || line.starts_with("#[[")) && !line.is_empty();
            if !is_key(line) || in_rule {
                continue;
            }
            let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            lines[i] = line[1..].to_owned();
            GatewayFile::parse("FILE", &lines.join("\n"), MEMORY)
                .unwrap_or_else(|error| panic!("{line}: {error}"));
            taken += 1;
        }
        assert!(taken > 30, "{taken}");
    }

    #[test]
    fn no_line_is_longer_than_a_terminal_is_wide_but_examples_with_remarks() {
        for line in commented().lines().filter(|line| line.starts_with("# ")) {
            assert!(line.chars().count() <= 90, "{line}");
        }
    }
}
