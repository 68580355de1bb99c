// SPDX-License-Identifier: MIT OR Apache-2.0
//! How traces show a flow.

/// The packets of a flow in traces.
#[derive(Debug, Clone)]
pub(crate) struct Labels {
    pub index: u32,
    pub dscp: u8,
    pub header_bytes: u16,
    /// `None` for UDP.
    pub tcp: Option<TcpLabels>,
}

/// Facts of a connection that its handshake carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TcpLabels {
    pub mss: u32,
    pub timestamps: bool,
    pub sack: bool,
    pub window_scale: u8,
    /// Bytes of the request that the receiver of the data sends.
    pub request_bytes: u32,
}
