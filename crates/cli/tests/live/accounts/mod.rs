//! Explanations of real programs' connections against the kernel's own accounts of them.
//!
//! Compared are shares of time by limiter, and retransmissions. `BENTPIPE_KEEP=FOLDER` keeps the
//! captures, `--nocapture` prints both.

mod kernel;
mod told;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::Testbed;

use crate::graphs::transfer_of;
use crate::probe::Emulated;
use crate::programs::{OpenSsh, Website, ended_well, fed, listening, patient};
use crate::stage::Family;
use crate::toolbox::content;
use kernel::{Account, Witness};
use told::Told;

pub(crate) const CASES: &[(&str, fn())] = &[
    ("explained_ssh_is_what_the_kernel_accounts", ssh),
    ("explained_rsync_is_what_the_kernel_accounts", rsync),
    ("explained_database_dump_is_what_the_kernel_accounts", database_dump),
    ("explained_page_load_is_what_the_kernel_accounts", page_load),
    ("explained_small_buffers_are_what_the_kernel_accounts", small_buffers),
];

/// Of shares of time: five points.
const TOLERANCE: f64 = 0.05;
/// Shorter connections have no shares worth comparing.
const LEAST: u64 = 30_000;

/// Compares what is told of a host's connections with what its kernel accounts.
fn compare(name: &str, witness: Witness, connections: usize) {
    let (accounts, capture, traced) = witness.finish(connections);
    let mut failures = Vec::new();
    let mut compared = 0;
    for account in accounts.iter().filter(|account| account.acked >= LEAST) {
        let ends = account.ends.expect("addresses");
        let told = Told::of(&capture, ends);
        let traced = traced.as_ref().map(|traced| traced.times(ends));
        failures.extend(differences(name, account, &told, traced));
        compared += 1;
    }
    assert!(compared >= 1, "{name}: {accounts:?}");
    if let Ok(folder) = std::env::var("BENTPIPE_KEEP") {
        let place = Path::new(&folder).join(format!("{name}.pcap"));
        fs::copy(&capture, place).expect("a copy");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What differs by more than the tolerance. Says both.
fn differences(name: &str, account: &Account, told: &Told, traced: Option<u64>) -> Vec<String> {
    let time = told.time();
    let busy = account.busy / time;
    let mut failures = Vec::new();
    let retransmitted = traced.unwrap_or(account.retransmitted);
    println!(
        "{name}: {time:.3} s, {} bytes; busy {:.1} %, told {:.1} %; {retransmitted} \
         retransmissions of {} segments, told {}",
        account.acked,
        100.0 * busy,
        100.0 * told.busy(),
        account.retransmitted,
        told.retransmissions()
    );
    if (busy - told.busy()).abs() > TOLERANCE {
        failures.push(format!("{name}: busy {busy:.3}, told {:.3}", told.busy()));
    }
    if told.retransmissions() != retransmitted {
        let told = told.retransmissions();
        failures.push(format!("{name}: {retransmitted} retransmissions, told {told}"));
    }
    let limiters =
        [("peer's window", account.rwnd_limited), ("send buffer", account.sndbuf_limited)];
    for (limiter, limited) in limiters {
        let (share, told) = (limited / time, told.limited(limiter));
        println!(
            "{name}:   {limiter} {:.1} %, told {:.1} to {:.1} %",
            100.0 * share,
            100.0 * told.0,
            100.0 * told.1
        );
        if !told.has(share, TOLERANCE) {
            failures.push(format!("{name}: {limiter} {share:.3}, told {told:?}"));
        }
    }
    failures
}

/// A file over a session, up a link that loses.
fn ssh() {
    let mut emulated = Emulated::new();
    let down = "rate=8Mbit/s,loss=1%";
    emulated.link(&["--both", "delay=15ms,queue=100packets", "--down", down]);
    let testbed = &emulated.testbed;
    let server = OpenSsh::start(testbed);
    let folder = tempfile::tempdir().expect("a folder");
    let witness = Witness::start(&testbed.h1, folder.path());
    let mut session = server.client(testbed, "ssh");
    let login = format!("root@{}", Family::V4.h2());
    let output = fed(session.args([&login, "cat > /dev/null"]), &content(51, 3_000_000));
    ended_well(&output);
    compare("ssh", witness, 1);
}

/// A folder of many small files and a large one, by rsync over ssh.
fn rsync() {
    let mut emulated = Emulated::new();
    emulated.link(&["--both", "rate=10Mbit/s,delay=40ms,queue=200packets"]);
    let testbed = &emulated.testbed;
    let server = OpenSsh::start(testbed);
    let folder = tempfile::tempdir().expect("a folder");
    let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
    fs::create_dir(&from).expect("a folder");
    for number in 0..200 {
        let file = content(number, 500 + 40 * number as usize);
        fs::write(from.join(number.to_string()), file).expect("a file");
    }
    fs::write(from.join("large"), content(52, 1_500_000)).expect("a file");
    let witness = Witness::start(&testbed.h1, folder.path());
    let target = format!("root@{}:{}", Family::V4.h2(), to.display());
    let mut rsync = patient(testbed, "rsync");
    rsync.args(["--archive", "--rsh", &server.shell()]).arg(format!("{}/", from.display()));
    ended_well(&fed(rsync.arg(target), &[]));
    assert_eq!(fs::read_dir(to).expect("a folder").count(), 201);
    compare("rsync", witness, 1);
}

/// A database of PostgreSQL, dumped over a link that loses.
fn database_dump() {
    let mut emulated = Emulated::new();
    emulated.link(&["--both", "delay=30ms,queue=200packets", "--up", "rate=20Mbit/s,loss=0.5%"]);
    let testbed = &emulated.testbed;
    let database = Database::start(testbed);
    let witness = Witness::start(&testbed.h2, database.folder.path());
    let mut dump = patient(testbed, "pg_dump");
    let host = Family::V4.h2().to_string();
    dump.args(["--host", &host, "--username", "postgres", "--dbname", "postgres"]);
    let output = fed(&mut dump, &[]);
    ended_well(&output);
    assert!(output.stdout.len() > 2_000_000, "{} bytes", output.stdout.len());
    compare("pg_dump", witness, 1);
}

/// A page of 17 objects, loaded by a browser over a satellite.
fn page_load() {
    let mut emulated = Emulated::new();
    emulated.link(&["--both", "rate=20Mbit/s,delay=250ms,queue=400packets"]);
    let testbed = &emulated.testbed;
    let website = Website::start(testbed);
    let folder = tempfile::tempdir().expect("a folder");
    let witness = Witness::start(&testbed.h2, folder.path());
    website.load(testbed, Family::V4);
    compare("Chromium", witness, 2);
}

/// Transfers over a satellite with a small receive buffer, and with a small send buffer. Of the
/// latter the kernel accounts little: only where an ACK sends the last of a write that goes on.
fn small_buffers() {
    let mut emulated = Emulated::new();
    emulated.link(&["--both", "rate=8Mbit/s,delay=250ms,queue=400packets"]);
    for (name, receive, send) in [("receive buffer", 20_000, 0), ("send buffer", 0, 20_000)] {
        let folder = tempfile::tempdir().expect("a folder");
        let witness = Witness::start(&emulated.testbed.h1, folder.path());
        transfer_of(&emulated.testbed, 400_000, receive, send);
        compare(name, witness, 1);
    }
}

/// PostgreSQL in H2, with a table of some megabytes.
struct Database {
    folder: tempfile::TempDir,
    _postgres: Process,
}

impl Database {
    fn start(testbed: &Testbed) -> Database {
        // Its processes are not root, and must get there.
        let folder = tempfile::tempdir().expect("directory");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("permissions");
        let data = folder.path().join("data");
        let run = |command: &mut Command| ended_well(&command.output().expect("a program"));
        run(Command::new("install").args(["-d", "-o", "postgres"]).arg(&data));
        run(as_postgres(Command::new("runuser"), "initdb").args(["-A", "trust", "-D"]).arg(&data));
        let own = data.display().to_string();
        let rules = data.join("pg_hba.conf");
        fs::write(rules, "host all all 0.0.0.0/0 trust\nlocal all all trust\n").expect("rules");
        let mut command = as_postgres(testbed.h2.command("runuser"), "postgres");
        command.args(["-D", &own, "-k", &own, "-h", "*", "-c", "fsync=off"]);
        let postgres = listening("postgres", testbed, &mut command, 5432);
        let table = "create table numbers as select n, md5(n::text) a, md5((n * 7)::text) b \
                     from generate_series(1, 40000) n";
        let mut psql = testbed.h2.command("psql");
        run(psql.args(["-q", "-h", &own, "-U", "postgres", "-d", "postgres", "-c", table]));
        Database { folder, _postgres: postgres }
    }
}

/// This program of PostgreSQL's server as its own user. Debian has it in a folder for each version.
fn as_postgres(mut runuser: Command, program: &str) -> Command {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL").flatten();
    let programs = versions.map(|version| version.path().join("bin").join(program));
    let newest = programs.filter(|program| program.exists()).max().expect("its server");
    runuser.args(["-u", "postgres", "--"]).arg(newest).current_dir("/");
    runuser
}
