//! As much of HTTP/1.0 (RFC 1945) as a scraper of metrics needs, which is one request a connection.

use super::clients::Answers;

/// Prometheus' text exposition format, version 0.0.4.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers requests for metrics with the text that it makes.
pub(super) struct Http<F>(pub(super) F);

impl<F: FnMut() -> Option<String>> Answers for Http<F> {
    /// Whether the request's header is all there.
    fn is_complete(&self, request: &[u8]) -> bool {
        request.ends_with(b"\r\n\r\n") || request.ends_with(b"\n\n")
    }

    fn answer(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        Some(respond(request, &mut self.0))
    }
}

/// The whole response; `metrics` is asked only if it is wanted.
fn respond(request: &[u8], metrics: impl FnOnce() -> Option<String>) -> Vec<u8> {
    let line = request.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    let (method, target, version) = (words.next(), words.next(), words.next());
    let target = target.map(|target| target.split('?').next().unwrap_or(target));
    match (method, target, version) {
        (Some("GET"), Some("/metrics"), Some(_)) => match metrics() {
            Some(text) => response("200 OK", METRICS, &text),
            None => response("503 Service Unavailable", PLAIN, "the gateway does not answer\n"),
        },
        (Some("GET"), Some(_), Some(_)) => {
            response("404 Not Found", PLAIN, "what there is, is at /metrics\n")
        }
        (Some(_), Some(_), Some(_)) => response("501 Not Implemented", PLAIN, "GET only\n"),
        _ => response("400 Bad Request", PLAIN, "not a request of HTTP/1.0 or 1.1\n"),
    }
}

fn response(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    let len = body.len();
    format!(
        "HTTP/1.0 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}
