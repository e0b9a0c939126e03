//! The gateway's configuration file.

mod policy;
#[cfg(test)]
mod tests;

use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate, parse_duration};
use bentpipe_gateway::{AddOptions, Config, Discard, FinMode, Handshake, LegConfig, MssLimit};
use bentpipe_net::serve::ServeError;
use serde::{Deserialize, Deserializer, de};
use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::Spanned;

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The file says something that we do not understand.
    #[error("{}:{line}: {message}", path.display())]
    Parse { path: PathBuf, line: usize, message: String },
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) interfaces: Interfaces,
    #[serde(default)]
    satellite: Satellite,
    #[serde(default)]
    lan: Lan,
    #[serde(default)]
    splitting: Splitting,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    policy: policy::Table,
    #[serde(default)]
    metrics: Metrics,
    #[serde(default)]
    log: Log,
}

/// The two sides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interfaces {
    pub(crate) lan: Vec<String>,
    pub(crate) satellite: Vec<String>,
}

/// What is known of the satellite link, and how to use it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Satellite {
    #[serde(deserialize_with = "text")]
    rate: Option<Rate>,
    #[serde(deserialize_with = "duration")]
    round_trip: Option<Duration>,
    add_options: Option<Adding>,
    recovery: Option<Spanned<Scalar>>,
    congestion: Option<Spanned<Scalar>>,
    initial_window: Option<Spanned<Scalar>>,
    pacing: Option<Spanned<Scalar>>,
    min_rto: Option<Spanned<Scalar>>,
    ack: Option<Spanned<Scalar>>,
    mss: Option<Spanned<Scalar>>,
    discard: Option<Spanned<Scalar>>,
    tcp: Option<Spanned<Scalar>>,
}

/// How to use the near network.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Lan {
    recovery: Option<Spanned<Scalar>>,
    congestion: Option<Spanned<Scalar>>,
    initial_window: Option<Spanned<Scalar>>,
    pacing: Option<Spanned<Scalar>>,
    min_rto: Option<Spanned<Scalar>>,
    ack: Option<Spanned<Scalar>>,
    mss: Option<Spanned<Scalar>>,
    discard: Option<Spanned<Scalar>>,
    tcp: Option<Spanned<Scalar>>,
}

/// A value that may be written as a number or as text.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number or a text in quotes")]
enum Scalar {
    Number(u64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Number(number) => number.fmt(f),
            Scalar::Text(text) => text.fmt(f),
        }
    }
}

/// Sets what a side's table says of its TCP: `tcp` first, then what has a name of its own.
macro_rules! set_leg {
    ($leg:expr, $table:expr) => {{
        let leg: &mut LegConfig = $leg;
        if let Some(text) = &$table.tcp {
            leg.set_all(&text.get_ref().to_string()).map_err(|error| Wrong::at(text, &error))?;
        }
        for (key, value) in [
            ("recovery", &$table.recovery),
            ("control", &$table.congestion),
            ("iw", &$table.initial_window),
            ("pacing", &$table.pacing),
            ("rto.min", &$table.min_rto),
            ("ack", &$table.ack),
        ] {
            if let Some(text) = value {
                leg.set(key, &text.get_ref().to_string())
                    .map_err(|error| Wrong::at(text, &error))?;
            }
        }
        if let Some(text) = &$table.mss {
            leg.mss = mss_limit(text.get_ref()).map_err(|error| Wrong::at(text, &error))?;
        }
        if let Some(text) = &$table.discard {
            let name = text.get_ref().to_string();
            leg.discard = name.parse::<Discard>().map_err(|error| Wrong::at(text, &error))?;
        }
    }};
}

/// The MSS of hosts, or a number or a rule that limits it.
fn mss_limit(text: &Scalar) -> Result<MssLimit, String> {
    match text {
        Scalar::Text(text) if text == "hosts" => Ok(MssLimit::Hosts),
        Scalar::Text(text) if text == "clamp" => Ok(MssLimit::Clamp),
        // RFC 9293, 3.7.1: what every host takes; and what fits into an IPv4 packet.
        Scalar::Number(mss @ 536..=65_495) => Ok(MssLimit::At(*mss as u16)),
        other => Err(format!("mss: `{other}` is none of \"hosts\", \"clamp\", 536 to 65495")),
    }
}

/// What is wrong, and at which byte of the file.
struct Wrong {
    at: usize,
    message: String,
}

impl Wrong {
    fn at<T>(text: &Spanned<T>, error: &impl Display) -> Wrong {
        Wrong { at: text.span().start, message: error.to_string() }
    }
}

/// What of the hosts' connections is end to end.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Splitting {
    handshake: Option<Shaking>,
    fin: Option<Ending>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Shaking {
    EndToEnd,
    DownstreamFirst,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ending {
    EndToEnd,
    Immediate,
}

/// How much the gateway may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Limits {
    #[serde(deserialize_with = "text")]
    memory: Option<Bytes>,
    #[serde(deserialize_with = "text")]
    stream: Option<Bytes>,
    flows: Option<usize>,
    half_open: Option<usize>,
    flows_per_client: Option<usize>,
    #[serde(deserialize_with = "duration")]
    drain: Option<Duration>,
}

/// Where metrics are to be had.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Metrics {
    #[serde(deserialize_with = "loopback")]
    listen: Option<SocketAddr>,
}

/// What is told while it runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Log {
    #[serde(deserialize_with = "interval")]
    every: Option<Duration>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Adding {
    KnownPeer,
    Always,
    Never,
}

/// What the file says, with the defaults for what it does not.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) interfaces: Interfaces,
    pub(crate) config: Config,
    /// How long a gateway that is stopped goes on delivering what it holds.
    pub(crate) drain: Duration,
    /// Whether UDP to port 443 is rejected.
    pub(crate) reject_quic: bool,
    /// Where Prometheus may ask for metrics.
    pub(crate) metrics: Option<SocketAddr>,
    /// How often the log gets a line of totals.
    pub(crate) log_every: Option<Duration>,
}

/// A GEO link delivers a full stream of 4 MiB at 8 Mbit/s six times over in this time, and
/// systemd waits three times as long.
const DRAIN: Duration = Duration::from_secs(30);

impl File {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Setup, ConfigError> {
        let source = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let wrong = |at: usize, message: &str| ConfigError::Parse {
            path: path.to_owned(),
            line: source[..at].matches('\n').count() + 1,
            message: message.replace('\n', ", "),
        };
        let file: File = toml::from_str(&source)
            .map_err(|error| wrong(error.span().map_or(0, |span| span.start), error.message()))?;
        let config = file.gateway().map_err(|error| wrong(error.at, &error.message))?;
        let drain = file.limits.drain.unwrap_or(DRAIN);
        let reject_quic = file.policy.reject_quic;
        let (metrics, log_every) = (file.metrics.listen, file.log.every);
        let interfaces = file.interfaces;
        Ok(Setup { interfaces, config, drain, reject_quic, metrics, log_every })
    }

    /// The gateway's parameters: the defaults, and what the file says.
    fn gateway(&self) -> Result<Config, Wrong> {
        let mut config = Config::default();
        config.satellite.rate = self.satellite.rate;
        config.satellite.round_trip = self.satellite.round_trip;
        if let Some(adding) = self.satellite.add_options {
            config.add_options = match adding {
                Adding::KnownPeer => AddOptions::KnownPeer,
                Adding::Always => AddOptions::Always,
                Adding::Never => AddOptions::Never,
            };
        }
        if let Some(handshake) = self.splitting.handshake {
            config.handshake = match handshake {
                Shaking::EndToEnd => Handshake::EndToEnd,
                Shaking::DownstreamFirst => Handshake::DownstreamFirst,
            };
        }
        if let Some(fin) = self.splitting.fin {
            config.fin = match fin {
                Ending::EndToEnd => FinMode::EndToEnd,
                Ending::Immediate => FinMode::Immediate,
            };
        }
        set_leg!(&mut config.satellite, self.satellite);
        set_leg!(&mut config.lan, self.lan);
        let Limits { memory, stream, flows, half_open, flows_per_client, drain: _ } = self.limits;
        config.memory = memory.unwrap_or(config.memory);
        config.stream_capacity = stream.unwrap_or(config.stream_capacity);
        config.max_flows = flows.unwrap_or(config.max_flows);
        config.max_half_open = half_open.unwrap_or(config.max_half_open);
        config.max_flows_per_client = flows_per_client.unwrap_or(config.max_flows_per_client);
        config.policy = self.policy.policy()?;
        Ok(config)
    }
}

fn text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(de::Error::custom)
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    parse_duration(&text).map(Some).map_err(de::Error::custom)
}

/// An interval that keeps a log readable.
fn interval<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let interval = duration(from)?;
    if interval.is_some_and(|interval| interval < Duration::from_secs(1)) {
        return Err(de::Error::custom("less than a second apart"));
    }
    Ok(interval)
}

/// An address that only this host reaches.
fn loopback<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    let address: Option<SocketAddr> = text(from)?;
    match address {
        Some(address) if !address.ip().is_loopback() => {
            let error = ServeError::NotLoopback(address);
            Err(de::Error::custom(format!("{error} (take 127.0.0.1 or [::1])")))
        }
        address => Ok(address),
    }
}
