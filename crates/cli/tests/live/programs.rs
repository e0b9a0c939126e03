//! Programs that people use, with the same result through plain routers and through two gateways:
//! OpenSSH, FTP in its four ways of opening data connections, and a browser.

use std::fmt::Debug;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::web::WebServer;
use bentpipe_testbed::five_hosts::{BOTH, Testbed, TestbedConfig};

use crate::observation::ask;
use crate::stage::{FAMILIES, Family, build, fast_link, gateways_wanted, start_gateways};
use crate::toolbox::{PATIENCE, assert_same, content, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("ssh_scp_and_sftp", || compare(OpenSsh::start, OpenSsh::use_it)),
    ("ftp_active_and_passive", || compare(Ftp::start, Ftp::use_it)),
    ("chromium_loads_a_page_of_17_objects", || compare(Website::start, Website::load)),
];

/// Starts a server, uses it through plain routers, and then through gateways, which must split
/// what is seen of it.
fn compare<S, R: PartialEq + Debug>(
    start: fn(&Testbed) -> S,
    use_it: fn(&S, &Testbed, Family) -> R,
) {
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let server = start(&testbed);
    let plain = FAMILIES.map(|family| use_it(&server, &testbed, family));
    if !gateways_wanted() {
        return;
    }
    start_gateways(&mut testbed);
    for (family, plain) in FAMILIES.into_iter().zip(plain) {
        let split = |place| {
            let status = ask(testbed.gateway_at(place).1, "status");
            status["totals"]["split"].as_u64().expect("a count")
        };
        let before = BOTH.map(split);
        assert_eq!(use_it(&server, &testbed, family), plain, "{family}: with and without gateways");
        for (place, before) in BOTH.into_iter().zip(before) {
            assert!(split(place) > before, "{place:?} split nothing over {family}");
        }
    }
}

/// sshd in H2, and a key for its root.
pub(crate) struct OpenSsh {
    directory: PathBuf,
    _sshd: Process,
}

impl OpenSsh {
    pub(crate) fn start(testbed: &Testbed) -> OpenSsh {
        let directory = testbed.files().join("ssh");
        fs::create_dir(&directory).expect("directory");
        for key in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(directory.join(key));
            ended_well(&keygen.output().expect("ssh-keygen"));
        }
        // The system's service makes it; sshd gives up its privileges there.
        fs::create_dir_all("/run/sshd").expect("/run/sshd");
        let own = directory.display();
        let configuration = format!(
            "HostKey {own}/host\nAuthorizedKeysFile {own}/user.pub\nStrictModes no\nUsePAM no\n\
             PidFile none\nPermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\n"
        );
        let path = directory.join("sshd_config");
        fs::write(&path, configuration).expect("configuration");
        // It starts itself again for each connection, and wants to be called by its whole name.
        let mut command = testbed.h2.command("/usr/sbin/sshd");
        command.args(["-D", "-e", "-f"]).arg(path);
        let sshd = listening("sshd", testbed, &mut command, 22);
        OpenSsh { directory, _sshd: sshd }
    }

    /// A session that is talked to line by line, one with much input and output, the exit code of
    /// one, files there and back by scp and sftp.
    fn use_it(&self, testbed: &Testbed, family: Family) -> Vec<String> {
        let file = |name: &str| self.directory.join(name).display().to_string();
        let host = match family.h2() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let login = format!("root@{}", family.h2());

        let mut session = self.client(testbed, "ssh").args([&login, "cat"]).spawn().expect("ssh");
        let mut input = session.stdin.take().expect("piped");
        let mut lines = BufReader::new(session.stdout.take().expect("piped")).lines();
        let said: Vec<String> = (0..20).map(|i| format!("line {i}")).collect();
        for line in &said {
            writeln!(input, "{line}").expect("to ssh");
            assert_eq!(&lines.next().expect("an answer").expect("from ssh"), line);
        }
        drop(input);
        assert!(session.wait().expect("ssh").success());

        let much = content(41, 3_000_000);
        let mut command = self.client(testbed, "ssh");
        let echoed = fed(command.args([&login, "cat"]), &much);
        ended_well(&echoed);
        assert_same("through a session", &much, &echoed.stdout);

        let code = fed(self.client(testbed, "ssh").args([&login, "exit 7"]), &[]).status.code();
        assert_eq!(code, Some(7));

        fs::write(file("local"), &much).expect("file");
        let (local, remote) = (file("local"), format!("root@{host}:{}", file("remote")));
        let scp = |from: &str, to: &str| {
            ended_well(&fed(self.client(testbed, "scp").args([from, to]), &[]));
        };
        scp(&local, &remote);
        scp(&remote, &file("back"));
        let batch = format!("put {local} {0}\nget {0} {1}\n", file("put"), file("got"));
        let target = format!("root@{host}");
        let mut sftp = self.client(testbed, "sftp");
        ended_well(&fed(sftp.args(["-b", "-", &target]), batch.as_bytes()));
        for copy in ["remote", "back", "put", "got"] {
            assert_same(copy, &much, &fs::read(file(copy)).expect(copy));
            fs::remove_file(file(copy)).expect(copy);
        }
        said
    }

    pub(crate) fn client(&self, testbed: &Testbed, program: &str) -> Command {
        let mut command = patient(testbed, program);
        command.args(self.options());
        command
    }

    /// ssh as a program that calls it by a line takes it.
    pub(crate) fn shell(&self) -> String {
        format!("ssh {}", self.options().join(" "))
    }

    fn options(&self) -> Vec<String> {
        let own = self.directory.display();
        let options = format!(
            "-F none -o BatchMode=yes -o StrictHostKeyChecking=accept-new \
             -o UserKnownHostsFile={own}/known -i {own}/user"
        );
        options.split(' ').map(str::to_owned).collect()
    }
}

/// vsftpd in H2, open to everybody.
struct Ftp {
    // Not below the testbed's files: its unprivileged processes must get there.
    directory: tempfile::TempDir,
    _vsftpd: Process,
}

impl Ftp {
    fn start(testbed: &Testbed) -> Ftp {
        let directory = tempfile::tempdir().expect("directory");
        let own = directory.path();
        fs::set_permissions(own, Permissions::from_mode(0o755)).expect("permissions");
        for (name, mode) in [("root", 0o755), ("root/incoming", 0o777), ("empty", 0o755)] {
            fs::create_dir(own.join(name)).expect(name);
            fs::set_permissions(own.join(name), Permissions::from_mode(mode)).expect(name);
        }
        let configuration = format!(
            "listen=NO\nlisten_ipv6=YES\nbackground=NO\nanonymous_enable=YES\nno_anon_password=YES\n\
             write_enable=YES\nanon_upload_enable=YES\nanon_umask=022\nxferlog_enable=NO\n\
             connect_from_port_20=YES\nanon_root={0}/root\nsecure_chroot_dir={0}/empty\n",
            own.display()
        );
        let path = own.join("vsftpd.conf");
        fs::write(&path, configuration).expect("configuration");
        let mut command = testbed.h2.command("vsftpd");
        let vsftpd = listening("vsftpd", testbed, command.arg(path), 21);
        Ftp { directory, _vsftpd: vsftpd }
    }

    /// A download, an upload and a listing, each with the data connection opened by either end and
    /// by old and new commands (RFC 959 knows no IPv6, RFC 2428 both families).
    fn use_it(&self, testbed: &Testbed, family: Family) -> Vec<String> {
        const ACTIVE: [&str; 2] = ["--ftp-port", "-"];
        let mut ways: Vec<(&str, Vec<&str>)> = vec![("epsv", vec![]), ("eprt", ACTIVE.to_vec())];
        let url = match family.h2() {
            IpAddr::V4(address) => {
                ways.push(("pasv", vec!["--disable-epsv"]));
                ways.push(("port", [&["--disable-eprt"][..], &ACTIVE].concat()));
                format!("ftp://{address}")
            }
            IpAddr::V6(address) => format!("ftp://[{address}]"),
        };
        let own = self.directory.path();
        let sent = content(42, 2_000_000);
        fs::write(own.join("root/file"), &sent).expect("file");
        let mut listings = Vec::new();
        for (way, options) in ways {
            let curl = |arguments: &[&str]| {
                let mut command = patient(testbed, "curl");
                command.args(["--silent", "--show-error", "--noproxy", "*"]);
                let output = fed(command.args(&options).args(arguments), &[]);
                ended_well(&output);
                output.stdout
            };
            assert_same(way, &sent, &curl(&[&format!("{url}/file")]));
            let file = own.join("root/file").display().to_string();
            curl(&["--upload-file", &file, &format!("{url}/incoming/{way}")]);
            let uploaded = own.join("root/incoming").join(way);
            assert_same(way, &sent, &fs::read(&uploaded).expect(way));
            let listing = curl(&["--list-only", &format!("{url}/incoming/")]);
            let listing = String::from_utf8(listing).expect("names");
            assert_eq!(listing.trim(), way);
            listings.push(listing);
            fs::remove_file(uploaded).expect(way);
        }
        listings
    }
}

/// nginx in H2 with a page, its script and sixteen pictures.
pub(crate) struct Website {
    directory: PathBuf,
    expected: String,
    _nginx: WebServer,
}

impl Website {
    const PICTURES: u32 = 16;
    const HEIGHT: u32 = 60;

    pub(crate) fn start(testbed: &Testbed) -> Website {
        let directory = testbed.files().join("page");
        fs::create_dir(&directory).expect("directory");
        let mut page = String::from("<!doctype html><title>17 objects</title>\n");
        let mut expected = Vec::new();
        for i in 0..Self::PICTURES {
            let picture = Picture::random(i, 100 + i, Self::HEIGHT);
            fs::write(directory.join(format!("{i}.bmp")), picture.bmp()).expect("picture");
            page += &format!("<img src=\"{i}.bmp\">\n");
            expected.push(format!("{}x{}:{}", picture.width, picture.height, picture.digest()));
        }
        page += "<p id=\"seen\">nothing</p><script src=\"see.js\"></script>\n";
        fs::write(directory.join("index.html"), page).expect("page");
        fs::write(directory.join("see.js"), SEE).expect("script");
        let nginx = WebServer::start(testbed, &directory).expect("nginx");
        Website { directory, expected: expected.join(" "), _nginx: nginx }
    }

    /// What the browser's script has seen of the pictures.
    pub(crate) fn load(&self, testbed: &Testbed, family: Family) -> String {
        let url = match family.h2() {
            IpAddr::V4(address) => format!("http://{address}/index.html"),
            IpAddr::V6(address) => format!("http://[{address}]/index.html"),
        };
        // Nothing is left of an earlier load.
        let profile = tempfile::tempdir_in(&self.directory).expect("directory");
        let mut command = patient(testbed, "chromium-headless-shell");
        command.args(["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--disable-background-networking", "--no-proxy-server", "--dump-dom"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
        let output = fed(&mut command, &[]);
        ended_well(&output);
        let dom = String::from_utf8(output.stdout).expect("text");
        let seen = dom.split("<p id=\"seen\">").nth(1).and_then(|rest| rest.split('<').next());
        assert_eq!(seen, Some(&*self.expected), "{dom}");
        self.expected.clone()
    }
}

/// Width, height and FNV-1a hash of the colours of each picture, once all has been loaded.
const SEE: &str = r"
window.addEventListener('load', () => {
  const seen = [...document.images].map((image) => {
    const canvas = document.createElement('canvas');
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
    let hash = 0x811c9dc5;
    pixels.forEach((value, i) => {
      if (i % 4 != 3) hash = Math.imul(hash ^ value, 0x01000193) >>> 0;
    });
    return `${canvas.width}x${canvas.height}:${hash}`;
  });
  document.getElementById('seen').textContent = seen.join(' ');
});
";

/// Colours in rows from the top, each pixel as red, green, blue.
struct Picture {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Picture {
    fn random(seed: u32, width: u32, height: u32) -> Picture {
        Picture { width, height, rgb: content(seed.into(), (3 * width * height) as usize) }
    }

    /// FNV-1a of the colours.
    fn digest(&self) -> u32 {
        let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        self.rgb.iter().fold(0x811c_9dc5, step)
    }

    /// As a Windows bitmap: rows from the bottom, blue first, padded to four bytes.
    fn bmp(&self) -> Vec<u8> {
        const HEADERS: u32 = 14 + 40;
        let row = (3 * self.width).next_multiple_of(4);
        let mut file = b"BM".to_vec();
        for field in [HEADERS + row * self.height, 0, HEADERS, 40, self.width, self.height] {
            file.extend(field.to_le_bytes());
        }
        // One plane of 24 bits, not compressed; the rest may be zero.
        file.extend([1, 0, 24, 0]);
        file.resize(HEADERS as usize, 0);
        for pixels in self.rgb.chunks((3 * self.width) as usize).rev() {
            let end = file.len() + row as usize;
            file.extend(pixels.chunks(3).flat_map(|rgb| [rgb[2], rgb[1], rgb[0]]));
            file.resize(end, 0);
        }
        file
    }
}

/// Starts a server in H2 and waits until it listens on `port`.
pub(crate) fn listening(
    name: &str,
    testbed: &Testbed,
    command: &mut Command,
    port: u16,
) -> Process {
    let mut server = Process::start(&format!("{name} in H2"), command).expect(name);
    wait_until(&format!("{name} listens"), || {
        let address = ("127.0.0.1", port);
        let listens = testbed.h2.run(|| TcpStream::connect(address).is_ok()).expect("H2");
        let mut said =
            || format!("{:?} {} {}", server.try_wait(), server.stdout(), server.stderr());
        if listens { Ok(()) } else { Err(said()) }
    });
    server
}

/// A program in H1 that is stopped if it takes too long.
pub(crate) fn patient(testbed: &Testbed, program: &str) -> Command {
    let mut command = testbed.h1.command("timeout");
    command.arg(PATIENCE.as_secs().to_string()).arg(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a [`patient`] program with `input`.
pub(crate) fn fed(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.spawn().expect("a program");
    let mut stdin = child.stdin.take().expect("piped");
    thread::scope(|scope| {
        // One that ends early closes its input: its exit code says what was wrong.
        scope.spawn(move || _ = stdin.write_all(input));
        child.wait_with_output().expect("a program")
    })
}

pub(crate) fn ended_well(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
}
