//! A link as TOML, as text, and as it runs: rates, delays, queues, losses, impairments, traces and
//! profiles.
//!
//! A [`DirectionSpec`] is read from a table of a scenario ([`read_directions`]) or from settings as
//! on a command line ([`LinkSettings`]), by the same code. [`DirectionSpec::config`] draws what is
//! random by its name ([`Seeds`]). A [`Direction`] runs that, in a simulation and, as a
//! [`LiveLink`], on real packets.
#![forbid(unsafe_code)]

mod direction;
mod directions;
mod distribution;
pub mod foreign;
mod impaired;
mod impairment;
mod live_link;
mod loss;
pub mod measured;
mod medium;
mod profile;
mod queue;
mod random;
mod settings;
mod spec;
mod timeline;
mod trace;

pub use direction::{Direction, DirectionChange, DirectionConfig, DirectionPacket};
pub use directions::Directions;
pub use distribution::{Distribution, RANDOM_SECTIONS, RandomSize, RandomTime};
pub use foreign::text as file_text;
pub use impaired::Impaired;
pub use impairment::{IMPAIRMENTS, Impairments};
pub use live_link::LiveLink;
pub use loss::{Outages, merge_spans};
pub use medium::media;
pub use profile::{Ground, PROFILES, Profile};
pub use random::Seeds;
pub use settings::{LinkSettings, SettingsError};
pub use spec::{DIRECTION, DirectionSpec, read_directions, read_mtu, sections};
pub use timeline::{Timeline, timelines};
