// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties of a link that a discipline is created with, and the errors of doing so.

use std::fmt;
use std::time::Duration;

use crate::dscp::Dscp;
use crate::units::{Bytes, QueueBound, QueueLimit, Rate, format_delay};

/// Properties of the link that a discipline depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DisciplineContext {
    /// The link's rate; `None` if a transmission takes no time.
    pub rate: Option<Rate>,
    /// The link's one-way propagation delay.
    pub delay: Duration,
    /// Propagation delay both ways between the hosts, which limits in bandwidth-delay products multiply.
    pub base_rtt: Duration,
    /// Length of a full packet, headers included: scenarios give the largest packet of the flows over the link. It converts
    /// between packets and bytes; RED and PIE take it for the mean packet size of their papers, CoDel for the largest.
    pub packet_size: Bytes,
}

impl DisciplineContext {
    pub(crate) fn rate(&self) -> Result<Rate, DisciplineError> {
        self.rate.ok_or(DisciplineError::NoRate)
    }

    /// Converts `limit` to packets or bytes.
    pub fn bound(&self, limit: QueueLimit) -> Result<QueueBound, DisciplineError> {
        if self.packet_size.get() == 0 {
            return Err(DisciplineError::NoPacketSize);
        }
        match limit {
            QueueLimit::Packets(packets) => Ok(QueueBound::Packets(packets as usize)),
            QueueLimit::Bytes(bytes) => Ok(QueueBound::Bytes(bytes.get())),
            QueueLimit::Time(_) | QueueLimit::Bdp(_) => {
                let packet_size = self.packet_size.get() as usize;
                Ok(limit.resolve(self.rate()?, self.base_rtt, packet_size))
            }
        }
    }

    /// Converts `limit` to full packets, at least one.
    pub fn bound_in_packets(&self, limit: QueueLimit) -> Result<usize, DisciplineError> {
        Ok(match self.bound(limit)? {
            QueueBound::Packets(packets) => packets,
            QueueBound::Bytes(bytes) => (bytes / self.packet_size.get()) as usize,
        }
        .max(1))
    }

    /// Full packets that the link sends per second.
    pub(crate) fn packets_per_second(&self) -> Result<f64, DisciplineError> {
        Ok(self.rate()?.as_f64() / (8.0 * self.packet_size.get() as f64))
    }

    /// w_q: the one configured, or ns-2.35's automatic one (its `q_weight_ -1`).
    pub(crate) fn weight(&self, given: Option<f64>) -> Result<f64, DisciplineError> {
        match given {
            Some(weight) if weight > 0.0 && weight <= 1.0 => Ok(weight),
            Some(weight) => Err(DisciplineError::Weight { weight }),
            None => {
                let packets_per_second = self.packets_per_second()?;
                let round_trip = 3.0 * (self.delay.as_secs_f64() + 1.0 / packets_per_second);
                let packets = 10.0 * round_trip.max(0.1) * packets_per_second;
                Ok(-(-1.0 / packets).exp_m1())
            }
        }
    }
}

/// A table as it stands before the name of a field in it.
struct Inside<'a>(&'a str);

impl fmt::Display for Inside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            table => write!(f, "{table}."),
        }
    }
}

/// An invalid description of a queue.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DisciplineError {
    /// The link has no rate.
    #[error(
        "the link has no rate, so neither a time nor a bandwidth-delay product is a queue's length; give the link a rate"
    )]
    NoRate,
    /// The context has no packet size.
    #[error("the packet size is zero; give one of at least 1B")]
    NoPacketSize,
    /// The minimum threshold is above the maximum threshold.
    #[error(
        "min_threshold ({min}) is above max_threshold ({max}), in the same unit; give a lower one"
    )]
    Thresholds {
        /// The minimum threshold, in the unit counted.
        min: f64,
        /// The maximum threshold, in the unit counted.
        max: f64,
    },
    /// The queue cannot reach the threshold.
    #[error(
        "{}{field} ({value}) is above the limit ({limit}), in the same unit, so that the average never reaches it; give at most \
         100%, which is the limit itself",
        Inside(.kind)
    )]
    BeyondLimit {
        /// The table of the threshold, `in`, `out` or `red`; empty where it is one of the whole queue.
        kind: &'static str,
        /// The threshold.
        field: &'static str,
        /// Its value, in the unit counted.
        value: f64,
        /// The limit, in the unit counted.
        limit: f64,
    },
    /// The weight is not above 0, or exceeds 1.
    #[error("weight {weight} is out of range; it must be above 0 and at most 1")]
    Weight {
        /// The weight as configured.
        weight: f64,
    },
    /// CoDel's target is not below its interval.
    #[error(
        "target ({}) is not below interval ({}); it must be, and 5 to 10 % of it is usual",
        format_delay(*.target),
        format_delay(*.interval)
    )]
    TargetAboveInterval {
        /// The target as configured.
        target: Duration,
        /// The interval as configured.
        interval: Duration,
    },
    /// A number is not above 0.
    #[error("{field} is {value}; it must be above 0")]
    NotPositive {
        /// The field of the description.
        field: &'static str,
        /// The number as configured.
        value: f64,
    },
    /// RIO does not support marking by class.
    #[error("ecn `mark_low_class` is for red only; write mark or mark_always")]
    LowClassInRio,
    /// The discipline of a class is invalid.
    #[error("classes[{class}].queue: {error}")]
    InClass {
        /// Index of the class, from 0.
        class: usize,
        /// The error of its discipline.
        error: Box<DisciplineError>,
    },
    /// Not one class takes the packets that no other takes, but none or several.
    #[error("one class must have no `dscp`: it takes the packets of all others")]
    ClassOfOthers,
    /// Two classes have the same DSCP.
    #[error("the DSCP {dscp} is given twice; it belongs to one class")]
    ClassOfDscp {
        /// The code point.
        dscp: Dscp,
    },
    /// A field that must be at least 1 is 0.
    #[error("{field} is 0; it must be at least 1")]
    Zero {
        /// The field of the description.
        field: &'static str,
    },
    /// A field exceeds the largest value allowed, which bounds memory.
    #[error("{field} is more than {most}, the most allowed")]
    TooMany {
        /// The field of the description.
        field: &'static str,
        /// The largest value allowed.
        most: u32,
    },
}
