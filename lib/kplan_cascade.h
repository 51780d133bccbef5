/* What goes with what is deleted, or made anew under another uid: objects that it owns, all that a namespace holds, all
 * of a kind whose definition goes, the pods of a node, and the volume of a claim that does not retain it. Filled in a
 * first pass from all entries, then settled, then asked in a second one. Memory is some 50 bytes for an object. */
#ifndef SBX_KPLAN_CASCADE_H
#define SBX_KPLAN_CASCADE_H

#include "kplan_entry.h"
#include "plan_place.h"

struct kplan_cascade {
	struct key_seed seed;
	struct plan_list edges;	   /* pairs: what goes, and what goes with it */
	struct hash_set going;	   /* what is deleted, and in the end what goes with that */
	struct hash_set changed;   /* objects that have an entry of their own */
	struct hash_set addresses; /* of these */
	struct hash_set retained;  /* claims whose volumes are kept */
	struct hash_set told;	   /* in the second pass: objects beside that were asked for */
	int is_whole;		   /* 1: everything that may go was given */
	uint64_t changes;
};

void kplan_cascade_init(struct kplan_cascade *cascade);
void kplan_cascade_clear(struct kplan_cascade *cascade);

/* First pass. "plan_malformed" (65) for an object that is changed twice, or an entry behind the end of those beside. */
int kplan_cascade_note(struct kplan_cascade *cascade, const struct kplan_entry *entry, struct sbx_error *err);
int kplan_cascade_settle(struct kplan_cascade *cascade, struct sbx_error *err);

/* Second pass, for an entry KPLAN_BESIDE: 1 when the object goes, and is asked for the first time; *WAY is the place in
 * it that says with what: at most KPLAN_WAY names and indexes, which are valid as long as the entry. */
enum { KPLAN_WAY = 4 };
struct kplan_way {
	struct plan_place places[KPLAN_WAY];
	unsigned count;
};
int kplan_cascade_takes(struct kplan_cascade *cascade, const struct kplan_entry *entry, struct kplan_way *way,
			struct sbx_error *err);

/* 1 when the data of an object that goes are known to stay, or are counted with another object: a claim whose volume is
 * kept, a volume that is kept, or goes with a claim that goes too, a namespace or kind whose content was given. */
int kplan_cascade_keeps_data(const struct kplan_cascade *cascade, const struct kplan_entry *entry);

#endif
