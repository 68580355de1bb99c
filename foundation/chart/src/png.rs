// SPDX-License-Identifier: MIT OR Apache-2.0
//! An SVG file as PNG, with fonts that come along, so that none has to be installed.

use std::sync::Arc;

use resvg::usvg::{Options, Transform, Tree, fontdb};
use resvg::{render, tiny_skia::Pixmap};

/// A PNG has so many pixels for each of the SVG, across and down.
const ZOOM: f32 = 2.0;

/// A picture that could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The text is no SVG.
    #[error("reading the SVG: {0}")]
    Svg(#[from] resvg::usvg::Error),
    /// No memory for so many pixels.
    #[error("a picture of {0} x {1} pixels is too large")]
    Size(u32, u32),
    /// The encoder failed.
    #[error("encoding the PNG: {0}")]
    Encoding(String),
}

/// The SVG as PNG, two pixels for each of its own.
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut fonts = fontdb::Database::new();
    for font in [
        epaint_default_fonts::UBUNTU_LIGHT,
        // Has signs that the other lacks.
        epaint_default_fonts::HACK_REGULAR,
    ] {
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(font)));
    }
    fonts.set_sans_serif_family("Ubuntu");
    let options = Options {
        fontdb: Arc::new(fonts),
        font_family: "Ubuntu".to_owned(),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options)?;
    let size = tree.size();
    let pixels = |length: f32| (length * ZOOM).ceil() as u32;
    let (width, height) = (pixels(size.width()), pixels(size.height()));
    let mut pixmap = Pixmap::new(width, height).ok_or(PngError::Size(width, height))?;
    render(
        &tree,
        Transform::from_scale(ZOOM, ZOOM),
        &mut pixmap.as_mut(),
    );
    pixmap
        .encode_png()
        .map_err(|error| PngError::Encoding(error.to_string()))
}
