// SPDX-License-Identifier: MIT OR Apache-2.0
//! TUN devices: this process reads what the kernel routes into one, and the kernel receives what this process writes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::error::{Attempted, LinkError};

nix::ioctl_readwrite_bad!(
    /// Attaches the file to a device, creating it; the kernel writes the device's name back.
    tun_set_iff,
    libc::TUNSETIFF,
    libc::ifreq
);

/// A TUN device in the namespace of the thread that opened it; it vanishes when the file is closed.
pub struct Tun {
    /// The open device; closing it removes the device.
    pub file: OwnedFd,
    /// Name of the interface.
    pub name: String,
    /// Index of the interface.
    pub index: u32,
}

impl Tun {
    /// Creates a device. The kernel replaces `%d` in `name` by the smallest free number.
    pub fn open(name: &str) -> Result<Tun, LinkError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun");
        let file: File = file.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => LinkError::NoTun,
            Some(libc::EACCES | libc::EPERM) => LinkError::Privilege {
                action: "opening /dev/net/tun",
            },
            _ => LinkError::Os {
                action: "open /dev/net/tun".into(),
                answer: error,
            },
        })?;
        // SAFETY: ifreq is a plain C structure for which all zeroes is a valid value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request
            .ifr_name
            .iter_mut()
            .take(libc::IFNAMSIZ - 1)
            .zip(name.bytes())
        {
            *to = from as libc::c_char;
        }
        // No packet information and no virtio header: reads and writes are bare IP packets of at most the MTU.
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the file is open, and the request is valid and outlives the call.
        unsafe { tun_set_iff(file.as_raw_fd(), &mut request) }.map_err(|errno| match errno {
            nix::Error::EPERM => LinkError::Privilege {
                action: "creating a TUN device",
            },
            errno => LinkError::Os {
                action: format!("create TUN device {name}"),
                answer: errno.into(),
            },
        })?;
        let name: String = request
            .ifr_name
            .iter()
            .take_while(|&&byte| byte != 0)
            .map(|&byte| byte as u8 as char)
            .collect();
        let index = nix::net::if_::if_nametoindex(name.as_str())
            .attempted(format!("find TUN device {name}"))?;
        Ok(Tun {
            file: file.into(),
            name,
            index,
        })
    }
}

/// Reads one packet into `buffer`; `None` if none waits.
pub fn read_packet(file: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match nix::unistd::read(file, buffer) {
            Ok(length) => return Ok(Some(length)),
            Err(nix::Error::EAGAIN) => return Ok(None),
            Err(nix::Error::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
