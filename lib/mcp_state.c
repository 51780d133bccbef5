/* MAC "." payload. */
#include "mcp_state.h"

#include <fcntl.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "io.h"

static const char key_name[] = "sbx-mcp.key";
static const int64_t lifetime_s = 60 * 60; /* a person who went for coffee comes back */
/* Other uses of the key, should there ever be one, get another word. */
static const char purpose[] = "sbx-mcp/request-state/1\n";
#define KEY_SIZE 32

static int open_home(const char *home, struct sbx_error *err)
{
	auto_fd top = home != NULL && home[0] == '/' ? open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (top < 0)
		return sbx_fail(err, SBX_CANNOT_CREATE, "cannot_create", "there is no HOME to keep a key in");
	auto_fd local = io_open_dir(top, ".local", IO_CREATE, err);
	return local < 0 ? -1 : io_open_dir(local, "state", IO_CREATE, err);
}

/* Two processes may begin at once; both take the file that one of them made. */
static int load_key(const char *home, struct secret *key, struct sbx_error *err)
{
	struct sbx_error missing = SBX_ERROR_INIT, exists = SBX_ERROR_INIT, unread = SBX_ERROR_INIT;
	unsigned char fresh[KEY_SIZE];
	auto_fd dir = open_home(home, err);

	if (dir < 0)
		return -1;
	auto_fd present = io_open_file(dir, key_name, IO_PRIVATE, &missing);
	if (present < 0) {
		io_random(fresh, sizeof fresh);
		if (io_create_file(dir, key_name, fresh, sizeof fresh, &exists) < 0 &&
		    strcmp(exists.code, "exists") != 0) {
			*err = exists;
			return -1;
		}
		explicit_bzero(fresh, sizeof fresh);
		present = io_open_file(dir, key_name, IO_PRIVATE, err);
	}
	if (present < 0)
		return -1;
	if (secret_read_fd(key, present, KEY_SIZE, &unread) < 0 && unread.class != SBX_BAD_REQUEST) {
		*err = unread;
		return -1;
	}
	return key->len == KEY_SIZE ? 0
				    : sbx_fail(err, SBX_CONFIG, "unsafe_file",
					       "the key for questions is not %d bytes long", KEY_SIZE);
}

static int mac_of(const struct secret *key, const char *payload, size_t len, char hex[DIGEST_HEX_SIZE],
		  struct sbx_error *err)
{
	unsigned char mac[DIGEST_SIZE];
	auto_buf text = BUF_INIT(2 * LIMIT_CALL);

	if (buf_add_str(&text, purpose, err) < 0 || buf_add(&text, payload, len, err) < 0)
		return -1;
	digest_hmac(key, text.data, text.len, mac);
	digest_to_hex(mac, sizeof mac, hex);
	return 0;
}

static int digest_call(const char *tool, jv asked, char hex[DIGEST_HEX_SIZE], struct sbx_error *err)
{
	auto_jv call = json_set_str(jv_object(), "tool", tool);

	call = json_set(take_jv(&call), "params", jv_copy(asked));
	return json_digest(call, hex, err);
}

int mcp_state_seal(const char *home, const char *tool, jv asked, const struct mcp_answers *answers, struct buf *out,
		   struct sbx_error *err)
{
	auto_secret key = SECRET_INIT;
	auto_buf payload = BUF_INIT(MCP_STATE_MAX - DIGEST_HEX_SIZE);
	char call[DIGEST_HEX_SIZE], mac[DIGEST_HEX_SIZE];

	if (load_key(home, &key, err) < 0 || digest_call(tool, asked, call, err) < 0)
		return -1;
	auto_jv held = json_set_str(jv_object(), "call", call);
	held = json_set_int(take_jv(&held), "until", clock_seconds() + lifetime_s);
	held = json_set(take_jv(&held), "params", jv_copy(answers->params));
	held = json_set(take_jv(&held), "done", jv_copy(answers->done));
	if (json_write(held, &payload, err) < 0 || mac_of(&key, payload.data, payload.len, mac, err) < 0)
		return -1;
	return buf_addf(out, err, "%s.%s", mac, buf_str(&payload));
}

int mcp_state_open(const char *home, const char *tool, jv asked, const char *state, struct mcp_answers *answers,
		   struct sbx_error *err)
{
	auto_secret key = SECRET_INIT;
	size_t hex_len = DIGEST_HEX_SIZE - 1, len = strlen(state);
	char call[DIGEST_HEX_SIZE], mac[DIGEST_HEX_SIZE];
	auto_jv held = jv_invalid();
	int64_t until = 0;

	if (len <= hex_len || state[hex_len] != '.')
		return mcp_bad_state(err);
	const char *payload = state + hex_len + 1;
	size_t payload_len = len - hex_len - 1;
	if (load_key(home, &key, err) < 0 || mac_of(&key, payload, payload_len, mac, err) < 0 ||
	    digest_call(tool, asked, call, err) < 0)
		return -1;
	if (!digest_equal((const unsigned char *)mac, (const unsigned char *)state, hex_len))
		return mcp_bad_state(err);
	if (json_parse(payload, payload_len, LIMIT_CALL, &held, err) < 0)
		return -1;
	const char *bound = json_str(held, "call");
	if (bound == NULL || strcmp(bound, call) != 0 || json_int(held, "until", &until) < 0 ||
	    until < clock_seconds() || until > clock_seconds() + lifetime_s)
		return mcp_bad_state(err);
	answers->params = json_object(held, "params");
	answers->done = json_object(held, "done");
	return jv_is_valid(answers->params) && jv_is_valid(answers->done) ? 0 : mcp_bad_state(err);
}
