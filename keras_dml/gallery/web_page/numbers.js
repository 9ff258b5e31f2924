// Statistics of numbers in arrays. `Math.max(...values)` fails for arrays of about 100,000 values.

export const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
export const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
};
