// Checks names of people in the same way as `keras_dml.gallery.names`.

const LONGEST = 200; // characters of a name
const NOT_PRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Returns whether a text is a valid name. */
export const isName = (text) =>
  text !== "" && text.trim() === text && [...text].length <= LONGEST && !NOT_PRINTABLE.test(text);
