//! Rules that stand already: disabled, enabled, removed. None of it needs to know whose packets
//! they mark, so that another process than the one that set them up can do it.

use super::DivertConfig;
use crate::command::{CommandError, run};
use crate::instance::Instance;
use crate::serve;
use std::time::Duration;

/// How long a process that was killed may take to let go of its lock. Its files are closed in their order, and a device
/// among them may take seconds where many come and go.
const LETTING_GO: Duration = Duration::from_secs(30);

impl DivertConfig {
    /// Packets go by the main table until [enabled](DivertConfig::enable). For whoever watches over a
    /// loop that does not answer.
    pub(crate) fn disable(&self) -> Result<(), CommandError> {
        // The flag takes the table's chains off their hooks (nft(8)): one transaction, and no copy
        // of the rules to keep.
        run("nft", &["add", "table", "inet", &self.nft_table, "{ flags dormant; }"], "")?;
        Ok(())
    }

    /// The rules of a disabled table are there again.
    pub(crate) fn enable(&self) -> Result<(), CommandError> {
        run("nft", &["add", "table", "inet", &self.nft_table], "")?;
        Ok(())
    }

    /// Removes what a killed process left, unless another has taken its place.
    pub(crate) fn clear(&self) {
        if let Ok(_lock) = Instance::lock_within(&self.service, LETTING_GO) {
            self.remove();
            serve::clear(&self.service);
        }
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
