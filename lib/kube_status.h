/* What the status of an API server's answer says of the credential that asked: 401 and 403 are its refusal, 200 and 404
 * are not (who may not look is not told that there is nothing); of any other nothing is known. */
#ifndef SBX_KUBE_STATUS_H
#define SBX_KUBE_STATUS_H

static inline int kube_status_is_refusal(int status)
{
	return status == 401 || status == 403;
}

static inline int kube_status_is_taken(int status)
{
	return status == 200 || status == 404;
}

#endif
