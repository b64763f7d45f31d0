"""A plugin of pytest: the Python client's secure channels lead to Quarry.

The suites decide by $BIGTABLE_EMULATOR_HOST what to leave out. Without that
variable they run as against the real service; this makes the connections that
they open plain ones to $QUARRY_API, as nobody, and changes nothing else.
"""

import os

import google.auth
import google.auth.credentials
import grpc
import grpc.aio

API = os.environ["QUARRY_API"]
PROJECT = os.environ.get("GOOGLE_CLOUD_PROJECT", "p")


class Nobody(google.auth.credentials.AnonymousCredentials):
    """Credentials that are never refreshed, whatever scopes are asked."""

    def with_quota_project(self, _project):
        return self


def plain_channel(_target, _credentials, options=None, compression=None):
    return grpc.insecure_channel(API, options, compression)


def plain_aio_channel(_target, _credentials, options=None, compression=None,
                      interceptors=None):
    return PLAIN_AIO(API, options, compression, interceptors)


PLAIN_AIO = grpc.aio.insecure_channel
grpc.secure_channel = plain_channel
grpc.aio.secure_channel = plain_aio_channel
google.auth.default = lambda *_args, **_kwargs: (Nobody(), PROJECT)
