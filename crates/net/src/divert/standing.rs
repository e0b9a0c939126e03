//! Rules that stand already. Nothing here needs to know whose packets they mark, so that another process than the one that
//! set them up can remove them.

use super::DivertConfig;
use crate::command::run;

impl DivertConfig {
    /// What stands in our name, for who has our lock; `ruleset` is nft's, as JSON.
    pub(super) fn standing(&self, ruleset: &str) -> Vec<String> {
        let table = format!("\"name\": \"{}\"", self.nft_table);
        let mut found: Vec<String> = Vec::new();
        found
            .extend(ruleset.contains(&table).then(|| format!("nft table inet {}", self.nft_table)));
        let priority = self.rule_priority.to_string();
        for (family, name) in [("-4", "IPv4"), ("-6", "IPv6")] {
            let rules = run("ip", &[family, "rule", "show", "priority", &priority], "");
            let ours = |rule: &str| {
                self.route_tables.iter().any(|table| rule.contains(&format!("lookup {table}")))
            };
            match rules.unwrap_or_default().lines().filter(|rule| ours(rule)).count() {
                0 => {}
                rules => found.push(format!("{rules} {name} rules of priority {priority}")),
            }
        }
        found
    }

    /// Removes our table and rules, whoever made them. The routes are gone with their device.
    pub(super) fn remove(&self) {
        let _ = run("nft", &["delete", "table", "inet", &self.nft_table], "");
        let priority = self.rule_priority.to_string();
        for family in ["-4", "-6"] {
            for table in self.route_tables {
                let table = table.to_string();
                // One rule an interface; the bound is only against a kernel that never says no.
                for _ in 0..1000 {
                    let arguments =
                        [family, "rule", "delete", "priority", &priority, "lookup", &table];
                    if run("ip", &arguments, "").is_err() {
                        break;
                    }
                }
                let _ = run("ip", &[family, "route", "flush", "table", &table], "");
            }
        }
    }
}
