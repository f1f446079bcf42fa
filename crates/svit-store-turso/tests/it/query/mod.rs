//! `TursoQuery`: what it shows, what it refuses, and that it changes nothing.

mod refusals;
mod rows;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use svit_store_turso::{QueryError, TursoQuery};
use svit_tree::mount::{Grant, MountError, MountPath, MountProvider};
use svit_txn::{DurableProcess, MemoryStore, Process};
use svit_value::{Kind, Value, value};

use crate::common::{Place, place};

/// A database, made by nothing of ours.
struct Made {
    place: Place,
    database: libsql::Database,
}

impl Made {
    async fn by(sql: &str) -> Self {
        let place = place();
        let database = libsql::Builder::new_local(&place.path).build();
        let made = Self {
            database: database.await.unwrap(),
            place,
        };
        made.run(sql).await;
        made
    }

    async fn run(&self, sql: &str) {
        let connection = self.database.connect().unwrap();
        connection.execute_batch(sql).await.unwrap();
    }

    fn query(&self, sql: &str) -> TursoQuery {
        TursoQuery::open(&self.place.path, sql).unwrap()
    }

    fn refuses(&self, sql: &str) -> QueryError {
        TursoQuery::open(&self.place.path, sql).unwrap_err()
    }
}

const GOODS: &str = "CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT UNIQUE, price REAL, photo BLOB); \
     INSERT INTO goods VALUES (7, 'tea', 2.5, x'00ff'), (8, 'oil', 9, NULL), (9, 'a/b', -0.0, '');";

fn at(path: &str) -> MountPath {
    MountPath::parse(path).unwrap()
}

fn read(query: &TursoQuery, path: &str) -> Option<Value> {
    query.read(&at(path), 1 << 20).unwrap()
}

/// How a read fails: code and words.
fn fails(query: &TursoQuery, path: &str) -> String {
    let error = query.read(&at(path), 1 << 20).unwrap_err();
    format!("{}: {error}", error.code())
}

fn names(query: &TursoQuery, path: &str) -> Vec<String> {
    let names = query.list(&at(path), 1_000).unwrap();
    names.iter().map(ToString::to_string).collect()
}

/// Every file of a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}
