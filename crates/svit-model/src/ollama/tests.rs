//! Settings.

use super::*;

#[test]
fn the_environment_gives_the_url_and_nothing_else_is_needed() {
    let from = |url: Option<&str>| Ollama::from_variables(|_| url.map(str::to_owned));
    let at = |url| from(url).unwrap().remote.shown().unwrap().to_owned();
    assert_eq!(at(None), "http://localhost:11434/");
    assert_eq!(at(Some("http://h:1/")), "http://h:1/");
    for wrong in ["h:1", "http://h:1/v1", "http://h:1/api"] {
        assert_eq!(from(Some(wrong)).unwrap_err().code(), "invalid", "{wrong}");
    }
}
