//! A real server and a real client: nginx in H2, curl in H1.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{Testbed, TestbedError};
use bentpipe_linux::netns::process::Process;
use bentpipe_linux::netns::{Namespace, NetnsError};

/// The port on which nginx listens, in its own namespace.
const PORT: u16 = 80;
/// How long nginx may take to listen.
const READY_WITHIN: Duration = Duration::from_secs(40);

/// nginx in H2, serving the files of one directory over HTTP. Dropping it stops it.
#[derive(Debug)]
pub struct WebServer {
    _nginx: Process,
}

impl WebServer {
    /// Starts nginx for the files in `directory` and waits until it answers.
    ///
    /// # Errors
    /// [`TestbedError`] if nginx is missing or does not start.
    pub fn start(testbed: &Testbed, directory: &Path) -> Result<WebServer, TestbedError> {
        let own = testbed.files().join("nginx");
        fs::create_dir_all(&own)?;
        let path = own.join("nginx.conf");
        fs::write(&path, configuration(&own, directory))?;
        let mut command = testbed.h2.command("nginx");
        command.arg("-p").arg(&own).arg("-e").arg("stderr").arg("-c").arg(&path);
        let mut nginx = Process::start("nginx in H2", &mut command)?;
        wait_until_listening(&testbed.h2, &mut nginx)?;
        Ok(WebServer { _nginx: nginx })
    }
}

/// The command that fetches `file` from the server at `host` into `destination`, over a fresh
/// connection, and writes the seconds from its first SYN to the last byte as its only output.
pub fn curl(client: &Namespace, host: IpAddr, file: &str, destination: &Path) -> Command {
    let url = format!("http://{}/{file}", SocketAddr::new(host, PORT));
    let mut command = client.command("curl");
    command.args(["--silent", "--show-error", "--fail", "--http1.1", "--noproxy", "*"]);
    command.args(["--max-time", "120", "--write-out", "%{time_total}\n", "--output"]);
    command.arg(destination).arg(url);
    command
}

fn configuration(own: &Path, directory: &Path) -> String {
    let (own, directory) = (own.display(), directory.display());
    // One process, in the foreground, that leaves nothing outside `own`.
    let mut text = format!(
        "daemon off; master_process off; user root;\n\
         pid {own}/nginx.pid; error_log stderr;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n\
         access_log off; sendfile on; root {directory};\n\
         types {{ text/html html; text/javascript js; image/bmp bmp; }}\n\
         default_type application/octet-stream;\n\
         server {{ listen {PORT}; listen [::]:{PORT}; }}\n"
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        text.push_str(&format!("{kind}_temp_path {own}/{kind};\n"));
    }
    text.push_str("}\n");
    text
}

fn wait_until_listening(host: &Namespace, nginx: &mut Process) -> Result<(), NetnsError> {
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        if host.run(|| TcpStream::connect(("127.0.0.1", PORT)).is_ok())? {
            return Ok(());
        }
        let ended = nginx.try_wait().is_some();
        if ended || Instant::now() > deadline {
            let output = nginx.stderr().trim().replace('\n', "; ");
            return Err(NetnsError::NotReady { what: "nginx in H2".into(), output });
        }
        thread::sleep(Duration::from_millis(20));
    }
}
