/* The harness of the stages. */
#include "filter.h"

#include <string.h>

#include "io.h"
#include "log.h"

const char *filter_stage(const struct filter *f)
{
	return call_stage_name(f->stage);
}

int filter_open(struct filter *f, const char *config_option, const int *keep, size_t keep_count, struct sbx_error *err)
{
	f->call = jv_invalid();
	if (start(f->name, config_option, keep, keep_count, START_REPLY, &f->started, err) < 0)
		return -1;
	f->is_unread = f->stage != CALL_POLICY && !f->is_alone;
	if (config_load(f->started.config, &f->config, err) < 0 || state_open(f->config.state, &f->state, err) < 0 ||
	    state_seal_key(&f->state, &f->key, err) < 0)
		return -1;
	f->is_unread = 0;
	return 0;
}

int filter_read(struct filter *f, struct sbx_error *err)
{
	auto_free char *text = NULL;
	size_t len;

	if (io_read_all(STDIN_FILENO, LIMIT_CALL, &text, &len, err) < 0) {
		if (err->class == SBX_BAD_REQUEST)
			err->class = SBX_PROTOCOL;
		return -1;
	}
	if (call_parse(text, len, SBX_PROTOCOL, &f->call, err) < 0)
		return -1;
	if (call_is_bare_error(f->call))
		return 1;
	if (call_verify(f->call, &f->key, f->state.installation, f->stage, err) < 0)
		return -1;
	f->run_fd = state_run_open(&f->state, call_id(f->call), err);
	if (f->run_fd < 0)
		return -1;
	f->stage_fd = state_stage_begin(f->run_fd, filter_stage(f), err);
	if (f->stage_fd < 0)
		return -1;
	return json_has(f->call, "error") ? 1 : 0;
}

static int write_object(struct filter *f, jv object, struct sbx_error *err)
{
	auto_buf text = BUF_INIT(2 * LIMIT_CALL);

	if (json_write(object, &text, err) < 0 || buf_add(&text, "\n", 1, err) < 0)
		return -1;
	if (text.len > LIMIT_CALL)
		return sbx_fail(err, SBX_BUG, "too_large", "the call grew past %zu bytes", LIMIT_CALL);
	if (io_write_all(f->started.reply_fd, buf_str(&text), text.len, err) < 0)
		return -1;
	/* A full disk can show at the close alone. */
	if (close(take_fd(&f->started.reply_fd)) < 0)
		return sbx_fail_errno(err, SBX_IO, "io_error", "cannot write the object");
	return 0;
}

int filter_finish(struct filter *f, jv call, struct sbx_error *err)
{
	struct sbx_error late = SBX_ERROR_INIT;
	auto_jv object = call;

	if (err->class != SBX_OK) {
		log_error(err);
		object = call_set_error(take_jv(&object), filter_stage(f), err);
	}
	if (call_seal(&object, &f->key, f->state.installation, f->stage, &late) < 0 ||
	    (!f->is_unfinished && state_stage_done(f->stage_fd, &late) < 0) ||
	    write_object(f, object, &late) < 0) {
		log_error(&late);
		return (int)late.class;
	}
	return (int)call_class(object);
}

int filter_pass(struct filter *f)
{
	struct sbx_error err = SBX_ERROR_INIT;

	if (!call_is_bare_error(f->call))
		return filter_finish(f, take_jv(&f->call), &err);
	if (write_object(f, f->call, &err) < 0) {
		log_error(&err);
		return (int)err.class;
	}
	return (int)call_class(f->call);
}

/* 1: the stage before had nothing to seal either: its bare error is the filter's call. */
static int read_bare_error(struct filter *f)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	auto_free char *text = NULL;
	size_t len;

	return io_read_all(STDIN_FILENO, LIMIT_CALL, &text, &len, &ignored) == 0 &&
	       call_parse(text, len, SBX_PROTOCOL, &f->call, &ignored) == 0 && call_is_bare_error(f->call);
}

int filter_refuse(struct filter *f, const struct sbx_error *err)
{
	struct sbx_error late = SBX_ERROR_INIT;

	if (f->is_unread && read_bare_error(f))
		return filter_pass(f);
	auto_jv object = call_bare_error(filter_stage(f), err);
	log_error(err);
	if (write_object(f, object, &late) < 0) {
		log_error(&late);
		return (int)late.class;
	}
	return (int)err->class;
}

void filter_close(struct filter *f)
{
	base_close_fd(&f->run_fd);
	base_close_fd(&f->stage_fd);
	secret_clear(&f->key);
	state_close(&f->state);
	config_clear(&f->config);
	jv_free(f->call);
	f->call = jv_invalid();
}
