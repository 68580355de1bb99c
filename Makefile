# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Arguments for the program go into ARGS: make demo ARGS='--seconds 10'

CARGO ?= cargo
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
CHAOS_ROUNDS ?= 100
# Random tests draw the same input in each run; another seed draws other input.
export PROPTEST_RNG_SEED ?= 1
# Root is needed for the kernel, not for compiling.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
RUNNER := --config 'target."cfg(unix)".runner = "$(CURDIR)/tools/test-runner"'
# Each of these has a lock file of its own, which a dependency added to a crate of the first makes stale.
MANIFESTS = Cargo.toml tools/fuzz/Cargo.toml python/Cargo.toml
C_SOURCES = $(shell find policies lab nice papers python/tests tools validation -name '*.[ch]' | sort)
# The Python package's crate is a workspace of its own; its virtual environment follows the lock file.
PYTHON ?= python3
PYTHON_ENVIRONMENT = target/python-environment
MATURIN = $(PYTHON_ENVIRONMENT)/bin/maturin build --manifest-path python/Cargo.toml --locked --target-dir target/python
PYTHON_SOURCES = python/bench/binding python/bench/cluster python/netnice python/tests \
	tools/bench/ablation tools/bench/alternatives tools/bench/download_programs tools/bench/exporter_cost tools/bench/fast_paths \
	tools/bench/mirrors tools/bench/pages.py tools/bench/paths tools/bench/programs.py tools/bench/quic tools/bench/quic_programs/aio.py tools/bench/start_up tools/bench/torrents tools/check-links tools/cli-reference tools/decisions tools/layout tools/make-link-traces tools/pictures tools/promises tools/prove tools/wording \
	validation/compare_linux validation/compare_ns2 validation/compare_ns3 validation/comparison.py validation/farm \
	validation/simulators.py validation/speed validation/linux/linux_cases.py validation/ns2/measure validation/ns2/cases.py \
	validation/ns3/ns3_cases.py nice/cli/tests/program/downloads.py nice/cli/tests/program/utp.py nice/cli/tests/program/udp.py \
	tests/chaos/chaos tests/chaos/rounds.py tests/chaos/world.py \
	tests/peers/peers tests/peers/peer.py tests/vm/systemd tests/vm/ansible tests/vm/chaos tests/vm/machine.py \
	tests/outside/run tests/outside/inside tests/nri/nri tests/extending/run tests/vm/container.py tests/packages/clean-roots tests/prometheus/prometheus tests/prometheus/dashboard packaging/notices
SCRIPTS = packaging/build packaging/release packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm \
	packaging/rpm/post packaging/rpm/preun packaging/rpm/postun tests/vm/image \
	tools/prerequisites tools/test-runner .ci/run tests/nri/build tests/kernels/run tests/kernels/debian tests/kernels/inside upstream/run upstream/inside validation/linux/inside

.DEFAULT_GOAL := help
.PHONY: help build demo test test-unprivileged test-live test-kernels outside test-systemd test-ansible test-packages test-distributions test-nri test-prometheus test-dashboard test-python test-cluster test-extending upstream wheel deb rpm tarball release \
	prove fuzz chaos peers lint audit format pictures book compare-ns install

help: ## Show this list
	@sed -n 's/^\([a-z -]*\):.*## /  make \1\t/p' Makefile | expand -t 22

build: ## Compile netnice and netnice-lab to target/release
	@tools/prerequisites build
	$(CARGO) build --release --locked --package netnice --package netnice-lab

demo: ## Compile netnice alone and see the difference on an emulated link: four minutes, needs root
	@tools/prerequisites build demo
	$(CARGO) build --profile demo --locked --package netnice --no-default-features
	$(SUDO) target/demo/netnice demo $(ARGS)

test: ## Run all tests; those of the running kernel ask for root
	@tools/prerequisites build demo containers
	@echo "compiling for some minutes; then tests, of which those called live_* take most of the time" >&2
	$(CARGO) test --locked --workspace --no-fail-fast $(RUNNER) $(ARGS)

test-unprivileged: ## Run the tests that need neither root nor a kernel of a certain kind
	@tools/prerequisites build
	NETNICE_TEST_LIVE=no $(CARGO) test --locked --workspace --no-fail-fast $(RUNNER) $(ARGS)

test-live: ## Run one file of live tests, as root: make test-live TEST=live_run, of which ARGS=NAME selects tests
	@tools/prerequisites build demo
	$(CARGO) test --locked $(RUNNER) --test $(TEST) -- $(ARGS)

test-kernels: ## Try it on Debian's kernels from 6.1 to the newest, and locked down, in qemu: half an hour, no root
	@tools/prerequisites build kernels
	tests/kernels/run $(ARGS)

outside: ## Measure netnice and rivals by programs of others over links of others, in qemu: half an hour, no root; ARGS=--keep
	@tools/prerequisites build kernels outside
	tests/outside/run $(ARGS)

upstream: ## Apply the patches for Linux to Debian's newest kernel, build them, and try them in qemu: an hour, no root
	@tools/prerequisites build kernels
	upstream/run $(ARGS)

$(PYTHON_ENVIRONMENT)/installed: python/requirements.lock
	@tools/prerequisites build python
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "the lock file is for Python 3.11 and later: set PYTHON=")'
	$(PYTHON) -m venv --clear $(PYTHON_ENVIRONMENT)
	$(PYTHON_ENVIRONMENT)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

wheel: $(PYTHON_ENVIRONMENT)/installed ## Build the Python package, for Python 3.9 and later: target/wheels/netnice-*.whl
	$(MATURIN) --release --out target/wheels

test-python: $(PYTHON_ENVIRONMENT)/installed ## Build the Python package for tests, install it in a virtual environment, and test it
	rm -rf target/python/wheels
	$(MATURIN) --profile dev --out target/python/wheels
	$(PYTHON_ENVIRONMENT)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall \
		target/python/wheels/*.whl
	cd python && ../$(PYTHON_ENVIRONMENT)/bin/mypy --cache-dir ../target/python/mypy
	cd python && ../$(PYTHON_ENVIRONMENT)/bin/pytest -q -p no:cacheprovider $(ARGS)

test-cluster: wheel ## Kill workers, schedulers and heads of Dask and Ray below a sweep of 10,000 runs, and compare: minutes
	$(PYTHON) -m venv --clear target/python-cluster
	for lock in requirements requirements-cluster; do \
		target/python-cluster/bin/pip install --quiet --disable-pip-version-check --require-hashes -r python/$$lock.lock || exit; \
	done
	target/python-cluster/bin/pip install --quiet --disable-pip-version-check --no-deps --no-index target/wheels/netnice-*.whl
	target/python-cluster/bin/python python/bench/cluster $(ARGS)

test-extending: ## Make the additions of docs/extending.md in a copy of the sources, compile and test them: minutes, no root
	@tools/prerequisites build
	tests/extending/run $(ARGS)

test-systemd: deb ## Install, reboot, upgrade and remove under systemd in a Debian 12: minutes, needs root; SUITE=trixie: 13; OTHER=another version
	@tools/prerequisites build demo systemd
	$(SUDO) env $(if $(SUITE),SUITE=$(SUITE)) tests/vm/systemd --netnice target/packages/root/netnice/usr/bin/netnice \
		--deb $$(ls -t target/packages/netnice_*.deb | head -n 1) $(if $(OTHER),--other $(OTHER)) $(ARGS)

test-ansible: deb ## Run the play for Ansible on a Debian 12 with systemd: minutes, needs root
	@tools/prerequisites build systemd ansible
	$(SUDO) tests/vm/ansible --deb $$(ls -t target/packages/netnice_*.deb | head -n 1) $(ARGS)

test-packages: ## Install the packages in clean roots of Debian 12 and 13 and Ubuntu 24.04, run the demo, remove them: minutes, needs root
	@tools/prerequisites build package packages
	packaging/build deb rpm tarball
	$(SUDO) tests/packages/clean-roots $(ARGS)

test-distributions: ## Compile all in clean roots with the compilers that Debian 12 and 13 have: half an hour, needs root
	@tools/prerequisites build packages
	mkdir -p target/clean-roots/cargo
	CARGO_HOME=target/clean-roots/cargo $(CARGO) fetch --locked
	$(SUDO) tests/packages/clean-roots --sources $(ARGS)

deb rpm tarball: ## Build netnice and netnice-lab as packages in target/packages: static programs, man pages, completions, units
	@tools/prerequisites build package
	packaging/build $@

release: ## Prepare release VERSION=0.2.0: version, changelog, checks, packages; commits, but neither tags nor pushes; DRY_RUN=1
	@tools/prerequisites build lint package
	packaging/release $(VERSION)

fuzz: ## Feed parser and simulator random input (cargo install cargo-fuzz): FUZZ_SECONDS=600 for each
	mkdir -p tools/fuzz/corpus/scenario_file tools/fuzz/corpus/engine
	$(CARGO) +nightly fuzz run --fuzz-dir tools/fuzz scenario_file tools/fuzz/corpus/scenario_file scenarios validation/ns2 -- \
		-max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=30
	$(CARGO) +nightly fuzz run --fuzz-dir tools/fuzz engine -- -max_total_time=$(FUZZ_SECONDS) -timeout=60 -rss_limit_mb=4096

chaos: ## Kill netnice at random moments and see what is left: minutes, needs root; CHAOS_ROUNDS=100, OTHER=another version
	@tools/prerequisites build demo
	$(CARGO) build --release --locked --package netnice --package netnice-lab
	$(SUDO) env CHAOS_ROUNDS=$(CHAOS_ROUNDS) tests/chaos/chaos --netnice target/release/netnice \
		$(if $(OTHER),--other $(OTHER)) $(ARGS)

test-nri: ## Have containerd 2 and 1.7 start pods with `netnice nri` as their plugin: minutes; needs Go, debootstrap and root
	@tools/prerequisites build demo containers systemd
	tests/nri/build target/nri
	$(CARGO) build --release --locked --package netnice
	$(SUDO) tests/nri/nri --netnice target/release/netnice --programs target/nri/bin $(ARGS)
	$(SUDO) tests/nri/nri --netnice target/release/netnice --programs target/nri/bin-1.7 $(ARGS)
	$(SUDO) tests/nri/nri --netnice target/release/netnice --programs target/nri/bin --systemd $(ARGS)

test-prometheus: ## Have Prometheus scrape `netnice exporter`, and try the dashboard: a minute, needs root and Debian's prometheus
	@tools/prerequisites build demo prometheus
	$(CARGO) build --release --locked --package netnice
	$(SUDO) tests/prometheus/prometheus --netnice target/release/netnice $(ARGS)

test-dashboard: ## Compare the dashboard with the types that Grafana publishes: a minute, needs npm
	tests/prometheus/dashboard $(ARGS)

peers: ## Send to peers that lie, with netnice and with cubic: two minutes, needs root
	@tools/prerequisites build demo
	$(CARGO) build --release --locked --package netnice
	$(SUDO) tests/peers/peers --netnice target/release/netnice $(ARGS)

prove: ## Prove what policies/proofs claims of netnice's control: half a minute
	tools/prove $(ARGS)

lint: ## Check style, common mistakes, and the licences and sources of crates
	@tools/prerequisites build lint
	@for manifest in $(MANIFESTS); do \
		$(CARGO) update --quiet --workspace --locked --manifest-path $$manifest || \
			{ echo "run cargo update --workspace --manifest-path $$manifest and commit the lock file" >&2; exit 1; }; \
	done
	$(CARGO) fmt --all -- --check
	$(CARGO) fmt --manifest-path python/Cargo.toml -- --check
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings
	clang-format --dry-run -Werror $(C_SOURCES)
	target/ruff/bin/ruff check $(PYTHON_SOURCES)
	target/ruff/bin/ruff format --check $(PYTHON_SOURCES)
	tools/bench/ablation --check
	tools/bench/paths page --check
	tools/decisions --check
	tools/bench/quic page --check
	tests/outside/run page --check
	tests/extending/run --check
	shellcheck $(SCRIPTS)
	tools/check-links
	tools/layout
	tools/promises
	tools/wording
	for manifest in $(MANIFESTS); do \
		target/audit/bin/cargo-deny --manifest-path $$manifest --config tools/deny.toml --locked \
			check --hide-inclusion-graph licenses bans sources || exit; \
	done

audit: ## Compare the crates with RustSec's list of vulnerabilities, fetched or in ADVISORY_DB=DIRECTORY
	@tools/prerequisites build lint
	for manifest in $(MANIFESTS); do \
		target/audit/bin/cargo-audit audit --file $${manifest%.toml}.lock --deny warnings \
			$(if $(ADVISORY_DB),--no-fetch --db $(ADVISORY_DB)) || exit; \
	done

format: ## Format the sources
	@tools/prerequisites build lint
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path python/Cargo.toml
	clang-format -i $(C_SOURCES)
	target/ruff/bin/ruff format $(PYTHON_SOURCES)

pictures: build ## Draw docs/pictures anew, from simulations, tables and docs/data
	tools/pictures $(ARGS)

book: build ## Write the documentation as a book to target/book
	@command -v mdbook >/dev/null || { echo "make book needs mdBook: cargo install mdbook --locked" >&2; exit 1; }
	tools/cli-reference target/release/netnice
	mdbook build

compare-ns: build ## Compare the simulator with ns-2 and ns-3 (apt-get install ns2 libns3-dev), figures and speed
	validation/compare_ns2 $(ARGS)
	validation/compare_ns3 $(ARGS)
	validation/speed
	validation/farm

install: build ## Install both programs to /usr/local/bin, or below PREFIX
	for program in netnice netnice-lab; do \
		$(if $(DESTDIR),,$(SUDO)) install -D -s -m 755 target/release/$$program $(DESTDIR)$(PREFIX)/bin/$$program || exit; \
	done
