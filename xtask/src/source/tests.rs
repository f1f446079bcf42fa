//! The lexer against text that tries to hide code in comments and strings, or the other way round.

use super::{code_view, has_word, library_view, lines_with};

#[test]
fn comments_strings_and_characters_are_not_code() {
    for hidden in [
        "// println!()",
        "/// println!()",
        "//! println!()",
        "/* println!() */",
        "/* a /* b */ println!() */",
        "let a = \"println!()\";",
        "let a = \"quote \\\" println!()\";",
        "let a = r\"\\\"; let b = r#\"x\" println!()\"#;",
        "let a = br##\"\"# println!()\"##;",
        "let q = '\"'; let a = \"println!()\";",
        "let q = '\\''; let a = \"println!()\";",
    ] {
        let view = code_view(hidden);
        assert!(!has_word(&view, "println!"), "{hidden} gave {view}");
    }
}

#[test]
fn code_beside_them_stays() {
    for shown in [
        "println!(\"a\") // b",
        "/* a */ println!()",
        "/* a /* b */ */ println!()",
        "let s: &'static str = \"\\\\\"; println!()",
        "fn f<'a>(x: &'a str) { println!() } // '",
        "let a = r#\"\"#; println!()",
        "let bar = \"x\"; println!()",
        "let c = '\"'; println!()",
    ] {
        assert!(has_word(&code_view(shown), "println!"), "{shown}");
    }
}

#[test]
fn lines_stay_where_they_were() {
    let text = "/* a\nb */\nlet x = \"c\nd\";\nprintln!();\n";
    assert_eq!(lines_with(&code_view(text), "println!"), [5]);
}

#[test]
fn a_word_is_not_found_inside_another() {
    assert!(!has_word("eprint!()", "print!"));
    assert!(!has_word("my_tokio_like", "tokio"));
    assert!(has_word("use tokio::net;", "tokio::net"));
    assert!(!has_word("use tokio::network;", "tokio::net"));
    assert!(has_word("x.await?", ".await"));
}

#[test]
fn items_of_tests_are_left_out_and_what_follows_is_not() {
    let text = "#[cfg(test)]\nmod tests {\n  fn f() { println!() }\n}\nfn g() { print!() }\n";
    let view = library_view(text);
    assert!(!has_word(&view, "println!"), "{view}");
    assert_eq!(lines_with(&view, "print!"), [5]);
    let nested =
        "#[cfg(test)]\nmod tests {\n fn f() { if a { } }\n fn g() { println!() }\n}\nprint!()";
    let view = library_view(nested);
    assert!(
        !has_word(&view, "println!") && has_word(&view, "print!"),
        "{view}"
    );
    let view = library_view("#[cfg(test)]\nmod tests;\nfn g() { print!() }\n");
    assert_eq!(lines_with(&view, "print!"), [3]);
}
