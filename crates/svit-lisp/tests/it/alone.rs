//! A test in a process of its own: what it measures would otherwise be that of the tests beside it, too.

use std::process::Command;

const ALONE: &str = "SVIT_TEST_ALONE";

/// Runs `work` in another process, as the only test there; `test` is the full name of the one that asks.
pub(crate) fn alone(test: &str, work: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return work();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let ran = said.contains("1 passed") || !output.status.success();
    assert!(ran, "there is no test {test:?}");
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
}

/// Resident memory of this process, in bytes.
pub(crate) fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
