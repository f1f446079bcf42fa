//! The port `llm` against the contract of ports.

use svit_model::{Reasoner, Scripted, ScriptedReply};
use svit_ports::llm::LlmPort;
use svit_testkit::conformance;
use svit_value::value;

#[test]
fn it_keeps_the_contract_of_ports() {
    let model = Scripted::from_fn(|request| {
        let asked = request.messages.last().and_then(|message| message.text());
        ScriptedReply::text(format!("{} is good.", asked.unwrap_or_default()))
    });
    let port = LlmPort::new(Reasoner::new("scripted", model));
    let good = [
        value!({"prompt": "Tea"}),
        value!({"prompt": "Tea", "system": "Be brief.", "max_output_tokens": 9}),
    ];
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(conformance::port(port, good))
        .unwrap();
}
