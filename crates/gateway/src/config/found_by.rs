//! By whom the rate of a link is found of which nothing is known.

/// By whom the rate of a link is found of which nothing is known.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum FoundBy {
    /// Each flow finds a window of its own.
    EachFlow,
    /// All flows to a remote gateway find one window together, and take turns to fill it: the
    /// link's queue stays at some milliseconds, unless others fill it.
    #[default]
    AllFlows,
    /// The same, and all remotes lie behind one carrier: the flows to all of them do it together.
    AllRemotes,
}

impl FoundBy {
    /// Whether flows find a window together.
    pub(crate) fn is_together(self) -> bool {
        self != FoundBy::EachFlow
    }
}
