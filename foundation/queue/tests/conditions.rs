// SPDX-License-Identifier: MIT OR Apache-2.0
//! Policer, shaper, delivery trace, outages, changes and loss models against figures worked by hand.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::Marked;
use netnice_queue::{
    Bytes, DropCause, DropTail, Jitter, Link, LinkChange, LinkConditions, LinkConfig, LossModel,
    Outage, PolicerConfig, Queued, ShaperConfig, Time,
};

type TestLink = Link<Marked, DropTail<Queued<Marked>>>;

fn ms(number: f64) -> Duration {
    Duration::from_nanos((number * 1e6).round() as u64)
}

fn link(rate: Option<&str>, conditions: &LinkConditions) -> TestLink {
    let config = LinkConfig {
        rate: rate.map(|rate| rate.parse().unwrap()),
        delay: ms(1.0),
        seed: 5,
        ..LinkConfig::default()
    };
    Link::new(config, DropTail::packets(1000)).with_conditions(conditions)
}

/// Offers a packet at each of the times, in milliseconds, and returns when those not dropped come out.
fn through(link: &mut TestLink, packets: &[(f64, usize)]) -> Vec<f64> {
    let mut out = Vec::new();
    let mut deliver = |link: &mut TestLink, until: Time| {
        while let Some(next) = link.next_event().filter(|&next| next <= until) {
            out.extend(
                std::iter::from_fn(|| link.deliver(next))
                    .map(|delivery| delivery.due.as_nanos() as f64 / 1e6),
            );
        }
    };
    for (number, &(at, length)) in packets.iter().enumerate() {
        let now = Time::ZERO + ms(at);
        deliver(link, now);
        let packet = Marked {
            length,
            ..Marked::new(number)
        };
        let _ = link.offer(now, packet);
    }
    deliver(link, Time::from_nanos(u64::MAX));
    out
}

#[test]
fn a_policer_drops_what_its_tokens_do_not_cover() {
    // 1000 bytes of tokens come in each millisecond.
    let policer = PolicerConfig {
        rate: "8mbit".parse().unwrap(),
        burst: Bytes::new(3000),
    };
    let conditions = LinkConditions {
        policer: Some(policer),
        ..LinkConditions::default()
    };
    let mut link = link(None, &conditions);
    let packets: Vec<(f64, usize)> = (0..10).map(|n| (f64::from(n) * 0.5, 1000)).collect();
    // The bucket holds 3000, 2500, 2000, 1500, 1000, 500, 1000, 500, 1000 and 500 bytes when they arrive.
    let out = through(&mut link, &packets);
    assert_eq!(out, [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0]);
    assert_eq!(link.counters().policed, 3);
    assert_eq!(link.nominal_rate(), Some(policer.rate));
    // 7000 bytes take 7 ms at the policer's rate.
    assert_eq!(link.usage(Time::from_millis(10)).busy, ms(7.0));
}

#[test]
fn a_shaper_lets_a_burst_pass_at_its_peak_rate() {
    let conditions = LinkConditions {
        shaper: Some(ShaperConfig {
            burst: Bytes::new(3000),
            peak_rate: Some("80mbit".parse().unwrap()),
        }),
        ..LinkConditions::default()
    };
    let mut link = link(Some("8mbit"), &conditions);
    // Three packets take 0.1 ms each. At 0.3 ms 300 bytes of tokens are left, so the fourth begins at 1 ms, the fifth at 2.
    let out = through(&mut link, &[(0.0, 1000); 5]);
    assert_eq!(out, [1.1, 1.2, 1.3, 2.1, 3.1]);
    assert_eq!(link.counters().max_queue_wait, ms(2.0));
}

fn traced(times: &str) -> TestLink {
    let trace: netnice_queue::DeliveryTrace = times.parse().unwrap();
    let conditions = LinkConditions {
        trace: Some(Arc::new(trace)),
        ..LinkConditions::default()
    };
    link(Some("1mbit"), &conditions)
}

#[test]
fn packets_leave_at_the_opportunities_of_a_trace() {
    let full = |at| (at, 1500);
    let out = through(&mut traced("10\n20\n20\n40\n"), &[full(0.0); 6]);
    assert_eq!(out, [11.0, 21.0, 21.0, 41.0, 51.0, 61.0]);
    // An opportunity that finds no packet is lost.
    let out = through(
        &mut traced("10\n20\n20\n40\n"),
        &[full(10.5), full(45.0), full(80.0)],
    );
    assert_eq!(out, [21.0, 51.0, 81.0]);
    // Small packets share an opportunity, a large one takes three.
    let small = [(0.0, 500), (0.0, 500), (0.0, 500), (0.0, 500), (0.0, 3001)];
    let out = through(&mut traced("10\n20\n20\n40\n"), &small);
    assert_eq!(out, [11.0, 11.0, 11.0, 21.0, 41.0]);
}

#[test]
fn no_transmission_begins_in_an_outage() {
    let conditions = LinkConditions {
        outages: vec![
            Outage {
                at: ms(10.0),
                duration: ms(5.0),
                every: Some(ms(20.0)),
            },
            Outage {
                at: ms(35.0),
                duration: ms(2.0),
                every: None,
            },
        ],
        ..LinkConditions::default()
    };
    // 12 Mb/s: 1 ms for a packet. The first is under way at 10 ms.
    let mut link = link(Some("12mbit"), &conditions);
    let out = through(
        &mut link,
        &[(9.5, 1500), (9.6, 1500), (31.0, 1500), (70.0, 1500)],
    );
    assert_eq!(out, [11.5, 17.0, 39.0, 77.0]);
    assert_eq!(link.usage(Time::from_millis(100)).busy, ms(4.0));
}

#[test]
fn waiting_for_a_trace_within_outages_ends() {
    let conditions = LinkConditions {
        trace: Some(Arc::new("10\n".parse().unwrap())),
        // From 8 to 12 ms, from 18 to 22 ms and so on: around each opportunity.
        outages: vec![Outage {
            at: ms(8.0),
            duration: ms(4.0),
            every: Some(ms(10.0)),
        }],
        ..LinkConditions::default()
    };
    // The first packet looks at 2^18 opportunities, and leaves at the next one; the second finds no outages any more.
    let out = through(&mut link(Some("1mbit"), &conditions), &[(0.0, 1500); 2]);
    assert_eq!(out, [2_621_451.0, 2_621_461.0]);
}

#[test]
fn rate_delay_and_loss_change_at_their_times() {
    let change = |at, rate: Option<&str>, delay: Option<f64>| LinkChange {
        at: ms(at),
        rate: rate.map(|rate| rate.parse().unwrap()),
        delay: delay.map(ms),
        loss: None,
    };
    let conditions = LinkConditions {
        changes: vec![
            change(10.0, Some("6mbit"), Some(6.0)),
            change(20.0, None, Some(1.0)),
            LinkChange {
                loss: Some("100%".parse().unwrap()),
                ..change(40.0, None, None)
            },
            LinkChange {
                loss: Some("0%".parse().unwrap()),
                ..change(50.0, None, None)
            },
        ],
        ..LinkConditions::default()
    };
    let mut link = link(Some("12mbit"), &conditions);
    let times = [9.5, 11.0, 19.9, 20.0, 30.0, 40.0, 45.0, 50.0];
    let out = through(&mut link, &times.map(|at| (at, 1500)));
    // 9.5 + 1 + 1; 11 + 2 + 6; 19.9 + 2 + 6; from 21.9: + 2 + 1, but not before the packet sent first; 30 + 2 + 1; lost; lost.
    assert_eq!(out, [11.5, 19.0, 27.9, 27.9, 33.0, 53.0]);
    assert_eq!(link.counters().random_loss, 2);
}

#[test]
fn packets_come_out_in_batches() {
    let conditions = LinkConditions {
        batch_interval: ms(5.0),
        ..LinkConditions::default()
    };
    let out = through(&mut link(Some("12mbit"), &conditions), &[(0.0, 1500); 6]);
    assert_eq!(out, [5.0, 5.0, 5.0, 5.0, 10.0, 10.0]);
}

fn losses(model: LossModel, packets: u32) -> Vec<bool> {
    let conditions = LinkConditions {
        loss_model: Some(model),
        ..LinkConditions::default()
    };
    let mut link = link(None, &conditions);
    let lost = (0..packets).map(|number| {
        let now = Time::from_millis(u64::from(number));
        while link.deliver(now).is_some() {}
        link.offer(now, Marked::new(number as usize))
            .is_err_and(|dropped| {
                assert_eq!(dropped.cause, DropCause::RandomLoss);
                true
            })
    });
    lost.collect()
}

#[test]
fn each_nth_packet_is_lost() {
    let lost = losses(LossModel::Periodic { every: 3 }, 7);
    assert_eq!(lost, [false, false, true, false, false, true, false]);
}

#[test]
fn listed_packets_are_lost() {
    let packets = [1, 4, 5].into();
    let lost = losses(LossModel::Listed { packets }, 7);
    assert_eq!(lost, [true, false, false, true, true, false, false]);
}

#[test]
fn gilbert_and_elliott_lose_packets_in_bursts() {
    let percent = |text: &str| text.parse().unwrap();
    let model = LossModel::GilbertElliott {
        to_bad: percent("1%"),
        to_good: percent("20%"),
        loss_in_bad: percent("100%"),
        loss_in_good: percent("0%"),
    };
    let lost = losses(model, 200_000);
    let share = lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64;
    // to_bad / (to_bad + to_good), and bursts of 1 / to_good packets.
    assert!((share - 0.01 / 0.21).abs() < 0.003, "{share}");
    let bursts = lost.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64;
    let mean = share * lost.len() as f64 / bursts;
    assert!((mean - 5.0).abs() < 0.2, "{mean}");
}

#[test]
fn early_packets_come_without_the_jitter() {
    let jitter = Jitter::Early(ms(4.0), "25%".parse().unwrap());
    let mut link = link(None, &LinkConditions::default()).with_jitter(jitter);
    let packets: Vec<(f64, usize)> = (0..4000).map(|n| (f64::from(n) * 10.0, 100)).collect();
    let out = through(&mut link, &packets);
    let delays = out.iter().zip(&packets).map(|(out, packet)| out - packet.0);
    let early = delays.clone().filter(|&delay| delay == 1.0).count();
    assert!(delays.clone().all(|delay| delay == 1.0 || delay == 5.0));
    assert!((900..1100).contains(&early), "{early}");
}

/// Delays that the jitter adds to 20,000 packets, in ms.
fn delays_of(jitter: Jitter) -> Vec<f64> {
    let mut link = link(None, &LinkConditions::default()).with_jitter(jitter);
    let packets: Vec<(f64, usize)> = (0..20_000).map(|n| (f64::from(n) * 1000.0, 100)).collect();
    let out = through(&mut link, &packets);
    out.iter()
        .zip(&packets)
        .map(|(out, packet)| out - packet.0 - 1.0)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn pareto_jitter_has_its_mean() {
    let mean = mean(&delays_of(Jitter::Pareto(ms(2.0))));
    assert!((mean - 2.0).abs() < 0.1, "{mean}");
}

#[test]
fn netem_pareto_jitter_is_that_of_its_table() {
    let delays = delays_of(Jitter::NetemPareto(ms(3.0)));
    // 4/3 (E[min(x, 4.5)] - 1) of 3 ms, with E[min(x, c)] = 1.5 - 1 / (2 c^2) for Pareto's distribution of shape 3 from 1 on.
    let mean = mean(&delays);
    assert!((mean - 1.9012).abs() < 0.05, "{mean}");
    // 4 + 2/3 of 3 ms, for 4.5^-3 = 1.1 % of the packets.
    let longest = delays.iter().filter(|delay| (**delay - 14.0).abs() < 1e-3);
    let longest = longest.count();
    assert!((170..270).contains(&longest), "{longest}");
    assert!(delays.iter().all(|&delay| (0.0..14.001).contains(&delay)));
}
