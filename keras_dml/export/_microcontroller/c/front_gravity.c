/* Features of an accelerometer that do not depend on its orientation, as in
 * keras_dml.layers.GravityFrame: vertical acceleration without gravity, then accelerations along
 * the principal horizontal axis and to the left of it, then the size of the horizontal
 * acceleration. If a step has six channels, the last three channels are the angular rates of a
 * gyroscope, and the same features of the angular rates follow. */
#include "kd_internal.h"
#include "kd_tables.h"

#include <math.h>

/* Number of values that are added before the sum is added to the total. A float loses digits if
 * many small values are added to a large total. */
#define BLOCK 64

static struct {
    float up[3];    /* unit vector against gravity */
    float first[3]; /* two unit vectors that are perpendicular to `up` */
    float second[3];
    float gravity; /* size of gravity */
    float cosine;  /* direction of the principal axis between `first` and `second` */
    float sine;
} frame;

typedef struct {
    float total;
    float block;
    int32_t count;
} sum;

static void add(sum *values, float value)
{
    values->block += value;
    values->count++;
    if (values->count % BLOCK == 0) {
        values->total += values->block;
        values->block = 0.0f;
    }
}

static float mean(const sum *values)
{
    return (values->total + values->block) / (float)values->count;
}

static float dot(const float *a, const float *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static float quotient(float numerator, float denominator)
{
    return denominator == 0.0f ? 0.0f : numerator / denominator;
}

static float sign_of(float value)
{
    return value < 0.0f ? -1.0f : 1.0f;
}

/* Sets `up` to the direction of the mean acceleration, and the two vectors that complete it to a
 * right-handed frame (Duff2017). */
static void find_vertical(const float *signal, int32_t length)
{
    float gravity[3];
    for (int32_t axis = 0; axis < 3; axis++) {
        sum values = {0.0f, 0.0f, 0};
        for (int32_t t = 0; t < length; t++) {
            add(&values, signal[KD_CHANNELS * t + axis]);
        }
        gravity[axis] = mean(&values);
    }
    frame.gravity = sqrtf(dot(gravity, gravity));
    for (int32_t axis = 0; axis < 3; axis++) {
        frame.up[axis] = quotient(gravity[axis], frame.gravity);
    }
    {
        float x = frame.up[0], y = frame.up[1], z = frame.up[2];
        float sign = sign_of(z);
        float a = -1.0f / (sign + z);
        float b = x * y * a;
        frame.first[0] = 1.0f + sign * x * x * a;
        frame.first[1] = sign * b;
        frame.first[2] = -sign * x;
        frame.second[0] = b;
        frame.second[1] = sign + y * y * a;
        frame.second[2] = -y;
    }
}

/* Sets the direction in which the horizontal acceleration has the largest variance. */
static void find_axis(const float *signal, int32_t length)
{
    sum differences = {0.0f, 0.0f, 0}, products = {0.0f, 0.0f, 0};
    for (int32_t t = 0; t < length; t++) {
        float x = dot(signal + KD_CHANNELS * t, frame.first);
        float y = dot(signal + KD_CHANNELS * t, frame.second);
        add(&differences, x * x - y * y);
        add(&products, x * y);
    }
    {
        float difference = mean(&differences), product = 2.0f * mean(&products);
        float longer = sqrtf(difference * difference + product * product) + fabsf(difference);
        int is_ahead = difference >= 0.0f;
        float cosine = is_ahead ? longer : fabsf(product);
        float sine = is_ahead ? product : sign_of(product) * longer;
        float size = sqrtf(cosine * cosine + sine * sine);
        frame.cosine = size > 0.0f ? cosine / size : 1.0f;
        frame.sine = quotient(sine, size);
    }
}

static float vertical_of(const float *step)
{
    return dot(step, frame.up) - frame.gravity;
}

static float forward_of(const float *step)
{
    return frame.cosine * dot(step, frame.first) + frame.sine * dot(step, frame.second);
}

/* Turns the axis by half a turn if the vertical acceleration lags behind the forward one. */
static void find_forward(const float *signal, int32_t length)
{
    sum leads = {0.0f, 0.0f, 0};
    for (int32_t t = 0; t + KD_GRAVITY_LAG < length; t++) {
        const float *earlier = signal + KD_CHANNELS * t;
        const float *later = earlier + KD_CHANNELS * KD_GRAVITY_LAG;
        add(&leads, vertical_of(earlier) * forward_of(later));
        add(&leads, -vertical_of(later) * forward_of(earlier));
    }
    if (leads.total + leads.block < 0.0f) {
        frame.cosine = -frame.cosine;
        frame.sine = -frame.sine;
    }
}

int kd_prepare(const float *signal, int32_t length)
{
    find_vertical(signal, length);
    find_axis(signal, length);
    find_forward(signal, length);
    /* Very large accelerations overflow. */
    return kd_is_finite(frame.gravity) && kd_is_finite(frame.cosine) && kd_is_finite(frame.sine)
               ? KD_OK
               : KD_ERROR_VALUE;
}

/* Writes the horizontal features of three channels, and returns the number of features. */
static int32_t horizontal_of(const float *sensor, float *features)
{
    float x = dot(sensor, frame.first), y = dot(sensor, frame.second);
    int32_t count = 0;
#if KD_GRAVITY_AXES
    features[count++] = frame.cosine * x + frame.sine * y;
    features[count++] = frame.cosine * y - frame.sine * x;
#endif
#if KD_GRAVITY_MAGNITUDE
    features[count++] = sqrtf(x * x + y * y);
#endif
    return count;
}

void kd_features(const float *step, float *features)
{
    int32_t count = 0;
    features[count++] = vertical_of(step);
    count += horizontal_of(step, features + count);
#if KD_CHANNELS > 3
    features[count++] = dot(step + 3, frame.up);
    count += horizontal_of(step + 3, features + count);
#endif
    for (int32_t i = 0; i < count; i++) {
        features[i] = (features[i] - kd_means[i]) / kd_stddevs[i];
    }
}
