"""What the scripts that measure a cluster share: an administrator's connection with its API server, and a cluster made ready. As scripts/up they take
KUBECONFIG and SBX_CONTEXT, SBX_IMAGE, SBX_RUNTIME, SBX_PULL, and SBX_LOAD_IMAGE, a command that brings an archive to the nodes."""
import base64
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What was made on the cluster is removed whatever ends a script.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
SANDBOXES = 'sbx-sandbox'
image = os.environ.get('SBX_IMAGE', 'localhost/sbx-probe:1')
runtime = os.environ.get('SBX_RUNTIME', 'gvisor')
pull = os.environ.get('SBX_PULL', 'IfNotPresent')


def command(*argv, **more):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


class Api:
    """One kept connection with the API server, as the administrator of the context."""

    def __init__(self, directory):
        config = json.loads(command('kubectl', 'config', 'view', '--raw', '--minify', '--flatten', '--context=' + context(), '-o', 'json'))
        cluster, user = config['clusters'][0]['cluster'], config['users'][0]['user']
        self.address = cluster['server'].removeprefix('https://')
        self.headers = {'Content-Type': 'application/json'}
        self.tls = ssl.create_default_context(cadata=base64.b64decode(cluster['certificate-authority-data']).decode())
        if 'client-certificate-data' in user:
            for name in ('certificate', 'key'):
                with open(directory + '/' + name, 'wb', opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
                    f.write(base64.b64decode(user['client-%s-data' % name]))
            self.tls.load_cert_chain(directory + '/certificate', directory + '/key')
        else:
            self.headers['Authorization'] = 'Bearer ' + user['token']
        self.connection = self.connect()

    def connect(self):
        return http.client.HTTPSConnection(self.address, context=self.tls, timeout=60)

    def ask(self, method, path, body=None):
        text = json.dumps(body) if body is not None else None
        for again in (True, False):
            try:
                self.connection.request(method, path, text, self.headers)
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.RemoteDisconnected, ssl.SSLEOFError, BrokenPipeError, ConnectionResetError):
                # The server closes what has been idle for some minutes, and then read nothing of this.
                self.connection.close()
                if not again:
                    raise

    def stream(self, path):
        """The lines of an answer that goes on; the connection belongs to it."""
        connection = self.connect()
        connection.request('GET', path, headers=self.headers)
        answer = connection.getresponse()
        if answer.status != 200:
            answer.read()
            connection.close()
            return None
        return answer


def program(name):
    return os.path.realpath(command('bash', '-c', 'command -v ' + name).strip())


def context():
    return os.environ.get('SBX_CONTEXT') or command('kubectl', 'config', 'current-context').strip()


def prepare(work, build):
    """The image on the nodes, and the cluster ready; what scripts/up printed. The driver's kubeconfig is WORK/driver.kubeconfig."""
    command(root + '/images/build', '-o', work + '/image.tar', '-t', image, '--entry', build + '/libexec/sbx/sbx-entry', 'probe=' + build + '/test/probe',
            'kubectl=' + program('kubectl'))
    if os.environ.get('SBX_LOAD_IMAGE'):
        command(os.environ['SBX_LOAD_IMAGE'], work + '/image.tar')
    return command(root + '/scripts/up', env=dict(os.environ, SBX_CONTEXT=context(), SBX_IMAGE=image, SBX_OUT=work + '/driver.kubeconfig', SBX_BUILD=build))


def make_namespace(api, name):
    """As the sandboxes' own: Pod Security, and closed."""
    status, answer = api.ask('POST', '/api/v1/namespaces', {'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {
        'name': name, 'labels': {'pod-security.kubernetes.io/enforce': 'restricted'}}})
    assert status == 201, answer
    status, answer = api.ask('POST', '/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies' % name,
                             {'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy', 'metadata': {'name': 'default-deny'},
                              'spec': {'podSelector': {}, 'policyTypes': ['Ingress', 'Egress']}})
    assert status == 201, answer
    while api.ask('GET', '/api/v1/namespaces/%s/serviceaccounts/default' % name)[0] != 200:
        time.sleep(0.05)
