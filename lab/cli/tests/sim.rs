// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice sim` and `netnice plot`, as users call them; none of it needs root.

#[path = "../../../nice/cli/tests/program/mod.rs"]
mod program;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use netnice_results::Manifest;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use program::{ended, ended_in_one_line, netnice, place, run, succeeded, text, wait_until};

const SCENARIO: &str = "name = \"small\"
duration = \"2s\"
warm_up = \"500ms\"
seeds = 2
sampling = { interval = \"100ms\" }
[defaults.links]
rate = \"10mbit\"
delay = \"5ms\"
[sweep]
links.bottleneck.rate = [\"1mbit\", \"2mbit\"]
[[links]]
from = \"a\"
to = \"b\"
[[links]]
name = \"bottleneck\"
from = \"b\"
to = \"c\"
queue = \"20p\"
[[flows]]
name = \"bulk\"
from = \"a\"
to = \"c\"
start_spread = \"100ms\"
";

#[test]
fn a_table_lists_flows_and_queues_of_each_point() {
    let (_directory, file) = place(SCENARIO);
    let table = succeeded(&run(&["sim", text(&file)]));
    assert!(
        table.starts_with("small: 4 runs, means over 2 seeds"),
        "{table}"
    );
    assert_eq!(
        table
            .lines()
            .filter(|line| line.contains("  bulk "))
            .count(),
        2
    );
    assert!(table.contains("2mbit"), "{table}");
    assert!(table.contains("bottleneck"), "{table}");
}

#[test]
fn figures_of_the_scenario_have_a_column_for_each_point() {
    let (directory, file) = place(SCENARIO);
    let figure = "[[figures]]\nname = \"of two megabits\"\nquantity = \"throughput\"\nflows = [\"bulk\"]\nover = { rate = \"2mbit\" }\n";
    fs::write(&file, format!("{SCENARIO}{figure}")).unwrap();
    let out = directory.path().join("out");
    let table = succeeded(&run(&["sim", text(&file), "--out", text(&out)]));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>(),
        ["1mbit", "2mbit"]
    );
    // The link is always busy: half of it all, and all of it.
    let percents: Vec<f64> = lines[3]
        .strip_prefix("of two megabits")
        .unwrap()
        .split('%')
        .filter_map(|cell| cell.split('±').next()?.trim().parse().ok())
        .collect();
    assert!((45.0..50.5).contains(&percents[0]), "{table}");
    assert!((95.0..100.5).contains(&percents[1]), "{table}");
    let names = succeeded(&run(&["plot", text(&out)]));
    assert!(names.contains("figures_ratio.svg"), "{names}");
    let drawn = fs::read_to_string(out.join("plots/figures_ratio.svg")).unwrap();
    assert!(drawn.contains("small: of two megabits"), "{drawn}");
    let compared = succeeded(&run(&["compare", text(&out), text(&out)]));
    assert!(compared.contains("of two megabits"), "{compared}");
}

#[test]
fn one_value_of_a_sweep_each_is_compared() {
    let (directory, file) = place(SCENARIO);
    let out = |name: &str| directory.path().join(name);
    for (name, more) in [
        ("one", &["links.bottleneck.rate=1mbit"][..]),
        (
            "two",
            &["links.bottleneck.rate=2mbit", "flows.bulk.count=3"],
        ),
        ("three", &["links.bottleneck.rate=[\"3mbit\", \"4mbit\"]"]),
    ] {
        let out = out(name);
        let mut arguments = vec!["sim", text(&file), "--quiet", "--out", text(&out)];
        arguments.extend(more.iter().flat_map(|setting| ["--set", setting]));
        succeeded(&run(&arguments));
    }
    let (one, two, three) = (out("one"), out("two"), out("three"));
    let compare = |more: &[&str]| run(&[&["compare", text(&one), text(&two)], more].concat());
    let table = succeeded(&compare(&[]));
    for line in [
        "Settings that differ, A / B:",
        "  links.bottleneck.rate: 1mbit / 2mbit",
        "  flows.bulk.count: not set / 3",
        "*  the 95 % confidence intervals do not overlap",
    ] {
        assert!(table.contains(line), "{table}");
    }
    let rows = |table: &str| table.lines().filter(|line| line.contains(" ± ")).count();
    let throughput = succeeded(&compare(&["--only", "bulk throughput"]));
    assert_eq!(rows(&throughput), 1, "{throughput}");
    // Zero in both, and of a link that is hardly used.
    let drops = ["--only", "bottleneck (reverse) drops"];
    assert_eq!(rows(&succeeded(&compare(&drops))), 1);
    assert!(!table.contains("(reverse)"), "{table}");
    let differing = succeeded(&compare(&["--differing"]));
    assert!((1..rows(&table)).contains(&rows(&differing)), "{differing}");
    assert!(
        differing
            .lines()
            .filter(|line| line.contains(" ± "))
            .all(|line| line.contains('*')),
        "{differing}"
    );
    let json = succeeded(&compare(&["--json", "--only", "bulk throughput"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["differences"][0]["a"], "1mbit");
    assert_eq!(json["points"][0]["rows"].as_array().unwrap().len(), 1);
    ended(&compare(&["--only", "nothing"]), 1, "no figure has nothing");
    ended(
        &run(&["compare", text(&one), text(&three)]),
        1,
        "links.bottleneck.rate is 1mbit in A and is 3mbit, 4mbit in B",
    );
}

#[test]
fn a_figure_without_a_divisor_is_a_dash() {
    let phases = "[[phases]]\nname = \"before\"\nfrom = \"0ms\"\nto = \"500ms\"\n";
    let flow = "start = \"600ms\"\n";
    let figure = |name: &str, of: &str, over: &str| {
        format!(
            "[[figures]]\nname = \"{name}\"\nflows = [\"{of}\"]\nover = {{ flows = [\"bulk\"], {over} }}\n"
        )
    };
    let figures =
        figure("of nothing", "bulk", "phase = \"before\"") + &figure("of all", "bulk", "");
    // Figures of flows that are left out are no rows.
    let none = "[[flows]]\nname = \"none\"\nfrom = \"a\"\nto = \"c\"\ncount = 0\n";
    let figures = figures + &figure("of none", "none", "");
    let (_directory, file) = place(&format!("{SCENARIO}{flow}{none}{phases}{figures}"));
    let table = succeeded(&run(&["sim", text(&file)]));
    let cells = |name: &str| -> Option<Vec<String>> {
        let row = table.lines().find_map(|line| line.strip_prefix(name));
        Some(row?.split_whitespace().map(str::to_owned).collect())
    };
    assert_eq!(
        cells("of nothing"),
        Some(vec!["-".to_owned(); 2]),
        "{table}"
    );
    assert!(
        cells("of all").is_some_and(|cells| cells[0] == "100.0"),
        "{table}"
    );
    assert_eq!(cells("of none"), None, "{table}");
}

#[test]
fn runs_that_are_all_the_same_are_noted() {
    let spread = "start_spread = \"100ms\"\n";
    let (_directory, file) = place(&SCENARIO.replace(spread, ""));
    let said = |arguments: &[&str]| {
        let output = run(&[&["sim", text(&file)], arguments].concat());
        succeeded(&output);
        String::from_utf8_lossy(&output.stderr).contains("the runs of all seeds are the same")
    };
    assert!(said(&[]));
    assert!(!said(&["--quiet"]));
    assert!(!said(&["--seeds", "1"]));
    assert!(!said(&["--set", "flows.bulk.start_spread=100ms"]));
}

#[test]
fn options_for_numbers_say_what_is_allowed() {
    let (_directory, file) = place(SCENARIO);
    for (option, value, words) in [
        ("--jobs", "0", "give a whole number of at least 1"),
        (
            "--seeds",
            "1-5",
            "from 1 to 100000; the seeds are 1 to this number, and --set seeds='[3, 5]'",
        ),
        ("--seeds", "0", "give a whole number from 1 to 100000"),
    ] {
        let output = run(&["sim", text(&file), option, value]);
        ended(&output, 2, words);
    }
}

#[test]
fn a_control_in_a_file_is_given_to_flows() {
    let (directory, file) = place(SCENARIO);
    let ledbat = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/examples/ledbat.h");
    let of = |name: &str| format!("{name}={}", text(&ledbat));
    let out = directory.path().join("out");
    let words = ["sim", text(&file), "--out", text(&out), "--control-file"];
    succeeded(&run(&[&words[..], &[&of("bulk")]].concat()));
    let flows = fs::read_to_string(out.join("flows.csv")).unwrap();
    assert_eq!(flows.matches("ledbat.h").count(), 4, "{flows}");
    let wrong = run(&["sim", text(&file), "--control-file", &of("bulky")]);
    ended(
        &wrong,
        2,
        "there are no flows `bulky` over TCP; there are bulk",
    );
    // A scenario's own files are code that nobody has chosen yet.
    let reno = "name = \"bulk\"\n";
    let theirs = fs::read_to_string(&file).unwrap();
    assert_eq!(theirs.matches(reno).count(), 1);
    let named = format!("{reno}congestion_control = {:?}\n", text(&ledbat));
    fs::write(&file, theirs.replace(reno, &named)).unwrap();
    let refused = run(&["sim", text(&file)]);
    let message = ended(&refused, 2, "flows[0].congestion_control: ");
    assert!(message.contains("--allow-control-files"), "{message}");
    succeeded(&run(&["sim", text(&file), "--allow-control-files"]));
    succeeded(&run(&["sim", text(&file), "--control-file", &of("bulk")]));
}

#[test]
fn results_are_the_same_whatever_the_number_of_jobs() {
    let (directory, file) = place(SCENARIO);
    let mut summaries = Vec::new();
    for jobs in ["1", "4"] {
        let out = directory.path().join(jobs);
        let arguments = [
            "sim",
            text(&file),
            "--quiet",
            "--jobs",
            jobs,
            "--out",
            text(&out),
        ];
        assert_eq!(succeeded(&run(&arguments)), "");
        for name in [
            "manifest.json",
            "scenario.toml",
            "flows.csv",
            "queues.csv",
            "series.csv",
        ] {
            assert!(out.join(name).exists(), "{name}");
        }
        assert_eq!(fs::read_dir(out.join("runs")).unwrap().count(), 4);
        summaries.push(fs::read(out.join("summary.csv")).unwrap());
    }
    assert_eq!(summaries[0], summaries[1]);
}

#[test]
fn fewer_threads_than_jobs_silently_make_the_same_runs() {
    let (_directory, file) = place(SCENARIO);
    let limited = |kilobytes: u32| {
        // Stacks of 1 GiB, so that little memory has room for few threads.
        let script = format!("ulimit -v {kilobytes}; exec \"$0\" sim \"$1\" --quiet --jobs 200");
        Command::new("sh")
            .args([
                "-c",
                &script,
                env!("CARGO_BIN_EXE_netnice-lab"),
                text(&file),
            ])
            .env("RUST_MIN_STACK", (1 << 30).to_string())
            .output()
            .unwrap()
    };
    succeeded(&limited(2_500_000));
    let none = limited(900_000);
    ended_in_one_line(&none, 1, "starting a thread");
}

#[test]
fn completion_times_are_shown_and_percentiles_of_few_are_not() {
    let (_directory, file) = place(
        "name = \"n\"\nduration = \"20s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8mbit\"\n
[[flows]]\nname = \"file\"\nfrom = \"a\"\nto = \"b\"\nbytes = \"1MB\"\ncongestion_control = \"reno\"
[[flows]]\nname = \"few\"\nfrom = \"a\"\nto = \"b\"\ncongestion_control = \"reno\"
application = { kind = \"arrivals\", between_flows = \"500ms\", size = { kind = \"pareto\", mean = \"20kB\", shape = 1.5 } }
[[figures]]\nname = \"file takes\"\nquantity = \"completion_time\"\nflows = [\"file\"]\n",
    );
    let report = succeeded(&run(&["sim", text(&file)]));
    let line = |begin: &str| {
        let line = report.lines().find(|line| line.starts_with(begin));
        line.unwrap_or_else(|| panic!("{begin}: {report}"))
    };
    // 1 MB of 8 Mb/s, and headers.
    assert!(line("file takes").contains(" 1."), "{report}");
    assert!(line("file ").ends_with(" s"), "{report}");
    assert!(!report.contains("Jain"), "{report}");
    // Some forty transfers: their 99th percentile would be the longest.
    let headings = report.lines().find(|line| line.contains("unfinished"));
    let headings = headings.unwrap();
    assert!(
        headings.contains("95 %") && !headings.contains("99 %"),
        "{headings}"
    );
    let unbounded = run(&[
        "sim",
        text(&file),
        "--set",
        "figures=[{name=\"n\",quantity=\"completion_time\",flows=[\"few\"]}]",
    ]);
    ended(&unbounded, 2, "only flows with `bytes` are");
}

#[test]
fn what_is_there_is_not_computed_again_and_not_overwritten() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    let arguments = ["sim", text(&file), "--json", "--out", text(&out)];
    let first = succeeded(&run(&arguments));
    let again = run(&arguments);
    ended(&again, 1, "--resume");

    // A run that is reused keeps its file; one that is made again is renamed to its place.
    let kept = out.join("runs/point-00000-seed-1.json");
    let edited = out.join("runs/point-00000-seed-2.json");
    let inode = |file: &Path| fs::metadata(file).unwrap().ino();
    let (kept_before, edited_before) = (inode(&kept), inode(&edited));
    let mut found: serde_json::Value = serde_json::from_slice(&fs::read(&edited).unwrap()).unwrap();
    found["flows"][0]["goodput_bps"] = 12345.0.into();
    fs::write(&edited, found.to_string()).unwrap();
    fs::remove_file(out.join("runs/point-00001-seed-2.json")).unwrap();
    let resumed = run(&[&arguments[..], &["--resume"]].concat());
    let points = |summary: &str| {
        let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
        summary["points"].clone()
    };
    assert_eq!(points(&succeeded(&resumed)), points(&first));
    ended_in_one_line(
        &resumed,
        0,
        "seed-2.json: the file is not as it was written",
    );
    assert_eq!(inode(&kept), kept_before);
    assert_ne!(inode(&edited), edited_before);

    let other = run(&[&arguments[..], &["--resume", "--set", "duration=3s"]].concat());
    ended(&other, 1, "without these settings");
    let fewer = run(&[&arguments[..], &["--resume", "--seeds", "1"]].concat());
    ended(&fewer, 1, "further seeds, such as 2");
    let more = run(&[&arguments[..], &["--resume", "--seeds", "3"]].concat());
    assert_eq!(points(&succeeded(&more)).as_array().unwrap().len(), 2);
    assert_eq!(inode(&kept), kept_before);
    assert!(out.join("runs/point-00001-seed-3.json").exists());
}

#[test]
fn input_without_end_is_refused_with_one_line() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    let arguments = ["sim", text(&file), "--quiet", "--out", text(&out)];
    succeeded(&run(&arguments));
    let endless = out.join("runs/point-00000-seed-1.json");
    fs::remove_file(&endless).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    let trace = directory.path().join("trace.toml");
    let flow = "application = { kind = \"trace\", file = \"/dev/zero\" }";
    let scenario = fs::read_to_string(&file).unwrap();
    fs::write(
        &trace,
        format!("{scenario}\n[[flows]]\nname = \"t\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"),
    )
    .unwrap();
    for (arguments, code, word) in [
        (&["sim", "/dev/zero"][..], 2, "larger than 1 MiB"),
        (&["sim", text(&trace)], 2, "no regular file"),
        (&["plot", text(&out)], 1, "no regular file"),
        (&["compare", text(&out), text(&out)], 1, "no regular file"),
        (
            &["compare", "/dev/zero", text(&out)],
            1,
            "larger than 256 MiB",
        ),
    ] {
        // A program that takes all memory is killed here by a signal; the machine is spared.
        let script = "ulimit -v 2500000; exec \"$0\" \"$@\"";
        let output = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_netnice-lab")])
            .args(arguments)
            .output()
            .unwrap();
        ended_in_one_line(&output, code, word);
    }
    // The run is made again.
    let resumed = run(&[&arguments[..], &["--resume"]].concat());
    ended(&resumed, 0, "no regular file");
    assert!(endless.symlink_metadata().unwrap().is_file());
}

#[test]
fn runs_without_a_manifest_are_not_mixed_in() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    let arguments = ["sim", text(&file), "--quiet", "--out", text(&out)];
    succeeded(&run(&arguments));
    fs::remove_file(out.join("manifest.json")).unwrap();
    for resume in [&[][..], &["--resume"]] {
        let others = ["--set", "links.bottleneck.rate=3mbit"];
        let refused = run(&[&arguments[..], &others, resume].concat());
        ended_in_one_line(&refused, 1, "without the manifest.json");
    }
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_no_death() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 0; exec \"$0\" sim \"$1\" --out \"$2\""])
        .args([env!("CARGO_BIN_EXE_netnice-lab"), text(&file), text(&out)])
        .output()
        .unwrap();
    ended_in_one_line(&output, 1, "File too large");
}

#[test]
fn names_of_files_need_not_be_text() {
    let (directory, file) = place(SCENARIO);
    let other = directory.path().join(OsStr::from_bytes(b"b\xff.toml"));
    fs::copy(&file, &other).unwrap();
    let out = directory.path().join(OsStr::from_bytes(b"o\xff"));
    let mut command = netnice(&["sim", "--quiet"]);
    let output = command.arg(&other).arg("--out").arg(&out).output().unwrap();
    succeeded(&output);
    let manifest: Manifest =
        serde_json::from_slice(&fs::read(out.join("manifest.json")).unwrap()).unwrap();
    let last = manifest.command.last().unwrap();
    assert!(last.ends_with("/o\u{fffd}"), "{last}");
}

#[test]
fn finished_runs_without_the_traces_asked_for_are_made_again() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    let arguments = ["sim", text(&file), "--quiet", "--out", text(&out)];
    succeeded(&run(&arguments));
    // A run that is made again is renamed to its place.
    let inodes = || -> BTreeSet<u64> {
        let runs = fs::read_dir(out.join("runs")).unwrap();
        runs.map(|run| run.unwrap().metadata().unwrap().ino())
            .collect()
    };
    // Held open, so that no new file gets the number of an old one.
    let hold = || -> Vec<fs::File> {
        let runs = fs::read_dir(out.join("runs")).unwrap();
        runs.map(|run| fs::File::open(run.unwrap().path()).unwrap())
            .collect()
    };
    let (before, held) = (inodes(), hold());
    let resume = [&arguments[..], &["--resume", "--pcap", "bottleneck"]].concat();
    succeeded(&run(&resume));
    assert_eq!(inodes().intersection(&before).count(), 0);
    drop(held);
    let traces = out.join("traces");
    assert_eq!(fs::read_dir(&traces).unwrap().count(), 4);
    let trace = traces.join("point-00001-seed-2/bottleneck.pcapng");
    assert!(fs::metadata(&trace).unwrap().len() > 10_000);

    // Those that have them are not.
    let (before, _held) = (inodes(), hold());
    fs::remove_file(&trace).unwrap();
    succeeded(&run(&resume));
    assert_eq!(inodes().intersection(&before).count(), 3);
    assert!(trace.exists());
}

#[test]
fn ctrl_c_keeps_what_is_finished_and_says_how_to_go_on() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    // Thousands of runs, so that it is interrupted in the middle.
    let arguments = [
        "sim",
        text(&file),
        "--seeds",
        "20000",
        "--jobs",
        "1",
        "--out",
        text(&out),
    ];
    let mut child = netnice(&arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let runs = out.join("runs");
    wait_until("a run is finished", || {
        fs::read_dir(&runs).is_ok_and(|runs| {
            runs.flatten().any(|run| {
                run.path()
                    .extension()
                    .is_some_and(|ending| ending == "json")
            })
        })
    });
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let mut message = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut message).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        message.contains("interrupted") && message.contains("--resume"),
        "{message}"
    );
    assert!(out.join("summary.csv").exists());
}

#[test]
fn mistakes_in_a_scenario_are_wrong_usage_with_file_and_line() {
    let (_directory, file) = place(SCENARIO);
    fs::write(&file, SCENARIO.replace("\"20p\"", "\"20\"")).unwrap();
    let output = run(&["sim", text(&file)]);
    ended(&output, 2, "small.toml:18:9: links[1].queue: ");

    let missing = run(&["sim", "/nowhere/at/all.toml"]);
    ended(&missing, 2, "cannot be read");
}

#[test]
fn seeds_given_twice_are_wrong_usage() {
    let (_directory, file) = place(SCENARIO);
    let output = run(&["sim", text(&file), "--seeds", "2", "--set", "seeds=[3]"]);
    ended(&output, 2, "--seeds and --set seeds contradict");
}

/// A flow over five hops, each with a flow of its own, over access links without a rate: a phase effect. DCTCP has no marks, and the
/// call begins before the queue is there.
fn doubtful() -> String {
    let mut scenario = "name = \"small\"\nduration = \"60s\"\nwarm_up = \"10s\"
[defaults.flows]
start = \"1s\"
[[links]]\nfrom = \"a\"\nto = \"r1\"\ndelay = \"1ms\"
[[links]]\nfrom = \"r6\"\nto = \"b\"\ndelay = \"1ms\"
[[flows]]\nname = \"long\"\nfrom = \"a\"\nto = \"b\"\ncongestion_control = \"cubic\"
[[links]]\nname = \"line\"\nfrom = \"c\"\nto = \"d\"\nrate = \"1mbit\"\nqueue = \"500ms\"
[[flows]]\nname = \"backup\"\nfrom = \"c\"\nto = \"d\"\ncongestion_control = \"dctcp\"\ntcp = { ecn = true }
[[flows]]\nname = \"call\"\nfrom = \"c\"\nto = \"d\"\nstart = \"0ms\"\ntransport = \"udp\"\napplication = \"call\"
"
    .to_owned();
    for hop in 1..=5 {
        let next = hop + 1;
        scenario += &format!(
            "[[links]]\nfrom = \"r{hop}\"\nto = \"r{next}\"\nrate = \"10mbit\"\ndelay = \"5ms\"\nqueue = \"50p\"
[[links]]\nfrom = \"x{hop}\"\nto = \"r{hop}\"\ndelay = \"1ms\"
[[links]]\nfrom = \"r{next}\"\nto = \"y{hop}\"\ndelay = \"1ms\"
[[flows]]\nname = \"cross{hop}\"\nfrom = \"x{hop}\"\nto = \"y{hop}\"\ncongestion_control = \"cubic\"\nstart = \"0ms\"
"
        );
    }
    scenario
}

#[test]
fn doubtful_figures_are_warned_of_when_quiet_too() {
    let (_directory, file) = place(&doubtful());
    let output = run(&["sim", text(&file), "--quiet"]);
    assert_eq!(succeeded(&output), "");
    let warnings = String::from_utf8(output.stderr).unwrap();
    for expected in [
        "warning: no queue on the path of `backup` marks packets",
        "warning: `long` lost ",
        "of the packets of `call` could not be played",
    ] {
        assert!(warnings.contains(expected), "{expected}: {warnings}");
    }
    assert_eq!(warnings.lines().count(), 3, "{warnings}");
    let output = run(&["sim", text(&file), "--quiet", "--seeds", "2"]);
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert_eq!(warnings.matches("in 2 of 2 runs)").count(), 2, "{warnings}");
}

#[test]
fn warnings_that_are_not_shown_are_counted() {
    let scenario = |flows: u32| {
        let mut text = "name = \"n\"\nduration = \"1s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n".to_owned();
        for flow in 0..flows {
            text += &format!(
                "[[flows]]\nname = \"f{flow}\"\nfrom = \"a\"\nto = \"b\"\ncongestion_control = \"tcplp_ecn\"\n"
            );
        }
        place(&text)
    };
    for (flows, last) in [
        (3, "warning: no queue on the path of `f2` marks"),
        (
            4,
            "netnice: 1 more warning of this kind; --explain shows all",
        ),
        (
            6,
            "netnice: 3 more warnings of this kind; --explain shows all",
        ),
    ] {
        let (_directory, file) = scenario(flows);
        let output = run(&["sim", text(&file), "--quiet"]);
        succeeded(&output);
        let warnings = String::from_utf8(output.stderr).unwrap();
        assert!(
            warnings
                .lines()
                .last()
                .is_some_and(|line| line.contains(last)),
            "{warnings}"
        );
        let words = succeeded(&run(&["sim", text(&file), "--explain"]));
        assert_eq!(
            words.matches("no queue on the path of").count(),
            flows as usize,
            "{words}"
        );
    }
}

#[test]
fn the_scenario_in_words_and_its_schema() {
    let (_directory, file) = place(SCENARIO);
    let words = succeeded(&run(&["sim", text(&file), "--explain"]));
    assert!(words.contains("bandwidth-delay product"), "{words}");
    assert!(words.contains("base RTT 20ms"), "{words}");
    let schema = succeeded(&run(&["sim", "--schema"]));
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert!(schema["properties"]["links"].is_object());
}

#[test]
fn plots_are_drawn_from_results() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    succeeded(&run(&["sim", text(&file), "--quiet", "--out", text(&out)]));
    let plotted = run(&["plot", text(&out)]);
    let said = String::from_utf8_lossy(&plotted.stderr);
    assert!(
        said.contains("netnice: queue_packets: 3 idle queues are left out"),
        "{said}"
    );
    let names = succeeded(&plotted);
    for name in ["goodput_by_flow.svg", "cwnd.svg", "queue_packets.svg"] {
        assert!(names.contains(name), "{names}");
    }
    let drawn = fs::read_to_string(out.join("plots/goodput_by_flow.svg")).unwrap();
    assert!(
        drawn.contains("links.bottleneck.rate"),
        "the axis has its name"
    );
    succeeded(&run(&[
        "plot",
        text(&out),
        "--format",
        "png",
        "--to",
        text(&out),
    ]));
    assert!(
        fs::read(out.join("cwnd.png"))
            .unwrap()
            .starts_with(b"\x89PNG")
    );

    let to = directory.path().join("both");
    let chosen = |values: &[&str]| {
        let mut arguments = vec!["plot", text(&out), "--to", text(&to)];
        arguments.extend(values.iter().flat_map(|value| ["--point", value]));
        run(&arguments)
    };
    succeeded(&chosen(&["rate=2mbit", "rate=1mbit"]));
    let drawn = fs::read_to_string(to.join("cwnd.svg")).unwrap();
    assert!(drawn.contains("bulk, 1mbit") && drawn.contains("bulk, 2mbit"));
    succeeded(&chosen(&["links.bottleneck.rate=2mbit"]));
    let drawn = fs::read_to_string(to.join("cwnd.svg")).unwrap();
    assert!(drawn.contains("links.bottleneck.rate = 2mbit") && !drawn.contains("1mbit"));
    ended(&chosen(&["rate=7mbit"]), 1, "it has 1mbit; 2mbit");
    ended(
        &chosen(&["rtt=7"]),
        1,
        "its fields are links.bottleneck.rate",
    );
    ended(&chosen(&["rate"]), 2, "give a swept field and its value");

    let nothing = run(&["plot", text(directory.path())]);
    ended(&nothing, 1, "no manifest.json");
    let absent = run(&["plot", text(&directory.path().join("absent.jsonl"))]);
    let message = ended(&absent, 1, "there is no ");
    assert!(message.contains("absent.jsonl: give"), "{message}");
}

#[test]
fn more_than_a_million_samples_become_parquet_files() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    // Five quantities of the flow and two of each direction of two links, 20 000 times in each of four runs: 1 040 000.
    let arguments = ["sim", text(&file), "--out", text(&out), "--set"];
    let run_with =
        |more: &[&str]| run(&[&arguments[..], &["sampling.interval=100us"], more].concat());
    let chosen = run_with(&["--json"]);
    let report = succeeded(&chosen);
    assert!(report.contains("\"series\":\"parquet\""), "{report}");
    let message = String::from_utf8_lossy(&chosen.stderr);
    assert!(
        message.contains("1040000 samples: time series are kept as Parquet files in"),
        "{message}"
    );
    assert!(out.join("series/point-00001-seed-2.parquet").exists());
    assert!(!out.join("series.csv").exists());
    succeeded(&run_with(&["--resume"]));
    succeeded(&run_with(&["--overwrite", "--series", "text"]));
    assert!(out.join("series.csv").exists() && !out.join("series").exists());
}

#[test]
fn series_may_be_parquet_files_instead_of_text() {
    let (directory, file) = place(SCENARIO);
    let (as_text, out) = (directory.path().join("text"), directory.path().join("out"));
    let arguments = |out| ["sim", text(&file), "--quiet", "--out", text(out)];
    succeeded(&run(&arguments(&as_text)));
    let as_parquet = [&arguments(&out)[..], &["--series", "parquet"]].concat();
    succeeded(&run(&as_parquet));
    assert!(!out.join("series.csv").exists());
    let series = out.join("series/point-00000-seed-2.parquet");
    assert!(fs::read(&series).unwrap().starts_with(b"PAR1"));
    // The same figures otherwise, and the same plots.
    for name in ["summary.json", "flows.csv", "queues.csv"] {
        assert!(
            fs::read(out.join(name)).unwrap() == fs::read(as_text.join(name)).unwrap(),
            "{name}"
        );
    }
    for out in [&as_text, &out] {
        succeeded(&run(&["plot", text(out)]));
    }
    for name in ["cwnd.svg", "queue_delay.svg", "goodput.svg"] {
        let plot = |out: &Path| fs::read(out.join("plots").join(name)).unwrap();
        assert!(plot(&out) == plot(&as_text), "{name}");
    }

    // A run whose series are not as they were written is made again, and gets the same.
    let before = fs::read(&series).unwrap();
    fs::write(&series, b"PAR1").unwrap();
    let resumed = run(&[&arguments(&out)[..], &["--resume"]].concat());
    ended_in_one_line(
        &resumed,
        0,
        "seed-2.parquet: the file is not as it was written",
    );
    assert!(fs::read(&series).unwrap() == before);
    let other = run(&[&arguments(&out)[..], &["--resume", "--series", "text"]].concat());
    ended_in_one_line(
        &other,
        1,
        "time series as Parquet files; leave out --series",
    );
}

#[test]
fn packets_of_a_link_are_written_for_wireshark() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    let arguments = [
        "sim",
        text(&file),
        "--quiet",
        "--seeds",
        "1",
        "--out",
        text(&out),
    ];
    succeeded(&run(&[
        &arguments[..],
        &["--pcap", "bottleneck", "--parquet"],
    ]
    .concat()));
    let trace = out.join("traces/point-00000-seed-1/bottleneck.pcapng");
    let content = fs::read(&trace).unwrap();
    // The type of a section header block, the first of every pcapng file.
    assert!(content.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    assert!(content.len() > 10_000);
    assert!(
        fs::read(out.join("flows.parquet"))
            .unwrap()
            .starts_with(b"PAR1")
    );

    for option in ["--pcap", "--events"] {
        let unknown = run(&[&arguments[..], &[option, "botleneck"]].concat());
        ended(&unknown, 2, option);
    }
}

/// A hundred hosts beside each router.
const MANY_LINKS: &str = "name = \"many\"
duration = \"200ms\"
seeds = 1
[[nodes]]
name = \"sources\"
count = 100
[[nodes]]
name = \"sinks\"
count = 100
[defaults.links]
rate = \"100mbit\"
delay = \"1ms\"
[[links]]
name = \"bottleneck\"
from = \"left\"
to = \"right\"
queue = \"100p\"
[[links]]
from = \"sources\"
to = \"left\"
[[links]]
from = \"sinks\"
to = \"right\"
[[flows]]
name = \"bulk\"
from = \"sources\"
to = \"sinks\"
";

#[test]
fn packets_of_all_links_are_written_to_one_file() {
    let (directory, file) = place(MANY_LINKS);
    let out = directory.path().join("out");
    let traces = out.join("traces/point-00000-seed-1");
    let write = |more: &[&str]| {
        // Fewer files may be open than there are links.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n 100; exec \"$0\" \"$@\""]);
        command.args([
            env!("CARGO_BIN_EXE_netnice-lab"),
            "sim",
            text(&file),
            "--quiet",
        ]);
        command.args(["--out", text(&out), "--pcap", "all"]);
        succeeded(&command.args(more).output().unwrap());
        assert_eq!(fs::read_dir(&traces).unwrap().count(), 1);
        fs::read(traces.join("all.pcapng")).unwrap()
    };
    let content = write(&[]);
    assert!(content.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]));
    assert!(content.len() > 100_000);
    for name in ["bottleneck", "bottleneck (reverse)"] {
        let length = name.len();
        assert!(content.windows(length).any(|part| part == name.as_bytes()));
    }
    // A finished run without it is made again, and gets the same.
    fs::remove_file(traces.join("all.pcapng")).unwrap();
    assert!(write(&["--resume"]) == content);
    let others = ["--overwrite", "--pcap", "bottleneck"];
    assert!(write(&others) == content);
}

#[test]
fn a_full_disk_is_an_error_that_names_the_trace() {
    let (directory, file) = place(MANY_LINKS);
    let out = directory.path().join("out");
    // More than all else takes.
    let limited = "ulimit -f 100; exec \"$0\" sim \"$1\" --out \"$2\" --pcap all";
    let output = Command::new("sh")
        .args(["-c", limited])
        .args([env!("CARGO_BIN_EXE_netnice-lab"), text(&file), text(&out)])
        .output()
        .unwrap();
    ended_in_one_line(&output, 1, "all.pcapng\": File too large");
}

#[test]
fn events_at_a_link_are_written_as_a_table() {
    let (directory, file) = place(SCENARIO);
    let out = directory.path().join("out");
    let arguments = ["sim", text(&file), "--quiet", "--seeds", "1", "--out"];
    let arguments = [&arguments[..], &[text(&out)]].concat();
    succeeded(&run(&[&arguments[..], &["--events", "bottleneck"]].concat()));
    let directory = out.join("traces/point-00000-seed-1");
    let events = directory.join("events.parquet");
    let content = fs::read(&events).unwrap();
    assert!(content.starts_with(b"PAR1") && content.ends_with(b"PAR1"));
    // Without --pcap there is nothing else.
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    // A finished run without its events is made again, and gets the same.
    fs::remove_file(&events).unwrap();
    let resume = ["--events", "bottleneck", "--resume"];
    succeeded(&run(&[&arguments[..], &resume].concat()));
    assert!(fs::read(&events).unwrap() == content);
}
