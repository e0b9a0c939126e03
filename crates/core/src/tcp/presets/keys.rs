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
    ($name:literal, $takes:expr, $($field:ident).+, $form:expr) => {
        Key {
            name: $name,
            takes: $takes,
            set: |config, text| {
                config.$($field).+ = $form.read(text)?;
                Ok(())
            },
            write: |config| $form.write(&config.$($field).+),
        }
    };
}

const ON_OFF: &str = "on or off";
const TIME: &str = "a time such as 200ms";
const BYTES: &str = "bytes such as 64KiB";
const NUMBER: &str = "a number";

/// Every parameter.
pub const KEYS: &[Key] = &[
    key!("mss", "64 to 65495", mss, Between(64, 65_495)),
    key!("send-buffer", BYTES, send_buffer, Room),
    key!("receive-buffer", BYTES, receive_buffer, Room),
    key!("receive-buffer-max", "bytes such as 6MiB, or off", receive_buffer_max, Optional(Room)),
    key!("window-scale", "0 to 14, or off", window_scale, Optional(Between(0, 14))),
    key!("sack", ON_OFF, sack, Switch),
    key!("timestamps", ON_OFF, timestamps, Switch),
    key!("ecn", ON_OFF, ecn, Switch),
    key!("opening", "handshake or prearranged", opening, Named),
    key!("transactions", ON_OFF, transactions, Switch),
    key!(
        "ack",
        "per-segment, delayed:TIME, heartbeat:TIME, thinned:SEGMENTS:TIME or division:PARTS",
        ack_policy,
        Acks
    ),
    key!("recovery", "the name of a loss recovery", sender.algorithm, Plain),
    key!(
        "congestion",
        "a congestion control such as cubic or increase-by-k:k=4",
        sender.control,
        InList
    ),
    key!("reduction", "plain or prr", sender.reduction, Named),
    key!("limited-transmit", ON_OFF, sender.limited_transmit, Switch),
    key!("undo", ON_OFF, sender.undo, Switch),
    key!("slow-start", "standard, hystart or limited:max-ssthresh=100", sender.slow_start, Plain),
    key!(
        "probing",
        "twice-ack-rate or ack-rate: how fast a paced slow start probes",
        sender.probing,
        Named
    ),
    key!(
        "iw",
        "segments, bytes with their unit, or rfc3390 (\"4K slow start\")",
        sender.initial_window,
        FirstWindow
    ),
    key!(
        "iw-use",
        "beginning, beginning-and-idle or every-slow-start",
        sender.initial_window_use,
        Named
    ),
    key!("ssthresh", "bytes such as 64KiB, or off", sender.initial_ssthresh, Optional(Size)),
    key!(
        "ssthresh-estimate",
        "off, packet-pair or ack-rate: the first threshold is the path's rate times its round-trip time",
        sender.ssthresh_estimate,
        Named
    ),
    key!("byte-limit", "segments, or off", sender.byte_limit, Optional(Between(1, u32::MAX))),
    Key {
        name: "burst",
        takes: "segments",
        // In segments: the handshake decides how long these are.
        set: |config, text| {
            let segments: u64 = Between(1, 1000).read(text)?;
            config.sender.max_burst = segments * config.sender.smss;
            Ok(())
        },
        write: |config| (config.sender.max_burst / config.sender.smss).max(1).to_string(),
    },
    key!("overhead", "bytes such as 40B", sender.overhead, Size),
    key!("pacing", "on, off or a rate such as 8Mbit/s", sender.pacing, Paced),
    key!("nagle", ON_OFF, sender.nagle, Switch),
    key!("restart-after-idle", ON_OFF, sender.restart_after_idle, Switch),
    key!("max-retries", NUMBER, sender.max_retries, Plain),
    key!("rto.initial", TIME, sender.rto.initial, Lasting),
    key!("rto.min", TIME, sender.rto.min, Time),
    key!("rto.max", TIME, sender.rto.max, Lasting),
    key!("rto.granularity", TIME, sender.rto.granularity, Time),
    key!("rto.tick", "a time such as 500ms, 0s for an exact clock", sender.rto.tick, Time),
    key!("syn-retries", NUMBER, syn_retries, Plain),
    key!("min-mtu", "68 to 65535", min_mtu, Between(68, 65_535)),
    key!("time-wait", TIME, time_wait, Time),
];
