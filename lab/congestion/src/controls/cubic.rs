// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUBIC (RFC 9438), with fast convergence and the Reno-friendly region.

use crate::congestion_control::{Ack, Congestion, CongestionControl, Registration, Window};
use crate::controls::hystart::HyStart;
use crate::controls::linux_cubic::LinuxCubic;
use crate::controls::reno::{
    MINIMUM_SSTHRESH_PACKETS, SLOW_START_LIMIT_PACKETS, may_grow, slow_start, window_in_use,
};
use netnice_parameters::Settings;

pub(crate) const REGISTRATION: Registration = Registration {
    name: LinuxCubic::NAME,
    summary: "the window follows a cubic function of the time since the last loss (RFC 9438)",
    build: |settings| match settings.switch("linux") {
        true => Box::new(LinuxCubic::new(settings)),
        false => Box::new(Cubic::new(settings)),
    },
};

/// State since the last reduction, in congestion avoidance: RFC 9438 section 4.2.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start_ns: u64,
    /// K: seconds until the window reaches `maximum` again.
    k_s: f64,
    /// W_max of this epoch.
    maximum: f64,
    /// W_est: the window that Reno would have (section 4.3).
    friendly: f64,
}

/// CUBIC. It counts packets acknowledged, not ACKs: the cubic function depends on time, and delayed ACKs must not keep
/// the window from following it.
#[derive(Debug, Clone)]
pub struct Cubic {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    hystart: Option<HyStart>,
    /// W_max: window just before the last loss, or less by fast convergence; 0 before the first loss.
    maximum: f64,
    /// cwnd_prior: window just before the last reduction.
    prior: f64,
    epoch: Option<Epoch>,
    latest_ack_ns: u64,
}

impl Cubic {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            c: settings.number("c"),
            beta: settings.number("beta"),
            fast_convergence: settings.switch("fast_convergence"),
            hystart: settings.switch("hystart").then(HyStart::default),
            maximum: 0.0,
            prior: 0.0,
            epoch: None,
            latest_ack_ns: 0,
        }
    }

    /// Starts an epoch with K by equation 2. Without a preceding loss (section 4.10), or after an RTO (section 4.8),
    /// the epoch starts at the plateau: K = 0.
    fn begin_epoch(&self, now_ns: u64, cwnd: f64) -> Epoch {
        let maximum = self.maximum.max(cwnd);
        Epoch {
            start_ns: now_ns,
            k_s: ((maximum - cwnd) / self.c).cbrt(),
            maximum,
            friendly: cwnd,
        }
    }

    /// alpha_cubic: Reno's increase for CUBIC's decrease, until Reno's window reaches that of the last loss.
    fn friendly_increase(&self, friendly: f64) -> f64 {
        if friendly >= self.prior {
            1.0
        } else {
            3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        }
    }

    fn reduce(&mut self, congestion: &Congestion, window: &mut Window) {
        self.epoch = None;
        self.hystart = None;
        self.prior = window.cwnd;
        window.ssthresh =
            (window_in_use(congestion, window) * self.beta).max(MINIMUM_SSTHRESH_PACKETS);
    }
}

impl Epoch {
    /// W_cubic (equation 1), `t_s` seconds into the epoch.
    fn cubic(&self, c: f64, t_s: f64) -> f64 {
        c * (t_s - self.k_s).powi(3) + self.maximum
    }
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        REGISTRATION.name
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        let since_ack_ns = ack.now_ns.saturating_sub(self.latest_ack_ns);
        self.latest_ack_ns = ack.now_ns;
        if !may_grow(ack) || ack.acked == 0 {
            // Time in which the window was not fully used does not count (section 5.8).
            if let Some(epoch) = &mut self.epoch {
                epoch.start_ns += since_ack_ns;
            }
            return;
        }
        let acked = f64::from(ack.acked);
        if window.in_slow_start() {
            self.epoch = None;
            match &mut self.hystart {
                Some(hystart) => hystart.on_ack(ack, window),
                None => slow_start(window, acked.min(SLOW_START_LIMIT_PACKETS)),
            }
            return;
        }
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(ack.now_ns, window.cwnd),
        };
        epoch.friendly += self.friendly_increase(epoch.friendly) * acked / window.cwnd;
        self.epoch = Some(epoch);

        let t_s = ack.now_ns.saturating_sub(epoch.start_ns) as f64 / 1e9;
        if epoch.cubic(self.c, t_s) < epoch.friendly {
            window.cwnd = window.cwnd.max(epoch.friendly);
            return;
        }
        let next_s = t_s + ack.smoothed_rtt_ns as f64 / 1e9;
        let target = epoch
            .cubic(self.c, next_s)
            .clamp(window.cwnd, 1.5 * window.cwnd);
        window.cwnd += (target - window.cwnd) * (acked / window.cwnd).min(1.0);
    }

    fn uses_flight_samples(&self) -> bool {
        false
    }

    fn sender_paces(&mut self) {
        if let Some(hystart) = &mut self.hystart {
            hystart.paced = true;
        }
    }

    fn on_loss(&mut self, congestion: &Congestion, window: &mut Window) {
        self.maximum = if self.fast_convergence && window.cwnd < self.maximum {
            window.cwnd * (1.0 + self.beta) / 2.0
        } else {
            window.cwnd
        };
        self.reduce(congestion, window);
    }

    fn on_timeout(&mut self, congestion: &Congestion, window: &mut Window) {
        self.maximum = 0.0;
        self.reduce(congestion, window);
    }

    /// Excludes an idle period from the epoch.
    fn on_restart(&mut self, now_ns: u64, _window: &mut Window) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start_ns += now_ns.saturating_sub(self.latest_ack_ns);
        }
        self.latest_ack_ns = now_ns;
    }
}
