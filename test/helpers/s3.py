"""s3.py PLACE: an S3 with accounts (moto, from PyPI), on 127.0.0.1: the bucket "state", the roles "reader" and "writer" of it, and a user who may take either
by STS and change the bucket. Signatures and rights are checked from the first request on. PLACE/keys has that user's keys, as ID:SECRET; then PLACE/port appears."""
import json
import os
import sys
import threading
import urllib.parse

import boto3
from moto import settings
from moto.iam import access_control
from moto.server import ThreadedMotoServer

ACCOUNT = "123456789012"
BUCKET = ["arn:aws:s3:::state", "arn:aws:s3:::state/*"]
place = sys.argv[1]


def as_it_was_sent(made):
    """moto computes the signature of a query without its escapes."""

    def request(self):
        it = made(self)
        path, mark, query = it.url.partition("?")
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
        it.url = path + mark + urllib.parse.urlencode(pairs, quote_via=urllib.parse.quote, safe="-_.~")
        return it

    return request


def policy(actions, resource, **more):
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, **({"Resource": resource} if resource else {}), **more}]})


access_control.S3IAMRequest._create_aws_request = as_it_was_sent(access_control.S3IAMRequest._create_aws_request)
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
host, port = server.get_host_and_port()


def client(service):
    return boto3.client(service, region_name="us-east-1", endpoint_url=f"http://{host}:{port}", aws_access_key_id="nobody", aws_secret_access_key="nobody")


iam = client("iam")
iam.create_user(UserName="owner")
iam.put_user_policy(UserName="owner", PolicyName="assume", PolicyDocument=policy(["sts:AssumeRole"], "*"))
iam.put_user_policy(UserName="owner", PolicyName="bucket", PolicyDocument=policy(["s3:*"], BUCKET))
for role, actions in ("reader", ["s3:GetObject", "s3:ListBucket"]), ("writer", ["s3:*"]):
    trust = policy("sts:AssumeRole", None, Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:user/owner"})
    iam.create_role(RoleName=role, AssumeRolePolicyDocument=trust)
    iam.put_role_policy(RoleName=role, PolicyName="bucket", PolicyDocument=policy(actions, BUCKET))
client("s3").create_bucket(Bucket="state")
key = iam.create_access_key(UserName="owner")["AccessKey"]
settings.INITIAL_NO_AUTH_ACTION_COUNT = 0

with open(os.path.join(place, "keys"), "w") as file:
    file.write(f"{key['AccessKeyId']}:{key['SecretAccessKey']}")
with open(os.path.join(place, "port.new"), "w") as file:
    file.write(str(port))
os.rename(os.path.join(place, "port.new"), os.path.join(place, "port"))
threading.Event().wait()
