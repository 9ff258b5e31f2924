// Runs a .tflite file with LiteRT.js. The file has a fixed number of time steps and gallery rows.
import { Refused } from "./elements.js";
import { Tensor, loadAndCompile, loadLiteRt } from "./litert/index.js";

// This build of LiteRT.js runs in all browsers with WebAssembly SIMD.
const RUNTIME = new URL("litert/litert_wasm_compat_internal.js", document.baseURI).href;

let runtime = null;

const getFile = async (path) => {
  const answer = await fetch(path);
  if (!answer.ok) throw new Refused(`${path} cannot be loaded (status ${answer.status}).`);
  return answer;
};

export const getJson = async (path) => (await getFile(path)).json();
const getBytes = async (path) => new Uint8Array(await (await getFile(path)).arrayBuffer());

/** Runs a signature. Tensors are in the memory of WebAssembly, so they are deleted afterwards. */
const run = async (compiled, signature, inputs) => {
  let outputs = {};
  try {
    outputs = await compiled.run(signature, inputs);
    const [output] = Object.values(outputs);
    return Float32Array.from(output.toTypedArray());
  } finally {
    for (const tensor of [...Object.values(inputs), ...Object.values(outputs)]) tensor.delete();
  }
};

export class Model {
  /**
   * @param about Content of the model's `about.json`.
   * @param compiled Compiled file.
   */
  constructor(about, compiled) {
    this.about = about;
    this.size = about.embedding.reduce((product, length) => product * length, 1);
    this.compiled = compiled;
  }

  /**
   * Computes the embedding of a recording.
   *
   * @param recording One Float32Array for each channel.
   */
  async embed(recording) {
    const [{ steps }, count, length] = [this.about, recording.length, recording[0].length];
    const signal = new Float32Array(steps * count);
    recording.forEach((values, channel) => {
      for (let i = 0; i < length; i += 1) signal[i * count + channel] = values[i];
    });
    const embedding = await run(this.compiled, "embed", {
      signal: new Tensor(signal, [1, steps, count]),
      length: new Tensor(Int32Array.of(length), []),
    });
    if (!embedding.every(Number.isFinite)) {
      throw new Refused("The model gives no finite embedding for this recording.");
    }
    return embedding;
  }

  /** Computes the distances from an embedding to stored embeddings, as a Float32Array. */
  async distances(embedding, stored) {
    const { rows, embedding: shape } = this.about;
    const distances = new Float32Array(stored.length);
    for (let start = 0; start < stored.length; start += rows) {
      const block = stored.slice(start, start + rows);
      const gallery = new Float32Array(rows * this.size);
      for (let row = 0; row < rows; row += 1) {
        // A row of zeros would not be an embedding, so the first row is repeated.
        gallery.set(block[row] ?? block[0], row * this.size);
      }
      const result = await run(this.compiled, "distance", {
        embedding: new Tensor(Float32Array.from(embedding), [1, ...shape]),
        gallery: new Tensor(gallery, [rows, ...shape]),
      });
      distances.set(result.subarray(0, block.length), start);
    }
    return distances;
  }
}

/** Compares the model's results for two test recordings with the results of Keras. */
const check = async (model, bytes) => {
  const { golden, channels_count: count } = model.about;
  const numbers = new Float32Array(bytes.buffer);
  let at = 0;
  const take = (length) => numbers.subarray(at, (at += length));
  const recordings = golden.steps.map((steps) => {
    const values = take(steps * count);
    return Array.from({ length: count }, (_, channel) =>
      Float32Array.from({ length: steps }, (_, i) => values[i * count + channel]),
    );
  });
  const expected = golden.steps.map(() => take(model.size));
  const [first, second] = [await model.embed(recordings[0]), await model.embed(recordings[1])];
  const [distance] = await model.distances(first, [second]);
  const largest = expected[0].reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const drift = [first, second].map((embedding, i) =>
    embedding.reduce((most, value, k) => Math.max(most, Math.abs(value - expected[i][k])), 0),
  );
  const isRight =
    Math.max(...drift) <= golden.tolerance * largest &&
    Math.abs(distance - golden.distance) <= golden.tolerance * Math.max(1, Math.abs(golden.distance));
  if (!isRight) {
    throw new Refused(
      "This browser computes other numbers than the gallery, so this page makes no decisions. " +
        "Update the browser, or use another browser.",
    );
  }
};

/** Loads a model by the name of its folder, and checks it with its test recordings. */
export const loadModel = async (name) => {
  const folder = `models/${name}`;
  runtime ??= loadLiteRt(RUNTIME);
  const [about, file, golden] = await Promise.all([
    getJson(`${folder}/about.json`),
    getBytes(`${folder}/model.tflite`),
    getBytes(`${folder}/golden.bin`),
    runtime,
  ]);
  const model = new Model({ ...about, folder: name }, await loadAndCompile(file, { accelerator: "wasm" }));
  await check(model, golden);
  return model;
};
