// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a lab carries in time.

use netnice_scenario::model::Scenario;

/// Rate that a lab carries in time on an ordinary machine, in bits per second: the fastest link, or all concurrent links.
pub const LAB_BPS: f64 = 100e6;

/// The load in packets per second, where packets are small. On two processors three links of 10 Mb/s with packets of 210
/// bytes are in time, six are not.
const LAB_PACKETS_PER_SECOND: f64 = 18e3;

/// The rate of the slowest link, in bits per second; `None` where none has a rate.
pub fn slowest_bps(scenario: &Scenario) -> Option<f64> {
    let rates = scenario.links.iter().filter_map(|link| link.rate);
    rates.map(|rate| rate.as_f64()).reduce(f64::min)
}

/// The part of the load that a lab carries in time which a run asks for, 0 to 1.
pub(crate) fn lab_load(scenario: &Scenario) -> f64 {
    let rate = slowest_bps(scenario).unwrap_or(0.0);
    let sizes = scenario.flows.iter().map(|flow| flow.packet_size.get());
    let packets = sizes
        .min()
        .map_or(0.0, |smallest| rate / (8 * smallest) as f64);
    let load = (rate / LAB_BPS).max(packets / LAB_PACKETS_PER_SECOND);
    load.min(1.0)
}

#[cfg(test)]
mod tests {
    use netnice_scenario::ScenarioFile;

    use super::lab_load;

    #[test]
    fn a_lab_is_loaded_by_bits_or_where_packets_are_small_by_packets() {
        let load = |rate: &str, packet: &str| {
            let text = format!(
                "name = \"n\"\nduration = \"1s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}\"\nqueue = \"9p\"\n\
                 [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\npacket_size = \"{packet}\"\n"
            );
            lab_load(
                ScenarioFile::parse("n", &text, &[], None)
                    .unwrap()
                    .scenario(),
            )
        };
        // 1.5 of 100 Mb/s.
        assert_eq!(load("1.5mbit", "1500B"), 0.015);
        // 10 Mb/s as packets of 210 bytes: 5952 in a second, of 18,000.
        let small = load("10mbit", "210B");
        assert!((small - 0.330_688).abs() < 1e-6, "{small}");
        // 450 Mb/s are more than fits.
        assert_eq!(load("450mbit", "1500B"), 1.0);
    }
}
