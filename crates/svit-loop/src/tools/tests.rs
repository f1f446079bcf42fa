//! Calls as a table: answered, committed, or explained; and what policies leave of them.

use std::sync::Arc;

use futures_util::FutureExt;
use svit_txn::{MemoryStore, Process};

use super::*;

fn process() -> DurableProcess {
    let long: String = "0123456789".repeat(10_000);
    let items: Vec<Value> = (0..10_000).map(Value::Int).collect();
    let wide = |n: i64| (0..n).map(|i| (format!("k{i:05}"), Value::Int(i)));
    let process = Process::builder("svit://local/tools")
        .unwrap()
        .memory("n", 1)
        .memory("text", "héllo")
        .memory("long", long)
        .memory("quotes", "\u{1}".repeat(50_000))
        .memory("list", value!(["a", "b", "c"]))
        .memory("items", List::from_values(items).unwrap())
        .memory("wide", Map::from_entries(wide(3)).unwrap())
        .memory("wider", Map::from_entries(wide(4_000)).unwrap())
        .memory("widest", Map::from_entries(wide(90_000)).unwrap())
        .library("add", value!({"source": "(define (main input) 1)"}))
        .build()
        .unwrap();
    let store = Arc::new(MemoryStore::new());
    let created = DurableProcess::create(store, process).now_or_never();
    created.unwrap().unwrap()
}

fn planned(process: &DurableProcess, policy: &ToolPolicy, name: &str, arguments: Value) -> String {
    match plan(process, policy, &ToolCall::new("id", name, arguments)) {
        Plan::Commit(operation) => format!("{operation:?}"),
        Plan::Answer(result) => {
            assert_eq!(result.call_id, "id");
            let sign = if result.is_error { "!" } else { "" };
            match result.content {
                Value::Text(text) if result.is_error => format!("{sign}{text}"),
                other => format!("{sign}{}", other.to_json().unwrap()),
            }
        }
    }
}

#[test]
fn calls_are_answered_committed_or_explained() {
    let process = process();
    let all = ToolPolicy::new();
    for (name, arguments, expected) in [
        ("read", value!({"path": "/memory/n"}), "1"),
        ("read", value!({"path": "/memory/list/1"}), "\"b\""),
        (
            "read",
            value!({"path": "/memory/x"}),
            "!nothing is at /memory/x; discover its parent",
        ),
        ("read", value!({"path": "memory"}), "!"),
        (
            "read",
            value!({"path": 7}),
            "!read: `path` must be a string, not int",
        ),
        ("read", value!({}), "!read: `path` is missing"),
        (
            "read",
            value!({"path": Value::Null}),
            "!read: `path` is missing",
        ),
        (
            "read",
            value!({"path": "/", "depth": 1}),
            "!read has no argument \"depth\"; it takes path, offset",
        ),
        (
            "read",
            value!([]),
            "!the arguments of tool \"read\" are not a JSON object",
        ),
        (
            "read",
            "{\"path\": ".into(),
            "!the arguments of tool \"read\" are not a JSON object",
        ),
        (
            "read",
            value!({"path": "/memory/n", "offset": 0}),
            "!read: `offset` is for text and lists; at /memory/n is int",
        ),
        (
            "read",
            value!({"path": "/memory/text", "offset": -1}),
            "!read: `offset` must be an integer from 0",
        ),
        (
            "read",
            value!({"path": "/memory/text", "offset": 2}),
            "{\"characters\":5,\"text\":\"llo\"}",
        ),
        (
            "read",
            value!({"path": "/memory/text", "offset": 99}),
            "{\"characters\":5,\"text\":\"\"}",
        ),
        (
            "read",
            value!({"path": "/memory/list", "offset": 2}),
            "{\"items\":[\"c\"],\"length\":3}",
        ),
        (
            "read",
            value!({"path": "/memory/list", "offset": i64::MAX}),
            "{\"items\":[],\"length\":3}",
        ),
        (
            "stat",
            value!({"path": "/memory/n"}),
            "{\"access\":\"read_write\"",
        ),
        (
            "stat",
            value!({"path": "/memory/x"}),
            "!nothing is at /memory/x",
        ),
        (
            "discover",
            value!({"path": "/memory/wide"}),
            "{\"names\":[\"k00000\",\"k00001\",\"k00002\"]}",
        ),
        (
            "discover",
            value!({"path": "/memory/wide", "limit": 1}),
            "{\"hint\":\"call discover again with `after` set to the last name\",\"more\":2,\"names\":[\"k00000\"]}",
        ),
        (
            "discover",
            value!({"path": "/memory/wide", "after": "k00001"}),
            "{\"names\":[\"k00002\"]}",
        ),
        (
            "discover",
            value!({"path": "/memory/wide", "after": "k000015"}),
            "{\"names\":[\"k00002\"]}",
        ),
        (
            "discover",
            value!({"path": "/memory/wide", "after": "z"}),
            "{\"names\":[]}",
        ),
        (
            "discover",
            value!({"path": "/memory/items", "after": "9997"}),
            "{\"names\":[\"9998\",\"9999\"]}",
        ),
        (
            "discover",
            value!({"path": "/memory/wide", "limit": 0}),
            "!discover: `limit` must be an integer from 1",
        ),
        ("discover", value!({"path": "/memory/n"}), "{\"names\":[]}"),
        (
            "discover",
            value!({"path": "/memory/x"}),
            "!nothing is at /memory/x",
        ),
        (
            "write",
            value!({"path": "/memory/n"}),
            "!write: `value` is missing",
        ),
        (
            "write",
            value!({"path": "/memory/n", "value": Value::Null}),
            "Write {",
        ),
        ("write", value!({"value": 1}), "!write: `path` is missing"),
        ("remove", value!({"path": "/memory/n"}), "Remove {"),
        ("exec", value!({"path": "/lib/add"}), "Exec {"),
        (
            "exec",
            value!({"source": "(define (main input) 1)", "input": 1}),
            "ExecSource {",
        ),
        ("exec", value!({}), "!exec: give either `path` or `source`"),
        (
            "exec",
            value!({"path": "/lib/add", "source": "1"}),
            "!exec: give either `path` or `source`",
        ),
        (
            "fly",
            value!({}),
            "!there is no tool \"fly\" here; there are discover, read, stat, write, remove, exec",
        ),
        ("", value!({}), "!there is no tool \"\" here"),
    ] {
        let found = planned(&process, &all, name, arguments.clone());
        assert!(
            found.starts_with(expected),
            "{name} {arguments}: {found} is not {expected}"
        );
    }
}

#[test]
fn what_is_too_long_is_cut_and_says_how_to_go_on() {
    let process = process();
    let read = |path: &str, offset: Option<i64>| {
        let mut arguments = Map::from_entries([("path", path)]).unwrap();
        if let Some(offset) = offset {
            arguments.insert("offset", offset).unwrap();
        }
        let call = ToolCall::new("id", "read", Value::Map(arguments));
        match plan(&process, &ToolPolicy::new(), &call) {
            Plan::Answer(result) => {
                let len = result.content.to_json().unwrap().len();
                assert!(len < 50_000, "{path}: {len} bytes");
                result.content
            }
            other => panic!("{other:?}"),
        }
    };
    for (path, part, total) in [
        ("/memory/long", "text", 100_000),
        ("/memory/quotes", "text", 50_000),
        ("/memory/items", "items", 10_000),
    ] {
        let (mut offset, mut seen, mut pages) = (None, 0, 0);
        loop {
            let page = read(path, offset);
            seen += match page.get(part).unwrap() {
                Value::Text(text) => text.len(),
                Value::List(list) => list.len(),
                other => panic!("{other:?}"),
            };
            pages += 1;
            offset = page.get("next_offset").and_then(Value::as_int);
            assert_eq!(
                offset.is_some(),
                page.get("cut") == Some(&true.into()),
                "{path}"
            );
            if offset.is_none() {
                break;
            }
            assert_eq!(offset, Some(seen as i64), "{path}");
        }
        assert_eq!(seen, total, "{path}");
        assert!((2..20).contains(&pages), "{path}: {pages} pages");
    }
    for (path, has_beginning) in [
        ("/memory/wider", true),
        ("/memory/widest", false),
        ("/memory", false),
    ] {
        let cut = read(path, None);
        assert_eq!(cut.get("cut"), Some(&true.into()), "{path}");
        assert_eq!(cut.get("kind"), Some(&"map".into()), "{path}");
        assert_eq!(
            cut.get("beginning").unwrap().as_str().is_some(),
            has_beginning,
            "{path}"
        );
        assert!(
            cut.get("hint")
                .unwrap()
                .as_str()
                .unwrap()
                .contains("discover")
        );
    }
}

#[test]
fn long_names_end_a_page_early() {
    let names: Vec<Text> = (0..200)
        .map(|n| Text::from(format!("{n:03}{}", "x".repeat(1_000))))
        .collect();
    let shown = page(names, None, 200).unwrap();
    let count = shown.get("names").unwrap().as_list().unwrap().len() as i64;
    assert!((20..30).contains(&count), "{count}");
    assert_eq!(shown.get("more"), Some(&Value::Int(200 - count)));
}

#[test]
fn errors_are_bounded() {
    assert_eq!(error("id", "short").content, "short".into());
    let long = error("id", &"é".repeat(100_000));
    assert_eq!(long.content.as_str().unwrap().chars().count(), 2_001);
}

#[test]
fn a_policy_narrows_what_is_offered_and_what_is_done() {
    let process = process();
    let chosen = ToolPolicy::new().scripts(["add"]);
    let below = || ToolPolicy::new().paths(["/memory/wide", "/lib"]).unwrap();
    let calls = [
        ("read", value!({"path": "/memory/n"})),
        ("read", value!({"path": "/memory/wide/k00001"})),
        ("discover", value!({"path": "/memory/wide"})),
        ("stat", value!({"path": "/memory/wider"})),
        ("write", value!({"path": "/memory/wide/x", "value": 1})),
        (
            "write",
            value!({"path": "/lib/add", "value": {"source": "2"}}),
        ),
        ("remove", value!({"path": "/memory/n"})),
        ("exec", value!({"path": "/lib/add"})),
        ("exec", value!({"path": "/lib/add/source"})),
        ("exec", value!({"path": "/lib/other"})),
        ("exec", value!({"source": "(define (main input) 1)"})),
    ];
    let everything = "discover read stat write remove exec";
    for (policy, tools, allowed) in [
        (ToolPolicy::new(), everything, "yyyyyyyyyyy"),
        (
            ToolPolicy::new().read_only(),
            "discover read stat",
            "yyyynnnnnnn",
        ),
        (chosen.clone(), everything, "yyyyynyynnn"),
        (chosen.clone().scripts(["other"]), everything, "yyyyynyynyn"),
        (chosen.read_only(), "discover read stat exec", "yyyynnnynnn"),
        (below(), "discover read stat write remove", "nyynyynnnnn"),
        (below().scripts(["add"]), everything, "nyynynnynnn"),
        (
            below().scripts(["add"]).read_only(),
            "discover read stat exec",
            "nyynnnnynnn",
        ),
        (
            ToolPolicy::new().scripts([""; 0]),
            everything,
            "yyyyynynnnn",
        ),
    ] {
        let offered: Vec<String> = specs(&policy).into_iter().map(|spec| spec.name).collect();
        assert_eq!(offered.join(" "), tools, "{policy:?}");
        let found: String = calls
            .iter()
            .map(|(name, arguments)| {
                let found = planned(&process, &policy, name, arguments.clone());
                if found.starts_with('!') { 'n' } else { 'y' }
            })
            .collect();
        assert_eq!(found, allowed, "{policy:?}");
    }
    assert!(ToolPolicy::new().paths(["memory"]).is_err());
}

#[test]
fn a_path_is_no_prefix_of_its_siblings() {
    let policy = ToolPolicy::new().paths(["/memory/wide"]).unwrap();
    let found = planned(
        &process(),
        &policy,
        "read",
        value!({"path": "/memory/widest"}),
    );
    assert_eq!(
        found,
        "!/memory/widest is not allowed here; allowed is what is at or below /memory/wide"
    );
}

#[test]
fn every_schema_is_one_that_providers_take() {
    for policy in [ToolPolicy::new(), ToolPolicy::new().scripts(["add"])] {
        for spec in specs(&policy) {
            spec.check().unwrap();
        }
    }
}
