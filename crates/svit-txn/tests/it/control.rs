//! The control protocol: one outcome for one request, whatever is retried, raced or restarted.

use futures_lite::future::{block_on, zip};
use svit_txn::control::{
    Command, Controller, MAX_FRAME_BYTES, Request, RequestError, Response, ResponseOutcome,
};
use svit_txn::{MemoryStore, Process};
use svit_value::{Value, value};

const ADDRESS: &str = "svit://local/controlled";

async fn controller(store: &MemoryStore) -> Controller {
    let add = "(define (main by) (do (log-info! \"adding\" by) \
               (write \"/memory/count\" (+ (read \"/memory/count\") by))))";
    let process = Process::builder(ADDRESS)
        .unwrap()
        .memory("count", 0)
        .library("add", add)
        .build()
        .unwrap();
    Controller::new(store.create(process).await.unwrap())
}

fn request(client: &str, id: &str, version: u64, input: impl Into<Value>) -> Request {
    Request {
        client_id: client.into(),
        request_id: id.into(),
        process_id: ADDRESS.parse().unwrap(),
        expected_version: version,
        command: Command::Activate {
            script: "/lib/add".parse().unwrap(),
            input: input.into(),
        },
    }
}

fn is_committed(response: &Response) -> bool {
    matches!(response.outcome, ResponseOutcome::Committed { .. })
}

#[test]
fn of_two_clients_at_one_version_exactly_one_commits() {
    block_on(async {
        let store = MemoryStore::new();
        let controller = controller(&store).await;
        let (one, two) = (request("a", "1", 0, 1), request("b", "1", 0, 10));
        let (one, two) = zip(controller.handle(&one), controller.handle(&two)).await;
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!(
            u32::from(is_committed(&one)) + u32::from(is_committed(&two)),
            1
        );
        let loser = if is_committed(&one) { two } else { one };
        let root = controller.process().root_digest();
        let conflict = ResponseOutcome::Conflict {
            expected: 0,
            actual: 1,
            root,
        };
        assert_eq!(loser.outcome, conflict);
        // Nothing is remembered of a conflict: the same request, at the new version, is another one,
        // and under the same ids it is carried out.
        let retry = request(&loser.client_id, "1", 1, 100);
        assert!(is_committed(&controller.handle(&retry).await.unwrap()));
        assert_eq!(controller.process().version(), 2);
    });
}

#[test]
fn an_exact_retry_gets_the_same_outcome_also_after_a_restart() {
    block_on(async {
        let store = MemoryStore::new();
        let controller = controller(&store).await;
        let good = request("a", "good", 0, 5);
        let bad = request("a", "bad", 1, "five");
        let first = controller.handle(&good).await.unwrap();
        let refused = controller.handle(&bad).await.unwrap();
        assert!(is_committed(&first) && !first.replayed);
        assert!(matches!(
            refused.outcome,
            ResponseOutcome::Rejected { version: 1, .. }
        ));

        drop(controller);
        let controller = Controller::new(store.resume(ADDRESS).await.unwrap());
        for (request, response) in [(&good, &first), (&bad, &refused)] {
            let again = controller.handle(request).await.unwrap();
            assert!(again.replayed);
            assert_eq!(again.outcome, response.outcome);
        }
        assert_eq!(controller.process().version(), 1);
        assert_eq!(
            controller.process().read("/memory/count").unwrap(),
            Some(5.into())
        );

        let other = controller
            .handle(&request("a", "good", 0, 6))
            .await
            .unwrap();
        let ResponseOutcome::Rejected { code, .. } = other.outcome else {
            panic!("another content under the same key");
        };
        assert_eq!(code.as_str(), "reused_key");
    });
}

#[test]
fn what_is_refused_says_why_and_changes_nothing() {
    block_on(async {
        let store = MemoryStore::new();
        let controller = controller(&store).await;
        let mut elsewhere = request("a", "1", 0, 1);
        elsewhere.process_id = "svit://local/other".parse().unwrap();
        let mut missing = request("a", "2", 0, 1);
        missing.command = Command::Activate {
            script: "/lib/none".parse().unwrap(),
            input: Value::Null,
        };
        for (request, expected) in [
            (elsewhere, "wrong_process"),
            (missing, "no_script"),
            (request("not good", "3", 0, 1), "bad_key"),
            (request("a", "", 0, 1), "bad_key"),
        ] {
            let response = controller.handle(&request).await.unwrap();
            let ResponseOutcome::Rejected { version, code, .. } = response.outcome else {
                panic!("{expected}");
            };
            assert_eq!((version, code.as_str()), (0, expected));
        }
        assert_eq!(controller.process().version(), 0);
    });
}

#[test]
fn frames_go_over_json_and_back() {
    block_on(async {
        let store = MemoryStore::new();
        let controller = controller(&store).await;
        let asked = request("a", "1", 0, 2);
        assert_eq!(
            Request::from_json(&asked.to_json().unwrap()),
            Ok(asked.clone())
        );
        let answer = controller
            .handle_json(&asked.to_json().unwrap())
            .await
            .unwrap();
        let answer = Response::from_json(&answer).unwrap();
        let ResponseOutcome::Committed {
            version,
            logs,
            changed,
            ..
        } = &answer.outcome
        else {
            panic!("{answer:?}");
        };
        assert_eq!(*version, 1);
        let log = value!({"level": "info", "message": "adding", "fields": 2});
        assert_eq!(logs, &[log]);
        assert_eq!(changed[0].to_string(), "/memory/count");
        let conflict = controller.handle(&request("b", "1", 0, 2)).await.unwrap();
        let again = Response::from_json(&conflict.to_json().unwrap()).unwrap();
        assert_eq!(again, conflict);
    });
}

#[test]
fn frames_that_are_no_requests_are_typed_errors() {
    let good = request("a", "1", 0, 2).to_json().unwrap();
    let more = good.replacen('{', "{\"unknown\": [1], ", 1);
    assert_eq!(Request::from_json(&more), Request::from_json(&good));
    let code = |frame: &str| Request::from_json(frame).unwrap_err().code();
    for (bad, expected) in [
        (String::new(), "bad_json"),
        ("[]".to_owned(), "bad_field"),
        (
            good.replace("svit-control@1", "svit-control@2"),
            "unknown_protocol",
        ),
        (good.replace("activate", "destroy"), "unknown_operation"),
        (good.replace("/lib/add", "lib/add"), "bad_path"),
        (good.replace(ADDRESS, "local"), "bad_address"),
        (
            good.replace("\"expected_version\":0", "\"expected_version\":-1"),
            "bad_field",
        ),
        (
            good.replace("\"client_id\":\"a\"", "\"client_id\":7"),
            "bad_field",
        ),
        (good.replace("\"client_id\"", "\"client\""), "bad_field"),
    ] {
        assert_ne!(bad, good);
        assert_eq!(code(&bad), expected, "{bad}");
    }
    let long = " ".repeat(MAX_FRAME_BYTES + 1);
    let refused = Request::from_json(&long).unwrap_err();
    assert!(matches!(refused, RequestError::TooLong { .. }), "{refused}");
}
