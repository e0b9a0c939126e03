//! The gateway's configuration file.
//!
//! What cannot work is refused here, with the line of the key that is at fault: a gateway that is
//! ready and carries nothing would be worse than none.

mod bounds;
mod interfaces;
mod leg;
mod limits;
mod policy;
#[cfg(test)]
mod tests;

pub(crate) use interfaces::{Interfaces, Places};

use bentpipe_core::time::Duration;
use bentpipe_gateway::{Config, FinMode, Handshake};
use bentpipe_net::serve::ServeError;
use bounds::Span;
use serde::Deserialize;
use std::fmt::{self, Display};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Far more than anybody writes; what has no end, a device for instance, is not read to its end.
const LONGEST_FILE: u64 = 1 << 20;

/// Lines of totals that keep a log readable, and come at all.
const LOG_INTERVALS: RangeInclusive<Span> =
    Span(Duration::from_secs(1))..=Span(Duration::from_secs(24 * 3600));

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// It does not end.
    #[error("cannot read {}: more than 1MiB", path.display())]
    Long { path: PathBuf },
    /// The file says something that we do not understand, or that cannot work.
    #[error("{}:{line}: {message}", path.display())]
    Parse { path: PathBuf, line: usize, message: String },
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    interfaces: interfaces::Table,
    #[serde(default)]
    satellite: leg::Satellite,
    #[serde(default)]
    lan: leg::Lan,
    #[serde(default)]
    splitting: Splitting,
    #[serde(default)]
    limits: limits::Limits,
    #[serde(default)]
    policy: policy::Table,
    #[serde(default)]
    metrics: Metrics,
    #[serde(default)]
    log: Log,
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

/// The file as text, for saying where something stands in it.
struct Place<'a> {
    path: &'a Path,
    source: &'a str,
}

impl Place<'_> {
    /// The line of a byte.
    fn line(&self, at: usize) -> usize {
        self.source[..at].matches('\n').count() + 1
    }

    fn error(&self, at: usize, message: &str) -> ConfigError {
        let message = message.replace('\n', ", ");
        ConfigError::Parse { path: self.path.to_owned(), line: self.line(at), message }
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

/// Where metrics are to be had.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Metrics {
    listen: Option<Spanned<String>>,
}

impl Metrics {
    /// An address that only this host reaches, with a port that can be known.
    fn listen(&self) -> Result<Option<SocketAddr>, Wrong> {
        let Some(text) = &self.listen else { return Ok(None) };
        let address: SocketAddr = text.get_ref().parse().map_err(|_| {
            let text_is = format!("listen: `{}` is no address with a port", text.get_ref());
            Wrong::at(text, &format!("{text_is} (expected something like `127.0.0.1:9464`)"))
        })?;
        if !address.ip().is_loopback() {
            let error = ServeError::NotLoopback(address);
            return Err(Wrong::at(text, &format!("{error} (take 127.0.0.1 or [::1])")));
        }
        if address.port() == 0 {
            return Err(Wrong::at(text, &"listen: port 0 would be another one each time"));
        }
        Ok(Some(address))
    }
}

/// What is told while it runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Log {
    every: Option<Spanned<String>>,
}

/// What the file says, with the defaults for what it does not.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) interfaces: Interfaces,
    /// Where the interfaces are named.
    pub(crate) places: Places,
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

impl File {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Setup, ConfigError> {
        let failed = |source| ConfigError::Read { path: path.to_owned(), source };
        let mut source = String::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        // What was cut is longer than it may be, whether the cut hit a character or not.
        let read = file.take(LONGEST_FILE + 1).read_to_string(&mut source);
        if source.len() as u64 > LONGEST_FILE {
            return Err(ConfigError::Long { path: path.to_owned() });
        }
        read.map_err(failed)?;
        let place = Place { path, source: &source };
        let file: File = toml::from_str(&source).map_err(|error| {
            place.error(error.span().map_or(0, |span| span.start), error.message())
        })?;
        let host = nix::sys::sysinfo::sysinfo().map_or(u64::MAX, |info| info.ram_total());
        file.setup(&place, host).map_err(|Wrong { at, message }| place.error(at, &message))
    }

    /// What it says. `host` is the memory of this machine, in bytes.
    fn setup(self, place: &Place<'_>, host: u64) -> Result<Setup, Wrong> {
        let (interfaces, places) = self.interfaces.read(place)?;
        let config = self.gateway(place, host)?;
        let log_every = bounds::read("every", self.log.every.as_ref(), &LOG_INTERVALS)?;
        Ok(Setup {
            interfaces,
            places,
            config,
            drain: self.limits.drain()?,
            reject_quic: self.policy.reject_quic,
            metrics: self.metrics.listen()?,
            log_every: log_every.map(|Span(time)| time),
        })
    }

    /// The gateway's parameters: the defaults, and what the file says.
    fn gateway(&self, place: &Place<'_>, host: u64) -> Result<Config, Wrong> {
        let mut config = Config::default();
        config.add_options = self.satellite.add_options().unwrap_or(config.add_options);
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
        self.satellite.set(&mut config.satellite)?;
        self.lan.set(&mut config.lan)?;
        self.limits.set(&mut config, host)?;
        config.policy = self.policy.policy(place)?;
        Ok(config)
    }
}
