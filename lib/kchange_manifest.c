/* One object out of YAML. */
#include "kchange_manifest.h"

#include <string.h>

#include "yaml_jv.h"

static int refuse(struct sbx_error *err, const char *why)
{
	return sbx_fail(err, SBX_BAD_REQUEST, "manifest_refused", "the manifest %s", why);
}

void kchange_manifest_clear(struct kchange_manifest *manifest)
{
	jv_free(take_jv(&manifest->object));
}

/* What else stands in metadata is the server's: with a uid or a version of one's own, what was seen would be bypassed.
 */
static int check_metadata(jv metadata, struct sbx_error *err)
{
	static const char *const allowed[] = {"name",	    "namespace",       "labels", "annotations",
					      "finalizers", "ownerReferences", NULL};
	auto_free char *unknown = json_unknown_key(metadata, allowed);
	char quoted[SBX_QUOTE_SIZE];

	if (json_has(metadata, "generateName")) {
		refuse(err, "has generateName, so that nobody can say which object it is");
		return sbx_hint(err, "give it a name");
	}
	if (unknown == NULL)
		return 0;
	refuse(err, "has a member of metadata that is the server's to say");
	return sbx_hint(err, "take out %s", sbx_quote(quoted, unknown, strlen(unknown)));
}

static int find_kind(struct kchange_manifest *m, struct sbx_error *err)
{
	const char *version = json_str(m->object, "apiVersion"), *kind = json_str(m->object, "kind");

	if (version == NULL || kind == NULL)
		return refuse(err, "is no object with apiVersion and kind");
	if (json_has(m->object, "items"))
		return refuse(err, "is a list: one object is applied at a time");
	m->name.kind = kchange_kind_for(kind, KCHANGE_APPLY, err);
	if (m->name.kind == NULL)
		return -1;
	/* A kind of another group may have the same name. */
	if (kchange_kind_find_in(kind, version) == NULL) {
		sbx_fail(err, SBX_BAD_REQUEST, "kind_refused", "no apply of this kind in this apiVersion");
		return sbx_hint(err, "sbx-change-kubernetes(8) lists the kinds and their versions");
	}
	return json_has(m->object, "status") ? refuse(err, "has a status, which is the server's to say") : 0;
}

static int find_name(struct kchange_manifest *m, const char *space, struct sbx_error *err)
{
	auto_jv metadata = json_object(m->object, "metadata");
	const char *own = json_str(metadata, "namespace");
	int is_in = m->name.kind->place == KCHANGE_IN_NAMESPACE;

	if (jv_get_kind(metadata) != JV_KIND_OBJECT)
		return refuse(err, "has no metadata");
	if (check_metadata(metadata, err) < 0)
		return -1;
	m->name.name = json_str(metadata, "name"); /* borrowed from the object, which holds metadata */
	m->name.space = is_in ? space : "";
	if (!kchange_is_name(m->name.name) || (is_in && !kchange_is_name(space)))
		return sbx_fail(err, SBX_BAD_REQUEST, "bad_object_name",
				"the manifest needs a name, and a namespace that is named for it");
	if (json_has(metadata, "namespace") && (!is_in || own == NULL || strcmp(own, space) != 0))
		return refuse(err, "is for another namespace");
	if (!is_in && space != NULL && strcmp(space, m->name.name) != 0)
		return refuse(err, "is for no namespace");
	return 0;
}

int kchange_manifest_read(struct kchange_manifest *m, const char *text, size_t len, const char *space,
			  struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;

	if (yaml_jv_parse(text, len, "the manifest", &m->object, &why) < 0) {
		sbx_fail(err, SBX_BAD_REQUEST, "manifest_refused", "%s", why.message);
		return why.hint[0] != '\0' ? sbx_hint(err, "%s", why.hint) : -1;
	}
	if (jv_get_kind(m->object) != JV_KIND_OBJECT)
		return refuse(err, "is no object with apiVersion and kind");
	return find_kind(m, err) < 0 || find_name(m, space, err) < 0 ? -1 : 0;
}

int kchange_manifest_request(const struct kchange_manifest *m, const struct kchange_object *live,
			     struct kchange_request *request, struct sbx_error *err)
{
	auto_jv metadata = json_object(m->object, "metadata");

	request->form = KCHANGE_APPLIED;
	if (m->name.space[0] != '\0')
		metadata = json_set_str(take_jv(&metadata), "namespace", m->name.space);
	metadata =
		json_set_str(take_jv(&metadata), "resourceVersion", live != NULL ? live->version : KCHANGE_NO_VERSION);
	if (live != NULL)
		metadata = json_set_str(take_jv(&metadata), "uid", buf_str(&live->names.uid));
	auto_jv whole = json_set(jv_copy(m->object), "metadata", take_jv(&metadata));
	if (kchange_kind_path(&request->path, m->name.kind, m->name.space, m->name.name, err) < 0)
		return -1;
	return json_write(whole, &request->body, err);
}
