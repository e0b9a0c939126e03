//! Web pages, and measured distributions of Web and Telnet traffic.
//!
//! The Web's are those of Mah, "An Empirical Model of HTTP Network Traffic", INFOCOM 1997 (traces
//! of 1995 at Berkeley), as quantiles of the data files that ns distributes in `tcl/http/data`
//! (4100 requests and replies, 1314 think times, 1444 page visits); between them straight lines.
//! Mah counts a page's connections, not its images: one object a connection (HTTP/1.0).

use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, FromNode, Reader, Result, Section, field};
use bentpipe_core::units::Bytes;
use strum::VariantArray;

/// A Web page: a document, and the objects that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Size of the document's reply.
    pub document: Bytes,
    /// Sizes of the objects' replies, in the order in which they are asked for.
    pub objects: Vec<Bytes>,
}

impl Page {
    /// All replies together.
    pub fn total(&self) -> Bytes {
        let objects = self.objects.iter().map(|size| size.count());
        Bytes::new(objects.fold(self.document.count(), u64::saturating_add))
    }
}

/// Three pages of bharadwaj-2001, section 4.1.1, by name. The paper gives numbers, sums and ranges
/// of the objects' sizes; those of pages 2 and 3 are ours: page 2's range from 19 KB to 100 KB and
/// page 3's are equal but for the remainder. KB are 1000 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray, strum::IntoStaticStr)]
pub enum PagePreset {
    /// One image.
    #[strum(serialize = "bharadwaj-2001-1")]
    OneImage,
    /// 16 images of different sizes.
    #[strum(serialize = "bharadwaj-2001-2")]
    Images,
    /// 16 images of nearly equal size.
    #[strum(serialize = "bharadwaj-2001-3")]
    EqualImages,
}

impl PagePreset {
    /// Each.
    pub const ALL: &[PagePreset] = PagePreset::VARIANTS;
}

fn preset(preset: PagePreset) -> Page {
    let kilo = |sizes: &[u64]| sizes.iter().map(|size| Bytes::new(size * 1000)).collect();
    match preset {
        PagePreset::OneImage => Page { document: Bytes::new(356), objects: kilo(&[391]) },
        // 16 images, 19 to 100 KB, together 669 KB.
        PagePreset::Images => Page {
            document: Bytes::new(1700),
            objects: kilo(&[19, 22, 25, 28, 31, 34, 36, 38, 40, 42, 44, 47, 51, 54, 58, 100]),
        },
        // 16 images of nearly equal size, together 262 KB.
        PagePreset::EqualImages => {
            Page { document: Bytes::new(1600), objects: vec![Bytes::new(16_375); 16] }
        }
    }
}

/// The reference of pages.
pub(crate) const PAGE: Section = Section {
    path: "a page",
    about: "The page of an HTTP workload: a preset's name (`bharadwaj-2001-1`, `-2`, `-3`: a \
            document of 356 B, 1.7 KB or 1.6 KB with one image of 391 KB, 16 images of 669 KB \
            together, 16 equal images of 262 KB), or a table.",
    fields: &[
        field("document", "bytes", "", "size of the document"),
        field("objects", "a list of bytes, or one size", "`[]`", "sizes of what it refers to"),
        field("count", "a whole number", "1", "that many objects, if `objects` is one size"),
    ],
    example: "page = { document = \"2KB\", objects = \"16KB\", count = 16 }",
};

impl FromNode for Page {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Page> {
        if let Value::Text(_) = node.value {
            return Ok(preset(context.choice(node, "page")?));
        }
        let reader = Reader::open(context, node, "a page", &[&PAGE])?;
        let document = reader.need("document")?;
        let objects = match reader.node("objects") {
            None => Vec::new(),
            Some(Node { value: Value::List(_), .. }) => reader.need("objects")?,
            Some(_) => {
                let count = reader.within("count", 1, 0..=10_000_usize)?;
                vec![reader.need("objects")?; count]
            }
        };
        Ok(Page { document, objects })
    }
}

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

/// Connections of a page: (how many, cumulative probability), whole numbers in between excluded.
pub const MAH_CONNECTIONS: &[(u32, f64)] = &[
    (1, 0.512),
    (2, 0.721),
    (3, 0.796),
    (4, 0.832),
    (5, 0.882),
    (6, 0.907),
    (7, 0.924),
    (8, 0.939),
    (9, 0.95),
    (10, 0.962),
    (11, 0.968),
    (12, 0.972),
    (13, 0.973),
    (14, 0.977),
    (15, 0.98),
    (16, 0.988),
    (18, 0.99),
    (19, 0.993),
    (20, 0.996),
    (37, 0.9986),
    (65, 1.0),
];

/// The number of connections of the page at the share `u`, 0 to 1, of all pages.
pub fn mah_connections(u: f64) -> u32 {
    let found = MAH_CONNECTIONS.iter().find(|(_, cumulative)| u <= *cumulative);
    found.map_or(65, |(count, _)| *count)
}

/// The mean number of connections of a page.
pub fn mah_mean_connections() -> f64 {
    let mut before = 0.0;
    let mut mean = 0.0;
    for &(count, cumulative) in MAH_CONNECTIONS {
        mean += f64::from(count) * (cumulative - before);
        before = cumulative;
    }
    mean
}

/// Times between two keystrokes, in seconds. tcplib's own table (Danzig and Jamin 1991) is not at
/// hand; Paxson and Floyd ("Wide-area traffic: the failure of Poisson modeling", 1995) say that
/// the body of its distribution is close to a Pareto with shape 0.9, that over 15 % of the times
/// exceed a second, and that the mean is about 1.1 s. This is that Pareto, P(X > x) =
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
    fn the_papers_pages_have_their_sums() {
        let sums: Vec<u64> =
            PagePreset::ALL.iter().map(|page| preset(*page).total().count()).collect();
        assert_eq!(sums, [391_356, 670_700, 263_600]);
        assert!(PagePreset::ALL[1..].iter().all(|page| preset(*page).objects.len() == 16));
    }

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
        assert!((2.5..3.2).contains(&mah_mean_connections()), "{}", mah_mean_connections());
        assert_eq!((mah_connections(0.0), mah_connections(0.6), mah_connections(1.0)), (1, 2, 65));
    }
}
