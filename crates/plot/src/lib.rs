//! Figures: what is drawn, and how it is written.
//!
//! A [`Figure`](chart::Figure) is data with the names of what it shows. It is laid out for a width
//! as a [`Scene`](scene::Scene) of lines, marks and texts, which [`svg`] and [`png`] write. Other
//! drawings are scenes that their authors make: [`axes`] has scales, ticks and units, [`palette`]
//! colors that everybody can tell apart.
//!
//! Nothing here knows a clock, files or the rest of bentpipe: data in, text or bytes out.
#![forbid(unsafe_code)]

pub mod axes;
pub mod chart;
pub mod font;
pub mod palette;
pub mod png;
pub mod scene;
pub mod svg;
