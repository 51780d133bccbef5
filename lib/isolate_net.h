/* Places in a sandbox's network that lead out, one for each destination: its loopback interface carries the
 * destination's own address, so that names, certificates and kubeconfigs stay as they are, and a socket listens there
 * whose descriptor goes to the driver. Nothing else answers inside, for there is no other interface and no route. */
#ifndef SBX_ISOLATE_NET_H
#define SBX_ISOLATE_NET_H

#include "isolate.h"
#include "isolate_sys.h"

/* In the child, with all rights in its new namespaces: loopback up, addresses, listeners, and each listener's
 * descriptor sent over the socket CHANNEL in the order of what->listen. Nothing is done where there are none. */
int isolate_net(const struct isolate *what, int channel, struct isolate_failure *f);

/* In the caller: take them from CHANNEL into out->listeners (non-blocking, O_CLOEXEC) within DEADLINE (clock_mono_ms).
 * -1 when not all came. */
int isolate_net_take(size_t count, int channel, int64_t deadline, struct isolated *out);

#endif
