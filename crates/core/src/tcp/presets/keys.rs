//! The parameters of a connection by name. A new one is one entry of [`KEYS`].

use super::forms::{
    Acks, Between, FirstWindow, Form, InList, Lasting, Named, Optional, Paced, Plain, Room, Size,
    Switch, Time,
};
use crate::tcp::connection::ConnectionConfig;
use std::fmt;

/// A parameter that can be set from text.
#[derive(Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Which values it takes.
    pub takes: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Where it is specified, or who has it.
    pub source: &'static str,
    pub(super) set: fn(&mut ConnectionConfig, &str) -> Result<(), String>,
    write: fn(&ConnectionConfig) -> String,
}

impl Key {
    /// The parameter's value in `config`, as text.
    pub fn value(&self, config: &ConnectionConfig) -> String {
        (self.write)(config)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.takes)
    }
}

/// A key for one field of the configuration, which has this text form.
macro_rules! key {
    ($name:literal, $takes:expr, $($field:ident).+, $form:expr, $about:literal, $source:literal) => {
        Key {
            name: $name,
            takes: $takes,
            about: $about,
            source: $source,
            set: |config, text| {
                config.$($field).+ = $form.read(text)?;
                Ok(())
            },
            write: |config| $form.write(&config.$($field).+),
        }
    };
}

const ON_OFF: &str = "on or off";
const BYTES: &str = "1B to 1GiB, such as 64KiB";
const TIME: &str = "a time up to 24h, such as 200ms";
const LASTING: &str = "a time above 0s and up to 24h, such as 200ms";
const NUMBER: &str = "a whole number, up to 4294967295";

/// Every parameter.
pub const KEYS: &[Key] = &[
    key!(
        "mss",
        "64 to 65495",
        mss,
        Between(64, 65_495),
        "the MSS in bytes that is announced, and the most that is sent in a segment, options included",
        "RFC 9293, 3.7.1"
    ),
    key!(
        "send-buffer",
        BYTES,
        send_buffer,
        Room,
        "what the sender keeps until it is acknowledged",
        "RFC 1323, 1.1"
    ),
    key!(
        "receive-buffer",
        BYTES,
        receive_buffer,
        Room,
        "the largest window that is offered; at first, if it is tuned",
        "RFC 7323, 2.3"
    ),
    key!(
        "receive-buffer-max",
        "1B to 1GiB, such as 6MiB, or off",
        receive_buffer_max,
        Optional(Room),
        "the receive buffer grows up to this with what is read in a round trip (`off`: it keeps its size)",
        "Linux, `tcp_rcvbuf_grow`"
    ),
    key!(
        "window-scale",
        "0 to 14, or off",
        window_scale,
        Optional(Between(0, 14)),
        "the shift of the windows that is offered; `off`: the option is not",
        "RFC 7323, 2"
    ),
    key!("sack", ON_OFF, sack, Switch, "offers selective acknowledgments", "RFC 2018"),
    key!(
        "timestamps",
        ON_OFF,
        timestamps,
        Switch,
        "offers timestamps, 12 bytes of each segment",
        "RFC 7323, 3"
    ),
    key!("ecn", ON_OFF, ecn, Switch, "offers explicit congestion notification", "RFC 3168"),
    key!(
        "opening",
        "handshake or prearranged",
        opening,
        Named,
        "how the connection comes into being: by SYNs, or both ends are connected from the beginning, as in ns",
        "RFC 9293, 3.5"
    ),
    key!(
        "transactions",
        ON_OFF,
        transactions,
        Switch,
        "T/TCP: data in the SYN where the peer's connection count is known",
        "RFC 1644"
    ),
    key!(
        "ack",
        "per-segment, delayed:TIME, heartbeat:TIME, thinned:SEGMENTS:TIME or division:PARTS",
        ack_policy,
        Acks,
        "when the receiver acknowledges: each segment; every second one, or after a time; so, but at the ticks of a clock (BSD); only so many segments, or after a time; each segment in parts (an attack)",
        "RFC 5681, 4.2; RFC 3449; Savage et al. 1999"
    ),
    key!(
        "recovery",
        "the name of a loss recovery, such as sack",
        sender.recovery,
        Plain,
        "how losses are found and repaired; without SACK agreed on `sack`, `fack`, `rack` are NewReno, and `sack-ns` is `newreno-ns`",
        "RFC 6582, 6675, 8985 and others"
    ),
    key!(
        "congestion",
        "a congestion control such as cubic or increase-by-k:k=4",
        sender.congestion,
        InList,
        "how the congestion window grows and shrinks",
        "RFC 5681, 9438 and others"
    ),
    key!(
        "reduction",
        "plain, of-window, prr or prr-as-linux",
        sender.reduction,
        Named,
        "how the window comes down in fast recovery: at once, to half of what is outstanding or of itself, or in proportion to what is delivered; without SACK `prr` counts no more as delivered than was outstanding when recovery began, `prr-as-linux` does",
        "RFC 5681, 3.2; RFC 2001; RFC 9937"
    ),
    key!(
        "limited-transmit",
        ON_OFF,
        sender.limited_transmit,
        Switch,
        "a new segment for each of the first two duplicate acknowledgments",
        "RFC 3042"
    ),
    key!(
        "undo",
        ON_OFF,
        sender.undo,
        Switch,
        "takes a reduction back where timestamps or DSACKs show that nothing was lost",
        "RFC 3522, 3708, 4015"
    ),
    key!(
        "slow-start",
        "standard, hystart, search or limited:max-ssthresh=SEGMENTS",
        sender.slow_start,
        Plain,
        "how the window grows in slow start: doubled in a round trip; until round-trip times rise (HyStart++); until what was sent no longer arrives (SEARCH); more slowly above so many segments",
        "RFC 5681, 3.1; RFC 9406; draft-chung-ccwg-search; RFC 3742"
    ),
    key!(
        "probing",
        "twice-ack-rate or ack-rate",
        sender.probing,
        Named,
        "how fast a paced slow start sends, by the rate at which acknowledgments return",
        "Shepard 1997"
    ),
    key!(
        "iw",
        "1 to 1000000 segments, bytes with their unit such as 4380B, or rfc3390 (\"4K slow start\")",
        sender.initial_window,
        FirstWindow,
        "the initial congestion window",
        "RFC 6928; RFC 3390"
    ),
    key!(
        "iw-use",
        "beginning, beginning-and-idle or every-slow-start",
        sender.initial_window_use,
        Named,
        "which slow starts begin with it; the others begin with one segment",
        "RFC 5681, 4.1; RFC 2416"
    ),
    key!(
        "ssthresh",
        "bytes such as 64KiB, or off",
        sender.initial_ssthresh,
        Optional(Size),
        "the initial slow start threshold; `off`: slow start ends with the first loss",
        "RFC 5681, 3.1"
    ),
    key!(
        "ssthresh-estimate",
        "off, packet-pair or ack-rate",
        sender.ssthresh_estimate,
        Named,
        "the first threshold is the path's rate, estimated from the first acknowledgments, times its round-trip time",
        "Hoe, SIGCOMM 1996, 3.1; Keshav, SIGCOMM 1991"
    ),
    key!(
        "byte-limit",
        "1 to 4294967295 segments, or off",
        sender.byte_limit,
        Optional(Between(1, u32::MAX)),
        "the most that one acknowledgment adds in slow start (L); `off`: all that it acknowledges",
        "RFC 3465, 2.2"
    ),
    Key {
        name: "burst",
        takes: "1 to 1000 segments",
        about: "the most that leaves at once: the largest super-segment, or the burst of a paced sender",
        source: "Linux, TSO",
        // In segments: the handshake decides how long these are.
        set: |config, text| {
            let segments: u64 = Between(1, 1000).read(text)?;
            config.sender.max_burst = segments * config.sender.smss;
            Ok(())
        },
        write: |config| (config.sender.max_burst / config.sender.smss).max(1).to_string(),
    },
    key!(
        "overhead",
        "bytes such as 40B",
        sender.overhead,
        Size,
        "headers of each segment that pacing counts along",
        "RFC 9293, 3.1"
    ),
    key!(
        "pacing",
        "on, off or a rate such as 8Mbit/s",
        sender.pacing,
        Paced,
        "segments leave evenly, at a rate that the window (or the congestion control) gives, and at no more than one that is named",
        "RFC 9002, 7.7; Linux, `sk_pacing_rate`"
    ),
    key!(
        "spare-copies",
        ON_OFF,
        sender.spare_copies,
        Switch,
        "each retransmission leaves once more where nothing else is to be sent, or if one was lost before, lest its loss cost another round trip",
        "this project"
    ),
    key!(
        "nagle",
        ON_OFF,
        sender.nagle,
        Switch,
        "no small segment while data is unacknowledged",
        "RFC 9293, 3.7.4"
    ),
    key!(
        "restart-after-idle",
        ON_OFF,
        sender.restart_after_idle,
        Switch,
        "slow start begins anew after an idle time of an RTO",
        "RFC 5681, 4.1"
    ),
    key!(
        "max-retries",
        NUMBER,
        sender.max_retries,
        Plain,
        "timer expiries without any answer after which the connection is given up",
        "RFC 9293, 3.8.3; Linux, `tcp_retries2`"
    ),
    key!(
        "rto.initial",
        LASTING,
        sender.rto.initial,
        Lasting,
        "the RTO before a round trip has been measured",
        "RFC 6298, 2.1"
    ),
    key!("rto.min", TIME, sender.rto.min, Time, "the minimum RTO", "RFC 6298, 2.4"),
    key!(
        "rto.max",
        LASTING,
        sender.rto.max,
        Lasting,
        "the maximum RTO, backed off or not",
        "RFC 6298, 2.5"
    ),
    key!(
        "rto.granularity",
        TIME,
        sender.rto.granularity,
        Time,
        "G: what the RTO adds to SRTT at least",
        "RFC 6298, 2.3"
    ),
    key!(
        "rto.tick",
        "a time up to 24h such as 500ms, 0s for an exact clock",
        sender.rto.tick,
        Time,
        "the period of the clock that measures round trips and lets timeouts expire",
        "4.4BSD, `PR_SLOWHZ`"
    ),
    key!(
        "rto.clock",
        "bsd or ns",
        sender.rto.clock,
        Named,
        "how rto.tick's ticks are used: counted, with timeouts that expire on one, or to round by only",
        "4.4BSD; ns-1, tcp.cc"
    ),
    key!(
        "rtt-tick",
        "a time such as 10ms, 0s for an exact clock, or off: congestion control goes by rto.tick's",
        sender.rto.rtt_tick,
        Optional(Time),
        "the period of the clock by which congestion control and pacing measure round trips",
        "Henderson's thesis, 4.1.6"
    ),
    key!(
        "rto.samples",
        "each-segment or round-trip",
        sender.rto.samples,
        Named,
        "which segments are timed: every one that was sent once, or one in a round trip, as BSD and ns without timestamps",
        "RFC 6298, 3; RFC 7323, G"
    ),
    key!(
        "syn-retries",
        NUMBER,
        syn_retries,
        Plain,
        "how often a SYN is retransmitted before giving up",
        "RFC 9293, 3.8.3; Linux, `tcp_syn_retries`"
    ),
    key!(
        "min-mtu",
        "68 to 65535",
        min_mtu,
        Between(68, 65_535),
        "the least path MTU in bytes that ICMP can bring an IPv4 connection down to",
        "RFC 1191; RFC 791"
    ),
    key!("time-wait", TIME, time_wait, Time, "length of TIME-WAIT", "RFC 9293, 3.6.1"),
];
