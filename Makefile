# sbx: one Makefile, no recursion; every output is under $(BUILD). `make help` lists the targets.

BUILD ?= build
PREFIX ?= /usr/local
ACCOUNT ?= sbx
CC ?= cc
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g1
# WERROR=1 (continuous integration) makes warnings fatal; SANITIZE=address,undefined builds with sanitizers.
WERROR ?=
SANITIZE ?=
# V=1 shows the commands.
V ?=
say = $(if $(V),,@echo '  $@';)

VERSION := 0.1.0

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

warnings := -Wall -Wextra -Wshadow -Wconversion -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wimplicit-fallthrough -Wswitch-enum -Wnull-dereference
cc-option = $(shell $(CC) -Werror $(1) -x c -c /dev/null -o /dev/null 2>/dev/null && echo $(1))
link-option = $(shell printf 'int main(void){return 0;}' | $(CC) $(1) -x c - -o /dev/null 2>/dev/null && echo $(1))
ifeq ($(SANITIZE),)
hardening := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
	$(call cc-option,-fstack-clash-protection) $(call cc-option,-fcf-protection) \
	$(call cc-option,-ftrivial-auto-var-init=zero)
else
hardening := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
SBX_CFLAGS := -std=c17 -D_GNU_SOURCE -DSBX_ACCOUNT='"$(ACCOUNT)"' -DSBX_VERSION='"$(VERSION)"' \
	-include lib/banned.h -fPIE -ffunction-sections -fdata-sections $(warnings) $(if $(WERROR),-Werror) $(hardening)
SBX_LDFLAGS := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--gc-sections $(if $(SANITIZE),-fsanitize=$(SANITIZE))

# Libraries by name. Debian's libjq has no pkg-config file.
lib_jq := -ljq
lib_crypto := $(shell $(PKG_CONFIG) --libs libcrypto 2>/dev/null || echo -lcrypto)
# static FLAGS,FUNCTION: the flags, when a program that calls the library's FUNCTION links with them. A library that the loader does not have to find costs nothing at each start.
static = $(shell printf 'int $(2)(void);int main(void){return $(2)();}' | $(CC) -x c - $(1) -o /dev/null 2>/dev/null && echo $(1))
lib_yaml := $(or $(call static,-l:libyaml.a,yaml_get_version),$(shell $(PKG_CONFIG) --libs yaml-0.1 2>/dev/null || echo -lyaml))
lib_sqlite3 := $(or $(call static,-l:libsqlite3.a -lm,sqlite3_libversion),$(shell $(PKG_CONFIG) --libs sqlite3 2>/dev/null || echo -lsqlite3))
# Of libcrypto most programs need SHA-256 alone: three objects of the static library.
lib_sha256 := $(or $(call static,-l:libcrypto.a,SHA256_Init),$(lib_crypto))
# Verifying signatures takes EVP and 3 MB of it: a millisecond at each start, so that one program does nothing else. Asked only where that is linked.
lib_evp = $(or $(call static,-l:libcrypto.a,EVP_Q_digest),$(lib_crypto))
lib_curl := $(shell $(PKG_CONFIG) --libs libcurl 2>/dev/null || echo -lcurl)
lib_seccomp := $(shell $(PKG_CONFIG) --libs libseccomp 2>/dev/null || echo -lseccomp)

# What each program links beside libc; held by test/tool/links.bats.
link_sbx-policy := jq yaml sha256
link_sbx-approve := sqlite3 jq yaml sha256
link_sbx-cred := jq yaml sha256
link_sbx-run := jq yaml sha256
link_sbx-audit := jq yaml sha256
link_sbx-plan := sha256
link_sbx-mcp := jq sha256
link_sbx-cred-jwt := jq yaml crypto
link_sbx-cred-vault := jq yaml curl sha256
link_sbx-cred-kubernetes := jq yaml curl sha256
link_sbx-run-kubernetes := jq yaml curl sha256
link_sbx-change-kubernetes := jq yaml curl sha256
link_sbx-witness := jq curl sha256
link_sbx-resolve :=

programs := sbx-policy sbx-approve sbx-cred sbx-run sbx-audit sbx-plan sbx-mcp
static_programs := sbx-call
helpers := sbx-change-kubernetes sbx-cred-jwt sbx-cred-kubernetes sbx-cred-vault sbx-resolve sbx-run-kubernetes sbx-witness
static_helpers := sbx-entry sbx-git sbx-run-local sbx-signed

bins := $(programs:%=$(BUILD)/bin/%) $(static_programs:%=$(BUILD)/bin/%) $(helpers:%=$(BUILD)/libexec/sbx/%) $(static_helpers:%=$(BUILD)/libexec/sbx/%)
lib_objects := $(patsubst lib/%.c,$(BUILD)/obj/%.o,$(wildcard lib/*.c))
archive := $(BUILD)/obj/libsbx.a
signals := $(BUILD)/share/sbx/signals.table
unit_tests := $(patsubst test/unit/%.c,$(BUILD)/test/%,$(wildcard test/unit/*_test.c))
test_tools := $(patsubst test/helpers/%.c,$(BUILD)/test/%,$(wildcard test/helpers/*.c)) $(BUILD)/test/sk_software.so
fuzz_programs := $(patsubst test/fuzz/%.c,$(BUILD)/test/%,$(wildcard test/fuzz/*_fuzz.c))
# Of these make test runs some.
test_fuzz_programs := $(patsubst %,$(BUILD)/test/%_fuzz,plan_read kplan_read plan_tree json_lex hcl tool_argv)
# Suites that take long, or want more than any machine has: make test-NAME runs test/NAME/*.bats.
suites := $(filter-out tool scenario,$(patsubst test/%/,%,$(sort $(dir $(wildcard test/*/*.bats)))))

.PHONY: all
all: $(bins) $(signals)

$(BUILD)/obj/%.o: lib/%.c Makefile
	@mkdir -p $(@D)
	$(say)$(CC) $(SBX_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/bin/%.o: bin/%.c Makefile
	@mkdir -p $(@D)
	$(say)$(CC) $(SBX_CFLAGS) -iquote lib $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The system call filters of the sandbox and of sbx-plan are compiled here, once, and not at each start.
$(BUILD)/gen/filter: lib/gen/filter.c lib/isolate_rules.c lib/isolate_rules.h lib/plan_calls.c lib/plan_calls.h Makefile
	@mkdir -p $(@D)
	$(say)$(CC) $(filter-out -fsanitize=% -fno-sanitize-recover=all,$(SBX_CFLAGS)) -iquote lib $(CFLAGS) -o $@ \
		lib/gen/filter.c lib/isolate_rules.c lib/plan_calls.c $(lib_seccomp)
$(BUILD)/gen/%_filter.inc: $(BUILD)/gen/filter
	@$< $* > $@
$(BUILD)/obj/isolate_seccomp.o $(BUILD)/static/isolate_seccomp.o: $(BUILD)/gen/isolate_filter.inc
$(BUILD)/obj/bin/sbx-plan.o: $(BUILD)/gen/plan_filter.inc
$(BUILD)/obj/isolate_seccomp.o $(BUILD)/static/isolate_seccomp.o $(BUILD)/obj/bin/sbx-plan.o: SBX_CFLAGS += -iquote $(BUILD)/gen

# The signal rules as sbx-plan reads them; their examples run here.
$(signals): $(BUILD)/bin/sbx-policy policy/signals $(wildcard policy/signals/*.yaml)
	@mkdir -p $(@D)
	@$< signals policy/signals $@
	@chmod 644 $@

sanitize_options := $(if $(SANITIZE),$(BUILD)/obj/sanitize_options.o)
$(BUILD)/obj/sanitize_options.o: test/sanitize_options.c
	@mkdir -p $(@D)
	$(say)$(CC) -Wall -Wextra $(CFLAGS) -c -o $@ $<

$(archive): $(lib_objects)
	@rm -f $@
	$(say)$(AR) rcs $@ $^

$(programs:%=$(BUILD)/bin/%): $(BUILD)/bin/%: $(BUILD)/obj/bin/%.o $(sanitize_options) $(archive)
	@mkdir -p $(@D)
	$(say)$(CC) $(CFLAGS) $(SBX_LDFLAGS) $(LDFLAGS) -o $@ $^ $(foreach l,$(link_$*),$(lib_$(l)))

$(helpers:%=$(BUILD)/libexec/sbx/%): $(BUILD)/libexec/sbx/%: $(BUILD)/obj/bin/%.o $(sanitize_options) $(archive)
	@mkdir -p $(@D)
	$(say)$(CC) $(CFLAGS) $(SBX_LDFLAGS) $(LDFLAGS) -o $@ $^ $(foreach l,$(link_$*),$(lib_$(l)))

# Static: the first process of a root that holds no library, and what starts on every call and needs none. Sanitizers need a dynamic program, so these are
# built without them.
static_outputs := $(static_helpers:%=$(BUILD)/libexec/sbx/%) $(static_programs:%=$(BUILD)/bin/%)
$(static_outputs): $(BUILD)/static/libsbx.a
$(static_helpers:%=$(BUILD)/libexec/sbx/%): $(BUILD)/libexec/sbx/%: $(BUILD)/static/bin/%.o
$(static_programs:%=$(BUILD)/bin/%): $(BUILD)/bin/%: $(BUILD)/static/bin/%.o
# libcrypto could load libraries and ask for names, which a static program had better not; sbx-signed asks it for neither, and the linker need not warn.
no_ld_warnings := -Wl,--no-warnings
$(BUILD)/libexec/sbx/sbx-signed: lib_static = $(call link-option,$(no_ld_warnings)) $(lib_evp)
lib_static = $(lib_sha256)
# The door reads settings; where libyaml is shared alone, it is an ordinary program.
$(BUILD)/bin/sbx-call: lib_static = $(lib_yaml) $(lib_sha256)
$(BUILD)/bin/sbx-call: static_kind = $(if $(filter -l:libyaml.a,$(lib_yaml)),-static-pie,-pie)
static_kind = -static-pie
$(static_outputs):
	@mkdir -p $(@D)
	$(say)$(CC) $(CFLAGS) $(static_kind) -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--gc-sections $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(lib_static)

static_modules := base64 boot buf clock config_path digest drive driver_fds egress_flow egress_list egress_relay env_name error frame frame_lines hash_set hidden io isolate isolate_limits isolate_mounts isolate_net isolate_remedy isolate_seccomp isolation json_keys json_lex json_lex_block json_lex_number \
	json_lex_skip json_lex_slow json_lex_text json_out log package pass_fd plan_part policy_files schema_name process relay review_quote secret setting signed_text signers spawn sshsig sshsig_check sshsig_key start state steps steps_read tf_lock tool_list tree tree_read tree_unpack wire ws_file yaml_lex yaml_walk $(patsubst lib/%.c,%,$(wildcard lib/entry_*.c))
# One of them is compiled otherwise for a static program. The others are the same objects, unless those have sanitizers in them.
static_modules_apart := $(if $(SANITIZE),$(static_modules),start)
static_cflags = $(filter-out -fsanitize=% -fno-sanitize-recover=all,$(SBX_CFLAGS)) -DSBX_STATIC -fPIE
$(BUILD)/static/libsbx.a: $(static_modules_apart:%=$(BUILD)/static/%.o) $(patsubst %,$(BUILD)/obj/%.o,$(filter-out $(static_modules_apart),$(static_modules)))
	@rm -f $@
	$(say)$(AR) rcs $@ $^
$(BUILD)/static/%.o: lib/%.c Makefile
	@mkdir -p $(@D)
	$(say)$(CC) $(static_cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/static/bin/%.o: bin/%.c Makefile
	@mkdir -p $(@D)
	$(say)$(CC) $(static_cflags) -iquote lib $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The code of the tests is compiled without optimization, which would take most of the time of a build; the modules under test are those of the programs.
test_cflags = $(filter-out -D_FORTIFY_SOURCE=%,$(SBX_CFLAGS)) $(CPPFLAGS) $(CFLAGS) -O0
# There are many of them: the faster linker, where there is one.
test_ldflags = $(SBX_LDFLAGS) $(LDFLAGS) $(gold)
gold := $(call link-option,-fuse-ld=gold)
lib_all = $(lib_jq) $(lib_yaml) $(lib_sqlite3) $(lib_crypto) $(lib_seccomp) $(lib_curl) -lm

$(BUILD)/obj/unit/%.o: test/unit/%.c Makefile
	@mkdir -p $(@D)
	$(say)$(CC) $(test_cflags) -iquote lib -iquote test/unit -MMD -MP -c -o $@ $<
$(unit_tests): $(BUILD)/test/%: $(BUILD)/obj/unit/%.o $(sanitize_options) $(archive)
	@mkdir -p $(@D)
	$(say)$(CC) $(CFLAGS) $(test_ldflags) -o $@ $^ $(lib_all)

# Programs that run inside a sandbox are static; tools of the tests that use our modules are not.
$(BUILD)/test/%: test/helpers/%.c
	@mkdir -p $(@D)
	$(say)$(CC) -std=c17 -D_GNU_SOURCE -Wall -Wextra $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) $(LDFLAGS) -static -o $@ $<

# The dispatcher's loop for valgrind.
$(BUILD)/test/mcpserve: test/helpers/mcpserve.c $(archive) $(sanitize_options)
	@mkdir -p $(@D)
	$(say)$(CC) $(SBX_CFLAGS) -iquote lib $(CPPFLAGS) $(CFLAGS) $(SBX_LDFLAGS) $(LDFLAGS) -Wl,--wrap=syscall -o $@ $< $(sanitize_options) $(archive) $(lib_jq) $(lib_sha256)

test_tools_with_modules := sksign sshverify mksteps canned mkrecord
$(test_tools_with_modules:%=$(BUILD)/test/%): $(BUILD)/test/%: test/helpers/%.c $(archive) $(sanitize_options)
	@mkdir -p $(@D)
	$(say)$(CC) $(test_cflags) -iquote lib $(test_ldflags) -o $@ $< $(sanitize_options) $(archive) $(lib_jq) $(lib_crypto)

# A library that ssh-keygen loads; that has no sanitizer.
$(BUILD)/test/sk_software.so: test/fakes/sk_software.c
	@mkdir -p $(@D)
	$(say)$(CC) -std=c17 -D_GNU_SOURCE -Wall -Wextra -fPIC -shared $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) $(LDFLAGS) -o $@ $< $(lib_crypto)

# The fuzz targets as programs of their own.
fuzz_flags = -iquote lib -DFUZZ_SIGNALS='"$(abspath $(signals))"' -DFUZZ_POLICY='"$(abspath policy)"'
$(BUILD)/obj/fuzz/%.o: test/fuzz/%.c Makefile
	@mkdir -p $(@D)
	$(say)$(CC) $(test_cflags) $(fuzz_flags) -MMD -MP -c -o $@ $<
$(fuzz_programs): $(BUILD)/test/%: $(BUILD)/obj/fuzz/%.o $(BUILD)/obj/fuzz/driver.o $(sanitize_options) $(archive)
	@mkdir -p $(@D)
	$(say)$(CC) $(CFLAGS) $(test_ldflags) -o $@ $^ $(lib_all)

$(BUILD)/test/mkplan: test/helpers/mkplan_kinds.h

$(BUILD)/test/wall: test/helpers/wall.c
	@mkdir -p $(@D)
	$(say)$(CC) -std=c17 -D_GNU_SOURCE -Wall -Wextra $(filter-out -fsanitize=%,$(CFLAGS)) -fPIC -shared -o $@ $<

$(BUILD)/test/jq: test/helpers/jq.c test/helpers/jq_filter.h
	@mkdir -p $(@D)
	$(say)$(CC) $(filter-out -fsanitize=% -fno-sanitize-recover=all,$(SBX_CFLAGS)) $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) $(LDFLAGS) -o $@ $< $(lib_jq)

-include $(wildcard $(BUILD)/obj/*.d $(BUILD)/obj/bin/*.d $(BUILD)/static/*.d $(BUILD)/static/bin/*.d $(BUILD)/obj/unit/*.d $(BUILD)/obj/fuzz/*.d)

.PHONY: deps demo test test-mcp test-sanitize fuzz audit check bench install uninstall clean help

deps:
	@scripts/deps test

# SBX_NO_INSTALL=1 only prints what would be installed, and stops when something is missing.
demo:
	@scripts/deps demo
	@$(MAKE) $(all_cores) --no-print-directory all
	@SBX_BUILD=$(abspath $(BUILD)) scripts/demo

demo-cluster:
	@scripts/deps demo
	@$(MAKE) $(all_cores) --no-print-directory all
	@SBX_BUILD=$(abspath $(BUILD)) scripts/demo-cluster
.PHONY: demo-cluster

test-build: all $(unit_tests) $(test_tools) $(test_fuzz_programs)
.PHONY: test-build
# What builds and then does something builds on all cores, unless its caller said on how many.
all_cores = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
sanitized := BUILD=$(BUILD)-sanitize SANITIZE=address,undefined CFLAGS='-O1 -g'

test:
	@scripts/deps test
	@$(MAKE) $(all_cores) --no-print-directory test-build
	@SBX_BUILD=$(abspath $(BUILD)) scripts/test

# A cluster for the driver sbx-run-kubernetes; scripts/up says which variables they take.
up verify: all
	@SBX_BUILD=$(abspath $(BUILD)) scripts/$@
down:
	@scripts/down
# Figures of a whole call on that cluster beside a bare Job, and how often the network probe is wrong there.
bench-cluster probe-cluster: test-build
	@SBX_BUILD=$(abspath $(BUILD)) scripts/$@
.PHONY: up verify down bench-cluster probe-cluster

test-mcp:
	@scripts/deps test
	@$(MAKE) $(all_cores) --no-print-directory test-build
	@SBX_BUILD=$(abspath $(BUILD)) scripts/test test/tool/sbx-mcp*.bats

# The official suites and clients (from npm and pip, installed below the build) and doors by ssh and sudo; what is not there is skipped, and said.
# CONFORMANCE is the directory with the bridge to the official suite.
CONFORMANCE ?= ../shared/conformance
test-conformance:
	@scripts/deps test
	@$(MAKE) $(all_cores) --no-print-directory test-build
	@CONFORMANCE=$(abspath $(CONFORMANCE)) SBX_BUILD=$(abspath $(BUILD)) scripts/test test/conformance

# 110,000 calls through the dispatcher.
test-load:
	@scripts/deps test
	@$(MAKE) $(all_cores) --no-print-directory test-build
	@$(MAKE) $(all_cores) --no-print-directory $(sanitized) $(BUILD)-sanitize/bin/sbx-mcp
	@SBX_BUILD=$(abspath $(BUILD)) scripts/test test/load

# accounts: real accounts, sudo and sshd in namespaces of their own (root). cluster: against the cluster of KUBECONFIG (an administrator's), what fakes
# cannot say (SBX_CLUSTER_SHARE=4: a quarter of its repetitions). heavy: hundreds of races, a kill or a failed system call at each step of each stage, and
# what is changed one thing at a time.
# oracle: sshsig against ssh-keygen in whole. remote: what is asked of clusters, Vaults and registries, with servers that fail on demand. FILES='run tools'
# takes these files of the suite alone.
.PHONY: $(suites:%=test-%)
# A cluster has one admission policy, which names one image, and one API server, which some files start anew: one file after the other.
test-cluster test-credential: export SBX_TEST_JOBS := 1
$(filter-out test-fuzz test-conformance test-load,$(suites:%=test-%)): test-%:
	@scripts/deps test $*
	@$(MAKE) $(all_cores) --no-print-directory test-build
	@SBX_BUILD=$(abspath $(BUILD)) scripts/test $(or $(FILES:%=test/$*/%.bats),test/$*)

# The same tests, and those of other suites that fail by what they are given, not by a clock; but for those of what has no sanitizers: the programs in and
# around the sandbox are static.
sanitized_heavy := calls sbx-approve-once sbx-cred-ends sbx-cred-jwt-forged sealed-plan sealed-plan-inside sealed-state
test-sanitize:
	@scripts/deps test
	@$(MAKE) $(all_cores) --no-print-directory $(sanitized) test-build
	@SBX_BUILD=$(abspath $(BUILD)-sanitize) scripts/test --with remote $(sanitized_heavy:%=--with heavy/%.bats) --without sbx-run-local sbx-entry sbx-signed links

# All fuzz targets over many changed inputs, with sanitizers; make fuzz goes on from there.
test-fuzz:
	@scripts/deps test
	@$(MAKE) $(all_cores) --no-print-directory $(sanitized) test-build fuzz-programs
	@SBX_BUILD=$(abspath $(BUILD)-sanitize) scripts/test test/fuzz
.PHONY: fuzz-programs
fuzz-programs: $(fuzz_programs) $(signals)

# libFuzzer over the parsers that read what comes from outside (needs clang); FUZZ_SECONDS each. The lexer reads blocks of a few bytes here, so that every
# token comes to stand across two.
FUZZ_SECONDS ?= 30
fuzz_targets := $(patsubst test/fuzz/%.c,$(BUILD)-fuzz/%,$(wildcard test/fuzz/*_fuzz.c))
fuzz_objects := $(patsubst lib/%.c,$(BUILD)-fuzz/obj/%.o,$(filter-out lib/isolate%.c lib/drive.c,$(wildcard lib/*.c)))
fuzz_cc = clang -std=c17 -D_GNU_SOURCE -DSBX_ACCOUNT='"$(ACCOUNT)"' -DSBX_VERSION='"$(VERSION)"' -DSBX_STATIC -include lib/banned.h -O1 -g \
	$(fuzz_flags) -DJSON_LEX_BLOCK=97
$(BUILD)-fuzz/obj/%.o: lib/%.c Makefile
	@mkdir -p $(@D)
	$(fuzz_cc) -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -MMD -MP -c -o $@ $<
$(BUILD)-fuzz/%: test/fuzz/%.c $(fuzz_objects)
	@mkdir -p $(@D)/corpus-$*
	$(fuzz_cc) -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o $@ $^ $(lib_all)
-include $(wildcard $(BUILD)-fuzz/obj/*.d)
fuzz: $(fuzz_targets) $(signals)
	@for target in $(fuzz_targets); do \
		$$target -max_total_time=$(FUZZ_SECONDS) -print_final_stats=0 $(BUILD)-fuzz/corpus-$$(basename $$target) test/corpus/plans test/corpus/hcl $(BUILD)/share/sbx || exit 1; done

# Show the record of the installation that the settings name.
audit: all
	@$(BUILD)/bin/sbx-audit show

check:
	@scripts/check

bench: test-build
	@SBX_BUILD=$(abspath $(BUILD)) scripts/bench

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/sbx $(DESTDIR)$(PREFIX)/share/sbx
	install -m 755 $(programs:%=$(BUILD)/bin/%) $(static_programs:%=$(BUILD)/bin/%) $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(helpers:%=$(BUILD)/libexec/sbx/%) $(static_helpers:%=$(BUILD)/libexec/sbx/%) $(DESTDIR)$(PREFIX)/libexec/sbx
	for section in $(sort $(subst .,,$(suffix $(wildcard man/*.?)))); do \
		install -d $(DESTDIR)$(PREFIX)/share/man/man$$section && \
		install -m 644 man/*.$$section $(DESTDIR)$(PREFIX)/share/man/man$$section || exit 1; done
	cp -r policy $(DESTDIR)$(PREFIX)/share/sbx/
	install -m 644 $(signals) $(DESTDIR)$(PREFIX)/share/sbx

uninstall:
	rm -f $(programs:%=$(DESTDIR)$(PREFIX)/bin/%) $(static_programs:%=$(DESTDIR)$(PREFIX)/bin/%) $(foreach m,$(notdir $(wildcard man/*.?)),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $m))/$m)
	rm -rf $(DESTDIR)$(PREFIX)/libexec/sbx $(DESTDIR)$(PREFIX)/share/sbx

clean:
	rm -rf $(BUILD) $(BUILD)-sanitize $(BUILD)-fuzz

help:
	@echo 'make            build everything below $(BUILD)'
	@echo 'make demo       install what is missing, build, and show the main job on this machine'
	@echo 'make demo-cluster  the same on the cluster of the current kubectl context'
	@echo 'make test       install what is missing, build, and run the tests'
	@echo 'make deps       install what building and testing needs'
	@echo 'make test-build build what the tests need; scripts/test FILE runs single test files'
	@echo 'make test-mcp   the tests of the MCP dispatcher alone'
	@echo 'make test-NAME  a suite that takes long or wants more than any machine has; NAME: $(suites)'
	@echo 'make test-sanitize  the tests with AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make fuzz       fuzz the parsers with libFuzzer (clang)'
	@echo 'make test-cluster  the tests that need a cluster, against $$KUBECONFIG'
	@echo 'make up         make the cluster of SBX_CONTEXT ready for sandboxes; make down takes it away'
	@echo 'make verify     prove that sandboxes are closed there'
	@echo 'make bench-cluster  a whole call there beside a bare Job; make probe-cluster: how often the network probe is wrong'
	@echo 'make audit      show the record'
	@echo 'make check      static checks: manual pages, shell scripts, layout rules'
	@echo 'make bench      figures, each as a ratio to a baseline measured beside it'
	@echo 'make install    to DESTDIR and PREFIX (default /usr/local); make uninstall takes it away'
	@echo 'variables: BUILD PREFIX DESTDIR ACCOUNT WERROR SANITIZE SBX_NO_INSTALL, and V=1, which shows the commands'
