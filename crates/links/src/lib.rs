//! A link as TOML and as text: its two directions with rates, delays, queues, losses, impairments, traces and profiles.
//!
//! A [`Direction`] is read from a table of a scenario ([`read_directions`]) or from settings as on a command line
//! ([`LinkSettings`]), by the same code. [`Direction::config`] makes of it what the core runs, with the random numbers
//! of its name ([`Seeds`]): in a simulation and, as a [`LiveLink`], on real packets.
#![forbid(unsafe_code)]

mod direction;
mod distribution;
pub mod foreign;
mod impaired;
mod impairment;
mod line;
mod live_link;
mod loss;
pub mod measured;
mod medium;
mod profile;
mod queue;
mod random;
mod settings;
mod timeline;
mod trace;

pub use direction::{DIRECTION, Direction, SECTIONS, read_directions, read_mtu};
pub use distribution::{Distribution, RANDOM_SECTIONS, RandomSize, RandomTime};
pub use impaired::{Fate, Impaired};
pub use impairment::{IMPAIRMENTS, Impairments};
pub use live_link::LiveLink;
pub use loss::{Outages, merge_spans};
pub use medium::media;
pub use profile::{Ground, PROFILES, Profile};
pub use random::Seeds;
pub use settings::{LinkSettings, SettingsError, Way};
pub use timeline::{Timeline, timelines};
pub use trace::{TraceError, mahimahi_rate};
