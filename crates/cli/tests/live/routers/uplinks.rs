//! Set-ups with several uplinks, and with marks and `ip rule`s: what of the routing decides by
//! which interface a connection leaves.

use super::setups::{BARE, FW4, NFT, Setup, SetupHost};

/// Masquerade at both uplinks.
const UPLINKS: (&str, &str) = (
    NFT,
    "table inet nat { chain post { type nat hook postrouting priority srcnat;
       oifname { sat0, dmz0 } masquerade; }; }",
);

/// The main table leads by the second uplink, the LAN's own by the satellite.
pub(super) const TWO_UPLINKS_BY_FROM: Setup = Setup {
    name: "two_uplinks_by_from",
    commands: &[(
        SetupHost::Router,
        "ip route replace default via 10.91.5.2
         ip -6 route replace default via fd00:91:0:5::2
         ip route add default via 10.91.2.2 table 6
         ip -6 route add default via fd00:91:0:2::2 table 6
         ip rule add to 10.91.1.0/24 lookup main pref 900
         ip -6 rule add to fd00:91:0:1::/64 lookup main pref 900
         ip rule add to 10.91.5.0/24 lookup main pref 901
         ip -6 rule add to fd00:91:0:5::/64 lookup main pref 901
         ip rule add from 10.91.1.0/24 lookup 6 pref 1000
         ip -6 rule add from fd00:91:0:1::/64 lookup 6 pref 1000",
    )],
    rules: &[UPLINKS],
    ..BARE
};

/// What comes in by the LAN goes by the second uplink, which the main table does not know.
pub(super) const TWO_UPLINKS_BY_IIF: Setup = Setup {
    name: "two_uplinks_by_iif",
    commands: &[(
        SetupHost::Router,
        "ip route add default via 10.91.5.2 table 5
         ip -6 route add default via fd00:91:0:5::2 table 5
         ip rule add iif lan0 lookup 5 pref 1000
         ip -6 rule add iif lan0 lookup 5 pref 1000",
    )],
    rules: &[UPLINKS],
    unsplit: &["up", "down", "short", "half-closed", "idle", "inwards"],
    ..BARE
};

/// The main table leads by the second uplink, mwan3's marks of TCP by the satellite.
pub(super) const MWAN3: Setup = Setup {
    name: "mwan3",
    commands: &[(
        SetupHost::Router,
        "ip route del default
         ip route add default via 10.91.5.2 metric 10
         ip route add default via 10.91.2.2 metric 20
         for table in 1 2; do
             ip route add 10.91.1.0/24 dev lan0 table $table
             ip route add 10.91.2.0/24 dev sat0 table $table
             ip route add 10.91.5.0/24 dev dmz0 table $table
         done
         ip route add default via 10.91.2.2 table 1
         ip route add default via 10.91.5.2 table 2
         ip rule add pref 1001 iif sat0 lookup 1
         ip rule add pref 1002 iif dmz0 lookup 2
         ip rule add pref 2001 fwmark 0x100/0x3f00 lookup 1
         ip rule add pref 2002 fwmark 0x200/0x3f00 lookup 2
         ip rule add pref 3001 fwmark 0x100/0x3f00 unreachable
         ip rule add pref 3002 fwmark 0x200/0x3f00 unreachable
         ip rule add pref 2061 fwmark 0x3d00/0x3f00 blackhole
         ip rule add pref 2062 fwmark 0x3e00/0x3f00 unreachable",
    )],
    rules: &[UPLINKS, ("iptables-nft-restore", include_str!("rules/mwan3.iptables"))],
    needs: "iptables-nft -t mangle -A PREROUTING -j CONNMARK --restore-mark",
    ..BARE
};

/// The LAN's connections go by the second uplink, by a mark; what comes from the satellite does
/// not.
pub(super) const PBR: Setup = Setup {
    name: "pbr",
    commands: &[(
        SetupHost::Router,
        "ip route add default via 10.91.5.2 table 257
         ip -6 route add default via fd00:91:0:5::2 table 257
         ip rule add fwmark 0x20000/0xff0000 lookup 257 pref 29997
         ip -6 rule add fwmark 0x20000/0xff0000 lookup 257 pref 29997",
    )],
    rules: &[(NFT, include_str!("rules/fw4.nft")), (NFT, include_str!("rules/pbr.nft"))],
    unsplit: &["up", "down", "short", "half-closed", "idle"],
    ..FW4
};

pub(super) const TAILSCALE: Setup = Setup {
    name: "tailscale",
    commands: &[(
        SetupHost::Router,
        "ip rule add pref 5210 fwmark 0x80000/0xff0000 lookup main
         ip rule add pref 5230 fwmark 0x80000/0xff0000 lookup default
         ip rule add pref 5250 fwmark 0x80000/0xff0000 unreachable
         ip rule add pref 5270 lookup 52
         ip route add 100.100.100.100 dev dmz0 table 52",
    )],
    rules: &[("iptables-nft-restore", include_str!("rules/tailscale.iptables"))],
    needs: "iptables-nft -S",
    ..BARE
};

/// Marks of others, with bits that older versions of the gateway used; a route by one of them, and
/// a chain that clears them.
pub(super) const FOREIGN_MARKS: Setup = Setup {
    name: "foreign_marks",
    commands: &[(
        SetupHost::Router,
        "ip route add default via 10.91.2.2 table 7
         ip rule add fwmark 0x10000000/0x10000000 lookup 7 pref 100
         ip rule add to 10.91.0.0/22 lookup main pref 90
         ip rule add to 10.91.5.0/24 lookup main pref 91",
    )],
    rules: &[(
        NFT,
        "table inet other {
           chain pre { type filter hook prerouting priority mangle;
             meta mark set ct mark; iifname lan0 meta mark set meta mark | 0x10000000 ct mark set meta mark; }
           chain clear { type filter hook forward priority filter; meta mark set meta mark & 0x00ffffff; }
           chain out { type route hook output priority mangle; meta mark set 0x6d6f6c65; }
           chain post { type filter hook postrouting priority mangle;
             meta mark & 0x40000000 == 0 meta mark set meta mark | 0x20000000; }; }",
    )],
    ..BARE
};
