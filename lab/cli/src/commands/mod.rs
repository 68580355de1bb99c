// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands, one file each: `Arguments` with the help text, and `run`.

mod batch;
mod charts;
mod compare;
mod generate;
mod judge;
mod lab;
mod plot;
mod progress;
mod reproduce;
mod sim;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

macro_rules! commands {
    ($($(#[$attribute:meta])* $module:ident => $name:ident,)*) => {
        /// The subcommands.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(#[$attribute])* $name($module::Arguments),)*
        }

        impl Command {
            /// Runs the subcommand.
            pub fn run(self) -> Result<ExitCode> {
                match self {
                    $(Self::$name(arguments) => $module::run(&arguments),)*
                }
            }
        }
    };
}

commands! {
    sim => Sim,
    lab => Lab,
    compare => Compare,
    plot => Plot,
    judge => Judge,
    reproduce => Reproduce,
    #[command(hide = true)]
    generate => Generate,
}
