// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenarios that come with the project.

use std::fs;
use std::path::{Path, PathBuf};

use netnice_parameters::PARAMETERS;
use netnice_scenario::{Layout, ScenarioFile, explain, json_schema};

fn scenarios() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = fs::read_dir(directory).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    assert!(files.len() >= 12, "only {files:?}");
    files
}

#[test]
fn each_parses_and_is_called_like_its_file() {
    for path in scenarios() {
        let file = ScenarioFile::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(file.scenario().name, stem);
        assert!(!file.scenario().description.is_empty(), "{stem}");
    }
}

#[test]
fn none_has_a_warning() {
    for path in scenarios() {
        let file = ScenarioFile::load(&path, &[]).unwrap();
        let warnings = netnice_scenario::warnings(&file);
        assert_eq!(warnings, [""; 0], "{}", path.display());
    }
}

/// The settings in a comment: `--set KEY=VALUE`, where a value with spaces or braces is in single quotes.
fn settings_in(comment: &str) -> Vec<(String, String)> {
    let given = comment.split("--set ").skip(1).map(|rest| {
        let (key, rest) = rest.split_once('=').unwrap();
        let value = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split('\'').next(),
            None => rest.split_whitespace().next(),
        };
        let value = value.unwrap().trim_end_matches(['.', ',']);
        (key.to_owned(), value.to_owned())
    });
    given.collect()
}

#[test]
fn settings_that_comments_suggest_are_taken() {
    let mut lines = 0;
    for path in scenarios() {
        let text = fs::read_to_string(&path).unwrap();
        let comments = text.lines().filter(|line| line.starts_with('#'));
        for settings in comments.map(settings_in).filter(|found| !found.is_empty()) {
            lines += 1;
            ScenarioFile::load(&path, &settings).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    assert!(lines > 10, "{lines}");
}

#[test]
fn each_fits_the_json_schema() {
    let schema = serde_json::to_value(json_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for path in scenarios() {
        let text = fs::read_to_string(&path).unwrap();
        let table: toml::Table = toml::from_str(&text).unwrap();
        let value = serde_json::to_value(table).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {}: {error}", path.display(), error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn the_schema_refuses_what_the_parser_refuses() {
    let schema = serde_json::to_value(json_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let right = "name = \"x\"\nduration = \"1s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n";
    for (line, replacement, allowed) in [
        ("", "", true),
        ("duration = \"1s\"", "duration = \"1 second\"", false),
        ("duration = \"1s\"", "duraton = \"1s\"", false),
        (
            "to = \"b\"\n[[flows]]",
            "to = \"b\"\nrate = \"10mbps\"\n[[flows]]",
            false,
        ),
        (
            "to = \"b\"\n[[flows]]",
            "to = \"b\"\nqueue = \"5x\"\n[[flows]]",
            false,
        ),
        (
            "to = \"b\"\n[[flows]]",
            "to = \"b\"\nrate = \"1mbit\"\nqueue = { discipline = \"sfq\", limit = \"50p\" }\n[[flows]]",
            true,
        ),
        (
            "to = \"b\"\n[[flows]]",
            "to = \"b\"\nrate = \"1mbit\"\nqueue = { discipline = \"sfq\", limit = \"50p\", bukets = 3 }\n[[flows]]",
            false,
        ),
        (
            "name = \"f\"",
            "name = \"f\"\ncongestion_control = \"bic\"",
            true,
        ),
        (
            "name = \"f\"",
            "name = \"f\"\ncongestion_control = \"renno\"",
            false,
        ),
        (
            "name = \"f\"",
            "name = \"f\"\ncongestion_control = { name = \"tcplp\", delta = 0.2, inference_rtts = 5.0 }",
            true,
        ),
        (
            "name = \"f\"",
            "name = \"f\"\ncongestion_control = { name = \"tcplp\", delta = 1.2 }",
            false,
        ),
        (
            "name = \"f\"",
            "name = \"f\"\ncongestion_control = { name = \"tcplp\", inference_rtts = 2.5 }",
            false,
        ),
        (
            "name = \"f\"",
            "name = \"f\"\ncongestion_control = { name = \"netnice\", delta = 0.2 }",
            false,
        ),
        (
            "name = \"f\"",
            "name = \"f\"\ncongestion_control = { name = \"dstcp\", classes = 1 }",
            false,
        ),
        (
            "duration = \"1s\"",
            "duration = \"1s\"\ndefaults.links = { rate = \"1mbit\", jitter = \"1ms\" }",
            true,
        ),
        (
            "to = \"b\"\n[[flows]]",
            "to = \"b\"\nrate = \"none\"\njitter = \"none\"\nmarker = \"none\"\n[[flows]]",
            true,
        ),
        (
            "to = \"b\"\n[[flows]]",
            "to = \"b\"\ndelay = \"none\"\n[[flows]]",
            false,
        ),
        ("name = \"f\"\n", "name = \"f\"\nbytes = \"none\"\n", true),
        (
            "[[flows]]",
            "[[figures]]\nname = \"share\"\nflows = [\"f\"]\nover = \"10mbit\"\n[[flows]]",
            true,
        ),
        (
            "[[flows]]",
            "[[figures]]\nname = \"share\"\nflows = [\"f\"]\nover = \"10\"\n[[flows]]",
            false,
        ),
        (
            "duration = \"1s\"",
            "duration = \"1s\"\nparameters = { d = 0.2 }\ndefaults.flows.congestion_control = { name = \"tcplp\", delta = \"$d\" }",
            true,
        ),
    ] {
        let text = match line {
            "" => right.to_owned(),
            line => right.replacen(line, replacement, 1),
        };
        let value = serde_json::to_value(toml::from_str::<toml::Table>(&text).unwrap()).unwrap();
        assert_eq!(validator.is_valid(&value), allowed, "{text}");
        let parsed = ScenarioFile::parse("x", &text, &[], None);
        assert_eq!(parsed.is_ok(), allowed, "{text}: {parsed:?}");
    }
}

#[test]
fn explanations() {
    for name in [
        "square_wave",
        "red_diffserv_phases",
        "thousand_flows",
        "web_response_times",
        "home_line",
    ] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
        let file = ScenarioFile::load(&path, &[]).unwrap();
        insta::assert_snapshot!(format!("explain_{name}"), explain(&file));
    }
}

/// The documentation has every key that the types have, and no other.
#[test]
fn the_explanation_says_what_comes_unmarked_to_rio() {
    let explained = |marker: &str| {
        let text = format!(
            "name = \"x\"\nduration = \"1s\"
            [[links]]
            from = \"assured\"
            to = \"edge\"
            {marker}
            [[links]]
            from = \"plain\"
            to = \"edge\"
            [[links]]
            name = \"core\"
            from = \"edge\"
            to = \"far\"
            rate = \"10mbit\"
            reverse = {{ queue = \"100p\" }}
            [links.queue]
            discipline = \"rio\"
            limit = \"60p\"
            in = {{ min_threshold = \"30p\", max_threshold = \"50p\", max_probability = \"2%\" }}
            out = {{ min_threshold = \"10p\", max_threshold = \"30p\", max_probability = \"10%\" }}
            [[flows]]
            name = \"assured\"
            from = \"assured\"
            to = \"far\"
            [[flows]]
            name = \"plain\"
            from = \"plain\"
            to = \"far\""
        );
        netnice_scenario::explain(&ScenarioFile::parse("x", &text, &[], None).unwrap())
    };
    let marker = |burst: &str| {
        format!("marker = {{ kind = \"token_bucket\", rate = \"1mbit\", burst = \"{burst}\" }}")
    };
    let text = explained(&marker("15kB"));
    for expected in [
        "drops IN from 30p to 50p (2%), OUT from 10p to 30p (10%), above max_threshold drops all; no marker tags plain: taken as IN",
        "packets tagged IN up to 1mbit with bursts of 15kB, OUT beyond\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let text = explained(&marker("1kB"));
    let expected = "OUT beyond (none of 1.5kB is IN: it does not fit into the bucket)";
    assert!(text.contains(expected), "{text}");
    let text = explained("");
    assert!(
        text.contains("no marker tags assured, plain: taken as IN"),
        "{text}"
    );
}

#[test]
fn the_documentation_lists_the_keys_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = fs::read_to_string(path).unwrap();
    let schema = serde_json::to_value(json_schema()).unwrap();
    let mut tables = 0;
    for part in text.split("<!-- keys: ").skip(1) {
        let (name, rest) = part.split_once(" -->").unwrap();
        let table = rest.trim_start().split("\n\n").next().unwrap();
        let mut documented: Vec<&str> = Vec::new();
        for row in table.lines().skip(2) {
            let keys = row.split('|').nth(1).unwrap();
            documented.extend(keys.split(',').map(|key| key.trim().trim_matches('`')));
        }
        let object = match name {
            "Scenario" => &schema,
            name => &schema["$defs"][name],
        };
        let properties = object["properties"].as_object().unwrap();
        let mut keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        keys.sort_unstable();
        documented.sort_unstable();
        assert_eq!(documented, keys, "{name}");
        tables += 1;
    }
    assert_eq!(tables, 7);
}

/// The documentation's table of parameters, between its marks.
#[test]
fn the_documentation_lists_the_parameters_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = fs::read_to_string(path).unwrap();
    let after = text.split_once("<!-- parameters -->\n").unwrap().1;
    let documented = after.split("\n\n").next().unwrap();
    let mut expected = vec![
        "| parameter | of | meaning | range | unless given | option |".to_owned(),
        "| --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    expected.extend(PARAMETERS.iter().map(|row| {
        let option = row.option.map(|option| format!("`--{option}`"));
        let has_option = |name: &&str| {
            PARAMETERS
                .iter()
                .any(|row| row.name == *name && row.option.is_some())
        };
        let word = row
            .instead_of
            .filter(has_option)
            .map(|other| format!("`--{other} {}`", row.name));
        format!(
            "| `{}` | {} | {} | {} | {} | {} |",
            row.name,
            row.controls.join(", "),
            row.help,
            row.allowed(),
            row.kind.default(),
            option.or(word).unwrap_or_default()
        )
    }));
    let documented: Vec<&str> = documented.lines().collect();
    for (number, line) in expected.iter().enumerate() {
        let found = documented.get(number).copied().unwrap_or_default();
        assert_eq!(
            found,
            line,
            "line {} of the table in docs/scenarios.md",
            number + 1
        );
    }
    assert_eq!(documented.len(), expected.len());
}

/// Loss by a model and plain, and whether there is jitter, of each way of a link with these settings.
fn impairments(link: &str, defaults: &str) -> Vec<(bool, f64, bool)> {
    let text = format!(
        "name = \"n\"\nduration = \"1s\"\n{defaults}[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n{link}\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ncongestion_control = \"reno\"\n"
    );
    let file = ScenarioFile::parse("n.toml", &text, &[], None);
    let file = file.unwrap_or_else(|error| panic!("{error}"));
    let layout = Layout::new(file.scenario()).unwrap();
    let links = layout.links.iter().map(|link| {
        let jitter = link
            .jitter
            .is_some_and(|jitter| !jitter.size.get().is_zero());
        (
            link.conditions.loss_model.is_some(),
            link.loss.as_f64(),
            jitter,
        )
    });
    links.collect()
}

#[test]
fn none_of_a_way_back_is_none_that_way() {
    const MODEL: &str = "loss_model = { kind = \"periodic\", every = 10 }";
    let none = "reverse = { loss_model = \"none\", jitter = \"none\" }";
    assert_eq!(
        impairments(&format!("jitter = \"1ms\"\n{MODEL}\n{none}"), ""),
        [(true, 0.0, true), (false, 0.0, false)]
    );
    // A loss of its own stays, and so does a plain one of both ways.
    let own = "reverse = { loss_model = \"none\", loss = \"1%\" }";
    assert_eq!(
        impairments(&format!("{MODEL}\n{own}"), ""),
        [(true, 0.0, false), (false, 0.01, false)]
    );
    let defaults = "[defaults.links]\nreverse = { loss_model = \"none\" }\n";
    assert_eq!(
        impairments("loss = \"10%\"", defaults),
        [(false, 0.1, false), (false, 0.1, false)]
    );
    assert_eq!(
        impairments(&format!("{MODEL}\nreverse = {{ loss = \"1%\" }}"), defaults),
        [(true, 0.0, false), (false, 0.01, false)]
    );
}

#[test]
fn a_link_without_a_rate_queues_in_outages() {
    let link = |more: &str| {
        let text = format!(
            "name = \"n\"\nduration = \"9s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nqueue = \"50p\"\n{more}\n\
             [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\n\
             application = {{ kind = \"cbr\", rate = \"1mbit\" }}\n"
        );
        ScenarioFile::parse("n.toml", &text, &[], None).map(|_| ())
    };
    assert!(link("outages = [{ at = \"1s\", duration = \"1s\" }]").is_ok());
    let error = link("").unwrap_err().to_string();
    assert!(error.contains("no packet ever waits"), "{error}");
}
