/* What a run is to fetch, and where terraform gets it from. */
#include "sandbox_fetch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "call.h"
#include "fetched_room.h"
#include "io.h"
#include "sandbox_places.h"
#include "tf_run.h"

#define RC_FILE "terraformrc"

int sandbox_fetch_begin(struct prepared *p, const struct state *state, jv call, struct sbx_error *err)
{
	auto_jv fetch = json_object(p->run, "fetch"), workspace = json_object(p->run, "workspace");
	const char *principal = call_principal(call);

	p->job.fetches = tf_run_keeps(p->run, NULL) > 0;
	if (!p->job.fetches)
		return 0;
	/* What comes is larger than a cluster's way back, and its image has what it needs. */
	if (!tf_run_is_local(p->run)) {
		sbx_fail(err, SBX_CONFIG, "fetch_unsupported", "a tool that fetches runs with the local driver alone");
		return sbx_hint(err, "fetch with settings that say driver: local and this state directory; providers of a cluster "
				     "are in its image");
	}
	if (!jv_is_valid(fetch)) {
		sbx_fail(err, SBX_CONFIG, "fetch_unlisted", "the policy does not say what may be fetched");
		return sbx_hint(err, "list it under providers: and modules: in policy.yaml");
	}
	if (fetch_need_of(p->job.tree.fd, p->job.tree.size, json_str(workspace, "cwd"), &p->need, err) < 0)
		return -1;
	/* What no step keeps comes from elsewhere, such as a mirror. */
	if (!tf_run_keeps(p->run, SANDBOX_KEPT_PROVIDERS)) {
		jv_free(p->need.locked);
		p->need.locked = jv_array();
	}
	if (!tf_run_keeps(p->run, SANDBOX_KEPT_MODULES)) {
		jv_free(p->need.calls);
		p->need.calls = jv_array();
	}
	if (fetch_need_allowed(&p->need, fetch, err) < 0)
		return -1;
	return fetched_make_room(state, principal != NULL ? principal : "", 0, p->need.key, err);
}

/* Terraform's settings: providers come from what we show of the mirror, and of what was fetched, and from nowhere else. Where there is neither, that place does
 * not exist in the sandbox, so that only what is built into terraform can run: left to itself it would take programs out of the workspace (terraform.d/plugins),
 * which an agent may have put there. A fetch asks the registries, and looks into no such directory either. */
int sandbox_fetch_rc(struct prepared *p, const struct state *state, const char *call, int run_fd, struct sbx_error *err)
{
	static const char shown[] = "provider_installation {\n  filesystem_mirror {\n    path = \"" SANDBOX_MIRROR
				    "\"\n  }\n}\ndisable_checkpoint = true\n";
	static const char direct[] = "provider_installation {\n  direct {\n  }\n}\ndisable_checkpoint = true\n";
	const char *text = p->job.fetches ? direct : shown;

	if (json_str(p->run, "mirror") == NULL && !tf_run_is(p->run, p->seal))
		return 0;
	if (io_create_file(run_fd, RC_FILE, text, strlen(text), err) < 0)
		return -1;
	/* The sandbox may run as another user; on the host the directory above keeps everyone else out. */
	if (fchmodat(run_fd, RC_FILE, 0644, 0) < 0)
		return sbx_fail_errno(err, SBX_OS, "os_error", "cannot open %s to the sandbox", RC_FILE);
	if (asprintf(&p->rc, "%s/runs/%s/" RC_FILE, state->path, call) < 0) {
		p->rc = NULL;
		return sbx_fail(err, SBX_OS, "no_memory", "out of memory");
	}
	p->job.rc = p->rc;
	return 0;
}

void sandbox_fetch_show(struct prepared *p)
{
	const struct fetched *fetched = &p->fetched;

	if (json_length(fetched->providers) > 0)
		p->providers = jv_array_concat(jv_is_valid(p->providers) ? take_jv(&p->providers) : jv_array(),
					       jv_copy(fetched->providers));
	p->job.providers = p->providers;
	p->job.fetched = fetched->path;
	p->job.modules = (struct sandbox_file){.fd = fetched->modules_fd, .size = fetched->modules_size};
	memcpy(p->job.modules.sha256, fetched->modules_sha256, sizeof p->job.modules.sha256);
}
