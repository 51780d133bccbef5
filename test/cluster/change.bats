# sbx-change-kubernetes against a real API server: each change previewed, judged, checked and sent; and what moved, refused by check and by the server.

load ../helpers

CHANGE=$SBX_LIBEXEC/sbx-change-kubernetes

setup() {
	[ -n "${KUBECONFIG:-}" ] || {
		echo 'KUBECONFIG must name a cluster'
		return 1
	}
	cd "$BATS_TEST_TMPDIR" || return 1
	# As sbx-cred writes it: readable by its owner alone.
	kubectl config view --raw --minify --flatten >kubeconfig
	chmod 600 kubeconfig
	export KUBECONFIG=$PWD/kubeconfig
	SPACE=sbx-change-$RANDOM$RANDOM
	kubectl create namespace "$SPACE" >/dev/null
	# Without it no pod is admitted.
	wait_until 10 kubectl --namespace="$SPACE" get serviceaccount default
}

teardown() {
	KUBECONFIG=$BATS_TEST_TMPDIR/kubeconfig
	[ -z "${ROLE-}" ] || kubectl delete clusterrolebinding,clusterrole "$ROLE" >/dev/null
	kubectl delete namespace "$SPACE" --wait=false >/dev/null
	[ -z "${NODE-}" ] || kubectl delete node "$NODE" --wait=false >/dev/null
	[ -z "${VOLUME-}" ] || kubectl delete persistentvolume "$VOLUME" --wait=false >/dev/null
}

kube() { kubectl --namespace="$SPACE" "$@" 3>&-; }

# deployment [REPLICAS [PASSWORD]]: none of its pods ever runs.
deployment() {
	cat <<-EOT
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: api}
		spec:
		  replicas: ${1:-0}
		  selector: {matchLabels: {app: api}}
		  template:
		    metadata: {labels: {app: api}}
		    spec:
		      nodeSelector: {sbx-change: nowhere}
		      containers: [{name: api, image: "localhost/none:1", env: [{name: DB_PASSWORD, value: ${2:-a-secret-of-one}}]}]
	EOT
}

make_deployment() {
	deployment "$@" | kube apply --server-side --field-manager=sbx -f - >/dev/null
	kube wait --for=jsonpath='{.status.observedGeneration}' deployment/api --timeout=20s >/dev/null
	steady
}

# steady [OBJECT]: controllers have written what they had to about it: the version stays the same for half a second.
version() { kube get "${1:-deployment/api}" -o jsonpath='{.metadata.resourceVersion}'; }
steady() {
	local one two
	for _ in {1..40}; do
		one=$(version "$@")
		sleep 0.5
		two=$(version "$@")
		[ "$one" != "$two" ] || return 0
	done
	return 1
}

# preview CHANGE ARGUMENT...: into plan; twice, and both times the same.
preview() {
	local change=$1
	shift
	rm -f plan again
	run_sbx 0 "$CHANGE" preview --change="$change" --out=plan "$@"
	said=$output
	run_sbx 0 "$CHANGE" preview --change="$change" --out=again "$@"
	cmp plan again
}

judge() { # what sbx-plan says of the plan, in $output
	run_sbx 0 sh -c '"$1" show plan | sbx-plan --format kubernetes' - "$CHANGE"
}

refused() { # CODE COMMAND...: by that code
	local code=$1 class
	shift
	class=$(sed -n "s/^\.It Er $code Pq //p" "$ROOT/man/sbx.7")
	run_sbx "$class" "$@"
	assert_contains "$stderr" "($code)"
}

field() { kube get "$1" -o jsonpath="$2"; }

# heartbeat OBJECT REASON: what reports about it does so.
heartbeat() {
	local before
	before=$(version "$1")
	kube patch "$1" --subresource=status --type=merge \
		--patch "{\"status\":{\"conditions\":[{\"type\":\"Told\",\"status\":\"True\",\"reason\":\"$2\"}]}}" >/dev/null
	[ "$(version "$1")" != "$before" ]
}

@test "scale: seen, judged, checked, sent once" {
	make_deployment 3
	local before
	before=$(version)
	preview scale --namespace="$SPACE" --kind=Deployment --name=api --replicas=1
	assert_equal "$(version)" "$before"
	# No plan is written over another.
	refused exists "$CHANGE" preview --change=scale --namespace="$SPACE" --kind=Deployment --name=api --replicas=0 --out=plan
	judge
	assert_json '[.verdict, .findings[0].signals[0], .findings[0].address] | join(" ")' "destructive capacity_shrink $SPACE/Deployment.apps/api"
	run_sbx 0 "$CHANGE" check plan
	assert_equal "$output$stderr" ""
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$output" "PATCH \"$SPACE/Deployment.apps/api\": 200 done"
	assert_equal "$(field deployment/api '{.spec.replicas}')" 1
	# The version is another one now: it is not done twice.
	refused object_moved "$CHANGE" send plan
}

@test "what was changed meanwhile is refused by check, with the difference, and by the server" {
	make_deployment 2
	preview scale --namespace="$SPACE" --kind=Deployment --name=api --replicas=5
	run_sbx 0 "$CHANGE" check plan
	deployment 3 another-secret-now | kube apply --server-side --field-manager=sbx -f - >/dev/null
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" "\"$SPACE/Deployment.apps/api\": \"spec.replicas\" (2 -> 3)"
	assert_contains "$stderr" '"spec.template.spec.containers[api].env[DB_PASSWORD].value" ((sensitive) -> another (sensitive))'
	refute_contains "$stderr" secret-
	refused object_moved "$CHANGE" send plan
	assert_equal "$(field deployment/api '{.spec.replicas}')" 3
}

@test "what was deleted and made anew is refused by check and by the server" {
	make_deployment
	preview restart --namespace="$SPACE" --kind=Deployment --name=api
	run_sbx 0 "$CHANGE" check plan
	kube delete deployment api >/dev/null
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" 'is not there any more'
	refused object_moved "$CHANGE" send plan
	make_deployment
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" 'was deleted, and another one has its name'
	refused object_moved "$CHANGE" send plan
	assert_equal "$(field deployment/api '{.spec.template.metadata.annotations}')" ""
}

@test "restart: the pods of a workload are made anew, each time" {
	make_deployment
	preview restart --namespace="$SPACE" --kind=Deployment --name=api
	judge
	assert_json '[.verdict, .counts.update] | join(" ")' "safe 1"
	run_sbx 0 "$CHANGE" send plan
	local first
	first=$(field deployment/api '{.spec.template.metadata.annotations.sbx/restarted-from}')
	[ -n "$first" ]
	steady
	preview restart --namespace="$SPACE" --kind=Deployment --name=api
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
	[ "$(field deployment/api '{.spec.template.metadata.annotations.sbx/restarted-from}')" != "$first" ]
}

# told CHANGE ARGUMENT...: the change is sent although something is reported about the object all the time.
told() {
	steady
	preview "$@"
	heartbeat deployment/api "$1"
	run_sbx 0 "$CHANGE" check plan
	heartbeat deployment/api "$1-again"
	run_sbx 0 "$CHANGE" send plan
}

@test "what is reported about an object is no change of it; its labels, owners and finalizers are" {
	local edit was
	make_deployment 2
	told scale --namespace="$SPACE" --kind=Deployment --name=api --replicas=3
	assert_equal "$(field deployment/api '{.spec.replicas}')" 3
	was=$(version)
	told restart --namespace="$SPACE" --kind=Deployment --name=api
	[ "$(field deployment/api '{.spec.template.metadata.annotations.sbx/restarted-from}')" -ge "$was" ]
	deployment 3 another >manifest
	told apply --namespace="$SPACE" --manifest=manifest
	assert_equal "$(field deployment/api '{.spec.template.spec.containers[0].env[0].value}')" another
	for edit in '{"labels":{"a":"b"}}' '{"annotations":{"a":"b"}}' '{"finalizers":["sbx.test/keep"]}' \
		'{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"kube-root-ca.crt","uid":"'"$(field configmap/kube-root-ca.crt '{.metadata.uid}')"'"}]}'; do
		steady
		preview restart --namespace="$SPACE" --kind=Deployment --name=api
		kube patch deployment api --type=merge --patch "{\"metadata\":$edit}" >/dev/null
		refused object_moved "$CHANGE" check plan
		assert_contains "$stderr" "\"metadata.$(jq -r 'keys[0]' <<<"$edit")"
		refused object_moved "$CHANGE" send plan
	done
	kube patch deployment api --type=merge --patch '{"metadata":{"finalizers":null,"ownerReferences":null}}' >/dev/null
	# There and back: it was written to, and its generation says so.
	steady
	preview restart --namespace="$SPACE" --kind=Deployment --name=api
	kube scale deployment api --replicas=4 >/dev/null
	kube scale deployment api --replicas=3 >/dev/null
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" 'there and back'
	told delete --namespace="$SPACE" --kind=Deployment --name=api
	assert_equal "$output" "DELETE \"$SPACE/Deployment.apps/api\": 200 done"
}

@test "apply: what becomes of an object by who keeps its fields is looked at again" {
	deployment 2 >manifest
	sed -i '$s/.*/      terminationGracePeriodSeconds: 7\n&/' manifest
	kube apply --server-side --field-manager=sbx -f manifest >/dev/null
	kube apply --server-side --field-manager=other -f manifest >/dev/null
	steady
	# Left out by us, it stays: somebody else wants it, too.
	deployment 2 | sed '0,/name: api}/s//name: api, labels: {by: us}}/' >manifest
	preview apply --namespace="$SPACE" --manifest=manifest
	judge
	assert_json .counts.update 1
	refute_contains "$output" terminationGrace
	deployment 2 | kube apply --server-side --field-manager=other -f - >/dev/null
	assert_equal "$(field deployment/api '{.spec.template.spec.terminationGracePeriodSeconds}')" 7
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" 'would become something else than was planned'
	assert_contains "$stderr" '"spec.template.spec.terminationGracePeriodSeconds" (7 -> 30)'
	refused object_moved "$CHANGE" send plan
	assert_equal "$(field deployment/api '{.spec.template.spec.terminationGracePeriodSeconds}')" 7
}

@test "apply: one object is created, and only where there is none" {
	deployment 2 >manifest
	preview apply --namespace="$SPACE" --manifest=manifest
	refused object_missing "$CHANGE" preview --change=scale --namespace="$SPACE" --kind=Deployment --name=api --replicas=1 --out=none
	judge
	assert_json '[.verdict, .counts.create] | join(" ")' "safe 1"
	refute_contains "$output" a-secret-of
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$output" "PATCH \"$SPACE/Deployment.apps/api\": 201 done"
	assert_equal "$(field deployment/api '{.spec.replicas}')" 2
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" 'is there now, and was not'
	refused object_moved "$CHANGE" send plan
}

@test "apply: one object is changed, and nothing is taken from another manager" {
	make_deployment 2
	deployment 2 another >manifest
	preview apply --namespace="$SPACE" --manifest=manifest
	judge
	assert_json .counts.update 1
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$(field deployment/api '{.spec.template.spec.containers[0].env[0].value}')" another
	kube scale deployment api --replicas=4 >/dev/null
	deployment 1 another >manifest
	refused field_conflict "$CHANGE" preview --change=apply --namespace="$SPACE" --manifest=manifest --out=none
	assert_contains "$stderr" '.spec.replicas'
	assert_equal "$(field deployment/api '{.spec.replicas}')" 4
}

@test "apply: what the server chooses by chance is not in the plan" {
	cat >manifest <<-EOT
		apiVersion: batch/v1
		kind: Job
		metadata: {name: once, namespace: $SPACE}
		spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "localhost/none:1"}]}}}
	EOT
	preview apply --namespace="$SPACE" --manifest=manifest
	assert_contains "$(cat plan)" '"controller-uid":"(chosen by the server)"'
	run_sbx 0 "$CHANGE" send plan
	[ "$(field job/once '{.metadata.uid}')" = "$(field job/once '{.metadata.labels.controller-uid}')" ]
	# What the server finds invalid it repeats, with the values: the fields alone are told.
	sed -i 's/"localhost.none:1"/&, env: [{name: TOKEN, value: hunter2hunter2}]/' manifest
	refused change_invalid "$CHANGE" preview --change=apply --namespace="$SPACE" --manifest=manifest --out=none
	assert_contains "$stderr" 'FieldValueInvalid spec.template'
	refute_contains "$stderr" hunter2
	# Nor what others keep in it, to whoever writes the name of an admission policy into it.
	kubectl apply --server-side --field-manager=other --namespace="$SPACE" --filename=- <<-EOT
		apiVersion: batch/v1
		kind: Job
		metadata: {name: theirs}
		spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "localhost/none:1", env: [{name: TOKEN, value: hunter2hunter2}]}]}}}
	EOT
	cat >manifest <<-EOT
		apiVersion: batch/v1
		kind: Job
		metadata: {name: theirs}
		spec: {template: {spec: {containers: [{name: c, command: ["ValidatingAdmissionPolicy 'p'"]}]}}}
	EOT
	refused change_invalid "$CHANGE" preview --change=apply --namespace="$SPACE" --manifest=manifest --out=none
	assert_contains "$stderr" 'FieldValueInvalid spec.template'
	refute_contains "$stderr" hunter2
}

# try_manifest CODE|ok: stdin is applied.
try_manifest() {
	cat >manifest
	rm -f plan
	if [ "$1" = ok ]; then
		run_sbx 0 "$CHANGE" preview --change=apply --namespace="$SPACE" --manifest=manifest --out=plan
	else
		refused "$1" "$CHANGE" preview --change=apply --namespace="$SPACE" --manifest=manifest --out=plan
		[ ! -e plan ]
	fi
}

@test "apply: what a manifest may be, and what it may not" {
	local map='apiVersion: v1
kind: ConfigMap
metadata: {name: delete-me}
data: {a: b}'
	try_manifest ok <<<"$map"
	try_manifest ok <<<'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"app":"x"}},"data":{"a":"null"}}'
	try_manifest ok <<<"${map/name: delete-me/name: delete-me, namespace: $SPACE}"
	try_manifest ok <<<"apiVersion: v1
kind: Namespace
metadata: {name: $SPACE, labels: {team: web}}"
	try_manifest manifest_refused <<<"$map
---
$map"
	try_manifest manifest_refused <<<"${map/\{a: b\}/&x \{a: b\}}"
	try_manifest manifest_refused <<<"${map/name: delete-me/generateName: delete-}"
	try_manifest manifest_refused <<<"${map/name: delete-me/name: delete-me, generateName: delete-}"
	try_manifest manifest_refused <<<"${map/name: delete-me/name: delete-me, namespace: kube-system}"
	try_manifest manifest_refused <<<"${map/name: delete-me/name: delete-me, uid: 00000000-0000-0000-0000-000000000001}"
	try_manifest manifest_refused <<<"${map/name: delete-me/name: delete-me, resourceVersion: \"1\"}"
	try_manifest manifest_refused <<<"$map
status: {}"
	try_manifest manifest_refused <<<"$map
items: []"
	try_manifest manifest_refused <<<"apiVersion: v1
kind: Namespace
metadata: {name: kube-system}"
	try_manifest bad_object_name <<<"${map/delete-me/..}"
	try_manifest bad_object_name <<<"${map/delete-me/..\/..\/secrets\/x}"
	try_manifest bad_object_name <<<"${map/name: delete-me/labels: \{a: b\}}"
	try_manifest change_invalid <<<"$map
spec: {}"
	try_manifest kind_refused <<<"${map/ConfigMap/Secret}"
	try_manifest kind_refused <<<"${map/ConfigMap/secret}"
	try_manifest kind_refused <<<"${map/ConfigMap/Node}"
	try_manifest kind_refused <<<"${map/v1/example.com\/v1}"
	local kind
	for kind in rbac.authorization.k8s.io/v1:ClusterRole apiextensions.k8s.io/v1:CustomResourceDefinition storage.k8s.io/v1:StorageClass \
		admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration v1:PersistentVolume v1:List example.com/v1:Thing apps/v1beta1:Deployment; do
		try_manifest kind_refused <<<"apiVersion: ${kind%:*}
kind: ${kind#*:}
metadata: {name: a}"
	done
}

@test "delete: a Deployment goes with its set and pods; another pod is no matter, another object is" {
	make_deployment 2
	kube wait --for=jsonpath='{.status.replicas}'=2 deployment/api --timeout=20s >/dev/null
	steady
	preview delete --namespace="$SPACE" --kind=Deployment --name=api
	judge
	assert_json '[.verdict, .counts.delete, ([.findings[].signals[]] | unique | join(","))] | join(" ")' "destructive 4 cascade,delete"
	[ -n "$(field deployment/api '{.metadata.uid}')" ]
	run_sbx 0 "$CHANGE" check plan
	# What a controller makes by itself, in place of another one of its kind.
	kube create -f - >/dev/null <<-EOT
		apiVersion: v1
		kind: ConfigMap
		metadata:
		  name: made
		  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: api, uid: $(field deployment/api '{.metadata.uid}'), controller: true}]
	EOT
	run_sbx 0 "$CHANGE" check plan
	kube create -f - >/dev/null <<-EOT
		apiVersion: v1
		kind: ConfigMap
		metadata:
		  name: loose
		  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: api, uid: $(field deployment/api '{.metadata.uid}')}]
	EOT
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" "\"$SPACE/ConfigMap/loose\": goes with it now, and did not"
	kube delete configmap loose >/dev/null
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$output" "DELETE \"$SPACE/Deployment.apps/api\": 200 done"
	wait_until 30 sh -c "[ -z \"\$(kubectl --namespace=$SPACE get deployments,replicasets,pods -o name)\" ]"
	refused object_moved "$CHANGE" send plan
}

@test "delete: neither what was changed, nor another one of its name" {
	kube create configmap delete-me --from-literal=a=b >/dev/null
	preview delete --namespace="$SPACE" --kind=ConfigMap --name=delete-me
	kube label configmap delete-me a=b >/dev/null
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" '"metadata.labels.a" ((nothing) -> "b")'
	refused object_moved "$CHANGE" send plan
	kube delete configmap delete-me >/dev/null
	kube create configmap delete-me --from-literal=a=b >/dev/null
	refused object_moved "$CHANGE" send plan
	kube get configmap delete-me >/dev/null
	preview delete --namespace="$SPACE" --kind=ConfigMap --name=delete-me
	run_sbx 0 "$CHANGE" send plan
	run kubectl --namespace="$SPACE" get configmap delete-me
	assert_contains "$output" NotFound
}

@test "delete: a pod of a name with 253 bytes" {
	local name
	name=$(printf 'a%.0s' {1..61}; printf '.%s' "$(printf 'b%.0s' {1..63})" "$(printf 'c%.0s' {1..63})" "$(printf 'd%.0s' {1..63})")
	assert_equal "${#name}" 253
	kube create -f - >/dev/null <<-EOT
		apiVersion: v1
		kind: Pod
		metadata: {name: $name}
		spec: {nodeSelector: {sbx-change: nowhere}, containers: [{name: c, image: "localhost/none:1"}]}
	EOT
	wait_until 10 sh -c "[ -n \"\$(kubectl --namespace=$SPACE get pod $name -o jsonpath='{.status.conditions}')\" ]"
	preview delete --namespace="$SPACE" --kind=Pod --name="$name"
	judge
	assert_json .counts.delete 1
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
}

# claim POLICY: a claim, bound to a volume of its own.
claim() {
	VOLUME=$SPACE-volume
	kube create -f - >/dev/null <<-EOT
		apiVersion: v1
		kind: PersistentVolume
		metadata: {name: $VOLUME}
		spec:
		  capacity: {storage: 1Mi}
		  accessModes: [ReadWriteOnce]
		  persistentVolumeReclaimPolicy: $1
		  storageClassName: ""
		  claimRef: {namespace: $SPACE, name: data}
		  hostPath: {path: /nonexistent}
		---
		apiVersion: v1
		kind: PersistentVolumeClaim
		metadata: {name: data}
		spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: $VOLUME, resources: {requests: {storage: 1Mi}}}
	EOT
	kube wait --for=jsonpath='{.status.phase}'=Bound persistentvolumeclaim/data --timeout=20s >/dev/null
	kube wait --for=jsonpath='{.status.phase}'=Bound "persistentvolume/$VOLUME" --timeout=20s >/dev/null
}

@test "delete: a claim takes its volume along, unless that is retained; and a policy that changed is told" {
	claim Delete
	preview delete --namespace="$SPACE" --kind=PersistentVolumeClaim --name=data
	judge
	assert_json '[.data_destroyed, .counts.delete] | join(" ")' "1 2"
	kubectl patch persistentvolume "$VOLUME" --patch '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}' >/dev/null
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" "\"PersistentVolume/$VOLUME\": goes with it, and is not as it was"
	preview delete --namespace="$SPACE" --kind=PersistentVolumeClaim --name=data
	judge
	assert_json '[.data_destroyed, .counts.delete] | join(" ")' "0 1"
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
}

@test "delete: a namespace, with all that is in it, and no data of a Secret" {
	local other=$SPACE
	kube create secret generic db --from-literal=password=hunter2hunter2 >/dev/null
	claim Delete
	preview delete --kind=Namespace --name="$SPACE"
	refute_contains "$(cat plan)" aHVudGVy
	judge
	for address in "Namespace/$other" "$other/Secret/db" "$other/PersistentVolumeClaim/data" "PersistentVolume/$VOLUME" "$other/ServiceAccount/default"; do
		assert_json "[.findings[] | select(.address == \"$address\")] | length" 1
	done
	assert_json '[.data_destroyed, ([.findings[].signals[]] | index("cascade_unknown"))] | join(" ")' "1 "
	run_sbx 0 "$CHANGE" check plan
	kube create configmap late >/dev/null
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" "\"$other/ConfigMap/late\": goes with it now, and did not"
}

# node: one that no kubelet serves, and to which nothing is scheduled.
node() {
	NODE=$SPACE-node
	kubectl create -f - >/dev/null <<-EOT
		apiVersion: v1
		kind: Node
		metadata: {name: $NODE, labels: {sbx-change: agents}}
		spec: {taints: [{key: sbx-change, effect: NoSchedule}]}
	EOT
	steady "node/$NODE"
}

@test "cordon and uncordon: a node's heartbeat is no change, its specification is" {
	node
	preview cordon --name="$NODE"
	judge
	assert_json '[.verdict, (.findings[0].signals | index("cluster_part") != null)] | join(" ")' "review true"
	kubectl annotate node "$NODE" pool=1 >/dev/null
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" '"metadata.annotations.pool" ((nothing) -> "1")'
	refused object_moved "$CHANGE" send plan
	steady "node/$NODE"
	preview cordon --name="$NODE"
	heartbeat "node/$NODE" KubeletReady
	run_sbx 0 "$CHANGE" check plan
	heartbeat "node/$NODE" KubeletReadyStill
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$output" "PATCH \"Node/$NODE\": 200 done"
	assert_equal "$(field "node/$NODE" '{.spec.unschedulable}')" true
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" '"spec.unschedulable" ((nothing) -> true)'
	wait_until 10 sh -c "kubectl get node $NODE -o jsonpath='{.spec.taints}' | grep -q unschedulable"
	steady "node/$NODE"
	preview uncordon --name="$NODE"
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$(field "node/$NODE" '{.spec.unschedulable}')" ""
	# Another node of this name is another uid.
	steady "node/$NODE"
	preview cordon --name="$NODE"
	kubectl delete node "$NODE" >/dev/null
	node
	refused object_moved "$CHANGE" check plan
	refused object_moved "$CHANGE" send plan
	assert_equal "$(field "node/$NODE" '{.spec.unschedulable}')" ""
}

# pod NAME [METADATA]: on the node, gone as soon as it is evicted.
pod() {
	kube create -f - >/dev/null <<-EOT
		apiVersion: v1
		kind: Pod
		metadata: {name: $1, labels: {app: $1}${2-}}
		spec: {nodeName: $NODE, terminationGracePeriodSeconds: 0, containers: [{name: c, image: "localhost/none:1"}]}
	EOT
}

@test "drain: an eviction of each pod that was seen; those of the node and of DaemonSets stay" {
	node
	pod one
	pod two
	pod mirror ', annotations: {kubernetes.io/config.mirror: x}'
	kube create -f - >/dev/null <<-EOT
		apiVersion: apps/v1
		kind: DaemonSet
		metadata: {name: agent}
		spec:
		  updateStrategy: {type: OnDelete}
		  selector: {matchLabels: {app: agent}}
		  template:
		    metadata: {labels: {app: agent}}
		    spec: {nodeSelector: {sbx-change: agents}, containers: [{name: c, image: "localhost/none:1"}]}
	EOT
	pod agent ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: $(field daemonset/agent '{.metadata.uid}'), controller: true}]"
	preview drain --name="$NODE"
	assert_contains "$said" "\"$SPACE/Pod/mirror\": stays: the node runs it by itself"
	assert_contains "$said" 'stays: its DaemonSet would bring it back'
	judge
	assert_json '[.counts.update, .counts.delete] | join(" ")' "1 2"
	run_sbx 0 "$CHANGE" check plan
	pod three
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" "\"$SPACE/Pod/three\": is on the node now, and was not"
	kube delete pod three --force --grace-period=0 2>/dev/null >/dev/null
	# One that was deleted and made anew is not evicted; the others are.
	kube delete pod two --force --grace-period=0 2>/dev/null >/dev/null
	pod two
	refused object_moved "$CHANGE" check plan
	refused object_moved "$CHANGE" send plan
	assert_contains "$output" "POST \"$SPACE/Pod/one\": 201 done"
	assert_contains "$output" "POST \"$SPACE/Pod/two\": 409 is another pod now, and was left"
	assert_equal "$(field "node/$NODE" '{.spec.unschedulable}')" true
	assert_equal "$(kube get pods --field-selector=spec.nodeName="$NODE" -o name | grep -vE 'agent' | tr '\n' ' ')" 'pod/mirror pod/two '
	preview drain --name="$NODE"
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
	assert_equal "$(kube get pods --field-selector=spec.nodeName="$NODE" -o name | grep -vE 'agent' | tr '\n' ' ')" 'pod/mirror '
}

@test "drain: a disruption budget that does not allow it is named" {
	node
	pod one
	kubectl patch pod one --namespace="$SPACE" --subresource=status --patch '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' >/dev/null
	kube create poddisruptionbudget keep-one --selector=app=one --min-available=1 >/dev/null
	kube wait --for=jsonpath='{.status.expectedPods}'=1 poddisruptionbudget/keep-one --timeout=20s >/dev/null
	refused eviction_refused "$CHANGE" preview --change=drain --name="$NODE" --out=plan
	assert_contains "$stderr" keep-one
	assert_contains "$stderr" "$SPACE/Pod/one"
	kube delete poddisruptionbudget keep-one >/dev/null
	preview drain --name="$NODE"
	run_sbx 0 "$CHANGE" send plan
}

@test "nothing is sent to another cluster than the plan's" {
	make_deployment
	preview scale --namespace="$SPACE" --kind=Deployment --name=api --replicas=1
	jq -c '.cluster.uid = "another"' plan >other
	refused other_cluster "$CHANGE" check other
	refused other_cluster "$CHANGE" send other
	assert_equal "$(field deployment/api '{.spec.replicas}')" 0
	# Nobody is there: what is not the plan's is not asked.
	sed 's#server: https://.*#server: https://127.0.0.1:1#' kubeconfig >elsewhere
	chmod 600 elsewhere
	KUBECONFIG=$PWD/elsewhere refused other_cluster "$CHANGE" send plan
	jq -c '.cluster.ca_sha256 = null' plan >other
	refused other_cluster "$CHANGE" send other
	run_sbx 0 "$CHANGE" send plan
}

# of_bearer TOKEN: KUBECONFIG is that of this token from here on.
of_bearer() {
	cat >narrow <<-EOT
		$(sed -n '1,/^contexts:/p' kubeconfig | sed '$d')
		contexts:
		- {name: sbx, context: {cluster: $(kubectl config view --minify -o jsonpath='{.clusters[0].name}'), user: sbx}}
		current-context: sbx
		users:
		- {name: sbx, user: {token: $1}}
	EOT
	chmod 600 narrow
	KUBECONFIG=$PWD/narrow
}

# rights ROLE [FILTER]: the token may do what sbx-change-ROLE of cluster/changes says, changed by FILTER.
rights() {
	KUBECONFIG=$PWD/kubeconfig kubectl create --dry-run=client -o json -f "$ROOT/cluster/changes/rbac.yaml" |
		command jq ".items[]? // . | select(.metadata.name == \"sbx-change-$1\") | .metadata = {name: \"$ROLE\"} | ${2:-.} | .rules |= map(select(.verbs != []))" |
		KUBECONFIG=$PWD/kubeconfig kubectl apply -f - >/dev/null
}
says() { # WORDS ARGUMENT...: what sbx-change-kubernetes ends with; a right takes a moment to be known
	rm -f plan
	run "$CHANGE" "${@:2}"
	[[ $output == *"$1"* && ($status -eq 0 || -n $1) ]]
}
without() { # ROLE RESOURCE VERB ARGUMENT...
	rights "$1" "(.rules[] | select(.resources | index(\"$2\")).verbs) -= [\"$3\"]"
	wait_until 10 says '(cluster_forbidden)' "${@:4}"
	rights "$1"
	wait_until 10 says '' "${@:4}"
}
deleted() { # how many objects a deletion of the Deployment is seen to be
	rm -f plan
	"$CHANGE" preview --change=delete "${of[@]}" --out=plan && "$CHANGE" show plan | sbx-plan --format kubernetes | jq .counts.delete
}
deletes() { [ "$(deleted)" = "$1" ]; }

@test "the rights of cluster/changes are enough, and each of them is needed" {
	local of=("--namespace=$SPACE" --kind=Deployment --name=api) right
	make_deployment 2
	kube wait --for=jsonpath='{.status.replicas}'=2 deployment/api --timeout=20s >/dev/null
	node
	pod one
	sleep 1 # what is written about them is
	deployment 1 | sed 's/name: api}/name: new}/' >manifest
	kube create serviceaccount narrow >/dev/null
	ROLE=$SPACE-rights
	rights patch
	kubectl create clusterrolebinding "$ROLE" --clusterrole="$ROLE" --serviceaccount="$SPACE:narrow" >/dev/null
	of_bearer "$(kube create token narrow)"
	for right in get patch; do
		without patch deployments "$right" preview --change=scale "${of[@]}" --replicas=3 --out=plan
	done
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
	for right in get create patch; do
		without apply deployments "$right" preview --change=apply --namespace="$SPACE" --manifest=manifest --out=plan
	done
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
	for right in nodes:get nodes:patch pods:list pods/eviction:create; do
		without nodes "${right%:*}" "${right#*:}" preview --change=drain --name="$NODE" --out=plan
	done
	cp plan drain
	rights nodes '(.rules[] | select(.resources | index("pods")).verbs) -= ["get"]'
	wait_until 10 says '(cluster_forbidden)' check drain
	rights nodes
	wait_until 10 says '' check drain
	run_sbx 0 "$CHANGE" send drain
	for right in get delete; do
		without delete deployments "$right" preview --change=delete "${of[@]}" --out=plan
	done
	wait_until 10 deletes 5
	rights delete '(.rules[] | select(.resources | index("replicasets")).verbs) -= ["list"]'
	wait_until 10 deletes 1
	rights delete '(.rules[] | select(.resources | index("pods")).verbs) -= ["list"]'
	wait_until 10 deletes 2
	rights delete
	wait_until 10 deletes 5
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
}

@test "what the credential may not do is said; what it may not list is not known" {
	kube create serviceaccount narrow >/dev/null
	kube create role narrow --verb=get,delete,list --resource=configmaps >/dev/null
	kube create rolebinding narrow --role=narrow --serviceaccount="$SPACE:narrow" >/dev/null
	kube create configmap delete-me >/dev/null
	make_deployment
	node
	ROLE=$SPACE-nodes
	kube create clusterrole "$ROLE" --verb=get,patch --resource=nodes >/dev/null
	kube create clusterrolebinding "$ROLE" --clusterrole="$ROLE" --serviceaccount="$SPACE:narrow" >/dev/null
	local token
	token=$(kube create token narrow)
	of_bearer "$token"
	refused cluster_forbidden "$CHANGE" preview --change=scale --namespace="$SPACE" --kind=Deployment --name=api --replicas=1 --out=none
	refute_contains "$stderr" "$token"
	refused cluster_forbidden "$CHANGE" preview --change=drain --name="$NODE" --out=none
	assert_contains "$stderr" 'cannot list the pods of the node'
	# What could be seen when it was previewed, and cannot be when it is checked.
	KUBECONFIG=$PWD/kubeconfig kube create -f - >/dev/null <<-EOT
		apiVersion: rbac.authorization.k8s.io/v1
		kind: Role
		metadata: {name: wide}
		rules: [{apiGroups: ["*"], resources: ["*"], verbs: [list]}]
	EOT
	KUBECONFIG=$PWD/kubeconfig kube create rolebinding wide --role=wide --serviceaccount="$SPACE:narrow" >/dev/null
	preview delete --namespace="$SPACE" --kind=ConfigMap --name=delete-me
	judge
	assert_json '.findings[0].signals | join(" ")' delete
	run_sbx 0 "$CHANGE" check plan
	KUBECONFIG=$PWD/kubeconfig kube delete rolebinding wide >/dev/null
	refused object_moved "$CHANGE" check plan
	assert_contains "$stderr" 'what goes with it cannot be seen any more'
	preview delete --namespace="$SPACE" --kind=ConfigMap --name=delete-me
	assert_equal "$(jq -r .cluster.uid plan)" null
	judge
	assert_json '.findings[0].signals | join(" ")' "delete cascade_unknown"
	run_sbx 0 "$CHANGE" check plan
	run_sbx 0 "$CHANGE" send plan
}
