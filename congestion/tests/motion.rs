// SPDX-License-Identifier: MIT OR Apache-2.0
//! The policies in motion over a small path.

mod bottleneck;

use bottleneck::*;


fn c(name: &str) -> Control {
    match name { "netnice" => Control::netnice(), "tcplp" => Control::tcplp(), "cubic" => Control::Cubic(Cubic::default()), _ => Control::Reno }
}

#[test]
fn explore() {
    let names = std::env::var("NAMES").unwrap_or("netnice".into());
    let only = std::env::var("CELL").unwrap_or_default();
    let mut cells = vec![(10.0, 40, 83)];
    for rate in [1.5, 10.0, 100.0] { for rtt in [4u64, 40, 200] { for q in [0.25, 1.0, 5.0] {
        let bdp = rate * 1e6 * rtt as f64 / 1e3 / 12000.0; cells.push((rate, rtt, ((bdp * q).round() as usize).max(1))); } } }
    for (rate, rtt, q) in cells {
        if !only.is_empty() && only != format!("{rate}/{rtt}/{q}") { continue; }
        for name in names.split(',') {
            let long = if rtt == 200 { 2.0 } else { 1.0 };
            let mut b = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(name), 0.0, 1e9)]);
            let mut sumq = 0;
            b.run_watching(60.0, 0.01, |b, _| sumq += b.backlog());
            let alone = b.flows[0].received as f64 * b.packet_ns() as f64 / 60e9;
            print!("{rate:5} {rtt:3} {q:4} {name}: alone {:5.1}% q {:5.2} loss {:3} |", alone * 100.0, sumq as f64 / 6000.0, b.flows[0].losses);
            for other in ["reno", "cubic"] {
                let mut z = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(other), 5.0, 1e9)]);
                z.run(20.0); let zr = z.flows[0].received; z.run(20.0 + 60.0 * long); let zz = (z.flows[0].received - zr) as f64;
                let mut d = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(name), 0.0, 1e9), Flow::new(c(other), 5.0, 1e9)]);
                d.run(20.0);
                let (a, r) = (d.flows[0].received, d.flows[1].received);
                d.run(20.0 + 60.0 * long);
                let (a, r) = ((d.flows[0].received - a) as f64, (d.flows[1].received - r) as f64);
                print!(" {other} {:5.2}% keeps {:5.1}% (alone {:5.1}) |", a / (a + r) * 100.0, r / zz * 100.0, zz * d.packet_ns() as f64 / 60e7 / long);
            }
            let mut e = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(name), 0.0, 1e9), Flow::new(c(name), 30.0, 1e9)]);
            e.run(60.0);
            let (x, y) = (e.flows[0].received, e.flows[1].received);
            e.run(90.0);
            let (x, y) = ((e.flows[0].received - x) as f64, (e.flows[1].received - y) as f64);
            print!(" two jain {:.3} sum {:5.1}% |", (x + y).powi(2) / 2.0 / (x * x + y * y), (x + y) * e.packet_ns() as f64 / 30e7);
            // web
            if rate >= 10.0 {
            let mut w = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(name), 0.0, 1e9)]);
            w.inject(Injection { start_ns: 10_000_000_000, interval_ns: 300_000_000, burst: 1, period_ns: 0 });
            w.inject(Injection { start_ns: 10_000_000_000 + w.path.one_way_ns * 2, interval_ns: 300_000_000, burst: 7, period_ns: 0 });
            w.run(70.0);
            let base = (rtt * 2) as f64 * 1e6 + 8.0 * w.packet_ns() as f64;
            let mut t: Vec<f64> = w.injected[0].met.iter().zip(&w.injected[1].met).map(|(a, b)| (a + b) * w.packet_ns() as f64 / base + 1.0).collect();
            let mean = t.iter().sum::<f64>() / t.len() as f64;
            t.sort_by(f64::total_cmp);
            print!(" web {:.3} p95 {:.3} bulk {:5.1}% |", mean, t[t.len() * 95 / 100], w.flows[0].received as f64 * w.packet_ns() as f64 / 70e7);
            let mut u = Bottleneck::new(Path::new(rate, rtt, q), vec![Flow::new(c(name), 0.0, 1e9)]);
            let pn = u.packet_ns();
            u.inject(Injection { start_ns: 0, interval_ns: pn * 3 / 2, burst: 1, period_ns: 3_200_000_000 });
            u.run(6.4); let f = u.flows[0].received; u.run(70.4);
            print!(" square {:5.1}% lost {:.2}%", (u.flows[0].received - f) as f64 * pn as f64 / 64e7 / (2.0 / 3.0), 100.0 * u.injected[0].lost as f64 / u.injected[0].sent as f64);
            }
            println!();
        }
    }
}

#[test]
fn trace() {
    let v = std::env::var("CELL").unwrap_or("10/40/83".into());
    let v: Vec<f64> = v.split('/').map(|x| x.parse().unwrap()).collect();
    let mut flows = vec![Flow::new(Control::netnice(), 0.0, 1e9)];
    if let Ok(o) = std::env::var("OTHER") { flows.push(Flow::new(c(&o), 5.0, 1e9)); }
    let mut b = Bottleneck::new(Path::new(v[0], v[1] as u64, v[2] as usize), flows);
    b.run_watching(30.0, 0.02, |b, t| println!("{t:.2} cwnd {} backlog {} {:?} other {:?}", b.flows[0].cwnd, b.backlog(), b.flows[0].report(), b.flows.get(1).map(|f| f.cwnd)));
}

#[test]
fn square_trace() {
    let mut u = Bottleneck::new(Path::new(10.0, 40, 83), vec![Flow::new(Control::netnice(), 0.0, 1e9)]);
    let pn = u.packet_ns();
    u.inject(Injection { start_ns: 0, interval_ns: pn * 3 / 2, burst: 1, period_ns: 3_200_000_000 });
    u.run_watching(30.0, 0.02, |b, t| println!("{t:.2} cwnd {} backlog {} {:?}", b.flows[0].cwnd, b.backlog(), b.flows[0].report()));
}

#[test]
fn score() {
    for (label, cells) in [
        ("10/40 1-5bdp", vec![(10.0, 38, 40), (10.0, 40, 83), (10.0, 42, 100), (10.3, 41, 60), (9.7, 43, 150)]),
        ("10/40 .25bdp", vec![(10.0, 38, 8), (10.0, 40, 8), (10.3, 42, 9), (9.7, 44, 9)]),
        ("100/40", vec![(100.0, 38, 333), (103.0, 40, 700), (97.0, 42, 1000)]),
        ("100/4", vec![(100.0, 4, 33), (103.0, 5, 100), (97.0, 4, 170)]),
        ("10/4", vec![(10.0, 4, 10), (10.3, 5, 17), (9.7, 4, 30)]),
        ("1.5/40", vec![(1.5, 38, 12), (1.55, 40, 25), (1.45, 42, 15)]),
        ("10/200", vec![(10.0, 195, 167), (10.3, 200, 400), (9.7, 205, 800)]),
        ("100/200", vec![(100.0, 195, 1667), (103.0, 205, 4000)]),
    ] {
        let n = cells.len() as f64;
        let mut m = [0.0; 12];
        for (rate, rtt, q) in cells {
            let path = || Path::new(rate, rtt, q);
            let mut b = Bottleneck::new(path(), vec![Flow::new(c("netnice"), 0.0, 1e9)]);
            b.run(30.0);
            let r = b.flows[0].received;
            b.run(60.0);
            m[0] += (b.flows[0].received - r) as f64 * b.packet_ns() as f64 / 30e7;
            for (i, other) in ["reno", "cubic"].iter().enumerate() {
                let mut z = Bottleneck::new(path(), vec![Flow::new(c(other), 5.0, 1e9)]);
                z.run(30.0); let zr = z.flows[0].received; z.run(120.0);
                let mut d = Bottleneck::new(path(), vec![Flow::new(c("netnice"), 0.0, 1e9), Flow::new(c(other), 5.0, 1e9)]);
                d.run(30.0);
                let (a, r) = (d.flows[0].received, d.flows[1].received);
                d.run(120.0);
                let (a, r) = ((d.flows[0].received - a) as f64, (d.flows[1].received - r) as f64);
                m[1 + 2 * i] += a / (a + r) * 100.0;
                m[2 + 2 * i] += r / (z.flows[0].received - zr) as f64 * 100.0;
            }
            let mut e = Bottleneck::new(path(), vec![Flow::new(c("netnice"), 0.0, 1e9), Flow::new(c("netnice"), 30.0, 1e9)]);
            e.run(60.0);
            let (x, y) = (e.flows[0].received, e.flows[1].received);
            e.run(90.0);
            let (x, y) = ((e.flows[0].received - x) as f64, (e.flows[1].received - y) as f64);
            m[5] += (x + y).powi(2) / 2.0 / (x * x + y * y);
            m[6] += (x + y) * e.packet_ns() as f64 / 30e7;
            let mut w = Bottleneck::new(path(), vec![Flow::new(c("netnice"), 0.0, 1e9)]);
            w.inject(Injection { start_ns: 10_000_000_000, interval_ns: 300_000_000, burst: 1, period_ns: 0 });
            w.inject(Injection { start_ns: 10_000_000_000 + w.path.one_way_ns * 2, interval_ns: 300_000_000, burst: 7, period_ns: 0 });
            w.run(10.0); let r = w.flows[0].received; w.run(70.0);
            let base = (rtt * 2) as f64 * 1e6 + 8.0 * w.packet_ns() as f64;
            let mut t: Vec<f64> = w.injected[0].met.iter().zip(&w.injected[1].met).map(|(a, b)| (a + b) * w.packet_ns() as f64 / base + 1.0).collect();
            m[7] += t.iter().sum::<f64>() / t.len() as f64;
            t.sort_by(f64::total_cmp);
            m[8] += t[t.len() * 95 / 100];
            m[9] += (w.flows[0].received - r) as f64 * w.packet_ns() as f64 / 60e7;
            let mut u = Bottleneck::new(path(), vec![Flow::new(c("netnice"), 0.0, 1e9)]);
            let pn = u.packet_ns();
            u.inject(Injection { start_ns: 0, interval_ns: pn * 3 / 2, burst: 1, period_ns: 3_200_000_000 });
            u.run(6.4); let f = u.flows[0].received; u.run(70.4);
            m[10] += (u.flows[0].received - f) as f64 * pn as f64 / 64e7 / (2.0 / 3.0);
            m[11] += 100.0 * u.injected[0].lost as f64 / u.injected[0].sent as f64;
        }
        for x in &mut m { *x /= n; }
        println!("score {label:13} alone {:5.1} | reno {:5.2} {:5.1} | cubic {:5.2} {:5.1} | two {:.3} {:5.1} | web {:.3} {:.3} {:5.1} | square {:5.1} {:.2}", m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8], m[9], m[10], m[11]);
    }
}

#[test]
fn web_trace() {
    let mut w = Bottleneck::new(Path::new(10.0, 40, 83), vec![Flow::new(c("netnice"), 0.0, 1e9)]);
    w.inject(Injection { start_ns: 10_000_000_000, interval_ns: 300_000_000, burst: 1, period_ns: 0 });
    w.inject(Injection { start_ns: 10_000_000_000 + w.path.one_way_ns * 2, interval_ns: 300_000_000, burst: 7, period_ns: 0 });
    w.run_watching(14.0, 0.02, |b, t| println!("{t:.2} cwnd {} backlog {} {:?}", b.flows[0].cwnd, b.backlog(), b.flows[0].report()));
}
