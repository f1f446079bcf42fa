//! The fixtures of `schema/control/v1/conformance`, each of them, and the schema beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use futures_lite::future::block_on;
use serde_json::Value as Json;
use svit_txn::control::{
    Command, Controller, MAX_FRAME_BYTES, Request, RequestError, Response, ResponseOutcome, schema,
};
use svit_txn::{Limits, MemoryStore, Process, ReceiptKey};
use svit_value::Value;

fn folder(name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("../../schema/control/v1").join(name)
}

/// Every fixture of a folder, by file name.
fn fixtures(name: &str) -> BTreeMap<String, Json> {
    let entries = fs::read_dir(folder("conformance").join(name)).unwrap();
    let fixtures: BTreeMap<String, Json> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let fixture: Json =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(
                fixture["about"].is_string(),
                "{name}: says not what it shows"
            );
            (name, fixture)
        })
        .collect();
    assert!(fixtures.len() > 12, "{name} has but {}", fixtures.len());
    fixtures
}

/// The exact text of a frame.
fn text(fixture: &Json, field: &str) -> String {
    let mut text = match fixture["text"].as_str() {
        Some(text) => text.to_owned(),
        None => fixture[field].to_string(),
    };
    if let Some(length) = fixture["filled_to"].as_u64() {
        text.extend(std::iter::repeat_n(' ', length as usize - text.len()));
    }
    text
}

fn value(json: &Json) -> Value {
    Value::from_json(&json.to_string()).unwrap()
}

/// Reads a frame, and writes it again.
fn round(kind: &Json, frame: &str) -> Result<String, RequestError> {
    match kind.as_str() {
        Some("request") => Request::from_json(frame)?.to_json(),
        Some("response") => Response::from_json(frame)?.to_json(),
        _ => panic!("kind {kind}"),
    }
}

#[test]
fn valid_frames_are_read_and_written_as_they_were() {
    for (name, fixture) in fixtures("valid") {
        let frame = text(&fixture, "frame");
        let written = round(&fixture["kind"], &frame).unwrap_or_else(|e| panic!("{name}: {e}"));
        let expected = match &fixture["written"] {
            Json::Null => Value::from_json(&frame).unwrap(),
            written => value(written),
        };
        assert_eq!(Value::from_json(&written).unwrap(), expected, "{name}");
        assert_eq!(
            round(&fixture["kind"], &written).unwrap(),
            written,
            "{name}"
        );
    }
}

#[test]
fn invalid_frames_are_refused_with_their_code() {
    for (name, fixture) in fixtures("invalid") {
        let frame = text(&fixture, "frame");
        match round(&fixture["kind"], &frame) {
            Ok(_) => panic!("{name} was read"),
            Err(error) => assert_eq!(error.code(), fixture["code"], "{name}: {error}"),
        }
    }
}

#[test]
fn the_readme_names_every_code_and_the_length_of_a_frame() {
    let readme = fs::read_to_string(folder("README.md")).unwrap();
    let invalid = fixtures("invalid");
    let codes: BTreeSet<&str> = invalid
        .values()
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    for code in codes {
        assert!(readme.contains(&format!("`{code}`")), "{code}");
    }
    assert!(readme.contains(&format!("{} MiB", MAX_FRAME_BYTES >> 20)));
    let filled = &invalid["request-too-long"]["filled_to"];
    assert_eq!(filled.as_u64().unwrap(), MAX_FRAME_BYTES as u64 + 1);
}

#[test]
fn the_schema_that_is_kept_is_the_one_of_the_code() {
    let kept = fs::read_to_string(folder("schema.json")).unwrap();
    let kept: Json = serde_json::from_str(&kept).unwrap();
    let made: Json = serde_json::from_str(&schema().unwrap().to_json().unwrap()).unwrap();
    assert_eq!(kept, made, "run `cargo xtask schema`");
}

#[test]
fn a_process_behaves_as_every_fixture_says() {
    for (name, fixture) in fixtures("behaviour") {
        let mut host = block_on(Host::start(&name, &fixture["process"]));
        let steps = fixture["steps"].as_array().unwrap();
        assert!(!steps.is_empty(), "{name}");
        for (index, step) in steps.iter().enumerate() {
            host.place = format!("{name}, step {index}");
            block_on(host.step(step));
        }
    }
}

/// A process and its controller, as a host has them.
struct Host {
    place: String,
    store: MemoryStore,
    controller: Controller,
    /// What the `$names` stand for.
    names: BTreeMap<String, Value>,
    /// The requests that have left a receipt.
    asked: Vec<ReceiptKey>,
}

impl Host {
    async fn start(name: &str, process: &Json) -> Self {
        let mut builder = Process::builder(process["address"].as_str().unwrap()).unwrap();
        for (name, memory) in process["memory"].as_object().unwrap() {
            builder = builder.memory(name, value(memory));
        }
        for (name, script) in process["library"].as_object().unwrap() {
            builder = builder.library(name, value(script));
        }
        let mut limits = Limits::default();
        for (row, chosen) in process["limits"].as_object().into_iter().flatten() {
            let row = match row.as_str() {
                "max_ticks" => &mut limits.max_ticks,
                "max_text_bytes" => &mut limits.max_text_bytes,
                "max_value_depth" => &mut limits.max_value_depth,
                _ => panic!("{name}: limit {row}"),
            };
            *row = chosen.as_u64().unwrap();
        }
        let store = MemoryStore::new();
        let process = builder.limits(limits).build();
        let process = process.unwrap_or_else(|e| panic!("{name}: {e}"));
        let controller = Controller::new(store.create(process).await.unwrap());
        Self {
            place: name.to_owned(),
            store,
            controller,
            names: BTreeMap::new(),
            asked: Vec::new(),
        }
    }

    async fn step(&mut self, step: &Json) {
        let place = self.place.clone();
        let known = [
            "request", "text", "response", "error", "together", "outcomes", "restart", "evict",
            "write", "reads",
        ];
        let unknown = step
            .as_object()
            .unwrap()
            .keys()
            .find(|key| !known.contains(&&***key));
        assert_eq!(unknown, None, "{place}");
        if step["restart"] == true {
            let address = self.controller.process().address().clone();
            self.controller = Controller::new(self.store.resume(address).await.unwrap());
        } else if let Some(client) = step["evict"].as_str() {
            self.evict(client).await;
        } else if let Some(requests) = step["together"].as_array() {
            self.together(requests, &step["outcomes"]).await;
        } else if step["write"].is_object() {
            let (path, written) = (&step["write"]["path"], value(&step["write"]["value"]));
            let process = self.controller.process();
            process
                .write(path.as_str().unwrap(), written)
                .await
                .unwrap();
        } else {
            self.ask(&text(step, "request"), step).await;
        }
        for (path, expected) in step["reads"].as_object().into_iter().flatten() {
            let found = self.controller.process().read(path.as_str()).unwrap();
            assert_eq!(found, Some(value(expected)), "{place}: {path}");
        }
    }

    async fn ask(&mut self, frame: &str, step: &Json) {
        let place = self.place.clone();
        let answer = self.controller.handle_json(frame).await;
        if let Some(code) = step["error"].as_str() {
            let error = answer.expect_err(&place);
            assert_eq!(error.code(), code, "{place}: {error}");
            return;
        }
        let answer = answer.unwrap_or_else(|e| panic!("{place}: {e}"));
        self.matches(
            &value(&step["response"]),
            &Value::from_json(&answer).unwrap(),
            "response",
        );
        self.remember(&Request::from_json(frame).unwrap());
    }

    /// Compares what is found with what is expected, where a `$name` stands for something.
    fn matches(&mut self, expected: &Value, found: &Value, at: &str) {
        let place = format!("{}: {at}", self.place);
        match (expected, found) {
            (Value::Text(name), _) if name.starts_with('$') => {
                let meant = self
                    .names
                    .entry(name.to_string())
                    .or_insert_with(|| found.clone());
                assert_eq!(found, meant, "{place}: {name}");
            }
            (Value::Map(expected), Value::Map(found)) => {
                let keys = |map: &svit_value::Map| map.keys().cloned().collect::<Vec<_>>();
                assert_eq!(keys(found), keys(expected), "{place}");
                for ((key, expected), found) in expected.iter().zip(found.values()) {
                    self.matches(expected, found, &format!("{at}.{key}"));
                }
            }
            (Value::List(expected), Value::List(found)) => {
                assert_eq!(found.len(), expected.len(), "{place}: {found:?}");
                for (expected, found) in expected.iter().zip(found.iter()) {
                    self.matches(expected, found, &format!("{at}[]"));
                }
            }
            _ => assert_eq!(found, expected, "{place}"),
        }
    }

    async fn together(&self, requests: &[Json], outcomes: &Json) {
        let asked: Vec<Request> = requests
            .iter()
            .map(|request| Request::from_json(&request.to_string()).unwrap())
            .collect();
        let threads: Vec<_> = asked
            .into_iter()
            .map(|request| {
                let controller = self.controller.clone();
                std::thread::spawn(move || block_on(controller.handle(&request)).unwrap().outcome)
            })
            .collect();
        let mut found: Vec<&str> = threads
            .into_iter()
            .map(|thread| match thread.join().unwrap() {
                ResponseOutcome::Committed { .. } => "committed",
                ResponseOutcome::Conflict { .. } => "conflict",
                _ => "rejected",
            })
            .collect();
        found.sort_unstable();
        let mut expected: Vec<&str> = outcomes
            .as_array()
            .unwrap()
            .iter()
            .map(|o| o.as_str().unwrap())
            .collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{}", self.place);
    }

    /// Makes requests that are rejected, until the receipts of before, and the first of these, are
    /// gone.
    async fn evict(&mut self, client: &str) {
        let process = self.controller.process().clone();
        for number in 0..10_000 {
            let request = Request {
                client_id: client.into(),
                request_id: format!("evict-{number}").into(),
                process_id: process.address().clone(),
                expected_version: process.version(),
                command: Command::Activate {
                    script: "/lib/of-nobody".parse().unwrap(),
                    input: Value::Null,
                },
            };
            let outcome = self.controller.handle(&request).await.unwrap().outcome;
            assert!(
                matches!(outcome, ResponseOutcome::Rejected { .. }),
                "{outcome:?}"
            );
            if number == 0 {
                self.remember(&request);
            }
            let mut kept = false;
            for key in self.asked.iter().filter(|key| &*key.client == client) {
                kept |= process.receipt(key).await.unwrap().is_some();
            }
            if !kept {
                return;
            }
        }
        panic!("{}: receipts of {client} stay", self.place);
    }

    fn remember(&mut self, request: &Request) {
        self.asked.push(ReceiptKey {
            client: request.client_id.clone(),
            request: request.request_id.clone(),
        });
    }
}
