//! A host's TCP settings as Linux has them: some belong to a whole namespace, some to its routes,
//! some to a socket, and some Linux does not have.
//!
//! What is asked for is compared with the preset `linux`, key by key: what is as there needs no
//! word. So a new key that this table does not know is refused as soon as it differs.

use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::pacing::Pacing;
use bentpipe_core::tcp::presets::KEYS;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::tcp::sender::InitialWindow;
use bentpipe_core::time::Duration;
use bentpipe_linux::kernel_version::KernelVersion;

/// What is set for all of a host's connections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostTcp {
    /// Kernel parameters and their values.
    pub sysctls: Vec<(&'static str, String)>,
    /// Attributes of every route, as `ip route` takes them.
    pub route: String,
}

/// What is set for a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketTcp {
    /// The congestion control, as the kernel calls it.
    pub congestion: String,
    /// Whether Nagle's algorithm is on.
    pub nagle: bool,
    /// The longest segment.
    pub mss: u16,
    /// The send buffer, if the kernel is not to size it.
    pub send_buffer: Option<u64>,
    /// The longest window that is advertised, if the kernel is not to tune it.
    pub receive_buffer: Option<u64>,
    /// Bytes per second at which it is paced at most, if it is.
    pub pacing: Option<u64>,
}

/// A setting that Linux does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inexpressible {
    /// `recovery=fack`.
    pub(super) setting: String,
    /// What Linux has instead, or why it cannot be.
    pub(super) why: &'static str,
}

/// A TCP as Linux has it, and what of it Linux does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expressed {
    /// For the host.
    pub(super) host: HostTcp,
    /// For the connection.
    pub(super) socket: SocketTcp,
    /// What is left as Linux has it.
    pub(super) refused: Vec<Inexpressible>,
}

/// More than any line carries, and not the value that means "not paced".
const ANY_RATE: u64 = 1 << 50;

/// From it on Linux has no loss recovery by RFC 6675 (commit 1c120191dcec of 2025): without RACK
/// `tcp_recovery` is ignored.
const RACK_ONLY: KernelVersion = KernelVersion(6, 17);

/// `config` in the terms of Linux of this version.
///
/// # Panics
/// Never: the preset `linux` is there.
pub(super) fn express(config: &ConnectionConfig, kernel: KernelVersion) -> Expressed {
    let linux = ConnectionConfig::preset("linux").expect("the preset is there");
    let mut refused = Vec::new();
    for key in KEYS {
        let value = key.value(config);
        if value == key.value(&linux) {
            continue;
        }
        if let Some(why) = obstacle(key.name, &value, config, &linux, kernel) {
            refused.push(Inexpressible { setting: format!("{}={value}", key.name), why });
        }
    }
    let name = congestion(config);
    // Linux's CUBIC has HyStart (a parameter of the module, so of the whole machine); others have
    // no such thing.
    let own_start = matches!(name.as_deref(), Some("cubic" | "bbr"));
    if !own_start && key(config, "slow-start") == "hystart" {
        let why = "Linux has HyStart in CUBIC only: say slow-start=standard";
        refused.push(Inexpressible { setting: "slow-start=hystart".to_owned(), why });
    }
    let fixed = config.receive_buffer_max.is_none();
    Expressed {
        host: HostTcp { sysctls: sysctls(config), route: route(config, name.as_deref()) },
        socket: SocketTcp {
            congestion: name.unwrap_or_else(|| "cubic".to_owned()),
            nagle: config.sender.nagle,
            mss: config.mss,
            send_buffer: (config.send_buffer != linux.send_buffer)
                .then_some(config.send_buffer.count()),
            receive_buffer: fixed.then_some(config.receive_buffer.count()),
            pacing: match config.sender.pacing {
                Pacing::Off => None,
                Pacing::Window { cap } => Some(cap.map_or(ANY_RATE, |cap| cap.bits_per_sec() / 8)),
            },
        },
        refused,
    }
}

/// A key's value as text.
fn key(config: &ConnectionConfig, name: &str) -> String {
    KEYS.iter().find(|key| key.name == name).map_or_else(String::new, |key| key.value(config))
}

/// Why Linux does not have `value` of the key `name`, which differs from Linux's; None if it does.
fn obstacle(
    name: &str,
    value: &str,
    config: &ConnectionConfig,
    linux: &ConnectionConfig,
    kernel: KernelVersion,
) -> Option<&'static str> {
    let unless = |fits: bool, why| if fits { None } else { Some(why) };
    match name {
        "mss" | "send-buffer" | "receive-buffer" | "receive-buffer-max" | "sack" | "timestamps"
        | "ecn" | "nagle" | "restart-after-idle" | "max-retries" | "syn-retries" | "pacing" => None,
        // The scale follows from the largest buffer; which one it is changes nothing but roundings.
        "window-scale" => None,
        "ack" => unless(value == "per-segment", "Linux has delayed:40ms, and per-segment"),
        "recovery" => recovery_obstacle(value, kernel),
        "congestion" => unless(
            congestion(config).is_some(),
            "Linux has standard, cubic, bbr1, westwood, scalable, highspeed, hybla and vegas:alpha=2;beta=4",
        ),
        "slow-start" => unless(
            value == "standard" && congestion(config).as_deref() != Some("cubic"),
            "Linux's CUBIC has HyStart, which is a parameter of the whole machine",
        ),
        "iw" => unless(segments(config).is_some(), "Linux counts the initial window in segments"),
        "rto.max" => unless(
            config.sender.rto.max >= Duration::from_secs(1)
                && config.sender.rto.max <= linux.sender.rto.max,
            "Linux has 1s to 120s",
        ),
        // The RTO is SRTT + max(G, 4 RTTVAR), where Linux's G is its minimum RTO.
        "rto.min" | "rto.granularity" => unless(
            config.sender.rto.min == config.sender.rto.granularity,
            "Linux has one value for rto.min and rto.granularity: give them the same",
        ),
        "byte-limit" => Some("Linux counts all bytes: off"),
        "reduction" => Some("Linux has prr-as-linux"),
        "undo" => Some("Linux undoes"),
        "opening" | "transactions" => Some("Linux opens by the handshake of RFC 9293"),
        "ssthresh" => Some("Linux begins without one"),
        "time-wait" => Some("Linux has 60s"),
        "rto.initial" => Some("Linux has 1s"),
        _ => Some("Linux has its own"),
    }
}

/// The same of `recovery`.
fn recovery_obstacle(value: &str, kernel: KernelVersion) -> Option<&'static str> {
    match value {
        "newreno" | "rack-no-tlp" => None,
        "sack" if kernel < RACK_ONLY => None,
        "sack" => {
            Some("since 6.17 Linux has RACK wherever there is SACK: say recovery=rack-no-tlp")
        }
        _ => Some("Linux has rack, rack-no-tlp and newreno, and sack before 6.17"),
    }
}

/// Congestion controls, with the parameters that the kernel gives them, and what it calls them. Its
/// BBR is the first version.
const KERNEL: [(&str, &str); 9] = [
    ("standard", "reno"),
    ("cubic:as-linux=on", "cubic"),
    ("cubic", "cubic"),
    ("bbr1", "bbr"),
    ("vegas:alpha=2;beta=4;gamma=1;decrease=0.5", "vegas"),
    ("hybla:rtt0=25000us", "hybla"),
    ("westwood", "westwood"),
    ("scalable:a=0.01;b=0.125", "scalable"),
    ("highspeed", "highspeed"),
];

/// What the kernel calls the congestion control; None if it has no such one.
fn congestion(config: &ConnectionConfig) -> Option<String> {
    let text = key(config, "congestion");
    let kernel = KERNEL.iter().find(|(ours, _)| *ours == text);
    kernel.map(|(_, theirs)| (*theirs).to_owned())
}

/// The initial window in segments of the longest size.
fn segments(config: &ConnectionConfig) -> Option<u64> {
    let mss = u64::from(config.mss);
    match config.sender.initial_window {
        InitialWindow::Segments(segments) => Some(u64::from(segments)),
        InitialWindow::Bytes(bytes) => {
            let bytes = bytes.count();
            (bytes >= mss && bytes.is_multiple_of(mss)).then(|| bytes / mss)
        }
        // RFC 3390: min(4 MSS, max(2 MSS, 4380 bytes)), in whole segments.
        InitialWindow::Rfc3390 => Some((4380 / mss).clamp(2, 4)),
    }
}

fn sysctls(config: &ConnectionConfig) -> Vec<(&'static str, String)> {
    let switch = |on: bool| u8::from(on).to_string();
    let recovery = key(config, "recovery");
    let (tlp, rack) = (recovery == "rack", matches!(recovery.as_str(), "rack" | "rack-no-tlp"));
    let newreno = recovery == "newreno";
    let mut set = vec![
        // Each connection starts afresh, not with what an earlier one has learnt.
        ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
        ("net.ipv4.tcp_sack", switch(config.sack && !newreno)),
        ("net.ipv4.tcp_timestamps", switch(config.timestamps)),
        ("net.ipv4.tcp_window_scaling", switch(config.window_scale.is_some())),
        ("net.ipv4.tcp_ecn", switch(config.ecn)),
        // RACK is the first bit, which is ignored since 6.17; tail loss probes are 3.
        ("net.ipv4.tcp_recovery", switch(rack)),
        ("net.ipv4.tcp_early_retrans", if tlp { "3" } else { "0" }.to_owned()),
        ("net.ipv4.tcp_slow_start_after_idle", switch(config.sender.restart_after_idle)),
        ("net.ipv4.tcp_retries2", config.sender.max_retries.to_string()),
        ("net.ipv4.tcp_syn_retries", config.syn_retries.clamp(1, 127).to_string()),
    ];
    if let Some(max) = config.receive_buffer_max {
        // Half of a buffer is for its segments' descriptions.
        let [begin, max] = [config.receive_buffer, max].map(|size| 2 * size.count());
        let buffers = format!("4096 {begin} {max}");
        set.push(("net.ipv4.tcp_rmem", buffers));
    }
    let rto_max = config.sender.rto.max;
    if rto_max != Duration::from_secs(120) {
        set.push(("net.ipv4.tcp_rto_max_ms", rto_max.as_millis().to_string()));
    }
    set
}

fn route(config: &ConnectionConfig, congestion: Option<&str>) -> String {
    let mut text = segments(config).map(|iw| format!("initcwnd {iw}")).unwrap_or_default();
    let rto = config.sender.rto;
    if rto.min == rto.granularity {
        text.push_str(&format!(" rto_min {}ms", rto.min.as_millis().max(1)));
    }
    if config.ack_policy == AckPolicy::PerSegment {
        text.push_str(" quickack 1");
    }
    if let Some(name) = congestion {
        text.push_str(&format!(" congctl {name}"));
    }
    text.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Expressed {
        express(&text.parse().unwrap(), KernelVersion(6, 17))
    }

    fn refused(text: &str) -> Vec<String> {
        of(text).refused.into_iter().map(|refused| refused.setting).collect()
    }

    #[test]
    fn the_preset_linux_is_linux() {
        let linux = of("linux");
        assert_eq!(linux.refused, []);
        assert_eq!(linux.host.route, "initcwnd 10 rto_min 200ms congctl cubic");
        let rmem = ("net.ipv4.tcp_rmem", "4096 131072 33554432".to_owned());
        assert!(linux.host.sysctls.contains(&rmem));
        assert_eq!((linux.socket.receive_buffer, linux.socket.send_buffer), (None, None));
    }

    #[test]
    fn what_linux_has_is_set_and_what_it_has_not_is_named() {
        let changed = of(
            "linux,congestion=standard,slow-start=standard,iw=rfc3390,ack=per-segment,\
                          receive-buffer=64KiB,receive-buffer-max=off,recovery=newreno,pacing=8Mbit/s",
        );
        assert_eq!(changed.refused, []);
        assert_eq!(changed.host.route, "initcwnd 3 rto_min 200ms quickack 1 congctl reno");
        assert!(changed.host.sysctls.contains(&("net.ipv4.tcp_sack", "0".to_owned())));
        assert_eq!(changed.socket.receive_buffer, Some(65_536));
        assert_eq!(changed.socket.pacing, Some(1_000_000));
        assert_eq!(refused("linux,recovery=fack"), ["recovery=fack"]);
        assert_eq!(refused("linux,recovery=sack"), ["recovery=sack"]);
        let earlier = express(&"linux,recovery=sack".parse().unwrap(), KernelVersion(6, 16));
        assert_eq!(earlier.refused, []);
        assert!(earlier.host.sysctls.contains(&("net.ipv4.tcp_recovery", "0".to_owned())));
        assert_eq!(refused("linux,congestion=standard"), ["slow-start=hystart"]);
        assert_eq!(refused("linux,slow-start=standard"), ["slow-start=standard"]);
        assert_eq!(
            refused("linux,congestion=vegas"),
            ["congestion=vegas:alpha=1;beta=3;gamma=1;decrease=0.5", "slow-start=hystart"]
        );
        assert_eq!(refused("linux,congestion=bbr1"), Vec::<String>::new());
        assert_eq!(refused("linux,rto.min=1s"), ["rto.min=1s"]);
        assert_eq!(refused("linux,rto.min=1s,rto.granularity=1s"), Vec::<String>::new());
        assert!(refused("bsd-reno-1997").contains(&"recovery=reno".to_owned()));
    }
}
