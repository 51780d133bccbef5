/* Words of the review text that are read again: by the desk, and by sbx-entry where an image has a trust file. */
#ifndef SBX_REVIEW_WORDS_H
#define SBX_REVIEW_WORDS_H

#define REVIEW_INSTALLATION "Installation "
#define REVIEW_ASKED "Asked at "
#define REVIEW_UNTIL ", can be signed and used until "
#define REVIEW_NEEDS "Needs the signatures of "
#define REVIEW_VERIFIED "by a security key that checks who touches it"
#define REVIEW_PLAN_HEADING "\nApplies plan " /* the id follows, in quotes */

#define REVIEW_STEPS "\nRuns in the sandbox\n"
#define REVIEW_STEP "  step "
#define REVIEW_STEP_PROGRAM ": program "
#define REVIEW_STEP_WITH " with credentials, arguments"
#define REVIEW_STEP_WITHOUT " without credentials, arguments"
#define REVIEW_STEP_ARTIFACT " artifact "
#define REVIEW_STEP_LOCK " the lock that a dead call left"
#define REVIEW_STEP_CHECKS "; checks, and nothing begins unless it ends with 0"
#define REVIEW_STEP_UNLOCKS "; takes away that lock alone, and any other stays"
#define REVIEW_STEP_SEALS "; goes on only if it prints the state that was planned against"

#define REVIEW_NETWORK "  network: "
#define REVIEW_WORKSPACE "; workspace: "
#define REVIEW_DIRECTORY ", directory "
#define REVIEW_STATE "; Terraform state: "
#define REVIEW_ENVIRONMENT "  environment: "
#define REVIEW_IS " is " /* between a name and its value */

/* Digests: these, a blank, the digest in quotes. */
#define REVIEW_PLAN_FILE "  plan file"
#define REVIEW_TREE "  tree     "
#define REVIEW_LOCK "  lock file"
#define REVIEW_MODULES "  modules  "
#define REVIEW_PROGRAM "  program  "

#endif
