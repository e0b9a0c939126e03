//! A client that asks as Netscape did: the document first, then what it refers to, over some
//! connections at a time. HTTP/1.0 has a new connection for each object, which the server closes
//! (RFC 1945, 1.3); in HTTP/1.1 they stay open (RFC 9112, 9.3).

use super::super::meter::{FlowMeter, Open};
use super::super::socket::{LocalEndpoint, WindowLimit, address};
use super::Protocol;
use bentpipe_scenario::web::Page;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The longest header of a reply.
const MAX_HEADER: usize = 1 << 14;

pub(super) struct Netscape<'a> {
    pub(super) meter: &'a Arc<FlowMeter>,
    pub(super) transfer: usize,
    pub(super) client: &'a LocalEndpoint,
    pub(super) server: (Ipv4Addr, u16),
    pub(super) protocol: Protocol,
    /// How long requests are, if they can be.
    pub(super) request: u64,
}

impl Netscape<'_> {
    /// Loads the page.
    pub(super) fn load(&self, connections: u32, page: &Page) -> io::Result<()> {
        let mut open: Vec<Option<Open>> = (0..connections.max(1)).map(|_| None).collect();
        let document = self.fetch(&mut open[0], "/")?;
        let objects = images(&String::from_utf8_lossy(&document));
        if objects.len() != page.objects.len() {
            return Err(io::Error::other(format!("{} objects", objects.len())));
        }
        let waiting = Mutex::new(VecDeque::from(objects));
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let work = |connection: &mut Option<Open>| {
            while let Some(object) = next() {
                self.fetch(connection, &format!("/{object}"))?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let work = &work;
            let loading: Vec<_> =
                open.iter_mut().map(|one| scope.spawn(move || work(one))).collect();
            let joined = loading.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect()
        })
    }

    /// Asks for one object, on this connection if it stands.
    fn fetch(&self, connection: &mut Option<Open>, path: &str) -> io::Result<Vec<u8>> {
        let open = match connection.take() {
            Some(open) => open,
            None => self.connect()?,
        };
        open.socket().write_all(self.asks(path).as_bytes())?;
        let body = self.read(&open)?;
        if self.protocol != Protocol::Http10 {
            *connection = Some(open);
        }
        Ok(body)
    }

    fn connect(&self) -> io::Result<Open> {
        let open = self.meter.open(self.client.socket()?, false)?;
        open.socket().set_tcp_nodelay(true)?;
        open.socket().connect(&address(self.server.0, self.server.1))?;
        self.meter.connected();
        Ok(open)
    }

    fn asks(&self, path: &str) -> String {
        let version = if self.protocol == Protocol::Http10 { "1.0" } else { "1.1" };
        let host = self.server.0;
        let begin = format!(
            "GET {path} HTTP/{version}\r\nHost: {host}\r\nAccept: image/gif, image/x-xbitmap, image/jpeg, */*\r\n\
             User-Agent: Mozilla/4.0 [en] (Win95; I; "
        );
        let end = ")\r\n\r\n";
        let length = usize::try_from(self.request).unwrap_or(0);
        let missing = length.saturating_sub(begin.len() + end.len());
        begin + &"x".repeat(missing) + end
    }

    /// The body of a reply, which says how long it is.
    fn read(&self, open: &Open) -> io::Result<Vec<u8>> {
        let (window, mut socket): (WindowLimit, _) = (self.client.window(), open.socket());
        let mut got = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        let mut whole: Option<(usize, usize)> = None;
        loop {
            if let Some((begin, end)) = whole
                && got.len() >= end
            {
                return Ok(got.split_off(begin));
            }
            // No more than belongs to this reply: the next one is asked for later.
            let count = socket.read(&mut buffer)?;
            window.hold(socket)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.meter.first_byte(self.transfer);
            got.extend_from_slice(&buffer[..count]);
            if whole.is_none() {
                whole = header(&got)?;
            }
        }
    }
}

/// Where the body begins and where it ends, once the header is whole.
fn header(got: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(at) = got.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if got.len() > MAX_HEADER {
            Err(io::ErrorKind::InvalidData.into())
        } else {
            Ok(None)
        };
    };
    let text = String::from_utf8_lossy(&got[..at]).to_ascii_lowercase();
    let status = text.split_whitespace().nth(1);
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|length| length.trim().parse::<usize>().ok());
    match (status, length) {
        (Some("200"), Some(length)) => Ok(Some((at + 4, at + 4 + length))),
        _ => Err(io::Error::other(format!("a reply without its length: {text}"))),
    }
}

/// What a document refers to.
fn images(document: &str) -> Vec<String> {
    let tags = document.split("<img src=").skip(1);
    tags.filter_map(|tag| tag.split('>').next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_says_how_long_it_is() {
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(header(reply).unwrap(), Some((38, 43)));
        assert_eq!(header(&reply[..30]).unwrap(), None);
        assert!(header(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n").is_err());
        assert_eq!(images("<p><img src=0.bmp><img src=1.bmp>\n"), ["0.bmp", "1.bmp"]);
    }
}
