// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses of links, and of links behind links.
//!
//! A link has a /30 and a /64. All links behind it share its shorter delegated prefix, so that one route per link is
//! enough and no address translation is needed. Each level of nesting takes four bits, of which 0 is the link itself:
//!
//! ```text
//! outermost link           10.77.0.0/30     fd77::/64           delegated: 10.77.0.0/16   fd77::/48
//! third link behind it     10.77.48.0/30    fd77:0:0:3000::/64  delegated: 10.77.48.0/20  fd77:0:0:3000::/52
//! first link behind that   10.77.49.0/30    fd77:0:0:3100::/64  delegated: 10.77.49.0/24  fd77:0:0:3100::/56
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::LinkError;

/// Largest depth of nested links, including the outermost.
pub(crate) const MAX_DEPTH: usize = 4;
/// Largest number of links that start behind one link at a time.
pub(crate) const MAX_SIBLINGS: usize = 15;

/// Place of a link among nested links; it determines all its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// A nibble for each level below the outermost, from the most significant.
    place: u16,
    /// Levels below the outermost.
    depth: usize,
}

impl Addresses {
    /// The outermost link, with namespaces of its own on both sides.
    pub(crate) const OUTERMOST: Addresses = Addresses { place: 0, depth: 0 };

    /// Returns the place of the `number`-th link (from 0) started behind this one.
    pub(crate) fn behind(self, number: usize) -> Result<Addresses, LinkError> {
        if self.depth + 1 >= MAX_DEPTH {
            return Err(LinkError::TooDeep { limit: MAX_DEPTH });
        }
        if number >= MAX_SIBLINGS {
            return Err(LinkError::TooMany {
                limit: MAX_SIBLINGS,
            });
        }
        let depth = self.depth + 1;
        Ok(Addresses {
            place: self.place | (number as u16 + 1) << (16 - 4 * depth),
            depth,
        })
    }

    /// Returns the link whose near end has this address, or `None` if the address is not a near end's.
    pub(crate) fn of_near_end(address: Ipv4Addr) -> Option<Addresses> {
        let [10, 77, high, low] = address.octets() else {
            return None;
        };
        let number = u16::from_be_bytes([high, low]);
        let place = number & !0xf;
        // The last nonzero nibble gives the level; none is level 0.
        let depth = MAX_DEPTH - place.trailing_zeros() as usize / 4;
        (number & 0xf == 1).then_some(Addresses { place, depth })
    }

    /// Returns the addresses of the near end, behind which the command runs.
    pub(crate) fn near(self) -> (Ipv4Addr, Ipv6Addr) {
        (self.v4(1), self.v6(1))
    }

    /// Returns the addresses of the far end.
    pub(crate) fn far(self) -> (Ipv4Addr, Ipv6Addr) {
        (self.v4(2), self.v6(2))
    }

    /// The prefix, with its length, of this link's near side and everything behind it.
    pub(crate) fn delegated(self, of: IpAddr) -> (IpAddr, u8) {
        let nested = 4 * self.depth as u8;
        match of {
            IpAddr::V4(_) => (self.v4(0).into(), 16 + nested),
            IpAddr::V6(_) => (self.v6(0).into(), 48 + nested),
        }
    }

    fn v4(self, host: u8) -> Ipv4Addr {
        let [high, low] = self.place.to_be_bytes();
        Ipv4Addr::new(10, 77, high, low | host)
    }

    fn v6(self, host: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xfd77, 0, 0, self.place, 0, 0, 0, host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

    #[test]
    fn each_level_takes_four_bits() {
        let outermost = Addresses::OUTERMOST;
        assert_eq!(outermost.near().0.to_string(), "10.77.0.1");
        assert_eq!(outermost.far().1.to_string(), "fd77::2");
        let third = outermost.behind(2).unwrap();
        assert_eq!(third.near().0.to_string(), "10.77.48.1");
        assert_eq!(third.near().1.to_string(), "fd77:0:0:3000::1");
        assert_eq!(third.delegated(ANY4), ("10.77.48.0".parse().unwrap(), 20));
        let first = third.behind(0).unwrap();
        assert_eq!(first.far().0.to_string(), "10.77.49.2");
        assert_eq!(first.delegated(ANY4).1, 24);
    }

    #[test]
    fn a_near_address_tells_the_place() {
        let mut link = Addresses::OUTERMOST;
        for number in [14, 0, 9] {
            assert_eq!(Addresses::of_near_end(link.near().0), Some(link));
            assert_eq!(Addresses::of_near_end(link.far().0), None);
            link = link.behind(number).unwrap();
        }
        assert_eq!(Addresses::of_near_end(link.near().0), Some(link));
        assert!(matches!(link.behind(0), Err(LinkError::TooDeep { .. })));
        assert!(matches!(
            Addresses::OUTERMOST.behind(15),
            Err(LinkError::TooMany { .. })
        ));
        assert_eq!(Addresses::of_near_end(Ipv4Addr::new(10, 0, 0, 1)), None);
    }
}
