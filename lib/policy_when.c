/* when: rules, jq expressions that can only raise a tier or deny. They see the call and nothing else: every word that
 * is not on a short list is refused when the file is loaded, and evaluation happens in a child of its own with a budget
 * of processor time and memory. A rule that fails in any way denies. The one file beside json.c that includes libjq's
 * headers. */
#include <errno.h>
#include <fcntl.h>
#include <jq.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "clock.h"
#include "io.h"
#include "policy_impl.h"
#include "spawn.h"

static const long cpu_budget_us = 50 * 1000; /* for one evaluation */
static const long compile_budget_us =
	5 * 1000 * 1000; /* for libjq's own start: some 20 ms, and much more under a debugger */
static const uint64_t memory_more = (uint64_t)512 << 20; /* that the child may map beside what it has */
static const int64_t deadline_ms = 20 * 1000;		 /* of all rules of a tool, on a busy machine */
static const size_t expression_max = 2048;

/* --- the words of a rule --- */

static int word_is_known(const char *word, size_t len)
{
	static const char *const words[] = {
		"true",
		"false",
		"null",
		"and",
		"or",
		"not",
		"if",
		"then",
		"elif",
		"else",
		"end",
		"as",
		"any",
		"all",
		"map",
		"select",
		"length",
		"keys",
		"has",
		"contains",
		"inside",
		"startswith",
		"endswith",
		"test",
		"type",
		"tostring",
		"tonumber",
		"split",
		"join",
		"index",
		"unique",
		"sort",
		"add",
		"min",
		"max",
		"first",
		"last",
		"to_entries",
		"ltrimstr",
		"rtrimstr",
		"in",
		"values",
		"ascii_downcase",
		"flatten",
		"range",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
			return 1;
	return 0;
}

static size_t word_length(const char *p)
{
	static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	return *p >= '0' && *p <= '9' ? 0 : strspn(p, inside);
}

/* Past the string literal at P; NULL when it does not end, or holds "\(", which would be code. */
static const char *past_string(const char *p)
{
	for (p++; *p != '"'; p++) {
		if (*p == '\0' || (*p == '\\' && (*++p == '\0' || *p == '(')))
			return NULL;
	}
	return p + 1;
}

/* The place of the first thing that a rule may not hold; NULL when there is none. */
static const char *find_forbidden(const char *text)
{
	static const char marks[] = " \t\n()[]{}.,:;|=<>!+-*/%?0123456789";
	const char *p = text;

	while (*p != '\0') {
		size_t n = word_length(p);
		if (n > 0) {
			/* ".name" is a member; "$name" was bound by the rule itself, but for what libjq binds. */
			int is_member = p > text && p[-1] == '.' && (p - 1 == text || p[-2] != '.');
			int is_variable = p > text && p[-1] == '$';
			if (is_variable ? (*p == '_' || (n == 3 && memcmp(p, "ENV", n) == 0))
					: !is_member && !word_is_known(p, n))
				return p;
			p += n;
		} else if (*p == '"') {
			const char *end = past_string(p);
			if (end == NULL)
				return p;
			p = end;
		} else if (*p == '$' && word_length(p + 1) > 0) {
			p++;
		} else if (strchr(marks, *p) != NULL) {
			p++;
		} else {
			return p;
		}
	}
	return NULL;
}

int when_check_text(const struct schema *s, const struct yaml_at *at, const char *expression)
{
	if (strlen(expression) > expression_max)
		return schema_fail(s, at, NULL, "longer than %zu bytes", expression_max);
	const char *place = find_forbidden(expression);
	if (place == NULL)
		return 0;
	return schema_fail(s, at,
			   "a rule may use members, comparisons, and, or, not, if, any, all, map, select, length, has, "
			   "contains, startswith, "
			   "endswith, test, split and others that sbx-policy(5) lists; never env, input, now, import",
			   "byte %zu begins something that a rule may not use", (size_t)(place - expression) + 1);
}

/* --- in the child --- */

enum verdict { VERDICT_FALSE = 'f', VERDICT_TRUE = 't', VERDICT_BAD = 'b', VERDICT_COMPILED = 'c' };

static void ignore_message(void *context, jv message)
{
	(void)context;
	jv_free(message);
}

static void set_budget(long microseconds)
{
	struct itimerval budget = {.it_value = {.tv_sec = microseconds / 1000000, .tv_usec = microseconds % 1000000}};

	if (setitimer(ITIMER_PROF, &budget, NULL) < 0)
		_exit(1);
}

/* VALUE is [true] or [false], or VERDICT_BAD. */
static enum verdict read_verdict(jv value)
{
	auto_jv only = json_at(value, 0);
	jv_kind kind = jv_get_kind(only);

	if (json_length(value) != 1 || (kind != JV_KIND_TRUE && kind != JV_KIND_FALSE))
		return VERDICT_BAD;
	return kind == JV_KIND_TRUE ? VERDICT_TRUE : VERDICT_FALSE;
}

static jq_state *compile(const char *program)
{
	set_budget(compile_budget_us);
	jq_state *jq = jq_init();
	if (jq == NULL)
		_exit(1);
	jq_set_error_cb(jq, ignore_message, NULL);
	jq_set_attr(jq, jv_string("JQ_LIBRARY_PATH"), jv_array());
	if (!jq_compile(jq, program))
		_exit(1);
	return jq;
}

/* One byte of verdict for each of N results of PROGRAM, as long as nothing goes wrong. */
static void judge(int out, const char *program, jv input, int n)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	jq_state *jq = compile(program);

	jq_start(jq, jv_copy(input), 0);
	for (int i = 0; i < n; i++) {
		set_budget(cpu_budget_us);
		auto_jv value = jq_next(jq);
		char verdict = (char)read_verdict(value);
		if (io_write_all(out, &verdict, 1, &ignored) < 0 || verdict == VERDICT_BAD)
			_exit(1);
	}
}

/* Bytes of address space that the process has now; 0 when the kernel does not say. */
static uint64_t mapped_now(void)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	uint64_t pages;
	size_t len;

	if (io_read_file(AT_FDCWD, "/proc/self/statm", 4096, 0, &text, &len, &ignored) < 0)
		return 0;
	text[strcspn(text, " \n")] = '\0';
	if (io_parse_u64(text, 1, UINT32_MAX * (uint64_t)1024, &pages) < 0)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void limit_child(void)
{
	static char home[] = "HOME=/nonexistent", *environment[] = {home, NULL};
	const rlim_t most = mapped_now() + memory_more;
	const struct rlimit memory = {.rlim_cur = most, .rlim_max = most}, none = {.rlim_cur = 0};

	/* libjq compiles in whatever $HOME/.jq defines: a caller who never called start() must not decide what a rule
	 * means. */
	environ = environment;
	if (setrlimit(RLIMIT_AS, &memory) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &none) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* INPUT invalid: compile only, and say so. */
static _Noreturn void child_main(int out, const char *program, jv input, int n)
{
	static const char compiled = VERDICT_COMPILED;
	struct sbx_error ignored = SBX_ERROR_INIT;

	limit_child();
	int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (silent < 0 || dup2(silent, STDOUT_FILENO) < 0 || dup2(silent, STDERR_FILENO) < 0)
		_exit(1);
	if (jv_is_valid(input)) {
		judge(out, program, input, n);
	} else {
		compile(program);
		if (io_write_all(out, &compiled, 1, &ignored) < 0)
			_exit(1);
	}
	_exit(0);
}

/* --- in the parent --- */

/* At most N bytes from FD, until its end or the deadline; how many. */
static size_t read_verdicts(int fd, char *out, size_t n)
{
	const int64_t deadline = clock_mono_ms() + deadline_ms;
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	size_t got = 0;

	while (got < n) {
		int polled = poll(&ready, 1, clock_left_ms(deadline));
		if (polled < 0 && errno == EINTR)
			continue;
		ssize_t more = polled > 0 ? read(fd, out + got, n - got) : 0;
		if (more <= 0)
			break;
		got += (size_t)more;
	}
	return got;
}

/* The N verdicts of PROGRAM into OUT, which holds N + 1 bytes; fewer when the child came to an end before. */
static int judge_apart(const char *program, jv input, char *out, size_t n, struct sbx_error *err)
{
	auto_child child = CHILD_NONE;
	auto_fd reader = -1, writer = -1;
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot make a pipe");
	reader = pair[0];
	writer = pair[1];
	pid_t pid = fork();
	if (pid < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot start a process for a rule");
	if (pid == 0)
		child_main(writer, program, input, (int)n);
	child.pid = pid; /* ended and reaped with this scope */
	close(take_fd(&writer));
	out[read_verdicts(reader, out, n)] = '\0';
	return 0;
}

int when_compiles(const char *expression, struct sbx_error *err)
{
	auto_jv nothing = jv_invalid();
	char verdict[2];

	if (judge_apart(expression, nothing, verdict, 1, err) < 0)
		return -1;
	if (verdict[0] != VERDICT_COMPILED)
		return sbx_fail(err, SBX_CONFIG, "rule_failed", "a jq expression does not compile");
	return 0;
}

static int apply_rule(jv rule, char verdict, struct when_outcome *outcome, struct sbx_error *err)
{
	const char *name = json_str(rule, "name"), *deny = json_str(rule, "deny");
	enum tier tier;

	if (verdict == VERDICT_FALSE)
		return 0;
	if (verdict == VERDICT_TRUE && tier_parse(json_str(rule, "raise"), &tier) == 0) {
		if (tier > outcome->raise)
			outcome->raise = tier;
		jv raised = json_set_str(jv_object(), "name", name);
		outcome->raised = json_append(outcome->raised, json_set_str(raised, "tier", tier_name(tier)));
		return 0;
	}
	snprintf(outcome->denied, sizeof outcome->denied, "%s", name);
	if (verdict == VERDICT_TRUE)
		return sbx_fail(err, SBX_DENIED, "denied", "the rule \"%s\" denies this: %s", name, deny);
	sbx_fail(err, SBX_DENIED, "rule_failed", "the rule \"%s\" gave no answer, so the call is denied", name);
	return sbx_hint(err, "the operator mends its expression: it must give exactly one boolean within %ld ms",
			cpu_budget_us / 1000);
}

int when_evaluate(jv tool, jv input, struct when_outcome *outcome, struct sbx_error *err)
{
	auto_jv rules = json_array(tool, "when");
	auto_buf program = BUF_INIT(expression_max * 32);
	int n = json_length(rules);

	*outcome = (struct when_outcome){.raise = TIER_LOW, .raised = jv_array()};
	if (n == 0)
		return 0;
	/* One program, because libjq needs some 20 ms before it compiles anything: "[(A)],[(B)]". Each expression
	 * compiled alone when the policy was loaded, so none can close a bracket of ours. */
	for (int i = 0; i < n; i++) {
		auto_jv rule = json_at(rules, i);
		if (buf_addf(&program, err, "%s[(%s)]", i == 0 ? "" : ",", json_str(rule, "if")) < 0)
			return -1;
	}
	auto_free char *verdicts = calloc((size_t)n + 1, 1);
	if (verdicts == NULL)
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	if (judge_apart(buf_str(&program), input, verdicts, (size_t)n, err) < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		auto_jv rule = json_at(rules, i);
		/* Behind a rule that ended the child there is a NUL: no answer. */
		if (apply_rule(rule, verdicts[i], outcome, err) < 0)
			return -1;
	}
	return 0;
}

void when_outcome_clear(struct when_outcome *outcome)
{
	jv_free(outcome->raised);
	outcome->raised = jv_invalid();
}
