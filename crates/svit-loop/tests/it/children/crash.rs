//! The program ends at any moment, and a child is made once and works once.

use super::*;

/// Has the parent's model have a child count, until an append does not come back, as when the program
/// is killed in it; then goes on from what the store has.
async fn interrupted_at(write: u64, fault: Fault) -> bool {
    let when = format!("write {write}, {fault:?}");
    let memory = MemoryStore::new();
    create(Arc::new(memory.clone())).await;
    let faulty = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
    let process = resume(faulty.clone()).await.unwrap();
    faulty.at_write(faulty.writes() + write, fault);
    let hangs = async {
        while faulty.hanging() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let ended = tokio::select! {
        () = count_in_a_child(process) => true,
        () = hangs => false,
    };
    if ended {
        return true;
    }
    drop(faulty);
    let store: Arc<dyn ProcessStore> = Arc::new(memory.clone());
    let process = resume(store.clone()).await.unwrap();
    count_in_a_child(process.clone()).await;
    let answers = answers(&process).await;
    assert_eq!(answers.len(), 1, "{when}: {answers:?}");
    assert!(
        answers[0].contains("1 is the count."),
        "{when}: {answers:?}"
    );
    // One child, however often it was asked for, which has counted once.
    assert_eq!(process.read("/memory/count").unwrap(), Some(0.into()));
    let addresses = memory.addresses(None, 10).await.unwrap();
    assert_eq!(addresses.len(), 2, "{when}: {addresses:?}");
    let child = child(&store, &process).await;
    assert_eq!(
        child.read("/memory/count").unwrap(),
        Some(1.into()),
        "{when}"
    );
    assert!(children(&process)[0].contains("answered"), "{when}");
    false
}

async fn count_in_a_child(process: DurableProcess) {
    let model = Scripted::from_fn(|request| match place(request) {
        (1, 0) => ScriptedReply::call(
            "exec",
            value!({"path": "/ports/spawn", "input": {"prompt": "How many?"}}),
        ),
        (1, 1) => {
            let last = request.messages.last().unwrap();
            let result = last.tool_results().next().unwrap();
            ScriptedReply::text(result.content.to_string())
        }
        other => panic!("asked at {other:?}"),
    });
    let limits = SpawnLimits {
        // A paused clock jumps ahead while a guest runs on its own thread.
        timeout: Duration::MAX,
        ..SpawnLimits::default()
    };
    let port = SpawnPort::new(reasoner(adder())).limits(limits).unwrap();
    let mut svit = Svit::persisted(process)
        .unwrap()
        .ports(Ports::new().port(port))
        .reasoner(reasoner(model))
        .max_turn_wall(Duration::MAX)
        .build()
        .await
        .unwrap();
    let inbox = svit.inbox();
    inbox
        .send_keyed("one", Message::user("Count."))
        .await
        .unwrap();
    drop(inbox);
    svit.start().unwrap();
    svit.block().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_child_is_made_once_and_works_once_however_the_program_ends() {
    let (mut interrupted, mut ended) = (0, 0);
    for fault in [Fault::HangLost, Fault::HangLanded] {
        for write in 1..100 {
            if interrupted_at(write, fault).await {
                ended += 1;
                break;
            }
            interrupted += 1;
        }
    }
    assert!(interrupted > 30, "{interrupted}");
    assert_eq!(ended, 2);
}
