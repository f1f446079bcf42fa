//! The smallest durable process: a counter that survives its program.
//!
//! `cargo run -p svit --example durable_counter` needs no key and no server. It counts to 6, closes
//! the store as a program that ends would, opens it again, and counts on.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use svit::{Process, Result, TursoProcessStore, value};

const ADDRESS: &str = "svit://local/persisted/demo";

const COUNTER: &str = r#"
(define (main input)
  (let ((count (+ (read "/memory/count") (value-get input "/by"))))
    (do (write "/memory/count" count)
        (value-map "count" count))))
"#;

#[tokio::main]
async fn main() -> Result<()> {
    let file = std::env::temp_dir().join(format!("svit-counter-{}.db", std::process::id()));
    let result = count(&file).await;
    for suffix in ["", "-wal", "-shm", "-lock"] {
        let mut name = file.clone().into_os_string();
        name.push(suffix);
        // What was never made cannot be removed.
        let _ = std::fs::remove_file(name);
    }
    result
}

async fn count(file: &std::path::Path) -> Result<()> {
    {
        let store = TursoProcessStore::open(file).await?;
        let process = Process::builder(ADDRESS)?
            .memory("count", 0)
            .library("counter", COUNTER)
            .build()?;
        let process = store.create(process).await?;
        for by in 1..=3 {
            process.exec("/lib/counter", value!({"by": by})).await?;
        }
        println!(
            "count {}, version {}",
            show(process.read("/memory/count")?),
            process.version()
        );
    }

    let store = TursoProcessStore::open(file).await?;
    let process = store.resume(ADDRESS).await?;
    let before = process.version();
    let activation = process.exec("/lib/counter", value!({"by": 3})).await?;
    println!(
        "by 3: count {}, version {before} to {}, {} ticks",
        show(activation.output.get("count").cloned()),
        activation.version,
        activation.ticks
    );
    Ok(())
}

fn show(value: Option<svit::Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| value.to_string())
}
