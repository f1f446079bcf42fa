//! What a hostile or careless program, model or script does at the facade.

mod files;
mod forks;
mod guests;
mod handles;
mod load;
mod models;
mod sizes;

use svit::{Error, Process, Reasoner, Result, Scripted, ScriptedReply, Svit, TursoProcessStore};

/// A store in a folder of its own, which goes away with it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("store.db")
    }

    pub(crate) async fn open(&self) -> Result<TursoProcessStore> {
        Ok(TursoProcessStore::open(self.file()).await?)
    }
}

/// Waits for what must come soon, so that a loop that hangs fails its test.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let within = std::time::Duration::from_secs(20);
    let ended = tokio::time::timeout(within, future).await;
    ended.expect("it took longer than 20 s")
}

/// The code of the error that something ended with.
pub(crate) fn code<T>(result: Result<T, impl Into<Error>>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.into().code().to_owned(),
    }
}

/// A model that says how many messages of the user it has seen.
pub(crate) fn counting() -> Reasoner {
    let model = Scripted::from_fn(|request| {
        let users = request.messages.iter();
        let users = users.filter(|message| message.role == svit::Role::User);
        ScriptedReply::text(format!("answer {}", users.count()))
    });
    Reasoner::new("counting", model)
}

pub(crate) fn process(address: &str) -> Process {
    Process::builder(address)
        .unwrap()
        .memory("count", 0)
        .library(
            "count",
            r#"(define (main by)
                 (let ((count (+ (read "/memory/count") by)))
                   (do (write "/memory/count" count) count)))"#,
        )
        .build()
        .unwrap()
}

/// A started loop around a new process in memory.
pub(crate) async fn started(address: &str, reasoner: Reasoner) -> Svit {
    let svit = Svit::builder(address).unwrap().reasoner(reasoner);
    let svit = svit.build().await.unwrap();
    svit.start().unwrap();
    svit
}
