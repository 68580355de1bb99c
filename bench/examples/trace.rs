//! scratch
use netnice_kernel::{control::Control, pins::Pins};
use netnice_lab::*;
use std::time::Duration;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let pins = Pins::open().unwrap();
    for c in Control::all() {
        c.register(&pins).unwrap();
    }
    let s = Duration::from_secs_f64;
    let spec = LinkSpec::symmetric(args[1].parse().unwrap());
    let secs: f64 = args[3].parse().unwrap();
    let mut bed = Testbed::new(&spec).unwrap().flow(
        "a",
        Bulk::new(&args[2]).sample_every(Duration::from_millis(10)),
    );
    for x in &args[4..] {
        if x == "web" {
            bed = bed.flow(
                "web",
                Web::new("10kB".parse().unwrap(), Duration::from_millis(300))
                    .direction(Direction::Up)
                    .congestion("cubic")
                    .from(s(5.0)),
            );
        } else if x == "square" {
            bed = bed.flow(
                "udp",
                Udp::square_wave("6.66mbit".parse().unwrap(), Duration::from_millis(3200)),
            );
        } else {
            {
                let f: Vec<&str> = x.split(':').collect();
                bed = bed.flow(
                    x.clone(),
                    Bulk::new(f[0])
                        .from(s(f[1].parse().unwrap()))
                        .until(s(f[2].parse().unwrap())),
                );
            }
        }
    }
    let r = bed.run(s(secs)).unwrap();
    let a = r.bulk("a").unwrap();
    for x in &a.samples {
        println!(
            "{:.3} cwnd {} rtt {:.2} min {:.2} retr {}",
            x.time.as_secs_f64(),
            x.cwnd,
            x.rtt.as_secs_f64() * 1e3,
            x.min_rtt.as_secs_f64() * 1e3,
            x.retransmits
        );
    }
    for i in 0..(secs as u64) {
        print!(
            "{:.2} ",
            r.goodput("a", s(i as f64), s(i as f64 + 1.0)).unwrap() / 1e6
        );
    }
    println!();
    println!("{} ", r.link);
    println!(
        "goodput {:.3} Mb/s",
        r.goodput("a", s(5.0), s(secs)).unwrap() / 1e6
    );
    pins.close().unwrap();
}
