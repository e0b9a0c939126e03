//! Web pages, and how many connections those of Mah have.
//!
//! Mah (INFOCOM 1997: see [`measured`](bentpipe_links::measured)) counts a page's connections, not
//! its images: one object a connection (HTTP/1.0). They are quantiles of the same data, of 1444
//! page visits.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_pages_have_their_sums() {
        let sums: Vec<u64> =
            PagePreset::ALL.iter().map(|page| preset(*page).total().count()).collect();
        assert_eq!(sums, [391_356, 670_700, 263_600]);
        assert!(PagePreset::ALL[1..].iter().all(|page| preset(*page).objects.len() == 16));
    }

    #[test]
    fn a_page_has_three_connections_on_the_average() {
        assert!((2.5..3.2).contains(&mah_mean_connections()), "{}", mah_mean_connections());
        assert_eq!((mah_connections(0.0), mah_connections(0.6), mah_connections(1.0)), (1, 2, 65));
    }
}
