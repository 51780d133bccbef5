/* What in an object of a cluster is secret: nothing of it may be shown.
 *   data, stringData and annotations of a Secret, whole (tokens of service accounts and Helm's releases are Secrets),
 *   also of one that is a part of another object; stringData of whatever there is; binaryData of a ConfigMap, which
 *   nobody can read;
 *   the annotation kubectl.kubernetes.io/last-applied-configuration, which repeats the object, and those of other tools
 *   that do;
 *   a text in a member whose name says so (password, token, secret, api key, credential, ...), but what is named by a
 *   name, a reference or a path (secretName, tokenPath);
 *   the value beside such a name ({"name": "DB_PASSWORD", "value": ...}), and an argument with one (--token=...), or
 *   behind one;
 *   a text that shows that it is one, or holds one (secret_text_is), but no image.
 * What is secret by these is shown in no other place either, where people write what they like. Where the API gives a
 * text its meaning (an image, an account, a path of the node, a number of copies) it is shown all the same: else
 * whoever writes the object could hide what it runs, by an annotation that says the same under the name of a secret. */
#ifndef SBX_SECRET_MASK_H
#define SBX_SECRET_MASK_H

#include "kplan_object.h"
#include "plan_place.h"
#include "plan_value.h"

/* MASK (initialised) becomes a tree of truth values beside TREE, the object of type TYPE; empty when nothing is secret.
 * "no_memory" (71), "too_large" (65). */
int secret_mask(struct plan_tree *mask, const struct plan_tree *tree, const struct buf *type, struct sbx_error *err);

/* 1 when the value of so many PLACES in TREE is secret by these rules, or has something in it that is, though nobody
 * says so of it; numbers and truth values are not secret by their own name. Also when there is no memory to find out.
 */
int secret_mask_hides(const struct plan_tree *tree, const struct plan_place *places, unsigned count);

/* NODE (NULL: nothing) of TREE as it is shown, COUNT places from the root of the object that MASK is of. */
struct plan_value secret_mask_value(const struct plan_tree *tree, const struct plan_node *node,
				   const struct plan_tree *mask, const struct plan_place *way, unsigned count);

/* Remember what MASK hides in TREE, as it stands there, decoded where it is the data of a Secret, and what the last
 * applied configuration held, so that none of it is shown where it turns up elsewhere. */
int secret_mask_keep(struct plan_secrets *secrets, const struct plan_tree *tree, const struct plan_tree *mask,
		    const struct buf *type, struct sbx_error *err);

#endif
