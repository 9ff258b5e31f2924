/* Input and output of trunk.tflite, which TensorFlow Lite Micro runs. */
#include "kd_internal.h"
#include "kd_tables.h"

#include <math.h>
#include <stddef.h>

/* Converts a number to the int8 number of the file's input. NaN becomes -128, because all
 * comparisons with NaN are false. */
static int8_t quantized(float value)
{
    float rounded = floorf(value / KD_TRUNK_INPUT_SCALE + 0.5f) + KD_TRUNK_INPUT_ZERO;
    if (!(rounded > -128.0f)) {
        return -128;
    }
    if (!(rounded < 127.0f)) {
        return 127;
    }
    return (int8_t)rounded;
}

int kd_trunk_input(const float *signal, int32_t length, int8_t *input)
{
    int status = kd_check(signal, length);
    if (status == KD_OK && length != KD_MAX_STEPS) {
        status = KD_ERROR_LENGTH;
    }
    if (status == KD_OK && input == NULL) {
        status = KD_ERROR_NULL;
    }
    if (status == KD_OK) {
        status = kd_prepare(signal, length);
    }
    if (status != KD_OK) {
        return status;
    }
    for (int32_t t = 0; t < length; t++) {
        float features[KD_FEATURES];
        kd_features(signal + t * KD_CHANNELS, features);
        for (int32_t i = 0; i < KD_FEATURES; i++) {
            input[t * KD_FEATURES + i] = quantized(features[i]);
        }
    }
    return KD_OK;
}

int kd_trunk_embedding(const int8_t *output, float *embedding)
{
    if (output == NULL || embedding == NULL) {
        return KD_ERROR_NULL;
    }
    for (int32_t filter = 0; filter < KD_FILTERS; filter++) {
        for (int32_t window = 0; window < KD_COLUMN; window++) {
            float value = (float)output[window * KD_FILTERS + filter];
            kd_column[window] = (value - KD_TRUNK_OUTPUT_ZERO) * KD_TRUNK_OUTPUT_SCALE;
        }
        kd_quantiles(kd_column, KD_COLUMN, embedding + filter * KD_KNOTS);
    }
    return KD_OK;
}
