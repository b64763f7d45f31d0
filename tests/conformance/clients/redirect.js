// Loaded before the tests of the Node.js client: secure channels become plain
// ones to $QUARRY_API, as nobody. The tests decide by $BIGTABLE_EMULATOR_HOST
// what to leave out, and without credentials do not know their project.
'use strict';
const Module = require('module');
const api = process.env.QUARRY_API;
const load = Module._load;

function redirect(grpc) {
  if (grpc.quarryRedirect || !grpc.Client) return grpc;
  grpc.quarryRedirect = true;
  const insecure = grpc.credentials.createInsecure();
  grpc.credentials.createSsl = () => insecure;
  grpc.credentials.combineChannelCredentials = () => insecure;
  return grpc;
}

function anonymous(library) {
  const auth = library.GoogleAuth && library.GoogleAuth.prototype;
  if (!auth || auth.quarryRedirect) return library;
  auth.quarryRedirect = true;
  auth.getProjectId = async () => process.env.GOOGLE_CLOUD_PROJECT;
  const client = new library.OAuth2Client();
  client.getRequestHeaders = async () => new Headers();
  client.getRequestMetadataAsync = async () => ({headers: new Headers()});
  auth.getClient = async () => client;
  auth.getApplicationDefault = async () => ({
    credential: client,
    projectId: process.env.GOOGLE_CLOUD_PROJECT,
  });
  return library;
}

function stubAddress(gax) {
  const grpc = gax.GrpcClient && gax.GrpcClient.prototype;
  if (!grpc || grpc.quarryRedirect) return gax;
  grpc.quarryRedirect = true;
  const create = grpc.createStub;
  grpc.createStub = function (stub, options, custom) {
    const [host, port] = api.split(':');
    return create.call(this, stub,
      {...options, servicePath: host, port: Number(port)}, custom);
  };
  return gax;
}

Module._load = function (request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  if (request === '@grpc/grpc-js') return redirect(loaded);
  if (request === 'google-auth-library') return anonymous(loaded);
  if (request === 'google-gax') return stubAddress(loaded);
  return loaded;
};
