"use strict";
// Service worker: keeps all files of the site, so that the page works offline. `files.js` sets
// `self.SITE`, whose version changes with the files.
importScripts("files.js");

const CACHE = `keras-dml ${self.SITE.version}`;

self.addEventListener("install", (event) => {
  const files = self.SITE.files.map((file) => new Request(file, { cache: "reload" }));
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(files))
      .then(() => self.skipWaiting()),
  );
});

const removeOld = async () => {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith("keras-dml ") && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.clients.claim();
};

self.addEventListener("activate", (event) => event.waitUntil(removeOld()));

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  const answer = async () => {
    const cache = await caches.open(CACHE);
    return (await cache.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
  };
  event.respondWith(answer());
});
