// SPDX-License-Identifier: MIT OR Apache-2.0
//! The link, and the programs on both sides of it.

mod programs;

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use netnice_link::{EmulatedLink, EmulatedLinkSpec, LinkReport};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::progress::Progress;
use netnice_guard::Guard;
use netnice_terminal::signals::{Arrived, HeldSignals};
use programs::Programs;

pub use programs::{Bulk, Way, check_programs};

/// The link of the demonstration.
pub const LINK: &str = "rate=10mbit,delay=20ms,queue=83p";
/// Size of the page, in bytes.
pub const PAGE_BYTES: usize = 10_000;
/// Interval between the starts of two fetches.
pub const FETCH_EVERY: Duration = Duration::from_millis(300);

/// Longest interval between two checks of signals and the progress bar.
const TICK: Duration = Duration::from_millis(100);
/// Time for a server to open its port.
const PATIENCE: Duration = Duration::from_secs(10);

/// The user pressed Ctrl-C, or another signal requested the end.
#[derive(Debug, thiserror::Error)]
#[error("interrupted by {0}")]
pub struct Interrupted(pub Signal);

/// Measurements of one phase.
#[derive(Debug, Clone, Default)]
pub struct Phase {
    /// Response times of the fetches, in seconds.
    pub response_times: Vec<f64>,
    /// Fetches that failed.
    pub failed: usize,
    /// Goodput of the bulk transfer, in bits per second.
    pub bulk_rate: Option<f64>,
}

/// The link with its servers. The machine with netnice is on the near side. Its visitors and the backup's destination are on
/// the far side, so pages and backup leave through the same queue; so are the servers of pages and files that it reads.
pub struct Stage<'a> {
    link: EmulatedLink,
    programs: Programs<'a>,
    signals: &'a HeldSignals,
    directory: TempDir,
}

impl<'a> Stage<'a> {
    /// Starts the link and the servers for bulk transfers of at most `longest`.
    pub fn set(
        longest: Duration,
        guard: &mut Guard,
        signals: &'a HeldSignals,
    ) -> Result<Stage<'a>> {
        let spec = EmulatedLinkSpec::symmetric(LINK.parse()?);
        let directory = tempfile::Builder::new()
            .prefix("netnice-demo-")
            .tempdir()
            .context("making a directory for the demo's files")?;
        guard.cover_directory(directory.path())?;
        let rate = spec.up.rate.expect("the link has a rate");
        // Half as much again, so that the transfer does not end early.
        let backup_bytes = rate.bytes_in(longest * 3 / 2).get();
        make_files(directory.path(), backup_bytes).with_context(|| {
            format!(
                "writing {} MB to {} (TMPDIR chooses another place)",
                backup_bytes / 1_000_000,
                directory.path().display()
            )
        })?;

        let link = EmulatedLink::start(&spec)?;
        guard.cover(link.near())?;
        guard.cover(link.far())?;
        let programs = Programs::new(directory.path(), signals);
        link.near().run(forget_metrics)??;
        link.far().run(forget_metrics)??;
        programs.use_cubic(&link)?;
        let mut stage = Stage {
            link,
            programs,
            signals,
            directory,
        };
        stage.start_servers()?;
        Ok(stage)
    }

    fn start_servers(&mut self) -> Result<()> {
        let (near, far) = (self.link.near_ipv4(), self.link.far_ipv4());
        let web = self
            .programs
            .web_server(self.link.near(), near, programs::WEB_SERVER)?;
        let files = self
            .programs
            .web_server(self.link.far(), far, programs::FILE_SERVER)?;
        let backup = self.programs.backup_server(self.link.far(), far)?;
        self.wait_for(web, programs::WEB_SERVER, near, programs::WEB_PORT)?;
        self.wait_for(files, programs::FILE_SERVER, far, programs::WEB_PORT)?;
        self.wait_for(backup, programs::BACKUP_SERVER, far, programs::BACKUP_PORT)
    }

    /// Waits until a server answers.
    fn wait_for(&self, mut server: Child, name: &str, address: Ipv4Addr, port: u16) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let answers = || {
            let connect =
                || std::net::TcpStream::connect_timeout(&(address, port).into(), TICK).is_ok();
            let from = match address == self.link.near_ipv4() {
                true => self.link.far(),
                false => self.link.near(),
            };
            from.run(connect)
        };
        while !answers()? {
            if server.try_wait()?.is_some() || Instant::now() > deadline {
                bail!(
                    "the {} does not answer: {}",
                    name.replace('-', " "),
                    self.programs.last_error_line(name)
                );
            }
            self.sleep(Duration::from_millis(20))?;
        }
        Ok(())
    }

    /// Fetches pages for `measured`, beside a bulk transfer that has had time to settle.
    pub fn measure(
        &mut self,
        way: Way,
        bulk: Option<Bulk>,
        measured: Duration,
        settling: Duration,
        progress: &mut Progress,
    ) -> Result<Phase> {
        let (near, far) = (self.link.near_ipv4(), self.link.far_ipv4());
        let mut bulk = bulk
            .map(|bulk| self.programs.bulk(self.link.near(), far, way, bulk))
            .transpose()?;
        if let Some(transfer) = &mut bulk {
            self.pass(settling, progress, |_| Ok(settling))?;
            self.check_still_running(transfer)?;
        }

        let (visitor, server) = match way {
            Way::Upload => (self.link.far(), near),
            Way::Download => (self.link.near(), far),
        };
        let before = self.received(way);
        let began = Instant::now();
        let mut fetches = Vec::new();
        self.pass(measured, progress, |elapsed| {
            let due = FETCH_EVERY * fetches.len() as u32;
            if elapsed >= due {
                fetches.push(self.programs.fetch(visitor, server)?);
            }
            Ok(FETCH_EVERY * fetches.len() as u32)
        })?;
        let seconds = began.elapsed().as_secs_f64();
        let received = self.received(way) - before;

        let mut phase = Phase::default();
        for fetch in fetches {
            match programs::response_time(fetch)? {
                Some(time) => phase.response_times.push(time),
                None => phase.failed += 1,
            }
        }
        if let Some(mut transfer) = bulk {
            self.check_still_running(&mut transfer)?;
            netnice_guard::end(&mut transfer);
            self.programs.forget_received(way);
            phase.bulk_rate = Some(8.0 * received as f64 / seconds);
        }
        if phase.response_times.is_empty() {
            bail!(
                "no fetch of the page succeeded: {}",
                self.programs.last_error_line(programs::VISITOR)
            );
        }
        Ok(phase)
    }

    /// Waits for `time`; `act` gets the time elapsed, and returns when to call it next.
    fn pass(
        &self,
        time: Duration,
        progress: &mut Progress,
        mut act: impl FnMut(Duration) -> Result<Duration>,
    ) -> Result<()> {
        let began = Instant::now();
        let mut shown = Duration::ZERO;
        loop {
            let elapsed = began.elapsed();
            progress.advance(elapsed.min(time) - shown);
            shown = elapsed.min(time);
            if elapsed >= time {
                return Ok(());
            }
            let next = act(elapsed)?.min(time);
            self.sleep(next.saturating_sub(began.elapsed()).min(TICK))?;
        }
    }

    /// Sleeps unless a signal requests the end.
    fn sleep(&self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.signals.wait(Some(left)) {
                Some(Arrived::FromTerminal(signal) | Arrived::FromProcess(signal)) => {
                    return Err(Interrupted(signal).into());
                }
                _ if left.is_zero() => return Ok(()),
                _ => {}
            }
        }
    }

    fn check_still_running(&self, transfer: &mut Child) -> Result<()> {
        match transfer.try_wait()? {
            None => Ok(()),
            Some(status) => bail!(
                "the bulk transfer ended too early ({status}): {}",
                self.programs.last_error_line(programs::TRANSFER)
            ),
        }
    }

    /// Returns the bytes of the bulk transfer that have arrived.
    fn received(&self, way: Way) -> u64 {
        fs::metadata(self.programs.received(way)).map_or(0, |file| file.len())
    }

    /// Stops the link, removes the files, and returns the link's report.
    pub fn strike(self) -> Result<LinkReport> {
        let report = self.link.stop()?;
        // Open files in it do not prevent that, but a failure must be reported.
        self.directory
            .close()
            .context("removing the demo's files")?;
        Ok(report)
    }
}

/// Keeps connections in the calling thread's namespace from starting with metrics of earlier ones.
fn forget_metrics() -> Result<()> {
    let path = "/proc/sys/net/ipv4/tcp_no_metrics_save";
    fs::write(path, "1").with_context(|| format!("writing 1 to {path}"))
}

/// Creates the page and the backup, of incompressible data, so that their sizes hold on the link.
fn make_files(directory: &Path, backup_bytes: u64) -> std::io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |bytes: usize| -> Vec<u8> {
        let words = (0..bytes.div_ceil(8)).flat_map(|_| {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_ne_bytes()
        });
        words.take(bytes).collect()
    };
    let pages = directory.join("pages");
    fs::create_dir(&pages)?;
    fs::write(pages.join(programs::PAGE), random(PAGE_BYTES))?;
    fs::create_dir(directory.join("received"))?;
    let mut backup = fs::File::create(directory.join(programs::BACKUP))?;
    fs::hard_link(directory.join(programs::BACKUP), pages.join(programs::FILE))?;
    let mut left = backup_bytes as usize;
    while left > 0 {
        let chunk = random(left.min(1 << 20));
        std::io::Write::write_all(&mut backup, &chunk)?;
        left -= chunk.len();
    }
    Ok(())
}
