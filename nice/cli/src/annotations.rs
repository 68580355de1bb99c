// SPDX-License-Identifier: MIT OR Apache-2.0
//! The annotations by which a container asks for low priority.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use netnice_kernel::settings::Settings;

use crate::low_priority::settings_of;

/// Prefix of the names of all annotations of netnice.
pub const PREFIX: &str = "netnice.dev/";

/// The paragraph of `--help` that lists the annotations.
macro_rules! annotations_help {
    () => {
        "\
Annotations:
  netnice.dev/priority   low: the container has low priority; the other annotations need this one
  netnice.dev/control    congestion control of low priority, as --control of netnice attach
  netnice.dev/direction  both, send or receive, as --direction of netnice attach
  netnice.dev/quic       refuse: netnice refuses UDP to port 443, as --no-quic of netnice attach does

"
    };
}
pub(crate) use annotations_help;

/// Returns the settings that the annotations ask for; `None` without a priority.
///
/// # Errors
/// If an annotation of netnice is unknown, or has a value that is not allowed.
pub fn settings(annotations: &BTreeMap<String, String>) -> Result<Option<Settings>> {
    let mut options = Vec::new();
    let mut is_low = false;
    let mut no_quic = false;
    let ours = annotations
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value)));
    for (name, value) in ours {
        match (name, value.as_str()) {
            ("priority", "low") => is_low = true,
            ("quic", "refuse") => no_quic = true,
            ("priority", _) => bail!("annotation {PREFIX}{name}: {value:?} is not \"low\""),
            ("quic", _) => bail!("annotation {PREFIX}{name}: {value:?} is not \"refuse\""),
            ("control" | "direction", _) => options.push(format!("--{name}={value}")),
            _ => bail!(
                "annotation {PREFIX}{name} is unknown: there are priority, control, direction and quic"
            ),
        }
    }
    if !is_low {
        ensure!(
            options.is_empty() && !no_quic,
            "annotations of netnice have no effect without {PREFIX}priority: low"
        );
        return Ok(None);
    }
    let settings = settings_of(&options).context("annotations of netnice")?;
    // An author of annotations may not take more than others.
    ensure!(
        settings.control.is_low_priority(),
        "annotation {PREFIX}control: {} is not of low priority",
        settings.control.name()
    );
    Ok(Some(settings.with_no_quic(no_quic)))
}

#[cfg(test)]
mod tests {
    use netnice_kernel::settings::Direction;

    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Option<Settings>> {
        settings(
            &pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn annotations_are_the_options_of_attach() {
        assert!(of(&[("io.kubernetes.pod.name", "x")]).unwrap().is_none());
        let low = of(&[("netnice.dev/priority", "low")]).unwrap().unwrap();
        assert_eq!(low.control.name(), "netnice");
        assert!(!low.no_quic && low.mark && low.direction == Direction::Both);
        let other = of(&[
            ("netnice.dev/priority", "low"),
            ("netnice.dev/control", "ledbat"),
            ("netnice.dev/direction", "send"),
            ("netnice.dev/quic", "refuse"),
        ]);
        let other = other.unwrap().unwrap();
        assert_eq!(other.control.name(), "ledbat");
        assert!(other.no_quic && other.direction == Direction::Send);
    }

    #[test]
    fn errors_name_the_annotation_and_what_is_allowed() {
        let said = |pairs: &[(&str, &str)]| format!("{:#}", of(pairs).map(|_| ()).unwrap_err());
        let low = ("netnice.dev/priority", "low");
        assert_eq!(
            said(&[("netnice.dev/priority", "high")]),
            "annotation netnice.dev/priority: \"high\" is not \"low\""
        );
        assert_eq!(
            said(&[("netnice.dev/prio", "low")]),
            "annotation netnice.dev/prio is unknown: there are priority, control, direction and quic"
        );
        assert_eq!(
            said(&[("netnice.dev/control", "ledbat")]),
            "annotations of netnice have no effect without netnice.dev/priority: low"
        );
        let control = said(&[low, ("netnice.dev/control", "cubic")]);
        assert!(
            control
                .contains("invalid value 'cubic' for '--control <NAME>' [possible values: dstcp,"),
            "{control}"
        );
        assert!(!control.contains('\n'), "{control}");
        assert_eq!(
            said(&[low, ("netnice.dev/control", "dstcp")]),
            "annotation netnice.dev/control: dstcp is not of low priority"
        );
        // No value becomes an option of its own.
        let smuggled = said(&[low, ("netnice.dev/direction", "send --control=dstcp")]);
        assert!(
            smuggled.contains("invalid value 'send --control=dstcp'"),
            "{smuggled}"
        );
    }
}
