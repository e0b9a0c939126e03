//! What older versions took of the host's kernel: they marked packets in an nft table, and routed
//! them by rules and tables of their own. A process of theirs that was killed has left that, and it
//! outlives us otherwise.

use crate::command::run;

/// A rule is there for each interface and a few besides; the bound is only against a kernel that
/// never says no.
const RULES: usize = 1000;

/// The numbers and names that a service took.
struct Older {
    nft_table: &'static str,
    preference: &'static str,
    route_tables: [&'static str; 2],
}

/// Removes what a gateway left, for the holder of the gateway's lock, and says what it was.
pub fn remove_older_gateways() -> Vec<String> {
    let route_tables = ["25200", "25201"];
    Older { nft_table: "bentpipe-gateway", preference: "252", route_tables }.remove()
}

/// The same of a link between two interfaces.
pub fn remove_older_links() -> Vec<String> {
    let route_tables = ["25202", "25203"];
    Older { nft_table: "bentpipe-link", preference: "253", route_tables }.remove()
}

impl Older {
    /// Where `nft` is not there, there is no such table.
    fn remove(&self) -> Vec<String> {
        let Older { nft_table, preference, route_tables } = *self;
        let mut removed = Vec::new();
        if run("nft", &["delete", "table", "inet", nft_table], "").is_ok() {
            removed.push(format!("nft table inet {nft_table}"));
        }
        for (family, name) in [("-4", "IPv4"), ("-6", "IPv6")] {
            let mut rules = 0;
            for table in route_tables {
                let delete = [family, "rule", "delete", "priority", preference, "lookup", table];
                rules += (0..RULES).take_while(|_| run("ip", &delete, "").is_ok()).count();
            }
            if rules > 0 {
                removed.push(format!("{rules} {name} rules of priority {preference}"));
            }
        }
        removed
    }
}
