//! The scenarios that are laid out.

/// A download over GEO at a rate that a busy machine can follow.
pub(crate) const DOWNLOAD: &str = r#"
title = "A download over GEO"
tcp = "linux"
[run]
duration = "60s"
until = "flows-done"
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
rate = "1Mbit/s"
delay = "250ms"
queue = "60KB"
[flow.download]
from = "server"
to = "client"
bytes = "500KB"
opened-by = "to"
"#;

/// What its gateways know.
pub(super) const CONFIGURED: &str = r#"satellite = { rate = "8Mbit/s", round-trip = "100ms" }"#;

/// Everything that is live, through a pair of gateways.
pub(super) const EVERYTHING: &str = r#"
tcp = "linux"
[run]
duration = "60s"
until = "flows-done"
[host.server]
[host.client]
[router.r]
[gateway.g1]
lan-links = "far"
satellite = { rate = "8Mbit/s", round-trip = "100ms" }
[gateway.g2]
lan-links = "near"
satellite = { rate = "8Mbit/s", round-trip = "100ms" }
[link.far]
between = ["server", "g1"]
rate = "100Mbit/s"
[link.sat]
between = ["g1", "g2"]
rate = "8Mbit/s"
delay = "50ms"
loss = 0.002
back = { rate = "1Mbit/s" }
[link.near]
between = ["g2", "r"]
rate = "100Mbit/s"
[link.last]
between = ["r", "client"]
[flow.upload]
from = "client"
to = "server"
bytes = "50KB"
tcp = "congestion=standard,slow-start=standard"
[flow.early]
from = "server"
to = "client"
bytes = "20KB"
opened-by = "to"
barrier = "go"
[flow.late]
from = "client"
to = "server"
bytes = "20KB"
start = "800ms"
barrier = "go"
[flow.page]
workload = "http/1.0"
from = "server"
to = "client"
page = { document = "2KB", objects = "10KB", count = 5 }
connections = 2
[flow.kept]
workload = "http/1.1"
from = "server"
to = "client"
page = { document = "2KB", objects = "10KB", count = 5 }
pages = 2
[flow.piped]
workload = "http/1.1-pipelined"
from = "server"
to = "client"
page = { document = "2KB", objects = "10KB", count = 5 }
server-delay = "20ms"
[flow.query]
workload = "request-response"
from = "server"
to = "client"
reply = "20KB"
requests = 3
count = 2
[flow.calls]
workload = "request-response"
from = "server"
to = "client"
reply = { uniform = ["1KB", "9KB"] }
requests = 2
connection = "new"
[flow.ping]
workload = "ping"
from = "client"
to = "g1"
every = "100ms"
packets = 5
background = false
"#;

/// Two clients alike, each behind a link that loses packets.
pub(super) const PATTERN: &str = r#"
tcp = "linux"
[run]
duration = "60s"
until = "flows-done"
[host.server]
[router.r]
[link.trunk]
between = ["server", "r"]
[host."c{n}"]
count = 2
[link."l{n}"]
count = 2
between = ["r", "c{n}"]
rate = "{2*n}Mbit/s"
delay = "20ms"
loss = 0.02
back = { loss = 0 }
[flow."f{n}"]
count = 2
from = "server"
to = "c{n}"
bytes = "{500*n}KB"
"#;
