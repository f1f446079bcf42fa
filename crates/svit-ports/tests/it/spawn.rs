//! The port `spawn` against the contract of ports, which knows no loop.

use svit_model::{Reasoner, Scripted};
use svit_ports::spawn::SpawnPort;
use svit_testkit::conformance;

#[test]
fn it_keeps_the_contract_of_ports() {
    let port = SpawnPort::new(Reasoner::new("scripted", Scripted::new([])));
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(conformance::port(port, []))
        .unwrap();
}
