//! How the tests ask: every format, streaming and not.

use svit_model::{
    Message, ModelError, ModelRequest, ModelResponse, OpenAI, Provider, ToolSpec, TransientCause,
    collect,
};
use svit_testkit::model_server::{ModelServer, Reply, Script, Wire};
use svit_value::value;

/// Every way to ask.
pub(crate) const MODES: [(Wire, bool); 4] = [
    (Wire::ChatCompletions, true),
    (Wire::ChatCompletions, false),
    (Wire::Responses, true),
    (Wire::Responses, false),
];

pub(crate) fn provider(server: &ModelServer, (wire, streaming): (Wire, bool)) -> OpenAI {
    let openai = OpenAI::new(server.key())
        .base_url(server.url())
        .streaming(streaming);
    match wire {
        Wire::ChatCompletions => openai,
        _ => openai.responses(),
    }
}

pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "test-model".into(),
        messages,
        ..ModelRequest::default()
    }
}

pub(crate) fn tool() -> ToolSpec {
    ToolSpec::new(
        "write",
        "Writes a value.",
        value!({"type": "object", "properties": {"path": {"type": "string"}, "value": {}}, "required": ["path"]}),
    )
}

pub(crate) async fn ask(
    openai: &OpenAI,
    request: ModelRequest,
) -> Result<ModelResponse, ModelError> {
    collect(openai.respond(request).await?, |_| {}).await
}

/// The error of one question to a server that answers like this.
pub(crate) async fn failure(mode: (Wire, bool), reply: Reply) -> ModelError {
    failure_of(&OpenAI::new("loopback-key"), mode, reply).await
}

/// The same, asked by a copy of `openai`: copies share their HTTP client.
pub(crate) async fn failure_of(
    openai: &OpenAI,
    (wire, streaming): (Wire, bool),
    reply: Reply,
) -> ModelError {
    let server = ModelServer::start(Script::from_fn(move |_| reply.clone()))
        .await
        .unwrap();
    let openai = openai.clone().base_url(server.url()).streaming(streaming);
    let openai = match wire {
        Wire::ChatCompletions => openai,
        _ => openai.responses(),
    };
    ask(&openai, request(vec![Message::user("Hello?")]))
        .await
        .unwrap_err()
}

pub(crate) fn is_broken(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Transient {
            cause: TransientCause::BrokenStream,
            ..
        }
    )
}
