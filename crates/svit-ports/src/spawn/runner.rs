//! `ChildRunner`: what forks a process and has the child answer, for the port that asks for it.

use std::time::Duration;

use svit_model::Reasoner;
use svit_value::Text;

use crate::{BoxFuture, PortFailure, Ports};

/// Forks the process that calls, and has the child answer one message.
///
/// See the [module's page](crate::spawn) for an example.
pub trait ChildRunner: Send + Sync {
    /// Runs the child of this key, from where it is: it is forked if there is none, and an answer that
    /// it has given is given again. Cancelled by dropping the future, as a call of a port is.
    ///
    /// # Errors
    /// Why there is no answer: of the process, of its store, or of the child's turn.
    fn run(&self, child: ChildRun) -> BoxFuture<'_, Result<ChildAnswer, PortFailure>>;
}

/// A child that is to be run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChildRun {
    /// What the child is known by: the same for the same call made again, and for no other.
    pub key: Text,
    /// The message that it answers.
    pub prompt: String,
    /// The model that it answers with.
    pub reasoner: Reasoner,
    /// The ports that it may call.
    pub ports: Ports,
    /// The most tokens that its turn may use.
    pub max_turn_tokens: u64,
    /// The time for its turn.
    pub timeout: Duration,
}

/// What a child answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildAnswer {
    /// Its words.
    pub text: String,
    /// Its address.
    pub address: String,
    /// Its version once it had answered.
    pub version: u64,
    /// The tokens of its requests; 0 if the provider did not say.
    pub input_tokens: u64,
    /// The tokens of its answers; 0 if the provider did not say.
    pub output_tokens: u64,
}
