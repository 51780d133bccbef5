/* What plan.c and plan_sweep.c share: what lies in state/plans/ beside the plans themselves. Nothing else includes
 * this. */
#ifndef SBX_PLAN_KEPT_H
#define SBX_PLAN_KEPT_H

#define PLAN_HALF_MADE ".new-" /* prefix of a directory that is not whole yet */
#define PLAN_TAKEN ".used-"    /* and of one that a run has taken */
#define PLAN_SWEPT ".swept"    /* its time is when somebody looked last for what has expired */

#endif
