// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice-lab plot` draws charts from a file, and the documentation's pictures are those of today.

#[path = "../../../nice/cli/tests/program/mod.rs"]
mod program;

use std::fs;
use std::path::Path;
use std::process::Command;

use program::{run, stderr, stdout, succeeded, text};

#[test]
fn the_pictures_are_those_of_today() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("python3");
    command.arg(root.join("tools/pictures")).args([
        "--check",
        "--program",
        env!("CARGO_BIN_EXE_netnice-lab"),
    ]);
    let checked = command.output().expect("python3 runs");
    assert!(checked.status.success(), "{}", stderr(&checked));
}

/// Draws this description, and returns what is printed, or the error.
fn drawn(described: &str, options: &[&str]) -> Result<(String, String), String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.json");
    fs::write(&file, described).unwrap();
    let mut arguments = vec!["plot", text(&file)];
    arguments.extend(options);
    let output = run(&arguments);
    if !output.status.success() {
        assert_eq!(
            (output.status.code(), stdout(&output)),
            (Some(1), String::new())
        );
        return Err(stderr(&output));
    }
    let picture = succeeded(&output).trim_end().to_owned();
    assert!(
        Path::new(&picture).starts_with(directory.path()),
        "{picture}"
    );
    let drawn = fs::read(&picture).unwrap();
    Ok((picture, String::from_utf8_lossy(&drawn).into_owned()))
}

const BARS: &str = r#"{ "panels": [
    { "title": "Mine", "kind": "bars", "names": ["a"], "curves": [{ "name": "c", "points": [[0, 3]], "halves": [1] }] },
    { "title": "Cells", "kind": "heat_map", "names": ["a", "b"], "curves": [{ "name": "row", "points": [[1, 7]] }] },
    { "title": "Lines", "kind": "time_series", "x": { "label": "time (s)" }, "y": { "label": "Mb/s", "logarithmic": true },
      "curves": [{ "name": "d", "points": [[0, 1], [9, 10]] }], "areas": [{ "name": "night", "spans": [[2, 4]] }] } ] }"#;

#[test]
fn charts_of_ones_own_are_drawn() {
    let (name, svg) = drawn(BARS, &[]).unwrap();
    assert!(name.ends_with("mine.svg"), "{name}");
    for word in [
        "Mine",
        "Cells",
        "row",
        "time (s)",
        "night",
        "prefers-color-scheme: dark",
    ] {
        assert!(svg.contains(word), "{word}");
    }
    let (name, png) = drawn(BARS, &["--format", "png"]).unwrap();
    assert!(name.ends_with("mine.png") && png.contains("PNG"), "{name}");
}

#[test]
fn a_mistake_in_a_chart_is_named() {
    for (from, to, named) in [
        (
            r#""bars""#,
            r#""pie""#,
            "unknown variant `pie`, expected one of `lines`",
        ),
        (
            r#""halves": [1]"#,
            r#""halves": [1, 2]"#,
            "curve `c`: 2 `halves` for 1 `points`",
        ),
        (
            "[[0, 3]]",
            "[[1, 3]]",
            "curve `c`: a point at 1: give the number of one of the 1 `names`",
        ),
        (
            r#""names": ["a"], "#,
            r#""bin": 3, "#,
            "unknown field `bin`",
        ),
    ] {
        let error = drawn(&BARS.replace(from, to), &[]).unwrap_err();
        assert!(
            error.contains(named) && error.contains("mine.json"),
            "{error}"
        );
    }
    let error = drawn(BARS, &["--point", "a=b"]).unwrap_err();
    assert!(error.contains("--point is for results"), "{error}");
    assert!(
        drawn(r#"{ "panels": [] }"#, &[])
            .unwrap_err()
            .contains("give one at least")
    );
}
