//! The layers of `ARCHITECTURE.md` as data. A change here is a change of the architecture: say why in the commit.

/// What one crate may name of this workspace.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// A trailing `?` means: only behind a feature. Tests may use these and `svit-testkit`.
    pub(crate) may_use: &'static [&'static str],
}

const fn layer(name: &'static str, may_use: &'static [&'static str]) -> Layer {
    Layer { name, may_use }
}

/// Bottom to top. A crate in `examples/` is not listed: it may use `svit` alone.
pub(crate) const LAYERS: &[Layer] = &[
    layer("svit-value", &[]),
    layer("svit-tree", &["svit-value"]),
    layer("svit-query", &["svit-value", "svit-tree"]),
    layer("svit-lisp", &["svit-value", "svit-tree", "svit-query?"]),
    layer("svit-macros", &["svit-lisp"]),
    layer("svit-txn", &["svit-value", "svit-tree", "svit-lisp?"]),
    layer("svit-store-turso", &["svit-value", "svit-tree", "svit-txn"]),
    layer("svit-model", &["svit-value"]),
    layer("svit-ports", &["svit-value", "svit-tree", "svit-model"]),
    layer(
        "svit-loop",
        &[
            "svit-value",
            "svit-tree",
            "svit-txn",
            "svit-model",
            "svit-ports",
        ],
    ),
    layer(
        "svit",
        &[
            "svit-value",
            "svit-tree",
            "svit-query?",
            "svit-lisp?",
            "svit-macros?",
            "svit-txn",
            "svit-store-turso?",
            "svit-model",
            "svit-ports",
            "svit-loop",
        ],
    ),
    layer("lampa", &["svit"]),
    layer(
        TESTKIT,
        &[
            "svit-value",
            "svit-tree",
            "svit-query",
            "svit-lisp",
            "svit-macros",
            "svit-txn",
            "svit-store-turso",
            "svit-model",
            "svit-ports",
            "svit-loop",
            "svit",
        ],
    ),
    layer("xtask", &[]),
];

/// Conformance suites and generators: a dev-dependency of any crate, by path and without a version,
/// and never a normal dependency.
pub(crate) const TESTKIT: &str = "svit-testkit";

/// What a package in `examples/` may use.
pub(crate) const EXAMPLES_MAY_USE: &[&str] = &["svit"];

/// Third-party crates that may be used only behind a feature of the crate that uses them.
pub(crate) const ONLY_BY_FEATURE: &[(&str, &str)] = &[
    ("svit-model", "genai"),
    ("svit-model", "reqwest"),
    ("svit-ports", "reqwest"),
    ("svit-query", "jaq-*"),
    ("svit-query", "regex-*"),
    ("svit-query", "tantivy"),
];

/// Crates whose third-party dependencies are all named here, because people use them alone.
pub(crate) const FEW_DEPENDENCIES: &[(&str, &[&str])] = &[
    (
        "svit-value",
        &[
            "blake3",
            "ciborium",
            "ciborium-ll",
            "serde",
            "serde_json",
            "thiserror",
        ],
    ),
    ("svit-tree", &["serde", "thiserror"]),
];

/// Crates a rule is about.
pub(crate) enum Who {
    /// These and no others.
    In(&'static [&'static str]),
    /// All of `LAYERS` but these.
    AllBut(&'static [&'static str]),
}

impl Who {
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Who::In(names) => names.contains(&name),
            Who::AllBut(names) => !names.contains(&name),
        }
    }
}

/// How a third-party crate may not be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Not named in `[dependencies]` or `[build-dependencies]`.
    Naming,
    /// Not reached through normal dependencies at all.
    Reaching,
}

/// Third-party crates that some crates may not use. A trailing `*` stands for any rest.
pub(crate) struct Forbidden {
    pub(crate) what: &'static [&'static str],
    pub(crate) who: Who,
    pub(crate) by: By,
    pub(crate) why: &'static str,
}

const ASYNC: &[&str] = &[
    "tokio",
    "tokio-*",
    "async-*",
    "futures",
    "futures-*",
    "smol",
    "blocking",
    "mio",
    "polling",
    "rayon",
];
const SOCKETS: &[&str] = &[
    "reqwest",
    "hyper",
    "hyper-*",
    "h2",
    "genai",
    "ureq",
    "isahc",
    "curl",
    "attohttpc",
    "minreq",
    "tungstenite",
    "tokio-tungstenite",
    "tonic",
    "axum",
    "warp",
    "actix-*",
    "quinn",
    "socket2",
    "mio",
    "native-tls",
    "rustls",
];
const SQL: &[&str] = &[
    "libsql",
    "libsql-*",
    "rusqlite",
    "libsqlite3-sys",
    "sqlite",
    "sqlx",
    "sqlx-*",
    "diesel",
    "turso",
    "turso_*",
    "limbo*",
];

/// The third-party rules.
pub(crate) const FORBIDDEN: &[Forbidden] = &[
    Forbidden {
        what: ASYNC,
        who: Who::In(&["svit-value", "svit-tree"]),
        by: By::Reaching,
        why: "svit-value and svit-tree have no async and no threads",
    },
    Forbidden {
        what: &[
            "rand",
            "rand_*",
            "getrandom",
            "fastrand",
            "uuid",
            "time",
            "chrono",
            "jiff",
            "tempfile",
            "dirs",
        ],
        who: Who::In(&["svit-value", "svit-tree"]),
        by: By::Reaching,
        why: "svit-value and svit-tree have no clock, no randomness and no I/O",
    },
    Forbidden {
        what: &["tracing", "log", "once_cell", "lazy_static"],
        who: Who::In(&["svit-value", "svit-tree"]),
        by: By::Naming,
        why: "svit-value and svit-tree have no global state",
    },
    Forbidden {
        what: &["libsql", "libsql-*", "tokio", "tokio-*", "reqwest"],
        who: Who::In(&["svit-txn"]),
        by: By::Reaching,
        why: "svit-txn never reaches a store, a runtime or a client",
    },
    Forbidden {
        what: &["ketos", "ketos_*"],
        who: Who::AllBut(&["svit-lisp"]),
        by: By::Naming,
        why: "the engine is a detail of svit-lisp",
    },
    Forbidden {
        what: &["ketos"],
        who: Who::In(&[
            "svit-value",
            "svit-tree",
            "svit-query",
            "svit-model",
            "svit-ports",
        ]),
        by: By::Reaching,
        why: "nothing below svit-lisp knows the engine",
    },
    Forbidden {
        what: SQL,
        who: Who::AllBut(&["svit-store-turso"]),
        by: By::Naming,
        why: "nothing but svit-store-turso knows SQL",
    },
    Forbidden {
        what: SQL,
        who: Who::AllBut(&["svit-store-turso", "svit", "lampa", TESTKIT]),
        by: By::Reaching,
        why: "nothing but svit-store-turso knows SQL, and only the facade wires it",
    },
    Forbidden {
        what: SOCKETS,
        who: Who::AllBut(&["svit-model", "svit-ports", TESTKIT]),
        by: By::Naming,
        why: "nothing but svit-model and svit-ports opens a socket (and the loopback server of the tests)",
    },
    Forbidden {
        what: SOCKETS,
        who: Who::In(&[
            "svit-value",
            "svit-tree",
            "svit-query",
            "svit-lisp",
            "svit-macros",
            "svit-txn",
            "svit-store-turso",
            "xtask",
        ]),
        by: By::Reaching,
        why: "a crate below svit-model has no way to a socket",
    },
];

/// Features of third-party crates that some crates may not ask for.
pub(crate) struct ForbiddenFeatures {
    pub(crate) of: &'static str,
    pub(crate) features: &'static [&'static str],
    pub(crate) who: Who,
    pub(crate) why: &'static str,
}

/// Asking a runtime for sockets is opening one.
pub(crate) const FORBIDDEN_FEATURES: &[ForbiddenFeatures] = &[ForbiddenFeatures {
    of: "tokio",
    features: &["full", "net", "process"],
    who: Who::AllBut(&["svit-model", "svit-ports", TESTKIT]),
    why: "only svit-model and svit-ports open sockets, and nothing starts programs",
}];

/// Words that a feature's name and parts may not hold: a crate below a backend does not know its name.
pub(crate) struct ForbiddenWords {
    pub(crate) words: &'static [&'static str],
    pub(crate) who: Who,
}

pub(crate) const FORBIDDEN_FEATURE_WORDS: &[ForbiddenWords] = &[
    ForbiddenWords {
        words: &["turso", "libsql", "sqlite", "sql"],
        who: Who::AllBut(&["svit-store-turso", "svit", "lampa", TESTKIT]),
    },
    ForbiddenWords {
        words: &["ketos", "lisp"],
        who: Who::In(&[
            "svit-value",
            "svit-tree",
            "svit-query",
            "svit-model",
            "svit-ports",
            "svit-store-turso",
        ]),
    },
    ForbiddenWords {
        words: &["tokio", "reqwest"],
        who: Who::In(&[
            "svit-value",
            "svit-tree",
            "svit-query",
            "svit-lisp",
            "svit-txn",
            "svit-store-turso",
        ]),
    },
];

/// Words that library code of some crates may not hold. Tests, benches and examples are free.
pub(crate) struct ForbiddenText {
    pub(crate) rule: &'static str,
    pub(crate) words: &'static [&'static str],
    pub(crate) who: Who,
    pub(crate) why: &'static str,
    /// Files that may, each with the reason. An entry that matches nothing is reported as stale.
    pub(crate) except: &'static [(&'static str, &'static str)],
}

/// The source rules.
pub(crate) const FORBIDDEN_TEXT: &[ForbiddenText] = &[
    ForbiddenText {
        rule: "prints",
        words: &[
            "println!",
            "print!",
            "eprintln!",
            "eprint!",
            "dbg!",
            "io::stdout",
            "io::stderr",
            "io::stdin",
        ],
        who: Who::AllBut(&["lampa", "xtask"]),
        why: "only lampa, examples and xtask print or read a terminal",
        except: &[],
    },
    ForbiddenText {
        rule: "environment",
        words: &[
            "std::env",
            "env::var",
            "env::vars",
            "env::var_os",
            "env::args",
            "env::current_dir",
        ],
        who: Who::AllBut(&["lampa", "xtask"]),
        why: "only lampa, examples and xtask read the environment",
        except: &[
            (
                "crates/svit-model/src/openai.rs",
                "`OpenAI::from_env` is called by a host that wants its key from there",
            ),
            (
                "crates/svit-model/src/anthropic.rs",
                "`Anthropic::from_env` is called by a host that wants its key from there",
            ),
            (
                "crates/svit-model/src/gemini.rs",
                "`Gemini::from_env` is called by a host that wants its key from there",
            ),
            (
                "crates/svit-model/src/ollama.rs",
                "`Ollama::from_env` is called by a host that wants its key or address from there",
            ),
            (
                "crates/svit-macros/src/lib.rs",
                "cargo says where the caller's package is only by CARGO_MANIFEST_DIR",
            ),
        ],
    },
    ForbiddenText {
        rule: "subscriber",
        words: &["tracing_subscriber", "set_global_default"],
        who: Who::AllBut(&["lampa"]),
        why: "libraries install no tracing subscriber",
        except: &[],
    },
    ForbiddenText {
        rule: "pure",
        words: &[
            "async fn",
            "async move",
            ".await",
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "std::os",
        ],
        who: Who::In(&["svit-value", "svit-tree", "svit-query"]),
        why: "the layers of values, paths and questions have no async and no I/O",
        except: &[],
    },
    ForbiddenText {
        rule: "clock",
        words: &["Instant", "SystemTime"],
        who: Who::In(&["svit-value", "svit-tree", "svit-query"]),
        why: "the layers of values, paths and questions have no clock",
        except: &[],
    },
    ForbiddenText {
        rule: "global",
        words: &["thread_local!", "static mut"],
        who: Who::In(&["svit-value", "svit-tree"]),
        why: "svit-value and svit-tree have no global state",
        except: &[],
    },
    ForbiddenText {
        rule: "socket",
        words: &[
            "TcpStream",
            "TcpListener",
            "UdpSocket",
            "UnixStream",
            "UnixListener",
            "std::net",
            "tokio::net",
        ],
        who: Who::AllBut(&["svit-model", "svit-ports", TESTKIT]),
        why: "nothing but svit-model and svit-ports opens a socket",
        except: &[],
    },
    ForbiddenText {
        rule: "sql",
        words: &["libsql::", "rusqlite::"],
        who: Who::AllBut(&["svit-store-turso"]),
        why: "nothing but svit-store-turso knows SQL",
        except: &[],
    },
    ForbiddenText {
        rule: "engine",
        words: &["ketos::"],
        who: Who::AllBut(&["svit-lisp"]),
        why: "the engine is a detail of svit-lisp",
        except: &[],
    },
];

/// Crates that may name another in one file only: the seam between them.
pub(crate) struct OneFile {
    pub(crate) who: &'static str,
    pub(crate) names: &'static str,
    pub(crate) why: &'static str,
}

pub(crate) const ONE_FILE: &[OneFile] = &[OneFile {
    who: "svit-txn",
    names: "svit_lisp",
    why: "transitions know the guest language in one file, behind a feature",
}];

/// Crates with no interior-mutable statics.
pub(crate) const NO_STATIC_CELLS: &[&str] = &["svit-value", "svit-tree"];
