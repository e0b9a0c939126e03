//! Scenes as PNG: their SVG, painted with our own font.
//!
//! So pictures are the same on every machine.

use crate::font;
use crate::scene::{Scene, Weight};
use crate::svg;
use resvg::{tiny_skia, usvg};
use std::sync::{Arc, OnceLock};

/// No picture has more pixels on a side.
const MAX: f64 = 20_000.0;

/// Why a picture cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The scene is no sound SVG.
    #[error("the drawing is not sound: {0}")]
    Drawing(String),
    /// It has no size, or is too large.
    #[error("a picture of {0} by {1} pixels cannot be made")]
    Size(f64, f64),
    /// It cannot be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
}

/// `scene` with `scale` pixels for each px, as a file of PNG.
///
/// # Errors
/// [`PngError`].
pub fn write(scene: &Scene, scale: f64) -> Result<Vec<u8>, PngError> {
    let (width, height) = ((scene.width * scale).ceil(), (scene.height * scale).ceil());
    let size = || PngError::Size(width, height);
    if !(1.0..=MAX).contains(&width) || !(1.0..=MAX).contains(&height) {
        return Err(size());
    }
    let options = usvg::Options {
        fontdb: fonts(),
        font_family: "DejaVu Sans".to_owned(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(&svg::write(scene), &options)
        .map_err(|error| PngError::Drawing(error.to_string()))?;
    let mut pixels = tiny_skia::Pixmap::new(width as u32, height as u32).ok_or_else(size)?;
    let scale = scale as f32;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

fn fonts() -> Arc<usvg::fontdb::Database> {
    static FONTS: OnceLock<Arc<usvg::fontdb::Database>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| {
        let mut database = usvg::fontdb::Database::new();
        for weight in [Weight::Regular, Weight::Bold] {
            let file = Arc::new(font::file(weight));
            database.load_font_source(usvg::fontdb::Source::Binary(file));
        }
        Arc::new(database)
    });
    Arc::clone(fonts)
}
