//! TLS: a server is believed only under its own name and a root that is trusted.
//!
//! The certificates are of a made-up root for `good.example`, good for a hundred years, with a key that
//! protects nothing.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use svit_ports::http::{HttpAllowlist, HttpResolver, ReqwestHttpTransport};
use svit_ports::{BoxFuture, Ports};

use super::{call, code, get};

const ROOT: &[u8] = include_bytes!("certificates/root.pem");
const LEAF: &[u8] = include_bytes!("certificates/leaf.pem");
const LEAF_KEY: &[u8] = include_bytes!("certificates/leaf-key.pem");

/// Every name is this machine.
struct Here;

impl HttpResolver for Here {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![Ipv4Addr::LOCALHOST.into()]) })
    }
}

/// Serves until the test's program ends, and counts the requests that it could read.
fn serve(requests: Arc<AtomicUsize>) -> u16 {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(LEAF).unwrap()],
            PrivateKeyDer::from_pem_slice(LEAF_KEY).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that does not believe it goes away.
            drop(answer(stream, config.clone(), &requests));
        }
    });
    port
}

fn answer(stream: TcpStream, config: Arc<ServerConfig>, requests: &AtomicUsize) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let mut request = Vec::new();
    let mut piece = [0; 1_024];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            n => request.extend_from_slice(&piece[..n]),
        }
    }
    requests.fetch_add(1, SeqCst);
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone")?;
    stream.conn.send_close_notify();
    stream.flush()
}

// THREAT[TM-HTTP-2]
#[test]
fn a_server_is_believed_under_its_own_name_and_a_trusted_root_alone() {
    let requests = Arc::new(AtomicUsize::new(0));
    let port = serve(requests.clone());
    let outcome = |host: &str, transport: ReqwestHttpTransport| {
        let url = format!("https://{host}:{port}/");
        let allowlist = HttpAllowlist::new()
            .allow(&url)
            .network("127.0.0.1")
            .header_secret("x-key", "not-a-real-key");
        let ports = Ports::new().http_with(allowlist, transport.resolver(Here));
        call(&ports, get(url))
    };
    let ours = || ReqwestHttpTransport::new().trusting_only(ROOT).unwrap();
    let output = outcome("good.example", ours()).unwrap();
    assert_eq!(output.get("body"), Some(&"done".into()));
    assert_eq!(code(outcome("other.example", ours())), "not_connected");
    assert_eq!(code(outcome("127.0.0.1", ours())), "not_connected");
    assert_eq!(
        code(outcome("good.example", ReqwestHttpTransport::new())),
        "not_connected"
    );
    assert_eq!(requests.load(SeqCst), 1);
}
