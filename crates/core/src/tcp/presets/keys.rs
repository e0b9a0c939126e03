//! The parameters of a connection by name. A new one is one entry of [`KEYS`].

use crate::tcp::connection::ConnectionConfig;
use crate::tcp::pacing::Pacing;
use crate::tcp::receiver::AckPolicy;
use crate::tcp::sender::{InitialWindow, Reduction, SenderConfig};
use crate::time::Duration;
use crate::units::{Bytes, parse_duration};
use std::fmt;
use std::str::FromStr;

type Set = fn(&mut ConnectionConfig, &str) -> Result<(), String>;

/// A parameter that can be set from text.
#[derive(Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Which values it takes.
    pub takes: &'static str,
    pub(super) set: Set,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.takes)
    }
}

const fn key(name: &'static str, takes: &'static str, set: Set) -> Key {
    Key { name, takes, set }
}

const SWITCH: &str = "on or off";
const TIME: &str = "a time such as 200ms";

/// Every parameter.
pub const KEYS: &[Key] = &[
    key("mss", "64 to 65495", |c, v| put(&mut c.mss, between(v, 64, 65_495))),
    key("send-buffer", "bytes such as 64KiB", |c, v| put(&mut c.send_buffer, buffer(v))),
    key("receive-buffer", "bytes such as 64KiB", |c, v| put(&mut c.receive_buffer, buffer(v))),
    key("receive-buffer-max", "bytes such as 6MiB, or off", |c, v| {
        put(&mut c.receive_buffer_max, optional(v, buffer))
    }),
    key("window-scale", "0 to 14, or off", |c, v| {
        put(&mut c.window_scale, optional(v, |v| between(v, 0, 14)))
    }),
    key("sack", SWITCH, |c, v| put(&mut c.sack, switch(v))),
    key("timestamps", SWITCH, |c, v| put(&mut c.timestamps, switch(v))),
    key("ecn", SWITCH, |c, v| put(&mut c.ecn, switch(v))),
    key("transactions", SWITCH, |c, v| put(&mut c.transactions, switch(v))),
    key(
        "ack",
        "per-segment, delayed:TIME, heartbeat:TIME, thinned:SEGMENTS:TIME or division:PARTS",
        |c, v| put(&mut c.ack_policy, ack_policy(v)),
    ),
    key("recovery", "the name of a loss recovery", |c, v| put(&mut c.sender.algorithm, parse(v))),
    key("control", "a congestion control such as cubic or increase-by-k:k=4", |c, v| {
        // A comma parts keys, so that parameters are parted by semicolons here.
        put(&mut c.sender.control, parse(&v.replace(';', ",")))
    }),
    key("reduction", "plain or prr", |c, v| {
        put(
            &mut c.sender.reduction,
            match v {
                "plain" => Ok(Reduction::Plain),
                "prr" => Ok(Reduction::Prr),
                _ => Err(format!("`{v}`")),
            },
        )
    }),
    key("undo", SWITCH, |c, v| put(&mut c.sender.undo, switch(v))),
    key("slow-start", "standard, hystart or limited:max-ssthresh=100", |c, v| {
        put(&mut c.sender.slow_start, parse(v))
    }),
    key("iw", "segments, or bytes with their unit", |c, v| {
        put(&mut c.sender.initial_window, initial_window(v))
    }),
    key("ssthresh", "bytes such as 64KiB, or off", |c, v| {
        put(&mut c.sender.initial_ssthresh, optional(v, bytes))
    }),
    key("byte-limit", "segments, or off", |c, v| {
        put(&mut c.sender.byte_limit, optional(v, |v| between(v, 1, u32::MAX)))
    }),
    key("burst", "segments", |c, v| burst(&mut c.sender, v)),
    key("overhead", "bytes such as 40B", |c, v| put(&mut c.sender.overhead, bytes(v))),
    key("pacing", "on, off or a rate such as 8Mbit/s", |c, v| put(&mut c.sender.pacing, pacing(v))),
    key("nagle", SWITCH, |c, v| put(&mut c.sender.nagle, switch(v))),
    key("restart-after-idle", SWITCH, |c, v| put(&mut c.sender.restart_after_idle, switch(v))),
    key("max-unanswered", "a number", |c, v| put(&mut c.sender.max_unanswered, parse(v))),
    key("rto.initial", TIME, |c, v| put(&mut c.sender.rto.initial, lasting(v))),
    key("rto.min", TIME, |c, v| put(&mut c.sender.rto.min, time(v))),
    key("rto.max", TIME, |c, v| put(&mut c.sender.rto.max, lasting(v))),
    key("rto.granularity", TIME, |c, v| put(&mut c.sender.rto.granularity, time(v))),
    key("rto.tick", "a time such as 500ms, 0s for an exact clock", |c, v| {
        put(&mut c.sender.rto.tick, time(v))
    }),
    key("syn-retries", "a number", |c, v| put(&mut c.syn_retries, parse(v))),
    key("least-mtu", "68 to 65535", |c, v| put(&mut c.least_mtu, between(v, 68, 65_535))),
    key("time-wait", TIME, |c, v| put(&mut c.time_wait, time(v))),
];

fn put<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

fn parse<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| match error.to_string() {
        // The standard library's messages do not say what they are about.
        message if message.contains('`') => message,
        message => format!("`{text}`: {message}"),
    })
}

fn between<T>(text: &str, least: T, most: T) -> Result<T, String>
where
    T: FromStr<Err: fmt::Display> + PartialOrd + Copy,
{
    let value = parse(text)?;
    if value < least || value > most {
        return Err(format!("`{text}` is out of range"));
    }
    Ok(value)
}

fn optional<T>(text: &str, some: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if text == "off" { Ok(None) } else { some(text).map(Some) }
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{text}` is neither")),
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    parse::<Bytes>(text).map(Bytes::count)
}

/// A window can be 1 GiB at most (RFC 7323, 2.3).
fn buffer(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        0 => Err(format!("`{text}` holds nothing")),
        count if count > 1 << 30 => Err(format!("`{text}` is more than 1GiB")),
        count => Ok(count),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time > Duration::from_secs(24 * 3600) {
        return Err(format!("`{text}` is longer than a day"));
    }
    Ok(time)
}

/// A time that is not zero: a timer set to it would never let the clock go on.
fn lasting(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err(format!("`{text}` is no time at all")),
        time => Ok(time),
    }
}

fn ack_policy(text: &str) -> Result<AckPolicy, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let parts: Vec<&str> = parts.collect();
    match (name, parts.as_slice()) {
        ("per-segment", []) => Ok(AckPolicy::PerSegment),
        ("delayed", [delay]) => lasting(delay).map(AckPolicy::Delayed),
        ("heartbeat", [period]) => lasting(period).map(AckPolicy::Heartbeat),
        ("thinned", [segments, delay]) => {
            Ok(AckPolicy::Thinned { segments: between(segments, 1, 1000)?, delay: lasting(delay)? })
        }
        ("division", [parts]) => between(parts, 1, 1000).map(AckPolicy::Division),
        _ => Err(format!("`{text}` is no policy")),
    }
}

fn initial_window(text: &str) -> Result<InitialWindow, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return between(text, 1, 1_000_000).map(InitialWindow::Segments);
    }
    bytes(text).map(InitialWindow::Bytes)
}

/// Super-segments, in segments: the handshake decides how long these are.
fn burst(sender: &mut SenderConfig, text: &str) -> Result<(), String> {
    let segments: u64 = between(text, 1, 1000)?;
    sender.max_burst = segments * sender.smss;
    Ok(())
}

fn pacing(text: &str) -> Result<Pacing, String> {
    match text {
        "off" => Ok(Pacing::Off),
        "on" => Ok(Pacing::Window { cap: None }),
        rate => Ok(Pacing::Window { cap: Some(parse(rate)?) }),
    }
}
