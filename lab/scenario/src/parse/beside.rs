// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files beside a scenario, to which it refers.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::input;

/// Returns the text of a file of at most `most` bytes, relative to the scenario's directory. It goes into the hash.
pub(super) fn read(
    directory: Option<&Path>,
    file: &str,
    most: u64,
    hash: &mut Sha256,
) -> Result<String, String> {
    let Some(directory) = directory else {
        return Err("a text without a place has no files beside it".to_owned());
    };
    let text = input::read_regular(&directory.join(file), most)
        .map_err(|error| format!("`{file}` cannot be read: {error}"))?;
    let text = String::from_utf8(text).map_err(|_| format!("`{file}` is no text in UTF-8"))?;
    hash.update([0]);
    hash.update(&text);
    Ok(text)
}
