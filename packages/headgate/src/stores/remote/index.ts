export { remoteStore, type RemoteStoreOptions } from './remote-store.js';
