//! What the scripted model says: the three tool calls that a real one is expected to make.

use svit::{Scripted, ScriptedReply, value};

const ANNOUNCE: &str = r#"
(define (main input)
  (let ((color (read "/memory/facts/release_color"))
        (seen (read "/memory/facts/announced"))
        (count (+ 1 (if (value-null? seen) 0 seen)))
        (text (string-format "Release {} is {}" (value-get input "/version") color)))
    (do (send! (value-map "text" text))
        (write "/memory/facts/announced" count)
        (log-info! "announced" (value-map "count" count))
        text)))
"#;

/// A model that needs no key.
pub(crate) fn model() -> Scripted {
    Scripted::new([
        ScriptedReply::call(
            "write",
            value!({"path": "/memory/facts/release_color", "value": "teal"}),
        ),
        ScriptedReply::call(
            "write",
            value!({
                "path": "/lib/announce",
                "value": {
                    "source": ANNOUNCE,
                    "documentation": "Announces a release: input {\"version\": text}.",
                },
            }),
        ),
        ScriptedReply::call(
            "exec",
            value!({"path": "/lib/announce", "input": {"version": "1.0"}}),
        ),
        ScriptedReply::text(
            "I remembered the release color, saved /lib/announce and ran it for version 1.0.",
        ),
    ])
}
