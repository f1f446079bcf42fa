//! Bad input at the edge is a typed error that names the place, and changes nothing.

use svit::{
    Error, Limits, Message, OpenAI, Process, Reasoner, Result, Svit, TursoProcessStore, Value,
    value,
};

use crate::example::Quickstart;

/// The code of the error that something ended with.
fn code<T>(result: Result<T, impl Into<Error>>) -> String {
    match result {
        Ok(_) => panic!("it went well"),
        Err(error) => error.into().code().to_owned(),
    }
}

fn process() -> Process {
    let looping = "(define (main input) (spin 0)) (define (spin n) (spin (+ n 1)))";
    Process::builder("svit://local/edges")
        .unwrap()
        .memory("count", 1)
        .library("spin", looping)
        // Ticks end it, however busy the machine is.
        .limits(Limits {
            max_execution_millis: 60_000,
            ..Limits::default()
        })
        .build()
        .unwrap()
}

#[test]
fn a_bad_address_says_where() {
    for (address, at) in [
        ("http://local/demo", 0),
        ("svit://Local/demo", 7),
        ("svit://local", 12),
        ("svit://local/a b", 14),
        ("svit://local//b", 13),
    ] {
        let error = Svit::builder(address).unwrap_err();
        let Error::Tree(svit::TreeError::BadAddress { at: found, .. }) = error.into() else {
            panic!("{address}: another error");
        };
        assert_eq!(found, at, "{address}");
    }
}

#[test]
fn a_bad_path_changes_nothing() {
    let process = process();
    for path in ["memory", "/memory//x", "/memory/..", "/memory/~2", ""] {
        assert_eq!(code(process.read(path)), "bad_path", "{path:?}");
        assert_eq!(code(process.write(path, 1)), "bad_path", "{path:?}");
    }
    assert_eq!(code(process.write("/system/limits", 1)), "denied");
    assert_eq!(code(process.write("/memory/a/b", 1)), "no_parent");
    assert_eq!(process.version(), 0);
}

#[test]
fn not_a_number_is_no_value() {
    assert_eq!(code(Value::float(f64::NAN)), "not_finite");
    assert_eq!(code(Value::float(f64::INFINITY)), "not_finite");
}

#[test]
fn an_unknown_script_and_one_that_loops_leave_the_process_as_it_was() {
    let process = process();
    let before = (process.version(), process.root_digest());
    assert_eq!(code(process.exec("/lib/none", Value::Null)), "no_script");
    assert_eq!(
        code(process.exec("/memory/count", Value::Null)),
        "no_script"
    );
    assert_eq!(code(process.exec("/lib/spin", Value::Null)), "out_of_ticks");
    assert_eq!((process.version(), process.root_digest()), before);
}

#[test]
fn a_script_that_does_not_compile_is_refused_with_its_line() {
    let process = process();
    let source = "(define (main input)\n  (if input 1";
    let error = process
        .write("/lib/broken", value!({"source": source}))
        .unwrap_err();
    assert!(error.to_string().contains("/lib/broken"), "{error}");
    assert!(error.to_string().contains(":2:"), "{error}");
    assert_eq!(process.version(), 0);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    let text = "Dear diary, this is no database. ".repeat(200);
    std::fs::write(&file, &text).unwrap();
    assert_eq!(code(TursoProcessStore::open(&file).await), "not_a_store");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn a_second_program_on_a_store_is_refused() {
    let run = Quickstart::new();
    let store = TursoProcessStore::open(run.store()).await.unwrap();
    let output = run.command().output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    let pid = std::process::id().to_string();
    assert!(said.contains("InUse") && said.contains(&pid), "{said}");
    drop(store);
}

#[tokio::test]
async fn a_process_that_exists_or_does_not_is_said_to() {
    let folder = tempfile::tempdir().unwrap();
    let store = TursoProcessStore::open(folder.path().join("s.db"))
        .await
        .unwrap();
    assert_eq!(code(store.resume("svit://local/edges").await), "not_found");
    store.create(process()).await.unwrap();
    assert_eq!(code(store.create(process()).await), "already_exists");
}

#[test]
fn no_key_is_a_typed_error() {
    if std::env::var_os("OPENAI_API_KEY").is_some() {
        println!("skipped: OPENAI_API_KEY is set here");
        return;
    }
    assert_eq!(code(OpenAI::from_env()), "missing_key");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_server_ends_in_a_dead_letter() {
    // Bound and closed again, so that nothing listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let provider = OpenAI::new("no-key").base_url(url);
    let mut svit = Svit::builder("svit://local/unreachable")
        .unwrap()
        .reasoner(Reasoner::new("any", provider))
        .build()
        .await
        .unwrap();
    let (inbox, mut outbox) = (svit.inbox(), svit.outbox());
    svit.start().unwrap();
    let id = inbox.send(Message::user("Anybody there?")).await.unwrap();
    drop(inbox);
    svit.block().await.unwrap();
    match outbox.recv().await {
        Err(svit::LoopError::TurnFailed {
            message,
            code,
            attempts,
            ..
        }) => {
            assert_eq!((message, code.as_str(), attempts), (id, "unreachable", 3));
        }
        other => panic!("{other:?}"),
    }
    let dead = format!("/thread/dead/{:016}/reason/code", id.get());
    assert_eq!(svit.read(dead).unwrap(), Some("unreachable".into()));
}

#[test]
fn starting_outside_a_runtime_is_a_typed_error() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let svit = runtime
        .block_on(
            Svit::builder("svit://local/outside")
                .unwrap()
                .reasoner(Reasoner::new("any", svit::Scripted::new([])))
                .build(),
        )
        .unwrap();
    assert_eq!(code(svit.start()), "no_runtime");
}
