// SPDX-License-Identifier: MIT OR Apache-2.0
//! RED and RIO against numbers computed by hand.

mod common;

use common::{Marked, context, red, rio};
use netnice_queue::{
    DropCause, EcnMode, QueueDiscipline, QueueLimit, Red, RedConfig, Rio, RioConfig, RioCoupling,
    Time,
};

fn red_queue(config: &RedConfig) -> Red<Marked> {
    Red::from_config(config, &context(), 1).unwrap()
}

/// Sets the weight so that the average equals the queue that the last arrival found.
fn unsmoothed(config: RedConfig) -> RedConfig {
    RedConfig {
        weight: Some(1.0),
        ..config
    }
}

#[test]
fn the_average_moves_by_its_weight_with_each_arrival() {
    let mut queue = red_queue(&RedConfig {
        weight: Some(0.25),
        ..red(50, 20.0, 40.0)
    });
    let mut averages = Vec::new();
    for number in 0..4 {
        queue.enqueue(Time::ZERO, Marked::new(number)).unwrap();
        averages.push(queue.average());
    }
    // Arrivals find 0, 1, 2, 3: averages 0; 1/4; 3/4 * 1/4 + 2/4; 3/4 * 0.6875 + 3/4.
    assert_eq!(averages, [0.0, 0.25, 0.6875, 1.265625]);
}

#[test]
fn the_average_decays_over_the_packets_missed_while_idle() {
    let mut queue = red_queue(&RedConfig {
        weight: Some(0.5),
        ..red(50, 20.0, 40.0)
    });
    for number in 0..3 {
        queue.enqueue(Time::ZERO, Marked::new(number)).unwrap();
    }
    // Averages 0, 1/2, 1/4 + 1.
    assert_eq!(queue.average(), 1.25);
    for _ in 0..3 {
        queue.dequeue(Time::from_millis(3)).unwrap();
    }
    // Idle from 4 ms on; a second dequeue does not restart it. By 6.9 ms the link could have sent two packets of 1 ms.
    assert!(queue.dequeue(Time::from_millis(4)).is_none());
    assert!(queue.dequeue(Time::from_millis(5)).is_none());
    let arrival = Time::from_nanos(6_900_000);
    queue.enqueue(arrival, Marked::new(3)).unwrap();
    assert_eq!(queue.average(), 1.25 / 8.0);
    // No longer idle: the average changes only by the arrival, which finds one packet.
    queue.enqueue(arrival, Marked::new(4)).unwrap();
    assert_eq!(queue.average(), 1.25 / 16.0 + 0.5);
}

/// Returns the numbers of the packets dropped or marked while the queue is held at `length`.
fn hits(queue: &mut Red<Marked>, length: usize, packets: usize, ecn: bool) -> Vec<usize> {
    let mut hits = Vec::new();
    for number in 0..packets {
        let packet = Marked {
            ecn,
            ..Marked::new(number)
        };
        match queue.enqueue(Time::ZERO, packet) {
            Err(dropped) => {
                assert_eq!(dropped.cause, DropCause::EarlyDrop);
                hits.push(number);
            }
            Ok(()) if QueueDiscipline::packets(queue) > length => {
                let left = queue.dequeue(Time::ZERO).unwrap();
                if left.congestion_experienced {
                    hits.push(left.number);
                }
            }
            Ok(()) => {}
        }
    }
    hits
}

#[test]
fn drops_are_spaced_evenly_between_once_and_twice_the_inverse_probability() {
    // Half-way between the thresholds the probability is 5 %: gaps of 20 to 40 packets.
    let mut queue = red_queue(&unsmoothed(red(50, 5.0, 15.0)));
    let hits = hits(&mut queue, 10, 30_000, false);
    let gaps: Vec<usize> = hits.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (20..=40).contains(gap)), "{gaps:?}");
    // Uniform over 20..=39: mean 29.5, standard deviation 5.77 / sqrt(1000) = 0.18.
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    assert!((mean - 29.5).abs() < 1.0, "{mean}");
}

#[test]
fn without_wait_the_mean_gap_is_half_the_inverse_probability() {
    let mut queue = red_queue(&RedConfig {
        wait: false,
        ..unsmoothed(red(50, 5.0, 15.0))
    });
    let hits = hits(&mut queue, 10, 30_000, false);
    let gaps: Vec<usize> = hits.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (1..=20).contains(gap)), "{gaps:?}");
    // p / (1 - n p) for n = 1.. is a hazard of 1/19, 1/18, ...: gaps uniform over 1..=19, mean 10.
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    assert!((mean - 10.0).abs() < 0.6, "{mean}");
}

#[test]
fn marks_take_the_place_of_drops_below_the_maximum() {
    let config = RedConfig {
        ecn: EcnMode::Mark,
        ..unsmoothed(red(50, 5.0, 15.0))
    };
    let mut queue = red_queue(&config);
    let marks = hits(&mut queue, 10, 1_000, true);
    assert!(marks.len() > 20);
    assert!(queue.marks() >= marks.len() as u64);
    // Above the maximum threshold, the gentle part drops packets.
    let mut queue = red_queue(&config);
    for number in 0..40 {
        let packet = Marked {
            ecn: true,
            ..Marked::new(number)
        };
        if let Err(dropped) = queue.enqueue(Time::ZERO, packet) {
            assert!(queue.average() >= 15.0 && !dropped.packet.congestion_experienced);
        }
    }
    // Every packet is dropped from 2 * 15 on.
    assert!(QueueDiscipline::packets(&queue) <= 30);
}

#[test]
fn everything_is_dropped_from_the_maximum_on_unless_gentle() {
    let filled = |gentle| {
        let mut queue = red_queue(&RedConfig {
            gentle,
            ..unsmoothed(red(50, 5.0, 15.0))
        });
        let outcomes = (0..200).map(|number| queue.enqueue(Time::ZERO, Marked::new(number)));
        let forced = outcomes
            .filter_map(Result::err)
            .filter(|dropped| dropped.cause == DropCause::ForcedDrop)
            .count();
        (QueueDiscipline::packets(&queue), forced)
    };
    let (packets, forced) = filled(false);
    assert_eq!(packets, 15);
    assert!(forced > 150);
    let (packets, _) = filled(true);
    assert_eq!(packets, 30);
}

#[test]
fn one_that_waits_alone_is_no_congestion() {
    // With both thresholds at 0, every packet that finds more than one waiting is dropped.
    let mut queue = red_queue(&RedConfig {
        gentle: false,
        ..unsmoothed(red(50, 0.0, 0.0))
    });
    assert!(queue.enqueue(Time::ZERO, Marked::new(0)).is_ok());
    assert!(queue.enqueue(Time::ZERO, Marked::new(1)).is_ok());
    let dropped = queue.enqueue(Time::ZERO, Marked::new(2)).unwrap_err();
    assert_eq!(dropped.cause, DropCause::ForcedDrop);
}

#[test]
fn the_limit_holds_whatever_the_average() {
    let mut queue = red_queue(&red(3, 3.0, 3.0));
    for number in 0..3 {
        queue.enqueue(Time::ZERO, Marked::new(number)).unwrap();
    }
    let dropped = queue.enqueue(Time::ZERO, Marked::new(3)).unwrap_err();
    assert_eq!(dropped.cause, DropCause::QueueFull);
}

#[test]
fn the_router_of_tcplp_ecn_marks_low_priority_above_delta_and_drops_at_overflow_only() {
    // 15 % of 20 packets are 3.
    let config = RedConfig::for_tcplp_ecn(QueueLimit::Packets(20), 0.15);
    let mut queue = red_queue(&unsmoothed(config));
    for number in 0..20 {
        let packet = Marked {
            class: (number % 2) as u8,
            // Low-priority packets without ECN are not dropped early either.
            ecn: number != 9,
            ..Marked::new(number)
        };
        queue.enqueue(Time::ZERO, packet).unwrap();
    }
    let dropped = queue.enqueue(Time::ZERO, Marked::new(20)).unwrap_err();
    assert_eq!(dropped.cause, DropCause::QueueFull);
    let marked: Vec<usize> = std::iter::from_fn(|| queue.dequeue(Time::ZERO))
        .filter(|packet| packet.congestion_experienced)
        .map(|packet| packet.number)
        .collect();
    assert_eq!(marked, [3, 5, 7, 11, 13, 15, 17, 19]);
    assert_eq!(queue.marks(), 8);
}

/// The step of DCTCP with K of four packets (RFC 8257 section 3.1).
#[test]
fn a_step_marks_with_mark_always_and_drops_with_mark() {
    let arrivals = |ecn: EcnMode| {
        let config = RedConfig {
            gentle: false,
            ecn,
            ..unsmoothed(red(50, 4.0, 4.0))
        };
        assert_eq!(config.marks(), ecn == EcnMode::MarkAlways);
        let mut queue = red_queue(&config);
        let mut arrive = |number: usize| {
            let packet = Marked {
                ecn: number != 6,
                ..Marked::new(number)
            };
            queue.enqueue(Time::ZERO, packet).is_ok()
        };
        let taken: Vec<usize> = (0..9).filter(|&number| arrive(number)).collect();
        (taken, queue.marks())
    };
    assert_eq!(
        arrivals(EcnMode::MarkAlways),
        (vec![0, 1, 2, 3, 4, 5, 7, 8], 4)
    );
    assert_eq!(arrivals(EcnMode::Mark), (vec![0, 1, 2, 3], 0));
}

#[test]
fn the_automatic_weight_is_that_of_ns_2() {
    // C = 1000 packets/s; T = max(0.1 s, 3 * (10 ms + 1 ms)): 1 - exp(-1 / (10 * 0.1 * 1000)).
    let mut queue = red_queue(&red(50, 20.0, 40.0));
    queue.enqueue(Time::ZERO, Marked::new(0)).unwrap();
    queue.enqueue(Time::ZERO, Marked::new(1)).unwrap();
    assert!((queue.average() - 0.000_999_500_166_6).abs() < 1e-12);
}

/// Counts the drops over 200 seeds: each RIO queue with `number_in` and `number_out` packets waiting gets one arrival
/// of the kind.
fn rio_drops(
    coupling: RioCoupling,
    number_in: usize,
    number_out: usize,
    in_profile: bool,
) -> usize {
    let config = rio(coupling);
    let dropped = |seed| {
        // OUT packets fill the queue first, then IN packets; a dropped packet is followed by another of its kind.
        let mut queue: Rio<Marked> = Rio::from_config(&config, &context(), seed).unwrap();
        let mut waiting = 0;
        for number in 0.. {
            if waiting == number_in + number_out || number == 10_000 {
                break;
            }
            let packet = Marked {
                in_profile: waiting >= number_out,
                ..Marked::new(number)
            };
            waiting += queue.enqueue(Time::ZERO, packet).is_ok() as usize;
        }
        assert_eq!(QueueDiscipline::packets(&queue), number_in + number_out);
        let packet = Marked {
            in_profile,
            ..Marked::new(usize::MAX)
        };
        queue.enqueue(Time::ZERO, packet).is_err() as usize
    };
    (0..200).map(dropped).sum()
}

#[test]
fn rio_goes_through_its_five_phases() {
    let coupled = |number_in, number_out, in_profile| {
        rio_drops(RioCoupling::Coupled, number_in, number_out, in_profile)
    };
    // Phase 1: no congestion.
    assert_eq!((coupled(2, 2, true), coupled(2, 2, false)), (0, 0));
    // Phase 2: some OUT dropped.
    assert_eq!(coupled(2, 6, true), 0);
    assert!((1..200).contains(&coupled(2, 6, false)));
    // Phase 3: all OUT dropped, no IN.
    assert_eq!((coupled(8, 4, true), coupled(8, 4, false)), (0, 200));
    // Phase 4: all OUT dropped, some IN.
    let (dropped_in, dropped_out) = (coupled(19, 0, true), coupled(19, 0, false));
    assert!((1..100).contains(&dropped_in), "{dropped_in}");
    assert_eq!(dropped_out, 200);
    // Phase 5: all dropped.
    assert_eq!((coupled(20, 0, true), coupled(20, 0, false)), (200, 200));
}

#[test]
fn decoupled_out_is_not_dropped_for_in() {
    assert_eq!(rio_drops(RioCoupling::Coupled, 9, 3, false), 200);
    assert_eq!(rio_drops(RioCoupling::Decoupled, 9, 3, false), 0);
}

#[test]
fn rio_keeps_its_averages_over_the_packets_they_are_of() {
    let average = |coupling| {
        let config = RioConfig {
            weight: Some(0.5),
            ..rio(coupling)
        };
        let mut queue: Rio<Marked> = Rio::from_config(&config, &context(), 1).unwrap();
        for (number, in_profile) in [true, false, true, false].into_iter().enumerate() {
            let packet = Marked {
                in_profile,
                ..Marked::new(number)
            };
            queue.enqueue(Time::ZERO, packet).unwrap();
        }
        (queue.average_in(), queue.average_out())
    };
    // IN arrivals find 0 and 1 IN: averages 0, 1/2. All arrivals find 0, 1, 2, 3: averages 0, 1/2, 5/4, 17/8.
    assert_eq!(average(RioCoupling::Coupled), (0.5, 2.125));
    // OUT arrivals find 0 and 1 OUT.
    assert_eq!(average(RioCoupling::Decoupled), (0.5, 0.5));
}

#[test]
fn rio_marks_where_it_would_drop_below_the_maximum() {
    let config = RioConfig {
        ecn: EcnMode::Mark,
        ..rio(RioCoupling::Coupled)
    };
    let mut queue: Rio<Marked> = Rio::from_config(&config, &context(), 1).unwrap();
    for number in 0..1000 {
        let packet = Marked {
            ecn: true,
            in_profile: number % 2 == 0,
            ..Marked::new(number)
        };
        let outcome = queue.enqueue(Time::ZERO, packet);
        assert!(outcome.is_ok(), "{number}");
        if QueueDiscipline::packets(&queue) > 8 {
            let left = queue.dequeue(Time::ZERO).unwrap();
            // IN is below its minimum of 10.
            assert!(!(left.congestion_experienced && left.in_profile));
        }
    }
    // The average is 8, between OUT's thresholds 5 and 10 with max_p 50 %: 30 %, and more with the spacing.
    assert!(queue.marks() > 100);
}
