/* Features that depend on one time step only: scaled and normalized channels. */
#include "kd_internal.h"
#include "kd_tables.h"

#include <math.h>

int kd_prepare(const float *signal, int32_t length)
{
    (void)signal;
    (void)length;
    return KD_OK;
}

void kd_features(const float *step, float *features)
{
    for (int32_t i = 0; i < KD_FEATURES; i++) {
        const kd_scaling *scaling = &kd_scalings[i];
        float value = step[scaling->channel];
        if (scaling->is_bounded) {
            value = tanhf(value * scaling->scale + scaling->offset);
        }
        features[i] = (value - kd_means[i]) / kd_stddevs[i];
    }
}
