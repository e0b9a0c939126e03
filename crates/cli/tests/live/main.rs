//! Live tests: Linux's own TCP at both ends, real packets, and `bentpipe` between them, in
//! network namespaces. They need root; without it they are reported as ignored, with the reason.
//!
//! They assert what comes, in which order, and what state it leaves, never how long it takes: a
//! machine that many share may take any time. Whatever is waited for is waited for with
//! `toolbox::PATIENCE`; what is to be measured is in `measured`, and no test.
//!
//! `BENTPIPE_LIVE_GATEWAYS=none` runs everything with plain routers in the gateways' places,
//! which shows that a test asks for nothing that TCP does not do by itself.
//!
//! libtest-mimic, because the list of tests is made at run time (conditions × families × cases)
//! and a test that cannot run here must be seen to be skipped; libtest can do neither.

mod accounts;
mod attack;
mod bad_input;
mod behind_nat;
mod bench_flows;
mod beside;
mod captured;
mod check;
mod closing;
mod crashes;
mod crowd;
mod early_acknowledged;
mod freshness;
mod graphs;
mod hangs;
mod hops;
mod in_the_way;
mod life;
mod link_types;
mod links;
mod local_users;
mod log_sinks;
mod matched;
mod measured;
mod observation;
mod opening;
mod pair;
mod pair_key;
mod papers;
mod passing;
mod path_mtu;
mod patience;
mod probe;
mod programs;
mod queues;
mod recorded;
mod recording;
mod repairs;
mod routers;
mod routes;
mod signals;
mod slow;
mod stage;
mod testbed;
mod tls;
mod toolbox;
mod top;
mod transfer;
mod two_satellites;
mod under_load;
mod why;

use std::process::ExitCode;

use bentpipe_linux::netns::teardown;
use libtest_mimic::{Arguments, Trial};

use stage::{Conditions, FAMILIES, StageEnds, Stages};

/// One case that runs on a shared stage, once for each family of addresses.
type Case = (&'static str, fn(&StageEnds));

/// What every condition must carry.
fn cases() -> Vec<Case> {
    [transfer::CASES, slow::CASES, closing::CASES, opening::CASES, passing::CASES].concat()
}

/// What a lossy link must carry; the rest is about things that loss does not touch.
fn cases_with_loss() -> Vec<Case> {
    [transfer::CASES_WITH_LOSS, closing::CASES].concat()
}

/// Programs that not every system has a package of, and the cases that are skipped without them.
const PROGRAMS: [(&str, &[&str]); 13] = [
    ("ssh_scp_and_sftp", &["ssh", "sshd", "ssh-keygen", "scp", "sftp"]),
    ("ftp_active_and_passive", &["vsftpd"]),
    ("chromium_loads_a_page_of_17_objects", &["chromium-headless-shell"]),
    ("tls_is_split_as_cleartext_is", &["openssl"]),
    ("link_is_recorded", &["tshark"]),
    ("both_legs_are_recorded", &["tshark"]),
    ("graphs_of_linux_hosts_with_losses_are_drawn_and_explained", &["tcpdump"]),
    ("explained_ssh_is_what_the_kernel_accounts", &["tcpdump", "ss", "ssh", "sshd", "ssh-keygen"]),
    (
        "explained_rsync_is_what_the_kernel_accounts",
        &["tcpdump", "ss", "ssh", "sshd", "ssh-keygen", "rsync"],
    ),
    (
        "explained_database_dump_is_what_the_kernel_accounts",
        &["tcpdump", "ss", "pg_ctlcluster", "psql", "pg_dump"],
    ),
    (
        "explained_page_load_is_what_the_kernel_accounts",
        &["tcpdump", "ss", "nginx", "chromium-headless-shell"],
    ),
    ("explained_small_buffers_are_what_the_kernel_accounts", &["tcpdump", "ss"]),
    ("what_a_link_loses_is_missing_between_captures_of_its_ends", &["tcpdump"]),
];

/// Why this case cannot run here, if it cannot.
fn lacks(case: &str) -> Option<String> {
    let (_, programs) = PROGRAMS.into_iter().find(|(name, _)| *name == case)?;
    stage::missing(programs)
}

/// Cases that build a stage of their own, because they start, stop or kill what runs there. The
/// first takes longest, and only waits.
fn own_stage() -> Vec<(&'static str, fn())> {
    [
        patience::CASES,
        crowd::CASES,
        programs::CASES,
        routes::CASES,
        life::CASES,
        crashes::CASES,
        under_load::CASES,
        hangs::CASES,
        in_the_way::CASES,
        attack::CASES,
        check::CASES,
        why::CASES,
        behind_nat::CASES,
        pair_key::CASES,
        bench_flows::CASES,
        two_satellites::CASES,
        log_sinks::CASES,
        signals::CASES,
        repairs::CASES,
        observation::CASES,
        recording::CASES,
        top::CASES,
        bad_input::CASES,
        path_mtu::CASES,
        link_types::CASES,
        probe::CASES,
        graphs::CASES,
        matched::CASES,
        queues::CASES,
        early_acknowledged::CASES,
        hops::CASES,
        beside::CASES,
        recorded::CASES,
        links::CASES,
        local_users::CASES,
        tls::CASES,
        testbed::CASES,
        papers::CASES,
        accounts::CASES,
    ]
    .concat()
}

/// A case with a stage of its own. One that `lacks` something is skipped, and says so.
fn own_trial(
    kind: &str,
    name: &str,
    lacks: Option<&str>,
    case: impl FnOnce() + Send + 'static,
) -> Trial {
    if let Some(why) = lacks {
        println!("{kind}::{name} skipped: {why}");
    }
    let trial = Trial::test(format!("{kind}::{name}"), move || {
        case();
        Ok(())
    });
    trial.with_ignored_flag(lacks.is_some())
}

fn main() -> ExitCode {
    testbed::foreign::serve_if_asked();
    let wanted = std::env::var("BENTPIPE_LIVE_TESTS").unwrap_or_default();
    // scripts/test.sh runs all tests but these, beside these.
    if wanted == "off" {
        println!("live tests: left out (BENTPIPE_LIVE_TESTS=off)");
        return ExitCode::SUCCESS;
    }
    // Nothing else runs with these.
    let alone = ["measured", "routers", "routers-vm"].contains(&wanted.as_str());
    let mut arguments = Arguments::from_args();
    // Cases wait for the link far more than they compute; one of them for minutes. What is measured
    // is measured alone.
    let one_by_one = ["measured", "routers-vm"].contains(&wanted.as_str());
    arguments.test_threads.get_or_insert(if one_by_one { 1 } else { 6 });
    let obstacle = if arguments.list { None } else { stage::obstacle() };
    if let Some(reason) = &obstacle {
        println!("live tests skipped: {reason}");
    }
    if obstacle.is_none() && !arguments.list {
        if let Some(why) = freshness::stale_gateway() {
            eprintln!("live tests: {why}");
            return ExitCode::FAILURE;
        }
        teardown::on_signals().expect("signal handlers");
        teardown::remove_leftovers();
    }

    let stages: &'static Stages = Box::leak(Box::default());
    let mut trials = Vec::new();
    // Neighbours in the list run at the same time: they play on different stages.
    let (kind, own) = match wanted.as_str() {
        "measured" => ("measured", measured::cases()),
        _ if alone => ("own", Vec::new()),
        _ => ("own", own_stage()),
    };
    let routers = match wanted.as_str() {
        "routers" => routers::cases(),
        "routers-vm" => routers::cases_in_vm(),
        _ if alone => Vec::new(),
        _ => routers::share(),
    };
    let looks = !arguments.list && obstacle.is_none();
    for (name, case) in own {
        let lacks = looks.then(|| lacks(name)).flatten();
        trials.push(own_trial(kind, name, lacks.as_deref(), case));
    }
    for case in routers {
        let lacks = looks.then(|| case.lacks()).flatten();
        trials.push(own_trial("routers", case.name(), lacks.as_deref(), move || case.run()));
    }
    let shared = cases().into_iter().map(|case| (case, Conditions::LOSSLESS));
    let lossy = cases_with_loss().into_iter().map(|case| (case, &[Conditions::Lossy][..]));
    let open = closing::CASES_WITHOUT_FIREWALL.iter();
    let open = open.map(|&case| (case, Conditions::WITHOUT_FIREWALL));
    let shared = shared.chain(lossy).chain(open).filter(|_| !alone);
    for ((name, case), conditions) in shared {
        for (family, &conditions) in
            FAMILIES.iter().flat_map(|f| conditions.iter().map(|c| (*f, c)))
        {
            trials.push(Trial::test(format!("{conditions}::{family}::{name}"), move || {
                case(&stages.ends(conditions, family)?);
                Ok(())
            }));
        }
    }
    if obstacle.is_some() {
        trials = trials.into_iter().map(|trial| trial.with_ignored_flag(true)).collect();
    }

    let conclusion = libtest_mimic::run(&arguments, trials);
    stages.take_down();
    bad_input::clean_up();
    conclusion.exit_code()
}
