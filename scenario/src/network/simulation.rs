// SPDX-License-Identifier: MIT OR Apache-2.0
//! Features that only a kernel has, or only the simulator.

use super::problem::{Place, Problem};
use crate::model::{Application, Multiplexing, Scenario};

/// Features that the simulator lacks: programs, and controls that exist in kernels only.
pub fn not_simulated(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        if flow.count == Some(0) {
            continue;
        }
        let place = Place::key("flows").at(index);
        if let Application::Command(_) = flow.application {
            let text = "a command cannot be simulated; run it by `netnice lab`";
            problems.push(place.at("application").problem(text));
        }
        if !flow.congestion_control.is_simulated() {
            let name = &flow.congestion_control.name;
            let text = format!("`{name}` is not simulated; run it by `netnice lab`");
            problems.push(place.at("congestion_control").problem(text));
        }
    }
    problems
}

/// Web traffic whose servers and clients only the simulator has.
pub fn not_on_a_kernel(scenario: &Scenario) -> Vec<Problem> {
    let flows = scenario.flows.iter().enumerate();
    let multiplexed = flows.filter(|(_, flow)| match &flow.application {
        Application::Web(web) => web.multiplexing.unwrap_or_default() != Multiplexing::None,
        _ => false,
    });
    let problems = multiplexed.map(|(index, _)| {
        let place = Place::key("flows").at(index).at("application");
        let text = "a lab has a connection for each object: write \"none\", or simulate it by `netnice sim`";
        place.at("multiplexing").problem(text)
    });
    problems.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScenarioFile;

    #[test]
    fn a_lab_has_no_shared_connections() {
        let problems = |multiplexing: &str| {
            let text = format!(
                "name = \"n\"\nduration = \"1s\"\nlinks = [{{ from = \"a\", to = \"b\" }}]\n\
                 flows = [{{ name = \"web\", from = \"a\", to = \"b\", application = {{ kind = \"web\", \
                 sessions = 1, object_size = {{ mean = \"1kB\" }}{multiplexing} }} }}]"
            );
            let file = ScenarioFile::parse("n.toml", &text, &[], None).unwrap();
            not_on_a_kernel(file.scenario()).len()
        };
        assert_eq!(problems(""), 0);
        assert_eq!(problems(", multiplexing = \"none\""), 0);
        assert_eq!(problems(", multiplexing = \"http2\""), 1);
        assert_eq!(problems(", multiplexing = \"quic\""), 1);
    }
}
