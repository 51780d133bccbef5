/* One run of the door, told to a person. */
#include "mcp_check.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "mcp_reply.h"
#include "words.h"

/* The door tries a sandbox, which on a busy machine takes seconds. */
static const int64_t wait_ms = 60 * 1000;
static const size_t page_max = (size_t)1 << 20, line_max = 800;

/* Until it has ended; -1 when it does not. */
static int wait_for(struct mcp_door *door, struct sbx_error *err)
{
	int64_t deadline = clock_mono_ms() + wait_ms, now = clock_mono_ms();

	while (!mcp_door_done(door, now)) {
		struct pollfd fds[MCP_DOOR_FDS];
		int64_t wakes = mcp_door_wakes(door);
		mcp_door_poll(door, MCP_DOOR_READ, fds);
		if (poll(fds, MCP_DOOR_FDS, clock_left_ms(wakes >= 0 && wakes < deadline ? wakes : deadline)) < 0 &&
		    errno != EINTR)
			return sbx_fail_errno(err, SBX_OS, "os_error", "cannot wait");
		now = clock_mono_ms();
		mcp_door_work(door, fds, now);
		if (now >= deadline)
			return sbx_fail(err, SBX_UNAVAILABLE, "door_failed", "the door does not answer");
	}
	return 0;
}

/* Nothing that could be shown: the door's own error, or that it is none of ours. */
static int explain(struct words *w, const struct mcp_reply *reply, const char *problem, jv object,
		   struct sbx_error *err)
{
	auto_jv error = json_object(object, "error");
	int64_t class = SBX_UNAVAILABLE;

	if (jv_is_valid(error)) {
		if (json_int(error, "class", &class) < 0 || !sbx_is_class(class))
			class = SBX_UNAVAILABLE;
		words_say(w, "door       missing  ");
		words_line(w, json_str(error, "message"), line_max);
		words_say(w, "\n");
		sbx_fail(err, (enum sbx_class) class, "door_failed", "the door refuses to answer");
		return json_str(error, "hint") != NULL ? sbx_hint(err, "%s", json_str(error, "hint")) : -1;
	}
	words_say(w, "door       missing  %s (status %d)", problem ? problem : "its answer is no survey",
		  reply->status);
	if (reply->last_line[0] != '\0') {
		words_say(w, "; its last words: ");
		words_quote(w, reply->last_line, line_max);
	}
	words_say(w, "\n");
	sbx_fail(err, SBX_UNAVAILABLE, "door_failed", "the door to the toolkit failed");
	return sbx_hint(err, "run the door by hand: echo check | DOOR");
}

static void say_entries(struct words *w, jv entries)
{
	for (int i = 0, n = json_length(entries); i < n; i++) {
		auto_jv entry = json_at(entries, i);
		const char *topic = json_str(entry, "topic"), *state = json_str(entry, "state");
		words_say(w, "%-10.10s %-8.8s ", topic ? topic : "?", state ? state : "?");
		words_line(w, json_str(entry, "text"), line_max);
		words_say(w, "\n");
	}
}

/* What becomes of a call of this tier. */
static const char *meaning(const char *tier)
{
	static const struct {
		const char *tier, *meaning;
	} known[] = {
		{"low", "runs"},
		{"medium", "runs, or waits for a person when its plan is not safe"},
		{"high", "waits for a person"},
		{"critical", "waits for a person"},
	};

	for (size_t i = 0; tier != NULL && i < ARRAY_LEN(known); i++)
		if (strcmp(tier, known[i].tier) == 0)
			return known[i].meaning;
	return "its tier is not known";
}

static void say_tools(struct words *w, jv tools)
{
	for (int i = 0, n = json_length(tools); i < n; i++) {
		auto_jv tool = json_at(tools, i);
		const char *tier = json_str(tool, "tier"), *title = json_str(tool, "title");
		words_say(w, "tool       ");
		words_line(w, json_str(tool, "name"), line_max);
		words_say(w, ": ");
		words_line(w, title ? title : json_str(tool, "description"), line_max);
		words_say(w, " (%s)\n", json_bool(tool, "usable") == 0 ? "cannot run here" : meaning(tier));
	}
}

int mcp_check(const struct mcp_door_command *command, struct buf *out, struct sbx_error *err)
{
	struct mcp_door door = MCP_DOOR_NONE;
	auto_words w = WORDS_INIT(page_max);
	auto_jv object = jv_invalid();

	words_say(&w, "door       ");
	for (size_t i = 0; command->argv[i] != NULL; i++) {
		words_say(&w, "%s", i > 0 ? " " : "");
		words_line(&w, command->argv[i], line_max);
	}
	words_say(&w, "\n");
	int result = mcp_door_start(&door, command, "check", NULL, err) < 0 ? -1 : wait_for(&door, err);
	if (result == 0) {
		const struct mcp_reply reply = {.text = door.overflow ? NULL : buf_str(&door.answer),
						.len = door.answer.len,
						.status = door.status,
						.last_line = door.last_line};
		const char *problem = mcp_reply_parse(&reply, &object);
		auto_jv entries = json_array(object, "check"), tools = json_array(object, "tools");
		if (!jv_is_valid(entries)) {
			result = explain(&w, &reply, problem, object, err);
		} else {
			say_entries(&w, entries);
			say_tools(&w, tools);
			if (json_bool(object, "usable") != 1)
				result = sbx_fail(err, SBX_CONFIG, "not_usable",
						  "some of what the tools need is missing");
		}
	}
	mcp_door_kill(&door);
	return buf_add(out, buf_str(&w.text), w.text.len, err) < 0 ? -1 : result;
}
