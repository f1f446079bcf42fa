//! Sends a request with `genai`, and reads the frames that it shows.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::{Stream, stream};
use genai::chat::{ChatFrameSink, ChatOptions, ChatRequest, ChatStream, FrameCtx, RawFrameRef};
use genai::{Error as GenaiError, ServiceTarget};
use serde_json::Value as Json;

use super::chat::ChatReader;
use super::failure::from_genai;
use super::responses::ResponsesReader;
use crate::error::ModelError;
use crate::event::{ModelEvent, ModelStream};
use crate::http::frames::LARGEST;
use crate::http::redact::Redact;
use crate::http::silence::{in_silence, silent};

/// Everything that a call needs.
pub(super) struct Call {
    pub(super) client: genai::Client,
    pub(super) target: ServiceTarget,
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
    pub(super) reader: Reader,
    pub(super) redact: Redact,
}

/// Reads one of the two formats.
pub(super) enum Reader {
    Chat(ChatReader),
    Responses(ResponsesReader),
}

impl Reader {
    fn frame(
        &mut self,
        data: &str,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        match self {
            Self::Chat(reader) => reader.frame(data, redact, out),
            Self::Responses(reader) => reader.frame(data, redact, out),
        }
    }

    fn document(
        &mut self,
        body: &Json,
        redact: &Redact,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        match self {
            Self::Chat(reader) => reader.document(body, redact, out),
            Self::Responses(reader) => reader.document(body, redact, out),
        }
    }
}

impl Call {
    /// Begins a stream. Nothing is sent before it is polled.
    pub(super) async fn stream(self) -> Result<ModelStream, ModelError> {
        let frames = Arc::new(Frames::default());
        let options = self
            .options
            .with_raw_frame_sink_arc(Arc::clone(&frames) as Arc<dyn ChatFrameSink>);
        let begun = silent(
            self.client
                .exec_chat_stream(self.target, self.chat, Some(&options)),
        )
        .await;
        let inner = begun
            .map_err(|error| from_genai(error, &self.redact))?
            .stream;
        Ok(Box::pin(Answer {
            inner: Some(inner),
            frames,
            reader: self.reader,
            redact: self.redact,
            ready: VecDeque::new(),
            octets: 0,
            end: None,
        }))
    }

    /// Fetches a whole answer.
    pub(super) async fn document(mut self) -> Result<ModelStream, ModelError> {
        let options = self.options.with_capture_raw_body(true);
        let answer = silent(
            self.client
                .exec_chat(self.target, self.chat, Some(&options)),
        )
        .await;
        let body = match answer {
            Ok(answer) => answer.captured_raw_body.unwrap_or(Json::Null),
            // What genai could not make sense of (malformed arguments, say), we may.
            Err(GenaiError::ChatResponseGeneration { response_body, .. }) => *response_body,
            Err(error) => return Err(from_genai(error, &self.redact)),
        };
        if !body.is_object() {
            return Err(ModelError::broken("the answer is not a JSON object"));
        }
        let mut ready = VecDeque::new();
        self.reader.document(&body, &self.redact, &mut ready)?;
        Ok(Box::pin(stream::iter(ready.into_iter().map(Ok))))
    }
}

/// The frames that `genai` has seen and we have not yet read.
#[derive(Debug, Default)]
struct Frames(Mutex<VecDeque<String>>);

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        if !frame.data.is_empty() {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push_back(frame.data.to_owned());
        }
    }
}

impl Frames {
    fn next(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }
}

/// A stream of events, driven by `genai` and read from its frames.
struct Answer {
    /// `None` once the answer is over: the connection is closed then, and nothing more is read.
    inner: Option<ChatStream>,
    frames: Arc<Frames>,
    reader: Reader,
    redact: Redact,
    ready: VecDeque<ModelEvent>,
    octets: u64,
    /// How the transport ended, if it did. Frames that came before still count.
    end: Option<ModelError>,
}

impl Answer {
    fn over(&mut self, error: ModelError) -> Poll<Option<Result<ModelEvent, ModelError>>> {
        self.inner = None;
        self.ready.clear();
        Poll::Ready(Some(Err(error)))
    }

    fn read(&mut self, frame: &str) -> Result<(), ModelError> {
        self.octets = self.octets.saturating_add(frame.len() as u64);
        if self.octets > LARGEST {
            return Err(ModelError::AnswerTooLarge { limit: LARGEST });
        }
        self.reader.frame(frame, &self.redact, &mut self.ready)
    }
}

impl Stream for Answer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.ready.pop_front() {
                if matches!(event, ModelEvent::Finish(_)) {
                    this.inner = None;
                    this.ready.clear();
                }
                return Poll::Ready(Some(Ok(event)));
            }
            let Some(inner) = this.inner.as_mut() else {
                return Poll::Ready(None);
            };
            if let Some(frame) = this.frames.next() {
                if let Err(error) = this.read(&frame) {
                    return this.over(error);
                }
                continue;
            }
            if let Some(error) = this.end.take() {
                return this.over(error);
            }
            if tokio::runtime::Handle::try_current().is_err() {
                return this.over(ModelError::NoRuntime);
            }
            let polled = in_silence(|| Pin::new(inner).poll_next(context));
            match polled {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => this.end = Some(from_genai(error, &this.redact)),
                Poll::Ready(None) => {
                    this.end = Some(ModelError::broken("the stream ended before its end marker"));
                }
                // Frames may have come without an event of genai's.
                Poll::Pending => match this.frames.next() {
                    Some(frame) => {
                        if let Err(error) = this.read(&frame) {
                            return this.over(error);
                        }
                    }
                    None => return Poll::Pending,
                },
            }
        }
    }
}
