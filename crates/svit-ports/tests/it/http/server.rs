//! A server on loopback that says exactly the bytes that a test wants, and keeps what it heard.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What it does with a request.
pub(super) enum Reply {
    /// Says this and closes.
    Bytes(Vec<u8>),
    /// Says the first, then the second again and again, with a pause before each.
    Drip(Vec<u8>, Vec<u8>, Duration),
    /// Says nothing until the other side is gone.
    Silence,
}

/// A whole answer around a body.
pub(super) fn answer(status: &str, headers: &[&str], body: &[u8]) -> Reply {
    let mut bytes = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    headers
        .iter()
        .for_each(|header| bytes += &format!("{header}\r\n"));
    let mut bytes = (bytes + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    Reply::Bytes(bytes)
}

pub(super) struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
    ends: Arc<AtomicBool>,
}

impl Server {
    pub(super) fn new(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::at(Ipv4Addr::LOCALHOST.into(), 0, reply)
    }

    pub(super) fn at(
        address: IpAddr,
        port: u16,
        reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, port)).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            heard: Arc::default(),
            ends: Arc::default(),
        };
        let (heard, ends, reply) = (server.heard.clone(), server.ends.clone(), Arc::new(reply));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(SeqCst) {
                    return;
                }
                let (heard, ends, reply) = (heard.clone(), ends.clone(), reply.clone());
                // A client that goes away early is what some tests are about.
                thread::spawn(move || {
                    stream.and_then(|stream| serve(stream, &heard, &ends, &*reply))
                });
            }
        });
        server
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests that came, with their bodies.
    pub(super) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

fn serve(
    mut stream: TcpStream,
    heard: &Mutex<Vec<String>>,
    ends: &AtomicBool,
    reply: &(impl Fn(&str) -> Reply + ?Sized),
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let request = read_request(&mut stream)?;
    heard.lock().unwrap().push(request.clone());
    match reply(&request) {
        Reply::Bytes(bytes) => stream.write_all(&bytes),
        Reply::Drip(first, again, pause) => {
            stream.write_all(&first)?;
            while !ends.load(SeqCst) {
                thread::sleep(pause);
                stream.write_all(&again)?;
            }
            Ok(())
        }
        Reply::Silence => stream.read(&mut [0]).map(drop),
    }
}

fn read_request(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut request = Vec::new();
    let mut piece = [0; 4_096];
    loop {
        let n = stream.read(&mut piece)?;
        request.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let mut lines = head.lines();
            let length = lines.find_map(|line| line.strip_prefix("content-length: "));
            body.len() >= length.map_or(0, |length| length.parse().unwrap_or(0))
        });
        if whole {
            return Ok(text);
        }
        let is_tls = request.first() == Some(&0x16);
        if n == 0 || is_tls {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}
