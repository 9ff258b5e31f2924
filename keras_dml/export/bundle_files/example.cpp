// Accepts or rejects a recording with the C++ library of LiteRT (TensorFlow Lite).
#include <algorithm>
#include <cstring>
#include <vector>

#include "tensorflow/lite/interpreter.h"
#include "tensorflow/lite/signature_runner.h"

constexpr int kTime = @TIME@, kChannels = @CHANNELS@, kRows = @ROWS@;
constexpr float kThreshold = @THRESHOLD@f;  // for a false accept rate of @FAR@

// Computes the embedding of a recording, which holds kChannels values for each time step.
std::vector<float> Embed(tflite::Interpreter& model, std::vector<float> recording) {
  tflite::SignatureRunner* embed = model.GetSignatureRunner("embed");
  embed->AllocateTensors();
  const int length = static_cast<int>(recording.size()) / kChannels;
  recording.resize(kTime * kChannels);
  std::copy(recording.begin(), recording.end(), embed->input_tensor("signal")->data.f);
  *embed->input_tensor("length")->data.i32 = length;
  embed->Invoke();
  const TfLiteTensor* output = embed->output_tensor("embedding");
  return {output->data.f, output->data.f + output->bytes / sizeof(float)};
}

// Returns true if the recording is near to the nearest of at most kRows enrolled embeddings.
bool Accepts(tflite::Interpreter& model, const std::vector<float>& recording,
             const std::vector<std::vector<float>>& enrolled) {
  const std::vector<float> probe = Embed(model, recording);
  tflite::SignatureRunner* distance = model.GetSignatureRunner("distance");
  distance->AllocateTensors();
  std::copy(probe.begin(), probe.end(), distance->input_tensor("embedding")->data.f);
  float* gallery = distance->input_tensor("gallery")->data.f;
  for (size_t row = 0; row < kRows; ++row) {
    const std::vector<float>& values = enrolled[row < enrolled.size() ? row : 0];
    gallery = std::copy(values.begin(), values.end(), gallery);
  }
  distance->Invoke();
  const float* distances = distance->output_tensor("distance")->data.f;
  return *std::min_element(distances, distances + kRows) <= kThreshold;
}
