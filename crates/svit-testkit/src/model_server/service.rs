//! HTTP: takes requests in, checks them, asks the script, and sends the answer with its fault.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::check::Refusal;
use super::journal::{Exchange, Journal, Outcome};
use super::reply::Fault;
use super::request::{Request, Wire, turns};
use super::script::Script;
use super::wire::{Encoded, Failed, error_body};
use super::{
    chat, check_chat, check_gemini, check_messages, check_ollama, check_responses, gemini,
    messages, ollama, responses,
};

/// A request body larger than this is refused (octets).
const MAX_BODY: usize = 16 << 20;

/// The `Date` of every answer, fixed so that a `Retry-After` date can be tested.
const DATE_SENT: &str = "Mon, 16 Jun 2025 12:00:00 GMT";

type Body = StreamBody<Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>>;

pub(super) struct Service {
    script: Script,
    journal: Arc<Journal>,
    counts: Mutex<Counts>,
    open: Arc<AtomicUsize>,
}

/// Counts a connection for as long as it is open.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Counts {
    accepted: usize,
    attempts: HashMap<usize, usize>,
}

/// Why a request gets no answer of the model.
struct Denied {
    status: StatusCode,
    kind: &'static str,
    code: &'static str,
    refusal: Refusal,
}

/// Serves connections until the task is dropped, and all connections with it.
pub(super) async fn accept(listener: TcpListener, service: Arc<Service>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&service)));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, service: Arc<Service>) {
    let _open = Open::new(&service.open);
    // Small writes must leave at once, or slow octets would be gathered.
    let _ = stream.set_nodelay(true);
    let handle = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { service.handle(request).await }
    });
    // An error here is a connection that one side cut: which is what faults do.
    let _ = hyper::server::conn::http1::Builder::new()
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), handle)
        .await;
}

impl Service {
    pub(super) fn new(script: Script, journal: Arc<Journal>, open: Arc<AtomicUsize>) -> Self {
        Self {
            script,
            journal,
            counts: Mutex::default(),
            open,
        }
    }

    /// An error closes the connection without a response.
    async fn handle(&self, request: hyper::Request<Incoming>) -> io::Result<Response<Body>> {
        let (head, body) = request.into_parts();
        let raw = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let path = head.uri.path().to_owned();
        if head.method == Method::GET && path == "/journal" {
            let all: Vec<Value> = self.journal.all().iter().map(Exchange::to_json).collect();
            return Ok(json_response(StatusCode::OK, &json!(all)));
        }
        let wire = wire_of(&path, head.uri.query());
        let authorized = is_authorized(wire, &head.headers, self.script.key());
        let parsed: Option<Value> = serde_json::from_slice(&raw).ok();
        let json_sent = head
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.starts_with("application/json"));

        let judged = judge(
            &head.method,
            wire,
            &path,
            authorized,
            json_sent,
            &raw,
            parsed.as_ref(),
        );
        let answer = match judged {
            Ok((wire, body)) => self.answer(wire, &path, body),
            Err(denied) => Err(denied),
        };
        let (outcome, response) = match answer {
            Ok((request, fault, encoded)) => (
                Outcome::Answered {
                    turn: request.turn,
                    attempt: request.attempt,
                    events: encoded.events.len(),
                    fault: fault.as_ref().map(Fault::name),
                },
                respond(&request, fault, encoded),
            ),
            Err(denied) => (
                Outcome::Refused {
                    status: denied.status.as_u16(),
                    message: denied.refusal.message.clone(),
                },
                Ok(json_response(
                    denied.status,
                    &error_body(
                        wire.unwrap_or(Wire::ChatCompletions),
                        &Failed {
                            status: denied.status.as_u16(),
                            kind: denied.kind,
                            code: denied.code,
                            param: Some(&denied.refusal.param),
                            message: &denied.refusal.message,
                        },
                    ),
                )),
            ),
        };
        self.journal.push(Exchange {
            method: head.method.to_string(),
            path: head.uri.to_string(),
            headers: (head.headers.iter())
                .filter(|(name, _)| !KEY_HEADERS.contains(&name.as_str()))
                .map(|(name, value)| {
                    (
                        name.to_string(),
                        String::from_utf8_lossy(value.as_bytes()).into_owned(),
                    )
                })
                .collect(),
            authorized,
            raw: raw.to_vec(),
            body: parsed,
            outcome,
        });
        response
    }

    /// Asks the script, and encodes what it says.
    fn answer(
        &self,
        wire: Wire,
        path: &str,
        body: &Value,
    ) -> Result<(Request, Option<Fault>, Encoded), Denied> {
        let turn = turns(wire, body);
        let (number, attempt) = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let number = counts.accepted;
            counts.accepted += 1;
            let attempts = counts.attempts.entry(turn).or_default();
            let attempt = *attempts;
            *attempts += 1;
            (number, attempt)
        };
        let request = Request {
            wire,
            number,
            turn,
            attempt,
            model: match wire {
                Wire::Gemini => gemini::model(path).to_owned(),
                _ => body["model"].as_str().unwrap_or_default().to_owned(),
            },
            streaming: match wire {
                Wire::Gemini => gemini::is_streaming(path),
                Wire::Ollama => body["stream"] != false,
                _ => body["stream"] == true,
            },
            body: body.clone(),
        };
        let Some(reply) = self.script.answer(&request) else {
            return Err(denied(
                StatusCode::BAD_REQUEST,
                "script_exhausted",
                "body",
                &format!("The script has no reply for request {number} (turn {turn})."),
            ));
        };
        let fault = reply.fault_of(attempt).cloned();
        let encoded = match wire {
            Wire::ChatCompletions => chat::encode(&reply, &request),
            Wire::Responses => responses::encode(&reply, &request),
            Wire::Messages => messages::encode(&reply, &request),
            Wire::Gemini => gemini::encode(&reply, &request),
            Wire::Ollama => ollama::encode(&reply, &request),
        };
        Ok((request, fault, encoded))
    }
}

fn denied(status: StatusCode, code: &'static str, param: &str, message: &str) -> Denied {
    let refusal = Refusal {
        param: param.into(),
        message: message.into(),
    };
    Denied {
        status,
        kind: "invalid_request_error",
        code,
        refusal,
    }
}

/// Is this a right request, and in which format?
fn judge<'a>(
    method: &Method,
    wire: Option<Wire>,
    path: &str,
    authorized: bool,
    json_sent: bool,
    raw: &[u8],
    parsed: Option<&'a Value>,
) -> Result<(Wire, &'a Value), Denied> {
    let Some(wire) = wire else {
        return Err(denied(
            StatusCode::NOT_FOUND,
            "unknown_url",
            "path",
            &format!("Unknown request URL: {path}."),
        ));
    };
    if *method != Method::POST {
        return Err(denied(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "method",
            "Only POST is allowed.",
        ));
    }
    if !authorized {
        return Err(denied(
            StatusCode::UNAUTHORIZED,
            match wire {
                Wire::Messages => "authentication_error",
                Wire::Gemini => "UNAUTHENTICATED",
                _ => "invalid_api_key",
            },
            "authorization",
            "Incorrect API key provided.",
        ));
    }
    if raw.len() > MAX_BODY {
        return Err(denied(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "body",
            "The body is too large.",
        ));
    }
    if !json_sent {
        return Err(denied(
            StatusCode::BAD_REQUEST,
            "invalid_content_type",
            "content-type",
            "Send application/json.",
        ));
    }
    let Some(body) = parsed else {
        return Err(denied(
            StatusCode::BAD_REQUEST,
            "invalid_json",
            "body",
            "We could not parse the JSON body of your request.",
        ));
    };
    let checked = match wire {
        Wire::ChatCompletions => check_chat::check(body),
        Wire::Responses => check_responses::check(body),
        Wire::Messages => check_messages::check(body),
        Wire::Gemini => check_gemini::check(body),
        Wire::Ollama => check_ollama::check(body),
    };
    match checked {
        Ok(()) => Ok((wire, body)),
        Err(refusal) => Err(Denied {
            status: StatusCode::BAD_REQUEST,
            kind: "invalid_request_error",
            code: match wire {
                Wire::Messages => "invalid_request_error",
                Wire::Gemini => "INVALID_ARGUMENT",
                _ => "invalid_value",
            },
            refusal,
        }),
    }
}

/// The format that a path stands for.
fn wire_of(path: &str, query: Option<&str>) -> Option<Wire> {
    match path {
        "/v1/chat/completions" => Some(Wire::ChatCompletions),
        "/v1/responses" => Some(Wire::Responses),
        "/v1/messages" => Some(Wire::Messages),
        "/api/chat" => Some(Wire::Ollama),
        _ if gemini::is_call(path, query) => Some(Wire::Gemini),
        _ => None,
    }
}

/// The headers that hold keys. They are in no journal.
const KEY_HEADERS: [&str; 3] = ["authorization", "x-api-key", "x-goog-api-key"];

fn is_authorized(wire: Option<Wire>, headers: &HeaderMap, key: &str) -> bool {
    let is = |name: &str, value: &str| {
        headers.get(name).and_then(|header| header.to_str().ok()) == Some(value)
    };
    match wire {
        Some(Wire::Messages) => is("x-api-key", key) && is("anthropic-version", "2023-06-01"),
        Some(Wire::Gemini) => is("x-goog-api-key", key),
        // It has no keys; one that is sent was meant for somebody else.
        Some(Wire::Ollama) => KEY_HEADERS.iter().all(|name| !headers.contains_key(*name)),
        Some(Wire::ChatCompletions | Wire::Responses) | None => {
            is("authorization", &format!("Bearer {key}"))
        }
    }
}

fn failed<'a>(kind: &'a str, status: u16, code: &'a str, message: &'a str) -> Failed<'a> {
    Failed {
        status,
        kind,
        code,
        param: None,
        message,
    }
}

/// What becomes of the body's octets.
enum End {
    Whole,
    Cut,
    Open,
}

fn respond(
    request: &Request,
    fault: Option<Fault>,
    encoded: Encoded,
) -> io::Result<Response<Body>> {
    let mut pieces: Vec<Bytes> = if request.streaming {
        encoded.events.into_iter().map(Bytes::from).collect()
    } else {
        vec![Bytes::from(encoded.document.to_string())]
    };
    let broken = |pieces: &mut Vec<Bytes>, events: usize| {
        if request.streaming {
            pieces.truncate(events);
        } else if let Some(document) = pieces.first_mut() {
            document.truncate(document.len() / 2);
        }
    };
    let mut end = End::Whole;
    let mut length = (!request.streaming).then(|| pieces.iter().map(Bytes::len).sum::<usize>());
    let mut pause = None;
    match fault {
        None => {}
        Some(Fault::Status {
            status,
            retry_after,
            code,
            message,
        }) => {
            let status = StatusCode::from_u16(status).map_err(io::Error::other)?;
            let mut response = json_response(
                status,
                &error_body(
                    request.wire,
                    &failed("injected", status.as_u16(), &code, &message),
                ),
            );
            if let Some(wait) = retry_after {
                response.headers_mut().insert(
                    RETRY_AFTER,
                    HeaderValue::try_from(wait).map_err(io::Error::other)?,
                );
            }
            return Ok(response);
        }
        Some(Fault::HangUp) => return Err(io::ErrorKind::ConnectionAborted.into()),
        Some(Fault::CutAfter(events)) => {
            broken(&mut pieces, events);
            end = End::Cut;
        }
        Some(Fault::EndAfter(events)) => {
            broken(&mut pieces, events);
            length = None;
        }
        Some(Fault::MalformedJson(events)) => {
            if let Some(piece) = pieces.get_mut(if request.streaming { events } else { 0 }) {
                *piece = Bytes::from(match (request.streaming, request.wire) {
                    (true, Wire::Ollama) => "{\"broken\": [1,\n",
                    (true, _) => "data: {\"broken\": [1,\n\n",
                    (false, _) => "{\"broken\": [1,",
                });
            }
            length = None;
        }
        Some(Fault::ErrorAfter {
            events,
            code,
            message,
        }) => {
            if !request.streaming {
                let body = error_body(request.wire, &failed("server_error", 500, &code, &message));
                return Ok(json_response(StatusCode::INTERNAL_SERVER_ERROR, &body));
            }
            pieces.truncate(events);
            let body = || error_body(request.wire, &failed("server_error", 503, &code, &message));
            pieces.push(Bytes::from(match request.wire {
                Wire::Responses => {
                    responses::event_text(responses::failed(request, &code, &message), events)
                }
                Wire::Messages => messages::event(&body()),
                Wire::Ollama => format!("{}\n", body()),
                Wire::ChatCompletions | Wire::Gemini => format!("data: {}\n\n", body()),
            }));
        }
        Some(Fault::Octets { events, octets }) => {
            broken(&mut pieces, events);
            pieces.push(octets.into());
            length = None;
        }
        Some(Fault::Stall(events)) => {
            broken(&mut pieces, events);
            end = End::Open;
        }
        Some(Fault::Slow {
            octets,
            pause: every,
        }) => {
            pieces = (pieces.iter())
                .flat_map(|piece| {
                    let step = octets.max(1);
                    (0..piece.len())
                        .step_by(step)
                        .map(move |at| piece.slice(at..(at + step).min(piece.len())))
                })
                .collect();
            pause = Some(every);
        }
    }

    let whole = stream::iter(pieces).then(move |piece| async move {
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        Ok(Frame::data(piece))
    });
    let tail: Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>> = match end {
        End::Whole => Box::pin(stream::empty()),
        End::Cut => Box::pin(stream::once(async {
            // Give the pieces before it time to leave: a cut must not swallow what was sent.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            Err(io::ErrorKind::ConnectionAborted.into())
        })),
        End::Open => Box::pin(stream::pending()),
    };
    let kind = match (request.streaming, request.wire) {
        (true, Wire::Ollama) => "application/x-ndjson",
        (true, _) => "text/event-stream; charset=utf-8",
        (false, _) => "application/json",
    };
    let mut response = response(StatusCode::OK, kind, Box::pin(whole.chain(tail)));
    if let Some(length) = length {
        response
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(response)
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let body = Bytes::from(body.to_string());
    response(
        status,
        "application/json",
        Box::pin(stream::once(async move { Ok(Frame::data(body)) })),
    )
}

fn response(
    status: StatusCode,
    kind: &'static str,
    body: Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>,
) -> Response<Body> {
    let mut response = Response::new(StreamBody::new(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
        .headers_mut()
        .insert(DATE, HeaderValue::from_static(DATE_SENT));
    response
}
