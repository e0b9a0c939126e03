//! What keys and values were called before.

/// Keys and values of configuration files, scenarios and options that have another name now: the old name,
/// the new one. CHANGELOG.md lists them.
pub const RENAMED: &[(&str, &str)] = &[
    // TCP.
    ("control", "congestion"),
    ("max-unanswered", "max-retries"),
    ("least-mtu", "min-mtu"),
    ("initial-window", "iw"),
    ("min-rto", "rto.min"),
    // Gateways.
    ("satellite-leg", "satellite"),
    ("lan-leg", "lan"),
    // Middleboxes.
    ("helper", "middlebox"),
    ("least-timeout", "min-timeout"),
    // Queues.
    ("droptail", "drop-tail"),
    ("min", "min-threshold"),
    ("max", "max-threshold"),
    ("max-probability", "max-p"),
];

/// What `name` is called now, if that is one of the `known` names. Words were once parted by
/// underscores, too.
pub fn renamed<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let dashed = name.replace('_', "-");
    let is_now = |new: &&str| {
        let mut listed = RENAMED.iter();
        listed.any(|(old, now)| *old == dashed && now == new) || (dashed != name && dashed == *new)
    };
    known.into_iter().find(is_now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_has_a_new_one_where_that_is_known() {
        let known = ["congestion", "round-trip"];
        assert_eq!(renamed("control", known), Some("congestion"));
        assert_eq!(renamed("round_trip", known), Some("round-trip"));
        assert_eq!(renamed("droptail", known), None);
        assert_eq!(renamed("round-trip", known), None);
    }
}
