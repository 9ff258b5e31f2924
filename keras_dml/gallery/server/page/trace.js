// Draws the trace of a recording from left to right while it is recorded.

const LARGEST = 25; // m/s², about 2.5 g; a phone in a pocket rarely exceeds this during a walk

const prepare = (canvas, seconds) => {
  const scale = window.devicePixelRatio || 1;
  canvas.width = scale * canvas.clientWidth;
  canvas.height = scale * canvas.clientHeight;
  const pen = canvas.getContext("2d");
  const middle = canvas.height / 2;
  const colors = getComputedStyle(canvas);
  pen.lineWidth = 1.5 * scale;
  pen.strokeStyle = colors.getPropertyValue("--line");
  pen.beginPath();
  pen.moveTo(0, middle);
  pen.lineTo(canvas.width, middle);
  pen.stroke();
  return {
    pen,
    color: (name) => colors.getPropertyValue(name),
    x: (time) => (canvas.width * time) / seconds,
    y: (share) => middle - share * (middle - scale),
  };
};

/**
 * Returns a function that draws a sample of acceleration: a line for each of x, y and z. Angular
 * rates are not drawn.
 */
export const drawMotion = (canvas, seconds) => {
  const { pen, color, x, y } = prepare(canvas, seconds);
  let last = null;
  return (time, values) => {
    const next = values.slice(0, 3).map((value) => y(Math.max(-1, Math.min(1, value / LARGEST))));
    if (last) {
      next.forEach((height, i) => {
        pen.strokeStyle = color(`--trace-${i}`);
        pen.beginPath();
        pen.moveTo(x(last.time), last.heights[i]);
        pen.lineTo(x(time), height);
        pen.stroke();
      });
    }
    last = { time, heights: next };
  };
};

/** Returns a function that draws the square root of the audio level, which shows speech better. */
export const drawSound = (canvas, seconds) => {
  const { pen, color, x, y } = prepare(canvas, seconds);
  pen.strokeStyle = color("--trace-0");
  return (time, level) => {
    pen.beginPath();
    pen.moveTo(x(time), y(Math.sqrt(level)));
    pen.lineTo(x(time), y(-Math.sqrt(level)));
    pen.stroke();
  };
};
