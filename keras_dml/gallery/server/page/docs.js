"use strict";
// Lists the routes that openapi.json describes.

const element = (tag, text, parent) => {
  const node = document.createElement(tag);
  node.textContent = text;
  parent.append(node);
  return node;
};

const schemaOf = (described, api) => {
  const name = described && described.$ref && described.$ref.split("/").pop();
  return name ? api.components.schemas[name] : described;
};

const show = (api) => {
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, route] of Object.entries(methods)) {
      const card = element("section", "", document.getElementById("routes"));
      card.className = "card";
      element("h2", `${method.toUpperCase()} ${path}`, card);
      element("p", route.summary, card);
      const form = route.requestBody && route.requestBody.content["multipart/form-data"];
      const { properties = {}, required = [] } = (form && schemaOf(form.schema, api)) || {};
      const list = element("ul", "", card);
      for (const [name, field] of Object.entries(properties)) {
        const row = element("li", "", list);
        element("code", name, row);
        row.append(`${required.includes(name) ? "" : " (optional)"}: ${field.description || ""}`);
      }
    }
  }
};

fetch("openapi.json").then((answer) => answer.json()).then(show);
