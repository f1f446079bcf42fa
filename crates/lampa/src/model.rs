//! The model that answers: chosen by its id, found by the keys in the environment.

use svit::{Anthropic, Gemini, ModelError, Ollama, OpenAI, Reasoner};

use crate::failure::Failure;

/// The model that is talked to if nobody chose one.
const DEFAULT_MODEL: &str = "gpt-5.1";

/// What holds the key of the model that answers if nobody chose another.
pub(crate) const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// The model of this id, or of `SVIT_MODEL`, or the usual one. `anthropic:`, `gemini:` and `ollama:` before
/// an id say whose it is; without, and behind `openai:`, it is OpenAI's or that of a compatible server.
pub(crate) fn reasoner(model: Option<String>) -> Result<Reasoner, Failure> {
    let model = model
        .or_else(|| std::env::var("SVIT_MODEL").ok())
        .unwrap_or_else(|| DEFAULT_MODEL.to_owned());
    Ok(match model.split_once(':') {
        Some(("anthropic", id)) => Reasoner::new(id, found(Anthropic::from_env())?),
        Some(("gemini", id)) => Reasoner::new(id, found(Gemini::from_env())?),
        Some(("ollama", id)) => Reasoner::new(id, found(Ollama::from_env())?),
        Some(("openai", id)) => Reasoner::new(id, found(OpenAI::from_env())?),
        // Ids of other servers may hold a colon, too.
        _ => Reasoner::new(model, found(OpenAI::from_env())?),
    })
}

fn found<P>(provider: Result<P, ModelError>) -> Result<P, Failure> {
    provider.map_err(|error| match error {
        ModelError::MissingKey { variable } => Failure::NoModel { variable },
        other => Failure::from(other),
    })
}

/// The same, or none where no key is.
pub(crate) fn if_there_is_one(
    reasoner: Result<Reasoner, Failure>,
) -> Result<Result<Reasoner, &'static str>, Failure> {
    match reasoner {
        Ok(reasoner) => Ok(Ok(reasoner)),
        Err(Failure::NoModel { variable }) => Ok(Err(variable)),
        Err(failure) => Err(failure),
    }
}
