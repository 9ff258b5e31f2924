// Accepts or rejects a recording with TensorFlowLiteSwift.
import Foundation
import TensorFlowLite

let time = @TIME@, channels = @CHANNELS@, rows = @ROWS@
let threshold: Float = @THRESHOLD@  // for a false accept rate of @FAR@

func data<T>(_ values: [T]) -> Data { values.withUnsafeBytes { Data($0) } }
func floats(_ tensor: Tensor) -> [Float] {
  tensor.data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
}

/// Computes the embedding of a recording, which holds `channels` values for each time step.
func embedding(of recording: [Float], with model: Interpreter) throws -> [Float] {
  let embed = try model.signatureRunner(with: "embed")
  try embed.allocateTensors()
  let padding = [Float](repeating: 0, count: time * channels - recording.count)
  try embed.copy(data(recording + padding), toInputNamed: "signal")
  try embed.copy(data([Int32(recording.count / channels)]), toInputNamed: "length")
  try embed.invoke()
  return floats(try embed.output(named: "embedding"))
}

/// Returns true if the recording is near to the nearest of at most `rows` enrolled embeddings.
func accepts(_ recording: [Float], enrolled: [[Float]], with model: Interpreter) throws -> Bool {
  let gallery = enrolled + Array(repeating: enrolled[0], count: rows - enrolled.count)
  let probe = try embedding(of: recording, with: model)
  let distance = try model.signatureRunner(with: "distance")
  try distance.allocateTensors()
  try distance.copy(data(probe), toInputNamed: "embedding")
  try distance.copy(data(gallery.flatMap { $0 }), toInputNamed: "gallery")
  try distance.invoke()
  return floats(try distance.output(named: "distance")).min()! <= threshold
}
