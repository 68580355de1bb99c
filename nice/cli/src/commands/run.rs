// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice run`: runs a command whose connections have low priority.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueHint};
use netnice_kernel::abi::Totals;
use netnice_kernel::connections::{GaveWay, Sums};
use netnice_kernel::control::Control;
use netnice_kernel::handed_in::HandedIn;
use netnice_kernel::others::Other;
use netnice_kernel::promise::{Deadline, Promise};
use netnice_kernel::run::{Entered, Outside, enter};
use netnice_kernel::settings::{Direction, Settings, Udp};
use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, raise, signal};
use nix::unistd::execv;
use serde::Serialize;

use crate::clock_time;
use crate::foreground::{self, Ended};
use crate::interpreter;
use crate::low_priority::{self, LowPriority, standing};
use crate::parameter_options::HEADING;
use crate::transfer_log::{Header, Writer};
use netnice_queue::Bytes;
use netnice_terminal::signals::HeldSignals;
use netnice_terminal::text::{self, say};
use netnice_terminal::write_signals;

const EXAMPLES: &str = "\
Examples:
  A backup that nobody notices, with a summary in one line at the end:
      sudo netnice run -v -- rsync -a photos/ backup.example.org:photos/
  A backup that does not starve on a busy line: 2 Mb/s like an ordinary flow, and low priority above that:
      sudo netnice run --at-least 2mbit -- restic backup /home
  A backup that must be done at half past six, and has low priority while there is time:
      sudo netnice run --by 06:30 --size-of /home -- restic backup /home
  Low priority by night, and ordinary priority from half past six on:
      sudo netnice run --until 06:30 -- rclone sync /data remote:data
  A picture that shows when a transfer gave way:
      sudo netnice run --log backup.jsonl -- rsync -a photos/ backup.example.org:photos/
      netnice plot backup.jsonl
  A browser, whose downloads would use QUIC:
      sudo netnice run --no-quic -- firefox
  A BitTorrent client, which downloads and uploads over uTP:
      sudo netnice run -v -- transmission-cli debian.torrent
  A download that takes what others leave, from any server:
      sudo netnice run -- wget https://example.org/image.iso
  A server whose answers take what others leave:
      sudo netnice run -- python3 -m http.server
  A shell in which every program has low priority:
      sudo netnice run -- bash
  Not low priority, but TCP for a network that assures 2 Mb/s:
      sudo netnice run --control dstcp --target 2mbit -- rsync -a photos/ backup.example.org:photos/

Scope:
  netnice governs all TCP connections that the command and its children open, from the first byte, IPv4 and IPv6, as \
  client and as server, whatever language the programs are written in. The programs cannot change the congestion \
  control or DSCP. The congestion control governs sent data. As root, the advertised window governs received data; \
  with tcplp or hstcplp the control's own policy sets the window, with other controls netnice's policy does. Without \
  timestamps from the peer, this policy uses round trips. Data received over loopback or with Multipath TCP is not \
  governed. As root, netnice's policy also governs UDP in both directions, at the network interfaces that exist when \
  the command starts (Linux 6.6): uTP, which BitTorrent uses, and other UDP, mainly QUIC, by a queue for the command's \
  large packets, if the peer with the most traffic answers pings. --udp no turns all of this off. --no-quic refuses \
  QUIC. Not governed are connections that were open before, and \
  connections accepted on an inherited listening socket. An inherited socket without a connection also gets the \
  control, but not a socket that the command receives later from another program (SCM_RIGHTS). As root, netnice no \
  longer governs a program that has moved itself to another cgroup, as container runtimes do; -v names the cgroup if \
  it sees this. For containers use `netnice attach` or the hook `netnice oci-hook`. A 32-bit program may set another \
  control, and IPv4 connections on IPv6 sockets keep their DSCP: the kernel lets no BPF program set it.

As root and not:
  As root the command gets its own cgroup, and replaces netnice in its process. Without root it runs under a \
  supervisor that makes its sockets. This needs a registered control (`sudo netnice install`), and parameters cannot \
  be set. Setuid programs (sudo, for example) gain no privileges under it. A program gets ordinary sockets after it \
  has moved to a cgroup or a network namespace that the supervisor may not enter. socket() may fail with EINTR if a \
  signal handler without SA_RESTART runs.

Promises:
  A background process (nn-promise) keeps --until and --by, by the wall clock, even if netnice is killed. With --by \
  all connections together get a floor once the needed rate is half of their best rate so far; netnice aims to finish \
  in 95 % of the time. A line on stderr and in the system's log warns as soon as the deadline seems out of reach, and \
  another reports when it is missed; from then on the transfer is an ordinary flow. The exit code is the command's. If \
  the command is started again before the deadline, with the same words and the same time of day, netnice continues \
  its count of bytes.

Log:
  With --log each line of the file is a JSON object. The first has the command and the control; each other line has \
  `time_s`, the seconds since the beginning, and `connections`, the connections open at that time, with the fields of \
  `status --json` (rate_bits_per_second, cwnd_packets, rtt_ms, delay_over_minimum_ms, threshold_ms, state, yields, \
  gave_way, retransmitted, bytes_sent; and receive_rate_… for received data). `connection` is a number that a \
  connection has in all lines. netnice replaces an older file. With --decisions a line also has the `decisions` since \
  the line before, each with its `reason`, windows and delays, and all of these in words as `text`. To read them:
      jq -r '.decisions[]? | \"\\(.connection)  \\(.text)\"' backup.jsonl

Failures:
  If the kernel, the cgroups or the caller's privileges do not permit low priority, the command runs without it, and \
  one line on stderr says why; `netnice check` says so in advance. With --require the command does not run. An option \
  without effect (for example --no-quic without root) is always an error.

Exit code:
  The command's; 1 if --require or an option prevents it from running; 127 if there is no such command, 126 if it \
  cannot be run.";

/// Run a command with low priority for its network transfers.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// At the end, report the connections moved to low priority in one line on stderr
    #[arg(short, long)]
    verbose: bool,
    /// Report as with --verbose, as one line of JSON on stderr
    #[arg(long)]
    json: bool,
    /// Do not run the command if it cannot have low priority; without this option it runs, and one line says why it has
    /// none
    #[arg(long)]
    require: bool,
    /// Write the transfer's figures to a file as they change, for `netnice plot FILE`
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Time between two readings for --log, in seconds: 0.05 to 60
    #[arg(long, value_name = "SECONDS", default_value = "0.25", value_parser = log_interval, requires = "log")]
    log_interval: Duration,
    /// With --log, write netnice's decisions too: each change of a connection's phase, with its reason. As root only
    #[arg(long, requires = "log")]
    decisions: bool,
    /// Refuse UDP to port 443 (EPERM), so that programs use TCP, which is governed, instead of QUIC (HTTP/3). As root
    /// only
    #[arg(long, help_heading = HEADING)]
    no_quic: bool,
    /// Use your own control, from this C file, instead of one of netnice's; clang compiles it for this kernel. As root
    /// only
    #[arg(long, value_name = "FILE", conflicts_with = "control", help_heading = HEADING)]
    control_file: Option<PathBuf>,
    /// Users of other programs look for a rate limit; netnice has none, and says so
    #[arg(long, hide = true, aliases = ["limit", "bwlimit", "max-rate"], value_name = "RATE")]
    rate: Option<String>,
    /// Low priority until TIME; afterwards the command and its open connections have ordinary priority. As root only
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = PROMISES)]
    until: Option<SystemTime>,
    /// Finish by TIME: low priority at first, and a least rate (--at-least) once it is needed. TIME is a local time
    /// (06:30: its next occurrence) or a duration (+4h). As root only
    #[arg(long, value_name = "TIME", value_parser = time, requires = "how_much", help_heading = PROMISES)]
    by: Option<SystemTime>,
    /// With --by: amount of data to send or receive: 120GB
    #[arg(long, value_name = "SIZE", group = "how_much", requires = "by", help_heading = PROMISES)]
    size: Option<Bytes>,
    /// With --by: amount of data to send or receive, as the present size of these files and directories
    #[arg(long, value_name = "PATH", group = "how_much", requires = "by", num_args = 1.., value_hint = ValueHint::AnyPath, help_heading = PROMISES)]
    size_of: Vec<PathBuf>,
    /// Program to run, with its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
    #[command(flatten)]
    low_priority: LowPriority,
}

/// Runs the command and returns its exit code.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.rate.is_some() {
        // Those who look for a limit learn what there is in its place.
        let message = "netnice has no rate: it takes what others leave, however much that is; --at-least gives it a rate under which it \
                       does not fall, and a limit of the command's own, such as rsync's --bwlimit, holds as well";
        let error = crate::Netnice::command().error(ErrorKind::UnknownArgument, message);
        return Err(error.into());
    }
    let settings = match &arguments.control_file {
        None => arguments.low_priority.settings()?,
        Some(file) => arguments.low_priority.settings_of_file(file)?,
    };
    let settings = settings.with_no_quic(arguments.no_quic);
    let (name, rest) = arguments
        .command
        .split_first()
        .context("there is no command")?;
    let program = match find(name) {
        Ok(program) => program,
        Err(error) => return Ok(cannot_run(name, &error)),
    };
    if arguments.decisions {
        check_decisions(&settings)?;
    }
    netnice_guard::clear();
    if arguments.verbose || arguments.json || arguments.log.is_some() {
        return run_and_tell(arguments, &program, rest, &settings);
    }
    // Nobody waits for what is not known before the command has begun.
    let settings = match settings.udp {
        Udp::WherePossible => Settings {
            udp: Udp::Soon,
            ..settings
        },
        Udp::Soon | Udp::Yes | Udp::No => settings,
    };
    let entered = enter_and_warn(arguments, &settings)?;
    let error = become_command(&program, &arguments.command)?;
    drop(entered);
    Ok(cannot_run(name, &error.into()))
}

/// Sets low priority for this process, and reports what is unavailable. A backup that does not start is worse than one
/// without low priority: where kernel, cgroups or privileges fail, the command runs all the same, unless --require forbids
/// it. What the caller has asked for in so many words and cannot have is an error.
fn enter_and_warn(arguments: &Arguments, settings: &Settings) -> Result<Governed> {
    let entered = match enter(settings, &promise(arguments)?) {
        Err(error)
            if arguments.require
                || arguments.decisions
                || error.is_of_request()
                || settings.control.is_from_file() =>
        {
            return Err(error.into());
        }
        other => other,
    };
    match &entered {
        Ok(entered) => {
            if let Some(reason) = entered.receive_refused() {
                low_priority::say_not_received(reason);
            }
        }
        // The report as JSON has the reason.
        Err(_) if arguments.json => {}
        Err(error) => say!("netnice: the command runs without low priority: {error}"),
    }
    Ok(entered.map_err(|error| error.to_string()))
}

/// Fails if no connection can make decisions that are recorded.
fn check_decisions(settings: &Settings) -> Result<()> {
    let netnice = Control::default_control().name();
    let control = settings.control;
    let receiver = control.receiver().name();
    if control.name() == netnice || (settings.direction != Direction::Send && receiver == netnice) {
        return Ok(());
    }
    let message = format!(
        "--decisions has no effect with --control {}: only {netnice} records them\n",
        control.name()
    );
    Err(clap::Error::raw(ErrorKind::ArgumentConflict, message).into())
}

/// Heading of the options that promise something.
const PROMISES: &str = "Promises";

fn time(text: &str) -> Result<SystemTime, String> {
    clock_time::moment(text, SystemTime::now())
}

/// Returns what the command is promised.
fn promise(arguments: &Arguments) -> Result<Promise> {
    let deadline = arguments.by.map(|by| {
        let bytes = match arguments.size {
            Some(size) => size.get(),
            None => size_of(&arguments.size_of)?,
        };
        let mut name = DefaultHasher::new();
        (&arguments.command, by).hash(&mut name);
        Ok::<_, anyhow::Error>(Deadline {
            by,
            bytes,
            name: name.finish(),
        })
    });
    Ok(Promise {
        until: arguments.until,
        deadline: deadline.transpose()?,
    })
}

/// Returns the sum of the sizes of files, in directories too; links are not followed.
fn size_of(paths: &[PathBuf]) -> Result<u64> {
    let mut left = paths.to_vec();
    let mut bytes = 0;
    while let Some(path) = left.pop() {
        let reading = || format!("reading the size of {}", path.display());
        let about = path.symlink_metadata().with_context(reading)?;
        if !about.is_dir() {
            bytes += about.len();
            continue;
        }
        for entry in path.read_dir().with_context(reading)? {
            left.push(entry.with_context(reading)?.path());
        }
    }
    Ok(bytes)
}

/// Low priority, or why there is none.
type Governed = std::result::Result<Entered, String>;

fn log_interval(text: &str) -> Result<Duration, String> {
    text::seconds(text, 0.05..=60.0)
}

/// Replaces this process by the command: its exit code, signals, terminal and files are as without netnice.
fn become_command(program: &Path, command: &[OsString]) -> Result<Errno> {
    let text = |text: &OsStr| CString::new(text.as_bytes()).context("the command has a zero byte");
    let path = text(program.as_os_str())?;
    let words = command
        .iter()
        .map(|word| text(word))
        .collect::<Result<Vec<_>>>()?;
    write_signals::restore().context("restoring SIGPIPE and SIGXFSZ")?;
    let Err(mut error) = execv(&path, &words);
    if error == Errno::ENOEXEC {
        // As all shells do with a script that names no interpreter.
        let mut shell = vec![c"sh".to_owned(), path];
        shell.extend(words.into_iter().skip(1));
        let Err(other) = execv(c"/bin/sh", &shell);
        error = other;
    }
    write_signals::ignore();
    Ok(error)
}

/// Waits until the command has ended, then reports the sums.
fn run_and_tell(
    arguments: &Arguments,
    program: &Path,
    rest: &[OsString],
    settings: &Settings,
) -> Result<ExitCode> {
    let signals = HeldSignals::hold()?;
    let mut log = arguments.log.as_deref().and_then(|path| {
        let control = settings.control.name();
        let header = Header::new(control, &arguments.command, arguments.log_interval);
        let created = Writer::create(path, &header);
        // The command is worth more than its log.
        created
            .inspect_err(|error| say!("netnice: {error:#}: there will be no log"))
            .ok()
    });
    let entered = enter_and_warn(arguments, settings)?;
    let recorder = match &entered {
        Ok(entered) if arguments.decisions => Some(entered.record_decisions()?),
        _ => None,
    };
    let decided = || match &recorder {
        Some(recorder) => recorder.take().map_err(anyhow::Error::from),
        None => Ok(Vec::new()),
    };
    let name = &arguments.command[0];
    let mut command = Command::new(program);
    std::os::unix::process::CommandExt::arg0(command.args(rest), name);
    let child = match signals.release_for(&mut command).spawn() {
        Ok(child) => child,
        Err(error) => return Ok(cannot_run(name, &error)),
    };
    let summarized = (arguments.verbose || arguments.json) && entered.is_ok();
    let mut departures = summarized.then(Departures::new);
    let mut log_due = log.is_some().then(Instant::now);
    let ended = foreground::wait_and(&child, &signals, || {
        let log = log
            .as_mut()
            .filter(|_| log_due.is_some_and(|due| due <= Instant::now()));
        if let Some(log) = log {
            let read = match &entered {
                Ok(entered) => entered.connections().map_err(anyhow::Error::from),
                Err(_) => Ok(Vec::new()),
            };
            let entered = read.and_then(|open| log.enter(&open, &decided()?));
            log_due = match entered {
                Ok(()) => Some(Instant::now() + arguments.log_interval),
                Err(error) => {
                    say!("netnice: {error:#}: the log ends here");
                    None
                }
            };
        }
        let look_due = match (&mut departures, &entered) {
            (Some(seen), Ok(entered)) => Some(seen.look(entered)),
            _ => None,
        };
        let due = [log_due, look_due].into_iter().flatten().min()?;
        Some(due.saturating_duration_since(Instant::now()))
    })?;
    // What was decided after the last reading.
    if let (Some(log), Some(_)) = (&mut log, &recorder) {
        if let Err(error) = decided().and_then(|last| log.enter(&[], &last)) {
            say!("netnice: {error:#}: the log has no last decisions");
        }
    }
    match (&entered, departures) {
        (Ok(entered), Some(seen)) => {
            print_summary(arguments, entered, settings.control, &seen.outside);
        }
        (Err(reason), _) if arguments.json => {
            print_json(&Summary::ungoverned(reason, settings.control));
        }
        _ => {}
    }
    match ended {
        Ended::Exited(code) => Ok(ExitCode::from(code)),
        Ended::Killed(number) => Ok(die_of(number)),
    }
}

/// The processes of the command that were seen outside its cgroup.
struct Departures {
    outside: BTreeSet<Outside>,
    due: Instant,
    interval: Duration,
}

impl Departures {
    /// A container that has been started shows soon. After that a look, which reads all of /proc, must cost next to nothing.
    const INTERVALS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

    fn new() -> Self {
        Self {
            outside: BTreeSet::new(),
            due: Instant::now(),
            interval: Self::INTERVALS[0],
        }
    }

    /// Looks if it is time to; returns the time of the next look.
    fn look(&mut self, entered: &Entered) -> Instant {
        if self.due <= Instant::now() {
            self.outside.extend(entered.outside());
            entered.keep();
            self.due = Instant::now() + self.interval;
            self.interval = (self.interval * 2).min(Self::INTERVALS[1]);
        }
        self.due
    }
}

/// Ends this process by the signal that ended the command, so that a shell sees the same status.
fn die_of(number: Signal) -> ExitCode {
    // The command has dumped its own core, if it was to.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    // SAFETY: the default action runs no code of this program.
    let _ = unsafe { signal(number, SigHandler::SigDfl) };
    let _ = nix::sys::signal::SigSet::from(number).thread_unblock();
    let _ = raise(number);
    ExitCode::from(128 + number as u8)
}

pub(super) fn cannot_run(name: &OsStr, error: &io::Error) -> ExitCode {
    let not_found = error.kind() == io::ErrorKind::NotFound;
    let program = find(name).ok().filter(|_| not_found);
    let name = Path::new(name).display();
    if let Some(program) = program {
        match interpreter::missing(&program) {
            Some(interpreter) => say!(
                "netnice: `{name}` cannot be run: its interpreter `{}` does not exist",
                interpreter::written(&interpreter)
            ),
            None => say!(
                "netnice: `{name}` cannot be run: its interpreter or loader does not exist; `file {}` tells which it \
                is",
                program.display()
            ),
        }
        ExitCode::from(126)
    } else if not_found {
        say!("netnice: there is no command `{name}`: give its path, or see that it is in PATH");
        ExitCode::from(127)
    } else {
        say!("netnice: `{name}` cannot be run: {error}");
        ExitCode::from(126)
    }
}

/// Finds a command like execvp: by its path if it contains a slash, else along `PATH`.
pub(super) fn find(name: &OsStr) -> io::Result<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        path.metadata()?;
        return Ok(path);
    }
    let directories = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut denied = false;
    for directory in std::env::split_paths(&directories) {
        let path = match directory.as_os_str().is_empty() {
            true => Path::new(".").join(name),
            false => directory.join(name),
        };
        match path.metadata() {
            Ok(file) if file.is_file() && file.permissions().mode() & 0o111 != 0 => {
                return Ok(path);
            }
            Ok(file) => denied |= file.is_file(),
            Err(error) => denied |= error.kind() == io::ErrorKind::PermissionDenied,
        }
    }
    match denied && !name.is_empty() {
        true => Err(io::ErrorKind::PermissionDenied.into()),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Output of `--json`. Unknown values are `null`.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    control: &'a str,
    means: &'a str,
    connections: Option<u64>,
    bytes_sent: Option<u64>,
    bytes_received: Option<u64>,
    yields: Option<u64>,
    /// `yields` by cause; zeros of controls that tell none.
    gave_way: Option<GaveWay>,
    without_timestamps: Option<u64>,
    /// True if received data has low priority, too, where the peers allow it.
    receives: bool,
    /// Control whose policy governs received data, if one does.
    receiver: Option<&'static str>,
    /// Connections whose received data was governed, bytes that they received, and number of times they yielded.
    receiving_connections: Option<u64>,
    receiving_bytes: Option<u64>,
    receiving_yields: Option<u64>,
    receiving_gave_way: Option<GaveWay>,
    /// Connections over uTP that were governed, bytes of data that passed on them, and number of times they yielded.
    utp_connections: Option<u64>,
    utp_bytes_sent: Option<u64>,
    utp_bytes_received: Option<u64>,
    utp_yields: Option<u64>,
    /// Why uTP is not governed although it was to be where it can.
    utp_ungoverned_because: Option<&'a str>,
    /// Bytes of large packets of other UDP, and how it is governed, or why not; null where nothing is to be said of it.
    udp_bytes_sent: Option<u64>,
    udp_bytes_received: Option<u64>,
    udp: Option<String>,
    /// Packets of other UDP of any size that left.
    udp_packets_sent: Option<u64>,
    /// True if connections that the command accepted are missing from the sums.
    accepted_uncounted: Option<bool>,
    /// Connections that were left with another control than the run's: the kernel or another program saw to that.
    ungoverned_connections: Option<u64>,
    /// Sockets of which no connection is known to have had the control, where the supervisor counts.
    unaccounted_sockets: Option<u64>,
    /// Number of times another program changed the control of a connection and it was set again at once.
    restored: Option<u64>,
    /// Programs of others, in the kernel, that are called for the command's connections and may change them.
    other_programs: Vec<String>,
    /// Reason open connections are missing from the sums, if they are.
    open_uncounted: Option<String>,
    /// Sockets that were handed in without a connection and got the control; they are missing from the sums.
    handed_in_governed: usize,
    /// Sockets that were handed in connected or listening, which were left as they are.
    handed_in_left: usize,
    /// Cgroups without low priority to which processes of the command were seen to have moved.
    left_for_cgroups: BTreeSet<&'a str>,
    /// Why the command ran without low priority, if it did.
    ungoverned_because: Option<&'a str>,
}

impl<'a> Summary<'a> {
    fn new(
        sums: Option<Sums>,
        missing: Option<String>,
        means: &'a str,
        receives: bool,
        control: Control,
        ungoverned: &Ungoverned<'a>,
    ) -> Self {
        let totals = sums.map(|sums| sums.totals);
        let readable = sums.filter(|sums| sums.yields_unread == 0);
        Self {
            control: control.name(),
            means,
            connections: totals.map(|totals| totals.sockets),
            bytes_sent: totals.map(|totals| totals.bytes_sent),
            bytes_received: totals.map(|totals| totals.bytes_received),
            yields: readable.map(|sums| sums.totals.yields),
            gave_way: readable.map(|sums| sums.totals.gave_way),
            without_timestamps: totals.map(|totals| totals.without_timestamps),
            receives,
            receiver: receives.then(|| control.receiver().name()),
            receiving_connections: totals.map(|totals| totals.receiving_sockets),
            receiving_bytes: totals.map(|totals| totals.receiving_bytes),
            receiving_yields: totals.map(|totals| totals.receiving_yields),
            receiving_gave_way: totals.map(|totals| totals.receiving_gave_way),
            utp_connections: totals.map(|totals| totals.utp_connections),
            utp_bytes_sent: totals.map(|totals| totals.utp_bytes_sent),
            utp_bytes_received: totals.map(|totals| totals.utp_bytes_received),
            utp_yields: totals.map(|totals| totals.utp_yields),
            utp_ungoverned_because: ungoverned.utp_refused,
            udp_bytes_sent: totals.map(|totals| totals.udp_bytes_sent),
            udp_bytes_received: totals.map(|totals| totals.udp_bytes_received),
            udp: ungoverned.other_udp.clone(),
            udp_packets_sent: totals.map(|totals| totals.udp_packets_sent),
            accepted_uncounted: sums.map(|sums| sums.accepted_uncounted > 0),
            ungoverned_connections: totals.map(|totals| totals.ungoverned()),
            unaccounted_sockets: sums.map(|sums| sums.unaccounted),
            restored: totals.map(|totals| totals.restored),
            other_programs: ungoverned.others.iter().map(Other::to_string).collect(),
            open_uncounted: missing,
            handed_in_governed: ungoverned.handed_in.governed,
            handed_in_left: ungoverned.handed_in.left,
            left_for_cgroups: ungoverned.cgroups(),
            ungoverned_because: None,
        }
    }

    /// Of a command that ran without low priority.
    fn ungoverned(reason: &'a str, control: Control) -> Self {
        static NOBODY: BTreeSet<Outside> = BTreeSet::new();
        let nothing = Ungoverned {
            handed_in: HandedIn::default(),
            outside: &NOBODY,
            others: Vec::new(),
            sums: Sums::default(),
            utp_refused: None,
            other_udp: None,
        };
        Self {
            ungoverned_because: Some(reason),
            ..Self::new(None, None, "nothing", false, control, &nothing)
        }
    }
}

/// Connections and processes that the sums do not cover.
struct Ungoverned<'a> {
    handed_in: HandedIn,
    outside: &'a BTreeSet<Outside>,
    /// Programs in the kernel that may change connections.
    others: Vec<Other>,
    sums: Sums,
    utp_refused: Option<&'a str>,
    /// How UDP other than uTP was governed, or why not.
    other_udp: Option<String>,
}

impl<'a> Ungoverned<'a> {
    fn cgroups(&self) -> BTreeSet<&'a str> {
        self.outside.iter().map(|one| one.cgroup.as_str()).collect()
    }

    /// Returns true if something was moved under another control, as far as that is known.
    fn had_other_controls(&self) -> bool {
        self.sums.totals.ungoverned() + self.sums.unaccounted > 0
    }

    /// Formats it in a sentence each.
    fn in_words(&self) -> Vec<String> {
        let HandedIn { governed, left } = self.handed_in;
        let mut sentences = Vec::new();
        if governed > 0 {
            let sockets = text::count(governed as u64, "socket");
            sentences.push(format!(
                "{sockets} handed in without a connection got the control, too, and what is sent there is not counted"
            ));
        }
        if left > 0 {
            let sockets = text::count(left as u64, "socket");
            sentences.push(format!(
                "{sockets} handed in connected or listening stayed as before: `netnice renice` governs such"
            ));
        }
        let others: Vec<String> = self.others.iter().map(Other::to_string).collect();
        let others = others.join(", ");
        match (self.sums.totals.ungoverned(), others.is_empty()) {
            (0, _) => {}
            (number, true) => sentences.push(format!(
                "not governed: {}, since the kernel refused the control, or another program replaced it",
                text::count(number, "connection")
            )),
            (number, false) => sentences.push(format!(
                "not governed: {}, since {others} replaced the control, or the kernel refused it",
                text::count(number, "connection")
            )),
        }
        if self.sums.totals.restored > 0 {
            let times = text::count(self.sums.totals.restored, "time");
            sentences.push(format!(
                "another control was set by {others} {times}, and set back at once"
            ));
        }
        // Of other causes the sentences above say more.
        let known = Sums {
            unaccounted: self.sums.unaccounted,
            totals: Totals {
                sockets: self.sums.totals.sockets,
                ..Totals::default()
            },
            ..Sums::default()
        };
        sentences.extend(
            known
                .ungoverned(true)
                .map(|words| format!("not governed: {words}")),
        );
        sentences.extend(
            self.utp_refused
                .map(|reason| format!("UDP is not governed: {reason}")),
        );
        for cgroup in self.cgroups() {
            let mut there = self.outside.iter().filter(|one| one.cgroup == cgroup);
            let first = there.next().map_or(0, |one| one.pid);
            let others = match there.count() {
                0 => String::new(),
                number => format!(" and {}", text::count(number as u64, "other")),
            };
            sentences.push(format!(
                "process {first}{others} left low priority for the cgroup {cgroup}: `netnice attach {cgroup}` governs it while it exists"
            ));
        }
        sentences
    }
}

fn print_json(summary: &Summary<'_>) {
    match serde_json::to_string(summary) {
        Ok(line) => say!("{line}"),
        Err(error) => say!("netnice: {error}"),
    }
}

fn print_summary(
    arguments: &Arguments,
    entered: &Entered,
    control: Control,
    outside: &BTreeSet<Outside>,
) {
    let (sums, listed) = entered.sums();
    let ungoverned = Ungoverned {
        handed_in: entered.handed_in(),
        outside,
        others: entered.others(),
        sums: sums.unwrap_or_default(),
        utp_refused: entered.utp_refused(),
        other_udp: entered.other_udp(),
    };
    let missing = listed.err().map(|error| error.to_string());
    let means = entered.means();
    if arguments.json {
        let receives = entered.receives();
        let summary = Summary::new(sums, missing, means, receives, control, &ungoverned);
        return print_json(&summary);
    }
    let mut words = in_words(sums, missing.is_some(), means, control);
    if let Some(sums) = sums {
        words += &received(&sums.totals, entered.receives(), control);
        if let Some(utp) = low_priority::over_utp(&sums.totals) {
            words += &format!("; uTP: {utp}");
        }
        if let Some(udp) = low_priority::over_udp(&sums.totals, ungoverned.other_udp.as_deref()) {
            words += &format!("; other UDP: {udp}");
        }
    }
    let none = sums.is_some_and(|sums| moved_nothing(&sums.totals));
    // Without a connection of the command's own, those on sockets handed in must not seem to be nothing, nor others.
    if !none || (ungoverned.handed_in.governed == 0 && !ungoverned.had_other_controls()) {
        say!("netnice: {words}");
    }
    if let Some(missing) = missing {
        say!("netnice: {missing}");
    }
    for sentence in ungoverned.in_words() {
        say!("netnice: {sentence}");
    }
}

/// Returns true if no connection was governed, as far as that is known.
fn moved_nothing(totals: &Totals) -> bool {
    totals.sockets == 0
        && totals.receiving_sockets == 0
        && totals.utp_connections == 0
        && !totals.moved_other_udp()
}

/// Formats the sums in one line. With `open_missing` they lack the open connections.
fn in_words(sums: Option<Sums>, open_missing: bool, means: &str, control: Control) -> String {
    let (name, standing) = (control.name(), standing(control));
    let Some(sums) = sums else {
        return format!("{standing} ({name}) by {means}; how much was moved is not known here");
    };
    let totals = sums.totals;
    let mut notes = String::new();
    if open_missing {
        notes += "; connections that are still open are not counted";
    }
    if sums.accepted_uncounted > 0 {
        notes += "; connections that the command accepted are counted for root only";
    }
    if totals.sockets == 0 && !moved_nothing(&totals) {
        return format!("{standing} by {means}{notes}");
    }
    if totals.sockets == 0 {
        return match notes.is_empty() {
            true => "nothing was moved at low priority: no TCP connection was opened that can be \
                     governed (what is received by Multipath TCP, or from this host itself, cannot; UDP can as root \
                     only, on Linux 6.6 or later)"
                .to_owned(),
            false => format!("{standing} ({name}) by {means}: no finished connection{notes}"),
        };
    }
    let mut words = format!(
        "{} {} {standing} ({name}, by {means}): {} sent, {} received",
        text::count(totals.sockets, "connection"),
        if control.is_low_priority() {
            "at"
        } else {
            "with"
        },
        text::bytes(totals.bytes_sent),
        text::bytes(totals.bytes_received),
    );
    if control.is_low_priority() {
        let at_least = if sums.yields_unread > 0 {
            "at least "
        } else {
            ""
        };
        let times = times(totals.yields, &totals.gave_way);
        words += &format!(", gave way {at_least}{times}");
        if totals.without_timestamps > 0 {
            let without = text::count(totals.without_timestamps, "peer");
            words +=
                &format!("; {without} sent no timestamps, so round trips were measured instead");
        }
    }
    words + &notes
}

/// Formats how often connections gave way, and to what, as far as the control tells that.
fn times(yields: u64, gave_way: &GaveWay) -> String {
    let times = text::count(yields, "time");
    match gave_way.in_words() {
        causes if causes.is_empty() => times,
        causes => format!("{times}: {causes}"),
    }
}

/// Returns a note on the receiving side, which the sums over sent data do not cover.
fn received(totals: &Totals, governed: bool, control: Control) -> String {
    if totals.receiving_sockets > 0 {
        return format!(
            "; as receiver ({}): {}, {} received, gave way {}",
            control.receiver().name(),
            text::count(totals.receiving_sockets, "connection"),
            text::bytes(totals.receiving_bytes),
            times(totals.receiving_yields, &totals.receiving_gave_way),
        );
    }
    match (totals.mostly_received(), governed) {
        (false, _) => String::new(),
        (true, true) => {
            "; it mostly received, which could not be governed (Multipath TCP, or this \
                         host itself)"
                .to_owned()
        }
        (true, false) => "; it mostly received, which has low priority as root only (see \
                          --direction)"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_as_a_shell_finds_them() {
        assert!(find(OsStr::new("sh")).unwrap().ends_with("sh"));
        assert_eq!(find(OsStr::new("/bin/sh")).unwrap(), Path::new("/bin/sh"));
        for missing in ["no-such-command-here", "/no/such/command", ""] {
            let error = find(OsStr::new(missing)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{missing}");
        }
    }

    fn upload() -> Sums {
        Sums {
            totals: Totals {
                sockets: 1,
                bytes_sent: 12_345_678,
                bytes_received: 1000,
                yields: 3,
                ..Totals::default()
            },
            ..Sums::default()
        }
    }

    #[test]
    fn the_summary_says_what_was_moved_or_why_nothing_was() {
        let netnice = Control::default_control();
        let nothing = in_words(Some(Sums::default()), false, "cgroup", netnice);
        assert!(nothing.contains("no TCP connection"), "{nothing}");
        assert_eq!(
            in_words(Some(upload()), false, "cgroup", netnice),
            "1 connection at low priority (netnice, by cgroup): 12.3 MB sent, 1.00 kB received, \
             gave way 3 times"
        );
        let mut told = upload();
        told.totals.yields = 14;
        told.totals.gave_way = GaveWay::from([11, 2, 1, 0]);
        let words = in_words(Some(told), false, "cgroup", netnice);
        let expected = ", gave way 14 times: 11 to a queue, 2 to losses, 1 in a fair queue";
        assert!(words.ends_with(expected), "{words}");
        let dstcp = Control::find("dstcp").unwrap();
        assert_eq!(
            in_words(Some(upload()), false, "cgroup", dstcp),
            "1 connection with TCP for Diff-Serv (dstcp, by cgroup): 12.3 MB sent, 1.00 kB received"
        );
        let mut download = upload();
        assert!(!download.totals.mostly_received());
        download.totals.bytes_sent = 500;
        download.totals.bytes_received = 5_000_000;
        assert!(download.totals.mostly_received());
        let refused = received(&download.totals, false, netnice);
        assert!(refused.contains("as root only"), "{refused}");
        assert!(received(&download.totals, true, netnice).contains("could not be governed"));
        download.totals.receiving_sockets = 1;
        download.totals.receiving_bytes = 5_000_000;
        download.totals.receiving_yields = 2;
        assert_eq!(
            received(&download.totals, true, netnice),
            "; as receiver (netnice): 1 connection, 5.00 MB received, gave way 2 times"
        );
        download.totals.receiving_yields = 1;
        download.totals.receiving_gave_way.losses = 1;
        let words = received(&download.totals, true, netnice);
        assert!(words.ends_with(", gave way 1 time: 1 to losses"), "{words}");
        let torrent = Totals {
            utp_connections: 2,
            utp_bytes_sent: 3_000_000,
            utp_bytes_received: 4_000,
            utp_yields: 1,
            ..Totals::default()
        };
        let sums = Sums {
            totals: torrent,
            ..Sums::default()
        };
        let words = in_words(Some(sums), false, "cgroup", netnice);
        assert_eq!(words, "low priority by cgroup");
        let expected = "2 connections, 3.00 MB sent, 4.00 kB received, gave way 1 time";
        assert_eq!(low_priority::over_utp(&torrent).as_deref(), Some(expected));
        download.totals.without_timestamps = 1;
        let words = in_words(Some(download), false, "cgroup", netnice);
        assert!(words.contains("1 peer sent no timestamps"), "{words}");
    }

    #[test]
    fn no_figure_stands_for_what_is_not_known() {
        let netnice = Control::default_control();
        let unknown = in_words(None, false, "supervisor of an outer `netnice run`", netnice);
        assert!(unknown.contains("not known"), "{unknown}");
        let served = Sums {
            accepted_uncounted: 1,
            ..Sums::default()
        };
        for (sums, open_missing, expected) in [
            (served, false, "accepted are counted for root only"),
            (Sums::default(), true, "still open are not counted"),
            (upload(), true, "still open are not counted"),
        ] {
            let words = in_words(Some(sums), open_missing, "supervisor", netnice);
            assert!(words.contains(expected), "{words}");
            assert!(!words.contains("nothing was moved"), "{words}");
        }
        let mut unread = upload();
        unread.yields_unread = 1;
        let words = in_words(Some(unread), false, "supervisor", netnice);
        assert!(words.contains("gave way at least 3 times"), "{words}");
        let all = Ungoverned {
            handed_in: HandedIn::default(),
            outside: &BTreeSet::new(),
            others: Vec::new(),
            sums: Sums::default(),
            utp_refused: None,
            other_udp: None,
        };
        let summary = Summary::new(Some(unread), None, "supervisor", false, netnice, &all);
        assert_eq!((summary.yields, summary.connections), (None, Some(1)));
    }

    #[test]
    fn what_left_low_priority_has_a_line_for_each_cgroup() {
        let outside = [(7, "/a"), (8, "/a"), (9, "/b")];
        let outside = outside.map(|(pid, cgroup)| Outside {
            pid,
            cgroup: cgroup.to_owned(),
        });
        let outside = BTreeSet::from(outside);
        let handed_in = HandedIn {
            governed: 1,
            left: 2,
        };
        let other = Other {
            name: "tune".to_owned(),
            id: 3,
            cgroup: "/".to_owned(),
        };
        let ungoverned = Ungoverned {
            handed_in,
            outside: &outside,
            others: vec![other],
            sums: Sums {
                totals: Totals {
                    refused: 1,
                    displaced: 3,
                    restored: 2,
                    ..Totals::default()
                },
                unaccounted: 4,
                ..Sums::default()
            },
            utp_refused: Some("the kernel lacks it"),
            other_udp: None,
        };
        let words = ungoverned.in_words();
        let begins = [
            "1 socket handed in without a connection got the control",
            "2 sockets handed in connected or listening stayed",
            "not governed: 2 connections, since the program tune (id 3) on the cgroup / replaced",
            "another control was set by the program tune (id 3) on the cgroup / 2 times, and",
            "not governed: no connection of 4 sockets had the control: ",
            "UDP is not governed: the kernel lacks it",
            "process 7 and 1 other left low priority for the cgroup /a: ",
            "process 9 left low priority for the cgroup /b: ",
        ];
        assert_eq!(words.len(), begins.len(), "{words:?}");
        for (sentence, begin) in words.iter().zip(begins) {
            assert!(sentence.starts_with(begin), "{sentence}");
        }
    }
}
