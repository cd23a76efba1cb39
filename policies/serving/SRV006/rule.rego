package inferform.rules.SRV006

import rego.v1

import data.inferform.lib.kubernetes
import data.inferform.lib.plan

about := {
	"title": "Processes of one replica share enough memory",
	"severity": "deny",
	"needs": ["plan", "objects"],
	"remedy": "Mount an emptyDir with medium Memory and a sizeLimit at /dev/shm.",
	"source": "FC-17",
}

subjects := [pair |
	some pair in kubernetes.pairs
	max([pair.entry.pool.tp * pair.entry.pool.pp, pair.entry.pool.pod.gpus]) > 1
]

expects := "the plan has replicas of several GPUs" if count([1 | some entry in plan.pools; entry.pool.tp * entry.pool.pp > 1]) > 0

fail contains {"address": subject.pod.at, "message": "/dev/shm has the 64 MB of the container runtime"} if {
	some subject in subjects
	count(shared(subject.pod)) == 0
}

fail contains {"address": subject.pod.at, "message": sprintf("the volume %s at /dev/shm has no medium Memory and sizeLimit", [volume.name])} if {
	some subject in subjects
	some volume in shared(subject.pod)
	not right(volume)
}

unknown := set()

shared(pod) := [volume |
	some container in pod.spec.containers
	some mount in container.volumeMounts
	mount.mountPath == "/dev/shm"
	some volume in pod.spec.volumes
	volume.name == mount.name
]

right(volume) if {
	volume.emptyDir.medium == "Memory"
	volume.emptyDir.sizeLimit
}
