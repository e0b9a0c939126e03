//! Whether segments that are in order and have room are discarded to keep streams short.

use serde::{Deserialize, Serialize};
/// What becomes of segments that arrive in order while a stream has a backlog. A sender that loses
/// one sends it again and halves its window.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Discard {
    /// All are taken: the window alone holds the sender back.
    #[default]
    Off,
    /// One in a window is discarded once a quarter of the room is taken (bharadwaj-2001, 3.2).
    Single,
    /// One is discarded with a probability that grows with the mean backlog, as in RED
    /// (bharadwaj-1999, 3.1).
    RandomEarly,
}
