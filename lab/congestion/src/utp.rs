// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for uTP at one end of a connection: `policies/utp.h`.

use netnice_parameters::exchange::Parameters;

use crate::floor::Floor;

/// Length of a packet's header, without extensions.
pub const HEADER_BYTES: usize = 20;

/// The fields of a packet that the policy reads.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The sender's clock as the packet left, in microseconds.
    pub stamp_us: u32,
    /// Delay of the newest packet that the sender has, with the clocks' offset; 0 without one.
    pub difference_us: u32,
    /// Window for the other direction, in bytes.
    pub window: u32,
    /// Data in the packet, in bytes.
    pub data_bytes: u32,
    /// Number of the connection.
    pub connection: u16,
    /// Sequence number: it counts packets with data.
    pub sequence: u16,
    /// Sequence number of the newest packet that the sender has without a gap before it.
    pub acknowledged: u16,
    /// Type: 0 is data, 2 a packet without.
    pub kind: u8,
    /// True if packets beyond a gap have arrived.
    pub gap: bool,
}

/// The policy's verdict on the program's clock, after a packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Nothing new.
    AsBefore,
    /// It is certain from now on that the connection is one of uTP.
    Certain,
    /// It was set: the state has to begin anew.
    Set,
}

/// State of a connection.
#[repr(C, align(8))]
pub struct Flow([u8; 1840]);

unsafe extern "C" {
    fn native_utp_read(packet: *mut Packet, header: *const [u8; HEADER_BYTES], bytes: u32) -> u32;
    fn native_utp_on_departure(flow: *mut Flow, packet: *const Packet, now_us: u32) -> u32;
    fn native_utp_on_arrival(flow: *mut Flow, packet: *const Packet, now_us: u32);
    fn native_utp_window(
        flow: *mut Flow,
        wanted: *const Parameters,
        floor: *mut Floor,
        packet: *const Packet,
        now_us: u32,
        leaves: bool,
    ) -> u32;
}

impl Packet {
    /// Reads a header, of a packet of so many bytes; `None` if it is none of uTP that can be governed.
    pub fn read(header: &[u8; HEADER_BYTES], bytes: u32) -> Option<Self> {
        let mut packet = Self::default();
        // SAFETY: the call reads the header and writes the packet, whose size C compares.
        let governed = unsafe { native_utp_read(&mut packet, header, bytes) };
        (governed != 0).then_some(packet)
    }
}

impl Default for Flow {
    fn default() -> Self {
        Self([0; 1840])
    }
}

impl Flow {
    /// Notes a packet that leaves.
    pub fn on_departure(&mut self, packet: &Packet, now_us: u32) -> Clock {
        // SAFETY: zeros are a valid state, whose size C compares; the call touches nothing else.
        match unsafe { native_utp_on_departure(self, packet, now_us) } {
            0 => Clock::AsBefore,
            1 => Clock::Certain,
            _ => Clock::Set,
        }
    }

    /// Notes a packet that has arrived.
    pub fn on_arrival(&mut self, packet: &Packet, now_us: u32) {
        // SAFETY: as above.
        unsafe { native_utp_on_arrival(self, packet, now_us) };
    }

    /// Returns the window to write into a packet that has been noted, if `leaves` one that leaves, in bytes; `None` to leave it as
    /// it is. `floor` is that of the group in the direction of the data, which the other packet of the two carries.
    pub fn window(
        &mut self,
        floor: &mut Floor,
        packet: &Packet,
        now_us: u32,
        leaves: bool,
    ) -> Option<u32> {
        let wanted = Parameters::default();
        // SAFETY: as above; C compares the size of the floor, too.
        let window = unsafe { native_utp_window(self, &wanted, floor, packet, now_us, leaves) };
        (window > 0).then_some(window)
    }
}
