// Accepts or rejects a recording in a browser with LiteRT.js (@litertjs/core).
import { Tensor, loadAndCompile, loadLiteRt } from "@litertjs/core";

const [TIME, CHANNELS, ROWS] = [@TIME@, @CHANNELS@, @ROWS@];
const EMBEDDING = @EMBEDDING@;
const THRESHOLD = @THRESHOLD@; // for a false accept rate of @FAR@

/** Loads the runtime from a folder with the files of LiteRT.js, and then the model. */
export const load = async (wasm, file) => {
  await loadLiteRt(wasm);
  return loadAndCompile(file, { accelerator: "wasm" });
};

const run = async (model, signature, inputs) => {
  const outputs = await model.run(signature, inputs);
  const [output] = Object.values(outputs);
  const values = Float32Array.from(output.toTypedArray());
  for (const tensor of [...Object.values(inputs), ...Object.values(outputs)]) tensor.delete();
  return values;
};

/** Computes the embedding of a recording, which holds CHANNELS values for each time step. */
export const embed = (model, recording) => {
  const signal = new Float32Array(TIME * CHANNELS);
  signal.set(recording);
  return run(model, "embed", {
    signal: new Tensor(signal, [1, TIME, CHANNELS]),
    length: new Tensor(Int32Array.of(recording.length / CHANNELS), []),
  });
};

/** Returns true if the recording is near to the nearest of at most ROWS enrolled embeddings. */
export const accepts = async (model, recording, enrolled) => {
  const probe = await embed(model, recording);
  const gallery = new Float32Array(ROWS * probe.length);
  for (let row = 0; row < ROWS; row += 1) {
    gallery.set(enrolled[row < enrolled.length ? row : 0], row * probe.length);
  }
  const distances = await run(model, "distance", {
    embedding: new Tensor(probe, [1, ...EMBEDDING]),
    gallery: new Tensor(gallery, [ROWS, ...EMBEDDING]),
  });
  return Math.min(...distances) <= THRESHOLD;
};
