//! A page's files, and nginx that serves them.

use super::super::socket::LocalEndpoint;
use super::Protocol;
use bentpipe_linux::netns::process::Process;
use bentpipe_scenario::web::Page;
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

/// Where it listens, without TLS and with.
const PORTS: [u16; 2] = [80, 443];
/// How long it may take until it does.
const READY_WITHIN: Duration = Duration::from_secs(40);

/// A page's server. Dropping it stops it.
#[derive(Debug)]
pub(super) struct Server {
    address: Ipv4Addr,
    // Before its files go.
    _nginx: Process,
    _site: Site,
}

impl Server {
    pub(super) fn start(at: &LocalEndpoint, page: &Page) -> io::Result<Server> {
        let site = Site::new(page)?;
        let configuration = site.0.join("nginx.conf");
        fs::write(&configuration, text(&site.0))?;
        let mut command = at.namespace.command("nginx");
        command.arg("-p").arg(&site.0).args(["-e", "stderr", "-c"]).arg(&configuration);
        let failed = |error: bentpipe_linux::netns::NetnsError| io::Error::other(error.to_string());
        let mut nginx = Process::start("nginx", &mut command).map_err(failed)?;
        let deadline = Instant::now() + READY_WITHIN;
        let listens = || TcpStream::connect(("127.0.0.1", PORTS[1])).is_ok();
        while !at.namespace.run(listens).map_err(failed)? {
            if nginx.try_wait().is_some() || Instant::now() > deadline {
                return Err(io::Error::other(format!("nginx: {}", nginx.stderr().trim())));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Server { address: at.address, _nginx: nginx, _site: site })
    }

    /// Where it answers without TLS.
    pub(super) fn address(&self) -> (Ipv4Addr, u16) {
        (self.address, PORTS[0])
    }

    /// The page's.
    pub(super) fn url(&self, protocol: Protocol) -> String {
        let scheme = if protocol == Protocol::Http2 { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }
}

fn text(own: &Path) -> String {
    let own = own.display();
    let mut text = format!(
        "daemon off; master_process off; user root;\npid {own}/nginx.pid; error_log stderr;\n\
         events {{ worker_connections 1024; }}\nhttp {{\naccess_log off; root {own}/page; server_tokens off;\n\
         types {{ text/html html; image/bmp bmp; }}\nserver {{ listen {}; listen {} ssl http2;\n\
         ssl_certificate {own}/certificate.pem; ssl_certificate_key {own}/key.pem; }}\n",
        PORTS[0], PORTS[1]
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        text.push_str(&format!("{kind}_temp_path {own}/{kind};\n"));
    }
    text.push_str("}\n");
    text
}

/// A folder with the page, which goes with this value.
#[derive(Debug)]
struct Site(PathBuf);

impl Site {
    fn new(page: &Page) -> io::Result<Site> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bentpipe-page-{}-{number}", process::id());
        let site = Site(std::env::temp_dir().join(name));
        let folder = site.0.join("page");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("index.html"), document(page))?;
        for (number, size) in page.objects.iter().enumerate() {
            fs::write(folder.join(format!("{number}.bmp")), picture(size.count()))?;
        }
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
        openssl.args([
            "-nodes",
            "-subj",
            "/CN=bentpipe",
            "-keyout",
            "key.pem",
            "-out",
            "certificate.pem",
        ]);
        let made = openssl.current_dir(&site.0).output()?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
            return Err(io::Error::other(format!("openssl: {said}")));
        }
        Ok(site)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The document, as long as the page says if there is room for what it refers to. Once all has come
/// it says how long that took, in milliseconds.
fn document(page: &Page) -> String {
    let mut text = String::from(
        "<p id=t></p><script>onload=()=>{let p=performance.timing;t.textContent=p.loadEventStart-p.fetchStart}</script>",
    );
    for number in 0..page.objects.len() {
        text.push_str(&format!("<img src={number}.bmp>"));
    }
    let length = usize::try_from(page.document.count()).unwrap_or(0);
    while text.len() < length {
        text.push('\n');
    }
    text
}

/// A Windows bitmap of so many bytes, of which the last ones are no more of it.
fn picture(bytes: u64) -> Vec<u8> {
    const HEADERS: usize = 14 + 40;
    const WIDTH: usize = 64;
    let bytes = usize::try_from(bytes).unwrap_or(HEADERS).max(HEADERS + 4 * WIDTH);
    let height = (bytes - HEADERS) / (4 * WIDTH);
    let mut file = b"BM".to_vec();
    for field in [bytes, 0, HEADERS, 40, WIDTH, height] {
        file.extend(u32::try_from(field).unwrap_or(u32::MAX).to_le_bytes());
    }
    // One plane of 32 bits, not compressed.
    file.extend([1, 0, 32, 0]);
    file.resize(HEADERS, 0);
    // Nothing on the way is to find it easy.
    let mut state = 0x2545_f491_u32;
    while file.len() < bytes {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        file.push(state.to_le_bytes()[1]);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::units::Bytes;

    #[test]
    fn a_pages_files_are_as_long_as_it_says() {
        let page = Page { document: Bytes::new(356), objects: vec![Bytes::new(391_000)] };
        let document = document(&page);
        assert_eq!((document.len(), document.matches("<img src=0.bmp>").count()), (356, 1));
        let picture = picture(391_000);
        assert_eq!((picture.len(), &picture[..2]), (391_000, &b"BM"[..]));
    }
}
