// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources as a scenario describes them.

use std::time::Duration;

use netnice_queue::Rate;
use netnice_results::Codec;
use netnice_scenario::model::{self, Application, Multiplexing, PacketSizes};
use netnice_scenario::network::FlowGroup;

use super::{
    Call, ConstantRate, ObjectSize, OnOff, PacketSize, Pauses, PeriodLength, Poisson, Sizes,
    SquareWave, Traffic, Video, Web, WriteTrace,
};

impl Traffic {
    /// The traffic of a scenario's flow. Web sessions and commands are driven elsewhere; here they are bulk transfers.
    pub fn of(group: &FlowGroup) -> Traffic {
        let packet_bytes = u32::try_from(group.packet_size.get()).unwrap_or(u32::MAX);
        let high = |rate: Rate| ConstantRate { rate, packet_bytes };
        match &group.application {
            Application::Ftp
            | Application::Web(_)
            | Application::Arrivals(_)
            | Application::Command(_) => Traffic::Bulk,
            Application::Cbr { rate } => Traffic::from(high(*rate)),
            Application::SquareWave { rate, period, duty } => {
                let on = period.get().mul_f64(*duty);
                Traffic::from(SquareWave {
                    high: high(*rate),
                    on,
                    off: period.get() - on,
                })
            }
            Application::ParetoOnOff {
                rate,
                mean_on,
                mean_off,
                shape,
            } => Traffic::from(OnOff {
                high: high(*rate),
                length: PeriodLength::Pareto { shape: *shape },
                mean_on: mean_on.get(),
                mean_off: mean_off.get(),
            }),
            Application::ExponentialOnOff {
                rate,
                mean_on,
                mean_off,
            } => Traffic::from(OnOff {
                high: high(*rate),
                length: PeriodLength::Exponential,
                mean_on: mean_on.get(),
                mean_off: mean_off.get(),
            }),
            Application::Poisson { rate, size } => Traffic::from(Poisson {
                rate: *rate,
                size: match size {
                    PacketSizes::Constant => PacketSize::Fixed(packet_bytes),
                    PacketSizes::Exponential => PacketSize::Exponential {
                        mean_bytes: f64::from(packet_bytes),
                    },
                },
            }),
            Application::Call(call) => Traffic::from(Call {
                interval: call.interval.get(),
                packet_bytes,
                playout_delay: call.playout_delay.get(),
                codec: Codec {
                    ie: call.ie,
                    bpl: call.bpl,
                },
            }),
            Application::Video(video) => Traffic::from(Video {
                ladder: video.ladder.as_slice().into(),
                chunk: video.chunk.get(),
                start_up: video.start_up.get(),
                max_buffer: video.max_buffer.get(),
                reservoir: video.reservoir(),
                cushion: video.cushion(),
            }),
            Application::Trace { entries, .. } => {
                let headers = group.header_size.get();
                let writes = entries.iter().map(|entry| {
                    let bytes = u32::try_from(entry.bytes.get() + headers).unwrap_or(u32::MAX);
                    (entry.at.get(), bytes)
                });
                Traffic::from(WriteTrace::new(writes))
            }
        }
    }
}

impl Web {
    /// The sessions of a scenario.
    pub fn of(web: &model::Web) -> Web {
        Web {
            sessions: web.sessions,
            mean_page_gap: web.between_pages.get(),
            open_loop: web.open_loop,
            objects_per_page: web.objects_per_page,
            mean_object_gap: web.between_objects.get(),
            object_size: ObjectSize {
                mean_bytes: web.object_size.mean.get() as f64,
                shape: web.object_size.shape,
                max_bytes: web.object_size.max.map(|bytes| bytes.get()),
            }
            .into(),
            pauses: None,
            multiplexing: web.multiplexing.unwrap_or_default(),
            page_times: web.multiplexing.is_some(),
        }
    }

    /// The arriving transfers of a scenario: a session whose pages have one object each and do not wait for one another.
    pub fn of_arrivals(arrivals: &model::Arrivals) -> Web {
        let pauses = arrivals.mean_on.zip(arrivals.mean_off);
        Web {
            sessions: 1,
            mean_page_gap: arrivals.mean_gap().unwrap_or_default(),
            open_loop: true,
            objects_per_page: 1,
            mean_object_gap: Duration::ZERO,
            object_size: Sizes::of(&arrivals.size),
            pauses: pauses.map(|(on, off)| Pauses {
                mean_on: on.get(),
                mean_off: off.get(),
            }),
            multiplexing: Multiplexing::None,
            page_times: false,
        }
    }
}
