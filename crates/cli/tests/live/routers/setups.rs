//! The routers' set-ups: what is done to a plain router, what of the transfers it refuses by itself, and what of them is split.

use std::net::Ipv4Addr;

/// Where commands are carried out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Router,
    Satellite,
    Lan,
    Third,
    Far,
}

/// One column of the matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    pub(super) name: &'static str,
    /// Commands that succeed in a namespace of a kernel that can have this.
    pub(super) needs: &'static str,
    /// In this order, behind the rules' own.
    pub(super) commands: &'static [(Place, &'static str)],
    /// What loads them, and rules of the router.
    pub(super) rules: &'static [(&'static str, &'static str)],
    /// The gateway's interfaces, and more keys for the satellite's side.
    pub(super) lan: &'static [&'static str],
    pub(super) satellite: &'static str,
    pub(super) keys: &'static str,
    /// The rows that the router does not let through, with or without a gateway.
    pub(super) refused: &'static [&'static str],
    /// The rows that go another way, or that the guide says are not split.
    pub(super) unsplit: &'static [&'static str],
    /// The third host is a guest on the router, with this address.
    pub(super) guest: Option<Ipv4Addr>,
    pub(super) narrow_hop: bool,
    /// `bentpipe gateway check` names an interface to configure instead.
    pub(super) is_told: bool,
}

const NFT: &str = "nft -f -";

/// A router that does nothing but route. All others differ from it.
const BARE: Setup = Setup {
    name: "bare",
    needs: "",
    commands: &[],
    rules: &[],
    lan: &["lan0"],
    satellite: "sat0",
    keys: "",
    refused: &["published"],
    unsplit: &[],
    guest: None,
    narrow_hop: false,
    is_told: false,
};

const DEFAULT_DROP: Setup = Setup {
    name: "default_drop",
    rules: &[(NFT, include_str!("rules/nftables.nft"))],
    refused: &["inwards"],
    ..BARE
};

const MASQUERADE: Setup = Setup {
    name: "masquerade",
    rules: &[(
        NFT,
        "table inet nat {
           chain pre { type nat hook prerouting priority dstnat;
             iifname sat0 meta nfproto ipv4 tcp dport 8080 dnat ip to 10.91.1.2:7100;
             iifname sat0 meta nfproto ipv6 tcp dport 8080 dnat ip6 to [fd00:91:0:1::2]:7100; }
           chain post { type nat hook postrouting priority srcnat; oifname { sat0, dmz0 } masquerade; } }",
    )],
    refused: &[],
    ..BARE
};

const CONDITIONAL_DROP: Setup = Setup {
    name: "conditional_drop",
    rules: &[(
        NFT,
        "table inet site { chain forward { type filter hook forward priority 0;
           iifname lan0 oifname != { sat0, dmz0 } drop;
           iifname != { lan0, sat0, dmz0 } reject;
           oifname != { lan0, sat0, dmz0 } drop; } }",
    )],
    ..BARE
};

/// Those that this kernel can have.
pub(super) const SETUPS: &[Setup] = &[BARE, MASQUERADE, DEFAULT_DROP, CONDITIONAL_DROP];
