//! Makes what diverts packets, all of it or what is missing.

use super::{DivertConfig, DivertError, families, rules};
use crate::command::{CommandError, run};
use std::fmt::Write as _;
use std::fs;

impl DivertConfig {
    /// Sets the TUN devices up. What is right already stays as it is.
    pub(super) fn make_devices(&self) -> Result<(), DivertError> {
        for side in &self.sides {
            for (path, value) in rules::settings(&side.tun) {
                set(&path, value)?;
            }
            if families().contains(&"-6") {
                // No link-local address, hence no router solicitations into the device.
                set(&format!("net/ipv6/conf/{}/addr_gen_mode", side.tun), "1")?;
            }
        }
        // First: it takes the routes away.
        self.join_vrfs()?;
        run("ip", &["-batch", "-"], &rules::devices(self))?;
        Ok(())
    }

    /// Routes into the TUN devices, and the rules that lead to them where there were none.
    pub(super) fn make_routes(&self) -> Result<(), CommandError> {
        for family in families() {
            // IPv6 needs links of 1280 bytes (RFC 8200, section 5).
            if *family == "-6" && self.mtu < 1280 {
                continue;
            }
            run("ip", &[family, "-batch", "-"], &rules::routes(self))?;
            run("ip", &[family, "-batch", "-"], &lines(&rules::ip_rules(self)))?;
        }
        Ok(())
    }

    /// Our table, in one transaction.
    pub(super) fn make_table(&self, tracking: bool) -> Result<(), CommandError> {
        run("nft", &["-f", "-"], &rules::nft(self, tracking))?;
        Ok(())
    }
}

/// Lines for `ip -batch` that add rules.
fn lines(rules: &[rules::Rule]) -> String {
    rules.iter().fold(String::new(), |mut text, rule| {
        let _ = writeln!(text, "rule add {rule}");
        text
    })
}

fn set(path: &str, value: &str) -> Result<(), DivertError> {
    let path = format!("/proc/sys/{path}");
    fs::write(&path, value).map_err(|source| DivertError::Sysctl { path, source })
}
