//! Measured distributions of Web and Telnet traffic.
//!
//! The Web's are those of Mah, "An Empirical Model of HTTP Network Traffic", INFOCOM 1997 (traces
//! of 1995 at Berkeley). They are quantiles of the data files that ns distributes in
//! `tcl/http/data` (4100 requests and replies, 1314 think times), with straight lines between.

/// Points (value, cumulative probability) of a measured distribution.
pub type Points = &'static [(f64, f64)];

/// Measured distributions by name; bytes or seconds.
pub const MEASURED: [(&str, Points); 4] = [
    ("mah-reply", MAH_REPLY),
    ("mah-request", MAH_REQUEST),
    ("mah-think", MAH_THINK),
    ("tcplib-telnet", TELNET),
];

/// Reply sizes in bytes, headers included.
pub const MAH_REPLY: Points = &[
    (1.0, 0.002),
    (83.0, 0.018),
    (104.0, 0.096),
    (234.0, 0.124),
    (310.0, 0.158),
    (412.0, 0.2),
    (560.0, 0.25),
    (830.0, 0.3),
    (1078.0, 0.35),
    (1434.0, 0.4),
    (1800.0, 0.45),
    (2112.0, 0.502),
    (2500.0, 0.546),
    (2811.0, 0.6),
    (3275.0, 0.65),
    (3886.0, 0.7),
    (4797.0, 0.75),
    (6036.0, 0.8),
    (8188.0, 0.85),
    (12_581.0, 0.9),
    (23_332.0, 0.95),
    (33_128.0, 0.9695),
    (47_758.0, 0.98),
    (67_379.0, 0.99),
    (98_052.0, 0.9946),
    (168_339.0, 0.9973),
    (322_757.0, 0.9985),
    (649_354.0, 0.9995),
    (1_636_039.0, 1.0),
];

/// Request sizes in bytes, headers included.
pub const MAH_REQUEST: Points = &[
    (67.0, 0.003),
    (116.0, 0.0085),
    (135.0, 0.055),
    (139.0, 0.094),
    (190.0, 0.151),
    (198.0, 0.208),
    (208.0, 0.293),
    (219.0, 0.398),
    (231.0, 0.501),
    (246.0, 0.601),
    (270.0, 0.704),
    (291.0, 0.801),
    (315.0, 0.85),
    (1028.0, 0.87),
    (1058.0, 0.913),
    (1100.0, 0.965),
    (1134.0, 0.9905),
    (1373.0, 1.0),
];

/// Times between two pages of a user, in seconds; at least one second by definition.
pub const MAH_THINK: Points = &[
    (1.0, 0.0),
    (2.0, 0.083),
    (3.0, 0.143),
    (5.0, 0.243),
    (8.0, 0.339),
    (10.1, 0.384),
    (13.0, 0.45),
    (16.2, 0.5),
    (20.1, 0.549),
    (25.1, 0.6),
    (32.7, 0.651),
    (41.7, 0.7),
    (61.6, 0.751),
    (98.0, 0.8),
    (197.0, 0.85),
    (794.0, 0.9),
    (6014.0, 0.95),
    (61_568.0, 0.99),
    (86_395.0, 1.0),
];

/// Times between two keystrokes, in seconds.
///
/// tcplib's own table (Danzig and Jamin 1991) is not at hand. Paxson and Floyd ("Wide-area traffic:
/// the failure of Poisson modeling", 1995) say that the body of its distribution is close to a
/// Pareto with shape 0.9. Over 15 % of the times exceed a second, and the mean is about 1.1 s. This
/// is that Pareto, P(X > x) =
/// (0.1215 s / x)^0.9, cut at 120 s, at some quantiles; its mean is 1.1 s.
pub const TELNET: Points = &[
    (0.1215, 0.0),
    (0.1366, 0.1),
    (0.1557, 0.2),
    (0.1805, 0.3),
    (0.2142, 0.4),
    (0.2622, 0.5),
    (0.3359, 0.6),
    (0.4622, 0.7),
    (0.7238, 0.8),
    (1.0, 0.851),
    (1.5527, 0.9),
    (3.31, 0.951),
    (8.98, 0.981),
    (18.9, 0.991),
    (60.0, 0.998),
    (120.0, 1.0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;

    #[test]
    fn measurements_rise_to_one() {
        for (name, points) in MEASURED {
            assert!(points.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1), "{name}");
            assert_eq!(points.last().unwrap().1, 1.0, "{name}");
        }
        // The means that the data files have: 7.5 KB a reply would be the mean of straight lines.
        let mean = |points: Points| Distribution::Measured(points.to_vec()).mean();
        assert!((mean(MAH_REQUEST) - 329.0).abs() < 25.0, "{}", mean(MAH_REQUEST));
        assert!((6_000.0..8_500.0).contains(&mean(MAH_REPLY)), "{}", mean(MAH_REPLY));
        assert!((1.0..1.25).contains(&mean(TELNET)), "{}", mean(TELNET));
    }
}
