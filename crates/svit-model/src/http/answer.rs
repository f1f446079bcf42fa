//! Reads an answer: the frames of a stream, or one document.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use futures_util::{StreamExt, stream};
use serde_json::Value as Json;

use super::failure::from_reqwest;
use super::frames::{Cut, Frames, LARGEST};
use super::redact::Redact;
use super::silence::in_silence;
use crate::error::ModelError;
use crate::event::{ModelEvent, ModelStream};

/// Reads the contents of one format. It gives [`ModelEvent::Finish`] once the answer is complete, as its last
/// event.
pub(crate) trait Reader: Send {
    /// One frame of a stream.
    fn frame(
        &mut self,
        data: &str,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError>;

    /// A whole answer.
    fn document(
        &mut self,
        body: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError>;
}

/// Runs a future of the HTTP client: its log lines, which may hold what was said, are kept in, and outside a
/// runtime, where it would panic, it is not polled.
pub(crate) async fn in_runtime<T>(future: impl Future<Output = T>) -> Result<T, ModelError> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if tokio::runtime::Handle::try_current().is_err() {
            return Poll::Ready(Err(ModelError::NoRuntime));
        }
        in_silence(|| future.as_mut().poll(context)).map(Ok)
    })
    .await
}

/// The stream once its first event is there; an error before it is the call's.
pub(crate) async fn begin(mut stream: ModelStream) -> Result<ModelStream, ModelError> {
    match stream.next().await {
        Some(Ok(first)) => Ok(Box::pin(stream::iter([Ok(first)]).chain(stream))),
        Some(Err(error)) => Err(error),
        None => Err(ModelError::broken("the stream ended before it began")),
    }
}

/// The events of a streamed answer.
pub(crate) fn streamed(
    response: reqwest::Response,
    cut: Cut,
    reader: Box<dyn Reader>,
    redact: Redact,
) -> ModelStream {
    let answer = Answer {
        response: Some(response),
        frames: Frames::new(cut),
        reader,
        redact,
        ready: VecDeque::new(),
    };
    Box::pin(stream::unfold(answer, |mut answer| async {
        let next = answer.next().await?;
        Some((next, answer))
    }))
}

/// The events of an answer in one document.
pub(crate) async fn document(
    response: reqwest::Response,
    mut reader: Box<dyn Reader>,
    redact: &Redact,
) -> Result<ModelStream, ModelError> {
    let body = body(response, LARGEST, redact).await?;
    let body: Json =
        serde_json::from_slice(&body).map_err(|_| ModelError::broken("the answer is not JSON"))?;
    if !body.is_object() {
        return Err(ModelError::broken("the answer is not a JSON object"));
    }
    let mut ready = VecDeque::new();
    reader.document(&body, redact, &mut ready)?;
    Ok(Box::pin(stream::iter(ready.into_iter().map(Ok))))
}

/// A body of at most so many octets.
pub(crate) async fn body(
    mut response: reqwest::Response,
    limit: u64,
    redact: &Redact,
) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    loop {
        match in_runtime(response.chunk()).await? {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Ok(body),
            Err(error) => return Err(from_reqwest(error, redact)),
        }
        // THREAT[TM-MODEL-2]
        if body.len() as u64 > limit {
            return Err(ModelError::AnswerTooLarge { limit });
        }
    }
}

struct Answer {
    /// `None` once the answer is over: the connection is closed then, and nothing more is read.
    response: Option<reqwest::Response>,
    frames: Frames,
    reader: Box<dyn Reader>,
    redact: Redact,
    ready: VecDeque<ModelEvent>,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if matches!(event, ModelEvent::Finish(_)) {
                    self.over();
                }
                return Some(Ok(event));
            }
            self.response.as_ref()?;
            if let Err(error) = self.advance().await {
                self.over();
                return Some(Err(error));
            }
        }
    }

    fn over(&mut self) {
        self.response = None;
        self.ready.clear();
    }

    /// Reads a frame, or fetches what frames are made of.
    async fn advance(&mut self) -> Result<(), ModelError> {
        if let Some(frame) = self.frames.next()? {
            return self.reader.frame(&frame, &self.redact, &mut self.ready);
        }
        let Some(response) = &mut self.response else {
            return Ok(());
        };
        match in_runtime(response.chunk()).await? {
            Ok(Some(chunk)) => self.frames.push(&chunk),
            Ok(None) => {
                self.frames.end();
                if let Some(frame) = self.frames.next()? {
                    self.reader.frame(&frame, &self.redact, &mut self.ready)?;
                }
                if self
                    .ready
                    .iter()
                    .any(|event| matches!(event, ModelEvent::Finish(_)))
                {
                    return Ok(());
                }
                Err(ModelError::broken("the stream ended before its end marker"))
            }
            Err(error) => Err(from_reqwest(error, &self.redact)),
        }
    }
}
