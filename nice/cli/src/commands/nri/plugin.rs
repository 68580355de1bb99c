// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plugin's side of NRI, without I/O: from what a runtime sends to what is to be done, and from outcomes to answers.

use std::collections::BTreeMap;

use prost::Message as _;
use thiserror::Error;

use super::frames::{Connection, FrameError, Kind, Message, Reassembly};
use super::messages::{
    ConfigureRequest, ConfigureResponse, Container, OK, PAUSED, PodSandbox, RUNNING,
    RegisterPluginRequest, Request, Response, START_CONTAINER, StartContainerRequest,
    StateChangeEvent, Status, SynchronizeRequest, SynchronizeResponse, UNIMPLEMENTED, UNKNOWN,
};

const NAME: &str = "netnice";
const PLUGIN_SERVICE: &str = "nri.pkg.api.v1alpha1.Plugin";
const RUNTIME_SERVICE: &str = "nri.pkg.api.v1alpha1.Runtime";
/// The longest error that is sent, in bytes: a runtime reads an answer of up to 4096 bytes in one piece.
const ERROR_LIMIT: usize = 2048;

/// A request of a runtime.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The runtime has taken the plugin: its name and version.
    Connected { runtime: String },
    /// This container runs already.
    Runs(Subject),
    /// This container's first process waits for the answer.
    Starts(Call, Subject),
}

/// A call that waits for [`Plugin::answer`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Call {
    stream: u32,
}

/// A container, with the annotations that hold for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub id: String,
    /// Namespace, pod and container by the names that people gave them, for messages.
    pub name: String,
    /// The pod's, and of the same name the container's own.
    pub annotations: BTreeMap<String, String>,
}

/// Why the conversation cannot go on.
#[derive(Debug, Error)]
pub enum ConversationError {
    #[error("the runtime sends what NRI does not know: {0}")]
    Frame(#[from] FrameError),
    #[error("the runtime sends a message that cannot be read: {0}")]
    Message(#[from] prost::DecodeError),
    #[error("the runtime refuses the plugin: {0}")]
    Refused(String),
}

/// The state of a conversation with a runtime.
#[derive(Debug)]
pub struct Plugin {
    incoming: Reassembly,
    outgoing: Vec<u8>,
    /// The parts of `Synchronize` received so far.
    pods: BTreeMap<String, PodSandbox>,
    containers: Vec<Container>,
}

impl Plugin {
    /// Begins a conversation; `index` orders the plugins of a runtime: two digits.
    pub fn new(index: &str) -> Plugin {
        let registration = RegisterPluginRequest {
            plugin_name: NAME.to_owned(),
            plugin_idx: index.to_owned(),
        };
        let request = Request {
            service: RUNTIME_SERVICE.to_owned(),
            method: "RegisterPlugin".to_owned(),
            payload: registration.encode_to_vec(),
            timeout_nanoseconds: 0,
        };
        let message = Message {
            connection: Connection::Runtime,
            stream: 1,
            kind: Kind::Request,
            data: request.encode_to_vec(),
        };
        Plugin {
            incoming: Reassembly::default(),
            outgoing: message.encode(),
            pods: BTreeMap::new(),
            containers: Vec::new(),
        }
    }

    /// Takes what is to be written to the socket.
    pub fn take_outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outgoing)
    }

    /// Takes in what was read from the socket; answers what needs no work.
    ///
    /// # Errors
    /// If the conversation cannot go on.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Vec<Event>, ConversationError> {
        let mut events = Vec::new();
        for message in self.incoming.add(bytes)? {
            match (message.connection, message.kind) {
                (Connection::Plugin, Kind::Request) => {
                    self.handle_request(&message, &mut events)?
                }
                (Connection::Runtime, Kind::Response) => registered(&message.data)?,
                // Nobody has asked.
                _ => {}
            }
        }
        Ok(events)
    }

    /// Answers a call; after an error the container does not start, and the runtime shows the error.
    pub fn answer(&mut self, call: Call, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.respond(call.stream, OK, "", Vec::new()),
            Err(error) => self.respond(call.stream, UNKNOWN, &error, Vec::new()),
        }
    }

    fn handle_request(
        &mut self,
        message: &Message,
        events: &mut Vec<Event>,
    ) -> Result<(), ConversationError> {
        let stream = message.stream;
        let request = Request::decode(message.data.as_slice())?;
        let payload = request.payload.as_slice();
        if request.service != PLUGIN_SERVICE {
            self.respond(stream, UNIMPLEMENTED, &request.service, Vec::new());
            return Ok(());
        }
        match request.method.as_str() {
            "Configure" => {
                let runtime = ConfigureRequest::decode(payload)?;
                events.push(Event::Connected {
                    runtime: format!("{} {}", runtime.runtime_name, runtime.runtime_version),
                });
                let response = ConfigureResponse {
                    events: 1 << (START_CONTAINER - 1),
                };
                self.respond(stream, OK, "", response.encode_to_vec());
            }
            "Synchronize" => {
                let part = SynchronizeRequest::decode(payload)?;
                let more = part.more;
                self.pods
                    .extend(part.pods.into_iter().map(|pod| (pod.id.clone(), pod)));
                self.containers.extend(part.containers);
                // Answered before any of them is dealt with: many may take longer than a runtime waits.
                let response = SynchronizeResponse { more };
                self.respond(stream, OK, "", response.encode_to_vec());
                if !more {
                    events.extend(self.running());
                }
            }
            "StartContainer" => {
                let event = StartContainerRequest::decode(payload)?;
                let subject = subject(event.pod.as_ref(), event.container.unwrap_or_default());
                events.push(Event::Starts(Call { stream }, subject));
            }
            "StateChange" => {
                let event = StateChangeEvent::decode(payload)?;
                match event.container {
                    Some(container) if event.event == START_CONTAINER => {
                        let subject = subject(event.pod.as_ref(), container);
                        events.push(Event::Starts(Call { stream }, subject));
                    }
                    _ => self.respond(stream, OK, "", Vec::new()),
                }
            }
            "Shutdown" => self.respond(stream, OK, "", Vec::new()),
            other => self.respond(stream, UNIMPLEMENTED, other, Vec::new()),
        }
        Ok(())
    }

    /// Takes the containers that run, with their pods.
    fn running(&mut self) -> Vec<Event> {
        let pods = std::mem::take(&mut self.pods);
        let containers = std::mem::take(&mut self.containers);
        containers
            .into_iter()
            // The others have ended, or are about to start.
            .filter(|container| matches!(container.state, PAUSED | RUNNING))
            .map(|container| {
                let pod = pods.get(&container.pod_sandbox_id);
                Event::Runs(subject(pod, container))
            })
            .collect()
    }

    fn respond(&mut self, stream: u32, code: i32, message: &str, payload: Vec<u8>) {
        let status = Status {
            code,
            message: shortened(message).to_owned(),
        };
        let response = Response {
            status: Some(status),
            payload,
        };
        let message = Message {
            connection: Connection::Plugin,
            stream,
            kind: Kind::Response,
            data: response.encode_to_vec(),
        };
        self.outgoing.extend(message.encode());
    }
}

fn shortened(message: &str) -> &str {
    let mut end = message.len().min(ERROR_LIMIT);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}

/// Reads the answer to the registration.
fn registered(data: &[u8]) -> Result<(), ConversationError> {
    let status = Response::decode(data)?.status.unwrap_or_default();
    match status.code {
        OK => Ok(()),
        _ => Err(ConversationError::Refused(status.message)),
    }
}

fn subject(pod: Option<&PodSandbox>, container: Container) -> Subject {
    let mut annotations = pod.map(|pod| pod.annotations.clone()).unwrap_or_default();
    annotations.extend(container.annotations);
    let name = match pod {
        Some(pod) => format!("{}/{}/{}", pod.namespace, pod.name, container.name),
        None => container.name,
    };
    Subject {
        id: container.id,
        name,
        annotations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: (&str, &str) = ("netnice.dev/priority", "low");

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    fn pod(annotations: &[(&str, &str)]) -> PodSandbox {
        PodSandbox {
            id: "p1".to_owned(),
            name: "replication".to_owned(),
            namespace: "default".to_owned(),
            annotations: map(annotations),
        }
    }

    fn container(id: &str, state: i32) -> Container {
        Container {
            id: id.to_owned(),
            pod_sandbox_id: "p1".to_owned(),
            name: "main".to_owned(),
            state,
            annotations: BTreeMap::new(),
        }
    }

    /// A call of the runtime, as bytes on the socket.
    fn call(stream: u32, method: &str, payload: &impl prost::Message) -> Vec<u8> {
        let request = Request {
            service: PLUGIN_SERVICE.to_owned(),
            method: method.to_owned(),
            payload: payload.encode_to_vec(),
            timeout_nanoseconds: 2_000_000_000,
        };
        let message = Message {
            connection: Connection::Plugin,
            stream,
            kind: Kind::Request,
            data: request.encode_to_vec(),
        };
        message.encode()
    }

    /// Takes the one answer that is to be sent: its stream, status and payload.
    fn answer(plugin: &mut Plugin) -> (u32, Status, Vec<u8>) {
        let bytes = plugin.take_outgoing();
        let messages = Reassembly::default().add(&bytes).unwrap();
        let [message] = messages.as_slice() else {
            panic!("{messages:?}");
        };
        assert_eq!(message.kind, Kind::Response);
        let response = Response::decode(message.data.as_slice()).unwrap();
        (message.stream, response.status.unwrap(), response.payload)
    }

    /// A plugin that has sent its registration.
    fn registered_plugin() -> Plugin {
        let mut plugin = Plugin::new("50");
        plugin.take_outgoing();
        plugin
    }

    #[test]
    fn the_first_message_registers_the_plugin() {
        let bytes = Plugin::new("07").take_outgoing();
        let message = &Reassembly::default().add(&bytes).unwrap()[0];
        assert_eq!(message.connection, Connection::Runtime);
        assert_eq!(message.stream % 2, 1, "the caller's streams are odd");
        let request = Request::decode(message.data.as_slice()).unwrap();
        assert_eq!(request.service, "nri.pkg.api.v1alpha1.Runtime");
        assert_eq!(request.method, "RegisterPlugin");
        // Fields 1 and 2, both of type 2: a length and that many bytes.
        assert_eq!(request.payload, b"\x0a\x07netnice\x12\x0207");
    }

    #[test]
    fn a_refused_registration_ends_the_conversation() {
        let status = Status {
            code: UNKNOWN,
            message: "no plugins today".to_owned(),
        };
        let response = Response {
            status: Some(status),
            payload: Vec::new(),
        };
        let message = Message {
            connection: Connection::Runtime,
            stream: 1,
            kind: Kind::Response,
            data: response.encode_to_vec(),
        };
        let refused = registered_plugin().read(&message.encode()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the runtime refuses the plugin: no plugins today"
        );
    }

    #[test]
    fn it_asks_for_containers_that_start() {
        let mut plugin = registered_plugin();
        let request = ConfigureRequest {
            runtime_name: "containerd".to_owned(),
            runtime_version: "v2.0.5".to_owned(),
        };
        let events = plugin.read(&call(1, "Configure", &request)).unwrap();
        let runtime = "containerd v2.0.5".to_owned();
        assert_eq!(events, [Event::Connected { runtime }]);
        let (stream, status, payload) = answer(&mut plugin);
        assert_eq!((stream, status.code), (1, OK));
        // Field 2, a number: bit 5 stands for event 6.
        assert_eq!(payload, [0x10, 0x20]);
    }

    #[test]
    fn a_start_waits_for_its_answer() {
        let event = StateChangeEvent {
            event: START_CONTAINER,
            pod: Some(pod(&[LOW, ("netnice.dev/quic", "refuse"), ("a", "b")])),
            container: Some(Container {
                annotations: map(&[("a", "c")]),
                ..container("c1", 1)
            }),
        };
        let same = StartContainerRequest {
            pod: event.pod.clone(),
            container: event.container.clone(),
        };
        let mut plugin = registered_plugin();
        for (stream, bytes) in [
            (3, call(3, "StateChange", &event)),
            (5, call(5, "StartContainer", &same)),
        ] {
            let mut events = plugin.read(&bytes).unwrap();
            let Some(Event::Starts(call, subject)) = events.pop() else {
                panic!("{events:?}");
            };
            assert!(events.is_empty());
            assert_eq!(subject.id, "c1");
            assert_eq!(subject.name, "default/replication/main");
            let expected = map(&[LOW, ("netnice.dev/quic", "refuse"), ("a", "c")]);
            assert_eq!(subject.annotations, expected);
            assert!(plugin.take_outgoing().is_empty());

            plugin.answer(call, Err("no".repeat(5000)));
            let (answered, status, _) = answer(&mut plugin);
            assert_eq!((answered, status.code), (stream, UNKNOWN));
            assert_eq!(status.message.len(), ERROR_LIMIT);
        }
    }

    #[test]
    fn all_that_runs_comes_in_parts() {
        let mut plugin = registered_plugin();
        let first = SynchronizeRequest {
            pods: vec![pod(&[LOW])],
            containers: vec![container("created", 1)],
            more: true,
        };
        assert_eq!(plugin.read(&call(1, "Synchronize", &first)).unwrap(), []);
        let (_, _, payload) = answer(&mut plugin);
        assert!(SynchronizeResponse::decode(&*payload).unwrap().more);

        let last = SynchronizeRequest {
            pods: Vec::new(),
            containers: vec![container("runs", RUNNING), container("ended", 4)],
            more: false,
        };
        let events = plugin.read(&call(3, "Synchronize", &last)).unwrap();
        let [Event::Runs(subject)] = events.as_slice() else {
            panic!("{events:?}");
        };
        assert_eq!(subject.id, "runs");
        assert_eq!(subject.annotations, map(&[LOW]));
        let (stream, status, payload) = answer(&mut plugin);
        assert_eq!((stream, status.code), (3, OK));
        assert!(!SynchronizeResponse::decode(&*payload).unwrap().more);
    }

    #[test]
    fn other_calls_get_an_answer_too() {
        let mut plugin = registered_plugin();
        for (method, code) in [
            ("Shutdown", OK),
            ("StateChange", OK),
            ("CreateContainer", UNIMPLEMENTED),
        ] {
            let bytes = call(1, method, &StateChangeEvent::default());
            assert_eq!(plugin.read(&bytes).unwrap(), [], "{method}");
            assert_eq!(answer(&mut plugin).1.code, code, "{method}");
        }
    }
}
