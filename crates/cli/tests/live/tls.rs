//! Encryption above TCP is none of the gateway's business: it splits TLS. (That TLS gains as much
//! by it as cleartext is `measured`.)

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{BOTH, Testbed, TestbedConfig};

use crate::observation::ask;
use crate::stage::{Family, build, fast_link, gateways_wanted, start_gateways};
use crate::toolbox::{PATIENCE, assert_same, content, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[("tls_is_split_as_cleartext_is", split)];

/// Three seconds of a GEO link: long enough that what TLS itself says first counts for little.
const SIZE: usize = 3_000_000;

/// H-D-20: what comes over TLS is whole, and split like cleartext.
fn split() {
    let plan = TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() };
    let mut testbed = build(plan);
    start_gateways(&mut testbed);
    downloads(&testbed);
    for place in BOTH.into_iter().filter(|_| gateways_wanted()) {
        let status = ask(testbed.gateway_at(place).1, "status");
        assert_eq!(status["totals"]["split"], 2, "{place:?}: {status}");
    }
}

/// How long a download takes in cleartext and over TLS, from the first SYN to the last byte.
pub(crate) fn downloads(testbed: &Testbed) -> [Duration; 2] {
    let directory = testbed.files().join("tls");
    fs::create_dir_all(&directory).expect("directory");
    let sent = content(51, SIZE);
    fs::write(directory.join("file"), &sent).expect("file");
    let _nginx = serve(testbed, &directory);
    ["http", "https"].map(|scheme| {
        let fetched = directory.join(scheme);
        let mut curl = testbed.h1.command("curl");
        curl.args(["--silent", "--show-error", "--fail", "--http1.1", "--noproxy", "*"]);
        let patience = PATIENCE.as_secs().to_string();
        curl.args([
            "--max-time",
            &patience,
            "--insecure",
            "--write-out",
            "%{time_total}",
            "--output",
        ]);
        curl.arg(&fetched).arg(format!("{scheme}://{}/file", Family::V4.h2()));
        let output = curl.output().expect("curl");
        assert!(output.status.success(), "{scheme}: {}", String::from_utf8_lossy(&output.stderr));
        assert_same(scheme, &sent, &fs::read(&fetched).expect("what was fetched"));
        let seconds = String::from_utf8(output.stdout).expect("text").parse().expect("seconds");
        Duration::from_secs_f64(seconds)
    })
}

/// nginx in H2 with the files of `directory`, on port 80 and with a certificate of its own on
/// port 443.
fn serve(testbed: &Testbed, directory: &Path) -> Process {
    let own = directory.display();
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    openssl.args(["-nodes", "-days", "2", "-subj", "/CN=h2", "-keyout"]);
    openssl.arg(directory.join("key")).arg("-out").arg(directory.join("certificate"));
    let made = openssl.output().expect("openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut configuration = format!(
        "daemon off; master_process off; user root; pid {own}/pid; error_log stderr;\n\
         events {{ }}\n\
         http {{ access_log off; root {own}; ssl_certificate {own}/certificate;\n\
         ssl_certificate_key {own}/key; ssl_protocols TLSv1.3;\n\
         server {{ listen 80; listen 443 ssl; }}\n"
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        configuration.push_str(&format!("{kind}_temp_path {own}/{kind};\n"));
    }
    configuration.push_str("}\n");
    let path = directory.join("nginx.conf");
    fs::write(&path, configuration).expect("configuration");
    let mut command = testbed.h2.command("nginx");
    command.arg("-e").arg("stderr").arg("-p").arg(directory).arg("-c").arg(path);
    let mut nginx = Process::start("nginx in H2", &mut command).expect("nginx");
    let server = SocketAddr::from(([127, 0, 0, 1], 443));
    wait_until("nginx listens", || {
        let listens = testbed.h2.run(|| TcpStream::connect(server).is_ok()).expect("H2");
        if listens { Ok(()) } else { Err(format!("{:?} {}", nginx.try_wait(), nginx.stderr())) }
    });
    nginx
}
