//! Contents arrive as they were sent: every size that could trip over a boundary, both ways.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use bentpipe_testbed::five_hosts::web::{WebServer, curl};

use crate::Case;
use crate::stage::{Family, StageEnds};
use crate::toolbox::{accept, assert_same, content, finish, receive_to_end, send};

pub(crate) const CASES: &[Case] = &[
    ("downloads_of_odd_sizes", downloads_of_odd_sizes),
    ("uploads_of_odd_sizes", uploads_of_odd_sizes),
    ("download_of_50_mb", |ends| download(ends, 50_000_000)),
    ("upload_of_50_mb", |ends| upload(ends, 50_000_000)),
    ("both_directions_at_once", |ends| both_directions(ends, 5_000_000)),
    ("a_hundred_connections_at_once", a_hundred_connections),
    ("nginx_and_curl", nginx_and_curl),
];

pub(crate) const CASES_WITH_LOSS: &[Case] = &[
    ("downloads_of_odd_sizes", downloads_of_odd_sizes),
    ("uploads_of_odd_sizes", uploads_of_odd_sizes),
    ("download_of_3_mb", |ends| download(ends, 3_000_000)),
    ("upload_of_3_mb", |ends| upload(ends, 3_000_000)),
    ("both_directions_at_once", |ends| both_directions(ends, 2_000_000)),
];

/// Around nothing, the segment with and without timestamps in either family, two segments, and
/// 64 KiB, where a window without scaling and a super-segment end.
const ODD_SIZES: [usize; 24] = [
    0, 1, 2, 1427, 1428, 1429, 1439, 1440, 1441, 1447, 1448, 1449, 1459, 1460, 1461, 2895, 2896,
    2897, 65_535, 65_536, 65_537, 131_071, 131_073, 1_000_003,
];

/// H-D-13 and G99-D-1: unmodified hosts get every byte.
fn downloads_of_odd_sizes(ends: &StageEnds) {
    ODD_SIZES.into_iter().for_each(|size| download(ends, size));
}

/// H-D-13 and G99-D-1: the same the other way.
fn uploads_of_odd_sizes(ends: &StageEnds) {
    ODD_SIZES.into_iter().for_each(|size| upload(ends, size));
}

/// The server closes right after its last byte.
fn download(ends: &StageEnds, size: usize) {
    let sent = content(size as u64, size);
    let (listener, address) = ends.listen();
    let received = thread::scope(|scope| {
        scope.spawn(|| send(&accept(&listener), &sent));
        receive_to_end(&ends.connect(address))
    });
    assert_same(&format!("download of {size}"), &sent, &received);
}

/// The client closes right after its last byte.
fn upload(ends: &StageEnds, size: usize) {
    let sent = content(size as u64 + 1, size);
    let (listener, address) = ends.listen();
    let received = thread::scope(|scope| {
        scope.spawn(|| send(&ends.connect(address), &sent));
        receive_to_end(&accept(&listener))
    });
    assert_same(&format!("upload of {size}"), &sent, &received);
}

fn both_directions(ends: &StageEnds, size: usize) {
    let (up, down) = (content(1, size), content(2, size));
    let (listener, address) = ends.listen();
    let client = ends.connect(address);
    let server = accept(&listener);
    thread::scope(|scope| {
        for (stream, sent) in [(&client, &up), (&server, &down)] {
            scope.spawn(move || {
                send(stream, sent);
                finish(stream);
            });
        }
        let at_server = scope.spawn(|| receive_to_end(&server));
        assert_same("down", &down, &receive_to_end(&client));
        assert_same("up", &up, &at_server.join().expect("server"));
    });
}

fn a_hundred_connections(ends: &StageEnds) {
    const SIZE: usize = 100_000;
    let (listener, address) = ends.listen();
    thread::scope(|scope| {
        // The server sends back what it gets, in a thread for each connection.
        scope.spawn(|| {
            for _ in 0..100 {
                let stream = accept(&listener);
                scope.spawn(move || send(&stream, &receive_to_end(&stream)));
            }
        });
        for i in 0..100 {
            scope.spawn(move || {
                let sent = content(i, SIZE);
                let stream = ends.connect(address);
                send(&stream, &sent);
                finish(&stream);
                assert_same(&format!("connection {i}"), &sent, &receive_to_end(&stream));
            });
        }
    });
}

/// A real server and a real client.
fn nginx_and_curl(ends: &StageEnds) {
    // One nginx for a stage at a time: it has one port.
    static NGINX: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = NGINX.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let testbed = &ends.testbed;
    let family = if ends.family == Family::V4 { "v4" } else { "v6" };
    let site: PathBuf = testbed.files().join(format!("site-{family}"));
    fs::create_dir_all(&site).expect("site");
    let server = WebServer::start(testbed, &site).expect("nginx");
    for size in [0, 1, 10_000, 1_000_000] {
        let sent = content(size as u64, size);
        fs::write(site.join(size.to_string()), &sent).expect("file");
        let destination = site.join("download");
        let mut command: Command =
            curl(&testbed.h1, ends.family.h2(), &size.to_string(), &destination);
        let output = command.output().expect("curl");
        assert!(output.status.success(), "curl: {}", String::from_utf8_lossy(&output.stderr));
        // curl makes no file for an answer without content.
        let received = fs::read(&destination).unwrap_or_default();
        assert_same(&format!("curl of {size}"), &sent, &received);
        let _ = fs::remove_file(&destination);
    }
    drop(server);
}
