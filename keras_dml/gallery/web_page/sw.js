"use strict";
// Service worker: keeps all files of the site, so that the page works offline. `files.js` sets
// `self.SITE`, whose version changes with the files. A new worker waits until no tab uses the files
// of the old worker. No tab therefore gets files of two versions.
importScripts("files.js");

const OWN = `keras-dml ${self.registration.scope} `; // other sites of this server have other scopes
const CACHE = OWN + self.SITE.version;

self.addEventListener("install", (event) => {
  const requests = Object.entries(self.SITE.files).map(
    ([file, integrity]) => new Request(file, { cache: "no-cache", integrity }),
  );
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(requests)));
});

const removeOld = async () => {
  const old = (await caches.keys()).filter((name) => name.startsWith(OWN) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.clients.claim();
};

self.addEventListener("activate", (event) => event.waitUntil(removeOld()));
self.addEventListener("message", () => self.skipWaiting());

const answer = async ({ request, clientId }) => {
  const { waiting } = self.registration;
  // `clientId` names the tab that is loaded again. It is empty for a new tab.
  const isOnlyTab = async () => (await self.clients.matchAll()).every(({ id }) => id === clientId);
  if (request.mode === "navigate" && waiting && (await isOnlyTab())) {
    // No other tab uses the old files, so this tab gets the files of the new worker.
    waiting.postMessage("take over");
    return new Response("", { headers: { Refresh: "0" } });
  }
  const cache = await caches.open(CACHE);
  return (await cache.match(request, { ignoreSearch: true })) ?? fetch(request);
};

self.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(answer(event));
});
