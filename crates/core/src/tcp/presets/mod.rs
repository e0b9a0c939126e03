//! Configurations of well-known TCPs by name, and from text.
//!
//! A text is a preset's name and what is to be different from it, parted by commas:
//! `linux,iw=4,recovery=newreno,rto.min=1s`. Without a name it begins with the default.
//!
//! A preset is such a text itself, so that it says no more than what sets that TCP apart.

mod keys;
#[cfg(test)]
mod tests;

pub use keys::KEYS;

use super::connection::ConnectionConfig;
use std::str::FromStr;

/// A named configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Which TCP it stands for, in one line.
    pub about: &'static str,
    /// What sets it apart from the default.
    pub text: &'static str,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "linux",
        about: "today's Linux: RACK-TLP, PRR, CUBIC, timestamps, ten segments at first, a window tuned up to 6 MiB",
        text: "receive-buffer=64KiB,receive-buffer-max=6MiB,window-scale=7,ack=delayed:40ms,\
               recovery=rack,reduction=prr,undo=on,control=cubic,slow-start=hystart,iw=10,rto.min=200ms,syn-retries=6,time-wait=60s",
    },
    Preset {
        name: "bsd-reno-1997",
        about: "4.4BSD-Lite: Reno, 16 KB buffers, RFC 1323, one segment at first, 500 ms and 200 ms timers",
        text: "mss=1460,send-buffer=16KiB,receive-buffer=16KiB,window-scale=0,sack=off,\
               timestamps=on,ack=heartbeat:200ms,recovery=reno,iw=1,byte-limit=1,\
               rto.initial=6s,rto.min=1s,rto.max=64s,rto.granularity=500ms,rto.tick=500ms,\
               max-unanswered=12,syn-retries=3,time-wait=60s",
    },
    Preset {
        name: "netbsd-fack-1997",
        about: "NetBSD with the FACK patches: SACK, large windows, one segment at first, BSD's timers",
        text: "mss=1460,send-buffer=1MiB,receive-buffer=1MiB,window-scale=5,sack=on,\
               timestamps=on,ack=heartbeat:200ms,recovery=fack,iw=1,byte-limit=1,\
               rto.initial=6s,rto.min=1s,rto.max=64s,rto.granularity=500ms,rto.tick=500ms,\
               max-unanswered=12,syn-retries=3,time-wait=60s",
    },
    Preset {
        name: "windows-nt4",
        about: "Windows NT 4.0: windows of six segments (8760 bytes), no options but MSS",
        text: "mss=1460,send-buffer=8760B,receive-buffer=8760B,window-scale=off,sack=off,\
               timestamps=off,ack=delayed:200ms,recovery=reno,iw=1,byte-limit=1,\
               rto.initial=3s,rto.min=300ms,rto.granularity=100ms,rto.tick=100ms,\
               max-unanswered=5,syn-retries=3,time-wait=240s",
    },
    Preset {
        name: "windows-95",
        about: "Windows 95: windows of 8 KB, no options but MSS",
        text: "mss=1460,send-buffer=8KiB,receive-buffer=8KiB,window-scale=off,sack=off,\
               timestamps=off,ack=delayed:200ms,recovery=reno,iw=1,byte-limit=1,\
               rto.initial=3s,rto.min=300ms,rto.granularity=100ms,rto.tick=100ms,\
               max-unanswered=5,syn-retries=3,time-wait=240s",
    },
    Preset {
        name: "ns-1997",
        about: "ns before 1998: 1000-byte packets, every one acknowledged, one at first, 100 ms ticks",
        text: "mss=1000,send-buffer=64MiB,receive-buffer=16MiB,window-scale=9,sack=on,\
               timestamps=off,ack=per-segment,recovery=reno,iw=1,byte-limit=1,\
               rto.initial=6s,rto.min=0s,rto.max=64s,rto.granularity=100ms,rto.tick=100ms,\
               overhead=0B,nagle=off,restart-after-idle=off",
    },
    Preset {
        name: "gateway-satellite",
        about: "a gateway's leg on the satellite side: FACK, patient timer, all bytes counted",
        text: "ack=delayed:40ms,recovery=fack,undo=on,iw=10,byte-limit=off,rto.min=1s,\
               rto.granularity=200ms,nagle=off",
    },
    Preset {
        name: "gateway-terrestrial",
        about: "a gateway's leg on the LAN side: every segment acknowledged, all bytes counted",
        text: "ack=per-segment,recovery=sack,undo=on,iw=10,byte-limit=off,rto.granularity=200ms,nagle=off",
    },
];

/// Why a configuration's text was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text begins with a name that no preset has.
    #[error("no preset is called `{0}` (there are {names})", names = names(PRESETS.iter().map(|preset| preset.name)))]
    Preset(String),
    /// A name stands where `key=value` is expected.
    #[error("`{0}` is not of the form key=value (a preset's name comes first)")]
    Form(String),
    /// There is no such key.
    #[error("no parameter is called `{0}` (there are {names})", names = names(KEYS.iter().map(|key| key.name)))]
    Key(String),
    /// The value does not suit the key.
    #[error("{key}: {why}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong with the value.
        why: String,
    },
}

impl FromStr for ConnectionConfig {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<ConnectionConfig, ConfigError> {
        let mut config = ConnectionConfig::default();
        let mut parts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).peekable();
        if let Some(name) = parts.next_if(|part| !part.contains('=')) {
            config = ConnectionConfig::preset(name)?;
        }
        for part in parts {
            let form = || ConfigError::Form(part.to_owned());
            let (key, value) = part.split_once('=').ok_or_else(form)?;
            config.set(key.trim(), value.trim())?;
        }
        Ok(config)
    }
}

impl ConnectionConfig {
    /// The preset of this name.
    ///
    /// # Errors
    /// [`ConfigError::Preset`] if there is none.
    pub fn preset(name: &str) -> Result<ConnectionConfig, ConfigError> {
        let preset = PRESETS.iter().find(|preset| preset.name == name);
        preset.ok_or_else(|| ConfigError::Preset(name.to_owned()))?.text.parse()
    }

    /// Sets one parameter from text.
    ///
    /// # Errors
    /// [`ConfigError::Key`] or [`ConfigError::Value`]; then nothing has changed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let known = KEYS.iter().find(|known| known.name == key);
        let known = known.ok_or_else(|| ConfigError::Key(key.to_owned()))?;
        let mut changed = *self;
        (known.set)(&mut changed, value).map_err(|why| {
            let key = known.name;
            ConfigError::Value { key, why: format!("{why} (expected {})", known.takes) }
        })?;
        *self = changed;
        Ok(())
    }
}

fn names(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
