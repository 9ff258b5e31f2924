/* Quantile embeddings: convolutions of integers, then the quantile function of each filter over
 * time.
 *
 * The weights are int8 with one scale per filter. The activations are int16 with one scale per
 * layer. A filter's sum is an int32, and kd_tables.c limits the activations so that it cannot
 * overflow. The scale, bias, slope (PReLU) and average over time are computed in float. The
 * activations of the last layer stay float.
 */
#include "kd_internal.h"
#include "kd_tables.h"

#include <math.h>
#include <stddef.h>

/* The layers read one buffer and write the other. */
static int16_t even[KD_EVEN];
static int16_t odd[KD_ODD];
float kd_column[KD_COLUMN];

/* Rounds a number to an integer from -most to most. NaN becomes -most, because all comparisons with
 * NaN are false. */
static int16_t rounded(float value, float most)
{
    if (!(value > -most)) {
        return (int16_t)-most;
    }
    if (!(value < most)) {
        return (int16_t)most;
    }
    return (int16_t)floorf(value + 0.5f);
}

/* Computes a filter at one time step. Steps before and after the recording are zero. */
static float activation(const kd_layer *layer, const int16_t *input, int32_t length, int32_t filter,
                        int32_t t)
{
    int32_t first = t - (layer->taps - 1) / 2;
    int32_t from = first < 0 ? 0 : first;
    int32_t to = first + layer->taps > length ? length : first + layer->taps;
    int32_t count = (to - from) * layer->inputs;
    const int16_t *values = input + from * layer->inputs;
    const int8_t *weights =
        layer->weights + (filter * layer->taps + (from - first)) * layer->inputs;
    int32_t total = 0;
    float value;
    for (int32_t i = 0; i < count; i++) {
        total += (int32_t)weights[i] * values[i];
    }
    value = (float)total * layer->scales[filter] + layer->biases[filter];
    return value < 0.0f ? value * layer->slopes[filter] : value;
}

static int32_t pooled_length(const kd_layer *layer, int32_t length)
{
    return (length + layer->pool - 1) / layer->pool;
}

/* Averages a filter over a window of time steps. The last window may be shorter. */
static float pooled(const kd_layer *layer, const int16_t *input, int32_t length, int32_t filter,
                    int32_t window)
{
    int32_t from = window * layer->pool;
    int32_t to = from + layer->pool > length ? length : from + layer->pool;
    float total = 0.0f;
    for (int32_t t = from; t < to; t++) {
        total += activation(layer, input, length, filter, t);
    }
    return total / (float)(to - from);
}

static void convolve(const kd_layer *layer, const int16_t *input, int32_t length, int16_t *output)
{
    int32_t windows = pooled_length(layer, length);
    for (int32_t filter = 0; filter < layer->filters; filter++) {
        for (int32_t window = 0; window < windows; window++) {
            output[window * layer->filters + filter] =
                rounded(pooled(layer, input, length, filter, window), layer->most);
        }
    }
}

/* Sorts numbers in ascending order (Shell sort). */
static void sort(float *values, int32_t count)
{
    for (int32_t gap = count / 2; gap > 0; gap /= 2) {
        for (int32_t i = gap; i < count; i++) {
            float value = values[i];
            int32_t j = i;
            while (j >= gap && values[j - gap] > value) {
                values[j] = values[j - gap];
                j -= gap;
            }
            values[j] = value;
        }
    }
}

/* The quantile function is linear between two sorted numbers (Abdelwahab2019, Eq. 1). */
void kd_quantiles(float *values, int32_t count, float *quantiles)
{
    sort(values, count);
    for (int32_t k = 0; k < KD_KNOTS; k++) {
        float position = kd_knots[k] * (float)count;
        int32_t lower = (int32_t)position;
        int32_t upper;
        if (lower > count - 1) {
            lower = count - 1;
        }
        upper = lower + 1 > count - 1 ? count - 1 : lower + 1;
        quantiles[k] =
            values[lower] + (position - (float)lower) * (values[upper] - values[lower]);
    }
}

int kd_embed(const float *signal, int32_t length, float *embedding)
{
    const int16_t *input = even;
    int16_t *output = odd;
    const kd_layer *last = &kd_layers[KD_LAYERS - 1];
    int status = kd_check(signal, length);
    if (status == KD_OK && embedding == NULL) {
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
            even[t * KD_FEATURES + i] = rounded(features[i] * KD_FEATURE_SCALE, KD_FEATURE_MOST);
        }
    }
    for (int32_t i = 0; i < KD_LAYERS - 1; i++) {
        convolve(&kd_layers[i], input, length, output);
        length = pooled_length(&kd_layers[i], length);
        input = output;
        output = output == odd ? even : odd;
    }
    for (int32_t filter = 0; filter < KD_FILTERS; filter++) {
        int32_t windows = pooled_length(last, length);
        for (int32_t window = 0; window < windows; window++) {
            kd_column[window] = pooled(last, input, length, filter, window);
        }
        kd_quantiles(kd_column, windows, embedding + filter * KD_KNOTS);
    }
    return KD_OK;
}

/* Mean of |difference| between two knots, if the difference is linear there and has the given
 * values at the knots (Abdelwahab2019, Eq. 11 for p = 1). */
static float segment(float left, float right)
{
    float half_sum = fabsf(left + right) / 2.0f, half_gap = fabsf(right - left) / 2.0f;
    float larger = half_sum > half_gap ? half_sum : half_gap;
    return larger > 0.0f ? (half_sum * (half_sum / larger) + larger) / 2.0f : 0.0f;
}

/* Wasserstein distance (p = 1) of the quantile functions, summed over the filters
 * (Abdelwahab2019, Eq. 9). */
int kd_distance(const float *a, const float *b, float *distance)
{
    float total = 0.0f;
    if (a == NULL || b == NULL || distance == NULL) {
        return KD_ERROR_NULL;
    }
    if (!kd_are_finite(a, KD_EMBEDDING) || !kd_are_finite(b, KD_EMBEDDING)) {
        return KD_ERROR_VALUE;
    }
    for (int32_t filter = 0; filter < KD_FILTERS; filter++) {
        const float *x = a + filter * KD_KNOTS, *y = b + filter * KD_KNOTS;
        float area = 0.0f;
        for (int32_t k = 0; k < KD_KNOTS - 1; k++) {
            area += segment(x[k] - y[k], x[k + 1] - y[k + 1]) * (kd_knots[k + 1] - kd_knots[k]);
        }
        total += area;
    }
    if (!kd_is_finite(total)) {
        return KD_ERROR_VALUE;
    }
    *distance = total;
    return KD_OK;
}
