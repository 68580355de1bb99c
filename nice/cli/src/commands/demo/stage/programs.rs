// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real programs of the demonstration and their command lines.

use std::env;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use netnice_link::{EmulatedLink, Namespace};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};

use netnice_terminal::signals::HeldSignals;

pub const WEB_PORT: u16 = 8000;
pub const BACKUP_PORT: u16 = 8730;
pub const PAGE: &str = "page";
pub const BACKUP: &str = "backup";
pub const FILE: &str = "file";

/// Roles of programs, by which [`Programs::last_error_line`] identifies them.
pub const ROUTES: &str = "routes";
pub const WEB_SERVER: &str = "web-server";
pub const FILE_SERVER: &str = "file-server";
pub const BACKUP_SERVER: &str = "backup-server";
pub const TRANSFER: &str = "transfer";
pub const VISITOR: &str = "visitor";

/// Way that the pages and the bulk transfer take over the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From the near side: it serves the page and uploads a backup.
    Upload,
    /// To the near side: it reads the page and downloads a file.
    Download,
}

/// Bulk transfer that runs beside the fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bulk {
    /// Without netnice.
    Plain,
    /// Under `netnice run`.
    LowPriority,
}

/// Ignores the user's proxies and defaults: it connects directly.
const CURL: [&str; 7] = [
    "curl",
    "--disable",
    "--noproxy",
    "*",
    "--silent",
    "--show-error",
    "--fail",
];
/// Time limit of a fetch.
const FETCH_SECONDS: &str = "10";

/// Programs and the Debian packages that contain them.
const NEEDED: [(&str, &str); 4] = [
    ("curl", "curl"),
    ("ip", "iproute2"),
    ("python3", "python3"),
    ("rsync", "rsync"),
];

/// Reports all missing programs at once.
pub fn check_programs() -> Result<()> {
    let missing: Vec<_> = NEEDED
        .iter()
        .filter(|(program, _)| !is_there(program))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let join = |names: Vec<&str>, with: &str| names.join(with);
    let programs = join(
        missing.iter().map(|(program, _)| *program).collect(),
        " and ",
    );
    let packages = join(missing.iter().map(|(_, package)| *package).collect(), " ");
    match is_there("apt-get") {
        true => bail!("the demo needs {programs}; run: apt-get install {packages}"),
        false => bail!("the demo needs {programs}; install the package(s) {packages}"),
    }
}

fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Starts the programs, all with their files in one directory.
pub struct Programs<'a> {
    directory: PathBuf,
    signals: &'a HeldSignals,
}

impl<'a> Programs<'a> {
    pub fn new(directory: &Path, signals: &'a HeldSignals) -> Programs<'a> {
        Programs {
            directory: directory.to_owned(),
            signals,
        }
    }

    /// Makes cubic the control of connections from both sides, whatever the machine's default.
    pub fn use_cubic(&self, link: &EmulatedLink) -> Result<()> {
        let (near, far) = (link.near_ipv4(), link.far_ipv4());
        self.use_cubic_from(link.near(), near, far)?;
        self.use_cubic_from(link.far(), far, near)
    }

    /// Sets it on the route, since the sysctl of a namespace accepts only controls that the machine permits to all users.
    fn use_cubic_from(
        &self,
        namespace: &Namespace,
        address: Ipv4Addr,
        peer: Ipv4Addr,
    ) -> Result<()> {
        let device = namespace.run(|| device_of(address))?;
        let device = device.context("the link's device has gone")?;
        let mut command = Command::new("ip");
        command
            .args(["route", "add", &format!("{peer}/32")])
            .args([
                "dev",
                &device,
                "src",
                &address.to_string(),
                "congctl",
                "cubic",
            ])
            .stdout(Stdio::null());
        let mut child = self.start(namespace, ROUTES, &mut command)?;
        if !child.wait().context("waiting for ip")?.success() {
            bail!(
                "cannot choose cubic for the rival connections: {}",
                self.last_error_line(ROUTES)
            );
        }
        Ok(())
    }

    /// Starts a web server of the page and of the file to download.
    pub fn web_server(
        &self,
        namespace: &Namespace,
        address: Ipv4Addr,
        role: &str,
    ) -> Result<Child> {
        let mut command = Command::new("python3");
        command
            .args(["-I", "-m", "http.server", "--bind", &address.to_string()])
            .arg("--directory")
            .arg(self.directory.join("pages"))
            .arg(WEB_PORT.to_string())
            .stdout(Stdio::null());
        self.start(namespace, role, &mut command)
    }

    /// Starts the server that receives the backup.
    pub fn backup_server(&self, namespace: &Namespace, address: Ipv4Addr) -> Result<Child> {
        let configuration = self.directory.join("rsyncd.conf");
        let received = self.directory.join("received");
        let text = format!(
            "use chroot = false\nuid = 0\ngid = 0\n[backup]\npath = {}\nread only = false\n",
            received.display()
        );
        fs::write(&configuration, text)
            .with_context(|| format!("writing {}", configuration.display()))?;
        let mut command = Command::new("rsync");
        command
            .args(["--daemon", "--no-detach", "--log-file=/dev/null"])
            .arg(format!("--address={address}"))
            .arg(format!("--port={BACKUP_PORT}"))
            .arg(format!("--config={}", configuration.display()))
            .stdout(Stdio::null());
        self.start(namespace, BACKUP_SERVER, &mut command)
    }

    /// Starts the bulk transfer to or from the far side, straight into its file, whose size is thus the amount received.
    pub fn bulk(
        &self,
        namespace: &Namespace,
        address: Ipv4Addr,
        way: Way,
        bulk: Bulk,
    ) -> Result<Child> {
        let program: &[&str] = match way {
            Way::Upload => &["rsync", "--inplace", "--whole-file"],
            Way::Download => &CURL,
        };
        let mut command = match bulk {
            Bulk::Plain => {
                let mut command = Command::new(program[0]);
                command.args(&program[1..]);
                command
            }
            Bulk::LowPriority => {
                let netnice = env::current_exe().context("finding netnice's own program")?;
                let mut command = Command::new(netnice);
                command.args(["run", "--"]).args(program);
                command
            }
        };
        match way {
            Way::Upload => command
                .arg(self.directory.join(BACKUP))
                .arg(format!("rsync://{address}:{BACKUP_PORT}/backup/")),
            Way::Download => command
                .arg("--output")
                .arg(self.received(way))
                .arg(format!("http://{address}:{WEB_PORT}/{FILE}")),
        };
        self.start(namespace, TRANSFER, command.stdout(Stdio::null()))
    }

    /// Starts one fetch of the page; [`response_time`] returns its result.
    pub fn fetch(&self, namespace: &Namespace, address: Ipv4Addr) -> Result<Child> {
        let mut command = Command::new(CURL[0]);
        command
            .args(&CURL[1..])
            .args(["--max-time", FETCH_SECONDS, "--output", "/dev/null"])
            .args(["--write-out", "%{time_total}"])
            .arg(format!("http://{address}:{WEB_PORT}/{PAGE}"))
            .stdout(Stdio::piped());
        self.start(namespace, VISITOR, &mut command)
    }

    /// Returns the last line that `program` has written to its standard error.
    pub fn last_error_line(&self, program: &str) -> String {
        let text = fs::read(self.errors(program)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        last.unwrap_or("it did not say why").trim().to_owned()
    }

    /// Returns the path where a bulk transfer arrives.
    pub fn received(&self, way: Way) -> PathBuf {
        let name = match way {
            Way::Upload => BACKUP,
            Way::Download => FILE,
        };
        self.directory.join("received").join(name)
    }

    /// Removes what has been received before the next transfer.
    pub fn forget_received(&self, way: Way) {
        // If that fails, the next transfer overwrites the file, and its size means less; but who wrote it runs as the
        // same user.
        let _ = fs::remove_file(self.received(way));
    }

    fn errors(&self, program: &str) -> PathBuf {
        self.directory.join(format!("errors-of-{program}"))
    }

    fn start(&self, namespace: &Namespace, name: &str, command: &mut Command) -> Result<Child> {
        let errors = File::options()
            .create(true)
            .append(true)
            .open(self.errors(name))
            .context("opening a file for what programs say")?;
        command
            // This process handles Ctrl-C, and ends the programs.
            .process_group(0)
            .env_remove("RSYNC_PROXY")
            .stdin(Stdio::null())
            .stderr(errors);
        Ok(namespace.spawn(self.signals.release_for(command))?)
    }
}

/// Returns the network device, in the calling thread's namespace, that has this address.
fn device_of(address: Ipv4Addr) -> Option<String> {
    let has_it = |interface: &InterfaceAddress| {
        let theirs = interface
            .address
            .as_ref()
            .and_then(|theirs| theirs.as_sockaddr_in());
        theirs.is_some_and(|theirs| theirs.ip() == address)
    };
    Some(getifaddrs().ok()?.find(has_it)?.interface_name)
}

/// Waits for a fetch; returns its duration in seconds by curl's own clock, unless it failed.
pub fn response_time(fetch: Child) -> Result<Option<f64>> {
    let output = fetch.wait_with_output().context("waiting for curl")?;
    let time = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    Ok(time.filter(|_| output.status.success()))
}
