// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenario file, its checks, and the results that simulator and lab fill in alike.
