"""Makes, keeps and renews the certificates that the server shows. Imports nothing of ours."""

from certs.authority import KeyPair, make_authority
from certs.directory import CertDirectory
from certs.errors import CertificateError, LockTimeoutError, PublishError
from certs.rotation import Policy
from certs.runner import Rotator
from certs.secret import Secret, SecretSource, SecretStore
from certs.serving import Names
from certs.source import GivenFiles, Material, Source

__all__ = [
    "CertDirectory",
    "CertificateError",
    "GivenFiles",
    "KeyPair",
    "LockTimeoutError",
    "Material",
    "Names",
    "Policy",
    "PublishError",
    "Rotator",
    "Secret",
    "SecretSource",
    "SecretStore",
    "Source",
    "make_authority",
]
