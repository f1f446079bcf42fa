//! `cargo xtask schema`: the JSON Schema of the control protocol, from the code that reads its frames.
//!
//! An example of `svit-txn` prints it. So `xtask` depends on nothing of the workspace and builds in a moment,
//! and what the example needs has been built by whoever ran the tests.

use std::path::Path;

use crate::command;
use crate::workspace::Workspace;

/// Where the schema is kept.
const FILE: &str = "schema/control/v1/schema.json";

/// What to do with the schema that the code has.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Write,
    Compare,
}

pub(crate) fn command(then: Then) -> Result<(), String> {
    let root = Workspace::load()?.root;
    let mut cargo = command::cargo(&root);
    cargo.args([
        "run",
        "--quiet",
        "--package",
        "svit-txn",
        "--example",
        "control_schema",
    ]);
    let schema = readable(&command::output(&mut cargo)?)?;
    let path = root.join(FILE);
    match then {
        Then::Write => std::fs::write(&path, schema).map_err(|error| format!("{FILE}: {error}"))?,
        Then::Compare => compare(&path, &schema)?,
    }
    println!("schema: {FILE} is what the code has");
    Ok(())
}

/// The schema with line breaks, keys in order.
fn readable(schema: &str) -> Result<String, String> {
    let mut schema: serde_json::Value = serde_json::from_str(schema)
        .map_err(|error| format!("the example printed no JSON: {error}"))?;
    // With the feature `preserve_order`, which a build of the whole workspace turns on, they are not.
    schema.sort_all_objects();
    let mut text = serde_json::to_string_pretty(&schema).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(text)
}

fn compare(path: &Path, schema: &str) -> Result<(), String> {
    let kept = std::fs::read_to_string(path).map_err(|error| format!("{FILE}: {error}"))?;
    let mut lines = kept.lines().zip(schema.lines()).enumerate();
    if kept == schema {
        return Ok(());
    }
    let line = lines.find(|(_, (kept, made))| kept != made);
    let line = line.map_or_else(|| kept.lines().count(), |(index, _)| index + 1);
    Err(format!(
        "{FILE}:{line}: not what the code has; run `cargo xtask schema` and read the difference"
    ))
}

#[cfg(test)]
mod tests {
    use super::{compare, readable};

    #[test]
    fn another_schema_is_seen_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("schema.json");
        let schema = readable(r#"{"b": 1, "a": 2}"#).expect("JSON");
        assert_eq!(schema, "{\n  \"a\": 2,\n  \"b\": 1\n}\n");
        std::fs::write(&path, &schema).expect("written");
        assert_eq!(compare(&path, &schema), Ok(()));
        let other = schema.replace('1', "3");
        let refused = compare(&path, &other).expect_err("another one");
        assert!(
            refused.starts_with("schema/control/v1/schema.json:3: "),
            "{refused}"
        );
        let missing = compare(&folder.path().join("none"), &schema);
        assert!(missing.is_err());
    }
}
