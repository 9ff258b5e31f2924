// Stores templates (embeddings of enrolled recordings) and counts of rejected claims in IndexedDB of
// this browser. All tabs share this database.
import { Refused } from "./elements.js";

const [DATABASE, VERSION] = ["keras-dml", 2]; // version 1 had no counts
const [TEMPLATES, COUNTS] = ["templates", "counts"];
const REASONS = {
  QuotaExceededError: "This browser has no space left. Remove people, or free space on the device.",
  VersionError: "A newer version of this page was opened in this browser. Load this page again.",
};
const UNUSABLE =
  "This browser does not let this page store templates. Allow the data of this site, or leave " +
  "private browsing.";

/** Error of the database, with a text for the user. */
export class StoreError extends Refused {
  constructor(error) {
    super(REASONS[error?.name] ?? UNUSABLE);
  }
}

const result = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(new StoreError(request.error));
  });

const open = async () => {
  let request;
  try {
    request = indexedDB.open(DATABASE, VERSION);
  } catch (error) {
    throw new StoreError(error);
  }
  request.onupgradeneeded = ({ oldVersion }) => {
    const database = request.result;
    const templates = oldVersion
      ? request.transaction.objectStore(TEMPLATES)
      : database.createObjectStore(TEMPLATES, { autoIncrement: true });
    if (!oldVersion) templates.createIndex("model", "model");
    templates.createIndex("person", ["model", "person"]);
    database.createObjectStore(COUNTS, { keyPath: ["model", "person", "kind"] });
  };
  return result(request);
};

/**
 * Runs a task with the two object stores, and waits until its changes are on the disk. If the task
 * fails, nothing is changed.
 */
const transact = async (mode, task) => {
  const database = await open();
  try {
    const transaction = database.transaction([TEMPLATES, COUNTS], mode);
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(new StoreError(transaction.error));
    });
    const stores = [TEMPLATES, COUNTS].map((name) => transaction.objectStore(name));
    const run = task(...stores).catch((error) => {
      // After a StoreError, the browser has already aborted the transaction.
      if (!(error instanceof StoreError)) transaction.abort();
      throw error;
    });
    const [value] = await Promise.all([run, done]);
    return value;
  } finally {
    database.close();
  }
};

const changes = globalThis.BroadcastChannel ? new BroadcastChannel(DATABASE) : null;
const change = async (task) => {
  const value = await transact("readwrite", task);
  changes?.postMessage(null);
  return value;
};

/** Calls a function when another tab has changed the database. */
export const onChange = (listener) => changes?.addEventListener("message", listener);

/** Runs a task while no other tab runs such a task, if the browser can lock. */
export const alone = (task) =>
  navigator.locks ? navigator.locks.request(DATABASE, task) : task();

/** Returns all templates of a model: `{model, person, enrolled, created, embedding}`. */
export const list = (model) =>
  transact("readonly", (templates) => result(templates.index("model").getAll(model)));

/** Returns the number of templates of all models. */
export const size = () => transact("readonly", (templates) => result(templates.count()));

/** Stores templates. Either all of them are stored or none. */
export const add = (added) =>
  change(async (templates) => {
    for (const template of added) await result(templates.add(template));
  });

/** Deletes everything about one person for a model. */
export const remove = (model, person) =>
  change(async (templates, counts) => {
    const keys = await result(templates.index("person").getAllKeys([model, person]));
    for (const key of keys) await result(templates.delete(key));
    await result(counts.delete(IDBKeyRange.bound([model, person], [model, person, []])));
  });

/** Deletes all people of all models. */
export const clear = () =>
  change(async (templates, counts) => {
    await result(templates.clear());
    await result(counts.clear());
  });

/** Returns the count of rejected claims `{failures, failed}` for a person, or undefined. */
export const count = (model, person, kind) =>
  transact("readonly", (_, counts) => result(counts.get([model, person, kind])));

/**
 * Changes the count of rejected claims for a person, if the person is stored. Deletes counts whose
 * last claim is older than `oldest`.
 *
 * @param next Function that takes the count or undefined, and returns the new count.
 */
export const recount = (model, person, kind, oldest, next) =>
  transact("readwrite", async (templates, counts) => {
    for (const row of await result(counts.getAll())) {
      if (row.failed < oldest) await result(counts.delete([row.model, row.person, row.kind]));
    }
    if (!(await result(templates.index("person").count([model, person])))) return;
    const row = next(await result(counts.get([model, person, kind])));
    await result(counts.put({ model, person, kind, ...row }));
  });

/** Deletes the count of rejected claims for a person. */
export const forget = (model, person, kind) =>
  transact("readwrite", (_, counts) => result(counts.delete([model, person, kind])));
