// Stores templates (embeddings of enrolled recordings) in IndexedDB of this browser.

const [DATABASE, TEMPLATES] = ["keras-dml", "templates"];

const result = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const open = () => {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => {
    const store = request.result.createObjectStore(TEMPLATES, { autoIncrement: true });
    store.createIndex("model", "model");
  };
  return result(request);
};

/** Runs a task with the object store, and waits until its changes are on the disk. */
const transact = async (mode, task) => {
  const database = await open();
  try {
    const transaction = database.transaction(TEMPLATES, mode);
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    const value = await task(transaction.objectStore(TEMPLATES));
    await done;
    return value;
  } finally {
    database.close();
  }
};

/** Returns all templates of a model: `{model, person, enrolled, created, embedding}`. */
export const list = (model) =>
  transact("readonly", (store) => result(store.index("model").getAll(model)));

/** Stores templates. Either all of them are stored or none. */
export const add = (templates) =>
  transact("readwrite", async (store) => {
    for (const template of templates) await result(store.add(template));
  });

/** Deletes everything about one person for a model. */
export const remove = (model, person) =>
  transact("readwrite", async (store) => {
    const keys = await result(store.index("model").getAllKeys(model));
    for (const key of keys) {
      if ((await result(store.get(key))).person === person) await result(store.delete(key));
    }
  });

/** Deletes all people of all models. */
export const clear = () => transact("readwrite", (store) => result(store.clear()));
