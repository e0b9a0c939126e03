//! A look at what stands of what we have set up: devices, routes, rules, our nft table.

use super::DivertConfig;
use super::rules::{self, Rule};
use crate::command::{CommandError, run};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

/// What is not as we have made it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Damage {
    /// By side, what is wrong with its device.
    pub(super) devices: [Option<Device>; 2],
    /// Devices into which a route is missing.
    pub(super) routes: Vec<String>,
    /// By family, as an option of `ip`: rules that are missing.
    pub(super) rules: Vec<(&'static str, Rule)>,
    /// What is wrong with the table.
    pub(super) table: Option<Table>,
}

/// What can be wrong with a TUN device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    /// It does not exist.
    Gone,
    /// It is down, and its routes have gone with that.
    Down,
    /// Its address, MTU or settings are not ours.
    Altered,
}

/// What can be wrong with the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// It does not exist.
    Gone,
    /// Its rules are not ours.
    Altered,
    /// Connections are tracked now, and it does not provide for that.
    WithoutTracking,
}

impl Damage {
    pub(super) fn is_none(&self) -> bool {
        *self == Damage::default()
    }

    /// Whether packets that should come to us go by the main table.
    pub(super) fn lets_pass(&self) -> bool {
        let devices = self.devices.iter().flatten();
        devices.into_iter().any(|device| *device != Device::Altered)
            || !self.routes.is_empty()
            || !self.rules.is_empty()
            || matches!(self.table, Some(Table::Gone | Table::Altered))
    }

    /// In words, for the log.
    pub(super) fn describe(&self, config: &DivertConfig) -> String {
        let mut parts = Vec::new();
        for (side, device) in config.sides.iter().zip(&self.devices) {
            parts.extend(device.map(|device| format!("device {} ({device})", side.tun)));
        }
        if !self.routes.is_empty() {
            parts.push(format!("routes into {}", self.routes.join(", ")));
        }
        match self.rules.len() {
            0 => {}
            1 => parts.push("an ip rule (gone)".into()),
            count => parts.push(format!("{count} ip rules (gone)")),
        }
        parts.extend(
            self.table.map(|table| format!("nft table inet {} ({table})", config.nft_table)),
        );
        parts.join(", ")
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Device::Gone => "deleted",
            Device::Down => "down",
            Device::Altered => "altered",
        })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Table::Gone => "gone",
            Table::Altered => "altered",
            Table::WithoutTracking => "connections are tracked now",
        })
    }
}

/// The families of addresses that there are, as options of `ip`.
pub(super) fn families() -> &'static [&'static str] {
    if Path::new("/proc/sys/net/ipv6").exists() { &["-4", "-6"] } else { &["-4"] }
}

/// Compares what there is with what `config` wants, and the table with its `listing` when it was made.
///
/// # Errors
/// When it cannot be seen, so that nothing is known.
pub(super) fn look(config: &DivertConfig, listing: &str) -> Result<Damage, CommandError> {
    let mut damage = Damage::default();
    for (side, device) in config.sides.iter().zip(&mut damage.devices) {
        *device = judge_device(&side.tun, ask("ip", &["-j", "address", "show", "dev", &side.tun])?);
    }
    for &family in families() {
        for (side, table) in config.sides.iter().zip(config.route_tables) {
            let table = table.to_string();
            let routes = ask("ip", &["-j", family, "route", "show", "table", &table])?;
            if !leads_into(&routes.unwrap_or_default(), &side.tun)
                && !damage.routes.contains(&side.tun)
            {
                damage.routes.push(side.tun.clone());
            }
        }
        let found = run("ip", &["-j", "-N", family, "rule", "show"], "")?;
        let found: Value = serde_json::from_str(&found).unwrap_or_default();
        let missing = rules::ip_rules(config).into_iter();
        let missing = missing.filter(|rule| !has_rule(&found, rule));
        damage.rules.extend(missing.map(|rule| (family, rule)));
    }
    damage.table = judge_table(list_table(config)?.as_deref(), listing);
    Ok(damage)
}

/// Our table without counters and what its sets learn, in words that do not change while it does not.
/// None if there is none.
pub(super) fn list_table(config: &DivertConfig) -> Result<Option<String>, CommandError> {
    ask("nft", &["--stateless", "--terse", "list", "table", "inet", &config.nft_table])
}

/// What a command says; none if it says that there is no such thing.
fn ask(program: &'static str, arguments: &[&str]) -> Result<Option<String>, CommandError> {
    const NONE: [&str; 3] = ["does not exist", "No such file", "Cannot find device"];
    match run(program, arguments, "") {
        Ok(answer) => Ok(Some(answer)),
        Err(CommandError::Failed { message, .. }) if NONE.iter().any(|it| message.contains(it)) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn judge_device(tun: &str, shown: Option<String>) -> Option<Device> {
    let shown: Value = serde_json::from_str(&shown.unwrap_or_default()).unwrap_or_default();
    let device = &shown[0];
    if device.is_null() {
        return Some(Device::Gone);
    }
    let any =
        |list: &Value, is: &dyn Fn(&Value) -> bool| list.as_array().into_iter().flatten().any(is);
    if !any(&device["flags"], &|flag| flag == "UP") {
        return Some(Device::Down);
    }
    let addressed = any(&device["addr_info"], &|it| it["local"] == rules::TUN_ADDRESS);
    let set = rules::settings(tun).into_iter().all(|(path, value)| {
        fs::read_to_string(format!("/proc/sys/{path}")).is_ok_and(|now| now.trim() == value)
    });
    let sound = addressed && set && device["mtu"] == rules::TUN_MTU;
    (!sound).then_some(Device::Altered)
}

/// Whether the default route of a table leads into `tun`.
fn leads_into(routes: &str, tun: &str) -> bool {
    let routes: Value = serde_json::from_str(routes).unwrap_or_default();
    let mut routes = routes.as_array().into_iter().flatten();
    routes.any(|route| route["dst"] == "default" && route["dev"] == tun)
}

fn has_rule(found: &Value, rule: &Rule) -> bool {
    let number = |text: &Value| {
        let text = text.as_str()?;
        match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    };
    found.as_array().into_iter().flatten().any(|it| {
        it["priority"] == rule.priority
            && it["iif"] == rule.interface.as_str()
            && number(&it["fwmark"]) == Some(rule.mark)
            // Not shown if it is all bits.
            && number(&it["fwmask"]).unwrap_or(u32::MAX) == rule.mask
            && number(&it["table"]) == Some(rule.table)
            && it["ipproto"].is_null()
    })
}

/// What nft calls a table that is asleep.
pub(super) const DORMANT: &str = "flags dormant";

/// A table's listing without that.
pub(super) fn awake(listing: &str) -> String {
    listing
        .lines()
        .filter(|line| line.trim() != DORMANT)
        .fold(String::new(), |text, line| text + line + "\n")
}

/// A table that is dormant is as it should be: the watchdog, or whoever has disabled it, enables it.
fn judge_table(now: Option<&str>, made: &str) -> Option<Table> {
    match now {
        None => Some(Table::Gone),
        Some(now) if now.lines().any(|line| line.trim() == DORMANT) => None,
        Some(now) => (now != made).then_some(Table::Altered),
    }
}

/// What there is of a configured interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Up,
    Down,
    Gone,
}

/// The configured interfaces, as they are now.
pub(super) fn presences(config: &DivertConfig) -> io::Result<Vec<(String, Presence)>> {
    let found: Vec<_> = getifaddrs()?.map(|it| (it.interface_name, it.flags)).collect();
    let presence = |name: &String| match found.iter().find(|(found, _)| found == name) {
        Some((_, flags)) if flags.contains(InterfaceFlags::IFF_UP) => Presence::Up,
        Some(_) => Presence::Down,
        None => Presence::Gone,
    };
    let names = config.sides.iter().flat_map(|side| &side.interfaces);
    Ok(names.map(|name| (name.clone(), presence(name))).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;

    fn config() -> DivertConfig {
        let side = |interface: &str, tun: &str| Side {
            interfaces: vec![interface.into()],
            tun: tun.into(),
        };
        DivertConfig::gateway([side("lan0", "bp-lan"), side("sat0", "bp-sat")])
    }

    /// As `ip -j -N` of iproute2 6.1 shows them; of the first the interface does not exist.
    const RULES: &str = r#"[{"priority":0,"src":"all","table":"255"},
        {"priority":252,"src":"all","fwmark":"0x10000000","fwmask":"0x30000000","iif":"lan0","iif_detached":null,"table":"25200"},
        {"priority":252,"src":"all","fwmark":"0xefffffff","iif":"lo","table":"25200"},
        {"priority":252,"src":"all","fwmark":"0x20000000","fwmask":"0x30000000","iif":"sat0","table":"25201"},
        {"priority":252,"src":"all","fwmark":"0xdfffffff","iif":"lo","ipproto":"ipproto-6","table":"25201"},
        {"priority":32766,"src":"all","table":"254"}]"#;

    #[test]
    fn rules_that_stand_are_found_by_all_that_they_say() {
        let found = serde_json::from_str(RULES).unwrap();
        let standing: Vec<bool> =
            rules::ip_rules(&config()).iter().map(|rule| has_rule(&found, rule)).collect();
        // By side: its interface's rule, and that for this host's own errors, which is for no more than these.
        assert_eq!(standing, [true, true, true, false]);
        let mut other = config();
        other.rule_priority = 251;
        assert!(!rules::ip_rules(&other).iter().any(|rule| has_rule(&found, rule)));
    }

    #[test]
    fn routes_are_found_by_their_device() {
        let routes = r#"[{"dst":"default","dev":"bp-lan","scope":"link","flags":[]}]"#;
        assert!(leads_into(routes, "bp-lan") && !leads_into(routes, "bp-sat"));
        for nothing in ["[]", "[ ", ""] {
            assert!(!leads_into(nothing, "bp-lan"));
        }
    }

    #[test]
    fn a_table_that_sleeps_is_let_sleep() {
        let made = "table inet x {\n\tchain divert {\n\t}\n}\n";
        assert_eq!(judge_table(Some(made), made), None);
        assert_eq!(judge_table(None, made), Some(Table::Gone));
        assert_eq!(judge_table(Some("table inet x {\n}\n"), made), Some(Table::Altered));
        assert_eq!(judge_table(Some("table inet x {\n\tflags dormant\n}\n"), made), None);
    }

    #[test]
    fn a_device_is_judged_by_its_state() {
        assert_eq!(judge_device("bp-lan", None), Some(Device::Gone));
        let down = r#"[{"ifname":"bp-lan","flags":["NOARP"],"mtu":65535}]"#;
        assert_eq!(judge_device("bp-lan", Some(down.into())), Some(Device::Down));
        let bare = r#"[{"ifname":"bp-lan","flags":["NOARP","UP"],"mtu":65535,"addr_info":[]}]"#;
        assert_eq!(judge_device("bp-lan", Some(bare.into())), Some(Device::Altered));
    }

    #[test]
    fn damage_says_what_it_is_and_whether_packets_pass() {
        let mut damage = Damage { devices: [None, Some(Device::Altered)], ..Damage::default() };
        assert!(!damage.lets_pass() && !damage.is_none() && Damage::default().is_none());
        damage.table = Some(Table::WithoutTracking);
        assert!(!damage.lets_pass());
        damage.rules = rules::ip_rules(&config()).into_iter().map(|rule| ("-4", rule)).collect();
        damage.routes = vec!["bp-sat".into()];
        assert!(damage.lets_pass());
        assert_eq!(
            damage.describe(&config()),
            "device bp-sat (altered), routes into bp-sat, 4 ip rules (gone), nft table inet \
             bentpipe-gateway (connections are tracked now)"
        );
    }
}
