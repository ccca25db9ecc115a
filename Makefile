# Each target is one command; tools/ holds what it does. CONTRIBUTING.md says how long each takes and what it needs.

.PHONY: run check test phpt cross apps soak memcheck bench bench-all fuzz install deb apt test-deb test-container test-on

# make test-on RELEASE [SUITE…]: the tests of this tree in another Debian, see tools/test-on. The words after it are no targets.
ifeq ($(firstword $(MAKECMDGOALS)),test-on)
WORDS := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(WORDS)
test-on:
	@tools/test-on $(WORDS)
$(WORDS): test-on
	@:
else

# Installs what is missing, builds, and serves the pop-up service of examples/popup on 127.0.0.1:8080.
run:
	@tools/run

# The quick checks: lints, unit tests, scripts under php and weft php, documents. The last line counts them.
check:
	@tools/check

# Installs what is missing, builds, runs every check and test; the last line counts them.
test:
	@tools/test

# php-src's own tests by stock PHP and by weft: make phpt DIRECTORIES="Zend/tests ext/spl".
phpt:
	@tools/phpt $(DIRECTORIES)

# WordPress, Symfony and Laravel with more visitors than in make test, and with memory compared at each switch.
apps:
	@tools/apps

# Ten minutes of mixed waits, computations, faults and cancellations: make soak SECONDS=600 MODE=coroutine (classic, push).
soak:
	@tools/soak $(or $(SECONDS),600) $(or $(MODE),coroutine)

# Instances and `weft php` under valgrind.
memcheck:
	@tools/memcheck

# Builds weft for arm64, and runs what qemu can of it; ends with 77 where the packages for it cannot be had.
cross:
	@tools/cross

# Measures weft beside other servers in less than ten minutes; see BENCHMARKING.md.
bench:
	@tools/packages build && bench/run quick

# All that can be measured, with all rounds: hours, on a quiet machine.
bench-all:
	@tools/packages build && bench/run all

# Fuzzes each parser for a while: make fuzz SECONDS=60.
fuzz:
	@tools/fuzz $(or $(SECONDS),30)

# Installs the binary and its PHP library: make install PREFIX=/usr/local.
install:
	@tools/install $(or $(PREFIX),/usr/local)

# Builds the Debian package of this release into target/deb.
deb:
	@tools/deb

# Makes an APT repository of the packages built so far, in target/apt.
apt:
	@tools/apt

# Installs, upgrades and removes the package in a fresh Debian; needs root and debootstrap.
test-deb:
	@tools/test-deb

# Makes the container image's root file system by deploy/Dockerfile's steps, and runs it; needs root and debootstrap.
test-container:
	@tools/test-container
endif
