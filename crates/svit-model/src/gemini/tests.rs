//! Settings, and names in URLs.

use super::*;

#[test]
fn the_environment_gives_key_and_url() {
    let from = |set: &[(&str, &str)]| {
        Gemini::from_variables(|name| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    let error = from(&[]).unwrap_err();
    assert_eq!(error.to_string(), "no key: set GEMINI_API_KEY");
    let url = ("GEMINI_BASE_URL", "http://h:1");
    let gemini = from(&[("GEMINI_API_KEY", "secret-1"), url]).unwrap();
    assert_eq!(gemini.remote.shown().unwrap(), "http://h:1/v1beta/");
}

#[test]
fn a_models_name_cannot_leave_its_place_in_the_url() {
    for (model, path) in [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("gemini-x-high", "models/gemini-x-high"),
        ("tunedModels/mine", "tunedModels/mine"),
    ] {
        assert_eq!(request::model_path(model).unwrap(), path);
    }
    for model in [
        "../x", "a/../b", "a?b", "a#b", "a:b", "a b", "/a", "a%2fb", "",
    ] {
        assert!(request::model_path(model).is_err(), "{model:?}");
    }
}
