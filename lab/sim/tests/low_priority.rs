// SPDX-License-Identifier: MIT OR Apache-2.0
//! The promises of the low-priority controls, checked with margins over one simulated bottleneck. Receivers delay ACKs
//! as in Linux, and stamp in milliseconds.

use netnice_results::{FlowResult, RunResults, jain_index};
use netnice_scenario::ScenarioFile;

/// Endpoints as in Linux.
const LINUX: &str = "delayed_ack = true, recovery = \"linux\"";

/// A path and the flows measured on it.
struct Bed {
    link: String,
    nodes: String,
    tcp: String,
    flows: String,
}

impl Bed {
    /// A drop-tail queue.
    fn new(rate: &str, rtt_ms: u32, queue: &str) -> Bed {
        Bed::with_queue(rate, rtt_ms, &format!("\"{queue}\""))
    }

    /// A queue discipline with its defaults.
    fn of_discipline(rate: &str, rtt_ms: u32, discipline: &str) -> Bed {
        Bed::with_queue(
            rate,
            rtt_ms,
            &format!("{{ discipline = \"{discipline}\" }}"),
        )
    }

    fn with_queue(rate: &str, rtt_ms: u32, queue: &str) -> Bed {
        Bed {
            link: format!(
                "rate = \"{rate}\"\ndelay = \"{}us\"\nqueue = {queue}\n",
                rtt_ms * 500
            ),
            nodes: String::new(),
            tcp: "delayed_ack = true, quick_acks = true, min_rto = \"200ms\"".to_owned(),
            flows: String::new(),
        }
    }

    /// The base case: 10 Mb/s, 40 ms, a queue of 2.5 bandwidth-delay products.
    fn base() -> Bed {
        Bed::new("10mbit", 40, "83p")
    }

    fn link(mut self, line: &str) -> Bed {
        self.link += line;
        self.link += "\n";
        self
    }

    /// The clock of the receivers' host.
    fn clock(mut self, clock: &str) -> Bed {
        self.nodes = format!("[[nodes]]\nname = \"far\"\nclock = {{ {clock} }}\n");
        self
    }

    fn tcp(mut self, settings: &str) -> Bed {
        self.tcp = settings.to_owned();
        self
    }

    fn flow(mut self, name: &str, control: &str, rest: &str) -> Bed {
        self.flows += &format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"near\"\nto = \"far\"\ncongestion_control = \"{control}\"\n\
             start_spread = \"30ms\"\ntcp = {{ {} }}\n{rest}\n",
            self.tcp
        );
        self
    }

    /// Flows from the far host to the near one.
    fn uploads(self, control: &str, count: u32) -> Bed {
        let rest = format!("count = {count}\nstart = \"3s\"");
        let mut bed = self.flow("upload", control, &rest);
        let at = bed.flows.rfind("from = \"near\"\nto = \"far\"").unwrap();
        let turned = bed.flows[at..].replacen(
            "from = \"near\"\nto = \"far\"",
            "from = \"far\"\nto = \"near\"",
            1,
        );
        bed.flows.replace_range(at.., &turned);
        bed
    }

    /// Runs for `seconds`, and measures from `warm_up_s` on.
    fn run(&self, warm_up_s: u32, seconds: u32) -> Results {
        self.run_with_seed(1, warm_up_s, seconds)
    }

    fn run_with_seed(&self, seed: u64, warm_up_s: u32, seconds: u32) -> Results {
        let text = format!(
            "name = \"test\"\nduration = \"{seconds}s\"\nwarm_up = \"{warm_up_s}s\"\n{}\
             [[links]]\nfrom = \"near\"\nto = \"far\"\n{}{}",
            self.nodes, self.link, self.flows
        );
        let file = match ScenarioFile::parse("test", &text, &[], None) {
            Ok(file) => file,
            Err(error) => panic!("{error}\n{text}"),
        };
        let run = netnice_sim::run(file.scenario(), seed, || true).unwrap();
        Results(run.expect("nobody stops it"))
    }
}

struct Results(RunResults);

impl Results {
    fn flow(&self, name: &str) -> &FlowResult {
        self.0.flows.iter().find(|flow| flow.name == name).unwrap()
    }

    /// A flow's share of the link, headers included.
    fn share(&self, name: &str) -> f64 {
        self.flow(name).throughput_bps / self.0.queues[0].rate_bps as f64
    }

    /// Sum of the shares of a group's flows.
    fn share_of_group(&self, name: &str) -> f64 {
        let group = self.0.flows.iter().filter(|flow| flow.group == name);
        let sum: f64 = group.map(|flow| flow.throughput_bps).sum();
        sum / self.0.queues[0].rate_bps as f64
    }
}

fn alone(bed: Bed, control: &str) -> f64 {
    bed.flow("own", control, "").run(20, 60).share("own")
}

/// Shares of a control and of a rival that starts after 5 s.
fn beside(bed: Bed, control: &str, rival: &str) -> (f64, f64) {
    beside_with_seed(bed, control, rival, 1)
}

/// Means over seeds of the shares of netnice and of a rival that starts after 5 s.
fn mean_beside(seeds: u64, bed: impl Fn() -> Bed, rival: &str) -> (f64, f64) {
    let shares = (1..=seeds).map(|seed| beside_with_seed(bed(), "netnice", rival, seed));
    let (own, theirs) = shares.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (own / seeds as f64, theirs / seeds as f64)
}

fn beside_with_seed(bed: Bed, control: &str, rival: &str, seed: u64) -> (f64, f64) {
    let bed = bed
        .flow("own", control, "")
        .flow("rival", rival, "start = \"5s\"");
    let results = bed.run_with_seed(seed, 20, 80);
    (results.share("own"), results.share("rival"))
}

/// Asserts that a control alone uses the link of `changed` to 96 % of its use of `plain`, and that beside a rival its
/// share grows by less than a hundredth of the link.
fn assert_alike(control: &str, plain: impl Fn() -> Bed, changed: impl Fn() -> Bed) {
    let (before, after) = (alone(plain(), control), alone(changed(), control));
    let case = format!("{control}, {}{}", changed().link, changed().nodes);
    assert!(after > 0.96 * before, "{case}: {after:.4}, not {before:.4}");
    let (before, _) = beside(plain(), control, "reno");
    let (after, theirs) = beside(changed(), control, "reno");
    assert!(after < before + 0.01, "{case}: {after:.4}, not {before:.4}");
    assert!(after + theirs > 0.97, "{case}: {after:.4}, {theirs:.4}");
}

#[test]
fn netnice_fills_an_idle_link() {
    for (rate, rtt_ms, queue) in [
        ("10mbit", 40, "83p"),
        ("10mbit", 40, "33p"),
        ("10mbit", 40, "8p"),
        ("10mbit", 200, "167p"),
        ("100mbit", 40, "333p"),
        ("100mbit", 4, "33p"),
        ("1.5mbit", 200, "25p"),
    ] {
        let share = alone(Bed::new(rate, rtt_ms, queue), "netnice");
        assert!(share > 0.94, "{rate}, {rtt_ms} ms, {queue}: {share:.3}");
    }
}

#[test]
fn netnice_yields_to_reno_and_cubic() {
    for (rate, rtt_ms, queue) in [
        ("10mbit", 40, "83p"),
        ("10mbit", 40, "33p"),
        ("100mbit", 40, "333p"),
        ("1.5mbit", 40, "25p"),
    ] {
        for rival in ["reno", "cubic"] {
            let (own, theirs) = beside(Bed::new(rate, rtt_ms, queue), "netnice", rival);
            let case = format!("{rate}, {rtt_ms} ms, {queue}, {rival}");
            assert!(own < 0.03, "{case}: {own:.3}");
            assert!(theirs > 0.97, "{case}: {theirs:.3}");
        }
    }
}

#[test]
fn netnice_yields_on_short_queues_too() {
    // A quarter of a bandwidth-delay product; four packets, where others fill the queue that a window within the
    // bandwidth-delay product overflows; eight packets at 100 Mb/s, 0.96 ms, less than the threshold's floor, and 42 at
    // 500 Mb/s, hardly more.
    // There the share depends on which packet is lost, and differs by half between seeds: the mean of some is bounded.
    const SEEDS: u64 = 6;
    for (rate, rtt_ms, queue, rival, most, least) in [
        ("10mbit", 40, "8p", "reno", 0.06, 0.81),
        ("10mbit", 40, "8p", "cubic", 0.01, 0.94),
        ("10mbit", 40, "4p", "reno", 0.2, 0.56),
        ("10mbit", 40, "4p", "cubic", 0.04, 0.84),
        ("100mbit", 4, "8p", "reno", 0.06, 0.79),
        ("100mbit", 4, "8p", "cubic", 0.01, 0.94),
        ("500mbit", 4, "42p", "reno", 0.02, 0.80),
        ("500mbit", 4, "42p", "cubic", 0.01, 0.92),
    ] {
        let bed = || Bed::new(rate, rtt_ms, queue).tcp(LINUX);
        let (own, theirs) = mean_beside(SEEDS, bed, rival);
        let case = format!("{rate}, {rtt_ms} ms, {queue}, {rival}: {own:.4}, {theirs:.4}");
        assert!(own < most && theirs > least, "{case}");
    }
}

#[test]
fn netnice_yields_to_a_slow_start_on_long_fast_paths() {
    // A quarter of a bandwidth-delay product, which the slow start of others overflows within two round trips of the first sign.
    for (rate, rtt_ms, queue) in [("100mbit", 200, "416p"), ("100mbit", 100, "208p")] {
        for (rival, most) in [("reno", 0.35), ("cubic", 0.01)] {
            let bed = || Bed::new(rate, rtt_ms, queue).tcp(LINUX);
            let with_rival = |bed: Bed| bed.flow("rival", rival, "start = \"15s\"").run(20, 60);
            let undisturbed = with_rival(bed()).share("rival");
            let results = with_rival(bed().flow("own", "netnice", ""));
            let (own, kept) = (results.share("own"), results.share("rival") / undisturbed);
            let case =
                format!("{rate}, {rtt_ms} ms, {rival}: {own:.3}, {kept:.3} of {undisturbed:.3}");
            assert!(own < most && kept > 0.93, "{case}");
        }
    }
}

#[test]
fn losses_of_its_own_bursts_leave_a_short_queue_filled() {
    // Found by ACKs of packets sent after the window was halved, they once counted as losses of the next round.
    for (rate, rtt_ms, queue, link) in [
        ("100mbit", 4, "4p", ""),
        ("50mbit", 4, "3p", ""),
        ("1500kbit", 40, "2p", ""),
        ("50mbit", 4, "83p", "loss = \"0.3%\""),
    ] {
        let share = alone(Bed::new(rate, rtt_ms, queue).link(link), "netnice");
        assert!(
            share > 0.6,
            "{rate}, {rtt_ms} ms, {queue}, {link}: {share:.3}"
        );
    }
}

#[test]
fn netnice_waits_longer_where_its_returns_meet_losses() {
    // Two and three packets of queue, recovery as in Linux, and ACKs that come a little irregularly, without which CUBIC
    // loses less there than on the kernel. It gets 2.1 and 8.5 of 10 Mb/s alone.
    const SEEDS: u64 = 8;
    for (queue, most, least) in [("2p", 0.15, 0.17), ("3p", 0.1, 0.7)] {
        let bed = || {
            Bed::new("10mbit", 40, queue)
                .link("jitter = \"30us\"")
                .tcp("delayed_ack = true, recovery = \"linux\"")
        };
        let (own, theirs) = mean_beside(SEEDS, bed, "cubic");
        let case = format!("{queue}: {own:.4}, {theirs:.4}");
        assert!(own < most && theirs > least, "{case}");
    }
}

#[test]
fn netnice_keeps_below_a_policer_and_yields_behind_it() {
    let bed = || {
        let bed = Bed::new("1gbit", 40, "1000p");
        bed.link("policer = { rate = \"10mbit\", burst = \"30kB\" }")
    };
    let alone = |control| bed().flow("own", control, "").run(20, 60);
    let (own, cubic) = (alone("netnice"), alone("cubic"));
    let flow = own.flow("own");
    assert!(
        flow.packets_lost * 100 < flow.packets_sent,
        "{} of {}",
        flow.packets_lost,
        flow.packets_sent
    );
    assert!(own.share("own") > 0.9 * cubic.share("own"));
    let (own, theirs) = mean_beside(3, bed, "cubic");
    assert!(own < 0.1 * (own + theirs), "{own:.5}, {theirs:.5}");
    assert!(theirs > 0.85 * cubic.share("own"), "{theirs:.5}");
}

#[test]
fn losses_of_its_own_excess_are_not_taken_for_others() {
    // The bucket holds two round trips: what follows from one excess is lost over several rounds.
    let bed = Bed::new("1gbit", 40, "1000p")
        .link("policer = { rate = \"10mbit\", burst = \"100kB\" }")
        .flow("own", "netnice", "");
    let results = bed.run(20, 60);
    let share = results.flow("own").throughput_bps / 10e6;
    assert!(share > 0.5, "{share:.3}");
}

#[test]
fn netnice_yields_to_one_begun_with_it_behind_a_policer() {
    let bed = || {
        let bed = Bed::new("1gbit", 40, "1000p");
        bed.link("policer = { rate = \"10mbit\", burst = \"30kB\" }")
    };
    let starts = "start = \"200ms\"";
    for rival in ["cubic", "reno"] {
        let alone = bed()
            .flow("rival", rival, starts)
            .run(20, 60)
            .share("rival");
        let yielded = (1..=10).filter(|&seed| {
            let bed = bed().flow("own", "netnice", "");
            let results = bed.flow("rival", rival, starts).run_with_seed(seed, 20, 60);
            results.share("rival") > 0.8 * alone
        });
        let yielded = yielded.count();
        assert!(yielded >= 8, "{rival}: {yielded}");
    }
}

#[test]
fn random_loss_far_below_a_limit_is_seldom_others() {
    let bed = Bed::new("1gbit", 20, "1000p")
        .link("policer = { rate = \"50mbit\", burst = \"100kB\" }")
        .link("loss = \"1%\"")
        .flow("own", "netnice", "");
    let filled = (1..=10).filter(|&seed| {
        let results = bed.run_with_seed(seed, 20, 60);
        results.flow("own").throughput_bps > 5e6
    });
    let filled = filled.count();
    assert!(filled >= 8, "{filled}");
}

#[test]
fn random_loss_is_not_taken_for_others() {
    let share = alone(Bed::base().link("loss = \"0.1%\""), "netnice");
    assert!(share > 0.85, "{share:.3}");
}

#[test]
fn netnice_gives_way_within_a_second_and_comes_back_within_five() {
    let bed = || {
        Bed::base().flow("own", "netnice", "").flow(
            "rival",
            "cubic",
            "start = \"10s\"\nstop = \"30s\"",
        )
    };
    assert!(bed().run(11, 12).share("own") < 0.1);
    assert!(bed().run(35, 36).share("own") > 0.9);
}

/// Transfers of 2 s, each 4 s, from 12 s on: 15 groups named `short0`, `short1` and so on.
fn with_short_transfers(bed: Bed, control: &str) -> Bed {
    (0..15).fold(bed, |bed, number| {
        let start_s = 12 + 4 * number;
        let times = format!("start = \"{start_s}s\"\nstop = \"{}s\"", start_s + 2);
        bed.flow(&format!("short{number}"), control, &times)
    })
}

#[test]
fn netnice_fills_the_pauses_between_short_transfers() {
    let shares = |results: &Results| -> f64 {
        let names = (0..15).map(|number| format!("short{number}"));
        names.map(|name| results.share(&name)).sum()
    };
    for control in ["cubic", "reno"] {
        let undisturbed = shares(&with_short_transfers(Bed::base(), control).run(12, 72));
        let bed = with_short_transfers(Bed::base().flow("own", "netnice", ""), control);
        let results = bed.run(12, 72);
        let (own, kept) = (results.share("own"), shares(&results));
        assert!(
            own > 0.4 * (1.0 - undisturbed),
            "{control}: {own:.3} of {undisturbed:.3}"
        );
        assert!(
            kept > 0.93 * undisturbed,
            "{control}: {kept:.3} of {undisturbed:.3}"
        );
    }
}

#[test]
fn a_latecomer_gets_its_half() {
    let bed = Bed::base()
        .flow("first", "netnice", "")
        .flow("late", "netnice", "start = \"30s\"");
    let results = bed.run(60, 90);
    let shares = [results.share("first"), results.share("late")];
    assert!(jain_index(&shares).unwrap() > 0.93, "{shares:?}");
    assert!(shares[0] + shares[1] > 0.95, "{shares:?}");
}

/// The first flow returns to its plateau after each back-off sooner than the second one grows: the plateau has to fall.
#[test]
fn a_latecomer_gets_its_half_of_a_fast_link_too() {
    let bed = Bed::new("100mbit", 40, "333p")
        .flow("first", "netnice", "")
        .flow("late", "netnice", "start = \"15s\"");
    // It yields to the other's slow start first. One seed in eight has an index of 0.92 yet.
    let indices = [1, 2, 3, 4].map(|seed| {
        let results = bed.run_with_seed(seed, 50, 70);
        let shares = [results.share("first"), results.share("late")];
        assert!(shares[0] + shares[1] > 0.95, "{shares:?}");
        jain_index(&shares).unwrap()
    });
    assert!(indices.iter().sum::<f64>() / 4.0 > 0.96, "{indices:?}");
}

#[test]
fn netnice_follows_a_square_wave() {
    let mut bed = Bed::base().flow("own", "netnice", "");
    bed.flows += "[[flows]]\nname = \"udp\"\nfrom = \"near\"\nto = \"far\"\ntransport = \"udp\"\n\
                  application = { kind = \"square_wave\", rate = \"6.667mbit\", period = \"3.2s\" }\n";
    let results = bed.run(6, 70);
    let share = results.share("own");
    assert!(share > 0.8 * 2.0 / 3.0, "{share:.3}");
    let udp = results.flow("udp");
    assert!(
        udp.packets_lost * 1000 < udp.packets_sent,
        "{} lost",
        udp.packets_lost
    );
}

#[test]
fn pages_meet_next_to_no_queue() {
    let pages = |bed: Bed| {
        let mut bed = bed;
        for page in 0..100 {
            let start = format!("start = \"{}ms\"\nbytes = \"10kB\"", 20_000 + 300 * page);
            bed = bed.flow(&format!("page{page}"), "cubic", &start);
        }
        let results = bed.run(20, 52);
        let times: Vec<f64> = (0..100)
            .filter_map(|page| results.flow(&format!("page{page}")).completion_s)
            .collect();
        assert_eq!(times.len(), 100);
        let bulk = results.0.flows.iter().find(|flow| flow.name == "own");
        let share = bulk.map_or(0.0, |_| results.share("own"));
        (times.iter().sum::<f64>() / 100.0, share)
    };
    let (without, _) = pages(Bed::base());
    let (with, share) = pages(Bed::base().flow("own", "netnice", ""));
    assert!(with < 1.08 * without, "{with:.4} s for {without:.4} s");
    assert!(share > 0.8, "{share:.3}");
}

#[test]
fn a_path_that_jitters_is_filled_too() {
    for (rate, rtt_ms, queue, jitter) in [
        ("10mbit", 40, "83p", "5ms"),
        ("10mbit", 40, "83p", "20ms"),
        ("50mbit", 20, "300p", "5ms"),
    ] {
        let bed = || {
            Bed::new(rate, rtt_ms, queue).link(&format!(
                "jitter = \"{jitter}\"\nreverse = {{ jitter = \"1ns\" }}"
            ))
        };
        let share = alone(bed(), "netnice");
        assert!(share > 0.75, "{rate}, {jitter}: {share:.3}");
        let (own, _) = beside(bed(), "netnice", "cubic");
        assert!(own < 0.03, "{rate}, {jitter}: {own:.3}");
    }
}

#[test]
fn a_path_longer_and_slower_at_once_is_filled() {
    for (delay, rate, mbit) in [("35ms", "5mbit", 5.0), ("60ms", "3mbit", 3.0)] {
        let bed = Bed::base()
            .tcp(LINUX)
            .link(&format!(
                "changes = [{{ at = \"15s\", delay = \"{delay}\", rate = \"{rate}\" }}]"
            ))
            .flow("own", "netnice", "");
        let share = bed.run(30, 60).share("own") * 10.0 / mbit;
        assert!(share > 0.9, "{delay}, {rate}: {share:.3}");
    }
}

#[test]
fn packets_that_come_early_are_no_empty_queue() {
    // 1 % of the packets come 4 ms early.
    let bed = Bed::base().link(
        "jitter = { size = \"4ms\", distribution = \"early\" }\nreverse = { jitter = \"0ms\" }",
    );
    let share = alone(bed, "netnice");
    assert!(share > 0.9, "{share:.3}");
}

#[test]
fn receivers_of_any_kind_are_understood() {
    for tcp in [
        "min_rto = \"200ms\"",
        "min_rto = \"200ms\", timestamps = false",
        "min_rto = \"200ms\", timestamps = false, delayed_ack = true",
    ] {
        let share = alone(Bed::base().tcp(tcp), "netnice");
        assert!(share > 0.95, "{tcp}: {share:.3}");
        let (own, _) = beside(Bed::base().tcp(tcp), "netnice", "reno");
        assert!(own < 0.03, "{tcp}: {own:.3}");
    }
}

#[test]
fn rare_acks_starve_nobody_and_hide_little() {
    for (packets, time, most) in [(16, "100ms", 0.05), (64, "200ms", 0.25)] {
        let tcp =
            format!("delayed_ack = \"{time}\", packets_per_ack = {packets}, min_rto = \"200ms\"");
        let share = |control| alone(Bed::base().tcp(&tcp), control);
        let (own, theirs) = (share("netnice"), share("cubic"));
        assert!(own > 0.5 * theirs, "{packets}: {own:.3} of {theirs:.3}");
        for rival in ["reno", "cubic"] {
            let bed = Bed::base().tcp(&tcp).flow("own", "netnice", "");
            let bed = bed.tcp(&Bed::base().tcp);
            let results = bed.flow("rival", rival, "start = \"5s\"").run(20, 80);
            let (own, theirs) = (results.share("own"), results.share("rival"));
            let case = format!("{packets}, {rival}: {own:.4}, {theirs:.4}");
            assert!(own < most && own + theirs > 0.95, "{case}");
        }
    }
}

#[test]
fn clocks_that_drift_or_wrap_change_nothing() {
    // 2^32 ticks of a millisecond are 4,294,967.296 s: this clock wraps after 30 s.
    let wraps = "offset = \"4294937s\"";
    for control in ["netnice", "tcplp"] {
        for clock in ["drift_ppm = 500", "drift_ppm = -500", wraps] {
            assert_alike(control, Bed::base, || Bed::base().clock(clock));
        }
    }
}

#[test]
fn a_clock_that_is_slow_by_per_cents_hides_no_queue() {
    for drift in ["drift_ppm = -50000", "drift_ppm = -10000"] {
        for rival in ["reno", "cubic"] {
            let (own, theirs) = beside(Bed::base().clock(drift), "netnice", rival);
            let case = format!("{drift}, {rival}: {own:.4}, {theirs:.4}");
            assert!(own < 0.05 && theirs > 0.95, "{case}");
        }
        let share = alone(Bed::base().clock(drift), "netnice");
        assert!(share > 0.97, "{drift}: {share:.3}");
    }
}

#[test]
fn uploads_that_fill_the_way_back_do_not_stop_it() {
    let narrow = || Bed::base().link("reverse = { rate = \"1mbit\", queue = \"100p\" }");
    let slow = || Bed::new("1.5mbit", 40, "23p");
    let beds: [(fn() -> Bed, _, _); 4] = [
        (narrow, "cubic", 1),
        (narrow, "reno", 10),
        (narrow, "bbr", 2),
        (slow, "reno", 10),
    ];
    for (bed, rival, count) in beds {
        for tcp in ["delayed_ack = true, min_rto = \"200ms\"", LINUX] {
            let measure = |control: &str| {
                let (mut share, mut retransmissions) = (0.0, 0);
                for seed in 1..=4 {
                    let bed = bed().tcp(tcp);
                    let bed = bed.flow("own", control, "").uploads(rival, count);
                    let results = bed.run_with_seed(seed, 20, 80);
                    share += results.share("own");
                    retransmissions += results.flow("own").retransmissions;
                }
                (share, retransmissions)
            };
            let ((own, ours), (cubic, theirs)) = (measure("netnice"), measure("cubic"));
            let case = format!("{count} {rival}, {tcp}: {own:.3}, {ours} for {cubic:.3}, {theirs}");
            assert!(own > 0.87 * cubic && ours < theirs / 4, "{case}");
        }
    }
}

#[test]
fn packets_that_overtake_each_other_change_little() {
    // By two packets at the most, fewer than the three that indicate a loss.
    let reorders = "jitter = { size = \"2ms\", reordering = true }\nreverse = { jitter = \"1ns\" }";
    for control in ["netnice", "tcplp"] {
        assert_alike(control, Bed::base, || Bed::base().link(reorders));
    }
}

#[test]
fn a_link_that_becomes_slower_is_filled_again() {
    // An ACK for each packet of a train, for each second one, or as in Linux one or the other.
    for acks in ["delayed_ack = true", "delayed_ack = false", LINUX] {
        for (rate, jitter) in [
            ("3400kbit", ""),
            ("5mbit", "jitter = \"2ms\""),
            ("5mbit", "jitter = \"300us\""),
            ("1mbit", ""),
        ] {
            let changes = format!("changes = [{{ at = \"20s\", rate = \"{rate}\" }}]");
            let bed = Bed::base().link(&changes).link(jitter).tcp(acks);
            let own = bed
                .flow("own", "netnice", "")
                .run(50, 90)
                .flow("own")
                .throughput_bps;
            let rate: netnice_queue::Rate = rate.parse().unwrap();
            let part = own / rate.bits_per_second() as f64;
            assert!(part > 0.6, "{part} of {rate}, {acks}");
        }
    }
}

#[test]
fn a_link_that_becomes_faster_is_filled() {
    let dip = |low| {
        format!(
            "changes = [{{ at = \"10s\", rate = \"{low}\" }}, {{ at = \"40s\", rate = \"10mbit\" }}]"
        )
    };
    let first = "changes = [{ at = \"6s\", rate = \"10mbit\" }]".to_owned();
    for (rate, rtt_ms, queue, changes, from_s) in [
        ("10mbit", 40, "83p", dip("200kbit"), 48),
        ("10mbit", 4, "83p", dip("200kbit"), 48),
        // These queues take ten and twenty seconds to empty, so that the link is fast again while probes look for others.
        ("10mbit", 200, "170p", dip("200kbit"), 48),
        ("10mbit", 40, "83p", dip("50kbit"), 48),
        ("120kbit", 40, "50p", first, 14),
    ] {
        let own = Bed::new(rate, rtt_ms, queue)
            .link(&changes)
            .tcp(LINUX)
            .flow("own", "netnice", "")
            .run(from_s, from_s + 6)
            .flow("own")
            .throughput_bps;
        assert!(own > 9e6, "{own} bit/s: {rtt_ms} ms, {rate}, {changes}");
    }
}

#[test]
fn a_path_changed_beside_a_rival_is_filled_afterwards() {
    // The queue of the rival moves while the path changes. After it has left, the longer delay stands still.
    for (change, bits_per_second) in [("rate = \"3mbit\"", 3e6), ("delay = \"60ms\"", 1e7)] {
        for queue in ["fifo", "fq_codel"] {
            let bed = match queue {
                "fifo" => Bed::base(),
                _ => Bed::of_discipline("10mbit", 40, queue),
            };
            let results = bed
                .link(&format!("changes = [{{ at = \"25s\", {change} }}]"))
                .flow("own", "netnice", "")
                .flow("rival", "cubic", "start = \"15s\"\nstop = \"80s\"")
                .run(90, 200);
            let part = results.flow("own").throughput_bps / bits_per_second;
            assert!(part > 0.45, "{change}, {queue}: {part:.3}");
        }
    }
}

#[test]
fn netnice_yields_in_a_fair_queue_to_a_latecomer() {
    for rival in ["cubic", "reno"] {
        let share = |seed| {
            Bed::of_discipline("10mbit", 40, "fq_codel")
                .flow("own", "netnice", "")
                .flow("rival", rival, "start = \"15s\"")
                .run_with_seed(seed, 20, 60)
                .share("own")
        };
        // Where it does not notice the other, it has half of the link.
        let shares: Vec<f64> = (1..=20).map(share).collect();
        let yields = shares.iter().filter(|&&share| share < 0.3).count();
        assert!(yields >= 15, "{rival}: {yields}, {shares:.3?}");
    }
}

#[test]
fn netnice_yields_in_a_fair_queue_that_others_use_first() {
    // It never has the link to itself: gaps between ACKs show the link's rate. Without them it has half of the link, or
    // an equal share.
    for (rate, rtt_ms, queue, rival, count, most) in [
        ("10mbit", 40, "fq_codel", "cubic", 1, 0.08),
        ("10mbit", 10, "fq_codel", "cubic", 1, 0.08),
        ("30mbit", 40, "fq_codel", "cubic", 1, 0.2),
        ("10mbit", 40, "cake", "cubic", 1, 0.08),
        ("10mbit", 40, "fq_codel", "bbr", 1, 0.3),
        ("10mbit", 40, "fq_codel", "cubic", 2, 0.06),
        ("10mbit", 40, "fq_codel", "cubic", 3, 0.06),
    ] {
        let share = |seed| {
            Bed::of_discipline(rate, rtt_ms, queue)
                .flow("rival", rival, &format!("count = {count}"))
                .flow("own", "netnice", "start = \"4s\"")
                .run_with_seed(seed, 20, 60)
                .share("own")
        };
        let shares: Vec<f64> = (1..=5).map(share).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        assert!(
            mean < most,
            "{rate}, {rtt_ms} ms, {queue}, {count} {rival}: {shares:.3?}"
        );
    }
}

#[test]
fn netnice_yields_in_a_fair_queue_for_half_an_hour() {
    let share = Bed::of_discipline("10mbit", 40, "fq_codel")
        .flow("rival", "cubic", "")
        .flow("own", "netnice", "start = \"4s\"")
        .run(20, 1800)
        .share("own");
    assert!(share < 0.04, "{share:.3}");
}

#[test]
fn a_flow_alone_meets_nobody_on_any_path() {
    // Packets in batches, jitter and losses make patterns that others in a fair queue make, too.
    for bed in [
        Bed::of_discipline("5mbit", 40, "fq_codel").link("jitter = \"300us\""),
        Bed::new("3mbit", 40, "60p").link("batch_interval = \"1ms\""),
        Bed::new("3mbit", 40, "60p").link("batch_interval = \"2ms\""),
        Bed::new("10mbit", 4, "60p").link("loss = \"0.3%\""),
        Bed::new("10mbit", 4, "8p").link("jitter = \"30us\""),
        Bed::new("10mbit", 4, "8p"),
        Bed::new("10mbit", 4, "17p"),
    ] {
        let bed = bed.flow("own", "netnice", "");
        let share = bed.run(5, 40).share("own");
        assert!(share > 0.85, "{}: {share:.3}", bed.link);
    }
}

#[test]
fn netnice_yields_in_fair_queues_at_high_rates_too() {
    for (rate, queue) in [("50mbit", "fq_codel"), ("100mbit", "cake")] {
        let results = Bed::of_discipline(rate, 40, queue)
            .flow("own", "netnice", "")
            .flow("rival", "cubic", "start = \"15s\"")
            .run(25, 60);
        let (own, theirs) = (results.share("own"), results.share("rival"));
        assert!(own < 0.1 && theirs > 0.8, "{rate}: {own:.3}, {theirs:.3}");
    }
}

#[test]
fn two_of_netnice_fill_a_fair_queue() {
    let bed = Bed::of_discipline("10mbit", 40, "fq_codel").flow("own", "netnice", "count = 2");
    let share = bed.run(20, 80).share_of_group("own");
    assert!(share > 0.93, "{share}");
}

#[test]
fn two_of_netnice_take_turns_in_a_fair_queue() {
    // Each takes the other for one that does not yield; but none yields for as long as the other lasts.
    let bed = Bed::of_discipline("10mbit", 40, "fq_codel")
        .flow("own", "netnice", "")
        .flow("later", "netnice", "start = \"15s\"");
    let (mut together, mut jain) = (0.0, 0.0);
    const SEEDS: u64 = 4;
    for seed in 1..=SEEDS {
        let results = bed.run_with_seed(seed, 20, 620);
        let shares = [results.share("own"), results.share("later")];
        together += shares.iter().sum::<f64>() / SEEDS as f64;
        jain += jain_index(&shares).expect("flows") / SEEDS as f64;
    }
    // Without turns 0.51.
    assert!(together > 0.9 && jain > 0.75, "{together:.3}, {jain:.3}");
}

#[test]
fn a_standing_queue_of_others_is_no_longer_path() {
    // Over minutes, too, the rival's queue moves, and is not mistaken for the path.
    let bed = Bed::base()
        .flow("own", "netnice", "")
        .flow("rival", "cubic", "start = \"5s\"");
    let results = bed.run(300, 400);
    assert!(results.share("own") < 0.03);
}

#[test]
fn a_path_that_becomes_longer_is_filled_again() {
    // 40 ms longer each way at 20 s; filled five seconds later, in each run.
    let cases = [
        ("10mbit", "83p", "", 20),
        ("10mbit", "83p", "jitter = \"1ms\"", 20),
        ("100mbit", "333p", "", 1),
    ];
    for (rate, queue, jitter, seeds) in cases {
        for seed in 1..=seeds {
            let results = Bed::new(rate, 40, queue)
                .link("changes = [{ at = \"20s\", delay = \"60ms\" }]")
                .link(jitter)
                .flow("own", "netnice", "")
                .run_with_seed(seed, 25, 35);
            let share = results.share("own");
            assert!(share > 0.85, "{rate}, {jitter}, seed {seed}: {share:.3}");
        }
    }
}

#[test]
fn a_queue_that_stands_still_is_no_longer_path() {
    // A rival whose window is the path's 33 packets and 40 of queue.
    let bed = Bed::base().flow("own", "netnice", "");
    let results = bed
        .tcp("delayed_ack = true, min_rto = \"200ms\", receiver_window = \"106580B\"")
        .flow("rival", "reno", "start = \"5s\"")
        .run(10, 300);
    let share = results.share("own");
    assert!(share < 0.01, "{share:.4}");
    assert!(results.share("rival") > 0.98);
}

#[test]
fn many_of_netnice_weigh_next_to_nothing() {
    // They begin together, so that most know neither the path's delay nor its rate.
    let runs = (1..=6).map(|seed| {
        let bed = Bed::base().flow("own", "netnice", "count = 20");
        let bed = bed.flow("rivals", "reno", "count = 20\nstart = \"3s\"");
        bed.run_with_seed(seed, 30, 120)
    });
    let runs: Vec<_> = runs.collect();
    let mean = |group: &str| {
        let shares = runs.iter().map(|run| run.share_of_group(group));
        shares.sum::<f64>() / runs.len() as f64
    };
    let (own, theirs) = (mean("own"), mean("rivals"));
    assert!(own < 0.04 && theirs > 0.95, "{own:.3}, {theirs:.3}");
}

#[test]
fn tcplp_yields_and_delayed_acks_do_not_starve_it() {
    let prompt = || Bed::base().tcp("min_rto = \"200ms\"");
    let share = alone(prompt(), "tcplp");
    assert!(share > 0.88, "{share:.4}");
    let (own, theirs) = beside(prompt(), "tcplp", "reno");
    assert!(own < 0.015 && theirs > 0.98, "{own:.4}, {theirs:.4}");
    assert_alike("tcplp", prompt, Bed::base);
}
