//! Encryption above TCP is none of the gateway's business: it splits TLS and is as useful to it.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_net::netns::process::Process;
use bentpipe_net::testbed::{BOTH, Testbed, TestbedConfig};

use crate::observation::ask;
use crate::stage::{Family, build, gateways_wanted, geo_link, start_gateways};
use crate::toolbox::{assert_same, content};

pub(crate) const CASES: &[(&str, fn())] = &[("tls_gains_as_much_as_cleartext", gains_as_much)];

/// Three seconds of the link: long enough that what TLS itself says first counts for little.
const SIZE: usize = 3_000_000;
const READY_WITHIN: Duration = Duration::from_secs(40);
/// What else the machine does only adds to a download's time: the shortest of so many counts, unless the first are
/// good enough.
const ROUNDS: usize = 6;
/// As much as both ways of a transfer may differ in what they gain.
const TOLERANCE: f64 = 0.10;

/// H-D-20: a TLS connection is split, and as much faster for it as one in cleartext. Both paths are used at
/// the same time, so that what else the machine does slows both.
fn gains_as_much() {
    if !gateways_wanted() {
        return;
    }
    let plan = TestbedConfig { link: Some(geo_link()), ..TestbedConfig::default() };
    let plain = build(plan);
    let mut split = build(plan);
    start_gateways(&mut split);
    let mut best = [[Duration::MAX; 2]; 2];
    let mut said = String::new();
    for round in 1..=ROUNDS {
        let times = thread::scope(|scope| {
            [&plain, &split]
                .map(|testbed| scope.spawn(|| downloads(testbed)))
                .map(thread::ScopedJoinHandle::join)
        });
        for (best, times) in best.iter_mut().zip(times) {
            let times = times.expect("downloads");
            *best = [best[0].min(times[0]), best[1].min(times[1])];
        }
        let [plain, with] = best;
        for place in BOTH {
            let status = ask(split.gateway_at(place).1, "status");
            assert_eq!(status["totals"]["split"], 2 * round, "{place:?}: {status}");
        }
        let gain = |way: usize| plain[way].as_secs_f64() / with[way].as_secs_f64();
        let [clear, tls] = [gain(0), gain(1)];
        said = format!("cleartext {clear:.2} times ({plain:?} to {with:?}), TLS {tls:.2} times");
        if clear > 1.3 && (tls / clear - 1.0).abs() < TOLERANCE {
            return println!("{said}");
        }
    }
    panic!("TLS does not gain as much: {said}");
}

/// How long a download takes in cleartext and over TLS, from the first SYN to the last byte.
fn downloads(testbed: &Testbed) -> [Duration; 2] {
    let directory = testbed.files().join("tls");
    fs::create_dir_all(&directory).expect("directory");
    let sent = content(51, SIZE);
    fs::write(directory.join("file"), &sent).expect("file");
    let _nginx = serve(testbed, &directory);
    ["http", "https"].map(|scheme| {
        let fetched = directory.join(scheme);
        let mut curl = testbed.h1.command("curl");
        curl.args(["--silent", "--show-error", "--fail", "--http1.1", "--noproxy", "*"]);
        curl.args(["--insecure", "--max-time", "60", "--write-out", "%{time_total}", "--output"]);
        curl.arg(&fetched).arg(format!("{scheme}://{}/file", Family::V4.h2()));
        let output = curl.output().expect("curl");
        assert!(output.status.success(), "{scheme}: {}", String::from_utf8_lossy(&output.stderr));
        assert_same(scheme, &sent, &fs::read(&fetched).expect("what was fetched"));
        let seconds = String::from_utf8(output.stdout).expect("text").parse().expect("seconds");
        Duration::from_secs_f64(seconds)
    })
}

/// nginx in H2 with the files of `directory`, on port 80 and with a certificate of its own on port 443.
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
    let deadline = Instant::now() + READY_WITHIN;
    let server = SocketAddr::from(([127, 0, 0, 1], 443));
    while testbed.h2.run(|| TcpStream::connect(server).is_err()).expect("H2") {
        let ended = nginx.try_wait();
        let waits = ended.is_none() && Instant::now() < deadline;
        assert!(waits, "nginx does not listen (ended: {ended:?}): {}", nginx.stderr());
        thread::sleep(Duration::from_millis(20));
    }
    nginx
}
