// SPDX-License-Identifier: MIT OR Apache-2.0
//! The queue disciplines, a file each.
//!
//! A new discipline is one file that implements [`QueueDiscipline`](crate::QueueDiscipline), its `mod` and `pub use` here, and an
//! entry in `disciplines!` of `registry.rs`.

mod cake;
mod cobalt;
mod codel;
mod drop_tail;
mod drr;
mod dual_pi2;
mod early_detection;
mod fair_queue;
mod fq_codel;
mod pie;
mod priority;
mod red;
mod registry;
mod rio;
mod set_associative;
mod sfq;
mod update_clock;
mod weighted_drr;

pub use cake::{Cake, CakeConfig, CakeIsolation, CakeTins};
pub use codel::{Codel, CodelConfig};
pub use drop_tail::{DropTail, DropTailConfig};
pub use dual_pi2::{DualPi2, DualPi2Config};
pub use early_detection::CountIn;
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use pie::{Pie, PieConfig};
pub use priority::{Priority, PriorityConfig};
pub use red::{EcnMode, Red, RedAdmission, RedConfig};
pub use registry::{Discipline, DisciplineConfig};
pub use rio::{Rio, RioConfig, RioCoupling, RioThresholds};
pub use sfq::{Sfq, SfqConfig, SfqDrop};
pub use weighted_drr::{DrrClass, WeightedDrr, WeightedDrrConfig};
