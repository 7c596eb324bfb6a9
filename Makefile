# make run       installs missing packages, builds, runs the quickstart study and prints the path of its report
# make check     runs the linters and the fast tests of what changed since the last check
# make test      runs all tests and linters, as continuous integration does
# make test-long runs the exhaustive variants of the tests, too
# make docs      builds the documentation site in target/site
# make dist      builds the wheels and the source distribution in target/dist
# make release VERSION=X.Y.Z    tests, commits, tags and builds a version; does not push

PYTHON ?= python3
VENV := .venv
AIRTOLL := $(VENV)/bin/airtoll
STUDY ?= studies/quickstart.toml

# One make at a time works in a checkout: the first make holds a lock, and runs the goals in a second make.
ifndef AIRTOLL_LOCKED
GOALS := $(or $(MAKECMDGOALS),run)
.PHONY: $(GOALS)
$(firstword $(GOALS)):
	+@tools/locked.sh $(MAKE) --no-print-directory $(GOALS)
$(wordlist 2,$(words $(GOALS)),$(GOALS)):
	@:
else

export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The versions that pass the tests; pyproject.toml has the allowed ranges.
export PIP_CONSTRAINT := $(abspath tools/constraints.txt)

# Without compiled modules, each start of the command takes a second more, and tests start it hundreds of times.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:

run: system-run build
	$(AIRTOLL) run $(STUDY)

build: $(VENV)/.installed $(VENV)/.built

# The Python packages of a first run. The other targets add the groups that they use: .dev, .rtl, .synth, .docs, .dist.
$(VENV)/.packages: pyproject.toml tools/constraints.txt tools/requirements.py
	@tools/system-packages.sh build
	@tools/prerequisites.sh $(PYTHON)
	@$(PYTHON) -m venv $(VENV)
	@tools/install.sh $(VENV) build
	@touch $@

# Only the metadata of the package and its command, which a build does not change.
$(VENV)/.installed: $(VENV)/.packages pyproject.toml Cargo.toml tools/build_backend.py | $(VENV)/.built
	@PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/python tools/explained.py pip install --no-deps --no-build-isolation --editable .
	@touch $@

RUST_SOURCES := Cargo.toml Cargo.lock tools/build.sh \
    $(wildcard crates/*/Cargo.toml crates/*/build.rs) $(shell find crates/*/src -name '*.rs')

# The version contains the commit. This file changes only when the commit changes.
$(VENV)/.commit: FORCE | $(VENV)/.packages
	@tools/commit.sh > $@.new
	@cmp -s $@.new $@ || cp $@.new $@

# The time is that of the start: a source that changed during the build is built next time.
$(VENV)/.built: $(VENV)/.packages $(VENV)/.commit $(RUST_SOURCES)
	@touch $@.started
	+@tools/build.sh $(VENV)/bin/python
	@mv $@.started $@

# Groups of Python packages that only some targets use.
$(VENV)/.dev $(VENV)/.rtl $(VENV)/.synth $(VENV)/.docs $(VENV)/.dist: $(VENV)/.packages | $(VENV)/.installed
	@tools/install.sh $(VENV) $(@:$(VENV)/.%=%)
	@touch $@

system-build system-run system-test system-bench system-rtl system-armv8 system-guest system-peers:
	@tools/system-packages.sh $(@:system-%=%)

# What changed since the last check. A check of Python uses the extension of the last build, because the build of a changed
# engine takes minutes.
check: $(if $(wildcard $(VENV)/.dev),,$(VENV)/.dev) target/checked/rust target/checked/python

define lint_rust
	cargo fmt --all --check
	+cargo clippy --workspace --all-targets --quiet -- -D warnings
endef

define lint_python
	$(VENV)/bin/python tools/modules.py
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python tools/prose.py
endef

# The linters, and the tests beside the code of the changed crates.
target/checked/rust: Cargo.toml Cargo.lock rustfmt.toml $(wildcard crates/*/Cargo.toml) \
    $(shell find crates fuzz -name target -prune -o -name '*.rs' -print)
	$(lint_rust)
	+RUSTDOCFLAGS="-D warnings" cargo doc $(PACKAGES) --no-deps --quiet
	+cargo test $(PACKAGES) --lib --quiet
	$(VENV)/bin/python tools/modules.py
	@mkdir -p $(@D) && touch $@

# The changed crates that have a library, or all crates.
part = $(word $1,$(subst /, ,$2))
libraries = $(sort $(foreach file,$(filter crates/%,$?),$(wildcard crates/$(call part,2,$(file))/src/lib.rs)))
PACKAGES = $(or $(foreach file,$(libraries),--package $(call part,2,$(file))),--workspace)

# The linters, some tests that neither send traffic nor start the command for each case, and the tests of what changed. The
# tests of a package have its name.
target/checked/python: pyproject.toml $(shell find python tests tools benches docs -name '*.py' -o -name '*.pyi' -o -name '*.md')
	$(lint_python)
	$(VENV)/bin/pytest --numprocesses 2 --dist loadfile -m 'not air and not long' \
	    $(sort $(addprefix tests/,$(FAST)) $(if $(wildcard $@),$(CHANGED)))
	@mkdir -p $(@D) && touch $@

FAST := course judge probes published study
CHANGED = $(foreach file,$(filter python/airtoll/%,$?),$(wildcard tests/$(basename $(call part,3,$(file))))) \
    $(foreach file,$(filter tests/%,$?),$(filter-out %.py,$(wildcard tests/$(call part,2,$(file)))))

# The tests of the hardware use one core for minutes: they start first, beside everything that compiles. The tests in Rust
# compile beside the Python packages, which use one core. The inner call of tested.sh runs before the tests.
test: system-build system-run system-test system-guest system-peers system-rtl
	$(MAKE) --no-print-directory --output-sync=target -j2 test-rtl test-rust guest lint docs test-miri
	$(MAKE) --no-print-directory test-python
	@tools/tested.sh $(shell tools/tested.sh)

# Everything in `test`, and the exhaustive variants: every width of the hardware, more cases of each property.
test-long: test
	+AIRTOLL_LONG=1 cargo test --package wlan-ciphers --package airtoll-fuzz --package airtoll-parquet \
	    --test engine --test smoke --test round_trip --quiet
	$(MAKE) -C rtl test-long
	AIRTOLL_HYPOTHESIS=long $(VENV)/bin/pytest --numprocesses 3 --dist loadfile

# With +, cargo uses make's job server instead of warning that it is unavailable. The tests of the hardware, which take
# longest on one core, wait for the Python package, so its build has priority.
test-rust:
	+nice -n 19 cargo test --workspace --quiet --no-run
	+nice -n 5 cargo test --workspace --quiet

# The engine of Armv8, in an emulator. Not part of `test`, because few toolchains have the target:
# rustup target add aarch64-unknown-linux-gnu
test-armv8: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER := aarch64-linux-gnu-gcc
test-armv8: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER := qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu
test-armv8: system-armv8
	+cargo test --quiet --target aarch64-unknown-linux-gnu --package wlan-ciphers \
	    --lib --test engine --test ccmp --test behaviour --test halves --test wep_tkip

# Looks for undefined behaviour in unsafe code and in parsers of untrusted input.
test-miri:
	+tools/miri.sh

$(VENV)/.synth: | $(VENV)/.rtl

rtl-tools: system-rtl build $(VENV)/.dev $(VENV)/.rtl
rtl-synth-tools: rtl-tools $(VENV)/.synth

test-rtl: rtl-tools
	$(MAKE) -C rtl test counts

# The static agent for hosts behind SSH, which the tests of these hosts and a first use of lab hosts require.
agent:
	+tools/agent.sh

# The guest of the virtual clock, if this machine can build one. Tests that require it are skipped without it.
guest: build system-guest
	-$(AIRTOLL) lab build

# Three processes on two cores, because many tests wait: for emulated air, timeouts and other programs.
test-python: build agent $(VENV)/.dev
	$(VENV)/bin/pytest --numprocesses 3 --dist loadfile -m 'not long'

# Fails on broken links and missing pages. The variable silences an advertisement.
docs: build $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "documentation: $(abspath target/site/index.html)"

lint: build $(VENV)/.dev
	$(lint_rust)
	+tools/no-std.sh
	+RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	$(lint_python)

# The wheels and the source distribution, in target/dist.
dist: $(VENV)/.dist
	tools/dist.sh $(abspath $(VENV))/bin/python

release: $(VENV)/.dist
	$(VENV)/bin/python tools/release.py $(VERSION)

bench: system-run build
	$(VENV)/bin/python benches/first_light.py $(if $(WRITE),--write $(WRITE))

bench-air: system-run system-bench build
	$(VENV)/bin/python benches/air.py --stored docs/measurements/air.md $(if $(WRITE),--write $(WRITE))

bench-link: system-run system-bench build
	$(VENV)/bin/python benches/link.py --stored docs/measurements/link-speed.md $(if $(WRITE),--write $(WRITE))

bench-studies: system-run build
	$(VENV)/bin/python benches/studies.py $(if $(WRITE),--write $(WRITE))

bench-validity: system-run guest
	$(VENV)/bin/python benches/validity.py $(if $(WRITE),--write $(WRITE))

bench-cards: build
	$(VENV)/bin/python benches/cards.py $(if $(WRITE),--write $(WRITE))

bench-papers: system-run guest
	$(VENV)/bin/python benches/papers.py $(if $(WRITE),--pages $(WRITE))

bench-hosts: system-run guest
	$(VENV)/bin/python benches/hosts.py $(if $(WRITE),--write $(WRITE))

bench-faults: system-test guest $(VENV)/.dev
	$(VENV)/bin/python benches/faults.py $(if $(WRITE),--write $(WRITE))

bench-decrypt: build
	$(VENV)/bin/python benches/decrypt.py --stored docs/measurements/decrypt-speed.md $(if $(WRITE),--write $(WRITE))

bench-coverage: build
	$(VENV)/bin/python benches/coverage.py $(if $(WRITE),--write $(WRITE))

bench-report: build
	$(VENV)/bin/python benches/report.py $(if $(WRITE),--write $(WRITE))

bench-virtual: system-run guest
	$(VENV)/bin/python benches/virtual_time.py $(if $(WRITE),--write $(WRITE))

bench-startup: build
	$(VENV)/bin/python benches/startup.py $(if $(WRITE),--write $(WRITE))

bench-agent: build
	$(VENV)/bin/python benches/agent.py $(if $(WRITE),--write $(WRITE))

# Both take hours: FUZZ_SECONDS per target, or one build and test run per mutant (PACKAGE selects a crate).
FUZZ_SECONDS ?= 900

fuzz:
	tools/fuzz.sh $(FUZZ_SECONDS)

mutants:
	cargo mutants --output target $(if $(PACKAGE),--package $(PACKAGE))

# The picture of the README: the top of the report REPORT.
picture:
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,1180 --virtual-time-budget=8000 \
	    --screenshot=$(abspath docs/images/report.png) file://$(abspath $(REPORT))

clean:
	cargo clean --quiet
	rm -rf $(VENV)

BUILD_PAGE := docs/measurements/build.md

bench-build: system-bench build
	$(VENV)/bin/python benches/build.py $(addprefix --stored ,$(wildcard $(BUILD_PAGE))) $(if $(WRITE),--write $(WRITE))

.PHONY: FORCE build run check test test-long agent docs picture dist release lint fuzz mutants clean guest rtl-tools rtl-synth-tools
.PHONY: $(addprefix bench,-build -air -link -cards -papers -hosts -faults -decrypt -coverage -report -startup -agent \
    -studies -virtual) bench
.PHONY: $(addprefix system-,build run test bench guest rtl armv8 peers) $(addprefix test-,rust armv8 miri python rtl)

endif
