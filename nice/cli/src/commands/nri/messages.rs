// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of ttrpc and of NRI, with the fields that are used here: protobuf skips the others.
//!
//! Numbers of fields are those of `request.proto` (github.com/containerd/ttrpc), `status.proto` (google.rpc) and
//! `pkg/api/api.proto` (github.com/containerd/nri, version 0.8; 0.6 and 0.12 have the same numbers).

use std::collections::BTreeMap;

/// Code of success (google.rpc.Code OK).
pub const OK: i32 = 0;
/// Code of an error without a code of its own (UNKNOWN).
pub const UNKNOWN: i32 = 2;
/// Code of a method that the other side does not have (UNIMPLEMENTED): runtimes then use an older one.
pub const UNIMPLEMENTED: i32 = 12;

/// Number of the event that a container is about to start (START_CONTAINER).
pub const START_CONTAINER: i32 = 6;

/// State of a container whose processes are frozen (CONTAINER_PAUSED).
pub const PAUSED: i32 = 2;
/// State of a container that runs (CONTAINER_RUNNING).
pub const RUNNING: i32 = 3;

/// A call.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Request {
    #[prost(string, tag = "1")]
    pub service: String,
    #[prost(string, tag = "2")]
    pub method: String,
    #[prost(bytes = "vec", tag = "3")]
    pub payload: Vec<u8>,
    #[prost(int64, tag = "4")]
    pub timeout_nanoseconds: i64,
}

/// The answer to a call.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Response {
    #[prost(message, optional, tag = "1")]
    pub status: Option<Status>,
    #[prost(bytes = "vec", tag = "2")]
    pub payload: Vec<u8>,
}

/// The outcome of a call.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Status {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}

/// Of `Runtime.RegisterPlugin`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RegisterPluginRequest {
    #[prost(string, tag = "1")]
    pub plugin_name: String,
    #[prost(string, tag = "2")]
    pub plugin_idx: String,
}

/// Of `Plugin.Configure`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConfigureRequest {
    #[prost(string, tag = "2")]
    pub runtime_name: String,
    #[prost(string, tag = "3")]
    pub runtime_version: String,
}

/// Of `Plugin.Configure`: the events to hear of, bit N-1 for event N.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConfigureResponse {
    #[prost(int32, tag = "2")]
    pub events: i32,
}

/// Of `Plugin.Synchronize`: all that runs, in one call or several.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SynchronizeRequest {
    #[prost(message, repeated, tag = "1")]
    pub pods: Vec<PodSandbox>,
    #[prost(message, repeated, tag = "2")]
    pub containers: Vec<Container>,
    #[prost(bool, tag = "3")]
    pub more: bool,
}

/// Of `Plugin.Synchronize`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SynchronizeResponse {
    #[prost(bool, tag = "2")]
    pub more: bool,
}

/// Of `Plugin.StateChange`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StateChangeEvent {
    #[prost(int32, tag = "1")]
    pub event: i32,
    #[prost(message, optional, tag = "2")]
    pub pod: Option<PodSandbox>,
    #[prost(message, optional, tag = "3")]
    pub container: Option<Container>,
}

/// Of `Plugin.StartContainer`, which newer runtimes call instead of `StateChange`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StartContainerRequest {
    #[prost(message, optional, tag = "1")]
    pub pod: Option<PodSandbox>,
    #[prost(message, optional, tag = "2")]
    pub container: Option<Container>,
}

/// A pod.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PodSandbox {
    #[prost(string, tag = "1")]
    pub id: String,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub namespace: String,
    #[prost(btree_map = "string, string", tag = "6")]
    pub annotations: BTreeMap<String, String>,
}

/// A container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Container {
    #[prost(string, tag = "1")]
    pub id: String,
    #[prost(string, tag = "2")]
    pub pod_sandbox_id: String,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(int32, tag = "4")]
    pub state: i32,
    #[prost(btree_map = "string, string", tag = "6")]
    pub annotations: BTreeMap<String, String>,
}
