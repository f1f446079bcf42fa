//! A model server on the loopback interface, because a client is only shown to work by real HTTP.
//!
//! It speaks `POST /v1/chat/completions` and `POST /v1/responses`, Anthropic's `POST /v1/messages`, Gemini's
//! `POST /v1beta/models/MODEL:generateContent` and Ollama's `POST /api/chat`, streaming and not, answers from a
//! [`Script`], injects a [`Fault`] where the script says so, and keeps a [journal](ModelServer::journal)
//! of the exact requests. It checks every request strictly (unknown fields, the order of tool calls and
//! tool results, tool schemas, sealed and signed reasoning given back unchanged), and refuses what is wrong with the
//! status and the error body of the real service. It listens on `127.0.0.1` only.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use svit_testkit::model_server::{ModelServer, Reply, Script};
//!
//! let server = ModelServer::start(Script::turns([Reply::text("Hello.").usage(12, 3)])).await.unwrap();
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! assert!(server.url().ends_with("/v1"));
//! assert!(server.journal().is_empty());
//! # });
//! ```
//!
//! As a program of its own: `cargo run -p svit-testkit --example model_server -- --script FILE`.

mod chat;
mod check;
mod check_chat;
mod check_gemini;
mod check_messages;
mod check_ollama;
mod check_responses;
mod gemini;
mod journal;
mod messages;
mod ollama;
mod reply;
mod request;
mod responses;
mod script;
mod service;
mod wire;

pub use journal::{Exchange, Outcome};
pub use reply::{Call, Fault, Reply};
pub use request::{Request, Wire};
pub use script::{Script, ScriptError};

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use journal::Journal;
use service::Service;

/// The key that a server accepts when its script names no other.
pub const DEFAULT_KEY: &str = "loopback-key";

/// A running server; dropping it stops it and closes its connections.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    key: String,
    journal: Arc<Journal>,
    open: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl ModelServer {
    /// Starts a server on a free port of `127.0.0.1`; its tasks run on the current tokio runtime.
    ///
    /// # Errors
    /// The listener's, if no port can be bound.
    pub async fn start(script: Script) -> io::Result<Self> {
        Self::start_on(script, 0).await
    }

    /// Like [`start`](Self::start), on a chosen port (0: a free one).
    ///
    /// # Errors
    /// The listener's, if the port cannot be bound.
    pub async fn start_on(script: Script, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let journal = Arc::new(Journal::default());
        let open = Arc::new(AtomicUsize::new(0));
        let key = script.key().to_owned();
        let service = Arc::new(Service::new(
            script,
            Arc::clone(&journal),
            Arc::clone(&open),
        ));
        let accepting = tokio::spawn(service::accept(listener, service));
        Ok(Self {
            address,
            key,
            journal,
            open,
            accepting,
        })
    }

    /// The address as a URL, for clients that add the rest: `http://127.0.0.1:PORT`.
    pub fn root(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL to give to a client of OpenAI's formats: `http://127.0.0.1:PORT/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The key it accepts.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Every request so far, in the order in which their bodies had arrived, with what became of it.
    pub fn journal(&self) -> Vec<Exchange> {
        self.journal.all()
    }

    /// How many connections are open now.
    pub fn open_connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
