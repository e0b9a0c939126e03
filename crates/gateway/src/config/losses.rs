//! What a loss on a leg is taken for.

/// What a loss is taken for.
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
pub enum Losses {
    /// The link's own, where its rate is known and a gateway at its other end has announced itself
    /// in the connection's handshake: nobody else is known to be on the way. All flows together are
    /// watched instead, and believe their losses again if the link does not carry what it should.
    /// Elsewhere each flow of the satellite side tells by itself: a loss is congestion where a
    /// queue stands, or where more is lost than links lose
    /// ([`CongestionAlgorithm::TolerantCubic`]).
    ///
    /// [`CongestionAlgorithm::TolerantCubic`]: bentpipe_core::tcp::congestion::CongestionAlgorithm::TolerantCubic
    #[default]
    Link,
    /// Congestion, as everywhere else: the leg's congestion control answers it.
    Believed,
}
