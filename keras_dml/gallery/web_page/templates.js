// Writes and reads files of templates, which `keras-dml merge GALLERY FILE` adds to a gallery. The
// file is an uncompressed .npz file, see keras_dml/gallery/template_files.py.
import { Refused } from "./elements.js";
import { isName } from "./names.js";

const [FORMAT, VERSION] = ["keras-dml templates", 1];
const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50]; // signatures in ZIP files
const [END_SIZE, CENTRAL_SIZE, LOCAL_SIZE] = [22, 46, 30];

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});
const checksum = (bytes) => {
  let c = 0xffffffff;
  for (const byte of bytes) c = CRC[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
};

const join = (parts) => {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

const ascii = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

/** Returns an .npy file of bytes. */
const npy = (descr, shape, bytes) => {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const header = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`;
  const size = Uint8Array.of(header.length & 255, header.length >> 8);
  return join([Uint8Array.of(0x93), ascii("NUMPY"), Uint8Array.of(1, 0), size, ascii(header), bytes]);
};

/** Returns an .npy file of texts in UTF-32. */
const npyOfTexts = (texts, shape) => {
  const points = texts.map((text) => Array.from(text, (letter) => letter.codePointAt(0)));
  const width = Math.max(1, ...points.map(({ length }) => length));
  const view = new DataView(new ArrayBuffer(4 * width * texts.length));
  points.forEach((letters, row) =>
    letters.forEach((point, i) => view.setUint32(4 * (row * width + i), point, true)),
  );
  return npy(`<U${width}`, shape, new Uint8Array(view.buffer));
};

const zip = (members) => {
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [name, bytes] of members) {
    // Version, flags, method 0 (stored), time, date (1 January 1980), checksum, sizes, lengths.
    const fields = new DataView(new ArrayBuffer(26));
    fields.setUint16(0, 20, true);
    fields.setUint16(8, 33, true);
    fields.setUint32(10, checksum(bytes), true);
    fields.setUint32(14, bytes.length, true);
    fields.setUint32(18, bytes.length, true);
    fields.setUint16(22, name.length, true);
    const shared = new Uint8Array(fields.buffer);
    const local = new DataView(new ArrayBuffer(4));
    local.setUint32(0, LOCAL, true);
    const entry = new DataView(new ArrayBuffer(CENTRAL_SIZE));
    entry.setUint32(0, CENTRAL, true);
    entry.setUint16(4, 20, true);
    new Uint8Array(entry.buffer).set(shared, 6);
    entry.setUint32(42, offset, true);
    const head = [new Uint8Array(local.buffer), shared, ascii(name), bytes];
    parts.push(...head);
    directory.push(new Uint8Array(entry.buffer), ascii(name));
    offset += head.reduce((size, part) => size + part.length, 0);
  }
  const end = new DataView(new ArrayBuffer(END_SIZE));
  end.setUint32(0, END, true);
  end.setUint16(8, members.length, true);
  end.setUint16(10, members.length, true);
  end.setUint32(12, directory.reduce((size, part) => size + part.length, 0), true);
  end.setUint32(16, offset, true);
  return join([...parts, ...directory, new Uint8Array(end.buffer)]);
};

/** Returns a file with templates of a model, as bytes. */
export const write = (templates, about) => {
  const header = { format: FORMAT, version: VERSION, model: about.model };
  header.fingerprint = about.fingerprint;
  const values = new Float32Array(templates.flatMap(({ embedding }) => [...embedding]));
  const shape = [templates.length, ...about.embedding];
  return zip([
    ["header.npy", npyOfTexts([JSON.stringify(header)], [])],
    ["people.npy", npyOfTexts(templates.map(({ person }) => person), [templates.length])],
    [
      "enrolled.npy",
      npy("|b1", [templates.length], Uint8Array.from(templates, ({ enrolled }) => +enrolled)),
    ],
    ["embeddings.npy", npy("<f4", shape, new Uint8Array(values.buffer))],
  ]);
};

const unzip = (buffer) => {
  const view = new DataView(buffer);
  let end = buffer.byteLength - END_SIZE;
  while (end >= 0 && view.getUint32(end, true) !== END) end -= 1;
  const members = {};
  let at = view.getUint32(end + 16, true);
  for (let i = 0; i < view.getUint16(end + 10, true); i += 1) {
    const [method, size] = [view.getUint16(at + 10, true), view.getUint32(at + 24, true)];
    const lengths = [28, 30, 32].map((field) => view.getUint16(at + field, true));
    const start = view.getUint32(at + 42, true);
    if (view.getUint32(at, true) !== CENTRAL || method !== 0) throw new RangeError("no ZIP file");
    const name = new TextDecoder().decode(new Uint8Array(buffer, at + CENTRAL_SIZE, lengths[0]));
    const skipped = view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
    members[name] = buffer.slice(start + LOCAL_SIZE + skipped, start + LOCAL_SIZE + skipped + size);
    at += CENTRAL_SIZE + lengths.reduce((sum, length) => sum + length, 0);
  }
  return members;
};

const unnpy = (buffer) => {
  const size = new DataView(buffer).getUint16(8, true);
  const header = new TextDecoder().decode(new Uint8Array(buffer, 10, size));
  const [, descr] = /'descr': '([^']+)'/.exec(header);
  const [, sizes] = /'shape': \(([^)]*)\)/.exec(header);
  if (!header.includes("'fortran_order': False")) throw new RangeError("another order of numbers");
  return { descr, shape: sizes.split(",").filter((n) => n.trim()).map(Number), data: buffer.slice(10 + size) };
};

const textsOf = ({ descr, data }) => {
  if (!/^<U\d+$/.test(descr)) throw new RangeError("no texts");
  const [points, width] = [new Uint32Array(data), Number(descr.slice(2))];
  return Array.from({ length: points.length / width }, (_, row) => {
    const letters = points.subarray(row * width, (row + 1) * width);
    return String.fromCodePoint(...letters.filter((point) => point));
  });
};

/**
 * Reads a file of templates, which may come from an untrusted source.
 *
 * @returns Array of `{person, enrolled, embedding}`.
 */
export const read = (buffer, about) => {
  let [header, people, enrolled, embeddings] = [null, null, null, null];
  try {
    const members = unzip(buffer);
    const array = (name) => unnpy(members[`${name}.npy`]);
    header = JSON.parse(textsOf(array("header"))[0]);
    people = textsOf(array("people"));
    enrolled = new Uint8Array(array("enrolled").data);
    embeddings = array("embeddings");
    if (header.format !== FORMAT || header.version !== VERSION || embeddings.descr !== "<f4") {
      throw new RangeError("another format");
    }
  } catch {
    throw new Refused("This is not a file of templates, or it is damaged.");
  }
  if (header.fingerprint !== about.fingerprint) {
    throw new Refused(
      `The templates are of the model ${header.model}, and this page has another model. ` +
        "Embeddings of two models cannot be compared.",
    );
  }
  const values = new Float32Array(embeddings.data);
  const size = about.embedding.reduce((product, length) => product * length, 1);
  const isComplete =
    values.length === people.length * size &&
    enrolled.length === people.length &&
    people.every(isName) &&
    values.every(Number.isFinite);
  if (!isComplete) throw new Refused("The file of templates is damaged.");
  return people.map((person, i) => ({
    person: person.normalize("NFC"),
    enrolled: enrolled[i] === 1,
    embedding: values.slice(i * size, (i + 1) * size),
  }));
};
