// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of programs that download in the background, and the cgroups in which they do.

use std::ffi::OsStr;

use anyhow::Result;
use clap::builder::{NonEmptyStringValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use netnice_kernel::attach;

/// A name for `attach` and `detach`.
#[derive(Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// Services of systemd that transfer.
    pub services: &'static [&'static str],
    /// Names of other cgroups that are covered: `*` stands for any characters.
    patterns: &'static [&'static str],
    /// Transfers that are not covered, and how to cover them.
    pub limit: Option<&'static str>,
}

/// Takes any name, and lets shells complete those here.
#[derive(Clone, Debug)]
pub struct NameOrOther;

impl TypedValueParser for NameOrOther {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        NonEmptyStringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = PRESETS.iter().map(|preset| preset.name);
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

/// What a distribution of Kubernetes in one service contains beside containerd.
const WHOLE_KUBERNETES: &str = "it covers image pulls, and all else in that service: the API server and etcd on a server; \
                                pods have cgroups besides";

const PRESETS: [Preset; 16] = [
    Preset {
        name: "docker",
        services: &["docker.service", "containerd.service"],
        patterns: &["snap.docker.dockerd.service"],
        limit: Some("it covers image pulls and pushes; containers have cgroups besides"),
    },
    Preset {
        name: "containerd",
        services: &["containerd.service"],
        patterns: &["snap.microk8s.daemon-containerd.service"],
        limit: Some("it covers image pulls; containers have cgroups besides"),
    },
    Preset {
        name: "crio",
        services: &["crio.service"],
        patterns: &[],
        limit: Some("it covers image pulls; containers have cgroups besides"),
    },
    Preset {
        name: "k3s",
        services: &["k3s.service", "k3s-agent.service"],
        patterns: &[],
        limit: Some(WHOLE_KUBERNETES),
    },
    Preset {
        name: "rke2",
        services: &["rke2-server.service", "rke2-agent.service"],
        patterns: &[],
        limit: Some(WHOLE_KUBERNETES),
    },
    Preset {
        name: "k0s",
        services: &["k0scontroller.service", "k0sworker.service"],
        patterns: &[],
        limit: Some(WHOLE_KUBERNETES),
    },
    Preset {
        name: "podman",
        services: &["podman.service", "podman-auto-update.service"],
        patterns: &[],
        limit: Some(
            "a pull by hand runs in its caller's cgroup: sudo netnice run -- podman pull IMAGE",
        ),
    },
    Preset {
        name: "ollama",
        services: &["ollama.service"],
        patterns: &[],
        limit: None,
    },
    Preset {
        name: "snapd",
        services: &["snapd.service"],
        patterns: &[],
        limit: None,
    },
    Preset {
        name: "packagekit",
        services: &["packagekit.service"],
        patterns: &[],
        limit: None,
    },
    Preset {
        name: "flatpak",
        services: &["flatpak-system-helper.service"],
        patterns: &["app-flatpak-update*"],
        limit: Some(
            "an update by hand runs in its caller's cgroup: sudo netnice run -- flatpak update",
        ),
    },
    Preset {
        name: "steam",
        services: &[],
        patterns: &["app-*steam*", "snap.steam.steam*"],
        limit: Some("a game started from Steam runs in the same cgroup"),
    },
    Preset {
        name: "transmission",
        services: &["transmission-daemon.service"],
        patterns: &["app-*transmission*"],
        limit: None,
    },
    Preset {
        name: "qbittorrent",
        services: &[],
        patterns: &["qbittorrent-nox*.service", "app-*qbittorrent*"],
        limit: None,
    },
    Preset {
        name: "deluge",
        services: &["deluged.service"],
        patterns: &["app-*deluge*"],
        limit: None,
    },
    Preset {
        name: "apt",
        services: &["apt-daily.service", "apt-daily-upgrade.service"],
        patterns: &[],
        limit: Some(
            "an update by hand runs in its caller's cgroup: sudo netnice run -- apt-get update",
        ),
    },
];

impl Preset {
    /// Returns the preset of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Returns the names of all presets.
    pub fn all() -> Vec<&'static str> {
        PRESETS.iter().map(|preset| preset.name).collect()
    }

    /// Returns the paths of the cgroups that exist now.
    ///
    /// # Errors
    /// If cgroups cannot be listed.
    pub fn cgroups(&self) -> Result<Vec<String>> {
        Ok(attach::search(|name| self.covers(name))?)
    }

    /// Returns the names of the cgroups that are searched for, separated by commas.
    pub fn names(&self) -> String {
        [self.services, self.patterns].concat().join(", ")
    }

    /// Returns true for a cgroup of this name; OpenRC names those of services `openrc.NAME`.
    fn covers(&self, cgroup: &str) -> bool {
        let service = match cgroup.strip_prefix("openrc.") {
            Some(name) => format!("{name}.service"),
            None => cgroup.to_owned(),
        };
        self.services.contains(&service.as_str())
            || self.patterns.iter().any(|pattern| matches(pattern, cgroup))
    }
}

/// Returns true if a name matches a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len())
                .filter(|&at| rest.is_char_boundary(at))
                .any(|at| matches(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_covers_services_and_patterns() {
        for (preset, cgroup, covers) in [
            ("docker", "docker.service", true),
            ("docker", "openrc.docker", true),
            ("docker", "docker", false),
            ("docker", "docker-0123.scope", false),
            ("steam", "app-gnome-steam-4242.scope", true),
            ("steam", "app-com.valvesoftware.steam@1.service", true),
            ("steam", "steam", false),
            ("qbittorrent", "qbittorrent-nox@alice.service", true),
            (
                "transmission",
                "app-gnome-transmission\\x2dgtk-77.scope",
                true,
            ),
            ("apt", "apt-daily-upgrade.service", true),
            ("k3s", "k3s-agent.service", true),
            ("containerd", "k3s.service", false),
        ] {
            let found = Preset::find(preset).unwrap().covers(cgroup);
            assert_eq!(found, covers, "{preset}: {cgroup}");
        }
        assert!(Preset::find("backup").is_none());
    }
}
