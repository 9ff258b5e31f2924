/* Linear discriminants of standard deviations and lagged correlations, by running sums.
 *
 * The sums of centered products follow from sums of products. For lag l and N steps, the sum of
 * (x[t] - m)(y[t + l] - n) over the N - l pairs is the sum of x[t] y[t + l], minus n times the sum
 * of the first N - l values of x, minus m times the sum of the last N - l values of y, plus
 * (N - l) m n. All values are measured from the first time step, so that a large offset does not
 * cost digits.
 */
#include "kd_internal.h"
#include "kd_tables.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Number of steps that are added before the sums are added to the totals. A float loses digits if
 * many small values are added to a large total. */
#define BLOCK 64
/* The ring buffer of past steps has at least one row. */
#define RECENT (KD_LONGEST_LAG > 0 ? KD_LONGEST_LAG : 1)

typedef struct {
    float values[KD_FEATURES];
    float squares[KD_FEATURES];
    float products[KD_LAGS][KD_FEATURES][KD_FEATURES];
} sums;

static struct {
    int32_t steps;
    float origin[KD_FEATURES];            /* first time step */
    float recent[RECENT][KD_FEATURES];    /* last time steps, a ring buffer */
    float earliest[KD_LAGS][KD_FEATURES]; /* sums of the first `lag` steps */
    sums total;
    sums block;
} state;
static float statistics[KD_STATISTICS];

static void add_all(float *to, const float *from, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

static void add_block(void)
{
    add_all(state.total.values, state.block.values, KD_FEATURES);
    add_all(state.total.squares, state.block.squares, KD_FEATURES);
    for (int32_t l = 0; l < KD_LAGS; l++) {
        for (int32_t i = 0; i < KD_FEATURES; i++) {
            add_all(state.total.products[l][i], state.block.products[l][i], KD_FEATURES);
        }
    }
    memset(&state.block, 0, sizeof state.block);
}

static void add_step(const float *features)
{
    float step[KD_FEATURES];
    if (state.steps == 0) {
        memcpy(state.origin, features, sizeof state.origin);
    }
    for (int32_t i = 0; i < KD_FEATURES; i++) {
        step[i] = features[i] - state.origin[i];
        state.block.values[i] += step[i];
        state.block.squares[i] += step[i] * step[i];
    }
    for (int32_t l = 0; l < KD_LAGS; l++) {
        int32_t lag = kd_lags[l];
        if (state.steps < lag) {
            add_all(state.earliest[l], step, KD_FEATURES);
        } else {
            const float *past = lag == 0 ? step : state.recent[(state.steps - lag) % RECENT];
            for (int32_t i = 0; i < KD_FEATURES; i++) {
                for (int32_t j = 0; j < KD_FEATURES; j++) {
                    state.block.products[l][i][j] += past[i] * step[j];
                }
            }
        }
    }
    memcpy(state.recent[state.steps % RECENT], step, sizeof step);
    state.steps++;
    if (state.steps % BLOCK == 0) {
        add_block();
    }
}

/* Writes the correlations at a lag. At lag 0, each pair of different channels has one. Returns the
 * number of correlations. */
static int32_t correlate(int32_t l, const float *means, const float *stddevs, float *correlations)
{
    int32_t lag = kd_lags[l], pairs = state.steps - lag, count = 0;
    float latest[KD_FEATURES] = {0.0f};
    if (pairs > 0) {
        for (int32_t t = pairs; t < state.steps; t++) {
            add_all(latest, state.recent[t % RECENT], KD_FEATURES);
        }
    }
    for (int32_t i = 0; i < KD_FEATURES; i++) {
        for (int32_t j = lag == 0 ? i + 1 : 0; j < KD_FEATURES; j++) {
            float earlier = state.total.values[i] - latest[i];
            float later = state.total.values[j] - state.earliest[l][j];
            float centered = state.total.products[l][i][j] - means[j] * earlier -
                             means[i] * later + (float)pairs * means[i] * means[j];
            correlations[count++] =
                pairs > 0 ? centered / (stddevs[i] * stddevs[j]) / (float)pairs : 0.0f;
        }
    }
    return count;
}

/* Writes the logarithms of the standard deviations, the correlations and the means. */
static void compute_statistics(void)
{
    float means[KD_FEATURES], stddevs[KD_FEATURES], steps = (float)state.steps;
    int32_t count = 0;
    add_block();
    for (int32_t i = 0; i < KD_FEATURES; i++) {
        float variance;
        means[i] = state.total.values[i] / steps;
        variance = state.total.squares[i] / steps - means[i] * means[i];
        stddevs[i] = sqrtf((variance > 0.0f ? variance : 0.0f) + KD_RIDGE);
        statistics[count++] = logf(stddevs[i]);
    }
    for (int32_t l = 0; l < KD_LAGS; l++) {
        count += correlate(l, means, stddevs, statistics + count);
    }
#if KD_MEANS
    for (int32_t i = 0; i < KD_FEATURES; i++) {
        statistics[count++] = state.origin[i] + means[i];
    }
#endif
}

static void begin(void)
{
    memset(&state, 0, sizeof state);
}

static int push(const float *step)
{
    float features[KD_FEATURES];
    if (state.steps == KD_MAX_STEPS) {
        return KD_ERROR_LENGTH;
    }
    kd_features(step, features);
    if (!kd_are_finite(features, KD_FEATURES)) {
        return KD_ERROR_VALUE;
    }
    add_step(features);
    return KD_OK;
}

static int finish(float *embedding)
{
    if (state.steps < KD_MIN_STEPS) {
        return KD_ERROR_LENGTH;
    }
    compute_statistics();
    if (!kd_are_finite(statistics, KD_STATISTICS)) {
        return KD_ERROR_VALUE;
    }
    for (int32_t unit = 0; unit < KD_EMBEDDING; unit++) {
        float discriminant = kd_biases[unit];
        for (int32_t i = 0; i < KD_STATISTICS; i++) {
            discriminant += statistics[i] * kd_kernel[unit][i];
        }
        embedding[unit] = KD_LIMIT * tanhf(discriminant / KD_LIMIT);
    }
    return KD_OK;
}

int kd_embed(const float *signal, int32_t length, float *embedding)
{
    int status = kd_check(signal, length);
    if (status == KD_OK && embedding == NULL) {
        status = KD_ERROR_NULL;
    }
    if (status == KD_OK) {
        status = kd_prepare(signal, length);
    }
    begin();
    for (int32_t t = 0; t < length && status == KD_OK; t++) {
        status = push(signal + t * KD_CHANNELS);
    }
    return status == KD_OK ? finish(embedding) : status;
}

#if KD_STREAMS
void kd_begin(void)
{
    begin();
}

int kd_push(const float *step)
{
    if (step == NULL) {
        return KD_ERROR_NULL;
    }
    return kd_are_finite(step, KD_CHANNELS) ? push(step) : KD_ERROR_VALUE;
}

int kd_finish(float *embedding)
{
    return embedding == NULL ? KD_ERROR_NULL : finish(embedding);
}
#endif

/* Negative cosine of two embeddings. */
int kd_distance(const float *a, const float *b, float *distance)
{
    float products = 0.0f, squares_a = 0.0f, squares_b = 0.0f, size;
    if (a == NULL || b == NULL || distance == NULL) {
        return KD_ERROR_NULL;
    }
    for (int32_t i = 0; i < KD_EMBEDDING; i++) {
        products += a[i] * b[i];
        squares_a += a[i] * a[i];
        squares_b += b[i] * b[i];
    }
    if (!kd_is_finite(products) || !kd_is_finite(squares_a) || !kd_is_finite(squares_b)) {
        return KD_ERROR_VALUE;
    }
    size = sqrtf(squares_a) * sqrtf(squares_b);
    *distance = squares_a < 1e-12f || squares_b < 1e-12f ? 0.0f : -products / size;
    return KD_OK;
}
