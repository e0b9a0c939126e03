//! What older versions of the gateway took of the host's kernel: it marked packets in an nft table, and routed them by rules and
//! tables of their own. A process of theirs that was killed has left that, and it outlives us otherwise.

use crate::command::run;

const NFT_TABLE: &str = "bentpipe-gateway";
const PREFERENCE: &str = "252";
const ROUTE_TABLES: [&str; 2] = ["25200", "25201"];

/// A rule is there for each interface and a few besides; the bound is only against a kernel that never says no.
const RULES: usize = 1000;

/// Removes it, for the holder of the gateway's lock, and says what it was. Where `nft` is not there, there is no such table.
pub fn remove_older_versions() -> Vec<String> {
    let mut removed = Vec::new();
    if run("nft", &["delete", "table", "inet", NFT_TABLE], "").is_ok() {
        removed.push(format!("nft table inet {NFT_TABLE}"));
    }
    for (family, name) in [("-4", "IPv4"), ("-6", "IPv6")] {
        let mut rules = 0;
        for table in ROUTE_TABLES {
            let delete = [family, "rule", "delete", "priority", PREFERENCE, "lookup", table];
            rules += (0..RULES).take_while(|_| run("ip", &delete, "").is_ok()).count();
        }
        if rules > 0 {
            removed.push(format!("{rules} {name} rules of priority {PREFERENCE}"));
        }
    }
    removed
}
