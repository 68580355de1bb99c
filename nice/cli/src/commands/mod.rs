// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands, one file each: `Arguments` with the help text, and `run`.

mod apply;
mod attach;
mod check;
mod demo;
mod detach;
#[cfg(feature = "exporter")]
mod exporter;
mod generate;
mod install;
mod laboratory;
mod link;
#[cfg(feature = "nri")]
mod nri;
mod oci_hook;
mod plot;
#[cfg(feature = "probe")]
mod probe;
mod register;
mod renice;
mod run;
mod status;
mod uninstall;
mod unregister;
mod version;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

macro_rules! commands {
    ($($(#[$attribute:meta])* $module:ident $(if $feature:literal)? => $name:ident,)*) => {
        /// The subcommands.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($(#[$attribute])* $(#[cfg(feature = $feature)])? $name($module::Arguments),)*
            #[command(flatten)]
            Laboratory(laboratory::Command),
        }

        impl Command {
            /// Runs the subcommand.
            pub fn run(self) -> Result<ExitCode> {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$name(arguments) => $module::run(&arguments),)*
                    Self::Laboratory(command) => laboratory::run(&command),
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
    exporter if "exporter" => Exporter,
    check => Check,
    oci_hook => OciHook,
    nri if "nri" => Nri,
    probe if "probe" => Probe,
    link => Link,
    demo => Demo,
    plot => Plot,
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
