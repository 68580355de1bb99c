// SPDX-License-Identifier: MIT OR Apache-2.0
//! Setting and removing low priority of one open socket: its congestion control and DSCP.

use std::io;
use std::os::fd::AsFd;

use bytemuck::Zeroable;

use crate::abi::{DSCP_LOWER_EFFORT, Flow, padded, unpadded};
use crate::objects::control::is_ours;
use crate::settings::Settings;
use crate::sockets::options;
use crate::sockets::storage::SocketStorage;

/// Sets the control of a socket; returns true if it is set afterwards.
pub(crate) fn govern(
    socket: &impl AsFd,
    settings: &Settings,
    storage: Option<&SocketStorage>,
) -> io::Result<bool> {
    if let Some(storage) = storage.filter(|_| !settings.direction.receives()) {
        storage.release_window(socket);
    }
    if !settings.direction.sends() {
        restore_control(socket, storage)?;
        return Ok(false);
    }
    let wanted = settings.control.name();
    let current = options::control(socket)?;
    let opened = storage.map(|storage| unguard(socket, storage));
    let previous = match &opened {
        Some(flow) if is_ours(&current) => flow.previous,
        _ if is_ours(&current) => [0; 16],
        _ => padded(&current),
    };
    if settings.mark {
        options::set_dscp(socket, DSCP_LOWER_EFFORT)?;
    } else if is_ours(&current) && options::dscp(socket)? == DSCP_LOWER_EFFORT {
        options::set_dscp(socket, 0)?;
    }
    if let Some(storage) = storage {
        if is_ours(&current) {
            // A control reads its parameters only when it takes over. Leaving the socket ends its record.
            options::set_control(socket, "reno")?;
        }
        let flow = Flow {
            group: settings.group,
            parameters: settings.parameters,
            unguarded: 1,
            previous,
            ..Flow::zeroed()
        };
        storage.set_flow(socket, &flow).map_err(io::Error::other)?;
    }
    options::set_control(socket, wanted)?;
    if let Some((storage, flow)) =
        storage.and_then(|storage| Some((storage, storage.flow(socket)?)))
    {
        let guarded = Flow {
            unguarded: 0,
            ..flow
        };
        storage
            .set_flow(socket, &guarded)
            .map_err(io::Error::other)?;
    }
    Ok(options::control(socket)? == wanted)
}

/// Removes low priority from a socket; returns true if it had any.
pub(crate) fn release(socket: &impl AsFd, storage: Option<&SocketStorage>) -> io::Result<bool> {
    let received = storage.is_some_and(|storage| storage.release_window(socket));
    Ok(restore_control(socket, storage)? || received)
}

/// Restores the control that a socket had before one of netnice's; returns true if there was one.
fn restore_control(socket: &impl AsFd, storage: Option<&SocketStorage>) -> io::Result<bool> {
    if !is_ours(&options::control(socket)?) {
        return Ok(false);
    }
    let flow = storage.map(|storage| unguard(socket, storage));
    options::set_dscp(socket, 0)?;
    let previous = flow
        .map(|flow| unpadded(&flow.previous))
        .unwrap_or_default();
    let restored = !previous.is_empty()
        && !is_ours(&previous)
        && options::set_control(socket, &previous).is_ok();
    if !restored {
        let usual = options::usual_control(socket)?;
        let usual = if is_ours(&usual) { "reno" } else { &usual };
        options::set_control(socket, usual)?;
    }
    if let Some(storage) = storage {
        // Tells those who look for sockets without low priority to leave this one. An error is harmless.
        let _ = storage.set_flow(
            socket,
            &Flow {
                unguarded: 1,
                ..Flow::zeroed()
            },
        );
    }
    Ok(!is_ours(&options::control(socket)?))
}

/// Returns true if low priority has been removed from a socket, by [`release`], and not given back.
pub(crate) fn was_released(socket: &impl AsFd, storage: &SocketStorage) -> bool {
    let flow = storage.flow(socket);
    flow.is_some_and(|flow| flow.unguarded != 0)
}

/// Makes the guard of the socket's cgroup, if any, accept the next changes; returns the record of the socket.
fn unguard(socket: &impl AsFd, storage: &SocketStorage) -> Flow {
    let flow = storage.flow(socket).unwrap_or(Flow::zeroed());
    // If this fails the guard stays active, and the caller sees no change.
    let _ = storage.set_flow(
        socket,
        &Flow {
            unguarded: 1,
            ..flow
        },
    );
    flow
}
