// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands, one file each: `Arguments` with the help text, and `run`.

mod apply;
mod attach;
mod batch;
mod check;
mod compare;
mod demo;
mod detach;
mod exporter;
mod generate;
mod install;
mod judge;
mod lab;
mod link;
mod nri;
mod oci_hook;
mod plot;
mod probe;
mod progress;
mod register;
mod renice;
mod reproduce;
mod run;
mod sim;
mod status;
mod uninstall;
mod unregister;
mod version;

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
    run => Run,
    renice => Renice,
    attach => Attach,
    detach => Detach,
    apply => Apply,
    status => Status,
    exporter => Exporter,
    check => Check,
    oci_hook => OciHook,
    nri => Nri,
    probe => Probe,
    link => Link,
    demo => Demo,
    sim => Sim,
    lab => Lab,
    compare => Compare,
    plot => Plot,
    reproduce => Reproduce,
    judge => Judge,
    install => Install,
    uninstall => Uninstall,
    version => Version,
    #[command(hide = true)]
    register => Register,
    #[command(hide = true)]
    unregister => Unregister,
    #[command(hide = true)]
    generate => Generate,
}
