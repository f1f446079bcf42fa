//! Hooks of a process with a loop: they have their say about what the model runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use svit_loop::Svit;
use svit_model::{Message, Scripted, ScriptedReply};
use svit_tree::Change;
use svit_txn::{Hook, MemoryStore, Proposed, ProposedCode, Refusal};
use svit_value::value;

use crate::common::{create, place, reasoner};
use crate::handles::code;

/// Lets only scripts run that are kept, and remembers the newest version.
#[derive(Default)]
struct KeptOnly(AtomicU64);

impl Hook for KeptOnly {
    fn name(&self) -> &str {
        "kept-only"
    }

    fn before(&self, proposed: &Proposed<'_>) -> Result<(), Refusal> {
        match proposed.code {
            ProposedCode::Library(_) => Ok(()),
            _ => Err(Refusal::new("not_kept", "only scripts below /lib")),
        }
    }

    fn committed(&self, change: &Change) {
        self.0.store(change.version, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_hook_refuses_what_the_model_runs_and_is_told_of_commits() {
    let model = Scripted::from_fn(|request| match place(request) {
        (_, 0) => ScriptedReply::call("exec", value!({"source": "(define (main input) 1)"}))
            .and_call("exec", value!({"path": "/lib/two"})),
        _ => {
            let results = request.messages.last().unwrap().tool_results();
            let told: Vec<_> = results.map(|r| r.content.to_json().unwrap()).collect();
            ScriptedReply::text(told.join("\n"))
        }
    });
    let hook = Arc::new(KeptOnly::default());
    let svit = Svit::builder("svit://local/hooked")
        .unwrap()
        .library("two", "(define (main input) 2)")
        .hook(hook.clone())
        .reasoner(reasoner(model))
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let answer = svit.inbox().ask(Message::user("Run.")).await.unwrap();
    let lines: Vec<&str> = answer.text().unwrap().lines().collect();
    assert!(lines[0].contains("only scripts below /lib"), "{lines:?}");
    assert!(lines[1].contains("\"output\":2"), "{lines:?}");
    assert_eq!(hook.0.load(Ordering::SeqCst), svit.process().version());
}

#[tokio::test]
async fn a_process_from_a_store_has_its_own_hooks() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let builder = Svit::persisted(process).unwrap();
    let built = builder.hook(Arc::new(KeptOnly::default())).build().await;
    assert_eq!(code(built), "not_for_persisted");
}
