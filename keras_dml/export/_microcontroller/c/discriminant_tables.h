/* Tables of a model with linear discriminants, which kd_tables.c defines. */
#ifndef KD_TABLES_H
#define KD_TABLES_H

#include "kd_model.h"

#include <stdint.h>

typedef struct {
    int32_t channel;
    int32_t is_bounded; /* whether the channel is scaled and bounded by tanh */
    float scale;
    float offset;
} kd_scaling;

extern const float kd_means[KD_FEATURES];
extern const float kd_stddevs[KD_FEATURES];
extern const kd_scaling kd_scalings[KD_FEATURES];
extern const int32_t kd_lags[KD_LAGS];
extern const float kd_kernel[KD_EMBEDDING][KD_STATISTICS];
extern const float kd_biases[KD_EMBEDDING];

#endif
