//! What the table says is what is written and needed.

use svit_value::{Digest, Value, value};

use super::{COMMAND, Field, LOG, OUTCOME, REQUEST, RESPONSE, Tagged};
use crate::control::{Command, Request, Response, ResponseOutcome};

fn request() -> Request {
    Request {
        client_id: "a".into(),
        request_id: "b".into(),
        process_id: "svit://local/demo".parse().unwrap(),
        expected_version: 1,
        command: Command::Activate {
            script: "/lib/x".parse().unwrap(),
            input: Value::Null,
        },
    }
}

fn outcomes() -> [ResponseOutcome; 3] {
    let root = Digest::of(b"root");
    [
        ResponseOutcome::Committed {
            version: 1,
            root,
            output: Value::Null,
            logs: vec![value!({"level": "info", "message": "", "fields": null})],
            changed: vec!["/memory/x".parse().unwrap()],
            ticks: 3,
        },
        ResponseOutcome::Conflict {
            expected: 1,
            actual: 2,
            root,
        },
        ResponseOutcome::Rejected {
            version: 1,
            root,
            code: "runtime".into(),
            message: "x".into(),
        },
    ]
}

/// Whether an object has exactly the fields of the table, and `tag`.
fn has_exactly(object: &Value, fields: &[Field], tag: Option<&str>) {
    let found: Vec<&str> = object.as_map().unwrap().keys().map(|key| &**key).collect();
    let mut wanted: Vec<&str> = fields.iter().map(|field| field.name).chain(tag).collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

fn has_its_case(object: &Value, tagged: &Tagged) {
    let (name, frame) = tagged.case("here", object).unwrap();
    has_exactly(object, frame.fields, Some(tagged.tag));
    assert_eq!(object.get(tagged.tag).unwrap().as_str(), Some(name));
}

#[test]
fn what_is_written_has_the_fields_of_the_table_and_no_others() {
    let written = Value::from_json(&request().to_json().unwrap()).unwrap();
    has_exactly(&written, REQUEST, None);
    has_its_case(written.get("command").unwrap(), &COMMAND);
    for outcome in outcomes() {
        let response = Response {
            client_id: "a".into(),
            request_id: "b".into(),
            process_id: request().process_id,
            replayed: false,
            outcome,
        };
        let json = response.to_json().unwrap();
        assert_eq!(Response::from_json(&json), Ok(response));
        let written = Value::from_json(&json).unwrap();
        has_exactly(&written, RESPONSE, None);
        let outcome = written.get("outcome").unwrap();
        has_its_case(outcome, &OUTCOME);
        for log in outcome
            .get("logs")
            .and_then(Value::as_list)
            .into_iter()
            .flat_map(|l| l.iter())
        {
            has_exactly(log, LOG, None);
        }
    }
}

#[test]
fn each_field_of_a_frame_is_needed() {
    let whole = Value::from_json(&request().to_json().unwrap()).unwrap();
    for field in REQUEST {
        let mut map = whole.as_map().unwrap().clone();
        map.remove(field.name).unwrap();
        let refused = Request::from_json(&Value::from(map).to_json().unwrap()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("field `{}`: missing", field.name)
        );
    }
}
