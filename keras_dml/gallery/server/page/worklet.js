// Sends the samples of the microphone to the web page.
class Recorder extends AudioWorkletProcessor {
  process([[samples]]) {
    if (samples) this.port.postMessage(samples.slice());
    return true;
  }
}
registerProcessor("recorder", Recorder);
