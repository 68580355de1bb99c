// SPDX-License-Identifier: MIT OR Apache-2.0
//! A TCP sender against a TCP receiver, over a pipe whose losses are scripted.

mod any_path;
mod connection;
mod control;
mod pacing;
mod pipe;
mod rack;
mod receive_window;
mod recovery;
mod requests;
mod signals;
