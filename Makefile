# bentpipe: see README.md. `make help` lists the targets.
.DEFAULT_GOAL := help
# rustup installs here and not everyone's PATH knows it; sbin holds ip, nft and nginx.
export PATH := $(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
VENV := $(abspath $(TARGET_DIR))/python-venv/bin

.PHONY: help demo test test-routers test-routers-real test-python wheel test-wheels docs papers artifact mutants mutants-changed check bench bench-peers cargo apt apt-bench apt-tests cargo-deny deb rpm dist test-packages test-kernels test-rpm test-container

help:
	@echo "make demo    files cross an emulated GEO link with and without bentpipe (root; < 3 min)"
	@echo "make test    all tests; those on the live kernel need root and are skipped without it"
	@echo "make test-routers  routers as operators have them, with and without a gateway, here and in a virtual machine (root; ten minutes)"
	@echo "make test-routers-real  the same, with rules that firewalld, ufw, Docker and libvirt write anew (root; fetches 250 MB)"
	@echo "make test-python  builds the Python package into a virtual environment, and runs its tests and notebooks"
	@echo "make wheel   wheels of the Python package for Linux on x86_64 and aarch64, in out/wheels (fetches zig and maturin from PyPI)"
	@echo "make test-wheels  make wheel, and tries both: the other machine's by qemu-user with Debian's Python for it"
	@echo "make deb     Debian packages in out/package: bentpipe-gateway for routers, and bentpipe with everything (PACKAGE=one of them)"
	@echo "make rpm     the same as RPMs"
	@echo "make dist    static gateways for x86_64, aarch64 and armv7 with checksums and a bill of materials, in out/dist (fetches zig from PyPI)"
	@echo "make test-packages  both Debian packages looked at by lintian, installed, used, upgraded, removed and purged in a virtual machine with systemd (root; ten minutes)"
	@echo "make test-kernels  the same package on kernels of several Debian suites, from 5.10 on, and on one that is too old (root; fetches 400 MB; twenty minutes)"
	@echo "make test-rpm  RPMs installed, verified and erased in a root of their own (root)"
	@echo "make test-container  the container image built and run by buildah over a base of Debian's packages (root)"
	@echo "make docs    the documentation as a site, in out/site"
	@echo "make papers  the tests that the papers' claims name, then every figure; both go into docs/papers (half an hour)"
	@echo "make artifact  all that the papers' verdicts rest on, with checksums, in out/artifact; and every page from that again, without a simulation"
	@echo "make mutants deliberate defects in the gateway, each of which the tests must find (minutes)"
	@echo "make mutants-changed  cargo-mutants' defects in the lines that differ from BASE (origin/main), against their crates' tests"
	@echo "make check   formatting, wrapped comments, lints, documentation, licences, and that the mutants still apply: what CI runs before the tests"
	@echo "make bench   cost of a segment, of a packet on a link and in the simulator; frames of a graph's page; flows through a gateway and plain forwarding, and through the link emulator (root; PEER=its source folder); rates, delays and durations of live links and gateways"
	@echo "make bench-peers  the simulator's speed beside ns-2's, and the package's if it is built (installs ns2 where it can)"

demo: cargo apt
	@cargo build --release --quiet --bin bentpipe
	@$(TARGET_DIR)/release/bentpipe demo --output out/demo

test: cargo apt-tests
	@scripts/test.sh

test-routers: cargo apt-tests
	@scripts/install-packages.sh routers
	@scripts/test-routers.sh

test-routers-real: cargo apt-tests
	@scripts/install-packages.sh routers
	@scripts/capture-rules.sh
	@scripts/test-routers.sh

test-python: cargo
	@scripts/python-venv.sh test
	@MYPY_CACHE_DIR=$(abspath $(TARGET_DIR))/mypy $(VENV)/python -m mypy.stubtest --concise --ignore-disjoint-bases bentpipe._bentpipe
	@cd python && PYTHONDONTWRITEBYTECODE=1 BENTPIPE_NOTEBOOKS=$(CURDIR)/out/notebooks $(VENV)/python -m pytest

wheel: cargo
	@scripts/wheels.sh

test-wheels: wheel
	@scripts/install-packages.sh wheels
	@scripts/try-wheels.sh

deb: cargo
	@scripts/package.sh deb $(PACKAGE)

rpm: cargo
	@scripts/package.sh rpm $(PACKAGE)

dist: cargo
	@scripts/install-packages.sh wheels
	@scripts/dist.sh

test-packages: cargo
	@scripts/install-packages.sh machine
	@scripts/package.sh deb
	@scripts/test-packages.sh

test-kernels: cargo
	@scripts/install-packages.sh machine
	@scripts/package.sh deb bentpipe-gateway
	@scripts/test-kernels.sh

test-rpm: cargo
	@scripts/install-packages.sh machine
	@scripts/package.sh rpm $(PACKAGE)
	@scripts/test-rpm.sh

test-container: cargo
	@scripts/install-packages.sh machine
	@scripts/test-container.sh

docs: cargo
	@scripts/docs.sh

papers: cargo apt-tests
	@scripts/papers_tests.py out/papers/tests.json
	@cargo build --release --quiet --bin bentpipe
	@$(TARGET_DIR)/release/bentpipe papers --all --papers papers --docs docs/papers

# Runs that make papers has made are not made again.
artifact: cargo
	@cargo build --release --quiet --bin bentpipe
	@scripts/artifact.sh $(TARGET_DIR)/release/bentpipe

mutants: cargo
	scripts/mutants.sh

mutants-changed: cargo
	scripts/mutants-changed.sh $(BASE)

check: cargo cargo-deny
	cargo fmt --all -- --check
	cargo run --quiet --locked --package bentpipe-prose -- wrap --check
	scripts/mutants.sh --applies
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet
	cargo deny --log-level error check bans licenses sources
	scripts/ruff.sh

bench: cargo apt-bench
	@cargo build --release --quiet --bin bentpipe
	@cargo bench --quiet -p bentpipe-benches --bench segments --bench links
	@$(TARGET_DIR)/release/bentpipe bench sim
	@scripts/bench-page.sh $(TARGET_DIR)/release/bentpipe
	@$(TARGET_DIR)/release/bentpipe bench flows --rounds 5 --connections
	@scripts/bench-link.sh $(TARGET_DIR)/release/bentpipe "$(PEER)"
	@scripts/bench-live.sh

bench-peers: cargo
	@cargo build --release --quiet --bin bentpipe
	@scripts/bench-peers.sh $(TARGET_DIR)/release/bentpipe $(wildcard $(TARGET_DIR)/dist/bentpipe)

cargo:
	@scripts/require-cargo.sh

apt:
	@scripts/install-packages.sh

apt-bench:
	@scripts/install-packages.sh bench

apt-tests:
	@scripts/install-packages.sh tests

cargo-deny: cargo
	@scripts/install-cargo-deny.sh
