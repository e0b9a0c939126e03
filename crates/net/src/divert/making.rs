//! Makes what diverts packets, all of it or what is missing.

use super::look::{DORMANT, Damage, Device, awake, families, list_table};
use super::{DivertConfig, DivertError, rules};
use crate::command::{CommandError, run};
use crate::tun::Tun;
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

    /// Our table, in one transaction, and asleep if that is wanted. Returns how it is listed awake.
    pub(super) fn make_table(&self, tracking: bool, asleep: bool) -> Result<String, CommandError> {
        let mut text = rules::nft(self, tracking);
        if asleep {
            let table = format!("table inet {} {{\n", self.nft_table);
            text = text.replace(&table, &format!("{table}  {DORMANT};\n"));
        }
        run("nft", &["-f", "-"], &text)?;
        // If somebody has removed it at once, it is missing at the next look.
        Ok(awake(&list_table(self)?.unwrap_or_default()))
    }

    /// Mends what is broken, apart from the table. A device that must be opened anew goes to
    /// `opened` with the number of its side, before packets come to it.
    pub(super) fn mend_ways(
        &self,
        damage: &Damage,
        mut opened: impl FnMut(usize, Tun),
    ) -> Result<(), DivertError> {
        for (number, side) in self.sides.iter().enumerate() {
            if damage.devices[number] == Some(Device::Gone) {
                opened(number, Tun::open(&side.tun, self.offload)?);
            }
        }
        if damage.devices.iter().any(Option::is_some) {
            self.make_devices()?;
        }
        for &family in families() {
            // Routes vanish with the device's being up, and may do so after our look.
            if !damage.routes.is_empty() || damage.devices.iter().any(Option::is_some) {
                run("ip", &[family, "-batch", "-"], &rules::routes(self))?;
            }
            let missing = damage.rules.iter().filter(|(of, _)| *of == family);
            let missing: Vec<_> = missing.map(|(_, rule)| rule.clone()).collect();
            if !missing.is_empty() {
                run("ip", &[family, "-batch", "-"], &lines(&missing))?;
            }
        }
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
