// SPDX-License-Identifier: MIT OR Apache-2.0
//! What both programs do on a terminal: numbers and tables as text, colours, wrong usage in one line, signals one at a time,
//! man pages and completions.

pub mod failure;
pub mod generate;
pub mod signals;
pub mod style;
pub mod text;
pub mod usage;
pub mod write_signals;
