// SPDX-License-Identifier: MIT OR Apache-2.0
//! Directories of results: runs that are kept, found again and refused.

use std::fs;

use netnice_results::{
    Backend, Delays, DirectoryError, Distribution, Existing, FlowResult, Manifest, ResponseTimes,
    ResultsDirectory, RunResults, Series, SeriesFormat, SizeBin, SizeClass, Slowdown, StaleRun,
    Subject, Summary,
};
use netnice_scenario::ScenarioFile;
use netnice_scenario::model::{TrafficClass, Transport};

const SCENARIO: &str = "name = \"test\"
duration = \"1s\"
seeds = 2
links = [{ from = \"a\", to = \"b\", rate = \"1mbit\" }]
[sweep]
links.a-b.rate = [\"1mbit\", \"2mbit\"]
[[flows]]
name = \"bulk\"
from = \"a\"
to = \"b\"
";

fn scenario(settings: &[(String, String)]) -> ScenarioFile {
    ScenarioFile::parse("test.toml", SCENARIO, settings, None).unwrap()
}

fn flow(name: &str, goodput_bps: f64) -> FlowResult {
    FlowResult {
        name: name.to_owned(),
        group: "bulk".to_owned(),
        class: TrafficClass::BestEffort,
        transport: Transport::Tcp,
        congestion_control: "reno".to_owned(),
        goodput_bps,
        throughput_bps: goodput_bps * 1.05,
        delivered_bytes: 1000,
        packets_sent: 100,
        packets_received: 95,
        packets_lost: 5,
        retransmissions: 5,
        timeouts: 1,
        recoveries: 2,
        ecn_reactions: 0,
        early_indications: 0,
        mean_cwnd: 10.0,
        rtt: Delays {
            count: 10,
            mean_s: 0.02,
            ..Delays::default()
        },
        one_way_delay: Delays::default(),
        completion_s: None,
        phases: Vec::new(),
    }
}

fn run(file: &ScenarioFile, point: usize, seed: u64, goodputs: &[f64]) -> RunResults {
    let flows = goodputs.iter().enumerate();
    RunResults {
        seed,
        settings: file.points[point].settings.clone(),
        measured_s: 1.0,
        flows: flows
            .map(|(index, &goodput)| flow(&format!("bulk[{index}]"), goodput))
            .collect(),
        series: vec![Series {
            quantity: "cwnd".to_owned(),
            unit: "packets".to_owned(),
            of: "bulk[0]".to_owned(),
            time_s: [0.0, 0.5].into(),
            value: vec![1.0, f64::NAN].into(),
        }],
        ..RunResults::default()
    }
}

fn manifest(file: &ScenarioFile) -> Manifest {
    Manifest::new(file, Backend::Simulation, "1.0", vec!["netnice".to_owned()])
}

#[test]
fn finished_runs_are_kept_and_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results");
    let file = scenario(&[]);
    let results =
        ResultsDirectory::create(&path, manifest(&file), &file, Existing::Refuse).unwrap();
    let mut first = run(&file, 1, 2, &[5e5]);
    results.store(1, &mut first).unwrap();
    assert_eq!(results.finished(1, &file.points[1], 1).unwrap(), None);

    let refused = ResultsDirectory::create(&path, manifest(&file), &file, Existing::Refuse);
    assert!(matches!(refused, Err(DirectoryError::Occupied(_))));
    let resumed =
        ResultsDirectory::create(&path, manifest(&file), &file, Existing::Resume).unwrap();
    let found = resumed.finished(1, &file.points[1], 2).unwrap().unwrap();
    assert_eq!(found.flows, first.flows);
    assert!(found.series[0].value[1].is_nan());

    let other = scenario(&[("duration".to_owned(), "2s".to_owned())]);
    let refused = ResultsDirectory::create(&path, manifest(&other), &other, Existing::Resume);
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("of a scenario without these settings; replace"),
        "{refused}"
    );
    // The file has the seeds 1 and 2.
    let seeds = |seeds: &str| scenario(&[("seeds".to_owned(), seeds.to_owned())]);
    let fewer = seeds("[2]");
    let refused = ResultsDirectory::create(&path, manifest(&fewer), &fewer, Existing::Resume);
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("of further seeds, such as 1;"),
        "{refused}"
    );
    let more = seeds("[1, 2, 3]");
    let resumed = ResultsDirectory::create(&path, manifest(&more), &more, Existing::Resume);
    let found = resumed.unwrap().finished(1, &more.points[1], 2).unwrap();
    assert_eq!(found.unwrap().flows, first.flows);
    // Without it nothing says whose the runs are; they are of no use to this scenario either way.
    fs::remove_file(path.join("manifest.json")).unwrap();
    for existing in [Existing::Refuse, Existing::Resume, Existing::Overwrite] {
        let refused = ResultsDirectory::create(&path, manifest(&other), &other, existing);
        assert!(matches!(refused, Err(DirectoryError::UnknownRuns(_))));
    }
    assert!(!path.join("manifest.json").exists());
    fs::remove_dir_all(path.join("runs")).unwrap();
    ResultsDirectory::create(&path, manifest(&other), &other, Existing::Refuse).unwrap();
    let nothing = ResultsDirectory::open(directory.path());
    assert!(matches!(nothing, Err(DirectoryError::NoResults(_))));
}

#[test]
fn overwriting_removes_results_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results");
    let file = scenario(&[]);
    let results = ResultsDirectory::create(&path, manifest(&file), &file, Existing::Refuse);
    let results = results.unwrap();
    let mut runs = [run(&file, 0, 1, &[5e5])];
    results.store(0, &mut runs[0]).unwrap();
    results.write_tables(&runs, &Summary::of(&runs)).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();

    let other = scenario(&[("duration".to_owned(), "2s".to_owned())]);
    let again = ResultsDirectory::create(&path, manifest(&other), &other, Existing::Overwrite);
    assert!(again.unwrap().runs().unwrap().is_empty());
    let names = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        ["manifest.json", "notes.txt", "runs", "scenario.toml"]
    );

    // A manifest of something else says that the directory is no place of results.
    fs::write(path.join("manifest.json"), "{}").unwrap();
    let refused = ResultsDirectory::create(&path, manifest(&other), &other, Existing::Overwrite);
    assert!(matches!(refused, Err(DirectoryError::Io { .. })));
    assert!(path.join("scenario.toml").exists());
}

#[test]
fn a_run_whose_file_was_touched_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results");
    let file = scenario(&[]);
    let results =
        ResultsDirectory::create(&path, manifest(&file), &file, Existing::Refuse).unwrap();
    let runs = path.join("runs");
    for seed in [1, 2] {
        results.store(0, &mut run(&file, 0, seed, &[5e5])).unwrap();
    }
    let look = |seed| {
        let resumed =
            ResultsDirectory::create(&path, manifest(&file), &file, Existing::Resume).unwrap();
        let found = resumed.finished(0, &file.points[0], seed);
        found.map(|run| run.map(|run| run.seed))
    };
    assert_eq!(look(1).unwrap(), Some(1));
    let (one, two) = (
        runs.join("point-00000-seed-1.json"),
        runs.join("point-00000-seed-2.json"),
    );
    let written = fs::read_to_string(&one).unwrap();

    // Another figure; the file of another seed; half a file.
    fs::write(&one, written.replace("500000", "400000")).unwrap();
    assert!(matches!(look(1), Err(StaleRun::Changed(_))));
    fs::copy(&two, &one).unwrap();
    assert!(matches!(look(1), Err(StaleRun::Changed(_))));
    fs::write(&one, &written[..100]).unwrap();
    assert!(matches!(look(1), Err(StaleRun::Changed(_))));
    fs::write(&one, &written).unwrap();
    assert_eq!(look(1).unwrap(), Some(1));

    // Other contents that are listed as they are: stored by mistake for this run.
    let sums = path.join("SHA256SUMS");
    let listed = fs::read_to_string(&sums).unwrap();
    fs::copy(&two, &one).unwrap();
    let line = listed.lines().find(|line| line.ends_with("seed-2.json"));
    let line = line.unwrap().replace("seed-2", "seed-1");
    fs::write(&sums, format!("{listed}{line}\n")).unwrap();
    assert!(matches!(look(1), Err(StaleRun::OtherRun(_))));
    let mut other = run(&file, 0, 1, &[5e5]);
    other.settings = file.points[1].settings.clone();
    results.store(0, &mut other).unwrap();
    assert!(matches!(look(1), Err(StaleRun::OtherRun(_))));

    // Nothing says what is right; no file that ends.
    fs::remove_file(&sums).unwrap();
    assert!(matches!(look(1), Err(StaleRun::Unlisted(_))));
    fs::remove_file(&one).unwrap();
    assert_eq!(look(1).unwrap(), None);
    std::os::unix::fs::symlink("/dev/zero", &one).unwrap();
    assert!(matches!(look(1), Err(StaleRun::Unreadable { .. })));
    assert!(matches!(results.runs(), Err(DirectoryError::Io { .. })));
}

#[test]
fn a_run_stored_again_has_one_checksum() {
    let directory = tempfile::tempdir().unwrap();
    let file = scenario(&[]);
    let results =
        ResultsDirectory::create(directory.path(), manifest(&file), &file, Existing::Refuse);
    let results = results.unwrap();
    let mut second = run(&file, 0, 1, &[6e5]);
    for run in [&mut run(&file, 0, 1, &[5e5]), &mut second] {
        results.store(0, run).unwrap();
    }
    results
        .write_tables(
            std::slice::from_ref(&second),
            &Summary::of(std::slice::from_ref(&second)),
        )
        .unwrap();
    let sums = fs::read_to_string(directory.path().join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 1, "{sums}");
    let resumed =
        ResultsDirectory::create(directory.path(), manifest(&file), &file, Existing::Resume)
            .unwrap();
    let found = resumed.finished(0, &file.points[0], 1).unwrap().unwrap();
    assert_eq!(found.flows[0].goodput_bps, 6e5);
}

#[cfg(feature = "parquet")]
#[test]
fn series_in_files_of_their_own_are_kept_with_their_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results");
    let file = scenario(&[]);
    let in_format = |series| Manifest {
        series,
        ..manifest(&file)
    };
    let parquet = in_format(Some(SeriesFormat::Parquet));
    let results = ResultsDirectory::create(&path, parquet.clone(), &file, Existing::Refuse);
    let results = results.unwrap();
    let mut first = run(&file, 1, 2, &[5e5]);
    results.store(1, &mut first).unwrap();
    assert_eq!((first.series.len(), &first.series_file), (1, &None));
    let series = path.join("series/point-00001-seed-2.parquet");
    let json = fs::read_to_string(path.join("runs/point-00001-seed-2.json")).unwrap();
    let named = r#""series":[],"series_file":"series/point-00001-seed-2.parquet","#;
    assert!(json.contains(named), "{json}");
    let runs = results.runs().unwrap();
    assert_eq!(runs[0].flows, first.flows);
    let (found, stored) = (&runs[0].series[0], &first.series[0]);
    let names = |series: &Series| [&series.of, &series.quantity, &series.unit].map(String::clone);
    assert_eq!(names(found), names(stored));
    assert_eq!(found.time_s, stored.time_s);
    assert!(found.value[0] == 1.0 && found.value[1].is_nan());
    // No table of all runs repeats them.
    let summary = Summary::of(&runs);
    results.write_tables(&runs, &summary).unwrap();
    results.write_parquet(&runs, &summary).unwrap();
    assert!(path.join("flows.parquet").exists());
    assert!(!path.join("series.csv").exists() && !path.join("series.parquet").exists());

    // The format is the directory's, whoever goes on with it.
    let resume =
        |format| ResultsDirectory::create(&path, in_format(format), &file, Existing::Resume);
    for format in [None, Some(SeriesFormat::Parquet)] {
        let resumed = resume(format).unwrap();
        assert_eq!(resumed.series_format(), SeriesFormat::Parquet);
        let mut found = resumed.finished(1, &file.points[1], 2).unwrap().unwrap();
        assert!(found.series.is_empty());
        resumed.load_series(1, &mut found).unwrap();
        assert_eq!((found.series.len(), &found.series_file), (1, &None));
    }
    let refused = resume(Some(SeriesFormat::Text)).map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, DirectoryError::OtherSeries { .. }),
        "{refused}"
    );

    let look = || resume(None).unwrap().finished(1, &file.points[1], 2);
    let written = fs::read(&series).unwrap();
    fs::write(&series, &written[1..]).unwrap();
    assert!(matches!(look(), Err(StaleRun::Changed(path)) if path == series));
    fs::remove_file(&series).unwrap();
    assert!(matches!(look(), Err(StaleRun::Unreadable { path, .. }) if path == series));
    fs::write(&series, &written).unwrap();
    assert!(look().unwrap().is_some());

    fs::write(path.join("series/notes.txt"), "mine").unwrap();
    // Of a run that was killed before it had a file.
    let left = path.join("series/point-00000-seed-1.unfinished");
    fs::write(&left, "PAR1").unwrap();
    let text = in_format(Some(SeriesFormat::Text));
    let text = ResultsDirectory::create(&path, text, &file, Existing::Overwrite).unwrap();
    assert!(!series.exists() && !left.exists() && path.join("series/notes.txt").exists());
    text.store(1, &mut first).unwrap();
    assert!(!series.exists());
    fs::remove_file(path.join("series/notes.txt")).unwrap();
    ResultsDirectory::create(&path, parquet, &file, Existing::Overwrite).unwrap();
    assert!(!path.join("series").exists());
}

#[test]
fn a_summary_by_hand() {
    let file = scenario(&[]);
    let runs = [
        run(&file, 0, 1, &[1e5, 3e5]),
        run(&file, 0, 2, &[2e5, 2e5]),
        run(&file, 1, 1, &[8e5, 0.0]),
    ];
    let summary = Summary::of(&runs);
    assert_eq!(summary.points.len(), 2);
    let goodput = summary.points[0]
        .figure(Subject::Flows, "bulk", "goodput")
        .unwrap()
        .value;
    assert_eq!((goodput.mean, goodput.half_width_95), (4e5, Some(0.0)));
    // Indices 0.8 and 1: mean 0.9, standard deviation 0.1414, t with one degree of freedom 12.706.
    let jain = summary.points[0]
        .figure(Subject::Flows, "bulk", "jain_index")
        .unwrap()
        .value;
    assert!((jain.mean - 0.9).abs() < 1e-12);
    assert!((jain.half_width_95.unwrap() - 12.706 * 0.1).abs() < 1e-9);
    let loss = summary.points[1]
        .figure(Subject::Flows, "bulk", "loss")
        .unwrap()
        .value;
    assert_eq!((loss.mean, loss.half_width_95), (0.05, None));
    // Nothing was measured, so there is no figure.
    assert_eq!(
        summary.points[1].figure(Subject::Flows, "bulk", "mean_one_way_delay"),
        None
    );
}

#[test]
fn objects_are_counted_in_runs_that_have_none_too() {
    let file = scenario(&[]);
    let with_objects = |seed, objects: &[(u64, u64)]| {
        let mut run = run(&file, 0, seed, &[1e5]);
        let bins = objects.iter().map(|&(from_bytes, count)| SizeBin {
            from_bytes,
            to_bytes: 2 * from_bytes,
            mean_bytes: 1.5 * from_bytes as f64,
            response: Delays {
                count,
                mean_s: 0.2,
                ..Delays::default()
            },
        });
        run.response_times.push(ResponseTimes {
            flow: "bulk".to_owned(),
            unfinished: 0,
            bins: bins.collect(),
            classes: Vec::new(),
            pages: None,
        });
        run
    };
    let runs = [
        with_objects(1, &[(1000, 3)]),
        with_objects(2, &[(1000, 5), (2000, 4)]),
    ];
    let summary = Summary::of(&runs);
    let mean = |of: &str, quantity: &str| {
        let figure = summary.points[0].figure(Subject::Objects, of, quantity);
        figure.map(|figure| figure.value.mean)
    };
    assert_eq!(mean("bulk 1000-2000", "objects"), Some(4.0));
    assert_eq!(mean("bulk 2000-4000", "objects"), Some(2.0));
    // A time is of the runs that have one.
    assert_eq!(mean("bulk 2000-4000", "response_time"), Some(0.2));
}

#[test]
fn completion_times_are_merged_over_seeds() {
    let class = |above_bytes, to_bytes, bins: &[(f64, u64)], unfinished| SizeClass {
        above_bytes,
        to_bytes,
        mean_bytes: 1000.0,
        unfinished,
        completion: Delays {
            count: bins.iter().map(|(_, count)| count).sum(),
            ..Delays::default()
        },
        completion_times: Distribution {
            up_to_s: bins.iter().map(|&(edge, _)| edge).collect(),
            count: bins.iter().map(|&(_, count)| count).collect(),
        },
        slowdown: Slowdown::default(),
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results");
    let file = scenario(&[]);
    let results =
        ResultsDirectory::create(&path, manifest(&file), &file, Existing::Refuse).unwrap();
    for (seed, all, small) in [
        (1, &[(0.25, 1), (0.5, 3)][..], &[(0.25, 1)][..]),
        (2, &[(0.125, 2), (0.5, 2), (1.0, 4)], &[]),
    ] {
        let mut run = run(&file, 0, seed, &[1e5]);
        run.response_times.push(ResponseTimes {
            flow: "bulk".to_owned(),
            unfinished: seed,
            bins: Vec::new(),
            classes: vec![
                class(0, None, all, seed),
                class(0, Some(1000), small, 0),
                class(1000, None, &[], seed),
            ],
            pages: None,
        });
        results.store(0, &mut run).unwrap();
    }
    let runs = results.runs().unwrap();
    let summary = Summary::of(&runs);
    let [all, small] = &summary.points[0].completion_times[..] else {
        panic!("{summary:?}");
    };
    assert_eq!((all.above_bytes, all.to_bytes), (0, None));
    assert_eq!(all.times.up_to_s, [0.125, 0.25, 0.5, 1.0]);
    assert_eq!(all.times.count, [2, 1, 5, 4]);
    assert_eq!(
        (small.to_bytes, &small.times.count[..]),
        (Some(1000), &[1][..])
    );

    results.write_tables(&runs, &summary).unwrap();
    let table = fs::read_to_string(path.join("completion_times.csv")).unwrap();
    assert_eq!(
        table,
        "links.a-b.rate,seed,flow,above_bytes,to_bytes,completion_s,transfers,share\n\
         1mbit,1,bulk,0,,0.25,1,0.25\n\
         1mbit,1,bulk,0,,0.5,3,1\n\
         1mbit,1,bulk,0,1000,0.25,1,1\n\
         1mbit,2,bulk,0,,0.125,2,0.25\n\
         1mbit,2,bulk,0,,0.5,2,0.5\n\
         1mbit,2,bulk,0,,1,4,1\n"
    );
    let transfers = fs::read_to_string(path.join("transfers.csv")).unwrap();
    let columns = "flow,above_bytes,to_bytes,mean_bytes,transfers,unfinished,mean_s,";
    assert!(transfers.contains(columns), "{transfers}");
    assert!(
        // Of no transfers there are no times.
        transfers.contains("1mbit,2,bulk,1000,,1000,0,2,,,,,,,,,,\n"),
        "{transfers}"
    );
}

#[test]
fn tables_have_a_heading_and_the_sweep_in_front() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results");
    let file = scenario(&[]);
    let results =
        ResultsDirectory::create(&path, manifest(&file), &file, Existing::Refuse).unwrap();
    results.store(0, &mut run(&file, 0, 1, &[1e5])).unwrap();
    let runs = results.runs().unwrap();
    results.write_tables(&runs, &Summary::of(&runs)).unwrap();
    let series = fs::read_to_string(path.join("series.csv")).unwrap();
    assert_eq!(
        series,
        "links.a-b.rate,seed,of,quantity,unit,time_s,value\n\
         1mbit,1,bulk[0],cwnd,packets,0,1\n\
         1mbit,1,bulk[0],cwnd,packets,0.5,\n"
    );
    let summary = fs::read_to_string(path.join("summary.csv")).unwrap();
    assert!(
        summary.contains("1mbit,flows,bulk,goodput,bit/s,100000,,100000,100000,1\n"),
        "{summary}"
    );
    assert!(!path.join("queues.csv").exists());
}
